//! Commands that continue, answer, cancel or fork an existing run.

use std::sync::Arc;

use clap::Args;
use saihai::{
    ActionExecutor, Clock, Driver, GateAnswer, ReplayedRun, RequestDelivery, RunDirectory, names_run,
};
use saihai_delivery::IssueRun;
use saihai_model::{Budget, ExitStatus, Limits, Millis, PersonNote, Raise, Wants, Workflow};
use saihai_review::changed_files;
use saihai_view::RunState;
use serde::Serialize;

use crate::checkout::{lock_issue_again, restored_worktree};
use crate::commands::flags::{LimitFlags, PresenceFlags, RunArgument, SandboxFlag, parse_event};
use crate::commands::review;
use crate::commands::work::single_run as one;
use crate::completion::{complete_run_stages, complete_runs, completer};
use crate::definitions::{connections, read_stdin, untrusted_programs, unusable};
use crate::driving::{Conclusion, DisplayOptions, RunKeeping, block_on, drive};
use crate::error::CommandError;
use crate::issue_actions::{issue_executor, with_executor};
use crate::issue_tracker::with_forge;
use crate::project::Project;
use crate::quantities::count;
use crate::server_runs::{self, ServerRequest, ServerTicket};
use crate::terminal::{Streams, visible_line};

/// Continue a parked or interrupted run
#[derive(Debug, Args)]
#[command(after_help = "\
Saihai repeats no finished turn. Limits are new totals for the whole run.
For a run that has ended, the command prints the result and returns its exit code.

Examples:
  saihai resume
  saihai resume --budget usd=10
  saihai resume 20260206-0856 --wait")]
pub(crate) struct ResumeCommand {
    #[command(flatten)]
    run: RunArgument,

    #[command(flatten)]
    limits: LimitFlags,

    #[command(flatten)]
    presence: PresenceFlags,

    #[command(flatten)]
    sandbox: SandboxFlag,

    /// Ask the provider now, even if it said to wait
    #[arg(long)]
    now: bool,

    /// Send the run to the OpenTelemetry collector of OTEL_EXPORTER_OTLP_ENDPOINT while it runs
    #[arg(long)]
    otel: bool,

    /// Print every event and the result as JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl ResumeCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        project.insist_on_person("only a person can resume a run")?;
        let directory = self.run.find(&project)?;
        let patience = project.settings(false, streams)?.short_wait;
        let raise = |_: &RunDirectory| {
            let Self { limits, now, .. } = &self;
            let budget = limits.budget.clone().unwrap_or_default();
            let (rounds, runtime) = (limits.max_iterations, limits.run_timeout);
            Ok(ServerRequest::Resume(Raise { rounds, budget, runtime, patience, now: *now }))
        };
        if server_runs::request(&directory, raise, streams)? {
            return Ok(ExitStatus::Done);
        }
        let past = ReplayedRun::read(&directory)?;
        let Self { limits, presence, sandbox, now, json, otel, .. } = self;
        let continuation = RunContinuation {
            rounds: limits.max_iterations,
            budget: limits.budget.unwrap_or_default(),
            runtime: limits.run_timeout,
            auto: presence.auto,
            wait: presence.wait,
            sandbox,
            now,
            json,
            otel,
        };
        continuation.execute(past, &project, streams)
    }
}

/// How to continue a run: the raised limits, and what to do at waits and gates.
#[derive(Debug, Default)]
struct RunContinuation {
    rounds: Option<u32>,
    budget: Budget,
    runtime: Option<Millis>,
    auto: bool,
    wait: bool,
    sandbox: SandboxFlag,
    now: bool,
    json: bool,
    otel: bool,
}

impl RunContinuation {
    fn execute(
        self,
        past: ReplayedRun,
        project: &Project,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let (directory, workflow) = (past.directory().clone(), past.workflow().clone());
        let mut settings = project.settings(false, streams)?;
        self.sandbox.apply(&mut settings);
        let raised = Workflow {
            limits: Limits {
                budget: workflow.limits.budget.replaced_by(&self.budget),
                ..workflow.limits.clone()
            },
            ..workflow.clone()
        };
        let mut found = unusable(&raised, &settings);
        // Check trust again: a program may have changed since the run started.
        found.append(untrusted_programs(project, &workflow, false));
        streams.diagnose(&found, settings.strict)?;
        review::check_out_again(&directory, &workflow)?;
        say_changes(&directory, streams)?;
        let patience = if self.wait { workflow.retry.max_wait } else { settings.short_wait };
        let raise = Raise {
            rounds: self.rounds,
            budget: self.budget,
            runtime: self.runtime,
            patience,
            now: self.now,
        };
        let showing = DisplayOptions {
            json: self.json,
            interactive: streams.can_ask() && !self.json,
            auto: self.auto,
            keeping: RunKeeping::Kept,
            completed: ExitStatus::Done,
            otel: settings.otel || self.otel,
        };
        let mut with = connections(&settings);
        block_on(async {
            let mut _of_the_branch = None;
            let outside = match past.state() {
                RunState::Ended { .. } => None,
                RunState::Running { .. }
                | RunState::Interrupted
                | RunState::Ready
                | RunState::Parked { .. } => match IssueRun::of_view(&directory, &workflow, past.view()) {
                    Some(run) => Some(Arc::new(one::again(run, project, &settings, &mut with).await?)
                        as Arc<dyn ActionExecutor>),
                    None => {
                        _of_the_branch = lock_issue_again(&directory, &workflow, &settings)?;
                        let beyond = issue_executor(&workflow, project, &settings, &with, streams).await?;
                        restored_worktree(&directory, project, &settings, beyond)?
                    }
                },
            };
            let with = with_forge(with, &workflow, project, &settings, streams).await?;
            let driver = Driver::resume_replayed(past, raise, with, Clock::system())?;
            project.remember();
            drive(with_executor(driver, outside), &workflow, showing, streams).await
        })
    }
}

/// Warns about files that changed since the review started. R-57: a resumed review keeps its original input.
fn say_changes(directory: &RunDirectory, streams: &mut Streams) -> Result<(), CommandError> {
    let changed = changed_files(directory)?;
    if let Some(first) = changed.first() {
        let more = match changed.len() {
            1 => String::new(),
            files => format!(" and {} more", count(files as u64 - 1, "file")),
        };
        streams.note(&format!(
            "`{first}`{more} changed since the review started; the review continues with the earlier content"
        ));
    }
    Ok(())
}

/// Answer a question that a run waits for, and continue the run
#[derive(Debug, Args)]
#[command(
    override_usage = "saihai answer [OPTIONS] [RUN] [yes|no|TEXT] [TEXT]",
    after_help = "\
A gate takes `yes` or `no` with an optional text, or a text of 1 to 10,000 characters.
Without an answer, Saihai asks the question on the terminal.
The first argument is a run if it is `last` or starts with the date of a run id.
If another process drives the run, that process continues. `saihai work` continues its own runs.

Examples:
  saihai answer yes
  saihai answer no \"keep the old parser\"
  saihai answer 20260206-0856 \"the login page\" --no-resume"
)]
pub(crate) struct AnswerCommand {
    /// Run id, a unique beginning of it, or `last` [default: last]
    #[arg(value_name = "RUN", add = completer(complete_runs))]
    run: Option<String>,

    /// `yes`, `no`, or the text that the gate asks for; `-` reads the text from stdin
    #[arg(value_name = "ANSWER")]
    answer: Option<String>,

    /// Comment on a `yes` or `no`
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Record the answer and leave the run parked
    #[arg(long)]
    no_resume: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct AnsweredObject<'a> {
    run: &'a str,
    gate: &'a str,
}

impl AnswerCommand {
    pub(crate) fn execute(mut self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        if !self.run.as_deref().is_none_or(names_run) {
            if let Some(extra) = &self.text {
                let error = CommandError::usage(format!("`{extra}` is one argument too many"));
                return Err(error.hint("put quotes around a text with spaces"));
            }
            (self.run, self.answer, self.text) = (None, self.run, self.answer);
        }
        let project = Project::find()?;
        project.insist_on_person("only a person can answer a gate")?;
        let directory = project.runs().find(self.run.as_deref().unwrap_or("last"))?;
        let continuation = RunContinuation { json: self.json, ..RunContinuation::default() };
        let Some(answer) = &self.answer else {
            let past = ReplayedRun::read(&directory)?;
            let Some(gate) = past.view().open_gate(past.workflow()) else {
                let (run, state) = (directory.id().to_owned(), Box::new(past.state()));
                return Err(saihai::DriverError::NoGate { run, state }.into());
            };
            if streams.can_ask() && !self.json && !self.no_resume {
                return continuation.execute(past, &project, streams);
            }
            return Err(Self::no_answer(&directory, gate.wants)?);
        };
        let to_server = |directory: &RunDirectory| {
            let (_, _, wants) = saihai::open_gate(directory)?;
            let given = saihai::fitting_answer(self.given(answer, wants)?, wants);
            let (label, text) = given.map_err(saihai::DriverError::from)?;
            Ok(ServerRequest::Answer { label, text })
        };
        if server_runs::request(&directory, to_server, streams)? {
            return Ok(ExitStatus::Done);
        }
        let mut words = String::new();
        let given = |wants| {
            let given = self.given(answer, wants)?;
            words = match &given {
                GateAnswer::Yes(None) => "yes".to_owned(),
                GateAnswer::No(None) => "no".to_owned(),
                GateAnswer::Yes(Some(text)) => format!("yes, {text}"),
                GateAnswer::No(Some(text)) => format!("no, {text}"),
                GateAnswer::Text(text) => text.clone(),
            };
            Ok(given)
        };
        let (gate, reached) = block_on(saihai::answer_with(&directory, given, Clock::system()))?;
        insist_on_read(reached, &directory)?;
        if self.json {
            streams
                .out
                .json("answered", AnsweredObject { run: directory.id(), gate: gate.stage.as_str() })?;
        } else {
            // Print the journaled text: it does not contain the secrets of our environment (C-55).
            let words = saihai_connect::Connections::default().redactor().text(&words).into_owned();
            let (gate, words) = (visible_line(gate.stage.as_str()), visible_line(&words));
            streams.out.data(&format!("`{gate}` of run `{}` is answered: {words}", directory.id()))?;
            streams.out.flush()?;
        }
        match reached {
            RequestDelivery::Owner => streams.note("the process that drives the run continues with it"),
            RequestDelivery::Journal | RequestDelivery::Unread if self.no_resume => {
                streams.note(&format!("continue with `saihai resume {}`", directory.short_name()));
            }
            // `work` knows the budget and the merge order of all its issues, so it continues their runs.
            RequestDelivery::Journal | RequestDelivery::Unread
                if IssueRun::read(&directory)?.is_some_and(|run| run.delivers) =>
            {
                streams.note("run the same `saihai work` command again to continue");
            }
            RequestDelivery::Journal | RequestDelivery::Unread => {
                return continuation.execute(ReplayedRun::read(&directory)?, &project, streams);
            }
        }
        Ok(ExitStatus::Done)
    }

    /// Builds the error for a missing answer. It shows the question.
    fn no_answer(directory: &RunDirectory, wants: Wants) -> Result<CommandError, CommandError> {
        let (_, question, _) = saihai::open_gate(directory)?;
        let form = match wants {
            Wants::YesNo => "yes",
            Wants::Text { .. } => "TEXT",
        };
        let error = CommandError::usage(format!("no answer given to: {question}"));
        Ok(error.hint(format!("answer with `saihai answer {} {form}`", directory.short_name())))
    }

    fn given(&self, answer: &str, wants: Wants) -> Result<GateAnswer, CommandError> {
        match (wants, answer, &self.text) {
            (Wants::YesNo, "yes", text) => Ok(GateAnswer::Yes(text.clone())),
            (Wants::YesNo, "no", text) => Ok(GateAnswer::No(text.clone())),
            (Wants::YesNo, other, _) => {
                Err(CommandError::usage(format!("the gate takes `yes` or `no`, not `{other}`")))
            }
            (Wants::Text { .. }, _, Some(_)) => {
                Err(CommandError::usage("the gate takes one text")
                    .hint("put quotes around a text with spaces"))
            }
            (Wants::Text { .. }, "-", None) => read_stdin("the answer").map(GateAnswer::Text),
            (Wants::Text { .. }, text, None) => Ok(GateAnswer::Text(text.to_owned())),
        }
    }
}

/// Give the agents of a run a note
#[derive(Debug, Args)]
#[command(
    override_usage = "saihai tell [OPTIONS] [RUN] TEXT\n       saihai tell --withdraw NOTE [RUN]",
    after_help = "\
The next prompt of the stage shows the note in a section of its own. A stage with several agents shows it to each.
A note changes no rule, permission or budget. `saihai show` lists the notes and their numbers.

Examples:
  saihai tell \"use the parser that is already there\"
  saihai tell --to review \"look at the error messages too\"
  saihai tell --now \"stop: the tests are in tests/, not in src/\"
  saihai tell --withdraw 1"
)]
pub(crate) struct TellCommand {
    /// Run id, a unique beginning of it, or `last` [default: last]
    #[arg(value_name = "RUN", add = completer(complete_runs))]
    run: Option<String>,

    /// The note, 1 to 10,000 characters; `-` reads it from stdin
    #[arg(value_name = "TEXT")]
    text: Option<String>,

    /// Stage whose next prompt shows the note [default: the current stage]
    #[arg(long, value_name = "STAGE", add = completer(complete_run_stages))]
    to: Option<String>,

    /// Stop the stage's running turn, and start it again with the note
    #[arg(long)]
    now: bool,

    /// Take back a note that no prompt shows yet
    #[arg(long, value_name = "NOTE", conflicts_with_all = ["text", "to", "now"])]
    withdraw: Option<u32>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ToldObject<'a> {
    run: &'a str,
    /// Stage whose next prompt shows the note; absent for the next prompt of any stage.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    text: &'a str,
    now: bool,
    /// True if a process drives the run; otherwise the note waits for `resume`.
    driven: bool,
}

#[derive(Serialize)]
struct WithdrawnObject<'a> {
    run: &'a str,
    note: u32,
}

impl TellCommand {
    pub(crate) fn execute(mut self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        if self.withdraw.is_none() && self.text.is_none() {
            if self.run.as_deref().is_none_or(names_run) {
                let error = CommandError::usage("no note given");
                return Err(error.hint("put the text in quotes: `saihai tell \"use the existing parser\"`"));
            }
            (self.run, self.text) = (None, self.run);
        }
        let project = Project::find()?;
        project.insist_on_person("only a person can give a note")?;
        let directory = project.runs().find(self.run.as_deref().unwrap_or("last"))?;
        if ServerTicket::of(&directory)?.is_some() {
            server_runs::request(&directory, |_| self.server_request(), streams)?;
            return Ok(ExitStatus::Done);
        }
        match (self.withdraw, self.text.take()) {
            (Some(number), _) => self.withdraw(number, &directory, streams),
            (None, Some(text)) => self.tell(&text, &directory, streams),
            (None, None) => Err(CommandError::usage("no note given")),
        }
    }

    fn server_request(&self) -> Result<ServerRequest, CommandError> {
        match (self.withdraw, self.text.as_deref()) {
            (Some(number), _) => Ok(ServerRequest::Withdraw(number)),
            (None, Some(text)) => {
                let text = if text == "-" { read_stdin("the note")? } else { text.to_owned() };
                let to = self.to.as_deref().map(saihai_model::StageId::from);
                Ok(ServerRequest::Tell(saihai::person_note(text, to, self.now)?))
            }
            (None, None) => Err(CommandError::usage("no note given")),
        }
    }

    fn tell(
        &self,
        text: &str,
        directory: &RunDirectory,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let text = if text == "-" { read_stdin("the note")? } else { text.to_owned() };
        let to = self.to.as_deref();
        let (note, reached) =
            block_on(async { Ok(saihai::tell(directory, text, to, self.now, Clock::system()).await?) })?;
        let driven = insist_on_read(reached, directory)?;
        if self.json {
            let (run, to) = (directory.id(), note.to.as_ref().map(saihai_model::StageId::as_str));
            streams.out.json("told", ToldObject { run, to, text: &note.text, now: note.now, driven })?;
        }
        streams.note(&told_words(&note, driven, directory)?);
        Ok(ExitStatus::Done)
    }

    fn withdraw(
        &self,
        number: u32,
        directory: &RunDirectory,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let reached = block_on(async { Ok(saihai::withdraw(directory, number, Clock::system()).await?) })?;
        insist_on_read(reached, directory)?;
        if self.json {
            streams.out.json("withdrawn", WithdrawnObject { run: directory.id(), note: number })?;
        }
        streams.note(&format!("note {number} of run `{}` is withdrawn", directory.id()));
        Ok(ExitStatus::Done)
    }
}

/// Explains when the agents see a note.
pub(crate) fn told_words(
    note: &PersonNote,
    driven: bool,
    directory: &RunDirectory,
) -> Result<String, CommandError> {
    let stage = note.to.as_ref().map(|to| format!(" of `{}`", visible_line(to.as_str())));
    let stage = stage.unwrap_or_default();
    let resume = if driven { None } else { Conclusion::of(directory)?.short_resume_command() };
    let resume = resume.map(|resume| format!("; continue the run with `{resume}`")).unwrap_or_default();
    Ok(if note.now && driven {
        format!("running turns{stage} stop and start again with your note")
    } else {
        format!("the next prompt{stage} shows your note{resume}")
    })
}

/// Returns true if the owner of the run read a request, and false if there is no owner.
pub(crate) fn insist_on_read(
    reached: RequestDelivery,
    directory: &RunDirectory,
) -> Result<bool, CommandError> {
    match reached {
        RequestDelivery::Owner => Ok(true),
        RequestDelivery::Journal => Ok(false),
        RequestDelivery::Unread => {
            let why = format!("the process that drives run `{}` does not read its requests", directory.id());
            let hint = "nothing was recorded: let that process continue, or end it, and try again";
            Err(CommandError::usage(why).hint(hint))
        }
    }
}

/// Cancel a run for good
#[derive(Debug, Args)]
#[command(after_help = "\
You can fork a cancelled run, but not resume it. To pause a run, press Ctrl-C in its terminal.

Examples:
  saihai cancel
  saihai cancel 20260206-0856")]
pub(crate) struct CancelCommand {
    #[command(flatten)]
    run: RunArgument,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct CancelledObject<'a> {
    run: &'a str,
}

impl CancelCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        project.insist_on_person("only a person can cancel a run")?;
        let directory = self.run.find(&project)?;
        if server_runs::request(&directory, |_| Ok(ServerRequest::Cancel), streams)? {
            return Ok(ExitStatus::Done);
        }
        let cancelled = cancel_run(&directory, streams)?;
        if self.json {
            streams.out.json("cancelled", CancelledObject { run: directory.id() })?;
        }
        streams.note(&cancelled);
        Ok(ExitStatus::Done)
    }
}

/// Cancels a run, cleans up after it, and explains what happens next.
pub(crate) fn cancel_run(directory: &RunDirectory, streams: &mut Streams) -> Result<String, CommandError> {
    let reached = block_on(async { Ok(saihai::cancel(directory, "saihai cancel", Clock::system()).await?) })?;
    // A cancelled review is never resumed, so this is the last chance to delete its checkout.
    if reached == RequestDelivery::Journal {
        review::clean_up(directory, &directory.workflow()?, streams)?;
    }
    let whose = match reached {
        RequestDelivery::Owner => "its process ends it",
        RequestDelivery::Unread => "its process has not read the request yet",
        RequestDelivery::Journal => "no process was driving it",
    };
    Ok(format!("run `{}` is cancelled; {whose}", directory.id()))
}

/// Create a new run from the first part of another
#[derive(Debug, Args)]
#[command(after_help = "\
The new run is parked until `saihai resume`. The old run does not change.

Examples:
  saihai fork
  saihai fork 20260206-0856 --at 43")]
pub(crate) struct ForkCommand {
    #[command(flatten)]
    run: RunArgument,

    /// Last event to copy, by its number in `saihai log` [default: the entry of the last stage]
    #[arg(long, value_name = "SEQ", value_parser = parse_event)]
    at: Option<u64>,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ForkedObject<'a> {
    run: &'a str,
    from: &'a str,
    at: u64,
}

impl ForkCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let settings = project.settings(false, streams)?;
        let runs = project.runs();
        let from = self.run.find(&project)?;
        let forked = saihai::fork(&runs, &from, self.at, &settings.reports_dir, Clock::system())?;
        let run = forked.directory.id();
        if self.json {
            streams.out.json("forked", ForkedObject { run, from: &forked.from, at: forked.at })?;
        } else {
            streams.out.data(run)?;
        }
        streams.note(&format!(
            "forked from `{}` at event {}; files are not restored; continue with `saihai resume {}`",
            forked.from,
            forked.at,
            forked.directory.short_name()
        ));
        Ok(ExitStatus::Done)
    }
}
