//! A text as lines.

/// A text and the offsets of its lines.
#[derive(Debug)]
pub(super) struct Page<'a> {
    text: &'a str,
    /// 32-bit offsets, because a window is small. A reply of only line ends must not cost a hundred megabytes.
    starts: Vec<u32>,
}

impl<'a> Page<'a> {
    /// Splits a window, or a shorter text, into lines.
    pub(super) fn new(text: &'a str) -> Self {
        let first = (!text.is_empty()).then_some(0);
        let others = text.match_indices('\n').map(|(at, _)| at + 1).filter(|at| *at < text.len());
        let starts = first.into_iter().chain(others);
        Self {
            text,
            starts: starts.map(|at| u32::try_from(at).expect("a window is 4 MiB at most")).collect(),
        }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// Returns the number of lines.
    pub(super) fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the offset of a line; the end of the text for the line after the last.
    pub(super) fn start(&self, line: usize) -> usize {
        self.starts.get(line).map_or(self.text.len(), |at| *at as usize)
    }

    /// Returns a line without its line end; empty after the last.
    pub(super) fn line(&self, line: usize) -> &'a str {
        let whole = &self.text[self.start(line)..self.start(line + 1)];
        whole.trim_end_matches(['\r', '\n'])
    }

    /// Returns the line of a byte offset.
    pub(super) fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start as usize <= offset).saturating_sub(1)
    }

    /// Returns the last line that is not blank.
    pub(super) fn last_filled(&self) -> Option<usize> {
        let end = self.text.trim_end().len();
        end.checked_sub(1).map(|last| self.line_at(last))
    }

    /// Returns the nearest earlier line that is not blank.
    pub(super) fn filled_before(&self, line: usize) -> Option<usize> {
        (0..line).rev().find(|line| !self.line(*line).trim().is_empty())
    }

    /// Returns the nearest later line that is not blank.
    pub(super) fn filled_after(&self, line: usize) -> Option<usize> {
        (line + 1..self.count()).find(|line| !self.line(*line).trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_numbers_starts_and_no_ends() {
        let page = Page::new("a\r\n\nあb\n  \n");
        assert_eq!(page.count(), 4);
        let lines: Vec<_> = (0..5).map(|line| page.line(line)).collect();
        assert_eq!(lines, ["a", "", "あb", "  ", ""]);
        assert_eq!((page.start(2), page.start(3), page.start(9)), (4, 9, 12));
        assert_eq!((page.line_at(0), page.line_at(4), page.line_at(8), page.line_at(11)), (0, 2, 2, 3));
        assert_eq!(
            (page.last_filled(), page.filled_before(2), page.filled_before(0)),
            (Some(2), Some(0), None)
        );
    }

    #[test]
    fn an_empty_text_has_no_lines() {
        let page = Page::new("");
        assert_eq!((page.count(), page.line(0), page.last_filled()), (0, "", None));
        assert_eq!(Page::new("\n \n").last_filled(), None);
    }
}
