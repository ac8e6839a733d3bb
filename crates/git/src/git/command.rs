//! The only place that starts the git program.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::program_path::{absolute_places, find};

use super::Error;
pub use super::running::end_all;
pub use super::running::{Seat, run, stream};

/// The variables of this process, and the git program. This type decides which variables git receives. It
/// finds the program once, because git runs in directories that agents write to. A file there must never pass
/// for git.
#[derive(Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
    git: PathBuf,
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Environment")
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}

/// Settings for every call, above those of a repository.
const HELD: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=true",
    "core.commitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables with tokens for a forge. Git receives a token only for a call that contacts the forge.
const TOKENS: [&str; 4] = ["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN"];
/// A path that cannot exist. Git ignores a missing file silently.
const NOWHERE: &str = "/dev/null/none";
/// The path for error messages if `PATH` has no git.
const USUAL: &str = "/usr/bin/git";

impl Environment {
    /// Returns the environment of this process. The first call fixes the git program.
    pub fn of_process() -> Self {
        static FIRST: OnceLock<Environment> = OnceLock::new();
        FIRST.get_or_init(|| Self::of(std::env::vars_os())).clone()
    }

    /// Creates an environment with only these variables.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut variables: Vec<_> = variables.into_iter().collect();
        let mut git = PathBuf::from(USUAL);
        for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
            *path = absolute_places(path);
            git = find("git", Some(path)).unwrap_or(git);
        }
        // An empty `PATH` means the current directory to some programs.
        variables.retain(|(name, value)| name != "PATH" || !value.is_empty());
        Self { variables, git }
    }

    pub fn value(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Prepares git with empty input. It disables pager, hooks, file system monitor, prompts, lazy fetching,
    /// transports and replace objects. It also clears the variables of the caller's git and of the forge.
    pub fn git(&self) -> Command {
        let mut git = Command::new(&self.git);
        let foreign = |name: &OsString| {
            let name = name.to_string_lossy();
            name.starts_with("GIT_") || name == "SSH_ASKPASS" || TOKENS.contains(&name.as_ref())
        };
        git.env_clear()
            .envs(self.variables.iter().filter(|(name, _)| !foreign(name)).map(|(name, value)| (name, value)))
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_GRAFT_FILE", NOWHERE)
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .arg("--no-pager");
        for setting in HELD {
            git.args(["-c", setting]);
        }
        git
    }
}

/// Sets a configuration value above those from files. It uses the environment: a command line would split at
/// the first `=`, and the name of a filter may contain one.
pub fn configure(git: &mut Command, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
    let told = git.get_envs().find(|(name, _)| *name == COUNT).and_then(|(_, value)| value);
    let count: usize = told.and_then(|count| count.to_str()?.parse().ok()).unwrap_or(0);
    git.env(format!("GIT_CONFIG_KEY_{count}"), key)
        .env(format!("GIT_CONFIG_VALUE_{count}"), value)
        .env(COUNT, (count + 1).to_string());
}

const COUNT: &str = "GIT_CONFIG_COUNT";

/// Returns the output, or an error with git's message.
pub fn output(git: &mut Command, named: &str) -> Result<Vec<u8>, Error> {
    judge(run(git, named, None, Seat::Apart)?, named)
}

/// Works like [`output`], with input.
pub fn feed(git: &mut Command, named: &str, input: &[u8]) -> Result<Vec<u8>, Error> {
    judge(run(git, named, Some(input), Seat::Apart)?, named)
}

/// The message for a failure without one.
pub const SILENT: &str = "it did not say why";

/// Returns the output of a finished git, or its error message.
pub fn judge(output: Output, named: &str) -> Result<Vec<u8>, Error> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // Progress output may precede the error message.
    let is_complaint = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let first = || said.lines().find(|line| !line.trim().is_empty());
    let said = said.lines().find(is_complaint).or_else(first).unwrap_or(SILENT);
    Err(Error::Refused { command: named.to_owned(), said: said.trim().to_owned() })
}
