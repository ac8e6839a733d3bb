//! Requests of a person to a run from a screen, each by the same path as its command. Returns what happened in words.

use std::process::Stdio;
use std::time::{Duration, Instant};

use saihai::{Clock, GateAnswer, RequestDelivery, RunDirectory};
use saihai_delivery::IssueRun;
use saihai_model::CallId;

use crate::commands::control::{cancel_run, insist_on_read, told_words};
use crate::driving::block_on;
use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};
use crate::watching::RunProcess;

/// Answers the gate of a call. The answer belongs to the question that the person has read.
pub(crate) fn answer_gate(
    run: &RunDirectory,
    call: &CallId,
    answer: GateAnswer,
) -> Result<String, CommandError> {
    if saihai::open_gate(run)?.0 != *call {
        return Err(CommandError::usage("nothing was sent: the run asks another question by now"));
    }
    let (gate, reached) = block_on(async { Ok(saihai::answer(run, answer, Clock::system()).await?) })?;
    insist_on_read(reached, run)?;
    let gate = visible_line(gate.stage.as_str()).into_owned();
    let next = match reached {
        RequestDelivery::Owner => "the process that drives the run continues with it".to_owned(),
        RequestDelivery::Journal | RequestDelivery::Unread
            if IssueRun::read(run)?.is_some_and(|run| run.delivers) =>
        {
            "run the same `saihai work` command again to continue".to_owned()
        }
        RequestDelivery::Journal | RequestDelivery::Unread => {
            format!("continue with `saihai resume {}`", run.short_name())
        }
    };
    Ok(format!("`{gate}` is answered; {next}"))
}

pub(crate) fn tell(
    run: &RunDirectory,
    text: String,
    stage: Option<&str>,
    now: bool,
) -> Result<String, CommandError> {
    let told = block_on(async { Ok(saihai::tell(run, text, stage, now, Clock::system()).await?) });
    let (note, reached) = told?;
    let driven = insist_on_read(reached, run)?;
    told_words(&note, driven, run)
}

pub(crate) fn withdraw(run: &RunDirectory, note: u32) -> Result<String, CommandError> {
    let reached = block_on(async { Ok(saihai::withdraw(run, note, Clock::system()).await?) })?;
    insist_on_read(reached, run)?;
    Ok(format!("note {note} is withdrawn"))
}

pub(crate) fn cancel(run: &RunDirectory) -> Result<String, CommandError> {
    cancel_run(run, &mut Streams::silent())
}

/// Forks a run. Also returns the id of the new one.
pub(crate) fn fork(
    project: &Project,
    run: &RunDirectory,
    at: Option<u64>,
) -> Result<(String, String), CommandError> {
    let settings = project.settings(false, &mut Streams::silent())?;
    let forked = saihai::fork(&project.runs(), run, at, &settings.reports_dir, Clock::system())?;
    let name = forked.directory.short_name();
    let words = format!(
        "forked at event {}; files are not restored; continue with `saihai resume {name}`",
        forked.at
    );
    Ok((words, forked.directory.id().to_owned()))
}

/// Time in which a resumed run that cannot continue says so.
const REFUSAL: Duration = Duration::from_millis(1500);

/// Resumes a run in a process of its own, which outlives this one. `flags` are those of `saihai resume`.
pub(crate) fn resume(
    project: &Project,
    run: &RunDirectory,
    flags: &[String],
) -> Result<String, CommandError> {
    let arguments = ["resume", run.id()].into_iter().chain(flags.iter().map(String::as_str));
    let mut process = RunProcess::start(&project.places.root, arguments, Stdio::null())?;
    let began = Instant::now();
    while began.elapsed() < REFUSAL {
        if let Some(code) = process.exit_code()? {
            // Only a usage error or a missing agent ends without a change of the run.
            if matches!(code, 2 | 4) {
                return Err(CommandError::usage(first_error(&process.errors())));
            }
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    process.leave();
    Ok(format!("run `{}` continues in a process of its own", run.id()))
}

/// Returns the first line of the errors of a process.
fn first_error(errors: &str) -> String {
    match errors.lines().find(|line| !line.trim().is_empty()) {
        Some(line) => line.trim_start_matches("error: ").to_owned(),
        None => "the run did not continue".to_owned(),
    }
}
