//! Writes to the standard input of a process.

use std::io;

use tokio::net::unix::pipe::Sender;

/// Standard input, and the text to write.
pub(super) struct Mouth {
    input: Option<Sender>,
    words: Vec<u8>,
    said: usize,
    stays_open: bool,
}

impl Mouth {
    pub(super) fn new(input: Sender, words: Vec<u8>, stays_open: bool) -> Self {
        Self { input: Some(input), words, said: 0, stays_open }
    }

    /// Queues text, unless the process has closed its input.
    pub(super) fn add(&mut self, words: &str) {
        self.words.drain(..self.said);
        self.said = 0;
        self.words.extend_from_slice(words.as_bytes());
    }

    pub(super) fn close(&mut self) {
        self.stays_open = false;
        if self.said == self.words.len() {
            self.input = None;
        }
    }

    /// Returns standard input if everything was written and the process still reads.
    pub(super) fn into_input(self) -> Option<Sender> {
        self.input.filter(|_| self.said == self.words.len())
    }

    /// Writes the queued text as fast as the process reads it. Returns only after it closed the input. A
    /// process need not read its input (C-51). After a drop, the next call continues where this one stopped.
    pub(super) async fn speak(&mut self) {
        while let Some(input) = &self.input {
            let rest = &self.words[self.said..];
            if rest.is_empty() {
                if self.stays_open {
                    break;
                }
                self.input = None;
                return;
            }
            let written = match input.writable().await {
                Ok(()) => input.try_write(rest),
                Err(error) => Err(error),
            };
            match written {
                Ok(count) => self.said += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => self.input = None,
            }
        }
        std::future::pending().await
    }
}
