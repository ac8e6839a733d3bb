//! Everything found so far.

use super::{Diagnostic, Severity, did_you_mean};

/// Everything found so far, in the order of files and places once sorted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    left_off: usize,
    errors: bool,
    warnings: bool,
}

impl Diagnostics {
    /// More than this nobody reads; what follows is only counted.
    pub const MOST: usize = 1000;

    /// After so many nobody needs to be told what each misspelt name was probably meant to be.
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

    /// Whether anything forbids a run.
    pub fn has_errors(&self) -> bool {
        self.errors
    }

    /// Whether anything forbids a run when warnings count as errors (`strict`).
    pub fn forbids(&self, strict: bool) -> bool {
        self.errors || (strict && self.warnings)
    }

    /// Whether there is nothing at all.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// How many more were found than are listed.
    pub fn left_off(&self) -> usize {
        self.left_off
    }

    /// Whether one more would be listed. Where it would not, finding words for it is lost work.
    pub fn has_room(&self) -> bool {
        self.list.len() < Self::MOST
    }

    /// "did you mean …?" of names that a file itself gives, and of which there can be any number: while there are so few
    /// diagnostics that comparing with every name does not take long.
    pub fn suggest<'a>(&self, word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
        if self.list.len() < Self::ENOUGH { did_you_mean(word, known) } else { None }
    }

    /// Those listed, in the order they were found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// By file, then by place; what has no place comes first.
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
