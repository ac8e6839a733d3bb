//! Code and quotations: text that a reply shows but does not say.
//!
//! Agents write Markdown that no Markdown parser reads as they mean it. For example, a report in a block quotes code
//! with fences of the same length. This module therefore reads the fences in two ways: flat as in Markdown, and nested
//! as agents write. It trusts each reading that leaves no fence open.

use std::ops::Range;

use super::fence::{self, Fence};
use super::page::Page;

/// Lines of a text that are code or quotations.
#[derive(Debug)]
pub(super) struct Quoted {
    /// Trusted readings of the fences: for each one the lines of its blocks, in order.
    fenced: Vec<Vec<Range<usize>>>,
    indented: Vec<bool>,
}

impl Quoted {
    pub(super) fn of(page: &Page<'_>) -> Self {
        let fences = fence::all(page);
        let flat = fence::closings(&fences);
        let nested = fence::nested_closings(&fences, |_, fence| !fence.is_bare());
        let flat_blocks = Blocks::of(&fences, |at| flat[at]);
        let nested_blocks =
            Blocks::of(&fences, |at| if fences[at].1.is_markdown() { nested[at] } else { flat[at] });
        let mut fenced: Vec<_> = [&flat_blocks, &nested_blocks]
            .into_iter()
            .filter(|blocks| blocks.open.is_none())
            .map(|blocks| blocks.closed.clone())
            .collect();
        if fenced.is_empty() {
            // In Markdown, an unclosed block extends to the end.
            let open = flat_blocks.open.map(|line| line..page.count());
            fenced.push(flat_blocks.closed.into_iter().chain(open).collect());
        }
        Self { fenced, indented: indented(page) }
    }

    /// Returns true if a line is quoted. A line without `>` after a quotation is not. Markdown would include it, but
    /// agents often write a verdict there.
    pub(super) fn line(&self, page: &Page<'_>, line: usize) -> bool {
        behind_list_markers(page.line(line)).starts_with('>')
            || self.indented[line]
            || self.fenced.iter().all(|blocks| {
                let behind = blocks.partition_point(|block| block.start <= line);
                behind.checked_sub(1).is_some_and(|index| blocks[index].contains(&line))
            })
    }
}

/// Blocks of one reading of the fences.
struct Blocks {
    closed: Vec<Range<usize>>,
    /// First fence that is never closed.
    open: Option<usize>,
}

impl Blocks {
    fn of(fences: &[(usize, Fence<'_>)], closing: impl Fn(usize) -> Option<usize>) -> Self {
        let mut closed = Vec::new();
        let mut at = 0;
        while let Some((open, _)) = fences.get(at) {
            let Some(close) = closing(at) else {
                return Self { closed, open: Some(*open) };
            };
            closed.push(*open..fences[close].0 + 1);
            at = close + 1;
        }
        Self { closed, open: None }
    }
}

/// Marks indented code: four columns after a blank line, except in a list, where everything is indented.
fn indented(page: &Page<'_>) -> Vec<bool> {
    let (mut behind_blank, mut in_list, mut in_code) = (true, false, false);
    let mut found = Vec::with_capacity(page.count());
    for line in (0..page.count()).map(|line| page.line(line)) {
        let text = line.trim_start();
        if text.is_empty() {
            behind_blank = true;
            found.push(false);
            continue;
        }
        let before = &line[..line.len() - text.len()];
        let is_deep = before.contains('\t') || before.len() >= 4;
        if is_deep {
            in_code |= behind_blank && !in_list;
        } else {
            in_code = false;
            in_list = behind_list_markers(line).len() < text.len()
                || (in_list && (!before.is_empty() || !behind_blank));
        }
        behind_blank = false;
        found.push(in_code);
    }
    found
}

/// Returns the text after all leading markers `- `, `* `, `+ `, `1. ` and `1) `.
fn behind_list_markers(line: &str) -> &str {
    let mut text = line.trim_start();
    loop {
        let behind_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
        let marks: &[char] = if behind_number.len() < text.len() { &['.', ')'] } else { &['-', '*', '+'] };
        let behind = behind_number.strip_prefix(marks).filter(|rest| rest.starts_with(char::is_whitespace));
        let Some(behind) = behind else {
            return text;
        };
        text = behind.trim_start();
    }
}

/// Returns the code spans of a line: from a run of backticks to the next run of the same length.
pub(super) fn code_spans(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            Some(_) | None => runs.push(at..at + 1),
        }
    }
    // Scan from the end, so that the next run of each length is already known.
    let mut next_of_length = std::collections::HashMap::new();
    let mut closing = vec![None; runs.len()];
    for (index, run) in runs.iter().enumerate().rev() {
        closing[index] = next_of_length.insert(run.len(), index);
    }
    let mut found = Vec::new();
    let mut at = 0;
    while at < runs.len() {
        at = match closing[at] {
            Some(close) => {
                found.push(runs[at].start..runs[close].end);
                close + 1
            }
            None => at + 1,
        };
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `=` marks each quoted line of the text.
    #[track_caller]
    fn check(expected: &str) {
        let text: String = expected.lines().map(|line| format!("{}\n", &line[1..])).collect();
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let page = Page::new(&text);
            let quoted = Quoted::of(&page);
            let marked: String = (0..page.count())
                .map(|line| (if quoted.line(&page, line) { '=' } else { ' ' }, page.line(line)))
                .map(|(mark, line)| format!("{mark}{line}\n"))
                .collect();
            assert_eq!(marked, expected);
        }
    }

    #[test]
    fn fenced_blocks_are_quoted_with_their_fences() {
        check(" a\n=```\n=b\n=```\n c\n=~~~ log\n=d\n=```\n=~~~~\n e\n");
        check(" - a\n=  ````text\n=  ```\n=  b\n=  ````\n c\n");
        check(" ```a```\n ``\n b\n");
    }

    #[test]
    fn a_block_that_nothing_closes_reaches_to_the_end() {
        check(" a\n=```\n=b\n=~~~\n=c\n");
        check("=```\n=```\n a\n=~~~\n=b\n=```\n");
    }

    // P-36
    #[test]
    fn code_inside_a_report_is_part_of_it() {
        check("=```markdown\n=# Plan\n=```rust\n=fn main() {}\n=```\n=text\n=```\n a\n");
        check("=```markdown\n=```rust\n=b\n=```\n=text\n=```\n a\n=```\n=log\n=```\n");
        check("=```md\n=# Plan\n=```\n a\n=```text\n=log\n=```\n");
    }

    #[test]
    fn a_report_that_shows_half_a_block_ends_where_markdown_ends_it() {
        check("=```markdown\n=```rust\n=b\n=```\n a\n=```\n=log\n=```\n");
    }

    #[test]
    fn quotations_are_quoted_line_by_line() {
        check(" a\n=> b\n=>> c\n=  > > ```\n d\n=- > e\n=1. > f\n a > b\n");
    }

    #[test]
    fn indented_code_is_quoted_but_not_what_belongs_to_a_list_or_a_paragraph() {
        check("=    a\n b\n     c\n \n=    d\n \n=\te\n f\n");
        check(" - a\n \n     b\n \n   c\n \n     d\n \n e\n \n=    f\n");
        check(" 1) a\n     b\n c\n \n     d\n");
    }

    #[test]
    fn code_spans_end_with_as_many_marks() {
        let spans =
            |line: &str| code_spans(line).into_iter().map(|at| line[at].to_owned()).collect::<Vec<_>>();
        assert_eq!(spans("a `b` c ``d ` e`` `f"), ["`b`", "``d ` e``"]);
        assert_eq!(spans("`` a ` b `c"), ["` b `"]);
        assert_eq!(spans("あ`い`"), ["`い`"]);
        assert!(spans("").is_empty() && spans("``a`").is_empty());
    }

    // T-96
    #[test]
    fn hostile_texts_cost_no_square() {
        let rising: String = (1..1_500).map(|length| "`".repeat(length) + "a").collect();
        assert_eq!(code_spans(&rising).len(), 0);
        assert_eq!(code_spans(&"`a".repeat(1_000_000)).len(), 500_000);
        for text in ["```md\n", "```md\n```a\n", "- ", "1. ", "> ", "\t\n", "~~~\n````md\n"] {
            let text = text.repeat(1_000_000 / text.len());
            let page = Page::new(&text);
            let quoted = Quoted::of(&page);
            assert!((0..page.count()).filter(|line| quoted.line(&page, *line)).count() <= page.count());
        }
    }
}
