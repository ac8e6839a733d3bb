//! A place in a file, and values that know theirs.

use std::sync::Arc;

use super::{Diagnostic, DocumentPath, Position, Severity, SourceFile, Span};

/// A place in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Location {
    pub file: Arc<SourceFile>,
    /// Which bytes of it; absent where the file as a whole is meant.
    pub span: Option<Span>,
    pub path: DocumentPath,
}

impl Location {
    /// A file as a whole.
    pub fn whole(file: &Arc<SourceFile>) -> Self {
        Self { file: Arc::clone(file), span: None, path: DocumentPath::root() }
    }

    /// An error here, in the file's area.
    pub fn error(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Error, slug, message.into())
    }

    /// A warning here, in the file's area.
    pub fn warning(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Warning, slug, message.into())
    }

    /// A note here, in the file's area.
    pub fn note(&self, slug: &'static str, message: impl Into<String>) -> Diagnostic {
        self.diagnostic(Severity::Note, slug, message.into())
    }

    /// The line and column where it begins.
    pub fn start(&self) -> Option<Position> {
        self.span.map(|span| self.file.position(span.start))
    }

    /// `file:line:column`, or the file alone.
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

/// A value that knows where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    pub value: T,
    pub at: Location,
}

impl<T> Located<T> {
    /// A value and its place.
    pub fn new(value: T, at: Location) -> Self {
        Self { value, at }
    }

    /// Another value at the same place.
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
