//! What Saihai does itself outside a run.

use saihai_model::{Action, Fact, Failure, FailureClass, Given, Outcome, Performance};

use crate::Error;
use crate::owned::Owned;
use crate::reports::{Reports, Shelf};

/// Does one action and says what came of it.
pub(super) fn perform(owned: &Owned, performance: Performance) -> Result<Fact, Error> {
    let Performance { call, action, given, .. } = performance;
    match (action.does, given) {
        (Action::SaveReports, Given::Reports { text, found, last }) => {
            let blobs = owned.directory().blobs();
            let text = owned.directory().text(&text)?;
            let reports = Reports { call: &call, text: &text, found: &found, last: &last };
            let (directory, disk) = (owned.report_directory(), owned.directory().disk());
            let shelf = Shelf { directory, blobs: &blobs, disk, secrets: owned.secrets() };
            Ok(match shelf.save(&reports) {
                Ok(output) => Fact::Performed { call, outcome: Outcome::Done { label: None, output } },
                Err(failed) => Fact::StorageFailed {
                    call: Some(call),
                    path: failed.path.display().to_string(),
                    message: failed.source.to_string(),
                },
            })
        }
        (Action::Log, _) => {
            let outcome = Outcome::Done { label: None, output: std::collections::BTreeMap::new() };
            Ok(Fact::Performed { call, outcome })
        }
        (action, _) => {
            let message = format!("this version of Saihai cannot do `{}`", name(&action));
            let failure = Failure::new(FailureClass::BadRequest, message);
            Ok(Fact::Performed { call, outcome: Outcome::Failed(failure) })
        }
    }
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
