//! Actions of a person on a run, each by the same path as its command.

use std::path::Path;

use saihai::{LoadedRun, RunDirectory};

use super::model::{AskedGate, TopEvent, TopNotice, TopRequest};
use crate::error::{CommandError, write_file};
use crate::page::{SavedPageOptions, saved_page};
use crate::project::Project;
use crate::terminal::visible_line;
use crate::watching::steering;

/// Performs a request that concerns a run. Returns nothing for other requests. May wait for the owner of the run.
pub(super) fn perform(command: TopRequest) -> Option<TopEvent> {
    let done = match command {
        TopRequest::Ask { run } => ask(&run),
        TopRequest::Answer { run, call, answer } => {
            find(&run).and_then(|run| steering::answer_gate(&run, &call, answer)).map(notice)
        }
        TopRequest::Tell { run, text } => {
            find(&run).and_then(|run| steering::tell(&run, text, None, false)).map(notice)
        }
        TopRequest::Cancel { run } => find(&run).and_then(|run| steering::cancel(&run)).map(notice),
        TopRequest::Fork { run } => fork(&run).map(notice),
        TopRequest::Resume { run, flags } => resume(&run, &flags).map(notice),
        TopRequest::Export { run } => export(&run).map(notice),
        TopRequest::Quit
        | TopRequest::Park
        | TopRequest::Suspend
        | TopRequest::Redraw
        | TopRequest::Watch(_) => return None,
    };
    Some(done.unwrap_or_else(|error| {
        let text = visible_line(error.message()).into_owned();
        TopEvent::Notice(TopNotice { text, is_error: true })
    }))
}

fn notice(text: String) -> TopEvent {
    TopEvent::Notice(TopNotice { text: visible_line(&text).into_owned(), is_error: false })
}

fn find(run: &str) -> Result<RunDirectory, CommandError> {
    Ok(Project::find()?.runs().find(run)?)
}

fn ask(run: &str) -> Result<TopEvent, CommandError> {
    let (call, question, wants) = saihai::open_gate(&find(run)?)?;
    Ok(TopEvent::Gate { run: run.to_owned(), gate: AskedGate { call, question, wants } })
}

fn resume(run: &str, flags: &[String]) -> Result<String, CommandError> {
    steering::resume(&Project::find()?, &find(run)?, flags)
}

/// Saves the page of a run in the current directory.
fn export(run: &str) -> Result<String, CommandError> {
    let directory = find(run)?;
    let file = format!("{}.html", directory.id());
    let options = SavedPageOptions { without_prompts: false };
    let page = saved_page(&LoadedRun::read(&directory)?, &Project::find()?, options)?;
    write_file(Path::new(&file), page)?;
    Ok(format!("wrote the run to `{file}`"))
}

fn fork(run: &str) -> Result<String, CommandError> {
    steering::fork(&Project::find()?, &find(run)?, None).map(|(words, _)| words)
}
