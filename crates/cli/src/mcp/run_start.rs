//! Starting a run in a process of its own, as its command does.

use std::collections::HashSet;
use std::io::{Seek as _, Write as _};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use saihai::RunDirectory;

use crate::error::CommandError;
use crate::project::Project;
use crate::watching::RunProcess;

/// The command of a run, without the flags that every run of an agent has.
pub(super) struct RunCommandLine {
    pub(super) command: &'static str,
    pub(super) flags: Vec<String>,
    /// Arguments without a flag. A text that starts with `-` is no flag there.
    pub(super) rest: Vec<String>,
    /// Text on stdin.
    pub(super) input: Option<String>,
}

/// The result of a command that starts a run.
pub(super) enum RunStart {
    Started(RunDirectory),
    /// The command succeeded without a run, for example a review without changes. This is its output.
    NothingToDo(String),
}

/// Time in which a run starts. A provider that is slow to answer `--version`, or a large worktree, takes seconds.
const PATIENCE: Duration = Duration::from_secs(45);
const LOOK: Duration = Duration::from_millis(40);

impl RunCommandLine {
    /// Starts the command, and waits until its run exists.
    pub(super) fn start(self, project: &Project) -> Result<RunStart, CommandError> {
        let known: HashSet<PathBuf> =
            project.runs().list()?.into_iter().map(|run| run.path().to_owned()).collect();
        let request = request_id()?;
        let mut arguments = vec![self.command.to_owned(), "--json".to_owned()];
        arguments.push(format!("--mcp-request={request}"));
        arguments.extend(self.flags);
        arguments.push("--".to_owned());
        arguments.extend(self.rest);
        let input = self.input.map_or_else(|| Ok(Stdio::null()), |text| stdin_of(&text))?;
        let mut process = RunProcess::start(&project.places.root, arguments, input)?;
        let began = Instant::now();
        loop {
            // Look at the process first: a short run has ended before it is found.
            let ended = process.exit_code()?;
            if let Some(run) = started_by(&request, project, &known)? {
                process.leave();
                return Ok(RunStart::Started(run));
            }
            match ended {
                Some(0) => return Ok(RunStart::NothingToDo(process.output())),
                Some(_) => return Err(refusal(&process.errors())),
                None if began.elapsed() > PATIENCE => {
                    process.leave();
                    let error = CommandError::unavailable("the run has not started yet");
                    return Err(error.hint("`list_runs` lists it when it has"));
                }
                None => std::thread::sleep(LOOK),
            }
        }
    }
}

/// Finds the run of a request among the new ones.
fn started_by(
    request: &str,
    project: &Project,
    known: &HashSet<PathBuf>,
) -> Result<Option<RunDirectory>, CommandError> {
    let mut new = project.runs().list()?.into_iter().filter(|run| !known.contains(run.path()));
    let is_asked = |run: &RunDirectory| {
        run.start().is_ok_and(|start| start.origin.mcp_request.as_deref() == Some(request))
    };
    Ok(new.find(is_asked))
}

/// A file on stdin has no reader to wait for, unlike a pipe.
fn stdin_of(text: &str) -> Result<Stdio, CommandError> {
    let file = tempfile::tempfile().and_then(|mut file| {
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    });
    let failed =
        |error| CommandError::unavailable(format!("cannot write the task to a temporary file: {error}"));
    Ok(Stdio::from(file.map_err(failed)?))
}

fn request_id() -> Result<String, CommandError> {
    let mut bytes = [0; 8];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| CommandError::unavailable(format!("no random numbers for the run: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Passes on what a command says to a person. Nothing reads these words.
fn refusal(errors: &str) -> CommandError {
    let errors = errors.trim_end();
    CommandError::usage(if errors.is_empty() { "the run did not start" } else { errors })
}
