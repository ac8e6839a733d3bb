//! A program that we started, and its descendants.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use saihai_model::Millis;

use super::cgroup::Cgroup;
use super::launcher;
use super::mark::Mark;
use super::pipes::Pipes;
use super::sweep::end_relatives;
use super::wait::{self, Status};

/// Returns true if the machine has no processes, memory or open files left at the moment. A later start may
/// succeed: the program itself is not the cause.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    exhausted.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) directory: PathBuf,
    /// All variables except the mark.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mark: Mark,
    /// Our own program, which starts this one. Without it, the program outlives us if we are killed.
    pub(crate) launcher: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// Empty input; the output is dropped.
    None,
    Pipes,
}

/// A program and its descendants. Dropping it ends all of them.
pub(crate) struct Family {
    child: Child,
    leader: Pid,
    mark: Mark,
    cgroup: Option<Cgroup>,
    is_over: bool,
}

impl Family {
    /// Starts the program in its own process group. Call this on a thread that lives as long as the program
    /// may: the death signal is tied to the thread, not to the process.
    pub(crate) fn start(start: &Start, streams: Streams) -> io::Result<(Self, Option<Pipes>)> {
        let cgroup = start.launcher.as_ref().and_then(|_| Cgroup::create());
        let mut command = command(start, cgroup.as_ref());
        let stream = || match streams {
            Streams::None => Stdio::null(),
            Streams::Pipes => Stdio::piped(),
        };
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn()?;
        let leader = Pid::from_child(&child);
        // From here on, a drop ends the process if something fails.
        let mut family = Self { child, leader, mark: start.mark.clone(), cgroup, is_over: false };
        let pipes = match streams {
            Streams::None => None,
            Streams::Pipes => Some(Pipes::take(&mut family.child)?),
        };
        Ok((family, pipes))
    }

    pub(crate) async fn ended(&self) -> io::Result<Status> {
        wait::ended(self.leader).await
    }

    pub(crate) fn has_ended(&self) -> bool {
        wait::has_ended(self.leader)
    }

    /// Returns the time since the program last received network data, if the kernel can tell.
    pub(crate) fn since_received(&self) -> Option<Millis> {
        #[cfg(target_os = "linux")]
        return super::received::since_received(&super::sweep::members(self.leader));
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Asks the program and its group to end. The supervisor passes the request on.
    pub(crate) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Ends all remaining processes and returns those that could not be ended.
    pub(crate) async fn end(mut self) -> Vec<u32> {
        // This may take a moment, so it must not block other tasks.
        tokio::task::spawn_blocking(move || self.kill()).await.unwrap_or_default()
    }

    fn kill(&mut self) -> Vec<u32> {
        if std::mem::replace(&mut self.is_over, true) {
            return Vec::new();
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        // The supervisor adopts orphaned descendants, so it goes last. While it is stopped, it can start
        // nothing.
        self.signal(Signal::STOP);
        let survivors = end_relatives(self.leader, &self.mark);
        self.signal(Signal::KILL);
        // The process is dead or dying: this only reaps the zombie.
        let _ = self.child.wait();
        if let Some(cgroup) = self.cgroup.take() {
            cgroup.end();
        }
        survivors
    }

    /// Sends a signal. The child has not been reaped, so its process id is still its own.
    fn signal(&self, signal: Signal) {
        if rustix::process::kill_process_group(self.leader, signal) == Err(Errno::SRCH) {
            // The supervisor does not lead a group yet.
            let _ = rustix::process::kill_process(self.leader, signal);
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.kill();
    }
}

fn command(start: &Start, cgroup: Option<&Cgroup>) -> Command {
    let mut command = match &start.launcher {
        Some(launcher) => launcher::command(launcher, cgroup, &start.program),
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

#[cfg(test)]
mod tests {
    use super::*;

    // C-32
    #[test]
    fn only_a_lack_of_the_machine_passes() {
        let check = |errno: Errno, expected: bool| {
            let error = io::Error::from_raw_os_error(errno.raw_os_error());
            assert_eq!(is_exhausted(&error), expected, "{error}");
        };
        check(Errno::AGAIN, true);
        check(Errno::NOMEM, true);
        check(Errno::MFILE, true);
        check(Errno::NFILE, true);
        check(Errno::NOENT, false);
        check(Errno::ACCESS, false);
        check(Errno::NOEXEC, false);
        check(Errno::TOOBIG, false);
    }
}
