//! Executors of the actions that deliver work: of an issue, and of a run with a worktree of its own.
//!
//! Every action first checks whether it has already happened. The journal has its intent before and its result after.
//! Nothing here decides the next step.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use saihai::{ActionExecutor, ActionFuture, ActionRequest, Clock, Runs, StoreError};
use saihai_connect::CommandSurroundings;
use saihai_connect::forge::{ForgeError, Github};
use saihai_git::GitError;
use saihai_git::{
    BaseCommit, BranchOwnership, GitAccessToken, ItemLock, PlaceItemOutcome, PlaceItemRequest, Repository,
    RepositoryErrorDuration, WorkItem, WorktreeContent,
};
use saihai_model::{
    Action, ActionInput, DeliveryHold, Failure, FailureClass, Json, Label, Outcome, UncertainChange,
};
use serde_json::json;
use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use crate::repository_actions::placed_outcome;
use crate::stages::stage;
use crate::{IssueAssignment, OwnTree, StageOutputs};

/// Resources for handing over work.
#[derive(Debug)]
pub struct DeliveryResources {
    pub repository: Arc<Repository>,
    /// The lock of the issue.
    pub lock: Arc<ItemLock>,
    /// The forge, if the work goes to one.
    pub forge: Option<ForgeConnection>,
    /// The runs of the project, for summaries.
    pub runs: Runs,
    /// Values that must not leave the machine.
    pub secrets: Vec<Vec<u8>>,
    pub around: CommandSurroundings,
    /// Performs actions that the definition itself requests on the issue.
    pub beyond: Option<Arc<dyn ActionExecutor>>,
    /// The merges of this process. One ends before the next starts.
    pub merges: Arc<MergeQueue>,
}

/// A forge and our identity there.
#[derive(Clone)]
pub struct ForgeConnection {
    pub github: Github,
    pub token: GitAccessToken,
}

impl std::fmt::Debug for ForgeConnection {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ForgeConnection")
            .field("repository", self.github.repository())
            .finish_non_exhaustive()
    }
}

/// Puts the local merges of one process in a line, per base branch. Each waits for the end of the merge before it and
/// is then woken. Without this, all of them would look again and again whether it is their turn.
#[derive(Debug, Default)]
pub struct MergeQueue(Mutex<BTreeMap<String, Arc<tokio::sync::Mutex<()>>>>);

impl MergeQueue {
    /// Waits for the turn to merge into `base`, in the order of the calls. `waits` is called if there is a wait at all.
    pub async fn turn(&self, base: &str, waits: impl FnOnce()) -> OwnedMutexGuard<()> {
        let line = {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(lines.entry(base.to_owned()).or_default())
        };
        match Arc::clone(&line).try_lock_owned() {
            Ok(free) => free,
            Err(_) => {
                waits();
                line.lock_owned().await
            }
        }
    }
}

/// Hands over the work on one issue.
#[derive(Debug, Clone)]
pub struct DeliveryExecutor(Arc<IssueDelivery>);

/// Observes a delivery that waits for the merges before it.
pub type MergeWaitObserver = Arc<dyn Fn(bool) + Send + Sync>;

pub(crate) struct IssueDelivery {
    pub(crate) assignment: IssueAssignment,
    pub(crate) resources: DeliveryResources,
    /// Evidence that an existing branch is ours.
    pub(crate) ours: BranchOwnership,
    /// Number of polls that found no checks.
    pub(crate) polls_without_checks: AtomicU32,
    /// True once the reason for a delay was reported.
    pub(crate) delay_reported: AtomicBool,
    merge_wait: Option<MergeWaitObserver>,
}

impl std::fmt::Debug for IssueDelivery {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("IssueDelivery").field("assignment", &self.assignment).finish_non_exhaustive()
    }
}

impl DeliveryExecutor {
    /// Creates an executor. `known` means that a journal names the branch as ours.
    pub fn new(
        assignment: IssueAssignment,
        resources: DeliveryResources,
        known: bool,
        merge_wait: Option<MergeWaitObserver>,
    ) -> Self {
        let ours = BranchOwnership::by(assignment.adopt, known);
        Self(Arc::new(IssueDelivery {
            assignment,
            resources,
            ours,
            polls_without_checks: AtomicU32::new(0),
            delay_reported: AtomicBool::new(false),
            merge_wait,
        }))
    }

    /// Writes the run's name into the lock of the issue, to inform other processes. Nothing depends on it.
    pub fn name_run(&self, run: &str, clock: &Clock) {
        self.0.resources.lock.name_run(run, clock.now()).unwrap_or(());
    }

    /// Recreates a missing worktree for a resumed run.
    pub fn restore(&self, outputs: &StageOutputs) -> Result<(), RestoreError> {
        let (repository, item) = (&self.0.resources.repository, self.0.assignment.item());
        let agreed = outputs.text(stage::FINALIZE, "commit");
        let is_there = repository.bring_back(&item, agreed)?;
        // Restarting from the base would silently drop the earlier work.
        if !is_there && !outputs.has(stage::FINALIZE) {
            return Err(RestoreError::BranchGone { branch: item.branch() });
        }
        self.0.place(BranchOwnership::ByJournal)?.worktree()?;
        Ok(())
    }
}

/// Reason why the worktree of a resumed run cannot be recreated.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    #[error("the branch `{branch}` was deleted with its work; `saihai work --retry` starts again")]
    BranchGone { branch: String },
    #[error(transparent)]
    Repository(#[from] saihai_git::RepositoryError),
    #[error(transparent)]
    Refused(#[from] saihai_git::PlaceItemRefusal),
}

impl ActionExecutor for DeliveryExecutor {
    fn perform(&self, deed: ActionRequest, stop: CancellationToken) -> ActionFuture {
        let delivery = Arc::clone(&self.0);
        Box::pin(async move {
            // Without the lock, the run must not touch the issue any more (I-32).
            match delivery.resources.lock.check() {
                Ok(()) => delivery.perform(deed, stop).await,
                Err(lost) => DeliveryError::from(lost).outcome(),
            }
        })
    }
}

impl IssueDelivery {
    async fn perform(self: Arc<Self>, deed: ActionRequest, stop: CancellationToken) -> Outcome {
        let result = match &deed.does {
            Action::Worktree => self.blocking(|me| me.worktree()).await,
            Action::Finalize => self.blocking(move |me| me.finalize(&deed)).await,
            Action::Push => self.blocking(move |me| me.push(&deed)).await,
            Action::Merge if self.resources.forge.is_none() => self.merge_in_turn(deed, stop).await,
            Action::CleanUp => self.blocking(move |me| me.clean_up(&deed)).await,
            Action::PullRequest => self.pull_request(&deed).await,
            Action::Checks => self.checks(&deed).await,
            Action::Merge => self.merge_there(&deed).await,
            Action::Comment if matches!(deed.given, ActionInput::Outputs(_)) => self.comment(&deed).await,
            Action::IssueState | Action::OpenIssue | Action::Comment | Action::CloseIssue { .. } => {
                return match &self.resources.beyond {
                    Some(beyond) => beyond.perform(deed, stop).await,
                    None => failed(FailureClass::BadRequest, "the issue is not on a forge"),
                };
            }
            Action::Command { .. }
            | Action::FileState { .. }
            | Action::SaveReports
            | Action::WriteFile { .. }
            | Action::Log
            | Action::ReviewReport { .. } => {
                return failed(FailureClass::BadRequest, "this action is not part of a delivery");
            }
        };
        result.unwrap_or_else(DeliveryError::outcome)
    }

    /// Merges once the merges before it have ended.
    async fn merge_in_turn(
        self: Arc<Self>,
        deed: ActionRequest,
        stop: CancellationToken,
    ) -> Result<Outcome, DeliveryError> {
        let observe = |waits: bool| self.merge_wait.as_ref().map_or((), |observer| observer(waits));
        let mut waited = false;
        let turn = {
            let turn = self.resources.merges.turn(&self.assignment.base.branch, || {
                waited = true;
                observe(true);
            });
            tokio::select! {
                turn = turn => turn,
                () = stop.cancelled() => return Ok(failed(FailureClass::Cancelled, "stopped")),
            }
        };
        if waited {
            observe(false);
        }
        self.blocking(move |me| {
            let merged = me.merge_here(&deed, &stop);
            drop(turn);
            merged
        })
        .await
    }

    /// Schedules a retry and reports the reason once.
    pub(crate) fn later(&self, reason: impl FnOnce() -> DeliveryHold) -> Outcome {
        match self.delay_reported.swap(true, Ordering::Relaxed) {
            true => Outcome::NotYet,
            false => Outcome::Delayed { reason: reason().into() },
        }
    }

    /// Runs blocking git work on a separate thread.
    pub(crate) async fn blocking<W>(self: Arc<Self>, work: W) -> Result<Outcome, DeliveryError>
    where
        W: FnOnce(&Self) -> Result<Outcome, DeliveryError> + Send + 'static,
    {
        let done = tokio::task::spawn_blocking(move || work(&self)).await;
        done.unwrap_or_else(|panicked| Ok(failed(FailureClass::Crashed, &panicked.to_string())))
    }
}

/// Reason why an action failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DeliveryError {
    #[error(transparent)]
    Repository(#[from] saihai_git::RepositoryError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// The change may have happened, and the forge gives no answer.
    #[error("{error}")]
    Uncertain { change: UncertainChange, error: ForgeError },
    #[error("{0}")]
    Run(#[from] saihai::DriverError),
    /// An earlier stage did not record this.
    #[error("{0} is missing in the request")]
    MissingInput(&'static str),
}

impl From<StoreError> for DeliveryError {
    fn from(error: StoreError) -> Self {
        Self::Run(error.into())
    }
}

impl DeliveryError {
    /// Wraps the error of a failed look-up. If the change may have happened, a person must check before a retry (I-71).
    pub(crate) fn uncertain(
        deed: &ActionRequest,
        change: impl FnOnce() -> UncertainChange,
    ) -> impl FnOnce(ForgeError) -> Self {
        let change = deed.look_up.then(change);
        move |error| match (change, &error) {
            // A rate limit already includes the time for a retry.
            (None, _) | (Some(_), ForgeError::RateLimited { .. }) => Self::Forge(error),
            (Some(change), _) => Self::Uncertain { change, error },
        }
    }

    pub(crate) fn outcome(self) -> Outcome {
        let message = self.to_string();
        match self {
            Self::Repository(saihai_git::RepositoryError::LockLost { path }) => {
                let why = format!("`{}` was removed or replaced during the work", path.display());
                done("lock-lost", [("why", json!(why))])
            }
            Self::Repository(saihai_git::RepositoryError::Git(GitError::Missing(_))) => {
                failed(FailureClass::Missing, &message)
            }
            // A passing problem must not lose paid work, so the run continues at this action (I-72).
            Self::Repository(error) => match (error.lasts(), error.remedy()) {
                (RepositoryErrorDuration::AWhile, remedy) => {
                    failed(FailureClass::Transient, &with_remedy(message, remedy))
                }
                (RepositoryErrorDuration::UntilFixed, remedy) => {
                    waiting(DeliveryHold::Git { message, remedy })
                }
                (RepositoryErrorDuration::ForGood, remedy) => {
                    done("git", [("why", json!(with_remedy(message, remedy)))])
                }
            },
            Self::Run(_) => failed(FailureClass::Transient, &message),
            Self::MissingInput(_) => done("git", [("why", json!(message))]),
            Self::Uncertain { change, .. } => {
                waiting(DeliveryHold::Uncertain { change: Some(change), message })
            }
            Self::Forge(error) => match error {
                // The match or the forge's answer is unclear, so a person must check (I-71).
                ForgeError::Ambiguous { .. } | ForgeError::Malformed { .. } => {
                    waiting(DeliveryHold::Uncertain { change: None, message })
                }
                ForgeError::Transient { .. } => failed(FailureClass::Transient, &message),
                ForgeError::RateLimited { until } => {
                    Outcome::Failed(Failure { until, ..Failure::new(FailureClass::RateLimited, message) })
                }
                ForgeError::NoRights { .. } => failed(FailureClass::Auth, &message),
                // A forge may accept later what it refuses now, so paid work is kept (I-72).
                ForgeError::Refused { .. } => waiting(DeliveryHold::Forge { message }),
                ForgeError::NotFound { .. }
                | ForgeError::HeadMoved { .. }
                | ForgeError::Transferred { .. }
                | ForgeError::IsPullRequest(_) => done("forge", [("why", json!(message))]),
            },
        }
    }
}

fn with_remedy(message: String, remedy: Option<String>) -> String {
    match remedy {
        Some(remedy) => format!("{message}; {remedy}"),
        None => message,
    }
}

/// Builds the outcome of a finished action with its output.
pub(crate) fn done<const N: usize>(label: &str, output: [(&str, Json); N]) -> Outcome {
    let output: BTreeMap<String, Json> =
        output.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Outcome::Done { label: Some(Label::from(label)), output }
}

pub(crate) fn failed(class: FailureClass, message: &str) -> Outcome {
    Outcome::Failed(Failure::new(class, message))
}

pub(crate) fn waiting(hold: DeliveryHold) -> Outcome {
    Outcome::Waiting { reason: hold.into() }
}

/// Returns the output of an earlier stage by `STAGE.KEY`.
pub(crate) fn input<'a>(deed: &'a ActionRequest, stage: &str, key: &str) -> Option<&'a Json> {
    match &deed.given {
        ActionInput::Outputs(outputs) => {
            outputs.get(&format!("{stage}.{key}")).filter(|value| !value.is_null())
        }
        ActionInput::Block(_) | ActionInput::Reports { .. } => None,
    }
}

/// Creates the worktree of a run without an issue (K-23).
#[derive(Debug, Clone)]
pub struct OwnTreeExecutor {
    tree: OwnTree,
    repository: Arc<Repository>,
    beyond: Option<Arc<dyn ActionExecutor>>,
}

impl OwnTreeExecutor {
    /// Creates an executor. `beyond` performs actions that the definition itself requests.
    pub fn new(tree: OwnTree, repository: Repository, beyond: Option<Arc<dyn ActionExecutor>>) -> Self {
        Self { tree, repository: Arc::new(repository), beyond }
    }

    /// Returns true if the branch of a run exists.
    pub fn has_branch(&self, run: &str) -> Result<bool, saihai_git::RepositoryError> {
        Ok(self.repository.tip(&format!("refs/heads/{}", OwnTree::branch(run)))?.is_some())
    }

    /// Recreates a missing worktree for a resumed run.
    pub fn restore(&self, run: &str) -> Result<(), RestoreError> {
        self.place(run, BranchOwnership::ByJournal)?.worktree()?;
        Ok(())
    }

    fn place(
        &self,
        run: &str,
        ours: BranchOwnership,
    ) -> Result<PlaceItemOutcome, saihai_git::RepositoryError> {
        self.repository.place(PlaceItemRequest {
            item: &WorkItem::Run { id: run.to_owned() },
            base: &BaseCommit { branch: "HEAD".to_owned(), commit: self.tree.commit.clone() },
            worktree_root: &self.tree.worktree_root,
            copy_files: &self.tree.copy_files,
            ours,
            refill: WorktreeContent::Rescue,
        })
    }

    async fn worktree(self, deed: ActionRequest) -> Outcome {
        // The name is unique to the run. An existing branch is ours, created before a crash.
        let ours = if deed.look_up { BranchOwnership::ByJournal } else { BranchOwnership::ByTrailers };
        let placing = tokio::task::spawn_blocking(move || self.place(&deed.run, ours));
        match placing.await {
            Ok(Ok(placed)) => placed_outcome(placed, None),
            Ok(Err(error)) => DeliveryError::from(error).outcome(),
            Err(panicked) => failed(FailureClass::Crashed, &panicked.to_string()),
        }
    }
}

impl ActionExecutor for OwnTreeExecutor {
    fn perform(&self, deed: ActionRequest, stop: CancellationToken) -> ActionFuture {
        let me = self.clone();
        Box::pin(async move {
            match (&deed.does, &me.beyond) {
                (Action::Worktree, _) => me.worktree(deed).await,
                (_, Some(beyond)) => beyond.perform(deed, stop).await,
                (_, None) => failed(FailureClass::BadRequest, "the issue is not on a forge"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // The cost of a merge does not depend on how many others wait for theirs.
    #[tokio::test]
    async fn merges_into_one_branch_follow_each_other_and_others_do_not_wait() {
        let (queue, order) = (Arc::new(MergeQueue::default()), Arc::new(Mutex::new(Vec::new())));
        let first = queue.turn("main", || unreachable!("it is free")).await;
        let waiting: Vec<_> = (1..=3)
            .map(|number| {
                let (queue, order) = (Arc::clone(&queue), Arc::clone(&order));
                tokio::spawn(async move {
                    let _turn =
                        queue.turn("main", || order.lock().unwrap().push(format!("{number} waits"))).await;
                    order.lock().unwrap().push(format!("{number} merges"));
                })
            })
            .collect();
        tokio::task::yield_now().await;
        drop(queue.turn("other", || unreachable!("it is another branch")).await);
        drop(first);
        for one in waiting {
            one.await.unwrap();
        }
        let expected = ["1 waits", "2 waits", "3 waits", "1 merges", "2 merges", "3 merges"];
        assert_eq!(*order.lock().unwrap(), expected);
    }
}
