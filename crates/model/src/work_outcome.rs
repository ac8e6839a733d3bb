//! Outcome of the work on an issue.

use serde::{Deserialize, Serialize};

use crate::StatusLabel;

/// Outcome of the work on an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkOutcome {
    Merged,
    /// Its pull request is open.
    PrCreated,
    /// Its branch exists, and nothing more was requested.
    BranchReady,
    /// There was nothing to change.
    NoChanges,
    Elsewhere,
    Closed,
    /// A person must answer, review or merge.
    Waiting,
    Declined,
    Cancelled,
    /// A limit or a budget was reached.
    Limited,
    Provider,
    Failed,
    /// Something else must be done first.
    Blocked,
    /// It conflicts with the existing code.
    Conflict,
    /// An outside effect may or may not have happened.
    Unknown,
}

impl WorkOutcome {
    /// All outcomes, in the order of the manual.
    pub const ALL: [Self; 15] = [
        Self::Merged,
        Self::PrCreated,
        Self::BranchReady,
        Self::NoChanges,
        Self::Elsewhere,
        Self::Closed,
        Self::Waiting,
        Self::Declined,
        Self::Cancelled,
        Self::Limited,
        Self::Provider,
        Self::Failed,
        Self::Blocked,
        Self::Conflict,
        Self::Unknown,
    ];

    /// Returns the outcome of a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|outcome| outcome.word() == word)
    }

    /// Returns the word that people and programs see.
    pub fn word(self) -> &'static str {
        match self {
            Self::Merged => "merged",
            Self::PrCreated => "pr-created",
            Self::BranchReady => "branch-ready",
            Self::NoChanges => "no-changes",
            Self::Elsewhere => "elsewhere",
            Self::Closed => "closed",
            Self::Waiting => "waiting",
            Self::Declined => "declined",
            Self::Cancelled => "cancelled",
            Self::Limited => "limited",
            Self::Provider => "provider",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::Conflict => "conflict",
            Self::Unknown => "unknown",
        }
    }

    /// Returns the exit code of this outcome alone.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Merged
            | Self::PrCreated
            | Self::BranchReady
            | Self::NoChanges
            | Self::Elsewhere
            | Self::Closed => 0,
            Self::Failed | Self::Blocked | Self::Conflict | Self::Unknown => 1,
            Self::Declined | Self::Cancelled => 3,
            Self::Provider => 4,
            Self::Limited => 5,
            Self::Waiting => 6,
        }
    }

    /// Returns the labels after this outcome, if they change at all. `completed` is true if the run itself
    /// reached its end.
    pub fn labels(self, completed: bool) -> Option<&'static [StatusLabel]> {
        match self {
            Self::Merged => Some(&[StatusLabel::Completed, StatusLabel::Merged]),
            Self::PrCreated => Some(&[StatusLabel::Completed, StatusLabel::PrCreated]),
            Self::BranchReady | Self::NoChanges | Self::Conflict => Some(&[StatusLabel::Completed]),
            Self::Elsewhere | Self::Closed => None,
            Self::Waiting if !completed => Some(&[StatusLabel::Queued]),
            Self::Declined | Self::Cancelled if !completed => Some(&[]),
            Self::Waiting | Self::Declined | Self::Cancelled => Some(&[StatusLabel::Completed]),
            Self::Limited | Self::Provider | Self::Failed | Self::Unknown => Some(&[StatusLabel::Failed]),
            Self::Blocked => Some(&[StatusLabel::Blocked]),
        }
    }
}

/// Returns the exit code of a whole invocation: the first of 70, 1, 4, 5, 3 and 6 among those of its items.
pub fn work_exit_code(codes: impl IntoIterator<Item = u8>) -> u8 {
    const ORDER: [u8; 6] = [70, 1, 4, 5, 3, 6];
    let rank = |code: u8| ORDER.iter().position(|one| *one == code);
    codes.into_iter().filter_map(rank).min().map_or(0, |rank| ORDER[rank])
}

/// Reason for an outcome that Saihai itself determined.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum WorkReason {
    /// The agent left the branch of its issue.
    BranchChanged,
    /// The branch does not descend from its start.
    HistoryRewritten,
    /// The worktree contains another repository.
    EmbeddedRepository,
    /// A file is too large for a repository.
    LargeFile,
    /// The result contains the value of a secret.
    Secret,
    /// The remote branch has moved.
    PushRejected,
    Checks,
    /// Verification of the merged tree failed.
    Verify,
    /// Another process took the lock of the issue.
    LockLost,
    BlankTitle,
    /// A branch or worktree of that name exists and is not ours.
    NotOurs,
    /// A dependency is not done.
    Dependency,
    /// Any other reason, such as that of the run itself.
    Other(String),
}

impl WorkReason {
    /// The reasons that have a word of their own.
    pub const NAMED: [Self; 12] = [
        Self::BranchChanged,
        Self::HistoryRewritten,
        Self::EmbeddedRepository,
        Self::LargeFile,
        Self::Secret,
        Self::PushRejected,
        Self::Checks,
        Self::Verify,
        Self::LockLost,
        Self::BlankTitle,
        Self::NotOurs,
        Self::Dependency,
    ];

    /// Returns the word that people and programs see.
    pub fn word(&self) -> &str {
        match self {
            Self::BranchChanged => "branch-changed",
            Self::HistoryRewritten => "history-rewritten",
            Self::EmbeddedRepository => "embedded-repository",
            Self::LargeFile => "large-file",
            Self::Secret => "secret",
            Self::PushRejected => "push-rejected",
            Self::Checks => "checks",
            Self::Verify => "verify",
            Self::LockLost => "lock-lost",
            Self::BlankTitle => "blank-title",
            Self::NotOurs => "not-ours",
            Self::Dependency => "dependency",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for WorkReason {
    fn from(word: String) -> Self {
        let known = Self::NAMED.into_iter().find(|reason| reason.word() == word);
        known.unwrap_or(Self::Other(word))
    }
}

impl From<WorkReason> for String {
    fn from(reason: WorkReason) -> Self {
        if let WorkReason::Other(word) = reason { word } else { reason.word().to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I-73
    #[test]
    fn every_outcome_has_its_word_its_labels_and_its_exit_code() {
        let labels = |outcome: WorkOutcome, completed| {
            let labels = outcome.labels(completed)?;
            Some(labels.iter().map(|label| label.word()).collect::<Vec<_>>().join("+"))
        };
        let table: Vec<String> = WorkOutcome::ALL
            .into_iter()
            .map(|outcome| {
                let shown = |completed| labels(outcome, completed).unwrap_or_else(|| "unchanged".to_owned());
                let (before, after) = (shown(false), shown(true));
                let labels = if before == after { before } else { format!("{before} or {after}") };
                format!("{}: {labels}: {}", outcome.word(), outcome.exit_code())
            })
            .collect();
        let expected = [
            "merged: completed+merged: 0",
            "pr-created: completed+pr-created: 0",
            "branch-ready: completed: 0",
            "no-changes: completed: 0",
            "elsewhere: unchanged: 0",
            "closed: unchanged: 0",
            "waiting: queued or completed: 6",
            "declined:  or completed: 3",
            "cancelled:  or completed: 3",
            "limited: failed: 5",
            "provider: failed: 4",
            "failed: failed: 1",
            "blocked: blocked: 1",
            "conflict: completed: 1",
            "unknown: failed: 1",
        ];
        assert_eq!(table, expected);
    }

    #[test]
    fn the_exit_code_of_an_invocation_is_the_worst_in_the_fixed_order() {
        let check = |codes: &[u8], expected: u8| assert_eq!(work_exit_code(codes.iter().copied()), expected);
        check(&[], 0);
        check(&[0, 0], 0);
        check(&[0, 6], 6);
        check(&[6, 3, 0], 3);
        check(&[3, 5, 6], 5);
        check(&[5, 4, 3], 4);
        check(&[4, 0, 1, 6], 1);
        check(&[1, 70, 4], 70);
    }

    #[test]
    fn a_reason_is_written_as_its_word_and_read_back() {
        for reason in WorkReason::NAMED.into_iter().chain([WorkReason::Other("abort".to_owned())]) {
            let written = serde_json::to_string(&reason).expect("a word");
            assert_eq!(written, format!("\"{}\"", reason.word()));
            assert_eq!(serde_json::from_str::<WorkReason>(&written).expect("the same"), reason);
        }
    }
}
