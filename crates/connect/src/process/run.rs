//! Runs a program to its end, without a conversation.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use saihai_model::Millis;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio_util::sync::CancellationToken;

use super::family::{Family, Start, Streams};
use super::find;
use super::grace::{Grace, Plea};
use super::mark::Mark;
use super::pipes::{Pipes, read};
use super::wait::Status;
use crate::clock::RealTime;

/// A program to run, without a shell.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) argv: Vec<String>,
    pub(crate) directory: PathBuf,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) mark: Mark,
    pub(crate) launcher: Option<PathBuf>,
    pub(crate) timeout: Option<Millis>,
    pub(crate) grace: Grace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The program exited with this code.
    Code(i32),
    /// A signal that was not ours ended the program.
    Signal(i32),
    /// We ended the program because the run was stopped.
    Stopped,
    /// We ended the program at its time limit.
    TimedOut(Millis),
}

/// The end and the output of a program.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) ended: Ended,
    pub(crate) output: Vec<u8>,
    pub(crate) complaints: Vec<u8>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no program to be run")]
    Nothing,
    #[error("`{program}` could not be started: {source}")]
    Start { program: String, source: io::Error },
    /// We could not wait for the program.
    #[error("the end of `{program}` could not be waited for: {source}")]
    Wait { program: String, source: io::Error },
}

/// Runs a program to its end, or ends it, and drops its output. After it returns or is dropped, nothing of
/// the program is left.
pub(crate) async fn run(program: Program, stop: &CancellationToken) -> Result<Ended, Error> {
    let (family, _) = start(&program, Streams::None)?;
    let over = wait_for(&family, &program, stop, std::future::pending()).await?;
    end(family, &program, over).await;
    Ok(over)
}

/// Runs a program to its end, or ends it. Writes its input and reads its output.
pub(crate) async fn exchange(
    program: Program,
    input: &[u8],
    stop: &CancellationToken,
) -> Result<Heard, Error> {
    let (family, pipes) = start(&program, Streams::Pipes)?;
    let Pipes { input: mouth, output: ear, complaints: other_ear } = pipes.expect("pipes were asked for");
    let (mut output, mut complaints) = (Vec::new(), Vec::new());
    let ended = {
        let talk = async {
            tokio::join!(say(mouth, input), hear(&ear, &mut output), hear(&other_ear, &mut complaints))
        };
        tokio::pin!(talk);
        let mut all_said = false;
        let over = wait_for(&family, &program, stop, async {
            talk.as_mut().await;
            all_said = true;
            std::future::pending().await
        });
        let ended = over.await?;
        end(family, &program, ended).await;
        if !all_said {
            // The pipes may still hold output, and no process holds them open any more.
            drop(tokio::time::timeout(LAST_WORDS, talk).await);
        }
        ended
    };
    Ok(Heard { ended, output, complaints })
}

/// Maximum time to read the remaining output.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Maximum length of the kept output; the rest is read and dropped.
const MOST: usize = 1 << 20;

fn start(program: &Program, streams: Streams) -> Result<(Family, Option<Pipes>), Error> {
    let (name, arguments) = program.argv.split_first().ok_or(Error::Nothing)?;
    let failed = |source| Error::Start { program: name.clone(), source };
    let start = Start {
        program: file(program, name).map_err(failed)?,
        arguments: arguments.to_vec(),
        directory: program.directory.clone(),
        environment: program.environment.clone(),
        mark: program.mark.clone(),
        launcher: program.launcher.clone(),
    };
    Family::start(&start, streams).map_err(failed)
}

/// Waits until the program ends, is stopped, or reaches its time limit. Meanwhile it writes the input and
/// reads the output.
async fn wait_for(
    family: &Family,
    program: &Program,
    stop: &CancellationToken,
    talk: impl Future<Output = Infallible>,
) -> Result<Ended, Error> {
    let lost = |source| Error::Wait { program: program.argv.first().cloned().unwrap_or_default(), source };
    tokio::select! {
        biased;
        () = stop.cancelled() => Ok(Ended::Stopped),
        ended = family.ended() => Ok(match ended.map_err(lost)? {
            Status::Code(code) => Ended::Code(code),
            Status::Signal(signal) => Ended::Signal(signal),
        }),
        timeout = over(program.timeout) => Ok(Ended::TimedOut(timeout)),
        never = talk => match never {},
    }
}

/// Ends all remaining processes. The result stays, even if the program exits by itself during the grace time.
async fn end(family: Family, program: &Program, ended: Ended) {
    if matches!(ended, Ended::Stopped | Ended::TimedOut(_)) {
        family.terminate();
        tokio::select! {
            _ = family.ended() => {}
            () = program.grace.pass(Plea::Signal, &RealTime) => {}
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

fn file(program: &Program, name: &str) -> io::Result<PathBuf> {
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
