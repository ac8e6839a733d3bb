//! Fences, code and quotations: text that a reply shows but does not say.
//!
//! Agents write Markdown that no Markdown parser reads as they mean it. For example, a report in a block quotes code
//! with fences of the same length. This module therefore reads the fences in two ways: flat as in Markdown, and nested
//! as agents write. It trusts each reading that leaves no fence open.

use std::ops::Range;

use crate::read::reply::ReplyLines;

/// A line of three or more backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FenceLine<'a> {
    pub(crate) mark: FenceMark,
    pub(crate) length: usize,
    pub(crate) info: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FenceMark {
    Backtick,
    Tilde,
}

impl<'a> FenceLine<'a> {
    /// Parses a fence line. Ignores its indentation, because agents put blocks into lists.
    pub(crate) fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let (mark, character) = match line.as_bytes().first()? {
            b'`' => (FenceMark::Backtick, '`'),
            b'~' => (FenceMark::Tilde, '~'),
            _ => return None,
        };
        let rest = line.trim_start_matches(character);
        let length = line.len() - rest.len();
        let inline = mark == FenceMark::Backtick && rest.contains('`');
        (length >= 3 && !inline).then(|| Self { mark, length, info: rest.trim_start() })
    }

    /// Returns true if no text follows its marks, so that it can close a block.
    pub(crate) fn is_bare(&self) -> bool {
        self.info.is_empty()
    }

    /// Returns true if its block is Markdown, which can contain blocks of its own.
    pub(crate) fn is_markdown(&self) -> bool {
        let ends_word = |c: char| c.is_whitespace() || matches!(c, ':' | ',' | '{' | '=');
        let word = self.info.split(ends_word).next().unwrap_or(self.info);
        word.eq_ignore_ascii_case("markdown") || word.eq_ignore_ascii_case("md")
    }

    /// Returns true if it has enough marks to close `opening`.
    pub(crate) fn is_enough_for(&self, opening: &FenceLine<'_>) -> bool {
        self.mark == opening.mark && self.length >= opening.length
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FencedBlock<'a> {
    /// Line of its opening fence.
    pub(crate) open: usize,
    /// Line of its closing fence.
    pub(crate) close: usize,
    pub(crate) info: &'a str,
}

/// Fenced blocks of a text. A fence without a closing one is an ordinary line.
#[derive(Debug)]
pub(crate) struct FencedBlocks<'a> {
    pub(crate) blocks: Vec<FencedBlock<'a>>,
    pub(crate) unclosed: Vec<(usize, &'a str)>,
}

impl<'a> FencedBlocks<'a> {
    pub(crate) fn of(page: &ReplyLines<'a>) -> Self {
        let fences = all_fences(page);
        let closing = closings(&fences);
        let mut found = Self { blocks: Vec::new(), unclosed: Vec::new() };
        let mut at = 0;
        while let Some((open, fence)) = fences.get(at) {
            match closing[at] {
                Some(close) => {
                    found.blocks.push(FencedBlock { open: *open, close: fences[close].0, info: fence.info });
                    at = close + 1;
                }
                None => {
                    found.unclosed.push((*open, fence.info));
                    at += 1;
                }
            }
        }
        found
    }

    /// Returns true if a line belongs to a block, including its fences.
    pub(crate) fn contain(&self, line: usize) -> bool {
        let behind = self.blocks.partition_point(|block| block.open <= line);
        behind.checked_sub(1).is_some_and(|index| self.blocks[index].close >= line)
    }
}

pub(crate) fn all_fences<'a>(page: &ReplyLines<'a>) -> Vec<(usize, FenceLine<'a>)> {
    (0..page.count()).filter_map(|line| FenceLine::of(page.line(line)).map(|fence| (line, fence))).collect()
}

/// For each fence that opens a block, returns the fence that closes it: the nearest bare one with enough marks.
///
/// Seen from the end, only fences longer than all nearer ones can still close a block. Two stacks hold them, so that a
/// text of unclosed fences does not take quadratic time.
pub(crate) fn closings(fences: &[(usize, FenceLine<'_>)]) -> Vec<Option<usize>> {
    let mut stacks: [Vec<(usize, usize)>; 2] = [Vec::new(), Vec::new()];
    let mut found = vec![None; fences.len()];
    for (index, (_, fence)) in fences.iter().enumerate().rev() {
        let stack = &mut stacks[usize::from(fence.mark == FenceMark::Tilde)];
        let longer = stack.partition_point(|(length, _)| *length >= fence.length);
        found[index] = longer.checked_sub(1).map(|nearest| stack[nearest].1);
        if fence.is_bare() {
            stack.truncate(stack.partition_point(|(length, _)| *length > fence.length));
            stack.push((fence.length, index));
        }
    }
    found
}

/// For each fence that opens a block, returns the fence that closes it. Inside a block, only fences with enough marks
/// to close it count; the others are its content.
///
/// Seen from the end, the inner blocks are known before the outer one, so each is skipped in one step.
pub(crate) fn nested_closings(
    fences: &[(usize, FenceLine<'_>)],
    opens: impl Fn(usize, &FenceLine<'_>) -> bool,
) -> Vec<Option<usize>> {
    let opens: Vec<bool> = fences.iter().map(|(line, fence)| opens(*line, fence)).collect();
    let longer = next_longer(fences);
    let next = |after: usize, outer: &FenceLine<'_>| {
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

/// For each fence, returns the next one of the same mark with more marks.
fn next_longer(fences: &[(usize, FenceLine<'_>)]) -> Vec<usize> {
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

/// Lines of a text that are code or quotations.
#[derive(Debug)]
pub(crate) struct QuotedLines {
    /// Trusted readings of the fences: for each one the lines of its blocks, in order.
    fenced: Vec<Vec<Range<usize>>>,
    indented: Vec<bool>,
}

impl QuotedLines {
    pub(crate) fn of(page: &ReplyLines<'_>) -> Self {
        let fences = all_fences(page);
        let flat = closings(&fences);
        let nested = nested_closings(&fences, |_, fence| !fence.is_bare());
        let flat_blocks = FenceReading::of(&fences, |at| flat[at]);
        let nested_blocks =
            FenceReading::of(&fences, |at| if fences[at].1.is_markdown() { nested[at] } else { flat[at] });
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
    pub(crate) fn line(&self, page: &ReplyLines<'_>, line: usize) -> bool {
        behind_list_markers(page.line(line)).starts_with('>')
            || self.indented[line]
            || self.fenced.iter().all(|blocks| {
                let behind = blocks.partition_point(|block| block.start <= line);
                behind.checked_sub(1).is_some_and(|index| blocks[index].contains(&line))
            })
    }
}

/// Blocks of one reading of the fences.
struct FenceReading {
    closed: Vec<Range<usize>>,
    /// First fence that is never closed.
    open: Option<usize>,
}

impl FenceReading {
    fn of(fences: &[(usize, FenceLine<'_>)], closing: impl Fn(usize) -> Option<usize>) -> Self {
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
fn indented(page: &ReplyLines<'_>) -> Vec<bool> {
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
pub(crate) fn code_spans(line: &str) -> Vec<Range<usize>> {
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
mod fence_tests {
    use super::*;

    /// Expects blocks as `open-close info`, unclosed fences as `open? info`.
    fn check(text: &str, expected: &[&str]) {
        let fences = FencedBlocks::of(&ReplyLines::new(text));
        let blocks =
            fences.blocks.iter().map(|block| format!("{}-{} {}", block.open, block.close, block.info));
        let unclosed = fences.unclosed.iter().map(|(open, info)| format!("{open}? {info}"));
        assert_eq!(blocks.chain(unclosed).collect::<Vec<_>>(), expected, "{text}");
    }

    // H-36
    #[test]
    fn a_block_is_closed_by_as_many_marks_of_its_kind() {
        check("```\nx\n```\n", &["0-2 "]);
        check("```rust\nx\n~~~\n```\n", &["0-3 rust"]);
        check("~~~~ a b \n~~~\n~~~~~\n", &["0-2 a b"]);
        check("  - x\n    ```json\n    {}\n    ```\n", &["1-3 json"]);
        check("```a\n```b\n```\n", &["0-2 a"]);
    }

    #[test]
    fn a_fence_that_nothing_closes_is_an_ordinary_line() {
        check("```\nx\n", &["0? "]);
        check("````\nx\n```\ny\n```", &["2-4 ", "0? "]);
        check("```\na\n```\n```\nb", &["0-2 ", "3? "]);
    }

    #[test]
    fn inline_code_is_no_fence() {
        check("```EVENT: x```\n``\n`` ` ``\n", &[]);
    }

    #[test]
    fn lines_of_blocks_are_known() {
        let fences = FencedBlocks::of(&ReplyLines::new("a\n```\nb\n```\nc\n~~~\n~~~\n"));
        let inside: Vec<_> = (0..8).map(|line| fences.contain(line)).collect();
        assert_eq!(inside, [false, true, true, true, false, true, true, false]);
    }

    // H-35
    #[test]
    fn unclosed_fences_cost_no_square() {
        let text = "```a\n".repeat(200_000);
        assert_eq!(FencedBlocks::of(&ReplyLines::new(&text)).unclosed.len(), 200_000);
        let falling: String = (3..1_500).rev().map(|length| "~".repeat(length) + " x\n").collect();
        assert_eq!(FencedBlocks::of(&ReplyLines::new(&falling)).unclosed.len(), 1_497);
    }
}

#[cfg(test)]
mod quoted_tests {
    use super::*;

    /// `=` marks each quoted line of the text.
    #[track_caller]
    fn check(expected: &str) {
        let text: String = expected.lines().map(|line| format!("{}\n", &line[1..])).collect();
        for text in [text.clone(), text.replace('\n', "\r\n")] {
            let page = ReplyLines::new(&text);
            let quoted = QuotedLines::of(&page);
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
            let page = ReplyLines::new(&text);
            let quoted = QuotedLines::of(&page);
            assert!((0..page.count()).filter(|line| quoted.line(&page, *line)).count() <= page.count());
        }
    }
}
