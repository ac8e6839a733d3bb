//! Diagnostics as data: all problems of a text at once, each with a code, a location and a hint.

mod code;
mod collection;
mod file;
mod github;
mod human;
mod json;
mod location;
mod path;
mod sarif;
mod suggest;
mod words;

pub use code::{Area, Code};
pub use collection::Diagnostics;
pub use file::{Position, SourceFile, Span};
pub use github::to_github;
pub use human::{Colour, to_human};
pub use json::to_json;
pub use location::{Located, Location};
pub use path::{DocumentPath, Step};
pub use sarif::to_sarif;
#[cfg(test)]
pub(crate) use suggest::COMPARED;
pub use suggest::{did_you_mean, nearest};
pub(crate) use words::steers;
pub use words::{list_of, quoted};

#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// Location; absent for command-line flags and variables.
    pub location: Option<Location>,
    /// The problem in one sentence.
    pub message: String,
    /// Short label at the location.
    pub label: Option<String>,
    pub hint: Option<String>,
    /// Related locations with their labels.
    pub further: Vec<(Location, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    /// Allows the run unless `strict` is set.
    Warning,
    Note,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

impl Diagnostic {
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message.into())
    }

    #[must_use]
    pub fn at(mut self, location: &Location) -> Self {
        self.location = Some(location.clone());
        self
    }

    /// Sets the short label at the location.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    #[must_use]
    pub fn also(mut self, location: &Location, label: impl Into<String>) -> Self {
        self.further.push((location.clone(), label.into()));
        self
    }

    fn new(severity: Severity, code: Code, message: String) -> Self {
        Self { code, severity, location: None, message, label: None, hint: None, further: Vec::new() }
    }
}

#[cfg(test)]
mod tests;
