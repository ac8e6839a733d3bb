//! A program that we started, and its descendants.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use saihai_model::Millis;
use tempfile::TempDir;
use tokio::net::unix::pipe::{Receiver, Sender};

use super::containment::{ControlGroup, ProcessMark, end_relatives};
use super::launcher;
use crate::sandbox::{NetworkGate, NetworkProxy, SandboxedStart};

/// Returns true if the machine has no processes, memory or open files left at the moment. A later start may
/// succeed: the program itself is not the cause.
pub(crate) fn is_exhausted(error: &io::Error) -> bool {
    let exhausted = [Errno::AGAIN, Errno::NOMEM, Errno::MFILE, Errno::NFILE];
    exhausted.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

#[derive(Debug, Clone)]
pub(crate) struct ProcessStart {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<String>,
    pub(crate) directory: PathBuf,
    /// All variables except the mark.
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mark: ProcessMark,
    /// Our own program, which starts this one. Without it, the program outlives us if we are killed.
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) sandbox: Option<SandboxedStart>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessStreams {
    /// Empty input; the output is dropped.
    None,
    Pipes,
}

/// A program and its descendants. Dropping it ends all of them.
pub(crate) struct ProcessTree {
    child: Child,
    leader: Pid,
    mark: ProcessMark,
    cgroup: Option<ControlGroup>,
    is_over: bool,
    /// The private directory for temporary files of a sandbox. It is removed after the program has ended.
    temporary: Option<TempDir>,
    /// The way out of a limited network.
    network: Option<NetworkProxy>,
}

impl ProcessTree {
    /// Starts the program in its own process group. Call this on a thread that lives as long as the program
    /// may: the death signal is tied to the thread, not to the process.
    pub(crate) fn start(
        start: &ProcessStart,
        streams: ProcessStreams,
    ) -> io::Result<(Self, Option<ProcessPipes>)> {
        let cgroup = start.launcher.as_ref().and_then(|_| ControlGroup::create());
        let temporary = start.sandbox.as_ref().map(|_| private_directory()).transpose()?;
        let hosts = start.sandbox.as_ref().and_then(SandboxedStart::hosts);
        let network = hosts.map(NetworkProxy::start).transpose()?;
        let gate = network.as_ref().zip(start.launcher.as_ref()).map(|(network, launcher)| {
            // Inside, `/proc/self/exe` is another program.
            Ok::<_, io::Error>(NetworkGate { socket: network.socket(), relay: launcher.canonicalize()? })
        });
        let gate = gate.transpose()?;
        let mut command = match (&start.sandbox, &temporary) {
            (Some(sandbox), Some(temporary)) => {
                let inside = sandbox.wrap(
                    &start.program,
                    &start.arguments,
                    &start.environment,
                    temporary.path(),
                    gate.as_ref(),
                )?;
                let policy = inside.launcher_policy.as_deref();
                let mut command = command(start, cgroup.as_ref(), policy, &inside.program);
                command.args(&inside.arguments);
                for (name, value) in &inside.variables {
                    command.env(name, value);
                }
                command
            }
            (_, _) => {
                let mut command = command(start, cgroup.as_ref(), None, &start.program);
                command.args(&start.arguments);
                command
            }
        };
        let stream = || match streams {
            ProcessStreams::None => Stdio::null(),
            ProcessStreams::Pipes => Stdio::piped(),
        };
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = command.spawn()?;
        let leader = Pid::from_child(&child);
        // From here on, a drop ends the process if something fails.
        let mut family =
            Self { child, leader, mark: start.mark.clone(), cgroup, is_over: false, temporary, network };
        let pipes = match streams {
            ProcessStreams::None => None,
            ProcessStreams::Pipes => Some(ProcessPipes::take(&mut family.child)?),
        };
        Ok((family, pipes))
    }

    /// Returns hosts that the sandbox refused since the last call, each one once.
    pub(crate) fn take_refused_hosts(&mut self) -> Vec<String> {
        self.network.as_mut().map(NetworkProxy::take_refused).unwrap_or_default()
    }

    pub(crate) async fn ended(&self) -> io::Result<ProcessStatus> {
        wait_for_child(self.leader).await
    }

    pub(crate) fn has_ended(&self) -> bool {
        child_has_ended(self.leader)
    }

    /// Returns the time since the program last received network data, if the kernel can tell.
    pub(crate) fn since_received(&self) -> Option<Millis> {
        if let Some(network) = &self.network {
            return network.since_received();
        }
        #[cfg(target_os = "linux")]
        return super::received::since_received(&super::containment::members(self.leader));
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
        drop(self.temporary.take());
        drop(self.network.take());
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

impl Drop for ProcessTree {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Creates a directory for temporary files that only the user can open.
fn private_directory() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("saihai-").permissions(Permissions::from_mode(0o700)).tempdir()
}

fn command(
    start: &ProcessStart,
    cgroup: Option<&ControlGroup>,
    policy: Option<&str>,
    program: &Path,
) -> Command {
    let mut command = match &start.launcher {
        Some(launcher) => launcher::command(launcher, cgroup, policy, program),
        None => {
            let mut command = Command::new(program);
            command.process_group(0);
            command
        }
    };
    command
        .current_dir(&start.directory)
        .env_clear()
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .envs(start.mark.variables());
    command
}

pub(crate) struct ProcessPipes {
    pub(crate) input: Sender,
    pub(crate) output: Receiver,
    pub(crate) complaints: Receiver,
}

impl ProcessPipes {
    pub(crate) fn take(child: &mut Child) -> io::Result<Self> {
        let missing = || io::Error::other("a pipe to it is missing");
        let input: OwnedFd = child.stdin.take().ok_or_else(missing)?.into();
        let output: OwnedFd = child.stdout.take().ok_or_else(missing)?.into();
        let complaints: OwnedFd = child.stderr.take().ok_or_else(missing)?.into();
        Ok(Self {
            input: Sender::from_owned_fd(input)?,
            output: Receiver::from_owned_fd(output)?,
            complaints: Receiver::from_owned_fd(complaints)?,
        })
    }
}

/// Reads available bytes, or waits for some; returns 0 at the end. Dropping the future loses nothing.
pub(crate) async fn read(from: &Receiver, into: &mut [u8]) -> io::Result<usize> {
    loop {
        from.readable().await?;
        match from.try_read(into) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            read => return read,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessStatus {
    /// The process exited with this code.
    Code(i32),
    Signal(i32),
}

/// Waits for a child to end and leaves it a zombie, so that its process id stays valid for signals. It needs
/// a thread, because safe code cannot watch a process handle.
pub(crate) async fn wait_for_child(child: Pid) -> io::Result<ProcessStatus> {
    tokio::task::spawn_blocking(move || child_status(child)).await?
}

/// Returns true if a child has ended, and leaves it a zombie.
pub(crate) fn child_has_ended(child: Pid) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    !matches!(rustix::process::waitid(WaitId::Pid(child), options), Ok(None))
}

fn child_status(child: Pid) -> io::Result<ProcessStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    loop {
        let status = match rustix::process::waitid(WaitId::Pid(child), options) {
            Ok(status) => status,
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        };
        let Some(status) = status else { continue };
        if let Some(code) = status.exit_status() {
            return Ok(ProcessStatus::Code(code));
        }
        return Ok(ProcessStatus::Signal(status.terminating_signal().unwrap_or_default()));
    }
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
