//! Running a program to its end, without a conversation.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use saihai_model::Millis;
use tokio_util::sync::CancellationToken;

use super::family::{Family, Start, Streams};
use super::find::find;
use super::grace::{Grace, Plea};
use super::mark::Mark;
use super::wait::Status;
use crate::clock::RealTime;

/// What is run. There is no shell in between.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mark: Mark,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) timeout: Option<Millis>,
    pub(crate) grace: Grace,
}

/// How it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this exit code.
    Code(i32),
    /// By a signal that was not ours.
    Signal(i32),
    /// By us, because it was stopped.
    Stopped,
    /// By us, because its time was over.
    TimedOut(Millis),
}

/// Why it could not be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// There is no program in it.
    #[error("there is no program to be run")]
    Nothing,
    /// It did not start.
    #[error("`{program}` could not be started: {source}")]
    Start {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// It was lost sight of.
    #[error("the end of `{program}` could not be waited for: {source}")]
    Wait {
        /// Its name.
        program: String,
        /// Why.
        source: io::Error,
    },
}

/// Runs a program to its end, or ends it. Its output goes nowhere. When this returns, or is dropped, nothing of it is
/// left.
pub(crate) async fn run(program: Program, stop: &CancellationToken) -> Result<Ended, Error> {
    let (name, arguments) = program.argv.split_first().ok_or(Error::Nothing)?;
    let failed = |source| Error::Start { program: name.clone(), source };
    let start = Start {
        program: file(&program, name).map_err(failed)?,
        arguments: arguments.to_vec(),
        directory: program.directory.clone(),
        environment: program.environment.clone(),
        mark: program.mark.clone(),
        launcher: program.launcher.clone(),
    };
    let (family, _) = Family::start(&start, Streams::None).map_err(failed)?;
    let by_us = tokio::select! {
        biased;
        () = stop.cancelled() => Ended::Stopped,
        ended = family.ended() => {
            let status = ended.map_err(|source| Error::Wait { program: name.clone(), source })?;
            family.end().await;
            return Ok(match status {
                Status::Code(code) => Ended::Code(code),
                Status::Signal(signal) => Ended::Signal(signal),
            });
        }
        timeout = over(program.timeout) => Ended::TimedOut(timeout),
    };
    family.terminate();
    // Whatever it says now, it was we who ended it.
    tokio::select! {
        _ = family.ended() => {}
        () = program.grace.pass(Plea::Signal, &RealTime) => {}
    }
    family.end().await;
    Ok(by_us)
}

fn file(program: &Program, name: &str) -> io::Result<PathBuf> {
    if name.contains('/') {
        return Ok(program.directory.join(name));
    }
    let path = program.environment.iter().find(|(variable, _)| variable == "PATH");
    find(name, path.map(|(_, value)| value.as_os_str()))
        .map_err(|_| io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error()))
}

async fn over(timeout: Option<Millis>) -> Millis {
    match timeout {
        Some(timeout) => {
            tokio::time::sleep(Duration::from_millis(timeout.0)).await;
            timeout
        }
        None => std::future::pending().await,
    }
}
