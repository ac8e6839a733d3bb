//! Scripted model API on the loopback interface, for tests of agent programs (C-85).
//!
//! It speaks the four protocols that the programs use ([`Wire`]). It replies from the script and
//! records every request, so that a test can inspect them. There is no model: an answer is a text,
//! a tool call, a status or a broken stream.

mod answer;
mod anthropic;
mod chat;
mod gemini;
pub(crate) mod http;
mod responses;
#[cfg(test)]
mod tests;
mod wire;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use answer::{Answer, Refusal};
pub use http::Request;
pub use wire::Wire;

/// Maximum wait for a request. On a busy machine an agent takes half a minute to start.
const LONGEST_WAIT: Duration = Duration::from_secs(180);

/// Delay of a slow first token.
const THOUGHT: Duration = Duration::from_secs(4);

/// Delay between two pieces of a slow reply.
const PIECE: Duration = Duration::from_secs(7);

/// The server. Dropping it ends every connection and waits for its threads.
#[derive(Debug)]
pub struct ApiServer {
    address: SocketAddr,
    desk: Sender<Message>,
    porter: Option<JoinHandle<()>>,
    clerk: Option<JoinHandle<()>>,
}

/// Condition for the awaited request.
type Wanted = Box<dyn Fn(&Request) -> bool + Send>;

/// Message to the thread that owns the script.
enum Message {
    Arrived(Box<Request>, Sender<Reply>),
    Show(Sender<Vec<Request>>),
    Tell(Wanted, Sender<Request>),
    Close,
}

enum Reply {
    Scripted(Wire, Answer),
    Other(http::Response),
}

impl ApiServer {
    /// Starts a server that gives these answers in order and repeats the last one. The answers may
    /// contain the server's address.
    pub fn start<S: IntoIterator<Item = Answer>>(script: impl FnOnce(SocketAddr) -> S) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on the loopback");
        let address = listener.local_addr().expect("it is bound");
        let script: Vec<Answer> = script(address).into_iter().collect();
        assert!(!script.is_empty(), "a script needs an answer");
        let (desk, messages) = mpsc::channel();
        let clerk = thread::spawn(move || answer_by(script, &messages));
        let to_desk = desk.clone();
        let porter = thread::spawn(move || receive(&listener, &to_desk));
        Self { address, desk, porter: Some(porter), clerk: Some(clerk) }
    }

    /// Returns the URL without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns all requests so far, in order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        let (sender, receiver) = mpsc::channel();
        self.desk.send(Message::Show(sender)).expect("the clerk is there");
        receiver.recv().expect("the clerk answers")
    }

    /// Waits for a matching request. Earlier requests count too.
    pub fn wait_for(&self, wanted: impl Fn(&Request) -> bool + Send + 'static) -> Request {
        let (sender, receiver) = mpsc::channel();
        self.desk.send(Message::Tell(Box::new(wanted), sender)).expect("the clerk is there");
        receiver.recv_timeout(LONGEST_WAIT).unwrap_or_else(|_| {
            let seen: Vec<_> = self.requests().into_iter().map(|one| (one.method, one.path)).collect();
            panic!("nobody asked for it: {seen:?}");
        })
    }

    /// Returns the requests that the script answered.
    pub fn asked(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_ask).collect()
    }
}

impl Drop for ApiServer {
    fn drop(&mut self) {
        let _ = self.desk.send(Message::Close);
        if let Some(clerk) = self.clerk.take() {
            let _ = clerk.join();
        }
        // The accept loop notices the closed channel only at the next connection.
        let _ = TcpStream::connect(self.address);
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
    }
}

/// Owns the script and the recorded requests.
fn answer_by(script: Vec<Answer>, messages: &Receiver<Message>) {
    let mut script = script.into_iter().peekable();
    let mut last = None;
    let mut seen: Vec<Request> = Vec::new();
    let mut waiting: Vec<(Wanted, Sender<Request>)> = Vec::new();
    for message in messages {
        match message {
            Message::Arrived(request, to) => {
                let reply = match request.wire() {
                    Some(wire) if request.is_ask() => {
                        last = script.next().or(last);
                        let answer = last.clone().expect("a script has an answer");
                        Reply::Scripted(wire, answer)
                    }
                    Some(_) | None => wire::beside(&request),
                };
                for (_, waiter) in waiting.extract_if(.., |(wanted, _)| wanted(&request)) {
                    let _ = waiter.send((*request).clone());
                }
                seen.push(*request);
                let _ = to.send(reply);
            }
            Message::Show(to) => drop(to.send(seen.clone())),
            Message::Tell(wanted, to) => match seen.iter().find(|one| wanted(one)) {
                Some(found) => drop(to.send(found.clone())),
                None => waiting.push((wanted, to)),
            },
            Message::Close => return,
        }
    }
}

/// Accepts connections until the channel closes, then ends the open ones.
fn receive(listener: &TcpListener, desk: &Sender<Message>) {
    let mut open: Vec<(TcpStream, JoinHandle<()>)> = Vec::new();
    for stream in listener.incoming().flatten() {
        let (probe, _) = mpsc::channel();
        if desk.send(Message::Show(probe)).is_err() {
            break;
        }
        let Ok(handle) = stream.try_clone() else { continue };
        let desk = desk.clone();
        open.retain(|(_, thread)| !thread.is_finished());
        open.push((handle, thread::spawn(move || serve(stream, &desk))));
    }
    for (stream, thread) in open {
        let _ = stream.shutdown(Shutdown::Both);
        let _ = thread.join();
    }
}

/// Handles one connection with one request. The client notices any error itself.
fn serve(mut stream: TcpStream, desk: &Sender<Message>) {
    let Ok(Some(request)) = http::read(&mut stream) else { return };
    let streamed = request.wants_stream();
    let (sender, receiver) = mpsc::channel();
    if desk.send(Message::Arrived(Box::new(request), sender)).is_err() {
        return;
    }
    let Ok(reply) = receiver.recv() else { return };
    let _ = match reply {
        Reply::Other(response) => stream.write_all(&response.to_bytes()),
        Reply::Scripted(wire, answer) => perform(&mut stream, wire, &answer, streamed),
    };
    let _ = stream.shutdown(Shutdown::Write);
}

fn perform(stream: &mut TcpStream, wire: Wire, answer: &Answer, streamed: bool) -> std::io::Result<()> {
    match answer {
        Answer::Late(text) => {
            thread::sleep(THOUGHT);
            perform(stream, wire, &Answer::text(text), streamed)
        }
        Answer::Text(_) | Answer::Full(_) | Answer::Tool { .. } if streamed => {
            stream.write_all(http::EVENT_STREAM)?;
            for event in wire.events(answer) {
                stream.write_all(&http::chunk(event.as_bytes()))?;
            }
            stream.write_all(http::LAST_CHUNK)
        }
        Answer::Text(_) | Answer::Full(_) | Answer::Tool { .. } => {
            stream.write_all(&http::Response::json(200, &wire.whole(answer)).to_bytes())
        }
        Answer::Body { status, body } => stream.write_all(&http::Response::json(*status, body).to_bytes()),
        Answer::Slow(text) => {
            stream.write_all(http::EVENT_STREAM)?;
            for event in wire.events(&Answer::text(text)) {
                stream.write_all(&http::chunk(event.as_bytes()))?;
                stream.flush()?;
                thread::sleep(PIECE);
            }
            stream.write_all(http::LAST_CHUNK)
        }
        Answer::Refused(refusal) => stream.write_all(&wire.refusal(refusal).to_bytes()),
        Answer::Cut(text) => {
            stream.write_all(http::EVENT_STREAM)?;
            let events = wire.events(&Answer::Text(text.clone()));
            // The event that ends a message is always in the last third.
            for event in &events[..events.len() / 2] {
                stream.write_all(&http::chunk(event.as_bytes()))?;
            }
            Ok(())
        }
        Answer::Endless(text) => {
            stream.write_all(http::EVENT_STREAM)?;
            let events = wire.events(&Answer::text(text));
            for event in &events[..events.len() / 2] {
                stream.write_all(&http::chunk(event.as_bytes()))?;
            }
            stream.flush()?;
            // Send nothing more. The client ends the connection.
            let mut rest = [0; 1024];
            while stream.read(&mut rest)? > 0 {}
            Ok(())
        }
    }
}
