//! What our own program does when it is started to become another one (C-58).
//!
//! Between being started and the agent's first instruction some things must be arranged by the process itself: that it
//! dies with us, that it leads a session of its own, that it adopts what its descendants leave behind. Doing it here,
//! in a program, needs no unsafe code.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Pid;

use super::cgroup::Cgroup;
use super::family::is_exhausted;

/// The hidden first argument that makes our program a launcher.
pub const ARGUMENT: &str = "__launch";

/// With what it ends when the program cannot be started; as a shell does.
pub(crate) const FAILED: u8 = 127;

/// With what it ends when the machine has no process or memory for the program right now; as `sendmail` does (`EX_TEMPFAIL`).
pub(crate) const EXHAUSTED: u8 = 75;

/// How the line begins that says why.
pub(crate) const COMPLAINT: &str = "saihai launcher: ";

/// Where there is no control group to enter.
const NO_GROUP: &str = "-";

/// How the launcher is called: our own number, the file that makes it a member of its control group, and the program.
pub(crate) fn command(launcher: &Path, cgroup: Option<&Cgroup>, program: &Path) -> Command {
    let mut command = Command::new(launcher);
    command.arg0("saihai").arg(ARGUMENT).arg(std::process::id().to_string());
    match cgroup {
        Some(cgroup) => command.arg(cgroup.members()),
        None => command.arg(NO_GROUP),
    };
    command.arg(program);
    command
}

/// Our own program as a launcher: the file we were started from, even if it has been replaced since.
pub fn this_program() -> PathBuf {
    if cfg!(target_os = "linux") {
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_default()
}

/// Becomes the program named in the arguments after [`ARGUMENT`]. Returns only if that fails, with the exit code.
pub fn become_program(arguments: &[OsString]) -> u8 {
    let (code, why) = match arguments {
        [parent, group, program, rest @ ..] => become_it(parent, group, program, rest),
        [] | [_] | [_, _] => (FAILED, "there is no program to become".to_owned()),
    };
    // Nobody may be reading; the exit code says it too.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{COMPLAINT}{why}\n").as_bytes());
    code
}

/// Why it did not work, with the exit code that says so.
fn become_it(parent: &OsStr, group: &OsStr, program: &OsStr, arguments: &[OsString]) -> (u8, String) {
    if let Err(error) = arrange() {
        return (code_of(&error.into()), format!("the process could not be prepared: {error}"));
    }
    if group != NO_GROUP {
        // Without it the process is still found by its mark and its descent.
        let _ = std::fs::write(group, "0");
    }
    // Whoever died before the death signal was set will not send one.
    let living = rustix::process::getppid().map(Pid::as_raw_pid);
    if parent.to_str().and_then(|parent| parent.parse().ok()) != living {
        return (FAILED, "whoever wanted it is gone".to_owned());
    }
    let error = Command::new(program).args(arguments).exec();
    (code_of(&error), format!("`{}` could not be started: {error}", Path::new(program).display()))
}

fn code_of(error: &io::Error) -> u8 {
    if is_exhausted(error) { EXHAUSTED } else { FAILED }
}

fn arrange() -> rustix::io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let kill = Some(rustix::process::Signal::KILL);
        rustix::process::set_parent_process_death_signal(kill)?;
        // Kept across exec: descendants whose parents end stay descendants of this process.
        rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    }
    // A session of its own: a group of its own, and no terminal to ask a person on (C-50).
    rustix::process::setsid()?;
    Ok(())
}
