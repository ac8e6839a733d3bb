//! Hands over the work on an issue.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use saihai_connect::Surroundings;
use saihai_connect::forge::{ForgeError, Github};
use saihai_model::{Action, Failure, FailureClass, Given, Json, Label, Outcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use saihai_config::delivery::stage;

use super::{Assignment, Deeds};
use crate::repository::{self, ItemLock, Lasts, Ours, Repository, Token};
use crate::{Clock, Deed, Outside, Performing, Runs, git};

/// Resources for handing over work.
#[derive(Debug)]
pub struct Means {
    pub repository: Arc<Repository>,
    /// The lock of the issue.
    pub lock: Arc<ItemLock>,
    /// The forge, if the work goes to one.
    pub forge: Option<Forge>,
    /// The runs of the project, for summaries.
    pub runs: Runs,
    /// Values that must not leave the machine.
    pub secrets: Vec<Vec<u8>>,
    pub around: Surroundings,
    /// Performs actions that the definition itself requests on the issue.
    pub beyond: Option<Arc<dyn Outside>>,
}

/// A forge and our identity there.
#[derive(Clone)]
pub struct Forge {
    pub github: Github,
    pub token: Token,
}

impl std::fmt::Debug for Forge {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Forge").field("repository", self.github.repository()).finish_non_exhaustive()
    }
}

/// Hands over the work on one issue.
#[derive(Debug, Clone)]
pub struct Deliverer(Arc<Delivering>);

#[derive(Debug)]
pub(super) struct Delivering {
    pub(super) assignment: Assignment,
    pub(super) means: Means,
    /// Evidence that an existing branch is ours.
    pub(super) ours: Ours,
    /// Number of polls that found no checks.
    pub(super) looks: AtomicU32,
    /// True once the reason for a waiting merge was reported.
    pub(super) said_busy: AtomicBool,
}

impl Deliverer {
    /// Creates a deliverer. `known` means that a journal names the branch as ours.
    pub fn new(assignment: Assignment, means: Means, known: bool) -> Self {
        let ours = Ours::by(assignment.adopt, known);
        Self(Arc::new(Delivering {
            assignment,
            means,
            ours,
            looks: AtomicU32::new(0),
            said_busy: AtomicBool::new(false),
        }))
    }

    /// Writes the run's name into the lock of the issue, to inform other processes. Nothing depends on it.
    pub fn name_run(&self, run: &str, clock: &Clock) {
        self.0.means.lock.name_run(run, clock.now()).unwrap_or(());
    }

    /// Recreates a missing worktree for a resumed run.
    pub fn restore(&self, deeds: &Deeds) -> Result<(), String> {
        let (repository, item) = (&self.0.means.repository, self.0.assignment.item());
        let agreed = deeds.text(stage::FINALIZE, "commit");
        let is_there = repository.bring_back(&item, agreed).map_err(|error| error.to_string())?;
        // Restarting from the base would silently drop the earlier work.
        if !is_there && !deeds.has(stage::FINALIZE) {
            return Err(format!(
                "the branch `{}` is gone, and with it what was done; `saihai work --retry` begins anew",
                item.branch()
            ));
        }
        let placed = self.0.place(Ours::ByJournal).map_err(|error| error.to_string())?;
        placed.worktree().map(|_| ()).map_err(|refusal| refusal.to_string())
    }
}

impl Outside for Deliverer {
    fn perform(&self, deed: Deed, stop: CancellationToken) -> Performing {
        let delivering = Arc::clone(&self.0);
        Box::pin(async move {
            // Without the lock, the run must not touch the issue any more (I-32).
            if let Err(lost) = delivering.means.lock.check() {
                return done("lock-lost", [("why", json!(lost.to_string()))]);
            }
            delivering.perform(deed, stop).await
        })
    }
}

impl Delivering {
    async fn perform(self: Arc<Self>, deed: Deed, stop: CancellationToken) -> Outcome {
        let came = match &deed.does {
            Action::Worktree => self.blocking(|me| me.worktree()).await,
            Action::Finalize => self.blocking(move |me| me.finalize(&deed)).await,
            Action::Push => self.blocking(move |me| me.push(&deed)).await,
            Action::Merge if self.means.forge.is_none() => {
                self.blocking(move |me| me.merge_here(&deed, &stop)).await
            }
            Action::CleanUp => self.blocking(move |me| me.clean_up(&deed)).await,
            Action::PullRequest => self.pull_request(&deed).await,
            Action::Checks => self.checks(&deed).await,
            Action::Merge => self.merge_there(&deed).await,
            Action::Comment if matches!(deed.given, Given::Outputs(_)) => self.comment(&deed).await,
            Action::IssueState | Action::OpenIssue | Action::Comment | Action::CloseIssue { .. } => {
                return match &self.means.beyond {
                    Some(beyond) => beyond.perform(deed, stop).await,
                    None => failed(FailureClass::BadRequest, "there is no forge that keeps the issue"),
                };
            }
            Action::Command { .. }
            | Action::FileState { .. }
            | Action::SaveReports
            | Action::WriteFile { .. }
            | Action::Log
            | Action::ReviewReport { .. } => {
                return failed(FailureClass::BadRequest, "this is no part of a delivery");
            }
        };
        came.unwrap_or_else(Broken::outcome)
    }

    /// Schedules a retry and reports the reason once.
    pub(super) fn later(&self, why: impl FnOnce() -> String) -> Outcome {
        match self.said_busy.swap(true, Ordering::Relaxed) {
            true => Outcome::NotYet,
            false => Outcome::Delayed { reason: why() },
        }
    }

    /// Runs blocking git work on a separate thread.
    async fn blocking<W>(self: Arc<Self>, work: W) -> Result<Outcome, Broken>
    where
        W: FnOnce(&Self) -> Result<Outcome, Broken> + Send + 'static,
    {
        let done = tokio::task::spawn_blocking(move || work(&self)).await;
        done.unwrap_or_else(|panicked| Ok(failed(FailureClass::Crashed, &panicked.to_string())))
    }
}

/// Reason why an action failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Repository(#[from] repository::Error),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// The action may have happened, and the forge gives no answer.
    #[error("whether {what} is not known: {why}")]
    Unseen {
        what: String,
        /// The reason for the missing answer.
        why: ForgeError,
    },
    #[error("{0}")]
    Run(#[from] crate::Error),
    #[error("{0} was not told")]
    Untold(&'static str),
}

impl From<crate::StoreError> for Broken {
    fn from(error: crate::StoreError) -> Self {
        Self::Run(error.into())
    }
}

impl Broken {
    /// Wraps the error of a failed look-up. If the action may have happened, a person must check before a
    /// retry (I-71).
    pub(super) fn unseen(deed: &Deed, what: impl FnOnce() -> String) -> impl FnOnce(ForgeError) -> Self {
        let what = deed.look_up.then(what);
        move |why| match (what, &why) {
            // A rate limit already includes the time for a retry.
            (None, _) | (Some(_), ForgeError::RateLimited { .. }) => Self::Forge(why),
            (Some(what), _) => Self::Unseen { what, why },
        }
    }

    pub(super) fn outcome(self) -> Outcome {
        let message = match &self {
            Self::Repository(error) => match error.remedy() {
                Some(remedy) => format!("{error}; {remedy}"),
                None => error.to_string(),
            },
            Self::Forge(_) | Self::Unseen { .. } | Self::Run(_) | Self::Untold(_) => self.to_string(),
        };
        let class = match &self {
            Self::Repository(repository::Error::LockLost { .. }) => {
                return done("lock-lost", [("why", json!(message))]);
            }
            Self::Repository(repository::Error::Git(git::Error::Missing(_))) => FailureClass::Missing,
            // A passing problem must not lose paid work, so the run continues at this action (I-72).
            Self::Repository(error) => match error.lasts() {
                Lasts::AWhile => FailureClass::Transient,
                Lasts::UntilMended => return Outcome::Waiting { reason: format!("git: {message}") },
                Lasts::ForGood => return done("git", [("why", json!(message))]),
            },
            Self::Run(_) => FailureClass::Transient,
            Self::Untold(_) => return done("git", [("why", json!(message))]),
            Self::Unseen { .. } => return Outcome::Waiting { reason: format!("unknown: {message}") },
            Self::Forge(error) => match error {
                // The match or the forge's answer is unclear, so a person must check (I-71).
                ForgeError::Ambiguous { .. } | ForgeError::Malformed { .. } => {
                    return Outcome::Waiting { reason: format!("unknown: {message}") };
                }
                ForgeError::Transient { .. } => FailureClass::Transient,
                ForgeError::RateLimited { until } => {
                    let failure = Failure::new(FailureClass::RateLimited, message);
                    return Outcome::Failed(Failure { until: *until, ..failure });
                }
                ForgeError::NoRights { .. } => FailureClass::Auth,
                // A forge may accept later what it refuses now, so paid work is kept (I-72).
                ForgeError::Refused { .. } => {
                    return Outcome::Waiting { reason: format!("forge: {message}") };
                }
                ForgeError::NotFound { .. }
                | ForgeError::HeadMoved { .. }
                | ForgeError::Transferred { .. }
                | ForgeError::IsPullRequest(_) => {
                    return done("forge", [("why", json!(message))]);
                }
            },
        };
        failed(class, &message)
    }
}

/// Builds the outcome of a finished action with its output.
pub(super) fn done<const N: usize>(label: &str, output: [(&str, Json); N]) -> Outcome {
    let output: BTreeMap<String, Json> =
        output.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Outcome::Done { label: Some(Label::from(label)), output }
}

pub(super) fn failed(class: FailureClass, message: &str) -> Outcome {
    Outcome::Failed(Failure::new(class, message))
}

/// Returns the output of an earlier stage by `STAGE.KEY`.
pub(super) fn told<'a>(deed: &'a Deed, stage: &str, key: &str) -> Option<&'a Json> {
    match &deed.given {
        Given::Outputs(outputs) => outputs.get(&format!("{stage}.{key}")).filter(|value| !value.is_null()),
        Given::Block(_) | Given::Reports { .. } => None,
    }
}
