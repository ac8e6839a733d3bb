//! Actions: the request to an [`ActionExecutor`], and the actions that Saihai performs itself.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::pin::Pin;

use saihai_connect::{CommandLine, CommandSurroundings};
use saihai_model::{
    Action, ActionInput, CallId, CommandVerdict, Cost, Fact, Failure, FailureClass, Json, Label, Outcome,
    Performance, ReplyBlock,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::command_action::CommandAction;
use super::running_calls::TaskResult;
use crate::DriverError;
use crate::blobs::Blobs;
use crate::disk::{Beneath, FileContent};
use crate::reports::{ReplyReports, ReportStore};
use crate::run_session::HeldRun;
use crate::views::summarize;

/// Performs actions that reach beyond the run and its files: worktrees, commits, pushes, pull requests,
/// merges, reading an issue. The driver decides when, and records the outcome.
pub trait ActionExecutor: fmt::Debug + Send + Sync {
    /// Performs one action. When stopped, it may leave the action undone, but not half done.
    fn perform(&self, request: ActionRequest, stop: CancellationToken) -> ActionFuture;
}

/// An action under way and its future outcome.
pub type ActionFuture = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// An action to perform outside.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionRequest {
    pub run: String,
    pub does: Action,
    /// The input: results of earlier stages by `STAGE.KEY`, or the block that requests the action.
    pub given: ActionInput,
    /// The action may have happened already, so the implementation must check first.
    pub look_up: bool,
    /// The cost of the run so far, for display.
    pub spent: Cost,
}

pub(super) enum StartedAction {
    Done(Box<Fact>),
    Command(CallId, Box<CommandAction>),
    /// The action reaches beyond the run and its files.
    Outside(CallId, Box<ActionRequest>),
}

/// Maximum number of characters of a block in the log. The reply has the full text.
const LOGGED: usize = 1_000;

/// Returns the start of a block's content, for the recorded result of its action.
fn logged(block: &ReplyBlock) -> BTreeMap<String, Json> {
    let content = block.value.get("content").filter(|content| **content != "");
    let shown = content.map(|content| {
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        Json::from(text.chars().take(LOGGED).collect::<String>())
    });
    shown.map(|content| ("content".to_owned(), content)).into_iter().collect()
}

/// Performs or starts one action.
pub(super) fn perform(
    session: &HeldRun,
    around: &CommandSurroundings,
    performance: Performance,
) -> Result<StartedAction, DriverError> {
    let Performance { call, action, given, look_up } = performance;
    let dry = around.dry || session.start().rehearsal;
    let outcome = match (action.does, given) {
        (Action::SaveReports, ActionInput::Reports { text, found, last }) => {
            let blobs = session.directory().blobs();
            let text = session.directory().text(&text)?;
            let reports = ReplyReports { call: &call, text: &text, found: &found, last: &last };
            return Ok(StartedAction::Done(Box::new(save_reports(session, &blobs, &reports))));
        }
        (Action::ReviewReport { settings }, _) => {
            let (directory, now) = (session.directory(), session.clock().now());
            let fact = saihai_review::finish_run(directory, session.workflow(), call, &settings, now)?;
            return Ok(StartedAction::Done(Box::new(fact)));
        }
        (Action::Log, ActionInput::Block(block)) => done(None, logged(&block)),
        (Action::Log, _) => done(None, BTreeMap::new()),
        (Action::FileState { path, absent }, _) => file_state(session, &path, absent),
        (Action::WriteFile { path, append }, ActionInput::Block(block)) => {
            write_file(session, &FileWrite::of(&block, &path, append, dry, look_up))
        }
        (Action::Command { told, .. }, _) if dry => rehearsed(told),
        (Action::Command { argv, timeout, input, told, .. }, _) => {
            let input = match told {
                CommandVerdict::ByAnswer => handler_input(session, &call, &input)?,
                CommandVerdict::ByExitCode | CommandVerdict::BySilence | CommandVerdict::ByOutput => {
                    String::new()
                }
            };
            let line = CommandLine {
                argv,
                directory: session.start().directory.clone().into(),
                input,
                timeout,
                run: session.directory().id().to_owned(),
                run_directory: session.directory().path().to_path_buf(),
                call: call.clone(),
            };
            return Ok(StartedAction::Command(call, Box::new(CommandAction::new(line, told))));
        }
        // The issue is open before any work, so that there is something to rehearse.
        (Action::IssueState, _) if dry => match session.run().iteration() {
            0 => done(Some("open"), only_rehearsed()),
            _ => done(Some("reached"), only_rehearsed()),
        },
        (Action::OpenIssue | Action::Comment | Action::CloseIssue { .. }, _) if dry => {
            done(Some("ok"), only_rehearsed())
        }
        (does, given) => {
            let (run, spent) = (session.directory().id().to_owned(), session.run().spent());
            return Ok(StartedAction::Outside(
                call,
                Box::new(ActionRequest { run, does, given, look_up, spent }),
            ));
        }
    };
    Ok(StartedAction::Done(Box::new(Fact::Performed { call, outcome })))
}

/// Builds the fact that no implementation exists for an action beyond the run.
pub(super) fn unsupported(call: CallId, request: &ActionRequest) -> Fact {
    let message = format!("this version of Saihai cannot do `{}` here", name(&request.does));
    Fact::Performed { call, outcome: Outcome::Failed(Failure::new(FailureClass::BadRequest, message)) }
}

/// Builds the fact of a finished action that took time.
pub(crate) fn performed(session: &HeldRun, call: CallId, result: TaskResult) -> Fact {
    let failed =
        |class, message: String| Outcome::Failed(Failure::new(class, session.secrets().text(message)));
    let outcome = match result {
        TaskResult::Outcome(outcome) => session.secrets().outcome(*outcome),
        TaskResult::Answer(_) => failed(FailureClass::Crashed, "an agent answered instead".to_owned()),
        TaskResult::Panicked(said) => failed(FailureClass::Crashed, format!("the action panicked: {said}")),
        TaskResult::Abandoned => failed(FailureClass::Cancelled, "it did not stop in time".to_owned()),
    };
    Fact::Performed { call, outcome }
}

fn save_reports(session: &HeldRun, blobs: &Blobs, reports: &ReplyReports<'_>) -> Fact {
    let (directory, disk) = (session.report_directory(), session.directory().disk());
    let shelf = ReportStore { directory, blobs, disk, secrets: session.secrets() };
    let call = reports.call.clone();
    match shelf.save(reports) {
        Ok(output) => Fact::Performed { call, outcome: done(None, output) },
        Err(failed) => Fact::StorageFailed {
            call: Some(call),
            path: failed.path.display().to_string(),
            message: failed.source.to_string(),
        },
    }
}

/// Returns the outcome of a program in a rehearsal: it does not run and counts as successful.
fn rehearsed(told: CommandVerdict) -> Outcome {
    let label = match told {
        CommandVerdict::ByExitCode | CommandVerdict::BySilence | CommandVerdict::ByOutput => "ok",
        CommandVerdict::ByAnswer => "reached",
    };
    done(Some(label), only_rehearsed())
}

fn only_rehearsed() -> BTreeMap<String, Json> {
    [("rehearsed".to_owned(), json!(true))].into()
}

pub(super) fn done(label: Option<&str>, output: BTreeMap<String, Json>) -> Outcome {
    Outcome::Done { label: label.map(Label::from), output }
}

/// Returns the name of an action in journals.
fn name(action: &Action) -> String {
    match serde_json::to_value(action) {
        Ok(Json::String(name)) => name,
        Ok(Json::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}

/// A write requested by a block.
#[derive(Debug, PartialEq)]
struct FileWrite {
    path: String,
    mode: FileWriteMode,
    content: String,
    dry: bool,
    /// The write may have happened already.
    look_up: bool,
}

#[derive(Debug, PartialEq)]
enum FileWriteMode {
    Write,
    Append,
    Unknown(String),
}

/// Closed directories, ours and git's. Their files can make other programs run, so no block writes there.
const CLOSED: [&str; 2] = [".git", ".saihai"];

impl FileWrite {
    /// Reads a request. Values of the block take precedence over defaults of the definition (S-66).
    fn of(block: &ReplyBlock, path: &str, append: bool, dry: bool, look_up: bool) -> Self {
        let said = |name: &str| block.value.get(name).and_then(Json::as_str);
        Self {
            path: said("filename").unwrap_or(path).to_owned(),
            mode: match said("mode") {
                None if append => FileWriteMode::Append,
                None | Some("write") => FileWriteMode::Write,
                Some("append") => FileWriteMode::Append,
                Some(other) => FileWriteMode::Unknown(other.to_owned()),
            },
            content: said("content").unwrap_or_default().to_owned(),
            dry,
            look_up,
        }
    }
}

/// Checks that a file exists, or is absent, as the definition expects.
fn file_state(session: &HeldRun, path: &str, absent: bool) -> Outcome {
    match open_directory(session).and_then(|directory| directory.has(path)) {
        Ok(there) => done(Some(if there == absent { "open" } else { "reached" }), Default::default()),
        Err(error) => Outcome::Failed(Failure::new(
            FailureClass::BadRequest,
            format!("cannot inspect `{path}`: {error}"),
        )),
    }
}

/// Writes a file. A failed write is the action's result and stops nothing (S-65). A write of a dead process
/// is repeated only if writing twice equals writing once (P4).
fn write_file(session: &HeldRun, wanted: &FileWrite) -> Outcome {
    let refused = |why: String| {
        let message = format!("cannot write `{}`: {why}", wanted.path);
        Outcome::Failed(Failure::new(FailureClass::Refused, message))
    };
    let closed = wanted.path.split('/').any(|part| CLOSED.iter().any(|name| part.eq_ignore_ascii_case(name)));
    if closed {
        return refused("actions cannot write below `.git` and `.saihai`".to_owned());
    }
    let written = match &wanted.mode {
        FileWriteMode::Unknown(mode) => {
            Err(io::Error::other(format!("unknown mode `{mode}`: use `append` or `write`")))
        }
        FileWriteMode::Append if wanted.look_up => Err(io::Error::other(
            "it is unknown if this was done before the interruption; Saihai does not repeat it",
        )),
        FileWriteMode::Write | FileWriteMode::Append if wanted.dry => Ok(None),
        FileWriteMode::Write => replace_file(session, wanted, Vec::new()).map(Some),
        FileWriteMode::Append => existing_content(session, wanted)
            .and_then(|before| replace_file(session, wanted, before))
            .map(Some),
    };
    match written {
        Ok(bytes) => {
            let output = json!({ "path": wanted.path, "bytes": bytes, "rehearsed": wanted.dry });
            let output = output.as_object().cloned().unwrap_or_default();
            done(None, output.into_iter().filter(|(_, value)| !value.is_null() && *value != false).collect())
        }
        Err(error) => refused(error.to_string()),
    }
}

fn replace_file(session: &HeldRun, wanted: &FileWrite, mut bytes: Vec<u8>) -> io::Result<u64> {
    bytes.extend_from_slice(wanted.content.as_bytes());
    open_directory(session)?.replace(session.directory().disk(), &wanted.path, &bytes)?;
    Ok(bytes.len() as u64)
}

fn existing_content(session: &HeldRun, wanted: &FileWrite) -> io::Result<Vec<u8>> {
    match open_directory(session)?.read(&wanted.path)? {
        FileContent::File(bytes) => Ok(bytes),
        FileContent::Absent => Ok(Vec::new()),
        FileContent::Unsafe(why) => Err(io::Error::new(io::ErrorKind::InvalidInput, why)),
    }
}

/// Opens the working directory. The person chose its path; below it, no link is followed.
fn open_directory(session: &HeldRun) -> io::Result<Beneath> {
    Beneath::open(&std::fs::canonicalize(&session.start().directory)?)
}

/// Builds the object that a handler reads (S-62): the definition's input and the iteration that ended.
fn handler_input(session: &HeldRun, call: &CallId, input: &Json) -> Result<String, DriverError> {
    let (run, directory) = (session.run(), session.directory());
    let carry = run.carry_after_round(session.workflow());
    let mut previous = Vec::new();
    for (_, text) in &carry.previous {
        previous.push(directory.text(text)?);
    }
    let iterations = session.view().map(saihai_view::RunView::iteration_views).unwrap_or_default();
    let summary = match iterations.last() {
        Some(last) => {
            serde_json::to_value(summarize(last, directory)?).expect("a summary has text keys only")
        }
        None => Json::Null,
    };
    let standing = json!({
        "agent": session.start().definition,
        "parameters": {},
        "iteration": run.iteration(),
        "stepId": call.stage,
        "outputs": carry.outputs,
        "carry": {
            "previousResponse": previous.join("\n"),
            "accumulatedContext": carry.context,
        },
        "summary": summary,
    });
    let mut standing = standing.as_object().cloned().unwrap_or_default();
    standing.extend(input.as_object().cloned().unwrap_or_default());
    Ok(format!("{}\n", Json::Object(standing)))
}
