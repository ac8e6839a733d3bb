//! What a reply merely repeats of its prompt.

use std::cell::OnceCell;
use std::collections::HashSet;

use super::page::Page;

/// So many lines in a row make an echo.
const RUN: usize = 3;

/// The prompt, as far as a reply can repeat it: every three lines that follow each other, blank ones left out.
///
/// A line belongs to a run of three or more repeated lines exactly if it belongs to a run of three, so only threes
/// have to be remembered, and only the lines around a candidate have to be looked at.
#[derive(Debug)]
pub(super) struct Echo<'a> {
    prompt: &'a str,
    runs: OnceCell<HashSet<[&'a str; RUN]>>,
}

impl<'a> Echo<'a> {
    /// The echo of a prompt.
    pub(super) fn of(prompt: &'a str) -> Self {
        Self { prompt, runs: OnceCell::new() }
    }

    /// Whether a line of the reply is one of three that stand likewise in the prompt.
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
        // The prompt may be repeated as it is, or as a quotation; what it quotes itself is somebody else's.
        [str::trim, essence].into_iter().any(|compared| {
            let around = lines.map(|line| line.map_or("", |line| compared(page.line(line))));
            around.windows(RUN).any(|run| runs.contains(run))
        })
    }

    /// Whether the reply ends as the prompt ends, by three lines or more.
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

/// A line without blanks around it and without the marks that only quote it.
pub(super) fn essence(line: &str) -> &str {
    line.trim_start_matches(|c: char| c.is_whitespace() || c == '>').trim_end()
}

/// The nearest line before this one that has an essence.
pub(super) fn previous(page: &Page<'_>, line: usize) -> Option<usize> {
    (0..line).rev().find(|line| !essence(page.line(*line)).is_empty())
}

/// The nearest line behind this one that has an essence.
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

    /// Each line of the reply that is an echo is marked with `=`.
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

    // H-37: what a prompt quotes of an earlier reply is not forbidden to the next one.
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
