//! Splits a stream into lines, and shortens a JSON line that is too long for memory.
//!
//! A line is long because of a text in it, such as a file or a message. Such a text is cut to its last part,
//! which is also the part of a long message that counts (C-52). Everything else in the line stays.

use std::io;
use std::io::{BufRead as _, BufReader, Read};

use memchr::{memchr, memchr2};

/// Maximum length of a line in memory (C-52).
pub(super) const LONGEST: usize = 1024 * 1024;

/// A line, including its line end if there is one.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum OutputLine<'a> {
    Whole(&'a [u8]),
    /// A line too long for memory, by its position in the stream.
    Long {
        from: u64,
        length: u64,
    },
}

/// A line splitter. It buffers at most [`LONGEST`] bytes.
#[derive(Debug, Default)]
pub(super) struct LineSplitter {
    /// The start of an incomplete line; empty once the line is too long.
    held: Vec<u8>,
    /// Position of that line in the stream, and its length so far.
    from: u64,
    length: u64,
}

impl LineSplitter {
    /// Adds bytes and passes on every line that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8], mut each: impl FnMut(OutputLine<'_>)) {
        while let Some(at) = memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(at + 1);
            // Most lines arrive whole and need no copy.
            if self.length == 0 && line.len() <= LONGEST {
                self.from += line.len() as u64;
                each(OutputLine::Whole(line));
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
    pub(super) fn finish(&mut self, mut each: impl FnMut(OutputLine<'_>)) {
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

    fn let_go(&mut self, each: &mut impl FnMut(OutputLine<'_>)) {
        if self.is_long() {
            each(OutputLine::Long { from: self.from, length: self.length });
        } else {
            each(OutputLine::Whole(&self.held));
        }
        self.held.clear();
        self.from += self.length;
        self.length = 0;
    }
}

/// Length that a text keeps: the usual one, and the one for a line that is still too long.
const TEXT: usize = 4 * 1024 * 1024;
const SHORT_TEXT: usize = 16 * 1024;

/// Line length from which texts are cut. A line of twice this length is dropped.
const LINE: usize = 5 * 1024 * 1024;

/// A line that fits into memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShortenedLine {
    pub(super) line: String,
    pub(super) was_cut: bool,
}

/// Reads a line and cuts its texts. Returns `None` if it is not a JSON object, or is still too long.
pub(super) fn condense(line: &mut (impl Read + ?Sized)) -> io::Result<Option<ShortenedLine>> {
    let mut condenser = LineShortener::default();
    let mut reader = BufReader::with_capacity(64 * 1024, line);
    loop {
        let bytes = reader.fill_buf()?;
        if bytes.is_empty() {
            return Ok(condenser.finish());
        }
        let length = bytes.len();
        if !condenser.push(bytes) {
            return Ok(None);
        }
        reader.consume(length);
    }
}

/// Returns the length of the prefix that ends on a character boundary.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // An incomplete character at the end is left for later.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[derive(Debug, Default)]
struct LineShortener {
    line: Vec<u8>,
    began: bool,
    /// Start of the current text in `line`, if inside one.
    text: Option<usize>,
    /// The last byte in the text was a backslash that starts an escape.
    escaped: bool,
    was_cut: bool,
    /// Length that a text keeps. It shrinks if the line still grows.
    longest: Option<usize>,
}

impl LineShortener {
    /// Adds bytes. Returns false once the line is hopeless.
    fn push(&mut self, mut bytes: &[u8]) -> bool {
        if !self.began {
            let Some(first) = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) else { return true };
            if *first != b'{' {
                return false;
            }
            self.began = true;
        }
        while !bytes.is_empty() {
            bytes = match self.text {
                None => self.structure(bytes),
                Some(from) => self.text(from, bytes),
            };
            if !self.shorten() {
                return false;
            }
        }
        true
    }

    /// Cuts the current text to the usual length, then to the short one. Returns false if that is not enough.
    fn shorten(&mut self) -> bool {
        for longest in [self.longest(), SHORT_TEXT] {
            if self.line.len() <= LINE {
                break;
            }
            self.longest = Some(longest);
            if let Some(from) = self.text {
                self.cut(from);
            }
        }
        self.line.len() <= 2 * LINE
    }

    fn longest(&self) -> usize {
        self.longest.unwrap_or(TEXT)
    }

    fn structure<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr(b'"', bytes).map_or(bytes.len(), |at| at + 1);
        self.line.extend_from_slice(&bytes[..end]);
        if self.line.ends_with(b"\"") {
            self.text = Some(self.line.len());
        }
        &bytes[end..]
    }

    fn text<'a>(&mut self, from: usize, bytes: &'a [u8]) -> &'a [u8] {
        if self.escaped {
            self.escaped = false;
            self.line.push(bytes[0]);
            return &bytes[1..];
        }
        let (end, stop) = match memchr2(b'"', b'\\', bytes) {
            Some(at) => (at + 1, Some(bytes[at])),
            None => (bytes.len(), None),
        };
        self.line.extend_from_slice(&bytes[..end]);
        match stop {
            Some(b'\\') => self.escaped = true,
            Some(_) => {
                self.line.pop();
                self.cut(from);
                self.line.push(b'"');
                self.text = None;
            }
            // Cut at intervals, so that the line does not grow without bound.
            None if self.line.len() - from > 2 * self.longest() => self.cut(from),
            None => {}
        }
        &bytes[end..]
    }

    /// Cuts a text to its last part, at a character boundary.
    fn cut(&mut self, from: usize) {
        let over = (self.line.len() - from).saturating_sub(self.longest());
        if over == 0 {
            return;
        }
        let start = next_character(&self.line[from..], over);
        self.line.drain(from..from + start);
        self.was_cut = true;
    }

    fn finish(self) -> Option<ShortenedLine> {
        let Self { line, was_cut, text, began, .. } = self;
        if !began || text.is_some() {
            return None;
        }
        Some(ShortenedLine { line: String::from_utf8_lossy(&line).into_owned(), was_cut })
    }
}

/// Returns the first position from here that is not inside a character, an escape or a surrogate pair.
fn next_character(text: &[u8], place: usize) -> usize {
    let mut at = 0;
    while let Some(backslash) =
        memchr(b'\\', &text[at..]).map(|found| at + found).filter(|found| *found < place)
    {
        at = backslash + if text.get(backslash + 1) == Some(&b'u') { 6 } else { 2 };
    }
    let mut at = at.max(place);
    while let Some(byte) = text.get(at) {
        if byte & 0b1100_0000 == 0b1000_0000 {
            at += 1;
        } else if is_second_half(&text[at..]) {
            at += 6;
        } else {
            break;
        }
    }
    at.min(text.len())
}

/// Returns true if the text starts with the second half of a surrogate pair.
fn is_second_half(text: &[u8]) -> bool {
    let Some([b'\\', b'u', b'd' | b'D', third]) = text.first_chunk() else { return false };
    matches!(third.to_ascii_lowercase(), b'c'..=b'f')
}

#[cfg(test)]
mod tests {
    mod lines {
        use proptest::prelude::*;

        use super::super::*;

        /// Splits a stream that arrives in pieces of this length. A long line becomes its position.
        fn lines(stream: &[u8], piece: usize) -> Vec<String> {
            let mut lines = LineSplitter::default();
            let mut all = Vec::new();
            let mut each = |line: OutputLine<'_>| {
                all.push(match line {
                    OutputLine::Whole(line) => format!("{:?}", String::from_utf8_lossy(line)),
                    OutputLine::Long { from, length } => format!("{from}+{length}"),
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

    mod long_line {
        use proptest::prelude::*;
        use serde_json::{Value, json};

        use super::super::*;

        fn condensed(line: &str) -> Option<ShortenedLine> {
            condense(&mut line.as_bytes()).unwrap()
        }

        // C-52
        #[test]
        fn a_text_that_is_too_long_keeps_its_last_part() {
            let long = format!("{}the end", "x".repeat(3 * TEXT));
            let line = json!({"a": [1, "short"], "text": long, "z": true}).to_string() + "\n";
            let ShortenedLine { line, was_cut } = condensed(&line).unwrap();
            let value: Value = serde_json::from_str(&line).unwrap();
            let text = value["text"].as_str().unwrap();
            assert!(was_cut && text.len() == TEXT && text.ends_with("xthe end"));
            assert_eq!((&value["a"], &value["z"]), (&json!([1, "short"]), &json!(true)));
        }

        #[test]
        fn many_texts_are_cut_shorter() {
            let texts: Vec<String> = (0..8).map(|_| "y".repeat(3 << 20)).collect();
            let ShortenedLine { line, was_cut } = condensed(&json!({ "texts": texts }).to_string()).unwrap();
            assert!(was_cut && line.len() < 2 * LINE, "{}", line.len());
            assert!(serde_json::from_str::<Value>(&line).is_ok());
        }

        #[test]
        fn what_is_no_object_or_has_no_end_is_left_to_others() {
            assert_eq!(condensed("plain words"), None);
            assert_eq!(condensed("  \n"), None);
            assert_eq!(condensed("{\"a\":\"never ends"), None);
            assert_eq!(condensed(&format!("{{\"a\":[{}]}}", "1,".repeat(LINE + 1))), None);
            let same = "  {\"a\":\"b\\\"c\"}\r\n";
            assert_eq!(condensed(same), Some(ShortenedLine { line: same.to_owned(), was_cut: false }));
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(300))]

            // A cut at any position leaves a valid text that is the end of the original.
            #[test]
            fn a_text_is_cut_between_characters(
                parts in prop::collection::vec(prop_oneof!["[a-c\\\\\"\n]{1,5}", "\\PC{1,4}", Just("😀".to_owned())], 1..20),
                place in 0usize..100,
                escape_all: bool,
            ) {
                let whole: String = parts.concat();
                let quoted = serde_json::to_string(&whole).unwrap();
                let inside = &quoted[1..quoted.len() - 1];
                let inside = if escape_all { escaped(inside) } else { inside.to_owned() };
                let start = next_character(inside.as_bytes(), place.min(inside.len()));
                let rest = inside.get(start..).expect("between characters");
                let rest: String = serde_json::from_str(&format!("\"{rest}\"")).expect("a text");
                prop_assert!(whole.ends_with(&rest), "{rest:?} of {whole:?}");
            }
        }

        /// Escapes every character beyond ASCII.
        fn escaped(text: &str) -> String {
            let mut units = [0; 2];
            let mut escaped = String::new();
            for letter in text.chars() {
                if letter.is_ascii() {
                    escaped.push(letter);
                } else {
                    letter
                        .encode_utf16(&mut units)
                        .iter()
                        .for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
                }
            }
            escaped
        }
    }
}
