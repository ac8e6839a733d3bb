//! An OpenTelemetry collector on the loopback. It records requests and answers as a test wants.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

use crate::Request;
use crate::api_server::http::{self, Response};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CollectorReply {
    Accept,
    Refuse(u16),
    /// Refuse with `retry-after`, in seconds.
    Busy(u16, u64),
    /// Say nothing until the client disconnects.
    Hang,
}

/// The reply to a request, given the number of requests before it.
type CollectorScript = dyn Fn(&Request, usize) -> CollectorReply + Send + Sync;

/// The collector. Dropping it ends its thread; a connection ends with its client.
pub struct Collector {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Request>>>,
    is_closed: Arc<AtomicBool>,
    porter: Option<JoinHandle<()>>,
}

impl Collector {
    pub fn start(script: impl Fn(&Request, usize) -> CollectorReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on the loopback");
        let address = listener.local_addr().expect("it is bound");
        let (seen, is_closed) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let script: Arc<CollectorScript> = Arc::new(script);
        let (recorded, closed) = (Arc::clone(&seen), Arc::clone(&is_closed));
        let porter = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if closed.load(Ordering::SeqCst) {
                    return;
                }
                let (recorded, script) = (Arc::clone(&recorded), Arc::clone(&script));
                // The client notices any error itself.
                thread::spawn(move || drop(serve(stream, &recorded, &*script)));
            }
        });
        Self { address, seen, is_closed, porter: Some(porter) }
    }

    /// Returns the base URL without a trailing slash.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        lock(&self.seen).clone()
    }

    /// Returns the bodies of the requests to a path, in order of arrival.
    pub fn bodies(&self, path: &str) -> Vec<Value> {
        let requests = self.requests().into_iter();
        requests.filter(|request| request.path == path).map(|request| request.body).collect()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_closed.store(true, Ordering::SeqCst);
        // The accepting thread notices the end only at the next connection.
        let _ = TcpStream::connect(self.address);
        if let Some(porter) = self.porter.take() {
            let _ = porter.join();
        }
    }
}

fn lock(seen: &Mutex<Vec<Request>>) -> MutexGuard<'_, Vec<Request>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, seen: &Mutex<Vec<Request>>, script: &CollectorScript) -> std::io::Result<()> {
    let Some(request) = http::read(&mut stream)? else { return Ok(()) };
    let reply = {
        let mut seen = lock(seen);
        let reply = script(&request, seen.len());
        seen.push(request);
        reply
    };
    let refusal = json!({"code": 8, "message": "not now"});
    let response = match reply {
        CollectorReply::Accept => Response::json(200, &json!({})),
        CollectorReply::Refuse(status) => Response::json(status, &refusal),
        CollectorReply::Busy(status, seconds) => {
            Response::json(status, &refusal).with_header("retry-after", seconds.to_string())
        }
        CollectorReply::Hang => {
            while stream.read(&mut [0; 64])? > 0 {}
            return Ok(());
        }
    };
    stream.write_all(&response.to_bytes())
}
