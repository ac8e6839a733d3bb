//! Whoever hands the work on an issue over.

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

/// What is needed to hand work over.
#[derive(Debug)]
pub struct Means {
    pub repository: Arc<Repository>,
    /// The ownership of the issue.
    pub lock: Arc<ItemLock>,
    /// The forge, where it goes to one.
    pub forge: Option<Forge>,
    /// The runs of the project, for what a summary says.
    pub runs: Runs,
    /// Values that may not leave the machine.
    pub secrets: Vec<Vec<u8>>,
    /// In what surroundings programs are run.
    pub around: Surroundings,
    /// Who does what the definition itself wants done with the issue.
    pub beyond: Option<Arc<dyn Outside>>,
}

/// A forge, and who we are to it.
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

/// Hands the work on one issue over.
#[derive(Debug, Clone)]
pub struct Deliverer(Arc<Delivering>);

#[derive(Debug)]
pub(super) struct Delivering {
    pub(super) assignment: Assignment,
    pub(super) means: Means,
    /// How a branch that is there is known to be ours.
    pub(super) ours: Ours,
    /// How often checks were looked for and none was there.
    pub(super) looks: AtomicU32,
    /// Whether it was said for what a merge waits.
    pub(super) said_busy: AtomicBool,
}

impl Deliverer {
    /// Does what is assigned, with these means. `known`: a journal says that the branch is ours.
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

    /// Says in the lock of the issue which run has it, for whoever is refused. Nothing depends on it.
    pub fn name_run(&self, run: &str, clock: &Clock) {
        self.0.means.lock.name_run(run, clock.now()).unwrap_or(());
    }

    /// Makes the worktree of a run that goes on where it is gone.
    pub fn restore(&self, deeds: &Deeds) -> Result<(), String> {
        let (repository, item) = (&self.0.means.repository, self.0.assignment.item());
        let agreed = deeds.text(stage::FINALIZE, "commit");
        let is_there = repository.bring_back(&item, agreed).map_err(|error| error.to_string())?;
        // From its base it would go on as if nothing had been done.
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
            // Whoever has lost the issue does nothing more to it (I-32).
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

    /// It is tried again later; why is said the first time.
    pub(super) fn later(&self, why: impl FnOnce() -> String) -> Outcome {
        match self.said_busy.swap(true, Ordering::Relaxed) {
            true => Outcome::NotYet,
            false => Outcome::Delayed { reason: why() },
        }
    }

    /// Git is waited for on a thread of its own.
    async fn blocking<W>(self: Arc<Self>, work: W) -> Result<Outcome, Broken>
    where
        W: FnOnce(&Self) -> Result<Outcome, Broken> + Send + 'static,
    {
        let done = tokio::task::spawn_blocking(move || work(&self)).await;
        done.unwrap_or_else(|panicked| Ok(failed(FailureClass::Crashed, &panicked.to_string())))
    }
}

/// Why something could not be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    #[error(transparent)]
    Repository(#[from] repository::Error),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    /// It may have happened, and the forge does not say.
    #[error("whether {what} is not known: {why}")]
    Unseen {
        what: String,
        /// Why it is not known.
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
    /// For a look that failed. Where what is looked for may have happened, a person looks before it is tried again (I-71).
    pub(super) fn unseen(deed: &Deed, what: impl FnOnce() -> String) -> impl FnOnce(ForgeError) -> Self {
        let what = deed.look_up.then(what);
        move |why| match (what, &why) {
            // That it is looked for later says the forge itself.
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
            // What agents were paid for is not lost to what passes: the run goes on at this very action (I-72).
            Self::Repository(error) => match error.lasts() {
                Lasts::AWhile => FailureClass::Transient,
                Lasts::UntilMended => return Outcome::Waiting { reason: format!("git: {message}") },
                Lasts::ForGood => return done("git", [("why", json!(message))]),
            },
            Self::Run(_) => FailureClass::Transient,
            Self::Untold(_) => return done("git", [("why", json!(message))]),
            Self::Unseen { .. } => return Outcome::Waiting { reason: format!("unknown: {message}") },
            Self::Forge(error) => match error {
                // Nobody can say which one is meant, or what the forge said: a person looks (I-71).
                ForgeError::Ambiguous { .. } | ForgeError::Malformed { .. } => {
                    return Outcome::Waiting { reason: format!("unknown: {message}") };
                }
                ForgeError::Transient { .. } => FailureClass::Transient,
                ForgeError::RateLimited { until } => {
                    let failure = Failure::new(FailureClass::RateLimited, message);
                    return Outcome::Failed(Failure { until: *until, ..failure });
                }
                ForgeError::NoRights { .. } => FailureClass::Auth,
                // What a forge refuses now it may take later: nothing of what was paid for is given up (I-72).
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

/// It is done, and says this.
pub(super) fn done<const N: usize>(label: &str, output: [(&str, Json); N]) -> Outcome {
    let output: BTreeMap<String, Json> =
        output.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Outcome::Done { label: Some(Label::from(label)), output }
}

pub(super) fn failed(class: FailureClass, message: &str) -> Outcome {
    Outcome::Failed(Failure::new(class, message))
}

/// What a stage before said, by `STAGE.KEY`.
pub(super) fn told<'a>(deed: &'a Deed, stage: &str, key: &str) -> Option<&'a Json> {
    match &deed.given {
        Given::Outputs(outputs) => outputs.get(&format!("{stage}.{key}")).filter(|value| !value.is_null()),
        Given::Block(_) | Given::Reports { .. } => None,
    }
}
