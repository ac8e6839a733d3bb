//! The provider `script`: it answers from a file, starts no model and opens no socket.
//!
//! A [`ScriptPlayer`] chooses the reply for an ask. It is pure and decides immediately, in the order of the
//! asks. A [`ScriptPerformance`] then acts out the reply: it waits, writes, runs, fails, hangs or answers.

mod player;
mod scenario_tags;

#[cfg(test)]
pub(crate) mod tests;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use player::{
    BadScript, MissingReply, ScriptAccounts, ScriptAsk, ScriptChoice, ScriptPlayer, UnscriptedProgram,
    UnusedReply,
};
use saihai_model::{
    Ask, CallId, Failure, FailureClass, Millis, Permission, ProgramExit, Progress, ProviderAnswer,
    ProviderKind, ProviderRefusal, Reply, ScriptReply, ScriptRun, ToolUse, TurnLimit,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::clock::GracePeriod;
use crate::process::{ProcessMark, ProgramRun, allowed_variables};
use crate::providers::Asking;
use crate::providers::{Connections, gone};
use crate::tree::ConfinedTree;
use crate::{process, tree};

/// The reply if the script has none and allows that.
const GENERIC: &str = "Done. (The script has no reply for this turn.)";

/// A script and the resources for its replies.
pub(crate) struct ScriptProvider {
    player: ScriptPlayer,
    means: Arc<ScriptResources>,
}

impl ScriptProvider {
    pub(crate) fn open(with: Connections, grace: &GracePeriod) -> Result<Self, BadScript> {
        let means = ScriptResources::new(&with, grace);
        let player = ScriptPlayer::new(with.script.unwrap_or_default())?;
        Ok(Self { player, means: Arc::new(means) })
    }

    /// Answers an ask. Returns a program that the script does not replace.
    pub(crate) fn ask(&mut self, ask: Ask) -> Result<Asking, Box<Ask>> {
        let taken = self.player.take(&ScriptAsk {
            call: &ask.call,
            turn: ask.turn.as_ref(),
            place: ask.place,
            role: ask.role.as_deref(),
            prompt: &ask.prompt,
            program: ask.program.as_ref().map(|_| match self.means.dry || ask.rehearsal {
                true => UnscriptedProgram::LacksReply,
                false => UnscriptedProgram::Runs,
            }),
        });
        let means = Arc::clone(&self.means);
        Ok(match taken {
            ScriptChoice::RunProgram => return Err(Box::new(ask)),
            ScriptChoice::Missing(missing) => {
                let failure = Failure::new(FailureClass::BadRequest, missing.to_string());
                Asking::refused(ProviderRefusal::from(failure))
            }
            ScriptChoice::Generic { number } => {
                let text = if ask.program.is_some() { "" } else { GENERIC };
                let reply = Arc::new(ScriptReply { text: Some(text.to_owned()), ..ScriptReply::default() });
                Asking::scripted(ScriptPerformance { ask, reply, number, again: false, means })
            }
            ScriptChoice::Reply { reply, number, again } => {
                Asking::scripted(ScriptPerformance { ask, reply, number, again, means })
            }
        })
    }

    pub(crate) fn already_asked(&mut self, asked: &ScriptAsk<'_>) {
        self.player.already_asked(asked);
    }

    pub(crate) fn ended(&mut self, call: &CallId, failure: Option<&Failure>) {
        self.player.ended(call, failure);
    }

    pub(crate) fn reads_prompts(&self) -> bool {
        self.player.reads_prompts()
    }

    pub(crate) fn accounts(&self) -> ScriptAccounts {
        self.player.accounts()
    }
}

/// Shared resources of all performances.
pub(crate) struct ScriptResources {
    dry: bool,
    clock: Arc<dyn Clock>,
    grace: GracePeriod,
    environment: Vec<(OsString, OsString)>,
    launcher: Option<PathBuf>,
    /// Files that several replies of the script change. A dry run does not write them, so their content is
    /// unknown to the second reply.
    shared: Vec<String>,
    /// The script was recorded: its edits belong to the files of that time.
    recorded: bool,
}

impl ScriptResources {
    pub(crate) fn new(with: &Connections, grace: &GracePeriod) -> Self {
        Self {
            dry: with.dry,
            clock: Arc::clone(&with.clock),
            grace: grace.clone(),
            environment: allowed_variables(&with.environment, &env_pass(with)),
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
pub(crate) struct ScriptPerformance {
    pub(crate) ask: Ask,
    pub(crate) reply: Arc<ScriptReply>,
    /// Number of the ask, from 1.
    pub(crate) number: u32,
    /// The same call got this reply before, and its effects are unknown.
    pub(crate) again: bool,
    pub(crate) means: Arc<ScriptResources>,
}

impl ScriptPerformance {
    pub(crate) async fn answer(
        self,
        progress: &(dyn Fn(Progress) + Send + Sync),
        stop: CancellationToken,
    ) -> ProviderAnswer {
        let shown = Some(self.reply.progress.concat()).filter(|text| !text.is_empty());
        let answer = self.perform(progress, stop).await;
        answer.map_err(|refusal| ProviderRefusal { said: refusal.said.or(shown), ..refusal })
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
                Err(ProviderRefusal { retry_after: fail.retry_after, ..refusal })
            }
            (None, Some(most)) if self.reply.calls.is_some_and(|calls| calls > most) => {
                let message = format!("the model was called more than {most} times");
                let failure = Failure::new(FailureClass::BadRequest, message);
                let refusal = self.refuse(Failure { limit: Some(TurnLimit::Calls), ..failure });
                Err(ProviderRefusal { said: Some(self.speak().text), ..refusal })
            }
            (None, _) => Ok(self.speak()),
        }
    }

    /// Builds the refusal: the failure together with the cost so far.
    fn refuse(&self, failure: Failure) -> ProviderRefusal {
        ProviderRefusal {
            usage: self.reply.usage.clone(),
            cost: self.reply.cost,
            session: self.reply.session.clone(),
            ..ProviderRefusal::from(failure)
        }
    }

    /// Checks everything that can be checked before the first action.
    fn check(&self) -> Result<Option<ConfinedTree>, Failure> {
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
        let tree =
            ConfinedTree::open(Path::new(&self.ask.directory)).map_err(|error| self.not_done(&error))?;
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
        tree: ConfinedTree,
        progress: &(dyn Fn(Progress) + Send + Sync),
    ) -> Result<(), Failure> {
        let reply = Arc::clone(&self.reply);
        let writes = reply.writes.iter().map(|write| self.shown("write", &write.path));
        let edits = reply.edits.iter().map(|edit| self.shown("edit", &edit.path));
        let shown: Vec<_> = writes.chain(edits).collect();
        shown.iter().for_each(|change| progress(Progress::ToolStarted(change.clone())));
        let how = if self.again { tree::EditState::MayBeDone } else { tree::EditState::Once };
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
        let program = ProgramRun {
            argv: run.argv.clone(),
            directory: self.ask.directory.clone().into(),
            environment: self.means.environment.clone(),
            mark: ProcessMark::of(&self.ask),
            launcher: self.means.launcher.clone(),
            sandbox: None,
            timeout: self.ask.timeout,
            grace: self.means.grace.clone(),
        };
        let ended = process::run(program, stop).await;
        progress(Progress::ToolFinished(self.shown("run", &line)));
        match ended {
            Ok(process::ProgramEnd::Code(code)) if code == run.exit => Ok(()),
            Ok(process::ProgramEnd::Code(code)) => {
                Err(self.crashed(&format!("`{line}` ended with exit code {code} instead of {}", run.exit)))
            }
            Ok(process::ProgramEnd::Signal(signal)) => {
                Err(self.crashed(&format!("`{line}` was ended by signal {signal}")))
            }
            Ok(process::ProgramEnd::Stopped) => Err(cancelled()),
            Ok(process::ProgramEnd::TimedOut(timeout)) => Err(timed_out(timeout)),
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
        let exit = self.ask.program.as_ref().map(|_| reply.exit.unwrap_or(ProgramExit::Code(0)));
        // A turn that continues a session keeps it. The number makes a new session id unique.
        let session = reply.session.clone().or(self.ask.session);
        let session = session.unwrap_or_else(|| format!("script-{}", self.number));
        Reply {
            responses: vec![text.clone()],
            text,
            structured: reply.structured.clone(),
            session: Some(session).filter(|_| exit.is_none()),
            usage: reply.usage.clone(),
            cost: reply.cost,
            exit,
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

    fn not_done(&self, error: &tree::TreeError) -> Failure {
        match error {
            tree::TreeError::Io { .. } => self.crashed(&error.to_string()),
            tree::TreeError::Outside { .. }
            | tree::TreeError::Link { .. }
            | tree::TreeError::NotAFile { .. }
            | tree::TreeError::NotText { .. }
            | tree::TreeError::Occurs { .. } => self.wrong(&error.to_string()),
        }
    }
}

fn change(tree: &ConfinedTree, reply: &ScriptReply, how: tree::EditState) -> Result<(), tree::TreeError> {
    for write in &reply.writes {
        tree.write(&write.path, &write.content)?;
    }
    for edit in &reply.edits {
        tree.edit(edit, how)?;
    }
    Ok(())
}

fn rehearse(tree: &ConfinedTree, reply: &ScriptReply, shared: &[String]) -> Result<(), tree::TreeError> {
    let known = reply.edits.iter().filter(|edit| !shared.contains(&edit.path));
    for edit in known {
        tree.edited(edit, tree::EditState::Once)?;
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
