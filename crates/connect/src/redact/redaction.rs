//! Redacts a stream.

use std::sync::Arc;

use super::shape::Tail;
use super::{Found, Redactor};

/// The redaction of one stream, in pieces.
#[derive(Debug)]
pub struct Redaction {
    redactor: Arc<Redactor>,
    state: State,
}

impl Redaction {
    pub(super) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, state: State::default() }
    }

    /// Adds a part, and appends to `clean` all bytes that are decided.
    pub fn push(&mut self, part: &[u8], clean: &mut Vec<u8>) {
        self.state.push(&self.redactor, part, clean);
    }

    /// Ends the stream, and appends the bytes that were held back.
    pub fn finish(&mut self, clean: &mut Vec<u8>) {
        self.state.finish(&self.redactor, clean);
    }
}

/// The position in a stream.
#[derive(Debug, Default)]
pub(super) struct State {
    /// Bytes that are not decided yet.
    held: Vec<u8>,
    before: Option<u8>,
    /// Number of held bytes that belong to a secret.
    covered: usize,
    /// The rest of a secret that continues.
    tail: Option<Tail>,
}

impl State {
    pub(super) fn push(&mut self, redactor: &Redactor, part: &[u8], clean: &mut Vec<u8>) {
        self.held.extend_from_slice(part);
        self.decide(redactor, false, clean);
    }

    pub(super) fn finish(&mut self, redactor: &Redactor, clean: &mut Vec<u8>) {
        self.decide(redactor, true, clean);
        *self = Self::default();
    }

    fn decide(&mut self, redactor: &Redactor, is_all: bool, clean: &mut Vec<u8>) {
        let mut at = 0;
        let decided = loop {
            let Some(start) = redactor.next_start(&self.held, at) else {
                let unfinished = if is_all { 0 } else { redactor.unfinished(&self.held[at..]) };
                let end = self.held.len() - unfinished;
                self.pass(at, end, clean);
                break end;
            };
            self.pass(at, start, clean);
            let before = start.checked_sub(1).map_or(self.before, |before| Some(self.held[before]));
            match redactor.look(&self.held[start..], before, is_all) {
                Found::More => break start,
                Found::Nothing => {}
                Found::Secret { name, length, shape } => {
                    if start >= self.covered && self.tail.is_none() {
                        clean.extend_from_slice(format!("[redacted:{name}]").as_bytes());
                    }
                    self.covered = self.covered.max(start + length);
                    self.tail = shape.map(|shape| Tail::new(shape.rest)).or(self.tail.take());
                }
            }
            self.pass(start, start + 1, clean);
            at = start + 1;
        };
        if decided > 0 {
            self.before = Some(self.held[decided - 1]);
            self.held.drain(..decided);
            self.covered = self.covered.saturating_sub(decided);
        }
    }

    /// Passes bytes through, except those of a secret.
    fn pass(&mut self, from: usize, to: usize, clean: &mut Vec<u8>) {
        let mut at = from.max(self.covered.min(to));
        if let Some(tail) = &mut self.tail
            && at < to
        {
            let (hidden, goes_on) = tail.hide(&self.held[at..to]);
            at += hidden;
            if !goes_on {
                self.tail = None;
            }
        }
        clean.extend_from_slice(&self.held[at..to]);
    }
}
