//! A worktree of a run's own, where it is about no issue (K-23).

use std::path::PathBuf;
use std::sync::Arc;

use saihai_model::{Action, FailureClass, Outcome};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::deliverer::{Broken, failed};
use super::local::came_of;
use crate::repository::{self, Base, Item, Ours, Placed, Placing, Refill, Repository};
use crate::{Deed, Outside, Performing};

/// The worktree of a run that is about no issue: frozen with its beginning. Branch and directory have the run's name, and both
/// stay when it is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTree {
    /// The commit it begins with.
    pub commit: String,
    pub worktree_root: PathBuf,
    /// Files of the user's that are copied there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy_files: Vec<String>,
}

impl OwnTree {
    /// The branch of a run.
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

/// Makes the worktree of a run's own.
#[derive(Debug, Clone)]
pub struct Planter {
    tree: OwnTree,
    repository: Arc<Repository>,
    beyond: Option<Arc<dyn Outside>>,
}

impl Planter {
    /// Makes this one. What a definition itself wants done elsewhere is done by `beyond`.
    pub fn new(tree: OwnTree, repository: Repository, beyond: Option<Arc<dyn Outside>>) -> Self {
        Self { tree, repository: Arc::new(repository), beyond }
    }

    /// Whether the branch of a run is there.
    pub fn has_planted(&self, run: &str) -> Result<bool, repository::Error> {
        Ok(self.repository.tip(&format!("refs/heads/{}", OwnTree::branch(run)))?.is_some())
    }

    /// Makes the worktree of a run that goes on where it is gone.
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
    // Nobody else has a branch of this name, unless we have made it before a crash.
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
