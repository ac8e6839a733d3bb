//! A program that a run starts itself, without an agent: a handler or a validator.

use std::ffi::OsString;
use std::path::PathBuf;

use saihai_model::{CallId, Failure, FailureClass, Millis};
use tokio_util::sync::CancellationToken;

use crate::Connections;
use crate::environment;
use crate::process::{Ended, Error, Grace, Heard, Mark, Program, exchange, find, is_exhausted};

/// A program to run, and the call it runs for.
#[derive(Debug, Clone)]
pub struct CommandLine {
    /// The program and its arguments, without a shell.
    pub argv: Vec<String>,
    pub directory: PathBuf,
    pub input: String,
    pub timeout: Millis,
    pub run: String,
    pub run_directory: PathBuf,
    pub call: CallId,
}

/// The environment of these programs.
#[derive(Debug, Clone)]
pub struct Surroundings {
    environment: Vec<(OsString, OsString)>,
    launcher: Option<PathBuf>,
    grace: Grace,
    /// Run nothing, and only record the program.
    pub dry: bool,
}

impl Surroundings {
    /// Returns the environment in which agent programs start.
    pub fn of(connections: &Connections) -> Self {
        Self {
            environment: environment::allowed(&connections.environment, &[]),
            launcher: connections.launcher.clone(),
            grace: Grace::new(connections.grace),
            dry: connections.dry,
        }
    }

    /// Returns true if a program can be run. A relative path always counts, because an earlier step may still
    /// create that program.
    pub fn has(&self, program: &str) -> bool {
        let path = self.environment.iter().find(|(variable, _)| variable == "PATH");
        let is_relative = program.contains('/') && !program.starts_with('/');
        is_relative || find(program, path.map(|(_, value)| value.as_os_str())).is_ok()
    }

    /// Shortens the time that programs have to end, from now on.
    pub fn hurry(&self) {
        self.grace.hurry();
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandOutput {
    pub end: CommandEnd,
    /// Standard output, at most 1 MiB; invalid UTF-8 is replaced.
    pub output: String,
    /// Standard error, cut in the same way.
    pub complaints: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandEnd {
    /// The program exited with this code.
    Code(i32),
    /// A signal that was not ours ended the program.
    Signal(i32),
    TimedOut(Millis),
}

impl CommandLine {
    /// Runs the program to its end. After it returns or is dropped, nothing of the program is left (P7).
    pub async fn run(self, around: Surroundings, stop: CancellationToken) -> Result<CommandOutput, Failure> {
        let program = Program {
            mark: Mark::new(&self.run, &self.call, &self.run_directory),
            argv: self.argv,
            directory: self.directory,
            environment: around.environment,
            launcher: around.launcher,
            timeout: Some(self.timeout),
            grace: around.grace,
        };
        let heard = exchange(program, self.input.as_bytes(), &stop).await;
        let Heard { ended, output, complaints } = heard.map_err(|error| not_run(&error))?;
        let end = match ended {
            Ended::Code(code) => CommandEnd::Code(code),
            Ended::Signal(signal) => CommandEnd::Signal(signal),
            Ended::TimedOut(timeout) => CommandEnd::TimedOut(timeout),
            Ended::Stopped => return Err(Failure::new(FailureClass::Cancelled, "it was stopped")),
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(CommandOutput { end, output: text(output), complaints: text(complaints) })
    }
}

fn not_run(error: &Error) -> Failure {
    let class = match error {
        Error::Nothing => FailureClass::BadRequest,
        Error::Start { source, .. } if is_exhausted(source) => FailureClass::Transient,
        Error::Start { .. } => FailureClass::Missing,
        Error::Wait { .. } => FailureClass::Crashed,
    };
    Failure::new(class, error.to_string())
}

#[cfg(test)]
mod tests;
