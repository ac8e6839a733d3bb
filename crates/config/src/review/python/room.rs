//! How much memory compiled patterns may take, all of them together.

use std::iter::successors;

use super::{BadPattern, LARGEST};

/// The most memory that all patterns of a project's agents may take: some hundred with sets of letters of every script.
const ALL: usize = 128 * 1024 * 1024;
/// What a pattern is taken to need at least.
const SMALLEST: usize = 64 * 1024;

/// The room that is left for compiled patterns.
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
    /// Compiles an expression and takes what it needs. How much that is nobody says, so that it is tried with twice as much
    /// each time: what fails is given up at that size, and all tries together are at most what the last one takes.
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
