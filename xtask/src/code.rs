//! Removes comments and literals from Rust code, so that checks do not confuse prose with code.

use std::str::Chars;

/// Code with blanked comments and literals, plus the removed literals. Line numbers stay the same.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Remaining text with all its line breaks.
    pub text: String,
    /// String literals as written, with their line numbers from 1.
    pub literals: Vec<(usize, String)>,
}

impl Code {
    /// Blanks out comments, strings and character literals.
    pub fn of(text: &str) -> Self {
        let mut reader = Reader { rest: text.chars(), before: ' ', line: 1, code: Self::default() };
        while reader.step() {}
        reader.code
    }

    /// Splits a line of code into names and keywords.
    pub fn words(line: &str) -> impl Iterator<Item = &str> {
        line.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'))
            .filter(|word| !word.is_empty())
    }
}

struct Reader<'a> {
    rest: Chars<'a>,
    /// Last character that was kept.
    before: char,
    line: usize,
    code: Code,
}

impl Reader<'_> {
    fn step(&mut self) -> bool {
        let text = self.rest.as_str();
        let in_word = self.before.is_alphanumeric() || self.before == '_';
        if text.is_empty() {
            return false;
        } else if text.starts_with("//") {
            self.blank(text.find('\n').unwrap_or(text.len()));
        } else if text.starts_with("/*") {
            self.blank(block_comment(text));
        } else if let Some((open, length)) = raw_string(text).filter(|_| !in_word) {
            self.literal(open, length);
        } else if text.starts_with('"') {
            self.literal(1, quoted(text, '"'));
        } else if let Some(length) = character(text) {
            self.blank(length);
        } else {
            self.keep();
        }
        true
    }

    fn keep(&mut self) {
        if let Some(letter) = self.rest.next() {
            self.before = letter;
            self.code.text.push(letter);
            self.line += usize::from(letter == '\n');
        }
    }

    /// Skips this many bytes but keeps their line breaks.
    fn blank(&mut self, bytes: usize) {
        let text = self.rest.as_str();
        let (gone, rest) = text.split_at(bytes);
        for letter in gone.chars() {
            self.code.text.push(if letter == '\n' { '\n' } else { ' ' });
        }
        self.line += gone.matches('\n').count();
        self.before = ' ';
        self.rest = rest.chars();
    }

    fn literal(&mut self, open: usize, length: usize) {
        let text = self.rest.as_str();
        let close = length.saturating_sub(open.saturating_sub(usize::from(text.starts_with('r')))).max(open);
        let inner = text.get(open..close).unwrap_or_default();
        self.code.literals.push((self.line, inner.to_owned()));
        self.blank(length);
    }
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut at = 0;
    while at < text.len() {
        let rest = &text.as_bytes()[at..];
        if rest.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Returns the start of the content and the total length of `r"…"` or `r#"…"#`.
fn raw_string(text: &str) -> Option<(usize, usize)> {
    let hashes = text.strip_prefix('r')?.bytes().take_while(|byte| *byte == b'#').count();
    let open = 2 + hashes;
    let body = text[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    let length = body.find(&close).map_or(text.len(), |end| open + end + close.len());
    Some((open, length))
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Returns the length of a character literal, as opposed to a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut letters = text.strip_prefix('\'')?.chars();
    let first = letters.next()?;
    let second = letters.next()?;
    (first == '\\' || second == '\'').then(|| quoted(text, '\''))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str, literals: &[&str]) {
        let code = Code::of(text);
        assert_eq!(code.text.split_whitespace().collect::<Vec<_>>().join(" "), expected, "{text}");
        assert_eq!(code.literals.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), literals);
    }

    #[test]
    fn comments_are_blanked_out() {
        check("a // b\nc", "a c", &[]);
        check("a /* b /* c */ d */ e", "a e", &[]);
    }

    #[test]
    fn literals_are_taken_out_and_kept() {
        check(r#"a("b \" // c") d"#, "a( ) d", &[r#"b \" // c"#]);
        check(r##"a(r#"b " c"#) d"##, "a( ) d", &[r#"b " c"#]);
        check(r#"a(r"b") d"#, "a( ) d", &["b"]);
        check("for x in y", "for x in y", &[]);
    }

    #[test]
    fn characters_are_no_lifetimes() {
        check("f::<'a>('\"', '\\'', 'é') // x", "f::<'a>( , , )", &[]);
    }

    #[test]
    fn lines_keep_their_numbers() {
        let code = Code::of("\"a\nb\"\n/* \n */ c \"d\"");
        assert_eq!(code.text.lines().count(), 4);
        assert_eq!(code.literals, [(1, "a\nb".to_owned()), (4, "d".to_owned())]);
    }
}
