//! The worktree of a run without an issue (K-23).

use std::path::PathBuf;
use std::sync::Arc;

use saihai_model::{Action, FailureClass, Outcome};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::deliverer::{Broken, failed};
use super::local::came_of;
use crate::repository::{self, Base, Item, Ours, Placed, Placing, Refill, Repository};
use crate::{Deed, Outside, Performing};

/// The worktree of a run without an issue, frozen when the run starts. Branch and directory carry the run's
/// name, and both stay after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTree {
    pub commit: String,
    pub worktree_root: PathBuf,
    /// Files of the user to copy into the worktree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy_files: Vec<String>,
}

impl OwnTree {
    pub fn branch(run: &str) -> String {
        Item::Run { id: run.to_owned() }.branch()
    }

    fn place(&self, repository: &Repository, run: &str, ours: Ours) -> Result<Placed, repository::Error> {
        repository.place(Placing {
            item: &Item::Run { id: run.to_owned() },
            base: &Base { branch: "HEAD".to_owned(), commit: self.commit.clone() },
            worktree_root: &self.worktree_root,
            copy_files: &self.copy_files,
            ours,
            refill: Refill::Rescue,
        })
    }
}

/// Creates the worktree of a run without an issue.
#[derive(Debug, Clone)]
pub struct Planter {
    tree: OwnTree,
    repository: Arc<Repository>,
    beyond: Option<Arc<dyn Outside>>,
}

impl Planter {
    /// Creates a planter. `beyond` performs actions that the definition itself requests.
    pub fn new(tree: OwnTree, repository: Repository, beyond: Option<Arc<dyn Outside>>) -> Self {
        Self { tree, repository: Arc::new(repository), beyond }
    }

    /// Returns true if the branch of a run exists.
    pub fn has_planted(&self, run: &str) -> Result<bool, repository::Error> {
        Ok(self.repository.tip(&format!("refs/heads/{}", OwnTree::branch(run)))?.is_some())
    }

    /// Recreates a missing worktree for a resumed run.
    pub fn restore(&self, run: &str) -> Result<(), String> {
        let placed = self.tree.place(&self.repository, run, Ours::ByJournal);
        placed
            .map_err(|error| error.to_string())?
            .worktree()
            .map(|_| ())
            .map_err(|refusal| refusal.to_string())
    }
}

impl Outside for Planter {
    fn perform(&self, deed: Deed, stop: CancellationToken) -> Performing {
        let me = self.clone();
        Box::pin(async move {
            match (&deed.does, me.beyond) {
                (Action::Worktree, _) => plant(me.tree, me.repository, deed).await,
                (_, Some(beyond)) => beyond.perform(deed, stop).await,
                (_, None) => failed(FailureClass::BadRequest, "there is no forge that keeps the issue"),
            }
        })
    }
}

async fn plant(tree: OwnTree, repository: Arc<Repository>, deed: Deed) -> Outcome {
    // The name is unique to the run. An existing branch is ours, created before a crash.
    let ours = if deed.look_up { Ours::ByJournal } else { Ours::ByTrailers };
    let planting = tokio::task::spawn_blocking(move || {
        let placed = tree.place(&repository, &deed.run, ours)?;
        Ok(came_of(placed, None))
    });
    match planting.await {
        Ok(came) => came.unwrap_or_else(Broken::outcome),
        Err(panicked) => failed(FailureClass::Crashed, &panicked.to_string()),
    }
}
