//! Parses text into a tree of nodes with source positions.
//!
//! Readers walk this tree instead of deserialising into structs. A deserialiser stops at the first
//! error; readers report all errors at once.

mod json;
mod toml;
mod yaml;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Number, Value as Json};

use crate::diagnostic::{
    Area, Diagnostic, Diagnostics, DocumentPath, Location, PathStep, SourceFile, Span, quoted, quoted_path,
};
use crate::fields::Cursor;
use crate::source::{ReadError, Source};

/// Maximum size in bytes of a definition, settings, script, persona or template file.
pub const LARGEST_FILE: u64 = 1024 * 1024;
/// Maximum nesting of a document after anchor expansion.
pub const DEEPEST: u32 = 100;
/// Maximum size in bytes of a document after anchor expansion.
pub const LARGEST_EXPANDED: u64 = 10 * 1024 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// YAML 1.2 with the core schema.
    Yaml,
    Json,
    Toml,
}

impl Format {
    /// Returns the format for a file extension: `.json`, `.toml`, otherwise YAML.
    pub fn of(path: &Path) -> Self {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some(end) if end.eq_ignore_ascii_case("json") => Self::Json,
            Some(end) if end.eq_ignore_ascii_case("toml") => Self::Toml,
            _ => Self::Yaml,
        }
    }
}

#[derive(Debug, Clone)]
pub struct Document {
    pub file: Arc<SourceFile>,
    pub root: Node,
    /// Other files that parts of the tree come from, each with the start of its spans. The starts grow, and all lie
    /// behind the end of `file`.
    pub(crate) others: Vec<(usize, Arc<SourceFile>)>,
}

impl Document {
    /// Reads a file under its display name. If it returns `None`, it has added an error.
    pub fn load(
        source: &dyn Source,
        path: &Path,
        name: &str,
        area: Area,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        match source.read(path, LARGEST_FILE) {
            Ok(bytes) => Self::parse(&bytes, Format::of(path), name, area, diagnostics),
            Err(error) => {
                diagnostics.push(cannot_read(&error, name, area));
                None
            }
        }
    }

    /// Parses a text. A syntax error gives one diagnostic and no document. Duplicate keys and
    /// similar errors still give a document, so that readers can report further errors.
    pub fn parse(
        bytes: &[u8],
        format: Format,
        name: &str,
        area: Area,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        if bytes.len() as u64 > LARGEST_FILE {
            diagnostics.push(cannot_read(&ReadError::TooLarge { limit: LARGEST_FILE }, name, area));
            return None;
        }
        let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes));
        let file = Arc::new(SourceFile::new(area, name, text.as_ref()));
        let read = match first_not_utf8(bytes, &text) {
            Some(span) => Err(ParseProblem::syntax(span, "the file is not UTF-8").label("not a character")),
            None => match format {
                Format::Yaml => yaml::parse(file.text()),
                Format::Json => json::parse(file.text()),
                Format::Toml => toml::parse(file.text()),
            },
        };
        let (root, problems) = match read {
            Ok((root, problems)) => (Some(root), problems),
            Err(problem) => (None, vec![problem]),
        };
        for problem in problems {
            diagnostics.push(problem.diagnostic(&file));
        }
        root.map(|root| Self { file, root, others: Vec::new() })
    }

    /// Returns the root cursor for readers.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self)
    }

    /// Returns the file of a span and the span inside that file.
    pub(crate) fn source_of(&self, span: Span) -> (&Arc<SourceFile>, Span) {
        match self.others.iter().rfind(|(start, _)| *start <= span.start) {
            Some((start, file)) => (file, Span::new(span.start - start, span.end.saturating_sub(*start))),
            None => (&self.file, span),
        }
    }

    /// Returns all texts, to detect the language. Comments and keys do not count.
    pub(crate) fn texts(&self) -> Vec<&str> {
        fn collect<'d>(node: &'d Node, texts: &mut Vec<&'d str>) {
            match &node.value {
                Value::Text(text) => texts.push(text),
                Value::List(items) => items.iter().for_each(|item| collect(item, texts)),
                Value::Map(entries) => entries.iter().for_each(|entry| collect(&entry.value, texts)),
                _ => {}
            }
        }
        let mut texts = Vec::new();
        collect(&self.root, &mut texts);
        texts
    }

    /// Returns the location of the value at a path, or of its nearest existing parent.
    pub fn locate(&self, path: &DocumentPath) -> Location {
        let mut node = &self.root;
        let mut span = node.span;
        for step in path.steps() {
            let next = match (step, &node.value) {
                (PathStep::Key(key), Value::Map(entries)) => {
                    entries.iter().find(|entry| *entry.key == **key).map(|entry| &entry.value)
                }
                (PathStep::Index(index), Value::List(items)) => items.get(*index),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
            span = node.span;
        }
        let (file, span) = self.source_of(span);
        Location { file: Arc::clone(file), span: Some(span), path: path.clone() }
    }
}

/// Returns the error for an unreadable file.
pub fn cannot_read(error: &ReadError, name: &str, area: Area) -> Diagnostic {
    let slug = match error {
        ReadError::Missing => "missing-file",
        ReadError::TooLarge { .. } => "too-large",
        ReadError::Directory
        | ReadError::Unreadable
        | ReadError::Outside { .. }
        | ReadError::KeptOut { .. }
        | ReadError::Other(_) => "bad-file",
    };
    let file = Arc::new(SourceFile::new(area, name, ""));
    let diagnostic =
        Location::whole(&file).error(slug, format!("cannot read {}: {error}", quoted_path(name)));
    match error.hint() {
        Some(hint) => diagnostic.hint(hint),
        None => diagnostic,
    }
}

fn first_not_utf8(bytes: &[u8], text: &str) -> Option<Span> {
    let mark = bytes.len().saturating_sub(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).len());
    let start = std::str::from_utf8(&bytes[mark..]).err()?.valid_up_to();
    let width = text[start..].chars().next().map_or(0, char::len_utf8);
    Some(Span::new(start, start + width))
}

/// A tree with its recoverable errors, or the error that stopped the parser.
type ParsedTree = Result<(Node, Vec<ParseProblem>), ParseProblem>;

/// A value and its byte range. Cloning is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub value: Value,
    /// Byte range of the value. An aliased value has the range of its anchor.
    pub span: Span,
}

/// A value. Lists and mappings are shared, so an alias costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(Arc<str>),
    Date(Arc<str>),
    List(Arc<[Node]>),
    /// Mapping in file order, without duplicate keys.
    Map(Arc<[MapEntry]>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    pub key: Arc<str>,
    pub key_span: Span,
    pub value: Node,
}

impl Value {
    /// Returns the kind for messages, such as `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// Returns the value of a key, if this is a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| *entry.key == *key).map(|entry| &entry.value),
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub fn as_integer(&self) -> Option<i64> {
        if let Value::Integer(number) = self.value { i64::try_from(number).ok() } else { None }
    }

    #[expect(clippy::cast_precision_loss, reason = "what is asked for as a number may be rounded as one")]
    pub fn as_number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(bool) = self.value { Some(bool) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// Converts the value to JSON. Infinity and NaN, which JSON lacks, become null.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Integer(value) => integer(*value),
            Value::Float(value) => Number::from_f64(*value).map_or(Json::Null, Json::Number),
            Value::Text(text) | Value::Date(text) => Json::String(text.to_string()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_json())).collect(),
            ),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "JSON has no larger whole numbers, and says so by rounding")]
fn integer(value: i128) -> Json {
    let number = i64::try_from(value).map(Number::from).or_else(|_| u64::try_from(value).map(Number::from));
    match number {
        Ok(number) => Json::Number(number),
        Err(_) => Number::from_f64(value as f64).map_or(Json::Null, Json::Number),
    }
}

/// A parser error without its file.
#[derive(Debug)]
struct ParseProblem {
    slug: &'static str,
    span: Span,
    message: String,
    label: Option<&'static str>,
    hint: Option<&'static str>,
    /// Location of the first key, if this one is a duplicate.
    first: Option<Span>,
}

impl ParseProblem {
    fn new(slug: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self { slug, span, message: message.into(), label: None, hint: None, first: None }
    }

    fn syntax(span: Span, message: impl Into<String>) -> Self {
        Self::new("syntax", span, message)
    }

    fn duplicate_key(key: &str, span: Span, first: Option<Span>) -> Self {
        let message = format!("duplicate key {}", quoted(key));
        let problem = Self::new("duplicate-key", span, message).label("given again").hint("keep one of them");
        Self { first, ..problem }
    }

    fn too_deep(span: Span) -> Self {
        Self::new("too-large", span, format!("nested more than {DEEPEST} levels deep"))
    }

    fn label(self, label: &'static str) -> Self {
        Self { label: Some(label), ..self }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    fn diagnostic(self, file: &Arc<SourceFile>) -> Diagnostic {
        let at = |span| Location { file: Arc::clone(file), span: Some(span), path: DocumentPath::root() };
        let mut diagnostic = at(self.span).error(self.slug, self.message);
        diagnostic.label = self.label.map(str::to_owned);
        diagnostic.hint = self.hint.map(str::to_owned);
        match self.first {
            Some(span) => diagnostic.also(&at(span), "first given here"),
            None => diagnostic,
        }
    }
}

/// Adds a recoverable error. Keeps no more of them than can be listed.
fn report(problems: &mut Vec<ParseProblem>, problem: ParseProblem) {
    if problems.len() <= Diagnostics::MOST {
        problems.push(problem);
    }
}

#[cfg(test)]
mod tests;
