//! A line of JSON that is too long to be held, with what makes it long cut out.
//!
//! What makes a line long is a text in it: a file that was read, a message. Such a text is cut to its last part, which
//! is also what is read of a message that long (C-52); everything else of the line is kept, so that it still says
//! what it says.

use std::io::{self, BufRead as _, BufReader, Read};

use memchr::memchr2;

/// What is kept of one text where the line then is short enough, and where it is not.
const TEXT: usize = 4 * 1024 * 1024;
const SHORT_TEXT: usize = 16 * 1024;

/// How long a line may be after cutting.
const LINE: usize = 6 * 1024 * 1024;

/// A line that can be held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Condensed {
    pub(super) line: String,
    pub(super) was_cut: bool,
}

/// Reads a line, cutting its texts. `None` if it is no JSON object, or would still be too long.
pub(super) fn condense(line: &mut (impl Read + ?Sized)) -> io::Result<Option<Condensed>> {
    let mut condenser = Condenser::default();
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

/// How many bytes end on a character.
pub(super) fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        // An unfinished character at the end, and only that, is left for later.
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => bytes.len(),
    }
}

#[derive(Debug, Default)]
struct Condenser {
    line: Vec<u8>,
    began: bool,
    /// Inside a text: where it begins in `line`.
    text: Option<usize>,
    /// The last byte inside the text was a backslash that stands for something with the next one.
    escaped: bool,
    was_cut: bool,
    /// What is kept of a text. It shrinks when the line grows all the same.
    longest: Option<usize>,
}

impl Condenser {
    /// Takes more of the line. Says whether it can still come to something.
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
            if self.line.len() > LINE {
                self.longest = Some(SHORT_TEXT);
                if self.text.is_none_or(|from| from > LINE / 2) {
                    return false;
                }
            }
        }
        true
    }

    fn longest(&self) -> usize {
        self.longest.unwrap_or(TEXT)
    }

    /// Outside texts all is kept.
    fn structure<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let end = memchr::memchr(b'"', bytes).map_or(bytes.len(), |at| at + 1);
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
            // Now and then, so that it does not grow meanwhile.
            None if self.line.len() - from > 2 * self.longest() => self.cut(from),
            None => {}
        }
        &bytes[end..]
    }

    /// Cuts a text to its last part, between two characters.
    fn cut(&mut self, from: usize) {
        let over = (self.line.len() - from).saturating_sub(self.longest());
        if over == 0 {
            return;
        }
        let text = &self.line[from..];
        let start = (over..text.len()).find(|at| is_between(text, *at)).unwrap_or(text.len());
        self.line.drain(from..from + start);
        self.was_cut = true;
    }

    fn finish(self) -> Option<Condensed> {
        let Self { line, was_cut, text, began, .. } = self;
        if !began || text.is_some() {
            return None;
        }
        Some(Condensed { line: String::from_utf8_lossy(&line).into_owned(), was_cut })
    }
}

/// Whether a text can be cut there: not inside a character and not inside an escape. The longest escape is `\uXXXX`.
fn is_between(text: &[u8], at: usize) -> bool {
    if text[at] & 0b1100_0000 == 0b1000_0000 {
        return false;
    }
    let near = &text[at.saturating_sub(6)..at];
    !near.contains(&b'\\')
}
