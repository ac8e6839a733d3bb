//! The server.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::answer::Answer;
use super::http::{self, Request};
use super::routes;
use super::state::ForgeState;
use super::wrong::Wrong;

/// A fault, for requests with this method and path prefix, and the number of times it occurs.
struct Fault {
    method: &'static str,
    path: String,
    wrong: Wrong,
    times: usize,
    /// Only after a change to this path.
    after: Option<String>,
}

/// State shared by all connections. One request is served at a time, so the record is in order.
struct Shared {
    state: ForgeState,
    seen: Vec<Request>,
    unchanged: u64,
    faults: Vec<Fault>,
    is_closed: bool,
}

/// The forge. Dropping it ends every connection and waits for them.
pub struct ForgeServer {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
    porter: Option<JoinHandle<()>>,
}

impl ForgeServer {
    pub fn start(state: ForgeState) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on the loopback");
        let address = listener.local_addr().expect("it is bound");
        let shared = Shared { state, seen: Vec::new(), unchanged: 0, faults: Vec::new(), is_closed: false };
        let shared = Arc::new(Mutex::new(shared));
        let of_porter = Arc::clone(&shared);
        let porter = thread::spawn(move || receive(&listener, &of_porter));
        Self { address, shared, porter: Some(porter) }
    }

    /// Returns the URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Adds a fault for the next requests with this method and path prefix.
    pub fn goes_wrong(&self, method: &'static str, path: &str, wrong: Wrong, times: usize) {
        let fault = Fault { method, path: path.to_owned(), wrong, times, after: None };
        lock(&self.shared).faults.push(fault);
    }

    /// Adds a fault for reads with this path prefix, after a change to `changed`.
    pub fn goes_wrong_after(&self, changed: &str, path: &str, wrong: Wrong, times: usize) {
        let after = Some(changed.to_owned());
        let fault = Fault { method: "GET", path: path.to_owned(), wrong, times, after };
        lock(&self.shared).faults.push(fault);
    }

    /// Returns the number of faults still to occur.
    pub fn is_to_go_wrong(&self) -> usize {
        lock(&self.shared).faults.iter().map(|fault| fault.times).sum()
    }

    pub fn goes_right(&self) {
        lock(&self.shared).faults.clear();
    }

    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared).seen.clone()
    }

    /// Returns the number of reads that were answered with "not modified".
    pub fn unchanged(&self) -> u64 {
        lock(&self.shared).unchanged
    }

    /// Returns the method and path of all changes so far.
    pub fn writes(&self) -> Vec<String> {
        let shared = lock(&self.shared);
        shared.seen.iter().filter(|request| request.is_write()).map(Request::line).collect()
    }

    pub fn state(&self) -> ForgeState {
        lock(&self.shared).state.clone()
    }

    /// Changes the state, as a person could.
    pub fn change(&self, change: impl FnOnce(&mut ForgeState)) {
        change(&mut lock(&self.shared).state);
    }
}

impl Drop for ForgeServer {
    fn drop(&mut self) {
        lock(&self.shared).is_closed = true;
        // The accepting thread only notices the end at the next connection.
        let _ = TcpStream::connect(self.address);
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Accepts connections until the forge is closed, and then ends those still open.
fn receive(listener: &TcpListener, shared: &Arc<Mutex<Shared>>) {
    let mut open: Vec<(TcpStream, JoinHandle<()>)> = Vec::new();
    for stream in listener.incoming().flatten() {
        if lock(shared).is_closed {
            break;
        }
        let Ok(handle) = stream.try_clone() else { continue };
        let shared = Arc::clone(shared);
        open.retain(|(_, thread)| !thread.is_finished());
        open.push((handle, thread::spawn(move || serve(stream, &shared))));
    }
    for (stream, thread) in open {
        let _ = stream.shutdown(Shutdown::Both);
        let _ = thread.join();
    }
}

/// Serves one request per connection. Errors are for the client to notice.
fn serve(mut stream: TcpStream, shared: &Mutex<Shared>) {
    let Ok(Some(request)) = http::read(&mut stream) else { return };
    let (wrong, answer) = {
        let mut shared = lock(shared);
        shared.seen.push(request.clone());
        let wrong = shared.next_fault(&request);
        let is_done = !matches!(
            wrong,
            Some(
                Wrong::Status(..)
                    | Wrong::RateLimit { .. }
                    | Wrong::SlowDown { .. }
                    | Wrong::TooMuch(..)
                    | Wrong::CutBefore
                    | Wrong::Hang
                    | Wrong::Redirect(..)
            )
        );
        let mut answer = is_done.then(|| routes::answer(&mut shared.state, &request));
        if request.method == "GET" && wrong.is_none() {
            answer = answer.map(|answer| answer.tagged(request.header("if-none-match")));
            shared.unchanged += u64::from(answer.as_ref().is_some_and(|answer| answer.status() == 304));
        }
        (wrong, answer)
    };
    let _ = perform(&mut stream, wrong, answer);
    let _ = stream.shutdown(Shutdown::Both);
}

impl Shared {
    fn next_fault(&mut self, request: &Request) -> Option<Wrong> {
        let seen = &self.seen;
        let is_changed = |path: &String| seen.iter().any(|one| one.is_write() && one.path == *path);
        let fits = |fault: &&mut Fault| {
            let is_meant = fault.method == request.method && request.path.starts_with(&fault.path);
            fault.times > 0 && is_meant && fault.after.as_ref().is_none_or(is_changed)
        };
        let fault = self.faults.iter_mut().find(fits)?;
        fault.times -= 1;
        Some(fault.wrong.clone())
    }
}

fn perform(stream: &mut TcpStream, wrong: Option<Wrong>, answer: Option<Answer>) -> std::io::Result<()> {
    let whole = answer.unwrap_or_else(Answer::not_found);
    let instead = match wrong {
        None => whole,
        Some(Wrong::Status(status, message) | Wrong::StatusAfter(status, message)) => {
            Answer::refusal(status, &message)
        }
        Some(Wrong::RateLimit { reset }) => Answer::refusal(403, "API rate limit exceeded")
            .with("x-ratelimit-remaining", "0")
            .with("x-ratelimit-reset", reset.to_string()),
        Some(Wrong::SlowDown { seconds }) => Answer::refusal(403, "You have exceeded a secondary rate limit")
            .with("retry-after", seconds.to_string()),
        Some(Wrong::TooMuch(status, headers)) => {
            let refusal = Answer::refusal(status, "API rate limit exceeded");
            headers.into_iter().fold(refusal, |refusal, (name, value)| refusal.with(name, value))
        }
        Some(Wrong::Redirect(status, to)) => Answer::refusal(status, "Moved").with("location", to),
        Some(Wrong::NextPage(to)) => Answer::raw(200, "[]").with("link", format!("<{to}>; rel=\"next\"")),
        Some(Wrong::Body(text)) => Answer::raw(200, text),
        Some(Wrong::CutBefore | Wrong::CutAfter) => return Ok(()),
        Some(Wrong::CutWithin) => {
            let bytes = whole.to_bytes();
            return stream.write_all(&bytes[..bytes.len() - 1]);
        }
        Some(Wrong::Hang) => {
            while stream.read(&mut [0; 64])? > 0 {}
            return Ok(());
        }
        Some(Wrong::Endless) => {
            stream.write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n[",
            )?;
            loop {
                stream.write_all(&[b' '; 64 * 1024])?;
            }
        }
    };
    stream.write_all(&instead.to_bytes())
}
