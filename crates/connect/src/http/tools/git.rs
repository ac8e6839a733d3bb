//! Runs git on the working directory without running any other program.
//!
//! An agent that writes project files can also write `.git/config`. So git runs without pager, hooks,
//! monitors, external diffs, text conversion, signatures, lazy fetching and prompts. It does not inherit the
//! variables of the caller's git. It only reads commits, so no filter runs either. No text from a model
//! becomes an option.

use std::ffi::OsStr;
use std::io::Read as _;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, thread};

use crate::environment::allowed;
use crate::process::find;

use super::Reach;
use super::page::{LONGEST, cut};

/// Settings that override those of the repository.
const HELD: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=true",
    "log.showSignature=false",
    "gpg.program=/bin/false",
    "diff.trustExitCode=false",
];

/// Interval between checks for a stopped tool.
const PATIENCE: Duration = Duration::from_millis(50);

/// Runs git in the working directory and cuts its output to the limit.
pub(super) fn run(reach: &Reach, arguments: &[String]) -> Result<String, String> {
    let said = said(reach, arguments)?;
    Ok(shown(&said, said.len() > LONGEST))
}

/// Runs git without attributes. They are project files and could hide other files from a diff.
pub(super) fn run_by_content(reach: &Reach, arguments: &[impl AsRef<OsStr>]) -> Result<String, String> {
    let no_files = said(reach, &["hash-object", "-t", "tree", "--stdin"])?;
    let mut git = command(reach);
    git.env("GIT_ATTR_SOURCE", String::from_utf8_lossy(&no_files).trim()).args(arguments);
    let said = heard(reach, &mut git)?;
    Ok(shown(&said, said.len() > LONGEST))
}

/// Returns git's unchanged output; longer than [`LONGEST`] if there is more.
pub(super) fn said(reach: &Reach, arguments: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, String> {
    heard(reach, command(reach).args(arguments))
}

fn heard(reach: &Reach, git: &mut Command) -> Result<Vec<u8>, String> {
    reach.halt.check()?;
    let mut child = git.spawn().map_err(|error| format!("git cannot be started: {error}"))?;
    let said =
        child.stdout.take().map(|stdout| listen(stdout, &mut child, reach)).transpose()?.unwrap_or_default();
    let is_cut = said.len() > LONGEST;
    // The rest of the output is not needed.
    if is_cut {
        drop(child.kill());
    }
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    if !is_cut && !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        let why = why.lines().find(|line| !line.trim().is_empty()).unwrap_or("git did not say why");
        return Err(cut(why.trim(), 500).to_owned());
    }
    Ok(said)
}

fn shown(said: &[u8], is_cut: bool) -> String {
    let text = String::from_utf8_lossy(said);
    match (text.is_empty(), is_cut) {
        (true, _) => "[nothing]\n".to_owned(),
        (false, false) => text.into_owned(),
        (false, true) => format!("{}\n[cut; ask for less]\n", cut(&text, LONGEST - 100)),
    }
}

/// Reads the output until git ends, the limit is reached, or the tool must stop.
fn listen(mut stdout: ChildStdout, child: &mut Child, reach: &Reach) -> Result<Vec<u8>, String> {
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || {
        let mut said = Vec::new();
        let heard = stdout.by_ref().take(LONGEST as u64 + 1).read_to_end(&mut said);
        // The receiver may be gone.
        drop(tell.send(heard.map(|_| said)));
    });
    loop {
        match hear.recv_timeout(PATIENCE) {
            Ok(said) => return said.map_err(|error| error.to_string()),
            Err(mpsc::RecvTimeoutError::Disconnected) => return Err("git was not heard".to_owned()),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                if let Err(stopped) = reach.halt.check() {
                    drop(child.kill());
                    drop(child.wait());
                    return Err(stopped);
                }
            }
        }
    }
}

fn command(reach: &Reach) -> Command {
    let ours: Vec<_> = env::vars_os().collect();
    let path = ours.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
    // A project file named `git` is not git. Without a git on the path, the error names the usual location.
    let mut git = Command::new(find("git", path).unwrap_or_else(|_| "/usr/bin/git".into()));
    git.env_clear()
        .envs(allowed(&ours, &[]))
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null/none")
        .env("GIT_ALLOW_PROTOCOL", "")
        .env("LC_ALL", "C")
        .current_dir(&reach.root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    git.arg("--no-pager").arg("--literal-pathspecs");
    for setting in HELD {
        git.arg("-c").arg(setting);
    }
    git
}

/// Returns the text if it is a single revision, which git cannot take for an option.
pub(super) fn revision(text: &str) -> Result<&str, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._/@{}^~+-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let is_one =
        begins && text.len() <= 200 && !text.contains("..") && text.chars().all(|c| allowed(c) || c == '_');
    if is_one { Ok(text) } else { Err(format!("`{}` is no revision", cut(text, 100))) }
}
