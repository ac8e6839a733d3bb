//! The memory limit of one answer.

use saihai_model::{Failure, FailureClass};

/// Counts the bytes of one answer. A server that exceeds the limit is broken; no model writes this much.
#[derive(Debug, Default)]
pub(super) struct Kept(usize);

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
