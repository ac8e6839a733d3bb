//! What is said to a process.

use std::io;

use tokio::net::unix::pipe::Sender;

/// Its standard input, and what is still to be written to it.
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

    /// Something more to say; to a process that listens no more, nothing.
    pub(super) fn add(&mut self, words: &str) {
        self.words.drain(..self.said);
        self.said = 0;
        self.words.extend_from_slice(words.as_bytes());
    }

    /// Nothing more will be said.
    pub(super) fn close(&mut self) {
        self.stays_open = false;
        if self.said == self.words.len() {
            self.input = None;
        }
    }

    /// Its standard input again, where all was said and it still listens.
    pub(super) fn into_input(self) -> Option<Sender> {
        self.input.filter(|_| self.said == self.words.len())
    }

    /// Says what there is, as fast as it is read, and comes back then; otherwise never. Whoever does not want to read it
    /// does not have to (C-51). Nothing is said twice when it is dropped.
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
