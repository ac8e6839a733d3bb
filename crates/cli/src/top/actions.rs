//! Actions of a person on a run, each by the same path as its command.

use std::path::Path;

use saihai::LoadedRun;

use super::model::{AskedGate, TopEvent, TopNotice, TopRequest};
use crate::error::{CommandError, write_file};
use crate::page::{SavedPageOptions, saved_page};
use crate::terminal::visible_line;
use crate::watching::{ProjectRun, steering};

/// Performs a request that concerns a run. Returns nothing for other requests. May wait for the owner of the run.
pub(super) fn perform(command: TopRequest) -> Option<TopEvent> {
    let done = match command {
        TopRequest::Ask { run } => ask(&run),
        TopRequest::Answer { run, call, answer } => {
            run.find().and_then(|(_, run)| steering::answer_gate(&run, &call, answer)).map(notice)
        }
        TopRequest::Tell { run, text } => {
            run.find().and_then(|(_, run)| steering::tell(&run, text, None, false)).map(notice)
        }
        TopRequest::Cancel { run } => run.find().and_then(|(_, run)| steering::cancel(&run)).map(notice),
        TopRequest::Fork { run } => {
            let forked = run.find().and_then(|(project, run)| steering::fork(&project, &run, None));
            forked.map(|(words, _)| notice(words))
        }
        TopRequest::Resume { run, flags } => {
            run.find().and_then(|(project, run)| steering::resume(&project, &run, &flags)).map(notice)
        }
        TopRequest::Export { run } => export(&run).map(notice),
        TopRequest::Quit
        | TopRequest::Park
        | TopRequest::Suspend
        | TopRequest::Redraw
        | TopRequest::OpenPage { .. }
        | TopRequest::Watch(_) => return None,
    };
    Some(done.unwrap_or_else(|error| TopEvent::error(&error)))
}

impl TopEvent {
    pub(super) fn error(error: &CommandError) -> Self {
        let text = visible_line(error.message()).into_owned();
        Self::Notice(TopNotice { text, is_error: true })
    }
}

fn notice(text: String) -> TopEvent {
    TopEvent::Notice(TopNotice { text: visible_line(&text).into_owned(), is_error: false })
}

fn ask(run: &ProjectRun) -> Result<TopEvent, CommandError> {
    let (call, question, wants) = saihai::open_gate(&run.find()?.1)?;
    Ok(TopEvent::Gate { run: run.clone(), gate: AskedGate { call, question, wants } })
}

/// Saves the page of a run in the current directory.
fn export(run: &ProjectRun) -> Result<String, CommandError> {
    let (project, directory) = run.find()?;
    let file = format!("{}.html", directory.id());
    let options = SavedPageOptions { without_prompts: false };
    let page = saved_page(&LoadedRun::read(&directory)?, &project, options)?;
    write_file(Path::new(&file), page)?;
    Ok(format!("wrote the run to `{file}`"))
}
