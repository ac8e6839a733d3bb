//! What a definition itself says about the work on an issue.

use crate::settings::WorkGate;

/// What a definition itself says about the work on an issue: it counts for more than settings and less than flags.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// Whether every gate is answered with yes.
    pub auto: Option<bool>,
    /// Where a person is asked.
    pub gates: Option<Vec<WorkGate>>,
    /// Whether a pull request is made.
    pub pull_request: Option<bool>,
    /// Whether the work has a worktree of its own.
    pub worktree: Option<bool>,
    pub worktree_root: Option<String>,
    /// Files that are copied into them.
    pub copy_files: Option<Vec<String>>,
    /// Whether labels show how an issue stands.
    pub labels: Option<bool>,
    /// What these labels begin with.
    pub label_prefix: Option<String>,
    /// Whether what an issue depends on is worked on as well.
    pub resolve: Option<bool>,
}

impl Wishes {
    /// These, and where they say nothing what others say.
    #[must_use]
    pub fn over(self, below: Self) -> Self {
        Self {
            auto: self.auto.or(below.auto),
            gates: self.gates.or(below.gates),
            pull_request: self.pull_request.or(below.pull_request),
            worktree: self.worktree.or(below.worktree),
            worktree_root: self.worktree_root.or(below.worktree_root),
            copy_files: self.copy_files.or(below.copy_files),
            labels: self.labels.or(below.labels),
            label_prefix: self.label_prefix.or(below.label_prefix),
            resolve: self.resolve.or(below.resolve),
        }
    }
}
