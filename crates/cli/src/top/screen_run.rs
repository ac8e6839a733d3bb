//! `saihai run --tui`: a run in a process of its own, shown on this screen.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::process::{Child, Command, ExitStatus as ChildStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use crate::error::CommandError;
use crate::project::Project;
use crate::watching::ProjectRun;

/// The process of a run that was started with this screen.
pub(crate) struct ScreenRun {
    pub(crate) run: ProjectRun,
    child: Child,
}

/// The part of an event that names the run.
#[derive(Deserialize)]
struct FirstEvent {
    run: String,
}

/// Time that a run gets to park.
const PARKING: Duration = Duration::from_secs(20);

impl ScreenRun {
    /// Starts `saihai` with these arguments, and waits until its run exists. Returns the output of a process that
    /// ended before.
    pub(crate) fn start(
        project: &Project,
        arguments: &[OsString],
    ) -> Result<Result<Self, (ChildStatus, String)>, CommandError> {
        let unavailable = |error: io::Error| {
            CommandError::unavailable(format!("cannot start a process for the run: {error}"))
        };
        let mut errors = tempfile::tempfile().map_err(unavailable)?;
        let mut command = Command::new(std::env::current_exe().map_err(unavailable)?);
        command.args(arguments).arg("--json").stdin(Stdio::null()).stdout(Stdio::piped());
        command.stderr(errors.try_clone().map_err(unavailable)?);
        #[cfg(unix)]
        {
            // Keys and a hang-up of this terminal are for the screen.
            use std::os::unix::process::CommandExt as _;
            command.process_group(0);
        }
        let mut child = command.spawn().map_err(unavailable)?;
        let mut output =
            BufReader::new(child.stdout.take().ok_or_else(|| unavailable(io::ErrorKind::Other.into()))?);
        let mut line = String::new();
        output.read_line(&mut line).map_err(unavailable)?;
        match serde_json::from_str::<FirstEvent>(&line) {
            Ok(FirstEvent { run }) => {
                // A full pipe would stop the run.
                thread::spawn(move || io::copy(&mut output, &mut io::sink()).is_ok());
                let run = ProjectRun { root: project.places.root.clone(), id: run };
                Ok(Ok(Self { run, child }))
            }
            Err(_) => {
                let status = child.wait().map_err(unavailable)?;
                Ok(Err((status, said(&mut errors))))
            }
        }
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Asks the run to park, as Ctrl-C does, and waits for it.
    pub(crate) fn park(&mut self) {
        // It may have ended meanwhile.
        kill_process(Pid::from_child(&self.child), Signal::INT).unwrap_or(());
        let begun = Instant::now();
        while self.is_running() && begun.elapsed() < PARKING {
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn said(errors: &mut File) -> String {
    let mut text = String::new();
    // Without it, the exit code remains.
    errors.rewind().and_then(|()| errors.read_to_string(&mut text)).unwrap_or_default();
    text
}
