use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::error::CommandError;

/// A process of our own that drives a run. It outlives this one.
pub(crate) struct RunProcess {
    child: Child,
    output: File,
    errors: File,
}

impl RunProcess {
    /// Starts the program with these arguments in a project.
    pub(crate) fn start<I>(root: &Path, arguments: I, input: Stdio) -> Result<Self, CommandError>
    where
        I: IntoIterator,
        I::Item: AsRef<OsStr>,
    {
        let program = std::env::current_exe().map_err(unavailable)?;
        let output = tempfile::tempfile().map_err(unavailable)?;
        let errors = tempfile::tempfile().map_err(unavailable)?;
        let mut command = Command::new(program);
        command.arg("-C").arg(root).args(arguments).stdin(input);
        command.stdout(output.try_clone().map_err(unavailable)?);
        command.stderr(errors.try_clone().map_err(unavailable)?);
        #[cfg(unix)]
        {
            // A Ctrl-C for this process does not stop the run.
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        Ok(Self { child: command.spawn().map_err(unavailable)?, output, errors })
    }

    /// Returns the exit code of a process that has ended. A signal has none, which counts as -1.
    pub(crate) fn exit_code(&mut self) -> Result<Option<i32>, CommandError> {
        let status = self.child.try_wait().map_err(unavailable)?;
        Ok(status.map(|status| status.code().unwrap_or(-1)))
    }

    /// Returns the output so far.
    pub(crate) fn output(&mut self) -> String {
        content(&mut self.output)
    }

    /// Returns the warnings and errors so far.
    pub(crate) fn errors(&mut self) -> String {
        content(&mut self.errors)
    }

    /// Lets the process continue.
    pub(crate) fn leave(mut self) {
        // A child whose exit status is not collected stays in the process table.
        std::thread::spawn(move || self.child.wait().is_ok());
    }
}

fn unavailable(error: std::io::Error) -> CommandError {
    CommandError::unavailable(format!("cannot start a process for the run: {error}"))
}

fn content(file: &mut File) -> String {
    let mut bytes = Vec::new();
    match file.rewind().and_then(|()| file.read_to_end(&mut bytes)) {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}
