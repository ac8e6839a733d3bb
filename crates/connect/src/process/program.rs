//! Runs a program to its end, without a conversation: for scripted replies, handlers and validators.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use saihai_model::{Ask, CallId, Failure, FailureClass, Millis, SandboxSettings};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio_util::sync::CancellationToken;

use super::containment::ProcessMark;
use super::family::{
    ProcessPipes, ProcessStart, ProcessStatus, ProcessStreams, ProcessTree, is_exhausted, read,
};
use super::{allowed_variables, find};
use crate::Connections;
use crate::clock::{GracePeriod, RealTime, StopRequest};
use crate::sandbox::{self, AgentSandboxes, SandboxedStart};

/// A program to run, without a shell.
#[derive(Debug, Clone)]
pub(crate) struct ProgramRun {
    pub(crate) argv: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mark: ProcessMark,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) sandbox: Option<SandboxedStart>,
    pub(crate) timeout: Option<Millis>,
    pub(crate) grace: GracePeriod,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    /// The program exited with this code.
    Code(i32),
    /// A signal that was not ours ended the program.
    Signal(i32),
    /// We ended the program because the run was stopped.
    Stopped,
    /// We ended the program at its time limit.
    TimedOut(Millis),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("no program to run")]
    Nothing,
    #[error("`{program}` could not be started: {source}")]
    Start { program: String, source: io::Error },
    /// We could not wait for the program.
    #[error("cannot wait for the end of `{program}`: {source}")]
    Wait { program: String, source: io::Error },
}

/// Runs or ends a program and drops its output. After it returns or is dropped, nothing of it is left.
pub(crate) async fn run(program: ProgramRun, stop: &CancellationToken) -> Result<ProgramEnd, ProgramError> {
    let (family, _) = start(&program, ProcessStreams::None)?;
    let over = wait_for(&family, &program, stop, std::future::pending()).await?;
    end(family, &program, over).await;
    Ok(over)
}

/// Runs a program to its end, or ends it. Writes its input, and returns its output and its error output.
async fn exchange(
    program: ProgramRun,
    input: &[u8],
    stop: &CancellationToken,
) -> Result<(ProgramEnd, Vec<u8>, Vec<u8>), ProgramError> {
    let (family, pipes) = start(&program, ProcessStreams::Pipes)?;
    let ProcessPipes { input: mouth, output: ear, complaints: other_ear } =
        pipes.expect("pipes were asked for");
    let (mut output, mut complaints) = (Vec::new(), Vec::new());
    let talk = async {
        tokio::join!(say(mouth, input), hear(&ear, &mut output), hear(&other_ear, &mut complaints));
    };
    let (ended, _) = converse(family, &program, stop, talk).await?;
    Ok((ended, output, complaints))
}

/// Runs a program to its end, or ends it. Passes on every line of its output and its error output, in the order of
/// their arrival. It gets no input. Returns also the hosts that its sandbox refused.
pub(crate) async fn follow(
    program: ProgramRun,
    stop: &CancellationToken,
    hear: &mut (dyn FnMut(&str) + Send),
) -> Result<(ProgramEnd, Vec<String>), ProgramError> {
    let (family, pipes) = start(&program, ProcessStreams::Pipes)?;
    let ProcessPipes { input, output, complaints } = pipes.expect("pipes were asked for");
    drop(input);
    let (mut lines, mut other_lines) = (LineBuffer::default(), LineBuffer::default());
    let talk = hear_lines((&output, &mut lines), (&complaints, &mut other_lines), hear);
    let (ended, refused) = converse(family, &program, stop, talk).await?;
    lines.flush(hear);
    other_lines.flush(hear);
    Ok((ended, refused))
}

/// Talks to a program until it ends or is ended. After it returns, nothing of the program is left.
async fn converse(
    mut family: ProcessTree,
    program: &ProgramRun,
    stop: &CancellationToken,
    talk: impl Future<Output = ()>,
) -> Result<(ProgramEnd, Vec<String>), ProgramError> {
    tokio::pin!(talk);
    let mut all_said = false;
    let over = wait_for(&family, program, stop, async {
        talk.as_mut().await;
        all_said = true;
        std::future::pending().await
    });
    let ended = over.await?;
    let refused = family.take_refused_hosts();
    end(family, program, ended).await;
    if !all_said {
        // The pipes may still hold output, and no process holds them open any more.
        drop(tokio::time::timeout(LAST_WORDS, talk).await);
    }
    Ok((ended, refused))
}

/// Bytes of a line that has not ended yet.
#[derive(Debug, Default)]
struct LineBuffer(Vec<u8>);

impl LineBuffer {
    /// Maximum length of a line; a longer one is passed on in parts.
    const LONGEST: usize = 64 * 1024;

    fn take(&mut self, bytes: &[u8], hear: &mut (dyn FnMut(&str) + Send)) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.0.extend_from_slice(part);
            if part.ends_with(b"\n") || self.0.len() >= Self::LONGEST {
                self.flush(hear);
            }
        }
    }

    fn flush(&mut self, hear: &mut (dyn FnMut(&str) + Send)) {
        if !self.0.is_empty() {
            hear(&String::from_utf8_lossy(&self.0));
            self.0.clear();
        }
    }
}

/// Reads two streams to their ends.
async fn hear_lines(
    (first, lines): (&Receiver, &mut LineBuffer),
    (second, other_lines): (&Receiver, &mut LineBuffer),
    hear: &mut (dyn FnMut(&str) + Send),
) {
    let (mut heard, mut other_heard) = ([0; 8192], [0; 8192]);
    let (mut is_open, mut other_is_open) = (true, true);
    while is_open || other_is_open {
        tokio::select! {
            count = read(first, &mut heard), if is_open => match count {
                Ok(count @ 1..) => lines.take(&heard[..count], hear),
                Ok(0) | Err(_) => is_open = false,
            },
            count = read(second, &mut other_heard), if other_is_open => match count {
                Ok(count @ 1..) => other_lines.take(&other_heard[..count], hear),
                Ok(0) | Err(_) => other_is_open = false,
            },
        }
    }
}

/// Maximum time to read the remaining output.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Maximum length of the kept output; the rest is read and dropped.
const MOST: usize = 1 << 20;

fn start(
    program: &ProgramRun,
    streams: ProcessStreams,
) -> Result<(ProcessTree, Option<ProcessPipes>), ProgramError> {
    let (name, arguments) = program.argv.split_first().ok_or(ProgramError::Nothing)?;
    let failed = |source| ProgramError::Start { program: name.clone(), source };
    let start = ProcessStart {
        program: file(program, name).map_err(failed)?,
        arguments: arguments.to_vec(),
        directory: program.directory.clone(),
        environment: program.environment.clone(),
        mark: program.mark.clone(),
        launcher: program.launcher.clone(),
        sandbox: program.sandbox.clone(),
    };
    ProcessTree::start(&start, streams).map_err(failed)
}

/// Writes the input and reads the output until the program ends, is stopped, or reaches its time limit.
async fn wait_for(
    family: &ProcessTree,
    program: &ProgramRun,
    stop: &CancellationToken,
    talk: impl Future<Output = Infallible>,
) -> Result<ProgramEnd, ProgramError> {
    let lost =
        |source| ProgramError::Wait { program: program.argv.first().cloned().unwrap_or_default(), source };
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(ProgramEnd::Stopped),
        ended = family.ended() => Ok(match ended.map_err(lost)? {
            ProcessStatus::Code(code) => ProgramEnd::Code(code),
            ProcessStatus::Signal(signal) => ProgramEnd::Signal(signal),
        }),
        timeout = over(program.timeout) => Ok(ProgramEnd::TimedOut(timeout)),
        never = talk => match never {},
    }
}

/// Ends all remaining processes. The result stays, even if the program exits by itself during the grace time.
async fn end(family: ProcessTree, program: &ProgramRun, ended: ProgramEnd) {
    if matches!(ended, ProgramEnd::Stopped | ProgramEnd::TimedOut(_)) {
        family.terminate();
        tokio::select! {
            _ = family.ended() => {}
            () = program.grace.pass(StopRequest::Signal, &RealTime) => {}
        }
    }
    family.end().await;
}

/// Writes the whole input. A program need not read it.
async fn say(mouth: Sender, mut words: &[u8]) {
    while !words.is_empty() && mouth.writable().await.is_ok() {
        match mouth.try_write(words) {
            Ok(said) => words = &words[said..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}

async fn hear(ear: &Receiver, words: &mut Vec<u8>) {
    let mut heard = [0; 8192];
    while let Ok(count @ 1..) = read(ear, &mut heard).await {
        let room = MOST.saturating_sub(words.len());
        words.extend_from_slice(&heard[..count.min(room)]);
    }
}

fn file(program: &ProgramRun, name: &str) -> io::Result<PathBuf> {
    if name.contains('/') {
        return Ok(program.directory.join(name));
    }
    let path = program.environment.iter().find(|(variable, _)| variable == "PATH");
    find(name, path.map(|(_, value)| value.as_os_str()))
        .map_err(|_| io::Error::from_raw_os_error(rustix::io::Errno::NOENT.raw_os_error()))
}

async fn over(timeout: Option<Millis>) -> Millis {
    match timeout {
        Some(timeout) => {
            tokio::time::sleep(Duration::from_millis(timeout.0)).await;
            timeout
        }
        None => std::future::pending().await,
    }
}

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
pub struct CommandSurroundings {
    environment: Vec<(OsString, OsString)>,
    launcher: Option<PathBuf>,
    grace: GracePeriod,
    sandbox: SandboxSettings,
    /// Run nothing, and only record the program.
    pub dry: bool,
}

impl CommandSurroundings {
    /// Returns the environment in which agent programs start.
    pub fn of(connections: &Connections) -> Self {
        Self {
            environment: allowed_variables(&connections.environment, &[]),
            launcher: connections.launcher.clone(),
            grace: GracePeriod::new(connections.grace),
            sandbox: connections.sandbox.clone(),
            dry: connections.dry,
        }
    }

    /// Returns true if a program can be run. A relative path counts: an earlier step may still create it.
    pub fn has(&self, program: &str) -> bool {
        let path = self.environment.iter().find(|(variable, _)| variable == "PATH");
        let is_relative = program.contains('/') && !program.starts_with('/');
        is_relative || find(program, path.map(|(_, value)| value.as_os_str())).is_ok()
    }

    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    pub(crate) fn launcher(&self) -> Option<PathBuf> {
        self.launcher.clone()
    }

    /// Finds the sandbox of a program that does a turn.
    pub(crate) fn sandbox_of(&self, ask: &Ask, required: bool) -> Result<Option<SandboxedStart>, Failure> {
        let choice = self.sandbox.effective(None, required);
        let found = sandbox::resolve(&choice, &self.sandbox, &self.environment, self.launcher.as_deref());
        let method = found.map_err(|problem| Failure::new(FailureClass::Missing, problem.to_string()))?;
        let sandboxes =
            AgentSandboxes { usual: method.clone(), required: method, settings: self.sandbox.clone() };
        Ok(sandboxes.of_ask(ask, required, None))
    }

    /// Shares a grace period, so that hurrying one hurries all.
    pub(crate) fn with_grace(self, grace: &GracePeriod) -> Self {
        Self { grace: grace.clone(), ..self }
    }

    pub(crate) fn grace(&self) -> GracePeriod {
        self.grace.clone()
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
    pub async fn run(
        self,
        around: CommandSurroundings,
        stop: CancellationToken,
    ) -> Result<CommandOutput, Failure> {
        let program = ProgramRun {
            mark: ProcessMark::new(&self.run, &self.call, &self.run_directory),
            argv: self.argv,
            directory: self.directory,
            environment: around.environment,
            launcher: around.launcher,
            // The run itself starts these programs, for a person's settings.
            sandbox: None,
            timeout: Some(self.timeout),
            grace: around.grace,
        };
        let heard = exchange(program, self.input.as_bytes(), &stop).await;
        let (ended, output, complaints) = heard.map_err(|error| not_run(&error))?;
        let end = match ended {
            ProgramEnd::Code(code) => CommandEnd::Code(code),
            ProgramEnd::Signal(signal) => CommandEnd::Signal(signal),
            ProgramEnd::TimedOut(timeout) => CommandEnd::TimedOut(timeout),
            ProgramEnd::Stopped => return Err(Failure::new(FailureClass::Cancelled, "it was stopped")),
        };
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(CommandOutput { end, output: text(output), complaints: text(complaints) })
    }
}

pub(crate) fn not_run(error: &ProgramError) -> Failure {
    let class = match error {
        ProgramError::Nothing => FailureClass::BadRequest,
        ProgramError::Start { source, .. } if is_exhausted(source) => FailureClass::Transient,
        ProgramError::Start { .. } => FailureClass::Missing,
        ProgramError::Wait { .. } => FailureClass::Crashed,
    };
    Failure::new(class, error.to_string())
}

#[cfg(test)]
mod tests;
