//! Splits a stream into lines.

use memchr::memchr;

/// Maximum length of a line in memory (C-52).
pub(super) const LONGEST: usize = 1024 * 1024;

/// A line, including its line end if there is one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    Whole(&'a [u8]),
    /// A line too long for memory, by its position in the stream.
    Long {
        from: u64,
        length: u64,
    },
}

/// A line splitter. It buffers at most [`LONGEST`] bytes.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The start of an incomplete line; empty once the line is too long.
    held: Vec<u8>,
    /// Position of that line in the stream, and its length so far.
    from: u64,
    length: u64,
}

impl Lines {
    /// Adds bytes and passes on every line that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(Line<'_>)) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at + 1);
            // Most lines arrive whole and need no copy.
            if self.length == 0 && line.len() <= LONGEST {
                self.from += line.len() as u64;
                each(Line::Whole(line));
            } else {
                self.hold(line);
                self.let_go(&mut each);
            }
            bytes = rest;
        }
        if !bytes.is_empty() {
            self.hold(bytes);
        }
    }

    /// Passes on the rest of the stream, which has no line end.
    pub(super) fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if self.length > 0 {
            self.let_go(&mut each);
        }
    }

    fn hold(&mut self, bytes: &[u8]) {
        self.length += bytes.len() as u64;
        if self.is_long() {
            self.held = Vec::new();
        } else {
            self.held.extend_from_slice(bytes);
        }
    }

    fn is_long(&self) -> bool {
        self.length > LONGEST as u64
    }

    fn let_go(&mut self, each: &mut impl FnMut(Line<'_>)) {
        if self.is_long() {
            each(Line::Long { from: self.from, length: self.length });
        } else {
            each(Line::Whole(&self.held));
        }
        self.held.clear();
        self.from += self.length;
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Splits a stream that arrives in pieces of this length. A long line becomes its position.
    fn lines(stream: &[u8], piece: usize) -> Vec<String> {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        let mut each = |line: Line<'_>| {
            all.push(match line {
                Line::Whole(line) => format!("{:?}", String::from_utf8_lossy(line)),
                Line::Long { from, length } => format!("{from}+{length}"),
            });
        };
        stream.chunks(piece).for_each(|piece| lines.push(piece, &mut each));
        lines.finish(&mut each);
        assert!(lines.held.capacity() <= 2 * LONGEST);
        all
    }

    // C-52
    #[test]
    fn a_line_that_is_too_long_is_told_by_its_place() {
        let stream =
            [b"one\n".as_slice(), &vec![b'x'; LONGEST + 1], b"\nthree\n", &vec![b'y'; LONGEST]].concat();
        for piece in [1000, 65_536, stream.len()] {
            let told = lines(&stream, piece);
            assert_eq!(
                told[..3],
                ["\"one\\n\"".to_owned(), format!("4+{}", LONGEST + 2), "\"three\\n\"".to_owned()]
            );
            assert_eq!(told.len(), 4);
        }
    }

    proptest! {
        #[test]
        fn however_a_stream_is_cut_its_lines_are_the_same(stream in "[ab\n]{0,40}", piece in 1usize..40) {
            let expected: Vec<_> = stream.split_inclusive('\n').map(|line| format!("{line:?}")).collect();
            prop_assert_eq!(lines(stream.as_bytes(), piece), expected);
        }
    }
}
