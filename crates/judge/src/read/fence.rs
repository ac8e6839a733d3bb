//! Fenced blocks, one level deep.

use super::page::Page;

/// A line of three or more backticks or tildes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence<'a> {
    pub(super) mark: Mark,
    pub(super) length: usize,
    pub(super) info: &'a str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Backtick,
    Tilde,
}

impl<'a> Fence<'a> {
    /// Parses a fence line. Ignores its indentation, because agents put blocks into lists.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let (mark, character) = match line.as_bytes().first()? {
            b'`' => (Mark::Backtick, '`'),
            b'~' => (Mark::Tilde, '~'),
            _ => return None,
        };
        let rest = line.trim_start_matches(character);
        let length = line.len() - rest.len();
        let inline = mark == Mark::Backtick && rest.contains('`');
        (length >= 3 && !inline).then(|| Self { mark, length, info: rest.trim_start() })
    }

    /// Returns true if no text follows its marks, so that it can close a block.
    pub(super) fn is_bare(&self) -> bool {
        self.info.is_empty()
    }

    /// Returns true if its block is Markdown, which can contain blocks of its own.
    pub(super) fn is_markdown(&self) -> bool {
        let ends_word = |c: char| c.is_whitespace() || matches!(c, ':' | ',' | '{' | '=');
        let word = self.info.split(ends_word).next().unwrap_or(self.info);
        word.eq_ignore_ascii_case("markdown") || word.eq_ignore_ascii_case("md")
    }

    /// Returns true if it has enough marks to close `opening`.
    pub(super) fn is_enough_for(&self, opening: &Fence<'_>) -> bool {
        self.mark == opening.mark && self.length >= opening.length
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block<'a> {
    /// Line of its opening fence.
    pub(super) open: usize,
    /// Line of its closing fence.
    pub(super) close: usize,
    pub(super) info: &'a str,
}

/// Fenced blocks of a text. A fence without a closing one is an ordinary line.
#[derive(Debug)]
pub(super) struct Fences<'a> {
    pub(super) blocks: Vec<Block<'a>>,
    pub(super) unclosed: Vec<(usize, &'a str)>,
}

impl<'a> Fences<'a> {
    pub(super) fn of(page: &Page<'a>) -> Self {
        let fences = all(page);
        let closing = closings(&fences);
        let mut found = Self { blocks: Vec::new(), unclosed: Vec::new() };
        let mut at = 0;
        while let Some((open, fence)) = fences.get(at) {
            match closing[at] {
                Some(close) => {
                    found.blocks.push(Block { open: *open, close: fences[close].0, info: fence.info });
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
    pub(super) fn contain(&self, line: usize) -> bool {
        let behind = self.blocks.partition_point(|block| block.open <= line);
        behind.checked_sub(1).is_some_and(|index| self.blocks[index].close >= line)
    }
}

pub(super) fn all<'a>(page: &Page<'a>) -> Vec<(usize, Fence<'a>)> {
    (0..page.count()).filter_map(|line| Fence::of(page.line(line)).map(|fence| (line, fence))).collect()
}

/// For each fence that opens a block, returns the fence that closes it: the nearest bare one with enough marks.
///
/// Seen from the end, only fences longer than all nearer ones can still close a block. Two stacks hold them, so that a
/// text of unclosed fences does not take quadratic time.
pub(super) fn closings(fences: &[(usize, Fence<'_>)]) -> Vec<Option<usize>> {
    let mut stacks: [Vec<(usize, usize)>; 2] = [Vec::new(), Vec::new()];
    let mut found = vec![None; fences.len()];
    for (index, (_, fence)) in fences.iter().enumerate().rev() {
        let stack = &mut stacks[usize::from(fence.mark == Mark::Tilde)];
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
pub(super) fn nested_closings(
    fences: &[(usize, Fence<'_>)],
    opens: impl Fn(usize, &Fence<'_>) -> bool,
) -> Vec<Option<usize>> {
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

/// For each fence, returns the next one of the same mark with more marks.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Expects blocks as `open-close info`, unclosed fences as `open? info`.
    fn check(text: &str, expected: &[&str]) {
        let fences = Fences::of(&Page::new(text));
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
        let fences = Fences::of(&Page::new("a\n```\nb\n```\nc\n~~~\n~~~\n"));
        let inside: Vec<_> = (0..8).map(|line| fences.contain(line)).collect();
        assert_eq!(inside, [false, true, true, true, false, true, true, false]);
    }

    // H-35
    #[test]
    fn unclosed_fences_cost_no_square() {
        let text = "```a\n".repeat(200_000);
        assert_eq!(Fences::of(&Page::new(&text)).unclosed.len(), 200_000);
        let falling: String = (3..1_500).rev().map(|length| "~".repeat(length) + " x\n").collect();
        assert_eq!(Fences::of(&Page::new(&falling)).unclosed.len(), 1_497);
    }
}
