//! Reports in a reply: assigns blocks to files.

use std::ops::Range;

use saihai_model::{Report, ReportClue, ReportLocation};

use crate::read::markdown::FenceLine;
use crate::read::reply::{ParsedReply, ReplyLines};
use crate::read::{markdown, tags};

#[derive(Debug, Default)]
pub(crate) struct ReportsOfReply {
    /// Reports in the requested order.
    pub(crate) reports: Vec<ReportLocation>,
    pub(crate) warnings: Vec<String>,
}

/// Finds each report (P-36–P-38). The whole reply becomes a report that has no block of its own.
pub(crate) fn read_reports(reply: &ParsedReply<'_>, wanted: &[Report]) -> ReportsOfReply {
    let blocks = markdown_blocks(&reply.page);
    let owners = assign(&reply.page, &blocks, wanted);
    let said = ReplyLines::new(reply.window.text);
    let mut found = ReportsOfReply::default();
    for (index, report) in wanted.iter().enumerate() {
        let block = owners.iter().zip(&blocks).rev().find_map(|(owner, block)| match owner {
            Some((of, how)) if *of == index => Some((block, *how)),
            Some(_) | None => None,
        });
        let (how, lines, unclosed) = match block {
            Some((block, how)) => (how, block.lines(), block.close.is_none()),
            None => (ReportClue::Whole, (0, reply.page.count()), false),
        };
        let reaches_the_end = unclosed || how == ReportClue::Whole;
        let end = if reaches_the_end { without_tag(&reply.page, lines) } else { lines.1 };
        let place = |line| (reply.window.offset + said.start(line)) as u64;
        let (start, end) = (place(lines.0), place(end));
        found.reports.push(ReportLocation { file: report.file.clone(), how, start, end, unclosed });
        found.warnings.extend(warning(report, how, unclosed));
    }
    found
}

/// Returns the report of each block, and the clue.
fn assign(
    page: &ReplyLines<'_>,
    blocks: &[MarkdownBlock<'_>],
    wanted: &[Report],
) -> Vec<Option<(usize, ReportClue)>> {
    let clues = ReportClues::of(wanted);
    let by_clue: Vec<Option<usize>> = blocks.iter().map(|block| clues.owner(page, block)).collect();
    if by_clue.iter().all(Option::is_none) && blocks.len() == wanted.len() {
        let how = if wanted.len() == 1 { ReportClue::Only } else { ReportClue::Position };
        return (0..blocks.len()).map(|index| Some((index, how))).collect();
    }
    by_clue.into_iter().map(|owner| owner.map(|owner| (owner, ReportClue::Clue))).collect()
}

/// Returns the end of these lines, without a last line that is only a status tag.
fn without_tag(page: &ReplyLines<'_>, (first, end): (usize, usize)) -> usize {
    match page.last_filled() {
        Some(last) if (first..end).contains(&last) && tags::is_only_a_tag(page.line(last)) => last,
        Some(_) | None => end,
    }
}

fn warning(report: &Report, how: ReportClue, unclosed: bool) -> Option<String> {
    let file = &report.file;
    match how {
        ReportClue::Whole => {
            Some(format!("no block was found for the report `{file}`: the whole reply was taken"))
        }
        ReportClue::Clue | ReportClue::Only | ReportClue::Position | ReportClue::Agent if unclosed => {
            Some(format!("the block of the report `{file}` is never closed: it ends with the reply"))
        }
        ReportClue::Clue | ReportClue::Only | ReportClue::Position | ReportClue::Agent => None,
    }
}

struct ReportClues<'a> {
    reports: &'a [Report],
    files: Vec<String>,
    labels: Vec<String>,
}

impl<'a> ReportClues<'a> {
    /// Collects the clues of these reports. Ignores letter case: no two files differ in case alone.
    pub(crate) fn of(reports: &'a [Report]) -> Self {
        Self {
            reports,
            files: reports.iter().map(|report| report.file.to_lowercase()).collect(),
            labels: reports.iter().map(|report| report.label.trim().to_lowercase()).collect(),
        }
    }

    /// Returns the report of a block, by the first clue that holds (P-37).
    pub(crate) fn owner(&self, page: &ReplyLines<'_>, block: &MarkdownBlock<'_>) -> Option<usize> {
        let before = page.filled_before(block.open).map_or("", |line| page.line(line));
        let (first, end) = block.lines();
        mentioned(&self.files, block.info)
            .or_else(|| mentioned(&self.files, before))
            .or_else(|| mentioned(&self.labels, before))
            .or_else(|| (first..end.min(first + 3)).find_map(|line| mentioned(&self.files, page.line(line))))
            .or_else(|| self.headed(page, first..end))
    }

    fn headed(&self, page: &ReplyLines<'_>, lines: Range<usize>) -> Option<usize> {
        let wanted = |report: &Report| {
            report.heading.as_deref().map(|text| heading(text).unwrap_or(text.trim()).to_owned())
        };
        let wanted: Vec<Option<String>> = self.reports.iter().map(wanted).collect();
        if wanted.iter().all(Option::is_none) {
            return None;
        }
        let first = lines.into_iter().find_map(|line| heading(page.line(line)))?;
        let mut owners = (0..wanted.len()).filter(|index| wanted[*index].as_deref() == Some(first));
        owners.next().filter(|_| owners.next().is_none())
    }
}

/// Returns the one listed name that a line mentions. A name inside a longer one does not count. A line with two
/// different names does not count either.
fn mentioned(names: &[String], line: &str) -> Option<usize> {
    let line = line.to_lowercase();
    let places: Vec<(usize, Range<usize>)> = names
        .iter()
        .enumerate()
        .filter_map(|(index, name)| place_of_name(name, &line).map(|place| (index, place)))
        .collect();
    let is_part_of_another = |(index, place): &(usize, Range<usize>)| {
        places.iter().any(|(other, around)| {
            other != index
                && around.start <= place.start
                && place.end <= around.end
                && around.len() > place.len()
        })
    };
    let mut whole = places.iter().filter(|place| !is_part_of_another(place));
    whole.next().filter(|_| whole.next().is_none()).map(|(index, _)| *index)
}

/// Returns the first occurrence of a name as a word of its own.
fn place_of_name(name: &str, line: &str) -> Option<Range<usize>> {
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let (first, last) = (name.chars().next(), name.chars().next_back());
    line.match_indices(name).filter(|_| !name.is_empty()).map(|(at, _)| at..at + name.len()).find(|place| {
        let (before, behind) = (&line[..place.start], &line[place.end..]);
        let runs_in = is_word(first) && before.ends_with(joins);
        let goes_on = behind.strip_prefix('.').unwrap_or(behind).starts_with(joins);
        let runs_out = is_word(last) && goes_on;
        !runs_in && !runs_out
    })
}

/// A Markdown block of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MarkdownBlock<'a> {
    /// Line of its opening fence.
    pub(crate) open: usize,
    /// Line of its closing fence; none if it extends to the end.
    pub(crate) close: Option<usize>,
    /// Number of lines in the reply.
    end: usize,
    pub(crate) info: &'a str,
}

impl MarkdownBlock<'_> {
    /// Returns its first inner line and the line after the last one.
    pub(crate) fn lines(&self) -> (usize, usize) {
        (self.open + 1, self.close.unwrap_or(self.end))
    }
}

/// Returns the Markdown blocks of a reply (P-36), none inside another.
fn markdown_blocks<'a>(page: &ReplyLines<'a>) -> Vec<MarkdownBlock<'a>> {
    let fences = markdown::all_fences(page);
    let flat = markdown::closings(&fences);
    // First judge each bare fence by the text after it. If that leaves a block open, let every bare fence close.
    let by_context =
        markdown::nested_closings(&fences, |line, fence| !fence.is_bare() || goes_on(page, line));
    let by_mark = markdown::nested_closings(&fences, |_, fence| !fence.is_bare());
    let mut found = Vec::new();
    let mut at = 0;
    while let Some((open, fence)) = fences.get(at) {
        if fence.is_markdown() {
            let close = by_context[at].or(by_mark[at]);
            let block = MarkdownBlock {
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
fn behind_other(fences: &[(usize, FenceLine<'_>)], open: usize, close: usize) -> usize {
    let outer = &fences[open].1;
    (open + 1..close)
        .find(|at| fences[*at].1.is_markdown() && fences[*at].1.is_enough_for(outer))
        .unwrap_or(close + 1)
}

/// Returns true if the text after a bare fence is the content of a block, not the text after one.
fn goes_on(page: &ReplyLines<'_>, line: usize) -> bool {
    let next = page.line(line + 1);
    !next.trim().is_empty() && heading(next).is_none() && !tags::is_only_a_tag(next)
}

/// Returns the text of a heading line.
pub(crate) fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let text = line.trim_start_matches('#');
    let depth = line.len() - text.len();
    let is_heading = (1..=6).contains(&depth) && (text.is_empty() || text.starts_with(char::is_whitespace));
    is_heading.then(|| text.trim_end_matches('#').trim())
}
