use super::{Diagnostic, Severity, did_you_mean};

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

    /// Returns true if the list has room for another diagnostic. Callers use it to avoid building
    /// messages in vain.
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
