//! Echoes: parts of a reply that only repeat its prompt.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::page::Page;

/// Number of lines in a row that make an echo.
const RUN: usize = 3;

/// Index of the prompt: all groups of three consecutive lines, without blank ones.
///
/// A line belongs to a run of three or more repeated lines exactly if it belongs to a run of three. So the index stores
/// only threes, and a check reads only the lines around a candidate.
#[derive(Debug)]
pub(super) struct Echo<'a> {
    prompt: &'a str,
    runs: OnceCell<HashSet<[&'a str; RUN]>>,
}

impl<'a> Echo<'a> {
    pub(super) fn of(prompt: &'a str) -> Self {
        Self { prompt, runs: OnceCell::new() }
    }

    /// Returns true if a line of the reply is one of three consecutive lines of the prompt.
    pub(super) fn covers(&self, page: &Page<'a>, line: usize) -> bool {
        let runs = self.runs.get_or_init(|| runs(self.prompt));
        if runs.is_empty() {
            return false;
        }
        let mut lines = [None; 2 * RUN - 1];
        lines[RUN - 1] = Some(line);
        for distance in 1..RUN {
            lines[RUN - 1 - distance] = lines[RUN - distance].and_then(|line| previous(page, line));
            lines[RUN - 1 + distance] = lines[RUN - 2 + distance].and_then(|line| next(page, line));
        }
        // A reply may repeat the prompt literally or as a quotation. Quotations inside the prompt do not count.
        [str::trim, essence].into_iter().any(|compared| {
            let around = lines.map(|line| line.map_or("", |line| compared(page.line(line))));
            around.windows(RUN).any(|run| runs.contains(run))
        })
    }

    /// Returns true if the reply and the prompt end with the same lines, three or more.
    pub(super) fn reaches_the_end(&self, page: &Page<'a>) -> bool {
        let mut said =
            (0..page.count()).rev().map(|line| essence(page.line(line))).filter(|line| !line.is_empty());
        let mut asked = self.prompt.lines().rev().map(essence).filter(|line| !line.is_empty());
        (0..RUN).all(|_| match (said.next(), asked.next()) {
            (Some(said), Some(asked)) => said == asked,
            (Some(_) | None, _) => false,
        })
    }
}

/// Strips surrounding blanks and quotation marks (`>`) from a line.
pub(super) fn essence(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>').trim_end()
}

/// Returns the nearest earlier line that is not blank or an empty quotation.
pub(super) fn previous(page: &Page<'_>, line: usize) -> Option<usize> {
    (0..line).rev().find(|line| !essence(page.line(*line)).is_empty())
}

/// Returns the nearest later line that is not blank or an empty quotation.
pub(super) fn next(page: &Page<'_>, line: usize) -> Option<usize> {
    (line + 1..page.count()).find(|line| !essence(page.line(*line)).is_empty())
}

fn runs(prompt: &str) -> HashSet<[&str; RUN]> {
    let mut found = HashSet::new();
    let mut run = [""; RUN];
    for line in prompt.lines().map(str::trim).filter(|line| !essence(line).is_empty()) {
        run.rotate_left(1);
        run[RUN - 1] = line;
        if !run[0].is_empty() {
            found.insert(run);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `=` marks each line of the reply that is an echo.
    fn check(prompt: &str, expected: &str) {
        let reply: String = expected.lines().map(|line| format!("{}\n", &line[1..])).collect();
        let (echo, page) = (Echo::of(prompt), Page::new(&reply));
        let marked: String = (0..page.count())
            .map(|line| if echo.covers(&page, line) { '=' } else { ' ' })
            .zip(reply.lines())
            .map(|(mark, line)| format!("{mark}{line}\n"))
            .collect();
        assert_eq!(marked, expected);
    }

    // H-37
    #[test]
    fn three_lines_in_a_row_are_an_echo_and_two_are_none() {
        check("a\nb\nc\nd", "=a\n=b\n=c\n x\n c\n d\n");
        check("a\nb\nc\nd", "=b\n=c\n=d\n");
        check("a\nb", " a\n b\n");
        check("", " a\n b\n c\n");
        check("a\nb\nc", " a\n c\n b\n");
    }

    #[test]
    fn blank_lines_and_blanks_hide_no_echo() {
        check("a\n\n  b\n\nc", "=a\n=b  \n=c\n");
    }

    // H-37: a reply may repeat an earlier reply that its prompt quotes.
    #[test]
    fn what_the_prompt_only_quotes_may_be_said_again() {
        check("> a\n> b\n> c", " a\n b\n c\n");
        check("> a\n> b\n> c", "=> a\n=> b\n=> c\n");
        check("a\nb\nc", "=> a\n >\n=> b\n \n=> c\n");
    }

    #[test]
    fn runs_from_different_places_of_the_prompt_may_touch() {
        check("a\nb\nc\nx\nd\ne\nf", "=a\n=b\n=c\n=d\n=e\n=f\n");
    }

    #[test]
    fn a_reply_may_end_as_its_prompt_ends() {
        let ends = |prompt: &str, reply: &str| Echo::of(prompt).reaches_the_end(&Page::new(reply));
        assert!(ends("a\nb\nc\n\nd\n", "x\nb\nc\nd"));
        assert!(!ends("a\nb\nc\nd\n", "x\na\nb\nc"));
        assert!(!ends("c\nd\n", "c\nd"));
        assert!(!ends("", ""));
    }
}
