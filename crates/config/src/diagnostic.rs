//! What is wrong with a text, as data: all of it at once, each with a code, a place and a hint.

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

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: Code,
    pub severity: Severity,
    /// Where; nowhere for what was said on a command line or in a variable.
    pub location: Option<Location>,
    /// What is wrong, in one sentence.
    pub message: String,
    /// A few words that stand at the place itself.
    pub label: Option<String>,
    /// What to write instead, or to do.
    pub hint: Option<String>,
    /// Other places that belong to it, each with its label.
    pub further: Vec<(Location, String)>,
}

/// How bad a thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    /// It runs, unless warnings count as errors.
    Warning,
    /// It runs in any case.
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
    /// An error without a place.
    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    /// A warning without a place.
    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    /// A note without a place.
    pub fn note(code: Code, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message.into())
    }

    #[must_use]
    pub fn at(mut self, location: &Location) -> Self {
        self.location = Some(location.clone());
        self
    }

    /// A few words that stand at the place itself.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// What to write instead, or to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// The hint, if there is one.
    #[must_use]
    pub fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// Another place that belongs to it.
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
