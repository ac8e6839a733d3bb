//! Everything that work on issues needs to know before it starts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use saihai::{ActionExecutor, Clock, ProjectSource, Runs};
use saihai_config::{Diagnostics, ForgeKind, Settings, WorkSettings};
use saihai_connect::Connections;
use saihai_connect::forge::{ForgeAccess, ForgeComment, ForgeError, Github};
use saihai_git::{GitAccessToken, Repository};
use saihai_model::{Budget, Cost, Issue, IssueNumber, IssueSource, Millis, RepositoryName, Workflow};

use crate::{ForgeDestination, IssueRun, IssueRuns, MergeQueue, PlanError, RestoreError};

/// The surroundings of work on issues. Nothing in it changes during the work.
pub struct WorkContext {
    pub root: PathBuf,
    pub files: ProjectSource,
    /// The folder of issues, as messages show it.
    pub folder: String,
    pub runs: Runs,
    pub issue_runs: IssueRuns,
    pub settings: Settings,
    /// The settings of `work`, including flags.
    pub work: WorkSettings,
    pub repository: Arc<Repository>,
    pub source: IssueSource,
    pub forge: ForgeKind,
    /// The forge, if issues come from it or results go to it.
    pub access: Option<ForgeAccess>,
    pub connections: Connections,
    /// The base branch if nothing else names one.
    pub default_base: Option<String>,
    /// The local merges of this process.
    pub merges: Arc<MergeQueue>,
    pub host: Arc<dyn WorkHost>,
}

/// Services of the command line.
pub trait WorkHost: Send + Sync {
    /// Reports a wait for the forge's rate limit.
    fn rate_limited(&self, wait: Duration);
    /// Returns the executor of actions that a definition itself requests on its issue.
    fn issue_actions(
        &self,
        workflow: &Workflow,
        context: &WorkContext,
        github: Option<&Github>,
    ) -> Option<Arc<dyn ActionExecutor>>;
    /// Adds the comments of trusted authors to an issue.
    fn with_comments(&self, issue: &Issue, comments: Vec<ForgeComment>) -> Issue;
    /// Returns the prompt variables of an issue.
    fn prompt_variables(&self, issue: &Issue) -> std::collections::BTreeMap<String, saihai_model::Json>;
}

/// Reason why issues cannot be listed or worked on.
#[derive(Debug, thiserror::Error)]
pub enum WorkError {
    #[error(transparent)]
    Repository(#[from] saihai_git::RepositoryError),
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Run(#[from] saihai::DriverError),
    #[error(transparent)]
    Restore(#[from] RestoreError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Files of issues have errors.
    #[error("files of issues have errors")]
    IssueFiles(Diagnostics),
    #[error("no issue {0} in the folder")]
    NoSuchIssue(IssueNumber),
    #[error("{0}")]
    BlankTitle(String),
    #[error("no forge is configured")]
    NoForge,
    #[error("no remote `{name}` to push to")]
    NoRemote { name: String },
    #[error("cannot wait for events: {0}")]
    Runtime(std::io::Error),
    #[error("no branch is checked out, so there is no base branch")]
    NoBase,
}

impl From<saihai::StoreError> for WorkError {
    fn from(error: saihai::StoreError) -> Self {
        Self::Run(error.into())
    }
}

impl WorkContext {
    /// Returns the repository of the issues, if they belong to one.
    pub fn home(&self) -> Option<&RepositoryName> {
        let access = self.access.as_ref().filter(|_| self.source == IssueSource::Github);
        access.map(|access| &access.repository)
    }

    /// Returns the runs on an issue, newest first. An unreadable run is an error: it may have cost money.
    pub fn runs_of(&self, issue: &Issue) -> Result<Vec<IssueRun>, saihai::DriverError> {
        self.issue_runs.of(issue.source, issue.number)?.into_iter().collect()
    }

    /// Returns the last run that delivers.
    pub fn last_delivery(&self, issue: &Issue) -> Result<Option<IssueRun>, saihai::DriverError> {
        Ok(self.runs_of(issue)?.into_iter().find(|run| run.delivers))
    }

    /// Returns the remaining budget of an issue after all its runs.
    pub fn budget_left(&self, issue: &Issue) -> Result<Budget, saihai::DriverError> {
        let whole = &self.work.budget_per_issue;
        if whole.is_unlimited() {
            return Ok(Budget::default());
        }
        let runs = self.runs_of(issue)?;
        let spent = runs.iter().fold(Cost::default(), |sum, run| sum.plus(run.cost));
        let driven = runs.iter().fold(0, |sum, run| run.time.0.saturating_add(sum));
        Ok(whole.less(spent, Millis(driven)))
    }

    /// Returns the remote's address before the first agent, without a password: other users see it (I-18).
    pub fn url(&self) -> Result<String, WorkError> {
        let name = &self.work.remote;
        let url = self.repository.frozen().remote_url(name).map(ForgeDestination::address);
        url.ok_or_else(|| WorkError::NoRemote { name: name.clone() })
    }

    /// Connects to the forge on the caller's runtime.
    pub fn github(&self) -> Result<Option<Github>, ForgeError> {
        self.access.clone().map(Github::open).transpose()
    }

    /// Connects to the forge if results go there.
    pub fn delivery_forge(&self) -> Result<Option<Github>, ForgeError> {
        if self.forge == ForgeKind::Github { self.github() } else { Ok(None) }
    }

    /// Returns the credentials for a push.
    pub fn push_token(&self) -> Option<GitAccessToken> {
        let access = self.access.as_ref()?;
        Some(GitAccessToken::new(access.token.secret(), access.address.host()))
    }

    /// Asks the forge and waits for the end of a rate limit (I-20).
    pub async fn patiently<T, F>(&self, ask: impl Fn() -> F) -> Result<T, ForgeError>
    where
        F: Future<Output = Result<T, ForgeError>>,
    {
        self.patiently_unless(&|| false, ask).await
    }

    /// Does the same, but stops early if `is_stopped` returns true.
    pub async fn patiently_unless<T, F>(
        &self,
        is_stopped: &impl Fn() -> bool,
        ask: impl Fn() -> F,
    ) -> Result<T, ForgeError>
    where
        F: Future<Output = Result<T, ForgeError>>,
    {
        const GLANCE: Duration = Duration::from_millis(200);
        loop {
            let until = match ask().await {
                Err(ForgeError::RateLimited { until }) => until,
                answer => return answer,
            };
            let now = Clock::system().now();
            let wait = until.map_or(Duration::from_secs(60), |until| {
                Duration::from_millis(until.since(now).0.max(1_000))
            });
            self.host.rate_limited(wait);
            let over = Instant::now() + wait;
            while Instant::now() < over {
                if is_stopped() {
                    return Err(ForgeError::RateLimited { until });
                }
                tokio::time::sleep(GLANCE.min(over.saturating_duration_since(Instant::now()))).await;
            }
        }
    }
}
