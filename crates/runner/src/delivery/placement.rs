//! Where a run works that does not work in the user's checkout.

use std::path::{Path, PathBuf};

use saihai_model::{Json, Start};
use serde::{Deserialize, Serialize};

use super::{Assignment, OwnTree};

/// Where a run works that does not work in the user's checkout, frozen with its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Placement {
    /// In the worktree of the issue that it is about.
    Issue(Box<Assignment>),
    /// In one of its own.
    Own { own_tree: OwnTree },
}

impl Placement {
    /// That of a run that has begun; nothing where it works in the user's checkout.
    pub fn of(start: &Start) -> Option<Self> {
        start.delivery.clone().and_then(|frozen| serde_json::from_value(frozen).ok())
    }

    /// The directory, for the run of that name. `checkout`: that of the user.
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
