//! The environment of `saihai work`: everything known before work starts.

use std::sync::Arc;

use saihai::delivery::{Destination, Past};
use saihai::repository::{self, Repository};
use saihai::{Environment, Runs};
use saihai_config::issues::{SourcesAtHand, choose_source};
use saihai_config::{ForgeKind, Settings, Use, WorkSettings};
use saihai_connect::forge::{ForgeAccess, ForgeAddress, ForgeError, ForgeToken, Github, find_token};
use saihai_connect::{Connections, Surroundings};
use saihai_model::{Budget, Cost, Issue, IssueSource, MergeMethod, Millis, RepositoryName};

use super::Work;
use crate::diagnostics;
use crate::error::Error;
use crate::ours;
use crate::prepared::connections;
use crate::project::Project;
use crate::repository::Repository as Remote;
use crate::terminal::{Streams, visible_line};

pub(crate) struct Ground {
    pub(crate) project: Project,
    pub(crate) settings: Settings,
    /// The settings of `work`, including flags.
    pub(crate) work: WorkSettings,
    pub(crate) repository: Arc<Repository>,
    pub(crate) source: IssueSource,
    pub(crate) forge: ForgeKind,
    /// The forge, if issues come from it or results go to it.
    pub(crate) access: Option<ForgeAccess>,
    /// The base branch if nothing else names one.
    pub(crate) default_base: Option<String>,
    /// True for `--list`, which only prints the plan.
    pub(crate) only_lists: bool,
    /// True if a flag disables pull requests.
    pub(crate) no_pull_request: bool,
}

impl Ground {
    /// Collects and checks the environment. Errors are reported before any change.
    pub(crate) async fn find(
        project: Project,
        settings: Settings,
        flags: &Work,
        streams: &mut Streams,
    ) -> Result<Self, Error> {
        diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
        // Users of this setting rely on it: another machine may work on the same issue.
        let elsewhere = settings.find("distributed.server").unwrap_or_default();
        if elsewhere.iter().any(|set| !set.value.is_null()) {
            streams.warning(
                "`distributed.server` is not in use yet: other machines are not asked what they work on",
            );
        }
        let work = flags.merged(&project, settings.work.clone());
        let with = connections(&settings);
        let remote = Remote::of_project(&project.places.root, &work.remote, &with).await;
        let at_hand = SourcesAtHand {
            folder_named: flags.from.is_some(),
            github_named: flags.names_github(),
            set: work.source,
            folder_exists: work.from.is_dir(),
            // A repository named in the settings counts as existing on GitHub.
            remote_on_github: work.repo.is_some()
                || remote.as_ref().is_some_and(|remote| remote.is_on_github(&with)),
        };
        let source = choose_source(at_hand).map_err(|error| Error::usage(error.to_string()))?;
        let forge = work.forge.unwrap_or(match source {
            IssueSource::Folder => ForgeKind::Local,
            IssueSource::Github => ForgeKind::Github,
        });
        if forge == ForgeKind::Local && work.merge_method != MergeMethod::Merge {
            let method = work.merge_method.name();
            let said = format!(
                "`work.merge_method` cannot be `{method}`: with the forge `local` there is only `merge`"
            );
            return Err(Error::usage(said)
                .hint("write `forge = \"github\"` into `[work]`, or leave `merge_method` out"));
        }
        if forge == ForgeKind::Github && work.merge && work.verify.is_some() {
            streams.warning("`verify` is not run: on the forge its own checks decide about a merge");
        }
        if forge == ForgeKind::Local && work.merge {
            insist_on_program(&work, &with)?;
        }
        let repository =
            Repository::open(&project.places.root, &Environment::of_process()).map_err(refused_by_git)?;
        ours::insist_on_own_root(&repository, &work.worktree_root)?;
        let needs_forge = source == IssueSource::Github || forge == ForgeKind::Github;
        let access = if needs_forge { Some(access(&work, remote, &with).await?) } else { None };
        let mut ground = Self {
            project,
            settings,
            work,
            repository: Arc::new(repository),
            source,
            forge,
            access,
            default_base: None,
            only_lists: flags.list,
            no_pull_request: flags.no_pr,
        };
        ground.default_base = match forge {
            ForgeKind::Local => ground.repository.current_branch(),
            ForgeKind::Github => {
                ground.url()?;
                let github = ground.github().map_err(|error| refused_by_forge(&error))?;
                let github = github.ok_or_else(|| Error::usage("there is no forge"))?;
                let about = super::selection::patiently(|| github.about()).await;
                Some(about.map_err(|error| refused_by_forge(&error))?.default_branch)
            }
        };
        Ok(ground)
    }

    pub(crate) fn runs(&self) -> Runs {
        self.project.runs()
    }

    /// Returns the repository of the issues, if they belong to one.
    pub(crate) fn home(&self) -> Option<&RepositoryName> {
        let access = self.access.as_ref().filter(|_| self.source == IssueSource::Github);
        access.map(|access| &access.repository)
    }

    /// Returns the runs on an issue, the newest first. An unreadable run is an error: it may have spent money or
    /// delivered work.
    pub(crate) fn past(&self, issue: &Issue) -> Result<Vec<Past>, saihai::Error> {
        Past::of(&self.runs(), issue.source, issue.number, self.home())?.into_iter().collect()
    }

    /// Returns the remaining budget of an issue after all its runs.
    pub(crate) fn left_for(&self, issue: &Issue) -> Result<Budget, saihai::Error> {
        let whole = &self.work.budget_per_issue;
        if whole.is_unlimited() {
            return Ok(Budget::default());
        }
        let past = self.past(issue)?;
        let spent = past.iter().fold(Cost::default(), |sum, past| sum.plus(past.cost));
        let driven = past.iter().fold(0, |sum, past| past.time.0.saturating_add(sum));
        Ok(whole.less(spent, Millis(driven)))
    }

    pub(crate) fn connections(&self) -> Connections {
        let token = self.access.as_ref().map(|access| access.token.clone());
        Connections { token, ..connections(&self.settings) }
    }

    /// Returns the remote address as it was before the first agent. It omits a password, because command lines are
    /// visible to other users (I-18).
    pub(crate) fn url(&self) -> Result<String, Error> {
        let name = &self.work.remote;
        self.repository.frozen().remote_url(name).map(Destination::address).ok_or_else(|| {
            Error::usage(format!("there is no remote `{name}` to push to"))
                .hint("add one with `git remote add`, or write `forge = \"local\"` into `[work]`")
        })
    }

    /// Connects to the forge on the caller's runtime.
    pub(crate) fn github(&self) -> Result<Option<Github>, ForgeError> {
        self.access.clone().map(Github::open).transpose()
    }

    /// Returns the credentials for a push.
    pub(crate) fn push_token(&self) -> Option<repository::Token> {
        let access = self.access.as_ref()?;
        Some(repository::Token::new(access.token.secret(), access.address.host()))
    }
}

/// Rejects a missing program before agents are paid for work that could never be merged.
fn insist_on_program(work: &WorkSettings, with: &Connections) -> Result<(), Error> {
    let program = work.verify.as_ref().and_then(|argv| argv.first());
    match program.filter(|program| !Surroundings::of(with).has(program)) {
        Some(program) => {
            let said =
                format!("`work.verify` cannot be run: there is no program `{}`", visible_line(program));
            Err(Error::usage(said)
                .hint("it is a list, of which the first is the program: `[\"cargo\", \"test\"]`"))
        }
        None => Ok(()),
    }
}

/// Returns the access to the forge, from the settings, the flags and the remote.
pub(crate) async fn access(
    work: &WorkSettings,
    remote: Option<Remote>,
    with: &Connections,
) -> Result<ForgeAccess, Error> {
    let address = ForgeAddress::parse(&work.api).map_err(|error| {
        Error::usage(error.to_string()).hint("the setting `work.api` or `GITHUB_API_URL` says so")
    })?;
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let repository = work.repo.clone().or(named).ok_or_else(|| {
        Error::usage("it is not known which repository is meant")
            .hint("write `repo = \"OWNER/NAME\"` into `[work]`")
    })?;
    let token: ForgeToken = find_token(address.host(), &with.environment)
        .await
        .map_err(|error| Error::usage(error.to_string()))?;
    Ok(ForgeAccess::new(address, repository, token))
}

/// Converts an error of the forge for the user.
pub(crate) fn refused_by_forge(error: &ForgeError) -> Error {
    match error {
        ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) | ForgeError::Transferred { .. } => {
            Error::usage(visible_line(&error.to_string()).to_string())
        }
        ForgeError::NoRights { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Transient { .. }
        | ForgeError::Malformed { .. }
        | ForgeError::Refused { .. }
        | ForgeError::HeadMoved { .. }
        | ForgeError::Ambiguous { .. } => Error::unavailable(visible_line(&error.to_string()).to_string()),
    }
}

/// Checks that every file of `copy_files` can be copied, before a worktree exists.
pub(crate) fn insist_on_copies(
    repository: &Repository,
    work: &WorkSettings,
    commit: Option<&str>,
    streams: &mut Streams,
) -> Result<(), Error> {
    for path in repository.check_copies(&work.copy_files, commit).map_err(refused_by_git)? {
        streams.warning(&format!(
            "`{}` of `copy_files` is not there, so agents go without",
            visible_line(&path)
        ));
    }
    Ok(())
}

/// Converts an error of git for the user.
pub(crate) fn refused_by_git(error: repository::Error) -> Error {
    let said = visible_line(&error.to_string()).to_string();
    let is_away = matches!(error, repository::Error::Unreachable { .. });
    let refused = if is_away { Error::unavailable(said) } else { Error::usage(said) };
    match error.remedy() {
        Some(remedy) => refused.hint(remedy),
        None => refused,
    }
}
