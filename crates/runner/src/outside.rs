//! Actions of a run on a repository and a forge.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use saihai_model::{Action, Cost, Given, Outcome};
use tokio_util::sync::CancellationToken;

/// Performs actions that reach beyond the run and its files: worktrees, commits, pushes, pull requests,
/// merges, reading an issue. The runner decides the time and records the outcome. It does not know the
/// implementation.
pub trait Outside: fmt::Debug + Send + Sync {
    /// Performs one action. When stopped, it may leave the action undone, but not half done.
    fn perform(&self, deed: Deed, stop: CancellationToken) -> Performing;
}

/// An action under way and its future outcome.
pub type Performing = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// An action to perform outside.
#[derive(Debug, Clone, PartialEq)]
pub struct Deed {
    pub run: String,
    pub does: Action,
    /// The input: results of earlier stages by `STAGE.KEY`, or the block that requests the action.
    pub given: Given,
    /// The action may have happened already, so the implementation must check first.
    pub look_up: bool,
    /// The cost of the run so far, for display.
    pub spent: Cost,
}
