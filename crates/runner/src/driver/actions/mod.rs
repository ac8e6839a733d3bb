//! Actions that Saihai performs itself.

mod command;
mod files;
mod review;
mod standing;

use std::collections::BTreeMap;

use saihai_connect::{CommandLine, Surroundings};
use saihai_model::{
    Action, Block, CallId, Fact, Failure, FailureClass, Given, Json, Label, Outcome, Performance, Told,
};
use serde_json::json;

use super::calls::Came;
use crate::owned::Owned;
use crate::reports::{Reports, Shelf};
use crate::{Deed, Error};
use command::Command;

pub(super) enum Begun {
    Done(Box<Fact>),
    Command(CallId, Box<Command>),
    /// The action reaches beyond the run and its files.
    Outside(CallId, Box<Deed>),
}

/// Maximum number of characters of a block in the log. The reply has the full text.
const LOGGED: usize = 1_000;

/// Returns the start of a block's content, for the recorded result of its action.
fn logged(block: &Block) -> BTreeMap<String, Json> {
    let content = block.value.get("content").filter(|content| **content != "");
    let shown = content.map(|content| {
        let text = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        Json::from(text.chars().take(LOGGED).collect::<String>())
    });
    shown.map(|content| ("content".to_owned(), content)).into_iter().collect()
}

/// Performs or starts one action.
pub(super) fn perform(
    owned: &Owned,
    around: &Surroundings,
    performance: Performance,
) -> Result<Begun, Error> {
    let Performance { call, action, given, look_up } = performance;
    let dry = around.dry || owned.start().rehearsal;
    let outcome = match (action.does, given) {
        (Action::SaveReports, Given::Reports { text, found, last }) => {
            let blobs = owned.directory().blobs();
            let text = owned.directory().text(&text)?;
            let reports = Reports { call: &call, text: &text, found: &found, last: &last };
            return Ok(Begun::Done(Box::new(save_reports(owned, &blobs, &reports))));
        }
        (Action::ReviewReport { settings }, _) => {
            return review::report(owned, call, &settings).map(|fact| Begun::Done(Box::new(fact)));
        }
        (Action::Log, Given::Block(block)) => done(None, logged(&block)),
        (Action::Log, _) => done(None, BTreeMap::new()),
        (Action::FileState { path, absent }, _) => files::state(owned, &path, absent),
        (Action::WriteFile { path, append }, Given::Block(block)) => {
            files::write(owned, &files::Wish::of(&block, &path, append), files::Way { dry, look_up })
        }
        (Action::Command { told, .. }, _) if dry => rehearsed(told),
        (Action::Command { argv, timeout, input, told, .. }, _) => {
            let input = match told {
                Told::ByAnswer => standing::of(owned, &call, &input)?,
                Told::ByExitCode | Told::BySilence => String::new(),
            };
            let line = CommandLine {
                argv,
                directory: owned.start().directory.clone().into(),
                input,
                timeout,
                run: owned.directory().id().to_owned(),
                run_directory: owned.directory().path().to_path_buf(),
                call: call.clone(),
            };
            return Ok(Begun::Command(call, Box::new(Command::new(line, told))));
        }
        // The issue is open before any work, so that there is something to rehearse.
        (Action::IssueState, _) if dry => match owned.run().iteration() {
            0 => done(Some("open"), only_rehearsed()),
            _ => done(Some("reached"), only_rehearsed()),
        },
        (Action::OpenIssue | Action::Comment | Action::CloseIssue { .. }, _) if dry => {
            done(Some("ok"), only_rehearsed())
        }
        (does, given) => {
            let (run, spent) = (owned.directory().id().to_owned(), owned.run().spent());
            return Ok(Begun::Outside(call, Box::new(Deed { run, does, given, look_up, spent })));
        }
    };
    Ok(Begun::Done(Box::new(Fact::Performed { call, outcome })))
}

/// Builds the fact that no implementation exists for an action beyond the run.
pub(super) fn nobody(call: CallId, deed: &Deed) -> Fact {
    let message = format!("this version of Saihai cannot do `{}` here", name(&deed.does));
    Fact::Performed { call, outcome: Outcome::Failed(Failure::new(FailureClass::BadRequest, message)) }
}

/// Builds the fact of a finished action that took time.
pub(super) fn came(owned: &Owned, call: CallId, came: Came) -> Fact {
    let failed = |class, message: String| Outcome::Failed(Failure::new(class, owned.secrets().text(message)));
    let outcome = match came {
        Came::Outcome(outcome) => owned.secrets().outcome(*outcome),
        Came::Answer(_) => failed(FailureClass::Crashed, "an agent answered instead".to_owned()),
        Came::Panicked(said) => failed(FailureClass::Crashed, format!("the action panicked: {said}")),
        Came::Abandoned => failed(FailureClass::Cancelled, "it did not stop in time".to_owned()),
    };
    Fact::Performed { call, outcome }
}

fn save_reports(owned: &Owned, blobs: &crate::blobs::Blobs, reports: &Reports<'_>) -> Fact {
    let (directory, disk) = (owned.report_directory(), owned.directory().disk());
    let shelf = Shelf { directory, blobs, disk, secrets: owned.secrets() };
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
fn rehearsed(told: Told) -> Outcome {
    let label = match told {
        Told::ByExitCode | Told::BySilence => "ok",
        Told::ByAnswer => "reached",
    };
    done(Some(label), only_rehearsed())
}

fn only_rehearsed() -> BTreeMap<String, Json> {
    [("rehearsed".to_owned(), json!(true))].into()
}

fn done(label: Option<&str>, output: BTreeMap<String, Json>) -> Outcome {
    Outcome::Done { label: label.map(Label::from), output }
}

fn name(action: &Action) -> &'static str {
    match action {
        Action::Command { .. } => "command",
        Action::IssueState => "issue_state",
        Action::FileState { .. } => "file_state",
        Action::SaveReports => "save_reports",
        Action::WriteFile { .. } => "write_file",
        Action::Log => "log",
        Action::OpenIssue => "open_issue",
        Action::Comment => "comment",
        Action::CloseIssue { .. } => "close_issue",
        Action::Worktree => "worktree",
        Action::Finalize => "finalize",
        Action::Push => "push",
        Action::PullRequest => "pull_request",
        Action::Checks => "checks",
        Action::Merge => "merge",
        Action::CleanUp => "clean_up",
        Action::ReviewReport { .. } => "review_report",
    }
}
