//! Markdown blocks that contain blocks.
//!
//! A report quotes code, and agents rarely use a longer fence for the outer block. Inside a report, a fence with an
//! info string therefore opens a block of its own. A bare fence also does, unless the text after it shows that it
//! closes one.

use super::super::fence::{self, Fence};
use super::super::page::Page;
use super::super::tag;

/// A Markdown block of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Enclosed<'a> {
    /// Line of its opening fence.
    pub(super) open: usize,
    /// Line of its closing fence; none if it extends to the end.
    pub(super) close: Option<usize>,
    /// Number of lines in the reply.
    end: usize,
    pub(super) info: &'a str,
}

impl Enclosed<'_> {
    /// Returns its first inner line and the line after the last one.
    pub(super) fn lines(&self) -> (usize, usize) {
        (self.open + 1, self.close.unwrap_or(self.end))
    }
}

/// Returns the Markdown blocks of a reply (P-36), none inside another.
pub(super) fn blocks<'a>(page: &Page<'a>) -> Vec<Enclosed<'a>> {
    let fences = fence::all(page);
    let flat = fence::closings(&fences);
    // First judge each bare fence by the text after it. If that leaves a block open, let every bare fence close.
    let by_context = fence::nested_closings(&fences, |line, fence| !fence.is_bare() || goes_on(page, line));
    let by_mark = fence::nested_closings(&fences, |_, fence| !fence.is_bare());
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((open, fence)) = fences.get(at) {
        if fence.is_markdown() {
            let close = by_context[at].or(by_mark[at]);
            let block = Enclosed {
                open: *open,
                close: close.map(|close| fences[close].0),
                end: page.count(),
                info: fence.info,
            };
            found.push(block);
            at = close.map_or(fences.len(), |close| close + 1);
        } else {
            at = flat[at].map_or(at + 1, |close| behind_other(&fences, at, close));
        }
    }
    found
}

/// Returns the position after a block of another kind. A Markdown block inside it counts, unless other or fewer marks
/// show that it is only quoted.
fn behind_other(fences: &[(usize, Fence<'_>)], open: usize, close: usize) -> usize {
    let outer = &fences[open].1;
    (open + 1..close)
        .find(|at| fences[*at].1.is_markdown() && fences[*at].1.is_enough_for(outer))
        .unwrap_or(close + 1)
}

/// Returns true if the text after a bare fence is the content of a block, not the text after one.
fn goes_on(page: &Page<'_>, line: usize) -> bool {
    let next = page.line(line + 1);
    !next.trim().is_empty() && heading(next).is_none() && !tag::stands_alone(next)
}

/// Returns the text of a heading line.
pub(super) fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    let is_heading = (1..=6).contains(&depth) && (text.is_empty() || text.starts_with(char::is_whitespace));
    is_heading.then(|| text.trim_end_matches('#').trim())
}
