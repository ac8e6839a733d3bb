//! A local server that sends exactly the bytes of a test.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// A part of an answer.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    /// Sends and flushes these bytes.
    Bytes(Vec<u8>),
    /// Repeats these bytes until the client disconnects.
    Forever(Vec<u8>),
    /// Sends nothing more until the client disconnects.
    Hang,
}

#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) line: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Value,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|header| header.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// A server that sends its answers in order, each on a new connection.
pub(crate) struct LoopbackServer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// Notified when a client disconnects during an answer.
    left: Arc<Notify>,
    task: JoinHandle<()>,
}

impl Drop for LoopbackServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LoopbackServer {
    pub(crate) async fn start(answers: Vec<Vec<Piece>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, left) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Notify::new()));
        let (seeing, leaving) = (Arc::clone(&seen), Arc::clone(&left));
        let task = tokio::spawn(async move {
            for answer in answers {
                let (stream, _) = listener.accept().await.unwrap();
                // Some tests disconnect in the middle of an answer.
                if serve(stream, answer, &seeing).await.is_err() {
                    leaving.notify_one();
                }
            }
        });
        Self { address, seen, left, task }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Waits until a client disconnects in the middle of an answer.
    pub(crate) async fn left(&self) {
        self.left.notified().await;
    }
}

async fn serve(stream: TcpStream, answer: Vec<Piece>, seen: &Mutex<Vec<Seen>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let request = read(&mut stream).await?;
    seen.lock().unwrap().push(request);
    for piece in answer {
        match piece {
            Piece::Bytes(bytes) => {
                stream.write_all(&bytes).await?;
                stream.flush().await?;
            }
            Piece::Forever(bytes) => loop {
                stream.write_all(&bytes).await?;
            },
            Piece::Hang => {
                let gone = stream.read(&mut [0; 1]).await?;
                return if gone == 0 { Err(std::io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) };
            }
        }
    }
    stream.shutdown().await
}

async fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Seen> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut seen = Seen { line: lines.remove(0), headers: lines, body: Value::Null };
    let length = seen.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    seen.body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(seen)
}

/// Returns an answer that is not a stream.
pub(crate) fn refusal(status: &str, headers: &str, body: &str) -> Vec<Piece> {
    let text = format!(
        "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    vec![Piece::Bytes(text.into_bytes())]
}

/// The head of a stream that ends with the connection.
pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: close\r\n\r\n";

/// Returns a stream of these events, one per line.
pub(crate) fn stream(events: &str) -> Vec<Piece> {
    vec![Piece::Bytes(format!("{HEAD}{}", written(events)).into_bytes())]
}

/// Formats events for the stream.
pub(crate) fn written(events: &str) -> String {
    let lines = events.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| format!("data: {line}\n\n")).collect()
}
