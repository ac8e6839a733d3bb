//! One call of the program.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::Write as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::published::{wrong_output, wrong_report};
use crate::{Fault, Live};

/// Longer means that it hangs, and nothing else (T-3).
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

/// A call that has not been made yet. Nothing of the environment reaches the program but what is said here.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    shown: String,
    input: Option<Vec<u8>>,
    patience: Duration,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub call: String,
    /// The exit code; nothing if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// What it wrote to stdout.
    pub stdout: String,
    /// What it wrote to stderr.
    pub stderr: String,
}

impl Invocation {
    pub(crate) fn new<I>(program: &Path, directory: &Path, home: &Path, arguments: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let arguments: Vec<OsString> = arguments.into_iter().map(|one| one.as_ref().to_owned()).collect();
        let mut command = Command::new(program);
        command
            .args(&arguments)
            .current_dir(directory)
            .env_clear()
            .env("HOME", home)
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .env("NO_COLOR", "1");
        let words: Vec<String> = arguments.iter().map(|one| one.to_string_lossy().into_owned()).collect();
        // Ours is built under several names.
        let named = if program == Path::new("git") { "git" } else { "saihai" };
        Self { command, shown: format!("{named} {}", words.join(" ")), input: None, patience: WATCHDOG }
    }

    #[must_use]
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    #[must_use]
    pub fn without_env(mut self, name: &str) -> Self {
        self.command.env_remove(name);
        self
    }

    /// What stands on stdin; otherwise it is empty.
    #[must_use]
    pub fn input(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.input = Some(text.into());
        self
    }

    /// How long it may take, where a foreign program makes it longer than anything of ours.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    #[must_use]
    pub fn fault(self, fault: &Fault) -> Self {
        self.env(Fault::VARIABLE, fault.to_string())
    }

    #[must_use]
    pub fn directory(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Runs as another user; only root can.
    #[must_use]
    pub fn as_user(mut self, user: u32) -> Self {
        self.command.uid(user).gid(user);
        self
    }

    /// Runs it under a shell that first obeys `setup`, for limits that only a process itself can set.
    #[must_use]
    pub fn under_shell(self, setup: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("{setup}; exec \"$@\"")).arg("sh").arg(self.command.get_program());
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Runs another copy of the program.
    #[must_use]
    pub fn program(self, program: &Path) -> Self {
        let mut command = Command::new(program);
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Runs it with stdout going to another command of a shell; what comes out is that command's.
    #[must_use]
    pub fn piped_into(self, other: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("\"$@\" | {other}")).arg("sh").arg(self.command.get_program());
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Gives another command the directory and the variables of this one.
    fn with_surroundings(&self, mut command: Command) -> Command {
        command.env_clear();
        for (name, value) in self.command.get_envs() {
            if let Some(value) = value {
                command.env(name, value);
            }
        }
        if let Some(directory) = self.command.get_current_dir() {
            command.current_dir(directory);
        }
        command
    }

    /// The call itself, for whoever gives it a terminal, and how it is shown.
    pub(crate) fn into_command(self) -> (Command, String) {
        (self.command, self.shown)
    }

    /// Makes the call and waits for its end.
    pub fn run(mut self) -> Outcome {
        let mut child = self.spawn();
        let pid = Pid::from_child(&child);
        let input = self.input.take().unwrap_or_default();
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // A program that does not read its input is no failure of the test.
        let writer = thread::spawn(move || drop(stdin.write_all(&input)));
        let (sender, receiver) = mpsc::channel();
        let waiter = thread::spawn(move || drop(sender.send(child.wait_with_output())));
        let output = receiver.recv_timeout(self.patience).unwrap_or_else(|_| {
            let _ = kill_process(pid, Signal::KILL);
            panic!("`{}` hangs", self.shown);
        });
        writer.join().expect("the writer");
        waiter.join().expect("the waiter");
        let output = output.expect("its output");
        let outcome = Outcome {
            call: self.shown,
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        };
        outcome.must_be_as_published();
        outcome
    }

    /// Makes the call and stays with it while it goes on.
    pub fn start(mut self) -> Live {
        let child = self.spawn();
        Live::new(self.shown, child)
    }

    fn spawn(&mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.spawn().unwrap_or_else(|error| panic!("`{}` cannot be started: {error}", self.shown))
    }
}

impl Outcome {
    /// Fails unless it ended with this code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Whatever a test is about, JSON that the program writes is what is published about it. A line that was cut off by a
    /// signal or another program is no JSON, and none of its business.
    fn must_be_as_published(&self) {
        if !self.call.contains(" --json") && !self.call.contains(" --format json") {
            return;
        }
        // A report is one object over many lines.
        if self.call.contains(" review") && self.stdout.starts_with("{\n") {
            let report = serde_json::from_str(&self.stdout);
            let wrong = wrong_report(&report.unwrap_or_else(|error| panic!("{error}\n{self}")));
            assert!(wrong.is_empty(), "not as the schema says: {wrong:#?}\n{self}");
            return;
        }
        for object in self.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()) {
            let wrong = wrong_output(&object);
            assert!(wrong.is_empty(), "not as the schema says: {wrong:#?}\n{object}\n{self}");
        }
    }

    /// The objects it wrote to stdout, one a line.
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{self}")))
            .collect()
    }

    /// The result object of a run with `--json`.
    pub fn result(&self) -> serde_json::Value {
        let results: Vec<_> = self.json().into_iter().filter(|one| one["type"] == "result").collect();
        match <[_; 1]>::try_from(results) {
            Ok([result]) => result,
            Err(other) => panic!("{} results\n{self}", other.len()),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "$ {}", self.call)?;
        writeln!(f, "{}", self.stdout)?;
        writeln!(f, "-- stderr\n{}", self.stderr)?;
        write!(f, "-- code {:?}, signal {:?}", self.code, self.signal)
    }
}
