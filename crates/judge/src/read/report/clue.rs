//! Clues that identify a report block.

use std::ops::Range;

use saihai_model::Report;

use super::super::page::Page;
use super::nesting::{Enclosed, heading};

pub(super) struct Clues<'a> {
    reports: &'a [Report],
    files: Vec<String>,
    labels: Vec<String>,
}

impl<'a> Clues<'a> {
    /// Collects the clues of these reports. Ignores letter case: no two files differ in case alone.
    pub(super) fn of(reports: &'a [Report]) -> Self {
        Self {
            reports,
            files: reports.iter().map(|report| report.file.to_lowercase()).collect(),
            labels: reports.iter().map(|report| report.label.trim().to_lowercase()).collect(),
        }
    }

    /// Returns the report of a block, by the first clue that holds (P-37).
    pub(super) fn owner(&self, page: &Page<'_>, block: &Enclosed<'_>) -> Option<usize> {
        let before = page.filled_before(block.open).map_or("", |line| page.line(line));
        let (first, end) = block.lines();
        mentioned(&self.files, block.info)
            .or_else(|| mentioned(&self.files, before))
            .or_else(|| mentioned(&self.labels, before))
            .or_else(|| (first..end.min(first + 3)).find_map(|line| mentioned(&self.files, page.line(line))))
            .or_else(|| self.headed(page, first..end))
    }

    fn headed(&self, page: &Page<'_>, lines: Range<usize>) -> Option<usize> {
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
        .filter_map(|(index, name)| place(name, &line).map(|place| (index, place)))
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
fn place(name: &str, line: &str) -> Option<Range<usize>> {
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
