//! Which findings count.

use super::{Anchor, Severity};

/// Which findings count, and what else decides how a review ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// The least severity that fails a review.
    pub fail_on: FailOn,
    /// How near to the change a finding must be.
    pub fail_scope: FailScope,
    /// Findings less certain are put aside; those that say nothing of it are not.
    pub min_confidence: u8,
    pub require_all: bool,
    /// What was left out does not matter.
    pub allow_partial: bool,
    /// What the change says of its own review does not count.
    pub distrusts_change: bool,
}

/// The least severity that fails a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailOn {
    /// This one, and every worse one.
    At(Severity),
    Never,
}

/// How near to the change a finding must be to count, nearest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailScope {
    Added,
    Context,
    /// In a file that was reviewed.
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
    /// What settings and flags call it.
    pub fn named(name: &str) -> Option<Self> {
        let never = (name == "never").then_some(Self::Never);
        let named = Severity::ALL.into_iter().find(|severity| severity.name() == name);
        never.or(named.map(Self::At))
    }

    /// The word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::At(severity) => severity.name(),
            Self::Never => "never",
        }
    }

    /// Whether a finding of this severity fails a review.
    pub(super) fn takes(self, severity: Severity) -> bool {
        match self {
            Self::At(least) => severity <= least,
            Self::Never => false,
        }
    }
}

impl FailScope {
    const ALL: [Self; 4] = [Self::Added, Self::Context, Self::File, Self::All];

    /// What settings and flags call it.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name() == name)
    }

    /// The word that is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Context => "context",
            Self::File => "file",
            Self::All => "all",
        }
    }

    /// Whether a finding with this anchor is near enough. One whose place is unknown always is.
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
