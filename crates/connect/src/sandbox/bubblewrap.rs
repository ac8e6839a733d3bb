//! Bubblewrap: a program sees the file system through mounts of its own (B-3).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::policy::{DEVICES, PathAccess, SandboxPolicy};
use super::{NetworkGate, SandboxProblem, path_of, utf8};
use saihai_git::program_path::find;

/// Arguments of every sandbox. Without namespaces of its own, a program could reach the files of others through their
/// entries in `/proc`. Root would keep its capabilities and could undo the mounts.
const ALWAYS: [&str; 13] = [
    "--die-with-parent",
    "--unshare-pid",
    "--unshare-ipc",
    "--cap-drop",
    "ALL",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--unshare-uts",
];

/// Places of the relay and its socket, in the `/dev` of the program.
pub(super) const RELAY_INSIDE: &str = "/dev/agent-relay";
pub(super) const SOCKET_INSIDE: &str = "/dev/agent-network";

/// Finds `bwrap` and tries it.
pub(super) fn locate(
    environment: &[(OsString, OsString)],
    is_network_open: bool,
) -> Result<PathBuf, SandboxProblem> {
    if !cfg!(target_os = "linux") {
        return Err(SandboxProblem::NotLinux);
    }
    let program = find("bwrap", path_of(environment)).map_err(|_| SandboxProblem::NoBwrap)?;
    let mut trial = Command::new(&program);
    if !is_network_open {
        // It also sets up the loopback, which some machines do not allow.
        trial.arg("--unshare-net");
    }
    // Bubblewrap itself is the one program that is surely there and ends at once.
    trial.args(ALWAYS).arg(&program).arg("--version").stdin(Stdio::null());
    let output = trial.output().map_err(|error| SandboxProblem::BrokenBwrap(error.to_string()))?;
    if output.status.success() {
        return Ok(program);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let reason = complaint.lines().next().unwrap_or("it failed without a message").trim().to_owned();
    Err(SandboxProblem::BrokenBwrap(reason))
}

/// Returns the arguments before the command line of the program.
pub(super) fn arguments(
    policy: &SandboxPolicy,
    directory: &Path,
    is_network_open: bool,
    gate: Option<&NetworkGate>,
) -> io::Result<Vec<String>> {
    let mut arguments: Vec<String> = ALWAYS.map(str::to_owned).to_vec();
    let mut say = |words: &[&str]| arguments.extend(words.iter().map(|word| (*word).to_owned()));
    if !is_network_open {
        say(&["--unshare-net"]);
    }
    // Its own `/dev` has all devices that programs need.
    let is_device = |path: &Path| DEVICES.iter().any(|device| Path::new(device) == path);
    for (path, access) in policy.rules().filter(|(path, _)| !is_device(path)) {
        let text = utf8(path)?;
        match access {
            PathAccess::Write => say(&["--bind", &text, &text]),
            PathAccess::Read if policy.inherited(path) == PathAccess::Read && !path.starts_with("/dev") => {}
            PathAccess::Read => say(&["--ro-bind", &text, &text]),
            PathAccess::Hidden if path.is_dir() => say(&["--perms", "0555", "--tmpfs", &text]),
            PathAccess::Hidden => say(&["--ro-bind", "/dev/null", &text]),
        }
    }
    let is_hidden_directory = |path: &&Path| path.is_dir();
    for path in policy.paths(PathAccess::Hidden).filter(is_hidden_directory) {
        say(&["--remount-ro", &utf8(path)?]);
    }
    if let Some(NetworkGate { socket, relay }) = gate {
        say(&["--ro-bind", &utf8(relay)?, RELAY_INSIDE, "--ro-bind", &utf8(socket)?, SOCKET_INSIDE]);
    }
    say(&["--chdir", &utf8(directory)?, "--"]);
    Ok(arguments)
}
