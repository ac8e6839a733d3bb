//! Outcome of the work on an issue.

use serde::{Deserialize, Serialize};

use crate::{IssueNumber, StageId, StatusLabel};

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
    /// Stopped by Ctrl-C or a signal; the next call continues.
    Paused,
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
    pub const ALL: [Self; 16] = [
        Self::Merged,
        Self::PrCreated,
        Self::BranchReady,
        Self::NoChanges,
        Self::Elsewhere,
        Self::Closed,
        Self::Waiting,
        Self::Declined,
        Self::Cancelled,
        Self::Paused,
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
            Self::Paused => "paused",
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
            Self::Declined | Self::Cancelled | Self::Paused => 3,
            Self::Provider => 4,
            Self::Limited => 5,
            Self::Waiting => 6,
        }
    }

    /// Returns the issue's new labels, if they change. `completed` is true if the run reached its end.
    pub fn labels(self, completed: bool) -> Option<&'static [StatusLabel]> {
        match self {
            Self::Merged => Some(&[StatusLabel::Completed, StatusLabel::Merged]),
            Self::PrCreated => Some(&[StatusLabel::Completed, StatusLabel::PrCreated]),
            Self::BranchReady | Self::NoChanges | Self::Conflict => Some(&[StatusLabel::Completed]),
            Self::Elsewhere | Self::Closed => None,
            Self::Waiting if !completed => Some(&[StatusLabel::Queued]),
            Self::Declined | Self::Cancelled | Self::Paused if !completed => Some(&[]),
            Self::Waiting | Self::Declined | Self::Cancelled | Self::Paused => {
                Some(&[StatusLabel::Completed])
            }
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

/// Reason of an outside action to wait or to be repeated later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OutsideReason {
    Delivery(DeliveryHold),
    /// The code of a timeout, or the text of a journal of an earlier version, shown unchanged.
    Text(String),
}

impl OutsideReason {
    /// Returns the word for programs.
    pub fn code(&self) -> &str {
        match self {
            Self::Delivery(hold) => hold.code(),
            Self::Text(text) => text,
        }
    }
}

impl From<DeliveryHold> for OutsideReason {
    fn from(hold: DeliveryHold) -> Self {
        Self::Delivery(hold)
    }
}

impl From<&str> for OutsideReason {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// Reason why a delivery waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum DeliveryHold {
    /// The branch conflicts with its base.
    Conflict {
        /// Conflicting files; empty if `error` says why they are unknown.
        files: Vec<String>,
        commit: String,
        base: String,
        /// Commit of the base, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        into: Option<String>,
        /// Address of the pull request, if the forge found the conflict.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        request: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A change may have happened, and the server or the forge gives no clear answer.
    Uncertain {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        change: Option<UncertainChange>,
        message: String,
    },
    /// A person must fix something that git refuses.
    Git {
        message: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remedy: Option<String>,
    },
    /// The forge refuses a change, and may accept it later.
    Forge {
        message: String,
    },
    /// The worktree is gone, but its branch has commits.
    WorktreeGone {
        worktree: String,
        branch: String,
        /// True if only git's entry is gone and the files remain.
        files_remain: bool,
    },
    /// Pipes, sockets and devices, which git cannot store.
    SpecialFiles {
        paths: Vec<String>,
        worktree: String,
    },
    /// Files that git cannot read or name; `paths` is their description.
    RefusedFiles {
        paths: String,
        worktree: String,
    },
    /// The branch on the server cannot be combined with the local one.
    BranchRefused {
        message: String,
    },
    RequestClosed {
        address: String,
    },
    RequestDraft {
        address: String,
    },
    /// A person has changed the base of the pull request.
    RequestRedirected {
        address: String,
        base: String,
        to: String,
    },
    /// A review or another rule of the base branch is missing.
    RequestBlocked {
        address: String,
    },
    RequestRefused {
        address: String,
        message: String,
    },
    /// Reviews had the verdict tool, and their last verdict did not come through it.
    Unverified {
        stages: Vec<StageId>,
        branch: String,
    },
    NoChecks {
        address: String,
        /// True inside GitHub Actions, whose token starts no checks.
        in_actions: bool,
    },
    /// The merge branch is checked out, so it must not move.
    BranchCheckedOut {
        branch: String,
        path: String,
    },
    /// Another process merges into the same branch.
    MergeBusy {
        base: String,
        lock: String,
    },
    /// The forge has not noticed the last push or merge yet.
    ForgeBehind {
        address: String,
        side: RequestSide,
    },
}

/// A change whose result is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum UncertainChange {
    Pushed { branch: String },
    RequestOpened { branch: String },
    RequestMerged { number: u64 },
    Commented { issue: IssueNumber },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RequestSide {
    Head,
    Base,
}

impl DeliveryHold {
    /// Returns the word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Conflict { .. } => "conflict",
            Self::Uncertain { .. } => "uncertain",
            Self::Git { .. } => "git",
            Self::Forge { .. } => "forge",
            Self::WorktreeGone { .. } => "worktree-gone",
            Self::SpecialFiles { .. } => "special-files",
            Self::RefusedFiles { .. } => "refused-files",
            Self::BranchRefused { .. } => "branch-refused",
            Self::RequestClosed { .. } => "request-closed",
            Self::RequestDraft { .. } => "request-draft",
            Self::RequestRedirected { .. } => "request-redirected",
            Self::RequestBlocked { .. } => "request-blocked",
            Self::RequestRefused { .. } => "request-refused",
            Self::Unverified { .. } => "unverified",
            Self::NoChecks { .. } => "no-checks",
            Self::BranchCheckedOut { .. } => "branch-checked-out",
            Self::MergeBusy { .. } => "merge-busy",
            Self::ForgeBehind { .. } => "forge-behind",
        }
    }

    /// Returns the outcome of an issue that waits for this.
    pub fn outcome(&self) -> WorkOutcome {
        match self {
            Self::Conflict { .. } => WorkOutcome::Conflict,
            Self::Uncertain { .. } => WorkOutcome::Unknown,
            _ => WorkOutcome::Waiting,
        }
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
            "paused:  or completed: 3",
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

    // Journals of earlier versions hold a text, which is kept and never interpreted.
    #[test]
    fn a_hold_is_written_as_data_and_an_old_text_is_read_as_it_is() {
        let hold = DeliveryHold::RequestDraft { address: "https://forge/1".to_owned() };
        let written = serde_json::to_value(OutsideReason::from(hold.clone())).expect("JSON");
        assert_eq!(written, serde_json::json!({"kind": "request-draft", "address": "https://forge/1"}));
        let read = |json| serde_json::from_value::<OutsideReason>(json).expect("a reason");
        assert_eq!(read(written), OutsideReason::Delivery(hold));
        let old = "conflict: `a` (c0ffee with main at beef)";
        assert_eq!(read(serde_json::json!(old)), OutsideReason::Text(old.to_owned()));
    }

    #[test]
    fn the_code_of_a_hold_is_its_kind() {
        let hold = DeliveryHold::Uncertain {
            change: Some(UncertainChange::RequestMerged { number: 7 }),
            message: "no answer".to_owned(),
        };
        let written = serde_json::to_value(&hold).expect("JSON");
        assert_eq!(written["kind"], hold.code());
        assert_eq!(serde_json::from_value::<DeliveryHold>(written).expect("a hold"), hold);
    }
}
