//! Invocations of the program under test.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::published::{wrong_output, wrong_report};
use crate::{Fault, Live};

/// Time after which the program counts as hanging (T-3).
pub(crate) const WATCHDOG: Duration = Duration::from_secs(60);

/// A prepared invocation. The program sees only the environment set here.
#[derive(Debug)]
pub struct Invocation {
    command: Command,
    shown: String,
    input: Option<Vec<u8>>,
    patience: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub call: String,
    /// Exit code; absent if a signal ended the program.
    pub code: Option<i32>,
    /// Signal that ended the program.
    pub signal: Option<i32>,
    pub stdout: String,
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
        // Saihai is built under several names.
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

    /// Sets stdin, which is empty by default.
    #[must_use]
    pub fn input(mut self, text: impl Into<Vec<u8>>) -> Self {
        self.input = Some(text.into());
        self
    }

    /// Sets the time limit, for invocations that a slow foreign program prolongs.
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

    /// Runs as a different user, which requires root.
    #[must_use]
    pub fn as_user(mut self, user: u32) -> Self {
        self.command.uid(user).gid(user);
        self
    }

    /// Runs the program from a shell after `setup`, for limits that only the process itself can
    /// set.
    #[must_use]
    pub fn under_shell(self, setup: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("{setup}; exec \"$@\"")).arg("sh").arg(self.command.get_program());
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Runs a different copy of the program.
    #[must_use]
    pub fn program(self, program: &Path) -> Self {
        let mut command = Command::new(program);
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Pipes stdout into a shell command. The outcome holds that command's output.
    #[must_use]
    pub fn piped_into(self, other: &str) -> Self {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(format!("\"$@\" | {other}")).arg("sh").arg(self.command.get_program());
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Writes stderr to stdout too, in the order of a terminal.
    #[must_use]
    pub fn with_one_output(self) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "exec \"$@\" 2>&1", "sh"]).arg(self.command.get_program());
        command.args(self.command.get_args());
        Self { command: self.with_surroundings(command), ..self }
    }

    /// Copies working directory and variables to another command.
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

    /// Returns the command for use with a terminal, and its display form.
    pub(crate) fn into_command(self) -> (Command, String) {
        (self.command, self.shown)
    }

    /// Runs the program and waits for its end.
    pub fn run(mut self) -> Outcome {
        let mut child = self.spawn();
        let pid = Pid::from_child(&child);
        let input = self.input.take().unwrap_or_default();
        let mut stdin = child.stdin.take().expect("it is a pipe");
        // A program may ignore its input without failing the test.
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

    /// Starts the program and returns while it runs.
    pub fn start(mut self) -> Live {
        let child = self.spawn();
        Live::new(self.shown, child)
    }

    fn spawn(&mut self) -> Child {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let begun = Instant::now();
        loop {
            match self.command.spawn() {
                Ok(child) => return child,
                // A process that another test is just starting still has the copy of the program open for writing.
                Err(error)
                    if error.kind() == io::ErrorKind::ExecutableFileBusy
                        && begun.elapsed() < Duration::from_secs(10) =>
                {
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => panic!("`{}` cannot be started: {error}", self.shown),
            }
        }
    }
}

impl Outcome {
    /// Fails unless the exit code is `code`.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Checks in every test that JSON output follows the published schemas. Skips lines cut off by
    /// a signal or another program, because they are not JSON.
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

    /// Parses stdout as JSON, one object per line.
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}\n{self}")))
            .collect()
    }

    /// Returns the result object of a run with `--json`.
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
