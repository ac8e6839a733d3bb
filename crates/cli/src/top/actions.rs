//! Actions of a person on a run, each by the same path as its command.

use saihai::{Clock, GateAnswer, RequestDelivery, RunDirectory};
use saihai_delivery::IssueRun;
use saihai_model::CallId;

use super::model::{AskedGate, TopEvent, TopNotice, TopRequest};
use crate::commands::control::{cancel_run, insist_on_read, told_words};
use crate::driving::block_on;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

/// Performs a request that concerns a run. Returns nothing for other requests. May wait for the owner of the run.
pub(super) fn perform(command: TopRequest) -> Option<TopEvent> {
    let done = match command {
        TopRequest::Ask { run } => ask(&run),
        TopRequest::Answer { run, call, answer } => answer_gate(&run, &call, answer).map(notice),
        TopRequest::Tell { run, text } => tell(&run, text).map(notice),
        TopRequest::Cancel { run } => cancel(&run).map(notice),
        TopRequest::Fork { run } => fork(&run).map(notice),
        TopRequest::Quit | TopRequest::Suspend | TopRequest::Redraw | TopRequest::Watch(_) => return None,
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

fn answer_gate(run: &str, call: &CallId, answer: GateAnswer) -> Result<String, CommandError> {
    let directory = find(run)?;
    // The answer belongs to the question that the person has read.
    if saihai::open_gate(&directory)?.0 != *call {
        return Err(CommandError::usage("nothing was sent: the run asks another question by now"));
    }
    let (gate, reached) = block_on(async { Ok(saihai::answer(&directory, answer, Clock::system()).await?) })?;
    insist_on_read(reached, &directory)?;
    let gate = visible_line(gate.stage.as_str()).into_owned();
    let next = match reached {
        RequestDelivery::Owner => "the process that drives the run continues with it".to_owned(),
        RequestDelivery::Journal | RequestDelivery::Unread
            if IssueRun::read(&directory)?.is_some_and(|run| run.delivers) =>
        {
            "continue with `saihai work`".to_owned()
        }
        RequestDelivery::Journal | RequestDelivery::Unread => {
            format!("continue with `saihai resume {}`", directory.short_name())
        }
    };
    Ok(format!("`{gate}` is answered; {next}"))
}

fn tell(run: &str, text: String) -> Result<String, CommandError> {
    let directory = find(run)?;
    let told = block_on(async { Ok(saihai::tell(&directory, text, None, false, Clock::system()).await?) });
    let (note, reached) = told?;
    let driven = insist_on_read(reached, &directory)?;
    Ok(told_words(&note, driven, &directory))
}

fn cancel(run: &str) -> Result<String, CommandError> {
    cancel_run(&find(run)?, &mut Streams::silent())
}

fn fork(run: &str) -> Result<String, CommandError> {
    let project = Project::find()?;
    let settings = project.settings(false, &mut Streams::silent())?;
    let runs = project.runs();
    let forked = saihai::fork(&runs, &runs.find(run)?, None, &settings.reports_dir, Clock::system())?;
    let name = forked.directory.short_name();
    Ok(format!("forked at event {}; continue with `saihai resume {name}`", forked.at))
}
