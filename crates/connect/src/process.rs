//! A program in a process group of its own, which never outlives the wait for it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use saihai_model::Millis;
use tokio_util::sync::CancellationToken;

/// What is run. There is no shell in between.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) timeout: Option<Millis>,
    /// How long it has between being asked to end and being ended.
    pub(crate) grace: Millis,
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

/// Runs a program to its end, or ends it. Its output goes nowhere. When this returns, or is dropped, nothing of its
/// process group is left.
pub(crate) async fn run(program: Program, stop: &CancellationToken) -> Result<Ended, Error> {
    let name = program.argv.first().ok_or(Error::Nothing)?;
    let group = Group::start(&program).map_err(|source| Error::Start { program: name.clone(), source })?;
    let leader = group.leader;
    let mut end = tokio::task::spawn_blocking(move || wait(leader));
    let by_us = tokio::select! {
        biased;
        () = stop.cancelled() => Ended::Stopped,
        ended = &mut end => return ended.unwrap_or_else(|lost| Err(io::Error::other(lost)))
            .map_err(|source| Error::Wait { program: name.clone(), source }),
        timeout = over(program.timeout) => Ended::TimedOut(timeout),
    };
    group.signal(Signal::TERM);
    tokio::select! {
        _ = &mut end => {}
        () = sleep(program.grace) => {
            group.signal(Signal::KILL);
            // Whatever it says now, it was we who ended it.
            let _ = end.await;
        }
    }
    Ok(by_us)
}

/// A child that leads a process group. Dropping it ends the group and takes the child's exit away.
struct Group {
    child: Child,
    leader: Pid,
}

impl Group {
    fn start(program: &Program) -> io::Result<Self> {
        let (name, arguments) = program.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let child = Command::new(name)
            .args(arguments)
            .current_dir(&program.directory)
            .env_clear()
            .envs(program.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()?;
        let leader = Pid::from_child(&child);
        Ok(Self { child, leader })
    }

    fn signal(&self, signal: Signal) {
        // The child has not been waited for, so its number is still its own; a group already gone is what we want.
        let _ = rustix::process::kill_process_group(self.leader, signal);
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        // It is dead or dying: this only takes the zombie away.
        let _ = self.child.wait();
    }
}

/// Waits for a child to end and leaves it a zombie, so that its group can still be signalled safely.
fn wait(leader: Pid) -> io::Result<Ended> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        let status = match rustix::process::waitid(WaitId::Pid(leader), options) {
            Ok(status) => status,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let Some(status) = status else { continue };
        if let Some(code) = status.exit_status() {
            return Ok(Ended::Code(code));
        }
        return Ok(Ended::Signal(status.terminating_signal().unwrap_or_default()));
    }
}

async fn over(timeout: Option<Millis>) -> Millis {
    match timeout {
        Some(timeout) => {
            sleep(timeout).await;
            timeout
        }
        None => std::future::pending().await,
    }
}

async fn sleep(length: Millis) {
    tokio::time::sleep(Duration::from_millis(length.0)).await;
}
