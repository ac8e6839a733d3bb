//! A run on an issue outside `saihai work`: started by `run`, continued by `resume`.

use std::path::Path;
use std::sync::Arc;

use saihai::{ActionExecutor, Clock};
use saihai_config::issues::clean_title;
use saihai_config::{ForgeKind, Settings, WorkSettings};
use saihai_connect::forge::{ForgeAccess, ForgeAddress, Github, find_token};
use saihai_connect::{CommandSurroundings, Connections};
use saihai_delivery::{
    DeliveryExecutor, DeliveryResources, ForgeConnection, ForgeDestination, IssueAssignment, IssueRun,
    IssueRuns, issue_item, stage,
};
use saihai_git::{
    BaseCommit, BranchOwnership, ItemLock, ItemLockAttempt, Repository, ServerBranchRequest, WorkItem,
};
use saihai_model::{Issue, IssueNumber, IssueSource, RepositoryName, Workflow};

use super::preparation::{access, insist_on_copies};
use super::words::{refused_by_forge, refused_by_git};
use crate::checkout::hide_directories;
use crate::checkout::locked_elsewhere;
use crate::checkout::open_repository as open;
use crate::error::CommandError;
use crate::issue_actions::issue_executor_with;
use crate::issue_tracker::IssueTracker;
use crate::issue_tracker::RemoteRepository;
use crate::project::Project;
use crate::terminal::Streams;

/// Assigns a worktree to an issue, for a definition that delivers nothing (I-9, K-23).
pub(crate) async fn assigned(
    issue: &Issue,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<IssueAssignment, CommandError> {
    let (work, number) = (&settings.work, issue.number);
    let mut repository = open(project)?;
    let title =
        clean_title(&issue.title).map_err(|blank| CommandError::usage(format!("issue {number}: {blank}")))?;
    let (base, server) = begins_at(issue, project, settings, with, &repository).await?;
    if let Some((url, token)) = &server {
        take_in(issue, &base, (url, token), project, work, &repository)?;
    }
    let base = repository
        .forked(base, &number.branch(&work.branch_prefix))
        .map_err(|error| refused_by_git(&error))?;
    insist_on_copies(&repository, work, Some(&base.commit), streams)?;
    hide_directories(&mut repository, project, settings, streams)?;
    Ok(IssueAssignment::new(issue, title, base, repository.root(), work, settings.language))
}

/// Returns the start of the branch: the server's base if results go there, else the local one (I-9, I-13).
async fn begins_at(
    issue: &Issue,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    repository: &Repository,
) -> Result<(BaseCommit, Option<(String, saihai_git::GitAccessToken)>), CommandError> {
    let work = &settings.work;
    let named = issue.base.clone().or_else(|| work.base.clone());
    let forge = work.forge.unwrap_or(match issue.source {
        IssueSource::Folder => ForgeKind::Local,
        IssueSource::Github => ForgeKind::Github,
    });
    let url = repository.frozen().remote_url(&work.remote).map(ForgeDestination::address);
    let Some(url) = url.filter(|_| forge == ForgeKind::Github) else {
        let base = named.or_else(|| repository.current_branch());
        let base = base.ok_or_else(|| {
            CommandError::usage("no branch is checked out, so there is no base branch")
                .hint("check out a branch, or set `base` in `[work]`")
        })?;
        return Ok((repository.beginning(&base).map_err(|error| refused_by_git(&error))?, None));
    };
    let remote = RemoteRepository::of_project(&project.places.root, &work.remote, with).await;
    let access = access(work, remote, with).await?;
    let token = saihai_git::GitAccessToken::new(access.token.secret(), access.address.host());
    let base = match named {
        Some(named) => named,
        None => {
            let github = Github::open(access).map_err(|error| refused_by_forge(&error))?;
            let about = github.about().await.map_err(|error| refused_by_forge(&error))?;
            about.default_branch
        }
    };
    let base = repository.fetch(&url, &base, Some(&token)).map_err(|error| refused_by_git(&error))?;
    Ok((base, Some((url, token))))
}

/// Fetches the issue's branch from the server: work that cannot be pushed must not be paid for (I-34).
fn take_in(
    issue: &Issue,
    base: &BaseCommit,
    (url, token): (&str, &saihai_git::GitAccessToken),
    project: &Project,
    work: &WorkSettings,
    repository: &Repository,
) -> Result<(), CommandError> {
    let item = issue_item(issue.source, issue.number, &work.branch_prefix);
    // The owner of the issue also owns its branch, and the caller reports the lock.
    if ItemLock::is_taken(repository, &item).map_err(|error| refused_by_git(&error))? {
        return Ok(());
    }
    let known = is_known(project, issue.source, issue.number, None)?;
    let ours = BranchOwnership::by(false, known);
    let following = ServerBranchRequest { item: &item, base, url, token: Some(token), ours };
    match repository.follow(following).map_err(|error| refused_by_git(&error))? {
        None => Ok(()),
        Some(refusal) => {
            Err(CommandError::usage(refusal.to_string()).hint("`--no-worktree` works in this directory"))
        }
    }
}

/// Returns true if a journal proves that the issue's branch is ours. An unreadable run proves nothing; then the
/// commits on the branch decide.
fn is_known(
    project: &Project,
    source: IssueSource,
    number: IssueNumber,
    home: Option<&RepositoryName>,
) -> Result<bool, CommandError> {
    let past = IssueRuns::new(project.runs(), home.cloned()).of(source, number)?;
    Ok(past.iter().flatten().any(|past| past.outputs.text(stage::WORKTREE, "path").is_some()))
}

/// Locks the issue and returns the handler of the run's external actions. It passes the forge's token to `with`.
pub(crate) async fn outside(
    assignment: IssueAssignment,
    workflow: &Workflow,
    project: &Project,
    settings: &Settings,
    with: &mut Connections,
) -> Result<DeliveryExecutor, CommandError> {
    let repository = Arc::new(open(project)?);
    let (item, number) = (assignment.item(), assignment.issue);
    let lock = match ItemLock::take(&repository, &item, "", Clock::system().now())
        .map_err(|error| refused_by_git(&error))?
    {
        ItemLockAttempt::Ours(lock) => Arc::new(lock),
        ItemLockAttempt::Elsewhere { process, run } => {
            return Err(locked_elsewhere(number, process, run.as_deref()));
        }
    };
    let forge = match &assignment.forge {
        None => None,
        Some(destination) => {
            let bad = |error: &dyn std::fmt::Display| CommandError::usage(error.to_string());
            let address = ForgeAddress::parse(&destination.api).map_err(|error| bad(&error))?;
            let found = find_token(address.host(), &with.environment).await.map_err(|error| bad(&error))?;
            let shown = saihai_git::GitAccessToken::new(found.secret(), address.host());
            // A token from another source than our environment is a secret too (I-18, I-50).
            with.token = Some(found.clone());
            let github = Github::open(ForgeAccess::new(address, destination.repository.clone(), found));
            Some(ForgeConnection { github: github.map_err(|error| refused_by_forge(&error))?, token: shown })
        }
    };
    let beyond: Option<Arc<dyn ActionExecutor>> = match IssueTracker::of(project, settings, with).await {
        Ok(tracker) => issue_executor_with(workflow, tracker),
        // This matters only to a definition that uses the issue.
        Err(_) => None,
    };
    let known = is_known(project, assignment.source, number, assignment.home.as_ref())?;
    let (runs, secrets, around) = (project.runs(), with.redactor().values(), CommandSurroundings::of(with));
    let means =
        DeliveryResources { repository, lock, forge, runs, secrets, around, beyond, merges: Arc::default() };
    Ok(DeliveryExecutor::new(assignment, means, known, None))
}

/// Refuses a run whose repository was moved. `roots`: the old and the new parent directory of worktrees.
pub(crate) fn insist_on_here(
    repository: &Repository,
    item: &WorkItem,
    roots: [&Path; 2],
) -> Result<(), CommandError> {
    let elsewhere =
        repository.begun_elsewhere(item, roots[0], roots[1]).map_err(|error| refused_by_git(&error))?;
    elsewhere.map_or(Ok(()), |refusal| Err(CommandError::usage(refusal.to_string())))
}

/// Does the same for a resumed run.
pub(crate) async fn again(
    past: IssueRun,
    project: &Project,
    settings: &Settings,
    with: &mut Connections,
) -> Result<DeliveryExecutor, CommandError> {
    let (workflow, run) = (past.loaded.workflow.clone(), past.id().to_owned());
    let is_placed = past.outputs.has(stage::WORKTREE) && !past.outputs.has(stage::CLEAN_UP);
    let (item, root) = (past.assignment.item(), past.assignment.worktree_root.clone());
    let outputs = past.outputs;
    let deliverer = outside(past.assignment, &workflow, project, settings, with).await?;
    insist_on_here(&open(project)?, &item, [&root, &settings.work.worktree_root])?;
    deliverer.name_run(&run, &Clock::system());
    if is_placed {
        deliverer.restore(&outputs).map_err(|error| CommandError::usage(error.to_string()))?;
    }
    Ok(deliverer)
}
