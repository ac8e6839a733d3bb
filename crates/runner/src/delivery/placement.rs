//! The workplace of a run outside the user's checkout.

use std::path::{Path, PathBuf};

use saihai_model::{Json, Start};
use serde::{Deserialize, Serialize};

use super::{Assignment, OwnTree};

/// The workplace of a run outside the user's checkout, frozen when the run starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Placement {
    /// The worktree of an issue.
    Issue(Box<Assignment>),
    /// A worktree of the run's own.
    Own { own_tree: OwnTree },
}

impl Placement {
    /// Returns the placement of a started run, or `None` if it works in the user's checkout.
    pub fn of(start: &Start) -> Option<Self> {
        start.delivery.clone().and_then(|frozen| serde_json::from_value(frozen).ok())
    }

    /// Returns the working directory of a run. `checkout` is the user's.
    pub fn directory(&self, checkout: &Path, run: &str) -> PathBuf {
        match self {
            Self::Issue(assignment) => assignment.worktree.clone(),
            Self::Own { own_tree } => {
                let root = checkout.join(&own_tree.worktree_root);
                root.canonicalize().unwrap_or(root).join(run)
            }
        }
    }

    pub(crate) fn frozen(&self) -> Json {
        serde_json::to_value(self).expect("it has text keys only")
    }
}
