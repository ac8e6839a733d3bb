//! Where the front matter of a file ends and its text begins.

use crate::diagnostic::Span;

/// A file in two parts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// There is no front matter.
    Plain,
    /// The bytes of the front matter, and where the text begins.
    Front { front: Span, body: usize },
    /// It is opened by these bytes and never closed.
    Unclosed(Span),
}

impl Split {
    pub(super) fn of(text: &str) -> Self {
        let is_line = |line: &str| line.trim_end() == "---";
        let mut lines = text.split_inclusive('\n');
        let Some(first) = lines.next().filter(|line| is_line(line)) else { return Self::Plain };
        let mut at = first.len();
        for line in lines {
            if is_line(line) {
                return Self::Front { front: Span::new(first.len(), at), body: at + line.len() };
            }
            at += line.len();
        }
        Self::Unclosed(Span::new(0, first.trim_end().len()))
    }
}
