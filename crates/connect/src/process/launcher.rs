//! Our own program as a launcher of agent programs (C-58).
//!
//! Before the agent's first instruction, the process itself must arrange some things: that it dies with us,
//! and that it leads its own session. A separate program can do this without unsafe code.
//!
//! On Linux the launcher starts itself a second time. The first process stays as a supervisor, the second
//! becomes the agent program. Elsewhere the launcher itself becomes it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, kill_process_group,
};
use saihai_model::{Failure, FailureClass};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::containment::{ControlGroup, end_descendants};
use super::family::is_exhausted;
use super::network_relay;
use crate::sandbox::confine_this_process;

/// The hidden first argument that makes our program a launcher.
pub const ARGUMENT: &str = "__launch";

/// Exit code of a launcher that cannot start the program; shells use the same one.
pub(crate) const FAILED: u8 = 127;

/// Exit code if the machine lacks processes or memory for the program: `EX_TEMPFAIL`, as in `sendmail`.
pub(crate) const EXHAUSTED: u8 = 75;

/// The start of the line with the reason.
const COMPLAINT: &str = "saihai launcher: ";

/// Argument for no control group.
const NO_GROUP: &str = "-";

const NO_SANDBOX: &str = "-";

/// Argument in place of the control group, in the call of the second process.
const BECOME: &str = "become";

/// Argument in place of the process id: the relay of a limited network, inside a sandbox.
pub(super) const RELAY: &str = "relay";

/// The name of the supervisor in process lists. It does not contain our name, so `pkill -9 -f saihai` does
/// not kill the process that ends the agent.
const SUPERVISOR: &str = "agent-supervisor";

/// Returns the call of the launcher: our process id, the member file of the control group, the policy of a sandbox, and
/// the program.
pub(crate) fn command(
    launcher: &Path,
    cgroup: Option<&ControlGroup>,
    policy: Option<&str>,
    program: &Path,
) -> Command {
    let mut command = Command::new(launcher);
    command.arg0(SUPERVISOR).arg(ARGUMENT).arg(std::process::id().to_string());
    match cgroup {
        Some(cgroup) => command.arg(cgroup.members()),
        None => command.arg(NO_GROUP),
    };
    command.arg(policy.unwrap_or(NO_SANDBOX)).arg(program);
    command
}

/// Returns our own program as a launcher: the file we were started from, even if it has been replaced since.
pub fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_default()
}

/// Runs the program named in the arguments after [`ARGUMENT`], and returns the exit code.
pub fn launch(arguments: &[OsString]) -> u8 {
    let launched = match arguments {
        [first, socket, servers, program, rest @ ..] if first == RELAY => {
            network_relay::run(socket, servers, program, rest)
        }
        [parent, group, policy, program, rest @ ..] => {
            launch_below(parent, group, &LaunchedProgram { policy, program, arguments: rest })
        }
        [] | [_] | [_, _] | [_, _, _] => Err((FAILED, "no program to start".to_owned())),
    };
    launched.unwrap_or_else(|(code, why)| {
        // Standard error may have no reader; the exit code says it too.
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{COMPLAINT}{why}\n").as_bytes());
        code
    })
}

/// The program to start, with the policy of its sandbox.
struct LaunchedProgram<'a> {
    policy: &'a OsStr,
    program: &'a OsStr,
    arguments: &'a [OsString],
}

/// Starts the program. An error is the exit code and the reason.
fn launch_below(parent: &OsStr, group: &OsStr, launched: &LaunchedProgram<'_>) -> Result<u8, (u8, String)> {
    let parent = parent.to_str().and_then(|parent| Pid::from_raw(parent.parse().ok()?));
    let parent = parent.ok_or_else(|| (FAILED, "the number of the parent process is missing".to_owned()))?;
    if group == BECOME {
        return Err(become_program(parent, launched));
    }
    if group != NO_GROUP {
        // Without the group, the process is still found by its mark and its ancestors.
        let _ = std::fs::write(group, "0");
    }
    #[cfg(target_os = "linux")]
    {
        let mut below = Command::new(this_program());
        let LaunchedProgram { policy, program, arguments } = launched;
        below.arg(ARGUMENT).arg(std::process::id().to_string()).arg(BECOME);
        below.arg(policy).arg(program).args(*arguments);
        supervise(parent, below).map_err(|error| {
            (code_of(&error), format!("`{}` could not be started: {error}", Path::new(program).display()))
        })
    }
    #[cfg(not(target_os = "linux"))]
    Err(become_program(parent, launched))
}

/// Returns the launcher's reason for not starting the program.
pub(crate) fn refusal(code: i32, complaints: &str) -> Option<Failure> {
    let class = match u8::try_from(code).ok()? {
        FAILED => FailureClass::Missing,
        EXHAUSTED => FailureClass::Transient,
        _ => return None,
    };
    let line = complaints.lines().find_map(|line| line.strip_prefix(COMPLAINT))?;
    Some(Failure::new(class, line.trim()))
}

/// Becomes the program. Returns only on failure, with the exit code and the reason.
fn become_program(parent: Pid, launched: &LaunchedProgram<'_>) -> (u8, String) {
    let LaunchedProgram { policy, program, arguments } = launched;
    if let Err(error) = arrange() {
        return (code_of(&error.into()), format!("the process could not be prepared: {error}"));
    }
    // A parent that died before the death signal was set does not send one.
    if rustix::process::getppid() != Some(parent) {
        return (FAILED, "the parent process has ended".to_owned());
    }
    // Last, because nothing can be undone: from here on, this process has only the rights of the program.
    if *policy != NO_SANDBOX
        && let Err(error) = confine_this_process(&policy.to_string_lossy())
    {
        return (FAILED, format!("the sandbox could not be set up: {error}"));
    }
    let error = Command::new(program).args(*arguments).exec();
    (code_of(&error), format!("`{}` could not be started: {error}", Path::new(program).display()))
}

pub(super) fn code_of(error: &io::Error) -> u8 {
    if is_exhausted(error) { EXHAUSTED } else { FAILED }
}

fn arrange() -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    // A new session: its own group, and no terminal for questions to a person (C-50).
    rustix::process::setsid()?;
    Ok(())
}

/// Runs `program` until it ends or `parent` is gone, and returns the exit code of the program.
pub(super) fn supervise(parent: Pid, program: Command) -> io::Result<u8> {
    // The program's death signal is tied to the thread that starts it, so everything happens on this one.
    let runtime = runtime::Builder::new_current_thread().enable_io().build()?;
    let status = runtime.block_on(run(parent, program))?;
    end_descendants(getpid());
    Ok(status.map_or(0, exit_like))
}

/// Returns the status of the program, or nothing if Saihai is gone.
async fn run(parent: Pid, mut program: Command) -> io::Result<Option<WaitStatus>> {
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(getpid()))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut child_ended = signal(SignalKind::child())?;
    let mut parent_ended = signal(SignalKind::hangup())?;
    rustix::process::set_parent_process_death_signal(Some(Signal::HUP))?;
    // A parent that died before the death signal was set does not send one.
    if getppid() != Some(parent) {
        return Ok(None);
    }
    let program = Pid::from_child(&program.spawn()?);
    let_go_of_streams()?;
    loop {
        // Adopted processes are reaped too, so that no zombies accumulate.
        while let Ok(Some((process, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if process == program {
                return Ok(Some(status));
            }
        }
        tokio::select! {
            _ = child_ended.recv() => {}
            _ = terminate.recv() => {
                if kill_process_group(program, Signal::TERM).is_err() {
                    // The program does not lead a group yet.
                    let _ = kill_process(program, Signal::TERM);
                }
            }
            // The signal also arrives when only the thread that started us has ended.
            _ = parent_ended.recv() => if getppid() != Some(parent) {
                return Ok(None);
            },
        }
    }
}

/// Closes our streams. They belong to the program: the other side must see when the program closes them.
pub(super) fn let_go_of_streams() -> io::Result<()> {
    let nowhere = std::fs::File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nowhere)?;
    rustix::stdio::dup2_stdout(&nowhere)?;
    rustix::stdio::dup2_stderr(&nowhere)?;
    Ok(())
}

/// Returns the program's exit code. If a signal killed the program, this process dies by the same signal.
pub(super) fn exit_like(status: WaitStatus) -> u8 {
    if let Some(code) = status.exit_status() {
        return u8::try_from(code).unwrap_or(u8::MAX);
    }
    let signal = status.terminating_signal().unwrap_or_default();
    if let Some(signal) = Signal::from_named_raw(signal) {
        // The program has already written its own core dump.
        let nothing = Rlimit { current: Some(0), maximum: Some(0) };
        let _ = rustix::process::setrlimit(Resource::Core, nothing);
        // The first SIGSEGV or SIGBUS only removes the handler of the Rust runtime.
        for _ in 0..2 {
            let _ = kill_process(getpid(), signal);
        }
    }
    // This process handles the signal, so return the exit code of a shell.
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}
