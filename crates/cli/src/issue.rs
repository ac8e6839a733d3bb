//! The issue a run is about.

use saihai_config::issues::{SourcesAtHand, choose_source, load_folder, task};
use saihai_config::{Diagnostics, Settings, Use};
use saihai_connect::Connections;
use saihai_connect::forge::{Access, Address, ForgeError, Github, NoToken, find_token};
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState, RepositoryName};

use crate::diagnostics;
use crate::error::Error;
use crate::project::Project;
use crate::repository::Repository;
use crate::terminal::{Streams, visible_line};

/// What an issue says is to be done; nothing where it is closed, which is said.
pub(crate) async fn task_of(
    number: IssueNumber,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<Option<String>, Error> {
    diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
    let remote = Repository::of_project(&project.places.root, with).await;
    let at_hand = SourcesAtHand {
        folder_named: false,
        github_named: settings.work.repo.is_some() && settings.work.source.is_none(),
        set: settings.work.source,
        folder_exists: settings.work.from.is_dir(),
        remote_on_github: remote.as_ref().is_some_and(|remote| remote.is_on_github(with)),
    };
    let source = choose_source(at_hand).map_err(|error| Error::usage(error.to_string()))?;
    let issue = match source {
        IssueSource::Folder => of_folder(number, project, settings, streams)?,
        IssueSource::Github => of_github(number, settings, remote, with).await?,
    };
    if issue.state == IssueState::Closed {
        streams.note(&format!("issue {number} is closed, nothing to do"));
        return Ok(None);
    }
    let task = task(&issue).map_err(|blank| Error::usage(format!("issue {number}: {blank}")))?;
    if task.left_out > 0 {
        streams.note(&format!(
            "the text of issue {number} is too long: its last {} characters are left out",
            task.left_out
        ));
    }
    Ok(Some(task.text))
}

/// The issue of a folder. All of its files must be right: what is wrong with one may be its number.
fn of_folder(
    number: IssueNumber,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<Issue, Error> {
    let mut found = Diagnostics::new();
    let folder = &settings.work.from;
    let shown = project.shown(folder);
    let issues = load_folder(&project.source, folder, &shown, &mut found);
    diagnostics::insist(&found.sorted(), settings.strict, streams)?;
    issues
        .into_iter()
        .find(|issue| issue.number == number)
        .ok_or_else(|| Error::usage(format!("there is no issue {number} in `{}`", visible_line(&shown))))
}

async fn of_github(
    number: IssueNumber,
    settings: &Settings,
    remote: Option<Repository>,
    with: &Connections,
) -> Result<Issue, Error> {
    let address = Address::parse(&settings.work.api).map_err(|error| {
        Error::usage(error.to_string()).hint("the setting `work.api` or `GITHUB_API_URL` says so")
    })?;
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let repository = settings.work.repo.clone().or(named).ok_or_else(|| {
        Error::usage("it is not known which repository is meant")
            .hint("write `repo = \"OWNER/NAME\"` into `[work]`")
    })?;
    let token = find_token(address.host(), &with.environment).await.map_err(|error| match error {
        NoToken::Missing { .. } | NoToken::Bad => Error::usage(error.to_string()),
    })?;
    let github = Github::open(Access::new(address, repository, token)).map_err(refused)?;
    github.issue(number).await.map_err(refused)
}

/// What a forge would not give, as the person hears it.
fn refused(error: ForgeError) -> Error {
    match &error {
        ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) => Error::usage(error.to_string()),
        ForgeError::NoRights { .. }
        | ForgeError::RateLimited { .. }
        | ForgeError::Transient { .. }
        | ForgeError::Malformed { .. }
        | ForgeError::Refused { .. }
        | ForgeError::HeadMoved { .. }
        | ForgeError::Ambiguous { .. } => Error::unavailable(visible_line(&error.to_string()).to_string()),
    }
}
