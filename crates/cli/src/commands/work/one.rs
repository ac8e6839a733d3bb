//! One run on an issue that no invocation of `saihai work` drives: begun by `run`, gone on with by `resume`.

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

/// The worktree of an issue, where a definition works without delivering anything (I-9, K-23).
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

/// Where the branch of an issue begins: on the server as it is now where results go to one, else here (I-9, I-13).
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

/// Takes in what the server holds of the branch of the issue, as `work` does: nothing is paid for what could not be pushed (I-34).
fn take_in(
    issue: &Issue,
    base: &Base,
    (url, token): (&str, &repository::Token),
    project: &Project,
    work: &WorkSettings,
    repository: &Repository,
) -> Result<(), Error> {
    let item = as_item(issue, &work.branch_prefix);
    // Who has the issue has its branch as well, and whoever comes next is told so.
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

/// Whether a journal says that the branch of an issue is ours. A run that cannot be read shows nothing: the branch then counts by
/// what stands on it.
fn is_known(
    project: &Project,
    source: IssueSource,
    number: IssueNumber,
    home: Option<&RepositoryName>,
) -> Result<bool, Error> {
    let past = Past::of(&project.runs(), source, number, home)?;
    Ok(past.iter().flatten().any(|past| past.deeds.text(stage::WORKTREE, "path").is_some()))
}

/// Whoever does what a run on an issue asks for, having made sure that nobody else works on it. What is found of the forge's
/// token is told to whoever asks agents.
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
            // It may have come from elsewhere than our environment, and is a secret all the same (I-18, I-50).
            with.token = Some(found.clone());
            let github = Github::open(ForgeAccess::new(address, destination.repository.clone(), found));
            Some(Forge { github: github.map_err(|error| refused_by_forge(&error))?, token: shown })
        }
    };
    let beyond: Option<Arc<dyn Outside>> = match Tracker::of(project, settings, with).await {
        Ok(tracker) => outside::with_issues(workflow, tracker),
        // Only a definition that wants something of the issue minds.
        Err(_) => None,
    };
    let known = is_known(project, assignment.source, number, assignment.home.as_ref())?;
    let (runs, secrets, around) = (project.runs(), with.redactor().values(), Surroundings::of(with));
    let means = Means { repository, lock, forge, runs, secrets, around, beyond };
    Ok(Deliverer::new(assignment, means, known))
}

/// Refuses to go on with what was begun before the repository was moved. `roots`: where worktrees were kept, and are now.
pub(crate) fn insist_on_here(repository: &Repository, item: &Item, roots: [&Path; 2]) -> Result<(), Error> {
    let elsewhere = repository.begun_elsewhere(item, roots[0], roots[1]).map_err(refused_by_git)?;
    elsewhere.map_or(Ok(()), |refusal| Err(Error::usage(refusal.to_string())))
}

/// The same for a run that goes on.
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
