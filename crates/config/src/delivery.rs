use crate::settings::WorkGate;

/// Work options in a definition. They override settings; flags override them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    pub auto: Option<bool>,
    pub gates: Option<Vec<WorkGate>>,
    pub pull_request: Option<bool>,
    pub worktree: Option<bool>,
    pub worktree_root: Option<String>,
    /// Files to copy into each worktree.
    pub copy_files: Option<Vec<String>>,
    /// Show the state of an issue by labels.
    pub labels: Option<bool>,
    pub label_prefix: Option<String>,
    /// Also work on the dependencies of an issue.
    pub resolve: Option<bool>,
}

impl Wishes {
    /// Returns these options, with absent ones taken from `below`.
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
