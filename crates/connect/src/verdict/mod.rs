//! The verdict tool (N-1): a server for one call, which an agent reaches through a relay.
//!
//! An agent starts our own program as an MCP server ([`relay`]). That process only connects its standard streams to a
//! socket of ours and shows the key of the call. All messages are answered here ([`mcp`]), so the verdict never passes
//! through a file that another process could write, and it counts only while the turn runs.

mod mcp;
pub mod relay;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use saihai_model::{
    ReportedVerdict, VerdictServerCommand, VerdictTool, VerdictToolProblem, VerdictToolResult,
};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, JoinSet};

pub(crate) use mcp::recorded;

/// File with the key, in the directory of a server.
const KEY_FILE: &str = "key";
/// The socket, in the same directory.
const SOCKET: &str = "socket";
/// Maximum length of one message in bytes. A longer one ends the connection.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;

/// An event of a server, in the order of the calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VerdictEvent {
    /// A relay showed the key.
    Started,
    /// A connection showed another key, or none.
    Stranger,
    Called(Result<ReportedVerdict, String>),
}

/// The server of one call. Dropping it ends every connection.
pub(crate) struct VerdictServer {
    _directory: TempDir,
    serving: JoinHandle<()>,
    events: mpsc::UnboundedReceiver<VerdictEvent>,
}

impl VerdictServer {
    /// Opens a server. Returns it with the command line that an agent starts.
    pub(crate) fn open(
        tool: VerdictTool,
        launcher: Option<&Path>,
    ) -> io::Result<(Self, VerdictServerCommand)> {
        let launcher = launcher.ok_or_else(|| io::Error::other("this caller names no program for it"))?;
        let program = program_file(launcher)?;
        let directory = directory()?;
        let key = random_key()?;
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(directory.path().join(KEY_FILE))?;
        file.write_all(key.as_bytes())?;
        let listener = UnixListener::bind(directory.path().join(SOCKET))?;
        let (tell, events) = mpsc::unbounded_channel();
        let serving = tokio::spawn(serve(listener, key, tool, tell));
        let text = |path: &Path| {
            path.to_str().map(str::to_owned).ok_or_else(|| io::Error::other("its path is not UTF-8"))
        };
        let arguments = vec![relay::ARGUMENT.to_owned(), text(directory.path())?];
        let command = VerdictServerCommand { program: text(&program)?, arguments };
        Ok((Self { _directory: directory, serving, events }, command))
    }

    /// Ends the server and returns the verdict, with warnings for a person.
    pub(crate) fn close(mut self) -> (VerdictToolResult, Vec<String>) {
        self.serving.abort();
        let mut events = Vec::new();
        while let Ok(event) = self.events.try_recv() {
            events.push(event);
        }
        let strangers = events.iter().filter(|event| **event == VerdictEvent::Stranger).count();
        let warning = (strangers > 0).then(|| {
            "a process without the key of this call tried to report its verdict; it was refused".to_owned()
        });
        // Without a relay, the agent never started the server.
        let result = match events.contains(&VerdictEvent::Started) {
            true => verdict_of(events),
            false => VerdictToolResult::Missing(VerdictToolProblem::NotStarted(String::new())),
        };
        (result, warning.into_iter().collect())
    }
}

impl Drop for VerdictServer {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Returns the verdict of the last valid call.
pub(crate) fn verdict_of(events: Vec<VerdictEvent>) -> VerdictToolResult {
    let mut problem = VerdictToolProblem::NotCalled;
    let mut reported: Option<ReportedVerdict> = None;
    for event in events {
        match event {
            VerdictEvent::Started | VerdictEvent::Stranger => {}
            VerdictEvent::Called(Ok(verdict)) => {
                let calls = reported.as_ref().map_or(0, |earlier| earlier.calls) + 1;
                reported = Some(ReportedVerdict { calls, ..verdict });
            }
            VerdictEvent::Called(Err(why)) => problem = VerdictToolProblem::Refused(why),
        }
    }
    reported.map_or(VerdictToolResult::Missing(problem), VerdictToolResult::Reported)
}

/// Creates a directory that only this user can open. The path of a socket must be short, so it is not in the run.
fn directory() -> io::Result<TempDir> {
    use std::os::unix::fs::PermissionsExt as _;
    let owner_only = fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("saihai-turn-").permissions(owner_only).tempdir()
}

/// Returns the file of our own program: an agent cannot start a link to the process that reads it.
fn program_file(launcher: &Path) -> io::Result<PathBuf> {
    let file =
        if launcher == Path::new("/proc/self/exe") { fs::read_link(launcher)? } else { launcher.to_owned() };
    if file.is_file() { Ok(file) } else { Err(io::Error::other(format!("`{}` is gone", file.display()))) }
}

fn random_key() -> io::Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn serve(
    listener: UnixListener,
    key: String,
    tool: VerdictTool,
    tell: mpsc::UnboundedSender<VerdictEvent>,
) {
    // Connections end with this task.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(converse(stream, key.clone(), tool.clone(), tell.clone()));
    }
}

/// Answers the messages of one connection. A failed read or write ends it; the agent may start another.
async fn converse(
    stream: UnixStream,
    key: String,
    tool: VerdictTool,
    tell: mpsc::UnboundedSender<VerdictEvent>,
) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read);
    let shown = next_line(&mut lines, 4 * 1024).await?;
    if shown.as_deref() != Some(key.as_bytes()) {
        let _ = tell.send(VerdictEvent::Stranger);
        return Ok(());
    }
    let _ = tell.send(VerdictEvent::Started);
    while let Some(line) = next_line(&mut lines, LONGEST_MESSAGE).await? {
        let answer = mcp::answer(&line, &tool);
        // The verdict counts before the agent learns of it, and so before it can end its turn.
        if let Some(called) = answer.called {
            let _ = tell.send(VerdictEvent::Called(called));
        }
        if let Some(message) = answer.message {
            write.write_all(format!("{message}\n").as_bytes()).await?;
        }
    }
    Ok(())
}

/// Returns the next line without its end. A line longer than `most` is an error.
async fn next_line(
    lines: &mut BufReader<impl AsyncRead + Unpin>,
    most: usize,
) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    loop {
        let part = lines.fill_buf().await?;
        if part.is_empty() {
            return Ok((!line.is_empty()).then_some(line));
        }
        let end = memchr::memchr(b'\n', part);
        line.extend_from_slice(&part[..end.unwrap_or(part.len())]);
        let used = end.map_or(part.len(), |end| end + 1);
        lines.consume(used);
        if line.len() > most {
            return Err(io::Error::other("the message is too long"));
        }
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}
