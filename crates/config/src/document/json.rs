//! Strict JSON parser: no comments, no trailing commas, no duplicate keys.

use std::collections::HashMap;
use std::sync::Arc;

use super::{DEEPEST, MapEntry, Node, ParseProblem, ParsedTree, Value, report};
use crate::diagnostic::Span;

pub(super) fn parse(text: &str) -> ParsedTree {
    let mut reader = JsonParser { text, at: 0, depth: 0, problems: Vec::new() };
    reader.space();
    let root = reader.value()?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.unexpected("nothing may follow the document"));
    }
    Ok((root, reader.problems))
}

struct JsonParser<'t> {
    text: &'t str,
    at: usize,
    depth: u32,
    problems: Vec<ParseProblem>,
}

impl JsonParser<'_> {
    fn value(&mut self) -> Result<Node, ParseProblem> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::array)?,
            Some(b'"') => Value::Text(self.string()?.into()),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            _ => self.word()?,
        };
        Ok(Node { value, span: Span::new(start, self.at) })
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value, ParseProblem>) -> Result<Value, ParseProblem> {
        if self.depth >= DEEPEST {
            return Err(ParseProblem::too_deep(self.here()));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Value, ParseProblem> {
        let mut entries = Vec::new();
        let mut seen: HashMap<Arc<str>, Span> = HashMap::new();
        self.at += 1;
        self.space();
        if self.skip(b'}') {
            return Ok(Value::Map(entries.into()));
        }
        loop {
            let start = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected("expected a key in double quotes"));
            }
            let key: Arc<str> = self.string()?.into();
            let key_span = Span::new(start, self.at);
            self.space();
            if !self.skip(b':') {
                return Err(self.unexpected("expected `:` after the key"));
            }
            self.space();
            let value = self.value()?;
            match seen.get(&key) {
                Some(first) => {
                    report(&mut self.problems, ParseProblem::duplicate_key(&key, key_span, Some(*first)))
                }
                None => {
                    seen.insert(Arc::clone(&key), key_span);
                    entries.push(MapEntry { key, key_span, value });
                }
            }
            if self.ends(b'}', "expected `,` or `}`")? {
                return Ok(Value::Map(entries.into()));
            }
        }
    }

    fn array(&mut self) -> Result<Value, ParseProblem> {
        let mut items = Vec::new();
        self.at += 1;
        self.space();
        if self.skip(b']') {
            return Ok(Value::List(items.into()));
        }
        loop {
            items.push(self.value()?);
            if self.ends(b']', "expected `,` or `]`")? {
                return Ok(Value::List(items.into()));
            }
        }
    }

    /// Returns true if the closing bracket follows an item, false if a comma and an item follow.
    fn ends(&mut self, bracket: u8, expected: &str) -> Result<bool, ParseProblem> {
        self.space();
        if self.skip(bracket) {
            return Ok(true);
        }
        let comma = self.here();
        if !self.skip(b',') {
            return Err(self.unexpected(expected));
        }
        self.space();
        if self.peek() == Some(bracket) {
            return Err(ParseProblem::syntax(comma, "this is not valid JSON: a comma after the last item")
                .hint("remove the comma"));
        }
        Ok(false)
    }

    fn string(&mut self) -> Result<String, ParseProblem> {
        let start = self.at;
        let mut content = String::new();
        self.at += 1;
        loop {
            let rest = &self.text[self.at..];
            let plain = rest.find(|c| matches!(c, '"' | '\\') || c < ' ').unwrap_or(rest.len());
            content.push_str(&rest[..plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(content);
                }
                Some(b'\\') => content.push(self.escape()?),
                Some(_) => return Err(self.unexpected("a line break or control character in a text")),
                None => {
                    let span = Span::new(start, start + 1);
                    return Err(ParseProblem::syntax(span, "this is not valid JSON: the text is not closed"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<char, ParseProblem> {
        let start = self.at;
        let letter = self.text.as_bytes().get(self.at + 1).copied();
        let simple = match letter {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.bad_escape(start, "an unknown escape")),
        };
        self.at += 2;
        Ok(simple)
    }

    fn unicode_escape(&mut self) -> Result<char, ParseProblem> {
        let start = self.at;
        let first = self.hex(start)?;
        let code = match first {
            0xd800..=0xdbff => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(self.bad_escape(start, "half a surrogate pair"));
                }
                let second = self.hex(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.bad_escape(start, "half a surrogate pair"));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            _ => first,
        };
        char::from_u32(code).ok_or_else(|| self.bad_escape(start, "half a surrogate pair"))
    }

    /// Parses the four digits of `\uXXXX` at the current position.
    fn hex(&mut self, start: usize) -> Result<u32, ParseProblem> {
        let digits = self.text.get(self.at + 2..self.at + 6);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let code = code.ok_or_else(|| self.bad_escape(start, "four hexadecimal digits must follow `\\u`"))?;
        self.at += 6;
        Ok(code)
    }

    fn bad_escape(&self, start: usize, what: &str) -> ParseProblem {
        let rest = &self.text[start..];
        let end = rest.char_indices().nth(2).map_or(rest.len(), |(index, _)| index);
        let span = Span::new(start, (start + end).max(self.at));
        ParseProblem::syntax(span, format!("this is not valid JSON: {what}"))
    }

    fn number(&mut self) -> Result<Value, ParseProblem> {
        let start = self.at;
        self.skip(b'-');
        let whole = self.digits();
        let leading_zero = whole > 1 && self.text.as_bytes()[self.at - whole] == b'0';
        let mut valid = whole > 0 && !leading_zero;
        let mut integer = true;
        if self.skip(b'.') {
            integer = false;
            valid &= self.digits() > 0;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            integer = false;
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            valid &= self.digits() > 0;
        }
        let span = Span::new(start, self.at);
        let written = &self.text[start..self.at];
        if !valid {
            return Err(ParseProblem::syntax(span, "this is not valid JSON: invalid number"));
        }
        if integer && let Ok(value) = written.parse() {
            return Ok(Value::Integer(value));
        }
        match written.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Value::Float(value)),
            _ => Err(ParseProblem::syntax(span, "this is not valid JSON: the number is too large")),
        }
    }

    fn word(&mut self) -> Result<Value, ParseProblem> {
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let value = match &rest[..length] {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "null" => Value::Null,
            _ => return Err(self.unexpected("expected a value")),
        };
        self.at += length;
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        self.at - start
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn skip(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn here(&self) -> Span {
        let width = self.text[self.at..].chars().next().map_or(0, char::len_utf8);
        Span::new(self.at, self.at + width)
    }

    fn unexpected(&self, expected: &str) -> ParseProblem {
        let end = if self.at >= self.text.len() { ", but the file ends" } else { "" };
        ParseProblem::syntax(self.here(), format!("this is not valid JSON: {expected}{end}"))
    }
}
