//! Parses text into a tree of nodes with source positions.
//!
//! Readers walk this tree instead of deserialising into structs. A deserialiser stops at the first
//! error; readers report all errors at once.

mod char_index;
mod core_schema;
mod json;
mod node;
mod problem;
mod toml;
mod yaml;

use std::path::Path;
use std::sync::Arc;

pub use node::{Entry, Node, Value};
use problem::{Problem, Problems};

use crate::diagnostic::{
    Area, Diagnostic, Diagnostics, DocumentPath, Location, SourceFile, Span, Step, quoted,
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
            Some(span) => Err(Problem::syntax(span, "the file is not UTF-8").label("not a character")),
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
        root.map(|root| Self { file, root })
    }

    /// Returns the root cursor for readers.
    pub fn cursor(&self) -> Cursor<'_> {
        Cursor::new(self)
    }

    /// Returns the location of the value at a path, or of its nearest existing parent.
    pub fn locate(&self, path: &DocumentPath) -> Location {
        let mut node = &self.root;
        let mut span = node.span;
        for step in path.steps() {
            let next = match (step, &node.value) {
                (Step::Key(key), Value::Map(entries)) => {
                    entries.iter().find(|entry| *entry.key == **key).map(|entry| &entry.value)
                }
                (Step::Index(index), Value::List(items)) => items.get(*index),
                _ => None,
            };
            let Some(next) = next else { break };
            node = next;
            span = node.span;
        }
        Location { file: Arc::clone(&self.file), span: Some(span), path: path.clone() }
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
    let diagnostic = Location::whole(&file).error(slug, format!("cannot read {}: {error}", quoted(name)));
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
type Parsed = Result<(Node, Vec<Problem>), Problem>;

#[cfg(test)]
mod tests;
