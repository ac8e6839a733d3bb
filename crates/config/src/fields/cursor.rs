//! A node with its location, the check that it has a required kind, and durations in human notation.

use std::sync::Arc;

use saihai_model::Millis;

use super::ValueKind;
use crate::diagnostic::{
    Area, Diagnostic, Diagnostics, DocumentPath, Located, Location, did_you_mean, quoted,
};
use crate::document::{Document, Node, Value};

/// A node of a document with its location.
#[derive(Debug, Clone)]
pub struct Cursor<'d> {
    document: &'d Document,
    node: &'d Node,
    path: DocumentPath,
}

impl<'d> Cursor<'d> {
    pub fn new(document: &'d Document) -> Self {
        Self { document, node: &document.root, path: DocumentPath::root() }
    }

    /// Creates a cursor for a document inside another one, such as the text of a variable.
    pub(crate) fn at(document: &'d Document, path: DocumentPath) -> Self {
        Self { document, node: &document.root, path }
    }

    pub fn node(&self) -> &'d Node {
        self.node
    }

    pub fn path(&self) -> &DocumentPath {
        &self.path
    }

    pub fn document(&self) -> &'d Document {
        self.document
    }

    pub fn location(&self) -> Location {
        let (file, span) = self.document.source_of(self.node.span);
        Location { file: Arc::clone(file), span: Some(span), path: self.path.clone() }
    }

    /// Attaches this location to a value.
    pub fn located<T>(&self, value: T) -> Located<T> {
        Located::new(value, self.location())
    }

    pub fn error(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.location().error(slug, message)
    }

    pub fn warning(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.location().warning(slug, message)
    }

    /// Returns the items of a list; empty for other values.
    pub fn items(&self) -> impl Iterator<Item = Cursor<'d>> + use<'d> {
        let items = if let Value::List(items) = &self.node.value { &items[..] } else { &[] };
        let (document, path) = (self.document, self.path.clone());
        items.iter().enumerate().map(move |(index, node)| Cursor { document, node, path: path.index(index) })
    }

    /// Returns the entries of a mapping, each key with its own location; empty for other values.
    pub fn entries(&self) -> impl Iterator<Item = (Located<String>, Cursor<'d>)> + use<'d> {
        let entries = if let Value::Map(entries) = &self.node.value { &entries[..] } else { &[] };
        let (document, path) = (self.document, self.path.clone());
        entries.iter().map(move |entry| {
            let path = path.key(Arc::clone(&entry.key));
            let (file, span) = document.source_of(entry.key_span);
            let at = Location { file: Arc::clone(file), span: Some(span), path: path.clone() };
            (Located::new(entry.key.to_string(), at), Cursor { document, node: &entry.value, path })
        })
    }

    /// Returns the value of a key, if this is a mapping with that key.
    pub fn get(&self, key: &str) -> Option<Cursor<'d>> {
        let node = self.node.get(key)?;
        Some(Cursor { document: self.document, node, path: self.path.key(key) })
    }

    pub fn text(&self) -> Option<Located<String>> {
        self.node.as_text().map(|text| self.located(text.to_owned()))
    }

    pub fn integer(&self) -> Option<i64> {
        self.node.as_integer()
    }

    pub fn number(&self) -> Option<f64> {
        self.node.as_number()
    }

    pub fn duration(&self) -> Option<Millis> {
        duration_of(self.node)?.ok()
    }

    /// Returns true for `false` and null.
    pub fn is_off(&self) -> bool {
        match &self.node.value {
            Value::Null => true,
            Value::Bool(on) => !on,
            Value::List(items) => items.is_empty(),
            Value::Map(entries) => {
                entries.is_empty()
                    || self.get("enabled").is_some_and(|enabled| enabled.node().as_bool() == Some(false))
            }
            _ => false,
        }
    }

    /// Returns true if the value has this kind; otherwise reports all its errors.
    pub fn must_be(&self, kind: &ValueKind, diagnostics: &mut Diagnostics) -> bool {
        match (kind, &self.node.value) {
            (ValueKind::Any | ValueKind::Refused(_), _)
            | (ValueKind::Text, Value::Text(_))
            | (ValueKind::Bool, Value::Bool(_))
            | (ValueKind::Object(_), Value::Map(_)) => true,
            (ValueKind::Integer { min, max }, Value::Integer(number)) => {
                let within = (i128::from(*min)..=i128::from(*max)).contains(number);
                // An upper bound this large is mentioned only to an author who exceeds it.
                let is_above = *number > i128::from(*max) && *max >= i64::from(u32::MAX);
                let expected = if is_above { format!("at most {max}") } else { range(*min, *max) };
                self.must_hold(within, &expected, diagnostics)
            }
            (ValueKind::Number { min, above }, Value::Integer(_) | Value::Float(_)) => {
                let number = self.node.as_number().unwrap_or(f64::NAN);
                let within = number.is_finite() && if *above { number > *min } else { number >= *min };
                let words = if *above { "greater than" } else { "of at least" };
                self.must_hold(within, &format!("a number {words} {min}"), diagnostics)
            }
            (ValueKind::Duration { zero }, Value::Text(_) | Value::Integer(_)) => {
                self.must_be_duration(*zero, diagnostics)
            }
            (ValueKind::Path, Value::Text(text)) if text.contains('\0') => {
                let message =
                    format!("{} contains a NUL character, which is not allowed in a path", self.name());
                diagnostics.push(self.error(self.bad_path(), message).label("not allowed in a path"));
                false
            }
            (ValueKind::Path, Value::Text(text)) => {
                self.must_hold(!text.is_empty(), "the path of a file", diagnostics)
            }
            (ValueKind::OneOf(words), Value::Text(text)) => self.must_be_one_of(words, text, diagnostics),
            (ValueKind::List(item), Value::List(_)) => self.each_must_be(self.items(), item, diagnostics),
            (ValueKind::Filled(item), Value::List(items)) => {
                self.must_hold(!items.is_empty(), "a list with at least one item", diagnostics)
                    && self.each_must_be(self.items(), item, diagnostics)
            }
            (ValueKind::Map(value), Value::Map(_)) => {
                self.each_must_be(self.entries().map(|(_, entry)| entry), value, diagnostics)
            }
            (ValueKind::Single(value), Value::Map(entries)) => {
                self.must_hold(entries.len() == 1, "a mapping of one key", diagnostics)
                    && self.each_must_be(self.entries().map(|(_, entry)| entry), value, diagnostics)
            }
            (ValueKind::Either(kinds), _) => self.must_be_either(kind, kinds, diagnostics),
            (_, _) => {
                diagnostics.push(self.bad_type(kind));
                false
            }
        }
    }

    fn each_must_be(
        &self,
        values: impl Iterator<Item = Self>,
        kind: &ValueKind,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        // The reader of the objects reports the errors of every item.
        if matches!(kind, ValueKind::Object(_)) {
            return true;
        }
        let wrong = values.filter(|value| !value.must_be(kind, diagnostics)).count();
        wrong == 0
    }

    /// Checks the first kind with the right outer form. If none fits, reports that.
    fn must_be_either(&self, kind: &ValueKind, kinds: &[ValueKind], diagnostics: &mut Diagnostics) -> bool {
        let mut fitting = None;
        for kind in kinds {
            let mut found = Diagnostics::new();
            if self.must_be(kind, &mut found) {
                return true;
            }
            let outer = found.iter().any(|one| {
                one.code.slug == "bad-type" && one.location.as_ref().is_some_and(|at| at.path == self.path)
            });
            if !outer && fitting.is_none() {
                fitting = Some((kind, found));
            }
        }
        match fitting {
            // Its own message would list only its own words and not the other alternatives.
            Some((ValueKind::OneOf(_), _)) => {
                self.must_hold(false, &kind.describe(), diagnostics);
            }
            Some((_, found)) => diagnostics.append(found),
            None => diagnostics.push(self.bad_type(kind)),
        }
        false
    }

    fn must_be_duration(&self, zero: bool, diagnostics: &mut Diagnostics) -> bool {
        match duration_of(self.node) {
            Some(Ok(Millis(0))) if !zero => self.must_hold(false, "longer than 0", diagnostics),
            Some(Ok(_)) => true,
            Some(Err(error)) => {
                let message = format!("{} is not a duration: {}", self.name(), self.shown());
                diagnostics.push(self.error("bad-value", message).label("here").hint(error.to_string()));
                false
            }
            None => false,
        }
    }

    fn must_be_one_of(
        &self,
        words: &'static [&'static str],
        text: &str,
        diagnostics: &mut Diagnostics,
    ) -> bool {
        if words.contains(&text) {
            return true;
        }
        let expected = ValueKind::OneOf(words).describe();
        let message = format!("{} must be {expected}, not {}", self.name(), quoted(text));
        let hint = diagnostics.has_room().then(|| did_you_mean(text, words.iter().copied())).flatten();
        diagnostics.push(self.error("bad-value", message).label("not one of them").maybe_hint(hint));
        false
    }

    fn must_hold(&self, holds: bool, expected: &str, diagnostics: &mut Diagnostics) -> bool {
        if !holds {
            let message = format!("{} must be {expected}, not {}", self.name(), self.shown());
            diagnostics.push(self.error("bad-value", message).label("not allowed"));
        }
        holds
    }

    /// Returns the code of an impossible path. Step agents have one for all forbidden paths (S-3).
    fn bad_path(&self) -> &'static str {
        if self.document.file.area() == Area::Steps { "path-escape" } else { "bad-value" }
    }

    fn bad_type(&self, kind: &ValueKind) -> Diagnostic {
        let found = self.node.value.kind();
        let in_hats = self.document.file.area() == Area::Hats;
        if self.node.value == Value::Null {
            let message = format!("{} must be {}, but nothing is given", self.name(), kind.describe());
            let diagnostic = self.error("bad-type", message).label("no value");
            return diagnostic
                .maybe_hint(in_hats.then(|| format!("write {}, or remove the key", kind.describe())));
        }
        // H-17: the key, the value and the allowed values.
        let is_plain = !matches!(self.node.value, Value::Map(_) | Value::List(_));
        let shown = if in_hats && is_plain { format!("{found}: {}", self.shown()) } else { found.to_owned() };
        let message = format!("{} must be {}, not {shown}", self.name(), kind.describe());
        let usual = || in_hats.then(|| format!("write {}", kind.describe()));
        self.error("bad-type", message).label(found).maybe_hint(self.type_hint(kind).or_else(usual))
    }

    fn type_hint(&self, kind: &ValueKind) -> Option<String> {
        let written = self.written();
        match (kind, &self.node.value) {
            (ValueKind::Bool, Value::Text(text)) => match text.to_lowercase().as_str() {
                "yes" | "on" | "y" | "true" => Some("write `true`".to_owned()),
                "no" | "off" | "n" | "false" => Some("write `false`".to_owned()),
                _ => None,
            },
            (
                ValueKind::Text | ValueKind::Either(_),
                Value::Bool(_) | Value::Integer(_) | Value::Float(_),
            ) if written.len() <= 40 => Some(format!("write it in quotes: `\"{written}\"`")),
            (ValueKind::Integer { .. } | ValueKind::Number { .. }, Value::Text(text))
                if text.trim().parse::<f64>().is_ok() =>
            {
                Some(format!("write {} without quotes", quoted(text.trim())))
            }
            // A command is a list of words; no shell splits it.
            (ValueKind::Filled(ValueKind::Text), Value::Text(text))
                if text.len() <= 40 && text.trim().contains(' ') =>
            {
                let words: Vec<String> = text.split_whitespace().map(|word| format!("{word:?}")).collect();
                Some(format!("write `[{}]`", words.join(", ")))
            }
            (ValueKind::List(ValueKind::Text) | ValueKind::Filled(ValueKind::Text), Value::Text(text))
                if text.len() <= 40 =>
            {
                Some(format!("write `[{written}]`"))
            }
            (ValueKind::Integer { min, max }, _) => {
                Some(format!("write a whole number, {}", range(*min, *max)))
            }
            (_, _) => None,
        }
    }

    /// Returns the display name of the value.
    fn name(&self) -> String {
        if self.path.is_root() {
            "the document".to_owned()
        } else {
            called(&self.location(), &self.path.tail())
        }
    }

    /// Returns the value as its file has it.
    fn written(&self) -> &'d str {
        let (file, span) = self.document.source_of(self.node.span);
        &file.text()[span.start..span.end]
    }

    fn shown(&self) -> String {
        let written = self.written();
        if written.is_empty() { "nothing".to_owned() } else { quoted(written) }
    }
}

/// Returns the display name of a key. Hats are many and similar, so their keys have full paths (H-10).
pub(super) fn called(at: &Location, name: &str) -> String {
    if at.file.area() == Area::Hats { quoted(&at.path.to_string()) } else { quoted(name) }
}

fn range(min: i64, max: i64) -> String {
    match (min, max) {
        (only, last) if only == last => format!("`{only}`"),
        (_, max) if max >= i64::from(u32::MAX) => format!("at least {min}"),
        _ => format!("between {min} and {max}"),
    }
}

/// Reason why a text is not a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BadDuration {
    #[error("a duration is written as \"90s\", \"30m\", \"2h\" or a whole number of seconds")]
    Malformed,
    #[error("a duration is at most 100 years")]
    TooLong,
}

/// Parses `90s`, `30m`, `2h` or whole seconds.
pub fn parse_duration(text: &str) -> Result<Millis, BadDuration> {
    let (digits, seconds) = match text.as_bytes().last() {
        Some(b's') => (&text[..text.len() - 1], 1),
        Some(b'm') => (&text[..text.len() - 1], 60),
        Some(b'h') => (&text[..text.len() - 1], 3600),
        _ => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(BadDuration::Malformed);
    }
    let count: u64 = digits.parse().map_err(|_| BadDuration::TooLong)?;
    whole_seconds(count.checked_mul(seconds).ok_or(BadDuration::TooLong)?)
}

/// Parses the duration in a text or integer node.
pub(crate) fn duration_of(node: &Node) -> Option<Result<Millis, BadDuration>> {
    match &node.value {
        Value::Text(text) => Some(parse_duration(text)),
        Value::Integer(seconds) => {
            let seconds = u64::try_from(*seconds).map_err(|_| BadDuration::Malformed);
            Some(seconds.and_then(whole_seconds))
        }
        _ => None,
    }
}

fn whole_seconds(seconds: u64) -> Result<Millis, BadDuration> {
    const CENTURY: u64 = 100 * 366 * 24 * 3600;
    if seconds > CENTURY { Err(BadDuration::TooLong) } else { Ok(Millis::seconds(seconds)) }
}
