//! Splits a file into front matter and body.

use crate::diagnostic::Span;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Split {
    Plain,
    /// Byte range of the front matter, and offset of the body.
    Front {
        front: Span,
        body: usize,
    },
    /// Opened by these bytes but never closed.
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
