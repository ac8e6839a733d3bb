//! What a run does to a repository and a forge, by whoever has them in hand.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use saihai_model::{Action, Cost, Given, Outcome};
use tokio_util::sync::CancellationToken;

/// Does what reaches beyond the run and its files: worktrees, commits, pushes, pull requests, merges, a look at an issue.
/// The runner knows when it is to be done and keeps what came of it; how it is done is not its business.
pub trait Outside: fmt::Debug + Send + Sync {
    /// Does one of them. Whoever is stopped may leave it undone, but not half done.
    fn perform(&self, deed: Deed, stop: CancellationToken) -> Performing;
}

/// Something under way outside, and what will have come of it.
pub type Performing = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One thing to be done outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    pub run: String,
    pub does: Action,
    /// What it is given: what those before it said, by `STAGE.KEY`, or the block that asks for it.
    pub given: Given,
    /// It may have happened already: the world is asked first.
    pub look_up: bool,
    /// What the run has cost so far, for people.
    pub spent: Cost,
}
