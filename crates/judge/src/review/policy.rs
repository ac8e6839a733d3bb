//! Decides which findings count.

use super::{Anchor, Severity};

/// Rules for findings that count, and other inputs of the outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Minimum severity that fails a review.
    pub fail_on: FailOn,
    /// Maximum distance of a counted finding from the change.
    pub fail_scope: FailScope,
    /// Minimum confidence; less certain findings are filtered. Findings without a confidence stay.
    pub min_confidence: u8,
    pub require_all: bool,
    /// True to accept gaps in the review.
    pub allow_partial: bool,
    /// True to ignore suppressions that the change itself adds.
    pub distrusts_change: bool,
}

/// Minimum severity that fails a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    /// This severity and every worse one.
    At(Severity),
    Never,
}

/// Maximum distance of a counted finding from the change, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailScope {
    Added,
    Context,
    File,
    All,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            fail_on: FailOn::At(Severity::Important),
            fail_scope: FailScope::File,
            min_confidence: 0,
            require_all: false,
            allow_partial: false,
            distrusts_change: false,
        }
    }
}

impl FailOn {
    /// Parses the name in settings and flags.
    pub fn named(name: &str) -> Option<Self> {
        let never = (name == "never").then_some(Self::Never);
        let named = Severity::ALL.into_iter().find(|severity| severity.name() == name);
        never.or(named.map(Self::At))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::At(severity) => severity.name(),
            Self::Never => "never",
        }
    }

    /// Returns true if a finding of this severity fails a review.
    pub(super) fn takes(self, severity: Severity) -> bool {
        match self {
            Self::At(least) => severity <= least,
            Self::Never => false,
        }
    }
}

impl FailScope {
    const ALL: [Self; 4] = [Self::Added, Self::Context, Self::File, Self::All];

    /// Parses the name in settings and flags.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Context => "context",
            Self::File => "file",
            Self::All => "all",
        }
    }

    /// Returns true if a finding with this anchor is near enough. A finding with an unknown place always is.
    pub(super) fn takes(self, anchor: Anchor) -> bool {
        let needed = match anchor {
            Anchor::None | Anchor::Unverified => return true,
            Anchor::Added => Self::Added,
            Anchor::Context => Self::Context,
            Anchor::File => Self::File,
            Anchor::Outside => Self::All,
        };
        needed <= self
    }
}
