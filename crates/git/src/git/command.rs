//! The one place where the git program is started.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::program_path::{absolute_places, find};

use super::Error;
pub use super::running::end_all;
pub use super::running::{Seat, run, stream};

/// The variables a person started us with; what git is told of them is decided here. So is which file git is: it is started in places
/// whose files agents write, and none of those is ever taken for it.
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

/// Settings that hold in every call, whatever a repository says.
const HELD: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.quotePath=true",
    "core.commitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Who we are to the forge: git is lent a token for the moment in which it talks to one, and only then.
const TOKENS: [&str; 4] = ["GITHUB_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GH_ENTERPRISE_TOKEN"];
/// A file that cannot be there: git asks for it and says nothing.
const NOWHERE: &str = "/dev/null/none";
/// Where git is said not to be, where it is nowhere on the path.
const USUAL: &str = "/usr/bin/git";

impl Environment {
    /// That of this process. Git is the file that it was when this was first asked for.
    pub fn of_process() -> Self {
        static FIRST: OnceLock<Environment> = OnceLock::new();
        FIRST.get_or_init(|| Self::of(std::env::vars_os())).clone()
    }

    /// These variables and no others.
    pub fn of(variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let mut variables: Vec<_> = variables.into_iter().collect();
        let mut git = PathBuf::from(USUAL);
        for (_, path) in variables.iter_mut().filter(|(name, _)| name == "PATH") {
            *path = absolute_places(path);
            git = find("git", Some(path)).unwrap_or(git);
        }
        // To whoever looks for a program by it, an empty one means the directory it stands in.
        variables.retain(|(name, value)| name != "PATH" || !value.is_empty());
        Self { variables, git }
    }

    /// The value of a variable.
    pub fn value(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Git without pager, hooks, file system monitor, prompts, lazy fetching, transports, objects in the place of others, and the variables of the
    /// caller's own git and of the forge. Its input is empty.
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

/// Has git go by a setting, whatever its files say. In its environment, because on a command line everything behind the
/// first `=` would be taken for the value, and the name of a filter may hold one.
pub fn configure(git: &mut Command, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
    let told = git.get_envs().find(|(name, _)| *name == COUNT).and_then(|(_, value)| value);
    let count: usize = told.and_then(|count| count.to_str()?.parse().ok()).unwrap_or(0);
    git.env(format!("GIT_CONFIG_KEY_{count}"), key)
        .env(format!("GIT_CONFIG_VALUE_{count}"), value)
        .env(COUNT, (count + 1).to_string());
}

const COUNT: &str = "GIT_CONFIG_COUNT";

/// What it printed; an error with what it complained of where it refused.
pub fn output(git: &mut Command, named: &str) -> Result<Vec<u8>, Error> {
    judge(run(git, named, None, Seat::Apart)?, named)
}

/// As [`output`], with something to read.
pub fn feed(git: &mut Command, named: &str, input: &[u8]) -> Result<Vec<u8>, Error> {
    judge(run(git, named, Some(input), Seat::Apart)?, named)
}

/// What is said of one that refused without a word.
pub const SILENT: &str = "it did not say why";

/// What a git that has ended printed, or complained of.
pub fn judge(output: Output, named: &str) -> Result<Vec<u8>, Error> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // Progress may stand before the complaint.
    let is_complaint = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let first = || said.lines().find(|line| !line.trim().is_empty());
    let said = said.lines().find(is_complaint).or_else(first).unwrap_or(SILENT);
    Err(Error::Refused { command: named.to_owned(), said: said.trim().to_owned() })
}
