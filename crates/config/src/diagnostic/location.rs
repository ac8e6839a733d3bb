//! Locations in files, and values with a location.

use std::sync::Arc;

use super::{Diagnostic, DocumentPath, Position, Severity, SourceFile, Span};

#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    pub file: Arc<SourceFile>,
    /// Byte range; absent if the location is the whole file.
    pub span: Option<Span>,
    pub path: DocumentPath,
}

impl Location {
    pub fn whole(file: &Arc<SourceFile>) -> Self {
        Self { file: Arc::clone(file), span: None, path: DocumentPath::root() }
    }

    /// Creates an error here, in the area of the file.
    pub fn error(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Error, slug, message.into())
    }

    /// Creates a warning here, in the area of the file.
    pub fn warning(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Warning, slug, message.into())
    }

    /// Creates a note here, in the area of the file.
    pub fn note(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Note, slug, message.into())
    }

    /// Returns line and column of the start.
    pub fn start(&self) -> Option<Position> {
        self.span.map(|span| self.file.position(span.start))
    }

    /// Returns `file:line:column`, or only the file.
    pub fn name(&self) -> String {
        match self.start() {
            Some(Position { line, column }) => format!("{}:{line}:{column}", self.file.name()),
            None => self.file.name().to_owned(),
        }
    }

    fn diagnostic(&self, severity: Severity, slug: &'static str, message: String) -> Diagnostic {
        Diagnostic::new(severity, self.file.area().code(slug), message).at(self)
    }
}

/// A value with its location.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub at: Location,
}

impl<T> Located<T> {
    pub fn new(value: T, at: Location) -> Self {
        Self { value, at }
    }

    /// Converts the value and keeps its location.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), at: self.at }
    }

    pub fn error(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.at.error(slug, message)
    }

    pub fn warning(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.at.warning(slug, message)
    }
}
