//! Starts the git program: its environment, its time limit, and the meaning of its error messages.

use std::ffi::{OsStr, OsString};
use std::io;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::program_path::{absolute_places, find};

/// The variables of this process, and the git program. This type decides which variables git receives. It
/// finds the program once, because git runs in directories that agents write to. A file there must never pass
/// for git.
#[derive(Clone)]
pub struct GitEnvironment {
    variables: Vec<(OsString, OsString)>,
    git: PathBuf,
}

impl std::fmt::Debug for GitEnvironment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("GitEnvironment")
            .field("variables", &self.variables.len())
            .finish_non_exhaustive()
    }
}

/// Settings for every call, above those of a repository.
const HELD: [&str; 8] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    // Patterns of reviewers search a diff as `git diff` shows it: readable paths and short hashes.
    "core.quotePath=false",
    "core.abbrev=7",
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

impl GitEnvironment {
    /// Returns the environment of this process. The first call fixes the git program.
    pub fn of_process() -> Self {
        static FIRST: OnceLock<GitEnvironment> = OnceLock::new();
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
            // Looking at a worktree must not write its index: another process may own it.
            .env("GIT_OPTIONAL_LOCKS", "0")
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
pub(crate) fn configure(git: &mut Command, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
    let told = git.get_envs().find(|(name, _)| *name == COUNT).and_then(|(_, value)| value);
    let count: usize = told.and_then(|count| count.to_str()?.parse().ok()).unwrap_or(0);
    git.env(format!("GIT_CONFIG_KEY_{count}"), key)
        .env(format!("GIT_CONFIG_VALUE_{count}"), value)
        .env(COUNT, (count + 1).to_string());
}

const COUNT: &str = "GIT_CONFIG_COUNT";

/// Returns the output, or an error with git's message.
pub fn output(git: &mut Command, named: &str) -> Result<Vec<u8>, GitError> {
    judge(run(git, named, None, GitTerminalAccess::Apart)?, named)
}

/// Works like [`output`], with input.
pub(crate) fn feed(git: &mut Command, named: &str, input: &[u8]) -> Result<Vec<u8>, GitError> {
    judge(run(git, named, Some(input), GitTerminalAccess::Apart)?, named)
}

/// Splits a list of paths as git prints it: bytes, each ended by NUL.
pub(crate) fn split_paths(said: &[u8]) -> impl Iterator<Item = &[u8]> {
    said.split(|byte| *byte == 0).filter(|path| !path.is_empty())
}

pub(crate) fn join_paths<'a>(paths: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path);
        list.push(0);
    }
    list
}

pub(crate) fn path_of(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// Returns the output of a finished git, or its error message.
pub(crate) fn judge(output: Output, named: &str) -> Result<Vec<u8>, GitError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // Progress output may precede the error message.
    let is_complaint = |line: &&str| line.starts_with("fatal: ") || line.starts_with("error: ");
    let first = || said.lines().find(|line| !line.trim().is_empty());
    let said = said.lines().find(is_complaint).or_else(first).map(str::trim);
    Err(GitError::refused(named, said))
}

/// The meaning of an error message of git, as far as Saihai acts on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitRefusalKind {
    NotARepository,
    /// The repository belongs to another user.
    ForeignOwner,
    /// HEAD names a branch that does not exist.
    DanglingHead,
    FileForm(RefusedFileForm),
    /// Git failed without a message.
    Silent,
    Other,
}

impl GitRefusalKind {
    pub fn is_foreign_owner(self) -> bool {
        self == Self::ForeignOwner
    }
}

/// The problem with a file that git refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedFileForm {
    /// The file is not in the encoding that the attributes name.
    Encoding,
    /// The line ends are wrong, and git may not convert them.
    LineEnds,
}

/// Classifies a message of git. Git runs with `LC_ALL=C`, and nothing else reads its messages.
fn classify(said: &str) -> GitRefusalKind {
    const OF_ENCODING: [&str; 5] =
        ["failed to encode ", "BOM is ", "encoding '", "working-tree-encoding", "and back is not the same"];
    if said.contains("not a git repository") {
        GitRefusalKind::NotARepository
    } else if said.contains("dubious ownership") {
        GitRefusalKind::ForeignOwner
    } else if said.starts_with("warning: ignoring dangling symref") {
        GitRefusalKind::DanglingHead
    } else if OF_ENCODING.iter().any(|words| said.contains(words)) {
        GitRefusalKind::FileForm(RefusedFileForm::Encoding)
    } else if said.contains(" would be replaced by ") {
        GitRefusalKind::FileForm(RefusedFileForm::LineEnds)
    } else {
        GitRefusalKind::Other
    }
}

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program cannot be started.
    #[error("cannot start git: {0}")]
    Missing(#[source] io::Error),
    /// The system has no process or memory to spare. It may have later.
    #[error("cannot start git: {0}")]
    OutOfResources(#[source] io::Error),
    #[error("`git {command}` failed: {said}")]
    Refused {
        /// The command, without its flags.
        command: String,
        kind: GitRefusalKind,
        said: String,
    },
    #[error("`{name}` could mean {}", either(.meanings))]
    Ambiguous {
        name: String,
        /// The full names of all matches.
        meanings: Vec<String>,
    },
    /// The inside of a git directory, without project files.
    #[error("`{}` is a bare repository, or the inside of one: no files are checked out there", .0.display())]
    Bare(PathBuf),
    /// Git was ended before it finished.
    #[error("`git {command}` was stopped: {why}")]
    Ended {
        /// The command, without its flags.
        command: String,
        why: &'static str,
    },
    /// The output could not be parsed.
    #[error("cannot parse the output of `git {command}`")]
    Unreadable { command: &'static str },
}

impl GitError {
    /// Builds the error of a command that failed with a message, or with none.
    pub fn refused(command: &str, said: Option<&str>) -> Self {
        let kind = said.map_or(GitRefusalKind::Silent, classify);
        let said = said.unwrap_or("it gave no reason").to_owned();
        Self::Refused { command: command.to_owned(), kind, said }
    }
}

fn either(meanings: &[String]) -> String {
    let quoted: Vec<String> = meanings.iter().map(|meaning| format!("`{meaning}`")).collect();
    quoted.join(" or ")
}

/// Time limit for every git command. A silent git may still be working, so the limit exceeds the first fetch
/// of a large repository. Commands that would wait in vain are refused before they start.
const LONGEST: Duration = Duration::from_secs(3_600);
/// Poll interval for the request to end everything.
const LOOK: Duration = Duration::from_millis(50);
/// Time to wait for ended processes.
const GRACE: Duration = Duration::from_secs(2);

/// Set when all git processes must end. It is global, like the signal that causes it.
static ENDING: AtomicBool = AtomicBool::new(false);
static RUNNING: AtomicUsize = AtomicUsize::new(0);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GitTerminalAccess {
    /// Git runs in its own process group. Killing the group also ends the programs that git started.
    Apart,
    /// Git can prompt on the terminal.
    AtTerminal,
}

/// Ends every git of this process with all its children, and prevents new ones.
pub fn end_all() {
    ENDING.store(true, Ordering::SeqCst);
    let end = Instant::now() + GRACE;
    while RUNNING.load(Ordering::SeqCst) > 0 && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
}

/// Runs git with optional input.
pub fn run(
    git: &mut Command,
    named: &str,
    input: Option<&[u8]>,
    seat: GitTerminalAccess,
) -> Result<Output, GitError> {
    run_within(git, named, input, seat, LONGEST)
}

pub(crate) fn run_within(
    git: &mut Command,
    named: &str,
    input: Option<&[u8]>,
    seat: GitTerminalAccess,
    longest: Duration,
) -> Result<Output, GitError> {
    let _counted = RunningGitCount::new();
    git.stdin(input.map_or_else(Stdio::null, |_| Stdio::piped()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if seat == GitTerminalAccess::Apart {
        git.process_group(0);
    }
    let mut child = git.spawn().map_err(spawn_error)?;
    let pipe = child.stdin.take();
    let watched = GitWatchdog { process: Pid::from_child(&child), seat, until: Instant::now() + longest };
    let (over, ended) = channel::<()>();
    std::thread::scope(|scope| {
        if let (Some(mut pipe), Some(input)) = (pipe, input) {
            // A child that stops reading reports the reason itself.
            scope.spawn(move || pipe.write_all(input).ok());
        }
        let watch = scope.spawn(move || watched.watch(&ended));
        let output = Child::wait_with_output(child);
        drop(over);
        match watch.join().unwrap_or_default() {
            Some(why) => Err(GitError::Ended { command: named.to_owned(), why }),
            None => output.map_err(GitError::Missing),
        }
    })
}

fn spawn_error(error: io::Error) -> GitError {
    match Errno::from_io_error(&error) {
        Some(Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE) => GitError::OutOfResources(error),
        _ => GitError::Missing(error),
    }
}

/// Runs git and passes its output to a reader while it arrives. When the reader has enough, git is ended.
pub(crate) fn stream<T>(
    git: &mut Command,
    named: &'static str,
    input: &[u8],
    read: impl FnOnce(ChildStdout) -> io::Result<T>,
) -> Result<T, GitError> {
    stream_within(git, named, input, read, LONGEST)
}

fn stream_within<T>(
    git: &mut Command,
    named: &'static str,
    input: &[u8],
    read: impl FnOnce(ChildStdout) -> io::Result<T>,
    longest: Duration,
) -> Result<T, GitError> {
    let _counted = RunningGitCount::new();
    git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
    let mut child = git.spawn().map_err(spawn_error)?;
    let mut pipe = child.stdin.take().expect("its input is a pipe");
    let said = child.stdout.take().expect("its output is a pipe");
    let process = Pid::from_child(&child);
    let watched = GitWatchdog { process, seat: GitTerminalAccess::Apart, until: Instant::now() + longest };
    let (over, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || pipe.write_all(input).ok());
        let watch = scope.spawn(move || watched.watch(&ended));
        let found = read(said);
        drop(over);
        let why = watch.join().unwrap_or_default();
        // The rest of the output is not needed. Git may already have ended.
        kill_process_group(process, Signal::KILL).unwrap_or(());
        child.wait().map_err(GitError::Missing)?;
        match why {
            Some(why) => Err(GitError::Ended { command: named.to_owned(), why }),
            None => found.map_err(|_| GitError::Unreadable { command: named }),
        }
    })
}

/// Counts a running git while it exists.
struct RunningGitCount;

impl RunningGitCount {
    fn new() -> Self {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for RunningGitCount {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A git process with a time limit.
struct GitWatchdog {
    process: Pid,
    seat: GitTerminalAccess,
    until: Instant,
}

impl GitWatchdog {
    /// Waits for the end of the process, or kills it and returns the reason.
    fn watch(&self, ended: &Receiver<()>) -> Option<&'static str> {
        loop {
            if ENDING.load(Ordering::SeqCst) {
                return self.end("Saihai is quitting");
            }
            if Instant::now() >= self.until {
                return self.end("it took longer than an hour");
            }
            match ended.recv_timeout(LOOK) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    fn end(&self, why: &'static str) -> Option<&'static str> {
        let ended = match self.seat {
            GitTerminalAccess::Apart => kill_process_group(self.process, Signal::KILL),
            GitTerminalAccess::AtTerminal => kill_process(self.process, Signal::KILL),
        };
        // The process may just have ended by itself.
        ended.ok().map(|()| why)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_git_that_waits_for_ever_is_ended_with_all_it_started() {
        let mut git = Command::new("sh");
        // The parent of the second process is gone, and that process holds the output open.
        git.args(["-c", "sleep 600 & sleep 600 & wait"]);
        let error =
            run_within(&mut git, "status", None, GitTerminalAccess::Apart, Duration::ZERO).unwrap_err();
        assert_eq!(error.to_string(), "`git status` was stopped: it took longer than an hour");
    }

    #[test]
    fn a_git_that_is_listened_to_is_ended_as_well() {
        let listened = |script: &str, input: &[u8], longest, most: u64| {
            let mut git = Command::new("sh");
            git.args(["-c", script]);
            let read = |said: ChildStdout| {
                let mut heard = String::new();
                said.take(most).read_to_string(&mut heard).map(|_| heard)
            };
            stream_within(&mut git, "cat-file", input, read, longest).map_err(|error| error.to_string())
        };
        let late = listened("echo begun; sleep 600 & sleep 600", b"", Duration::ZERO, 100);
        assert_eq!(late, Err("`git cat-file` was stopped: it took longer than an hour".to_owned()));
        assert_eq!(listened("cat", b"whole", LONGEST, 100), Ok("whole".to_owned()));
        // The output exceeds the pipe buffers, and the reader stops early.
        assert_eq!(listened("cat; sleep 600", &[b'x'; 1_000_000], LONGEST, 3), Ok("xxx".to_owned()));
    }

    #[test]
    fn a_full_system_is_not_a_missing_program() {
        let kind = |errno: Errno| spawn_error(errno.into());
        assert!(matches!(kind(Errno::AGAIN), GitError::OutOfResources(_)));
        assert!(matches!(kind(Errno::NOMEM), GitError::OutOfResources(_)));
        assert!(matches!(kind(Errno::NOENT), GitError::Missing(_)));
    }

    #[test]
    fn a_git_in_time_says_what_it_has_to_say() {
        let mut git = Command::new("sh");
        git.args(["-c", "cat; echo no >&2; exit 3"]);
        let output = run(&mut git, "status", Some(b"read"), GitTerminalAccess::Apart).unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"read"[..], &b"no\n"[..])
        );
    }
}
