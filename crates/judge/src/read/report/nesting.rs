//! Markdown blocks with blocks inside them.
//!
//! A report quotes code, and agents rarely use a longer fence for the outer block. So inside a report a fence with an
//! info string opens a block of its own, and a bare one does so too unless what follows shows that it closes.

use super::super::fence::{self, Fence};
use super::super::page::Page;
use super::super::tag;

/// A markdown block of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Enclosed<'a> {
    /// The line of its opening fence.
    pub(super) open: usize,
    /// The line of its closing fence; none if it goes on to the end.
    pub(super) close: Option<usize>,
    /// How many lines the reply has.
    end: usize,
    pub(super) info: &'a str,
}

impl Enclosed<'_> {
    /// The first line inside it and the one behind the last.
    pub(super) fn lines(&self) -> (usize, usize) {
        (self.open + 1, self.close.unwrap_or(self.end))
    }
}

/// The markdown blocks of a reply (P-36), none inside another.
pub(super) fn blocks<'a>(page: &Page<'a>) -> Vec<Enclosed<'a>> {
    let fences = fence::all(page);
    let flat = fence::closings(&fences);
    // First each bare fence by what follows it, and where that leaves a block open each one closes.
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

/// Where to look on behind a block of another kind: a markdown block inside it counts unless its fence shows, by
/// other or fewer marks, that it is only quoted there.
fn behind_other(fences: &[(usize, Fence<'_>)], open: usize, close: usize) -> usize {
    let outer = &fences[open].1;
    (open + 1..close)
        .find(|at| fences[*at].1.is_markdown() && fences[*at].1.is_enough_for(outer))
        .unwrap_or(close + 1)
}

/// Whether what follows a bare fence is the content of a block rather than what comes behind one.
fn goes_on(page: &Page<'_>, line: usize) -> bool {
    let next = page.line(line + 1);
    !next.trim().is_empty() && heading(next).is_none() && !tag::stands_alone(next)
}

/// The text of a line that is a heading.
pub(super) fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    let is_heading = (1..=6).contains(&depth) && (text.is_empty() || text.starts_with(char::is_whitespace));
    is_heading.then(|| text.trim_end_matches('#').trim())
}
