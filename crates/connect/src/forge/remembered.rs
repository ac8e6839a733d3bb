//! What a forge has answered before.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use reqwest::StatusCode;
use reqwest::header::{ETAG, HeaderMap, HeaderValue};

/// The most answers that are kept; whoever asks for more addresses than this asks for each only once.
const MOST: usize = 1_000;
/// The most that is kept of them, in bytes.
const LARGEST: usize = 64 * 1024 * 1024;

/// What a forge has answered before, by address: asked again it need only say that nothing has changed, which counts against no
/// limit (I-76).
#[derive(Debug, Default)]
pub(super) struct Remembered(Mutex<Answers>);

#[derive(Debug, Default)]
struct Answers {
    known: HashMap<String, http::Response<Vec<u8>>>,
    bytes: usize,
}

impl Remembered {
    /// By what the forge knows its last answer again.
    pub(super) fn tag(&self, address: &str) -> Option<HeaderValue> {
        self.answers().known.get(address)?.headers().get(ETAG).cloned()
    }

    /// The answer, or where nothing has changed the one before it.
    pub(super) fn complete(&self, address: &str, answer: http::Response<Vec<u8>>) -> http::Response<Vec<u8>> {
        let mut answers = self.answers();
        match answer.status() {
            StatusCode::NOT_MODIFIED => answers.known.get(address).cloned().unwrap_or(answer),
            StatusCode::OK if has_tag(answer.headers()) => {
                answers.keep(address, answer.clone());
                answer
            }
            _ => answer,
        }
    }

    fn answers(&self) -> MutexGuard<'_, Answers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answers {
    fn keep(&mut self, address: &str, answer: http::Response<Vec<u8>>) {
        self.bytes += answer.body().len();
        if self.known.len() >= MOST || self.bytes > LARGEST {
            self.known.clear();
            self.bytes = answer.body().len();
        }
        if let Some(before) = self.known.insert(address.to_owned(), answer) {
            self.bytes -= before.body().len();
        }
    }
}

fn has_tag(headers: &HeaderMap) -> bool {
    headers.contains_key(ETAG)
}
