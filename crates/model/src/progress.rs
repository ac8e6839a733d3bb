//! Progress of a cycle: the files after a turn, the findings that a reviewer names, and the reasons to call a cycle
//! stalled. Facts only: nothing here is the opinion of a model.

use serde::{Deserialize, Serialize};

use crate::ids::StageId;
use crate::money::Usd;
use crate::reading::Severity;

/// Thresholds for the rounds of a cycle. A missing one switches its detector off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaker {
    /// Stages of the cycle, in the definition's order.
    pub stages: Vec<StageId>,
    /// Rounds of a stage in a row that leave the files as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub still: Option<u32>,
    /// Reviews in a row with equal findings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same: Option<u32>,
    /// Longest period of files that come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back: Option<u32>,
    /// Reviews in a row that add findings without a smaller total.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grow: Option<u32>,
    /// Share of the money budget since the last progress, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spend: Option<u32>,
    /// Judges that decide instead of the nudge and the hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judges: Vec<StallJudge>,
}

/// A stage that decides about a stalled cycle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallJudge {
    /// Detectors that lead to it.
    pub kinds: Vec<StallKind>,
    pub stage: StageId,
}

impl Breaker {
    /// Largest threshold. It bounds the state of a run.
    pub const MOST: u32 = 20;

    /// Returns true if a detector compares the files.
    pub fn compares_files(&self) -> bool {
        self.still.is_some() || self.back.is_some()
    }

    /// Returns the defaults for a cycle.
    pub fn usual(stages: Vec<StageId>) -> Self {
        let judges = Vec::new();
        Self { stages, still: Some(2), same: Some(3), back: Some(4), grow: Some(3), spend: Some(50), judges }
    }
}

/// The files that agents may write, after a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeFact {
    Seen(TreeState),
    /// They cannot be compared. The run goes on without the detectors that need them.
    Unknown(TreeGap),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeState {
    /// Equal if and only if the files are equal. Reports and Saihai's own files do not count.
    pub id: String,
    /// Commit or tree that the id is relative to; the same one for all turns of a run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub base: String,
    /// Paths that differ from the previous state that this process saw; absent if unknown or too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Vec<String>>,
}

impl TreeState {
    /// Maximum number of changed paths that a fact names.
    pub const MOST_PATHS: usize = 200;
}

/// Reason why the files of a run cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TreeGap {
    NoRepository,
    /// More files differ from the start than are read after each turn, or they are too large.
    TooManyFiles,
    /// Git took too long.
    TooSlow,
    /// Another repository among the files, whose content git does not list.
    EmbeddedRepository,
    /// Git failed.
    Git,
}

impl TreeGap {
    pub fn code(self) -> &'static str {
        match self {
            Self::NoRepository => "no_repository",
            Self::TooManyFiles => "too_many_files",
            Self::TooSlow => "too_slow",
            Self::EmbeddedRepository => "embedded_repository",
            Self::Git => "git",
        }
    }
}

/// A finding as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FindingMark {
    /// Hash of category, path and text. Line numbers do not count.
    pub fingerprint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// First characters of the text, on one line.
    pub text: String,
    /// True if the reviewer lists it as accepted. It is not open then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waived: bool,
}

impl FindingMark {
    /// Maximum length of the text, in characters.
    pub const TEXT: usize = 120;
    /// Maximum number of findings of one review that count.
    pub const MOST: usize = 200;
}

/// Evidence that a cycle makes no progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StallEvidence {
    /// Stages of the cycle.
    pub stages: Vec<StageId>,
    pub signals: Vec<StallSignal>,
    /// Iteration of the last progress, or of the first round of the cycle.
    pub since: u32,
    /// Money spent since then.
    pub spent: Usd,
}

/// A detector that fired, with its facts. Rounds are iterations of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallSignal {
    /// A stage left the files as they were.
    Still { stage: StageId, tree: String, rounds: Vec<u32> },
    /// The files are as they were before, after they had changed.
    Back { stage: StageId, tree: String, rounds: Vec<u32> },
    /// The same findings stay open.
    Same { stage: StageId, findings: Vec<FindingMark>, rounds: Vec<u32> },
    /// Each review adds findings, and the total does not shrink.
    Grow { stage: StageId, open: Vec<u32>, rounds: Vec<u32> },
    /// A share of the budget is gone without progress.
    Spend { percent: u32 },
}

impl StallSignal {
    pub fn kind(&self) -> StallKind {
        match self {
            Self::Still { .. } => StallKind::Still,
            Self::Back { .. } => StallKind::Back,
            Self::Same { .. } => StallKind::Same,
            Self::Grow { .. } => StallKind::Grow,
            Self::Spend { .. } => StallKind::Spend,
        }
    }

    /// Returns how many rounds it is about.
    pub fn times(&self) -> u32 {
        match self {
            Self::Still { rounds, .. }
            | Self::Back { rounds, .. }
            | Self::Same { rounds, .. }
            | Self::Grow { rounds, .. } => u32::try_from(rounds.len()).unwrap_or(u32::MAX),
            Self::Spend { .. } => 1,
        }
    }
}

/// A detector, by its name in definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallKind {
    Still,
    Same,
    Back,
    Grow,
    Spend,
}

impl StallKind {
    pub const ALL: [Self; 5] = [Self::Still, Self::Same, Self::Back, Self::Grow, Self::Spend];

    pub fn name(self) -> &'static str {
        match self {
            Self::Still => "still",
            Self::Same => "same",
            Self::Back => "back",
            Self::Grow => "grow",
            Self::Spend => "spend",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Consequence of a stalled cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallConsequence {
    /// The next prompt of an editing turn shows the evidence.
    Nudged,
    /// The run is held.
    Held,
    /// A rule of the definition took over.
    Routed,
}
