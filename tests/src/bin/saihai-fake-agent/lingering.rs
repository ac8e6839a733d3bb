//! Processes that outlive their parent.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;

const FLAG: &str = "--linger";
const DEAF: &str = "FAKE_AGENT_DEAF";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Child,
    Session,
    Grandchild,
    BareGrandchild,
}

impl How {
    const ALL: [Self; 4] = [Self::Child, Self::Session, Self::Grandchild, Self::BareGrandchild];

    fn name(self) -> &'static str {
        match self {
            Self::Child => "child",
            Self::Session => "session",
            Self::Grandchild => "grandchild",
            Self::BareGrandchild => "bare-grandchild",
        }
    }
}

/// Returns the mode if this process is one of them.
pub(crate) fn asked(words: &[String]) -> Option<How> {
    let [flag, how] = words else { return None };
    How::ALL.into_iter().find(|one| flag == FLAG && how == one.name())
}

/// Leaves a process behind and returns after it has started.
pub(crate) fn leave(how: How) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([FLAG, how.name()]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if how == How::BareGrandchild {
        command.env_clear();
    }
    let mut child = command.spawn()?;
    if matches!(how, How::Grandchild | How::BareGrandchild) {
        child.wait()?;
    }
    while !Path::new("lingering").exists() {
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Keeps running and writes its process id to the file `lingering`.
pub(crate) fn stay(how: How) -> anyhow::Result<ExitCode> {
    match how {
        How::Child => {}
        How::Session => drop(rustix::process::setsid()?),
        How::Grandchild | How::BareGrandchild => {
            Command::new(std::env::current_exe()?).args([FLAG, How::Session.name()]).spawn()?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    fs::write("lingering.part", std::process::id().to_string())?;
    fs::rename("lingering.part", "lingering")?;
    for_ever()
}

/// Returns true if a process left behind still exists.
pub(crate) fn is_there() -> bool {
    let process = fs::read_to_string("lingering").unwrap_or_default();
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn for_ever() -> ! {
    loop {
        thread::sleep(Duration::from_secs(1000));
    }
}

/// Restarts this process with SIGTERM ignored, unless it already is. The setting survives `exec`.
pub(crate) fn turn_deaf() -> anyhow::Result<()> {
    if std::env::var_os(DEAF).is_some() {
        return Ok(());
    }
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg("trap '' TERM; exec \"$@\"").arg("sh").args(arguments).env(DEAF, "1");
    Err(command.exec()).context("becoming deaf")
}
