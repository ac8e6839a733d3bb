//! A run on an issue outside `saihai work`: started by `run`, continued by `resume`.

use std::path::Path;
use std::sync::Arc;

use saihai::delivery::{Assignment, Deliverer, Destination, Forge, Means, Past};
use saihai::repository::{self, Base, Following, Item, ItemLock, Ours, Repository, Taken};
use saihai::{Clock, Outside};
use saihai_config::delivery::stage;
use saihai_config::issues::clean_title;
use saihai_config::{ForgeKind, Settings, WorkSettings};
use saihai_connect::forge::{ForgeAccess, ForgeAddress, Github, find_token};
use saihai_connect::{Connections, Surroundings};
use saihai_model::{Issue, IssueNumber, IssueSource, RepositoryName, Workflow};

use super::ground::{access, insist_on_copies, refused_by_forge, refused_by_git};
use super::item::as_item;
use crate::commands::own_tree::open;
use crate::commands::standing;
use crate::error::Error;
use crate::issue::Tracker;
use crate::project::Project;
use crate::repository::Repository as Remote;
use crate::terminal::Streams;
use crate::{ours, outside};

/// Assigns a worktree to an issue, for a definition that delivers nothing (I-9, K-23).
pub(crate) async fn assigned(
    issue: &Issue,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<Assignment, Error> {
    let (work, number) = (&settings.work, issue.number);
    let mut repository = open(project)?;
    let title =
        clean_title(&issue.title).map_err(|blank| Error::usage(format!("issue {number}: {blank}")))?;
    let (base, server) = begins_at(issue, project, settings, with, &repository).await?;
    if let Some((url, token)) = &server {
        take_in(issue, &base, (url, token), project, work, &repository)?;
    }
    let base = repository.forked(base, &number.branch(&work.branch_prefix)).map_err(refused_by_git)?;
    insist_on_copies(&repository, work, Some(&base.commit), streams)?;
    ours::hide(&mut repository, project, settings)?;
    Ok(Assignment::new(issue, title, base, repository.root(), work, settings.language))
}

/// Returns the start of the issue's branch. It is the current base on the server if results go there, otherwise the
/// local one (I-9, I-13).
async fn begins_at(
    issue: &Issue,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    repository: &Repository,
) -> Result<(Base, Option<(String, repository::Token)>), Error> {
    let work = &settings.work;
    let named = issue.base.clone().or_else(|| work.base.clone());
    let forge = work.forge.unwrap_or(match issue.source {
        IssueSource::Folder => ForgeKind::Local,
        IssueSource::Github => ForgeKind::Github,
    });
    let url = repository.frozen().remote_url(&work.remote).map(Destination::address);
    let Some(url) = url.filter(|_| forge == ForgeKind::Github) else {
        let base = named.or_else(|| repository.current_branch());
        let base = base.ok_or_else(|| {
            Error::usage("no branch is checked out, so it is not known where the work begins")
                .hint("check a branch out, or write `base` into `[work]`")
        })?;
        return Ok((repository.beginning(&base).map_err(refused_by_git)?, None));
    };
    let remote = Remote::of_project(&project.places.root, &work.remote, with).await;
    let access = access(work, remote, with).await?;
    let token = repository::Token::new(access.token.secret(), access.address.host());
    let base = match named {
        Some(named) => named,
        None => {
            let github = Github::open(access).map_err(|error| refused_by_forge(&error))?;
            let about = github.about().await.map_err(|error| refused_by_forge(&error))?;
            about.default_branch
        }
    };
    let base = repository.fetch(&url, &base, Some(&token)).map_err(refused_by_git)?;
    Ok((base, Some((url, token))))
}

/// Fetches the issue's branch from the server, as `work` does. This avoids paying for work that cannot be pushed
/// (I-34).
fn take_in(
    issue: &Issue,
    base: &Base,
    (url, token): (&str, &repository::Token),
    project: &Project,
    work: &WorkSettings,
    repository: &Repository,
) -> Result<(), Error> {
    let item = as_item(issue, &work.branch_prefix);
    // The owner of the issue also owns its branch, and the caller reports the lock.
    if ItemLock::is_taken(repository, &item).map_err(refused_by_git)? {
        return Ok(());
    }
    let known = is_known(project, issue.source, issue.number, None)?;
    let ours = Ours::by(false, known);
    let following = Following { item: &item, base, url, token: Some(token), ours };
    match repository.follow(following).map_err(refused_by_git)? {
        None => Ok(()),
        Some(refusal) => {
            Err(Error::usage(refusal.to_string()).hint("`--no-worktree` works in this directory"))
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
) -> Result<bool, Error> {
    let past = Past::of(&project.runs(), source, number, home)?;
    Ok(past.iter().flatten().any(|past| past.deeds.text(stage::WORKTREE, "path").is_some()))
}

/// Locks the issue and returns the handler of the run's external actions. It passes the forge's token to `with`.
pub(crate) async fn outside(
    assignment: Assignment,
    workflow: &Workflow,
    project: &Project,
    settings: &Settings,
    with: &mut Connections,
) -> Result<Deliverer, Error> {
    let repository = Arc::new(open(project)?);
    let (item, number) = (assignment.item(), assignment.issue);
    let lock = match ItemLock::take(&repository, &item, "", Clock::system().now()).map_err(refused_by_git)? {
        Taken::Ours(lock) => Arc::new(lock),
        Taken::Elsewhere { process, run } => {
            return Err(standing::elsewhere(number, process, run.as_deref()));
        }
    };
    let forge = match &assignment.forge {
        None => None,
        Some(destination) => {
            let bad = |error: &dyn std::fmt::Display| Error::usage(error.to_string());
            let address = ForgeAddress::parse(&destination.api).map_err(|error| bad(&error))?;
            let found = find_token(address.host(), &with.environment).await.map_err(|error| bad(&error))?;
            let shown = repository::Token::new(found.secret(), address.host());
            // A token from another source than our environment is a secret too (I-18, I-50).
            with.token = Some(found.clone());
            let github = Github::open(ForgeAccess::new(address, destination.repository.clone(), found));
            Some(Forge { github: github.map_err(|error| refused_by_forge(&error))?, token: shown })
        }
    };
    let beyond: Option<Arc<dyn Outside>> = match Tracker::of(project, settings, with).await {
        Ok(tracker) => outside::with_issues(workflow, tracker),
        // This matters only to a definition that uses the issue.
        Err(_) => None,
    };
    let known = is_known(project, assignment.source, number, assignment.home.as_ref())?;
    let (runs, secrets, around) = (project.runs(), with.redactor().values(), Surroundings::of(with));
    let means = Means { repository, lock, forge, runs, secrets, around, beyond };
    Ok(Deliverer::new(assignment, means, known))
}

/// Refuses to continue a run after the repository was moved. `roots`: the old and the new parent directory of
/// worktrees.
pub(crate) fn insist_on_here(repository: &Repository, item: &Item, roots: [&Path; 2]) -> Result<(), Error> {
    let elsewhere = repository.begun_elsewhere(item, roots[0], roots[1]).map_err(refused_by_git)?;
    elsewhere.map_or(Ok(()), |refusal| Err(Error::usage(refusal.to_string())))
}

/// Does the same for a resumed run.
pub(crate) async fn again(
    past: Past,
    project: &Project,
    settings: &Settings,
    with: &mut Connections,
) -> Result<Deliverer, Error> {
    let (workflow, run) = (past.directory.workflow()?, past.directory.id().to_owned());
    let is_placed = past.deeds.has(stage::WORKTREE) && !past.deeds.has(stage::CLEAN_UP);
    let (item, root) = (past.assignment.item(), past.assignment.worktree_root.clone());
    let deliverer = outside(past.assignment, &workflow, project, settings, with).await?;
    insist_on_here(&open(project)?, &item, [&root, &settings.work.worktree_root])?;
    deliverer.name_run(&run, &Clock::system());
    if is_placed {
        deliverer.restore(&past.deeds).map_err(Error::usage)?;
    }
    Ok(deliverer)
}
