//! Performs a scripted reply.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use saihai_model::{
    Ask, Failure, FailureClass, Millis, Permission, Progress, ProviderAnswer, ProviderKind, Refusal, Reply,
    ScriptReply, ScriptRun, ToolUse, TurnLimit,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::environment;
use crate::process::{self, Grace, Mark, Program};
use crate::providers::{Connections, gone};
use crate::tree::{self, Tree};

/// Shared resources of all performances.
pub(crate) struct Means {
    dry: bool,
    clock: Arc<dyn Clock>,
    grace: Grace,
    environment: Vec<(OsString, OsString)>,
    launcher: Option<PathBuf>,
    /// Files that several replies of the script change. A dry run does not write them, so their content is
    /// unknown to the second reply.
    shared: Vec<String>,
    /// The script was recorded: its edits belong to the files of that time.
    recorded: bool,
}

impl Means {
    pub(crate) fn new(with: &Connections, grace: &Grace) -> Self {
        Self {
            dry: with.dry,
            clock: Arc::clone(&with.clock),
            grace: grace.clone(),
            environment: environment::allowed(&with.environment, &env_pass(with)),
            launcher: with.launcher.clone(),
            shared: with.script.iter().flat_map(|script| shared_files(&script.replies)).collect(),
            recorded: with.script.as_ref().is_some_and(|script| script.recorded.is_some()),
        }
    }
}

/// Returns the variables for programs of scripted replies, under any name of the provider.
fn env_pass(with: &Connections) -> Vec<String> {
    let scripted = with.settings.values().filter(|set| set.kind == ProviderKind::Script);
    scripted.flat_map(|set| set.env_pass.iter().cloned()).collect()
}

fn shared_files(replies: &[ScriptReply]) -> Vec<String> {
    let mut paths: Vec<_> = replies
        .iter()
        .flat_map(|reply| {
            let writes = reply.writes.iter().map(|write| &write.path);
            writes.chain(reply.edits.iter().map(|edit| &edit.path))
        })
        .collect();
    paths.sort_unstable();
    let mut shared: Vec<_> =
        paths.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone()).collect();
    shared.dedup();
    shared
}

/// A reply, its ask and the shared resources.
pub(crate) struct Performance {
    pub(crate) ask: Ask,
    pub(crate) reply: Arc<ScriptReply>,
    /// Number of the ask, from 1.
    pub(crate) number: u32,
    /// The same call got this reply before, and its effects are unknown.
    pub(crate) again: bool,
    pub(crate) means: Arc<Means>,
}

impl Performance {
    pub(crate) async fn answer(
        self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let shown = Some(self.reply.progress.concat()).filter(|text| !text.is_empty());
        let answer = self.perform(progress, stop).await;
        answer.map_err(|refusal| Refusal { said: refusal.said.or(shown), ..refusal })
    }

    async fn perform(
        self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let tree = self.check()?;
        for text in &self.reply.progress {
            progress(Progress::Text(text.clone()));
        }
        let delay = self.reply.delay.unwrap_or_default();
        self.pass(delay, &stop).await?;
        if let Some(tree) = tree {
            self.change_files(tree, progress).await?;
        }
        for run in &self.reply.runs {
            self.run(run, progress, &stop).await?;
        }
        if self.reply.hang {
            self.hang(delay, &stop).await?;
        }
        match (&self.reply.fail, self.ask.max_calls) {
            (Some(fail), _) => {
                let failure = Failure::new(fail.class, fail.message.clone());
                let refusal = self.refuse(Failure { until: fail.until, ..failure });
                Err(Refusal { retry_after: fail.retry_after, ..refusal })
            }
            (None, Some(most)) if self.reply.calls.is_some_and(|calls| calls > most) => {
                let message = format!("the model was called more than {most} times");
                let failure = Failure::new(FailureClass::BadRequest, message);
                let refusal = self.refuse(Failure { limit: Some(TurnLimit::Calls), ..failure });
                Err(Refusal { said: Some(self.speak().text), ..refusal })
            }
            (None, _) => Ok(self.speak()),
        }
    }

    /// Builds the refusal: the failure together with the cost so far.
    fn refuse(&self, failure: Failure) -> Refusal {
        Refusal {
            usage: self.reply.usage.clone(),
            cost: self.reply.cost,
            session: self.reply.session.clone(),
            ..Refusal::from(failure)
        }
    }

    /// Checks everything that can be checked before the first action.
    fn check(&self) -> Result<Option<Tree>, Failure> {
        let reply = &self.reply;
        let permission = self.ask.permission;
        let changes = !reply.writes.is_empty() || !reply.edits.is_empty();
        if permission == Permission::ReadOnly && (changes || !reply.runs.is_empty()) {
            return Err(self.wrong("a turn with permission `readonly` cannot write, edit or run anything"));
        }
        if permission == (Permission::Edit { commands: false }) && !reply.runs.is_empty() {
            return Err(self.wrong("a turn with permission `edit-only` cannot run programs"));
        }
        if (changes || !reply.runs.is_empty()) && !Path::new(&self.ask.directory).is_dir() {
            return Err(gone(&self.ask.directory));
        }
        if !changes {
            return Ok(None);
        }
        let tree = Tree::open(Path::new(&self.ask.directory)).map_err(|error| self.not_done(&error))?;
        let paths = reply.writes.iter().map(|write| &write.path);
        for path in paths.chain(reply.edits.iter().map(|edit| &edit.path)) {
            tree.check(path).map_err(|error| self.not_done(&error))?;
        }
        Ok(Some(tree))
    }

    /// Waits, unless a stop or the deadline comes first.
    async fn pass(&self, length: Millis, stop: &CancellationToken) -> Result<(), Failure> {
        let deadline = self.ask.timeout.filter(|timeout| *timeout <= length);
        let wait = deadline.unwrap_or(length);
        if wait > Millis(0) {
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = self.means.clock.sleep(wait) => {}
            }
        }
        if stop.is_cancelled() {
            return Err(cancelled());
        }
        deadline.map_or(Ok(()), |timeout| Err(timed_out(timeout)))
    }

    /// Waits for the deadline or a stop, one of which must come.
    async fn hang(&self, passed: Millis, stop: &CancellationToken) -> Result<(), Failure> {
        let Some(timeout) = self.ask.timeout else {
            stop.cancelled().await;
            return Err(cancelled());
        };
        tokio::select! {
            biased;
            () = stop.cancelled() => Err(cancelled()),
            () = self.means.clock.sleep(Millis(timeout.0.saturating_sub(passed.0))) => Err(timed_out(timeout)),
        }
    }

    async fn change_files(
        &self,
        tree: Tree,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(), Failure> {
        let reply = Arc::clone(&self.reply);
        let writes = reply.writes.iter().map(|write| self.shown("write", &write.path));
        let edits = reply.edits.iter().map(|edit| self.shown("edit", &edit.path));
        let shown: Vec<_> = writes.chain(edits).collect();
        shown.iter().for_each(|change| progress(Progress::ToolStarted(change.clone())));
        let how = if self.again { tree::Edit::MayBeDone } else { tree::Edit::Once };
        let dry = self.means.dry;
        let means = Arc::clone(&self.means);
        let changed = tokio::task::spawn_blocking(move || match dry {
            true if means.recorded => Ok(()),
            true => rehearse(&tree, &reply, &means.shared),
            false => change(&tree, &reply, how),
        })
        .await;
        shown.into_iter().for_each(|change| progress(Progress::ToolFinished(change)));
        match changed {
            Ok(changed) => changed.map_err(|error| self.not_done(&error)),
            Err(lost) => Err(Failure::new(FailureClass::Crashed, lost.to_string())),
        }
    }

    async fn run(
        &self,
        run: &ScriptRun,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: &CancellationToken,
    ) -> Result<(), Failure> {
        let line = run.argv.join(" ");
        progress(Progress::ToolStarted(self.shown("run", &line)));
        if self.means.dry {
            progress(Progress::ToolFinished(self.shown("run", &line)));
            return Ok(());
        }
        let program = Program {
            argv: run.argv.clone(),
            directory: self.ask.directory.clone().into(),
            environment: self.means.environment.clone(),
            mark: Mark::of(&self.ask),
            launcher: self.means.launcher.clone(),
            timeout: self.ask.timeout,
            grace: self.means.grace.clone(),
        };
        let ended = process::run(program, stop).await;
        progress(Progress::ToolFinished(self.shown("run", &line)));
        match ended {
            Ok(process::Ended::Code(code)) if code == run.exit => Ok(()),
            Ok(process::Ended::Code(code)) => {
                Err(self.crashed(&format!("`{line}` ended with exit code {code} instead of {}", run.exit)))
            }
            Ok(process::Ended::Signal(signal)) => {
                Err(self.crashed(&format!("`{line}` was ended by signal {signal}")))
            }
            Ok(process::Ended::Stopped) => Err(cancelled()),
            Ok(process::Ended::TimedOut(timeout)) => Err(timed_out(timeout)),
            Err(error) => Err(self.crashed(&error.to_string())),
        }
    }

    fn speak(self) -> Reply {
        let reply = &self.reply;
        let text = match (&reply.text, &reply.structured) {
            (Some(text), _) => text.clone(),
            (None, Some(value)) => value.to_string(),
            (None, None) => String::new(),
        };
        let only_checked = if self.means.dry { undone(reply) } else { Vec::new() };
        // A turn that continues a session keeps it. The number makes a new session id unique.
        let session = reply.session.clone().or(self.ask.session);
        Reply {
            responses: vec![text.clone()],
            text,
            structured: reply.structured.clone(),
            session: Some(session.unwrap_or_else(|| format!("script-{}", self.number))),
            usage: reply.usage.clone(),
            cost: reply.cost,
            tools_used: reply.tools_used.iter().cloned().chain(only_checked).collect(),
            ..Reply::default()
        }
    }

    fn shown(&self, verb: &str, what: &str) -> String {
        if self.means.dry { format!("would {verb} {what}") } else { format!("{verb} {what}") }
    }

    fn wrong(&self, message: &str) -> Failure {
        Failure::new(FailureClass::BadRequest, format!("{}: {message}", self.reply.origin))
    }

    fn crashed(&self, message: &str) -> Failure {
        Failure::new(FailureClass::Crashed, format!("{}: {message}", self.reply.origin))
    }

    fn not_done(&self, error: &tree::Error) -> Failure {
        match error {
            tree::Error::Io { .. } => self.crashed(&error.to_string()),
            tree::Error::Outside { .. }
            | tree::Error::Link { .. }
            | tree::Error::NotAFile { .. }
            | tree::Error::NotText { .. }
            | tree::Error::Occurs { .. } => self.wrong(&error.to_string()),
        }
    }
}

fn change(tree: &Tree, reply: &ScriptReply, how: tree::Edit) -> Result<(), tree::Error> {
    for write in &reply.writes {
        tree.write(&write.path, &write.content)?;
    }
    for edit in &reply.edits {
        tree.edit(edit, how)?;
    }
    Ok(())
}

fn rehearse(tree: &Tree, reply: &ScriptReply, shared: &[String]) -> Result<(), tree::Error> {
    let known = reply.edits.iter().filter(|edit| !shared.contains(&edit.path));
    for edit in known {
        tree.edited(edit, tree::Edit::Once)?;
    }
    Ok(())
}

/// Returns the actions that a rehearsal skipped, for its record.
fn undone(reply: &ScriptReply) -> Vec<ToolUse> {
    let writes = reply.writes.iter().map(|write| ("write", json!({ "path": write.path })));
    let edits = reply.edits.iter().map(|edit| ("edit", json!({ "path": edit.path })));
    let runs = reply.runs.iter().map(|run| ("run", json!({ "argv": run.argv })));
    let uses = writes.chain(edits).chain(runs).map(|(name, input)| ToolUse {
        name: name.to_owned(),
        input: Some(input),
        output: Some(json!("rehearsed, not done")),
        duration_ms: 0,
    });
    uses.collect()
}

fn cancelled() -> Failure {
    Failure::new(FailureClass::Cancelled, "stopped")
}

fn timed_out(timeout: Millis) -> Failure {
    let failure = Failure::new(FailureClass::Transient, format!("timed out after {} ms", timeout.0));
    Failure { by_deadline: true, ..failure }
}
