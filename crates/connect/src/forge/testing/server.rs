//! The server itself.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::answer::Answer;
use super::http::{self, Request};
use super::routes;
use super::state::ForgeState;
use super::wrong::Wrong;

/// What goes wrong with which request: its method and the beginning of its path, and how many times.
struct Fault {
    method: &'static str,
    path: String,
    wrong: Wrong,
    times: usize,
    /// Only once a change of this was asked for.
    after: Option<String>,
}

/// What all connections share. One request is served at a time, so that what is seen of it is in order.
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
    /// Starts one that keeps this.
    pub fn start(state: ForgeState) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on the loopback");
        let address = listener.local_addr().expect("it is bound");
        let shared = Shared { state, seen: Vec::new(), unchanged: 0, faults: Vec::new(), is_closed: false };
        let shared = Arc::new(Mutex::new(shared));
        let of_porter = Arc::clone(&shared);
        let porter = thread::spawn(move || receive(&listener, &of_porter));
        Self { address, shared, porter: Some(porter) }
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What goes wrong with the next requests of a method whose path begins so.
    pub fn goes_wrong(&self, method: &'static str, path: &str, wrong: Wrong, times: usize) {
        let fault = Fault { method, path: path.to_owned(), wrong, times, after: None };
        lock(&self.shared).faults.push(fault);
    }

    /// What goes wrong with looks whose path begins so, once a change of `changed` was asked for.
    pub fn goes_wrong_after(&self, changed: &str, path: &str, wrong: Wrong, times: usize) {
        let after = Some(changed.to_owned());
        let fault = Fault { method: "GET", path: path.to_owned(), wrong, times, after };
        lock(&self.shared).faults.push(fault);
    }

    /// How many requests are still to go wrong.
    pub fn is_to_go_wrong(&self) -> usize {
        lock(&self.shared).faults.iter().map(|fault| fault.times).sum()
    }

    /// Nothing goes wrong any more.
    pub fn goes_right(&self) {
        lock(&self.shared).faults.clear();
    }

    pub fn requests(&self) -> Vec<Request> {
        lock(&self.shared).seen.clone()
    }

    /// How many looks so far were only told that nothing has changed.
    pub fn unchanged(&self) -> u64 {
        lock(&self.shared).unchanged
    }

    /// The requests so far that ask for a change, each as its method and path.
    pub fn writes(&self) -> Vec<String> {
        let shared = lock(&self.shared);
        shared.seen.iter().filter(|request| request.is_write()).map(Request::line).collect()
    }

    pub fn state(&self) -> ForgeState {
        lock(&self.shared).state.clone()
    }

    /// Changes what it keeps, as a person could.
    pub fn change(&self, change: impl FnOnce(&mut ForgeState)) {
        change(&mut lock(&self.shared).state);
    }
}

impl Drop for ForgeServer {
    fn drop(&mut self) {
        lock(&self.shared).is_closed = true;
        // The porter learns only from the next visitor that it is time to go.
        let _ = TcpStream::connect(self.address);
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
    }
}

fn lock(shared: &Mutex<Shared>) -> MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lets connections in until the forge is closed, and then ends those still open.
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

/// One connection carries one request; whatever goes wrong with it is the client's to notice.
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
