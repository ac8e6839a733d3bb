//! Diagnostics as data: all problems of a text at once, each with a code, a location and a hint.

mod human;
mod location;
mod machine;
mod wording;

use std::fmt;

pub use self::human::{Colour, to_human, to_human_within};
pub use self::location::{DocumentPath, Located, Location, PathStep, Position, SourceFile, Span};
pub use self::machine::{to_github, to_sarif};
#[cfg(test)]
pub(crate) use self::wording::COMPARED;
pub(crate) use self::wording::steers;
pub use self::wording::{did_you_mean, list_of, nearest, quoted, quoted_path};

#[derive(Debug, Clone, PartialEq)]
pub struct Diagnostic {
    pub code: DiagnosticCode,
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
    pub fn error(code: DiagnosticCode, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message.into())
    }

    pub fn warning(code: DiagnosticCode, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message.into())
    }

    pub fn note(code: DiagnosticCode, message: impl Into<String>) -> Self {
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

    fn new(severity: Severity, code: DiagnosticCode, message: String) -> Self {
        Self { code, severity, location: None, message, label: None, hint: None, further: Vec::new() }
    }
}

/// Subject area of a diagnostic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Area {
    Piece,
    Hats,
    Steps,
    Review,
    /// The lowered workflow, common to all dialects.
    Workflow,
    /// Settings files, variables and flags.
    Settings,
    Script,
    Provider,
    Work,
}

impl Area {
    /// Returns the part before the slash.
    pub fn name(self) -> &'static str {
        match self {
            Self::Piece => "piece",
            Self::Hats => "hats",
            Self::Steps => "steps",
            Self::Review => "review",
            Self::Workflow => "workflow",
            Self::Settings => "settings",
            Self::Script => "script",
            Self::Provider => "provider",
            Self::Work => "work",
        }
    }

    pub const fn code(self, slug: &'static str) -> DiagnosticCode {
        DiagnosticCode { area: self, slug }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DiagnosticCode {
    pub area: Area,
    /// Kind of problem. The same kind has the same slug in every area.
    pub slug: &'static str,
}

impl fmt::Display for DiagnosticCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.area.name(), self.slug)
    }
}

/// Collected diagnostics. Sorting puts them in the order of files and positions.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    left_off: usize,
    errors: bool,
    warnings: bool,
}

impl Diagnostics {
    /// Maximum number of listed diagnostics. Further ones are only counted.
    pub const MOST: usize = 1000;

    /// Number of diagnostics after which spelling suggestions stop.
    const ENOUGH: usize = 50;

    pub fn new() -> Self {
        Self::default()
    }

    pub fn push(&mut self, diagnostic: Diagnostic) {
        match diagnostic.severity {
            Severity::Error => self.errors = true,
            Severity::Warning => self.warnings = true,
            Severity::Note => {}
        }
        if self.has_room() {
            self.list.push(diagnostic);
        } else {
            self.left_off += 1;
        }
    }

    pub fn append(&mut self, other: Self) {
        for diagnostic in other.list {
            self.push(diagnostic);
        }
        self.left_off += other.left_off;
        self.errors |= other.errors;
        self.warnings |= other.warnings;
    }

    pub fn has_errors(&self) -> bool {
        self.errors
    }

    /// Returns true if the diagnostics prevent a run. With `strict`, warnings count as errors.
    pub fn forbids(&self, strict: bool) -> bool {
        self.errors || (strict && self.warnings)
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Returns the number of diagnostics beyond the limit.
    pub fn left_off(&self) -> usize {
        self.left_off
    }

    /// Returns true if there is room for another diagnostic, so that callers build no messages in vain.
    pub fn has_room(&self) -> bool {
        self.list.len() < Self::MOST
    }

    /// Returns "did you mean …?" for names that a file itself defines. The number of such names is
    /// unbounded, so suggestions stop after many diagnostics.
    pub fn suggest<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        if self.list.len() < Self::ENOUGH { did_you_mean(word, known) } else { None }
    }

    /// Iterates over the listed diagnostics in the order of discovery.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Sorts by file and position. Diagnostics without a location come first.
    #[must_use]
    pub fn sorted(mut self) -> Self {
        self.list.sort_by(|one, other| order(one).cmp(&order(other)));
        self
    }
}

fn order(diagnostic: &Diagnostic) -> (Option<&str>, Option<usize>) {
    let location = diagnostic.location.as_ref();
    (
        location.map(|location| location.file.name()),
        location.and_then(|location| location.span).map(|span| span.start),
    )
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, more: T) {
        for diagnostic in more {
            self.push(diagnostic);
        }
    }
}

impl FromIterator<Diagnostic> for Diagnostics {
    fn from_iter<T: IntoIterator<Item = Diagnostic>>(list: T) -> Self {
        let mut diagnostics = Self::new();
        for diagnostic in list {
            diagnostics.push(diagnostic);
        }
        diagnostics
    }
}

#[cfg(test)]
mod tests;
