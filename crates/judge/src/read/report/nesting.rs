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
    /// The info string.
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
    let by_context = matches(&fences, |line, fence| !fence.is_bare() || goes_on(page, line));
    let by_mark = matches(&fences, |_, fence| !fence.is_bare());
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((open, fence)) = fences.get(at) {
        if is_markdown(fence.info) {
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
        .find(|at| is_markdown(fences[*at].1.info) && fences[*at].1.is_enough_for(outer))
        .unwrap_or(close + 1)
}

fn is_markdown(info: &str) -> bool {
    let word =
        info.split(|c: char| c.is_whitespace() || matches!(c, ':' | ',' | '{' | '=')).next().unwrap_or(info);
    word.eq_ignore_ascii_case("markdown") || word.eq_ignore_ascii_case("md")
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

/// For each fence, if it opens a block, the fence that closes it. Inside a block only fences with marks enough to
/// close it count; the others are its content.
///
/// Seen from the end, the blocks inside a block are known before it, so each is stepped over at once.
fn matches(fences: &[(usize, Fence<'_>)], opens: impl Fn(usize, &Fence<'_>) -> bool) -> Vec<Option<usize>> {
    let opens: Vec<bool> = fences.iter().map(|(line, fence)| opens(*line, fence)).collect();
    let longer = next_longer(fences);
    let next = |after: usize, outer: &Fence<'_>| {
        let mut at = after + 1;
        while at < fences.len() && !fences[at].1.is_enough_for(outer) {
            at = if fences[at].1.mark == outer.mark { longer[at] } else { at + 1 };
        }
        (at < fences.len()).then_some(at)
    };
    let mut found: Vec<Option<usize>> = vec![None; fences.len()];
    for (index, (_, outer)) in fences.iter().enumerate().rev().filter(|(index, _)| opens[*index]) {
        let mut at = next(index, outer);
        while let Some(inner) = at {
            if !opens[inner] {
                found[index] = Some(inner);
                break;
            }
            at = found[inner].and_then(|close| next(close, outer));
        }
    }
    found
}

/// For each fence the next one of the same mark with more of them.
fn next_longer(fences: &[(usize, Fence<'_>)]) -> Vec<usize> {
    let mut longer = vec![fences.len(); fences.len()];
    for index in (0..fences.len()).rev() {
        let fence = &fences[index].1;
        let mut at = index + 1;
        while at < fences.len() && (fences[at].1.mark != fence.mark || fences[at].1.length <= fence.length) {
            at = if fences[at].1.mark == fence.mark { longer[at] } else { at + 1 };
        }
        longer[index] = at;
    }
    longer
}
