//! How much of an answer is kept in memory.

use saihai_model::{Failure, FailureClass};

/// Counts what is kept of one answer. No model says this much; a server that does is broken.
#[derive(Debug, Default)]
pub(super) struct Kept(usize);

/// The most that is kept, in bytes.
const MOST: usize = 8 * 1024 * 1024;

impl Kept {
    pub(super) fn keep(&mut self, bytes: usize) -> Result<(), Failure> {
        self.0 = self.0.saturating_add(bytes);
        if self.0 <= MOST {
            return Ok(());
        }
        let message = format!("output limit: an answer of more than {} MiB", MOST / (1024 * 1024));
        Err(Failure::new(FailureClass::Crashed, message))
    }
}
