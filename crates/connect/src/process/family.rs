//! A program we started, and all that came of it.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};

use super::launcher;
use super::mark::Mark;
use super::pipes::Pipes;
use super::wait::{self, Status};

/// What is started.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    /// An absolute path.
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) directory: PathBuf,
    /// All it is given, apart from the mark.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mark: Mark,
    /// Our own program, through which it is started; without it, it outlives us if we are killed.
    pub(crate) launcher: Option<PathBuf>,
}

/// Whether anybody talks to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Its input is empty and its output goes nowhere.
    None,
    /// All three are pipes.
    Pipes,
}

/// A program and its descendants. Dropping it ends all of them.
pub(crate) struct Family {
    child: Child,
    leader: Pid,
}

impl Family {
    /// Starts it in a process group of its own. To be called on a thread that lives as long as the program may: its
    /// death signal is tied to the thread, not to the process.
    pub(crate) fn start(start: &Start, streams: Streams) -> io::Result<(Self, Option<Pipes>)> {
        let mut command = command(start);
        let stream = || match streams {
            Streams::None => Stdio::null(),
            Streams::Pipes => Stdio::piped(),
        };
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn()?;
        let leader = Pid::from_child(&child);
        // From here on it is ended when something goes wrong.
        let mut family = Self { child, leader };
        let pipes = match streams {
            Streams::None => None,
            Streams::Pipes => Some(Pipes::take(&mut family.child)?),
        };
        Ok((family, pipes))
    }

    /// Waits for the program itself.
    pub(crate) async fn ended(&self) -> io::Result<Status> {
        wait::ended(self.leader).await
    }

    /// Asks it and its group to end.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all that is left of it.
    pub(crate) async fn end(self) {
        drop(self);
    }

    /// The child has not been waited for, so its number is still its own.
    fn signal(&self, signal: Signal) {
        if rustix::process::kill_process_group(self.leader, signal) == Err(Errno::SRCH) {
            // The launcher has not come far enough to lead a group.
            let _ = rustix::process::kill_process(self.leader, signal);
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        // It is dead or dying: this only takes the zombie away.
        let _ = self.child.wait();
    }
}

fn command(start: &Start) -> Command {
    let mut command = match &start.launcher {
        Some(launcher) => launcher::command(launcher, &start.program),
        None => {
            let mut command = Command::new(&start.program);
            command.process_group(0);
            command
        }
    };
    command
        .args(&start.arguments)
        .current_dir(&start.directory)
        .env_clear()
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .envs(start.mark.variables());
    command
}
