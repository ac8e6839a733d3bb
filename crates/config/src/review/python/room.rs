//! Shared memory budget of all compiled patterns.

use std::iter::successors;

use super::{BadPattern, LARGEST};

/// Maximum memory for the patterns of all agents: enough for several hundred large Unicode sets.
const ALL: usize = 128 * 1024 * 1024;
/// Minimum memory charged for a pattern.
const SMALLEST: usize = 64 * 1024;

/// Remaining memory for compiled patterns.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    left: usize,
}

impl Default for Room {
    fn default() -> Self {
        Self { left: ALL }
    }
}

impl Room {
    /// Compiles an expression and charges its memory. `regex` does not report the size, so each
    /// attempt doubles the limit. All failed attempts together cost no more than the last one.
    pub(super) fn take(&mut self, expression: &str) -> Result<regex::Regex, BadPattern> {
        let sizes = successors(Some(SMALLEST), |size| (*size < LARGEST).then(|| (size * 2).min(LARGEST)));
        for size in sizes {
            if size > self.left {
                return Err(BadPattern::too_large_together(ALL));
            }
            let mut builder = regex::RegexBuilder::new(expression);
            if let Ok(regex) = builder.size_limit(size).nest_limit(4_000).build() {
                self.left -= size;
                return Ok(regex);
            }
        }
        Err(BadPattern::too_large())
    }
}
