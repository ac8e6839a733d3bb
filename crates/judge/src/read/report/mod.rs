//! Reports in a reply: assigns blocks to files.

mod clue;
mod nesting;

#[cfg(test)]
mod tests;

use saihai_model::{Found, How, Report};

use self::nesting::Enclosed;
use super::page::Page;
use super::reply::Reply;
use super::tag;

#[derive(Debug, Default)]
pub(super) struct Reports {
    /// Reports in the requested order.
    pub(super) reports: Vec<Found>,
    pub(super) warnings: Vec<String>,
}

/// Finds each report (P-36–P-38). The whole reply becomes a report that has no block of its own.
pub(super) fn read(reply: &Reply<'_>, wanted: &[Report]) -> Reports {
    let blocks = nesting::blocks(&reply.page);
    let owners = assign(&reply.page, &blocks, wanted);
    let said = Page::new(reply.window.text);
    let mut found = Reports::default();
    for (index, report) in wanted.iter().enumerate() {
        let block = owners.iter().zip(&blocks).rev().find_map(|(owner, block)| match owner {
            Some((of, how)) if *of == index => Some((block, *how)),
            Some(_) | None => None,
        });
        let (how, lines, unclosed) = match block {
            Some((block, how)) => (how, block.lines(), block.close.is_none()),
            None => (How::Whole, (0, reply.page.count()), false),
        };
        let reaches_the_end = unclosed || how == How::Whole;
        let end = if reaches_the_end { without_tag(&reply.page, lines) } else { lines.1 };
        let place = |line| (reply.window.offset + said.start(line)) as u64;
        let (start, end) = (place(lines.0), place(end));
        found.reports.push(Found { file: report.file.clone(), how, start, end, unclosed });
        found.warnings.extend(warning(report, how, unclosed));
    }
    found
}

/// Returns the report of each block, and the clue.
fn assign(page: &Page<'_>, blocks: &[Enclosed<'_>], wanted: &[Report]) -> Vec<Option<(usize, How)>> {
    let clues = clue::Clues::of(wanted);
    let by_clue: Vec<Option<usize>> = blocks.iter().map(|block| clues.owner(page, block)).collect();
    if by_clue.iter().all(Option::is_none) && blocks.len() == wanted.len() {
        let how = if wanted.len() == 1 { How::Only } else { How::Position };
        return (0..blocks.len()).map(|index| Some((index, how))).collect();
    }
    by_clue.into_iter().map(|owner| owner.map(|owner| (owner, How::Clue))).collect()
}

/// Returns the end of these lines, without a last line that is only a status tag.
fn without_tag(page: &Page<'_>, (first, end): (usize, usize)) -> usize {
    match page.last_filled() {
        Some(last) if (first..end).contains(&last) && tag::stands_alone(page.line(last)) => last,
        Some(_) | None => end,
    }
}

fn warning(report: &Report, how: How, unclosed: bool) -> Option<String> {
    let file = &report.file;
    match how {
        How::Whole => Some(format!("no block was found for the report `{file}`: the whole reply was taken")),
        How::Clue | How::Only | How::Position | How::Agent if unclosed => {
            Some(format!("the block of the report `{file}` is never closed: it ends with the reply"))
        }
        How::Clue | How::Only | How::Position | How::Agent => None,
    }
}
