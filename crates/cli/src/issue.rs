//! The issue of a run.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use saihai_config::issues::{SourcesAtHand, choose_source, clean_title, load_folder, task};
use saihai_config::{Comments, Diagnostics, DiskSource, ForgeKind, Settings, Use};
use saihai_connect::Connections;
use saihai_connect::forge::{
    ForgeAccess, ForgeAddress, ForgeComment, ForgeError, ForgeTokenError, Github, find_token,
};
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState, Json, RepositoryName};

use crate::diagnostics;
use crate::error::Error;
use crate::project::Project;
use crate::repository::Repository;
use crate::terminal::{Streams, visible_line};

/// The location of a project's issues.
pub(crate) enum Tracker {
    /// A folder of the project.
    Folder(PathBuf),
    Github(Github),
    /// GitHub, read-only: with the forge `local` nothing leaves the machine (I-61).
    OnlyLookedAt(Github),
}

/// A reason why an issue is not readable.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The folder does not contain the issue, or is invalid.
    Folder(String),
    /// The forge does not return the issue.
    Forge(ForgeError),
}

impl fmt::Debug for Tracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
            Self::Github(github) => f.debug_tuple("Github").field(github.repository()).finish(),
            Self::OnlyLookedAt(github) => f.debug_tuple("OnlyLookedAt").field(github.repository()).finish(),
        }
    }
}

impl Tracker {
    /// Opens the tracker from the settings and the project's remote. The settings of `work` must be trusted.
    pub(crate) async fn of(
        project: &Project,
        settings: &Settings,
        with: &Connections,
    ) -> Result<Self, Error> {
        let remote = Repository::of_project(&project.places.root, &settings.work.remote, with).await;
        let at_hand = SourcesAtHand {
            folder_named: false,
            github_named: settings.work.repo.is_some() && settings.work.source.is_none(),
            set: settings.work.source,
            folder_exists: settings.work.from.is_dir(),
            remote_on_github: remote.as_ref().is_some_and(|remote| remote.is_on_github(with)),
        };
        match choose_source(at_hand).map_err(|error| Error::usage(error.to_string()))? {
            IssueSource::Folder => Ok(Self::Folder(settings.work.from.clone())),
            IssueSource::Github => {
                let forge = settings.work.forge.unwrap_or(ForgeKind::Github);
                Ok(Self::on(open(settings, remote, with).await?, forge))
            }
        }
    }

    /// Creates a tracker for GitHub issues whose results go to this forge.
    pub(crate) fn on(github: Github, forge: ForgeKind) -> Self {
        match forge {
            ForgeKind::Github => Self::Github(github),
            ForgeKind::Local => Self::OnlyLookedAt(github),
        }
    }

    /// Reads the current state of an issue.
    pub(crate) async fn issue(&self, number: IssueNumber) -> Result<Issue, Trouble> {
        match self {
            Self::Github(github) | Self::OnlyLookedAt(github) => {
                github.issue(number).await.map_err(Trouble::Forge)
            }
            Self::Folder(folder) => {
                let (mut found, shown) = (Diagnostics::new(), folder.display().to_string());
                let issues = load_folder(&DiskSource, folder, &shown, &mut found);
                let issue = issues.into_iter().find(|issue| issue.number == number);
                issue.ok_or_else(|| Trouble::Folder(format!("there is no issue {number} in `{shown}`")))
            }
        }
    }
}

/// Returns the prompt variables of an issue (S-8: variables from `github`).
pub(crate) fn subject(issue: &Issue) -> BTreeMap<String, Json> {
    let texts = [
        ("issue_title", issue.title.clone()),
        ("issue_body", issue.body.clone()),
        ("issue_labels", issue.labels.join(", ")),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), Json::String(text))).collect()
}

/// The treatment of a closed issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    IsDone,
    IsLookedAt,
}

/// The issue to work on, and the treatment of a closed one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) number: IssueNumber,
    pub(crate) closed: Closed,
}

/// Reads the task from an issue. Returns nothing for a closed issue, and prints a note.
pub(crate) async fn task_of(
    Wanted { number, closed }: Wanted,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<Option<(String, Issue)>, Error> {
    diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
    let mut told = None;
    let issue = match Tracker::of(project, settings, with).await? {
        Tracker::Folder(_) => of_folder(number, project, settings, streams)?,
        Tracker::Github(github) | Tracker::OnlyLookedAt(github) => {
            let issue = github.issue(number).await.map_err(refused)?;
            if settings.work.comments == Comments::Trusted {
                told = Some(with_comments(&issue, github.comments(number).await.map_err(refused)?));
            }
            issue
        }
    };
    if issue.state == IssueState::Closed && closed == Closed::IsDone {
        streams.note(&format!("issue {number} is closed, nothing to do"));
        return Ok(None);
    }
    let said = task(told.as_ref().unwrap_or(&issue), &settings.work.label_prefix);
    let task = said.map_err(|blank| Error::usage(format!("issue {number}: {blank}")))?;
    if task.left_out > 0 {
        streams.note(&format!(
            "the text of issue {number} is too long: {} at its end left out",
            crate::report::count(task.left_out as u64, "character")
        ));
    }
    Ok(Some((task.text, issue)))
}

/// Adds the comments of authors that the repository trusts.
pub(crate) fn with_comments(issue: &Issue, comments: Vec<ForgeComment>) -> Issue {
    let mut issue = issue.clone();
    for comment in comments.into_iter().filter(|comment| comment.trusted) {
        let author = clean_title(&comment.author.unwrap_or_default()).unwrap_or_default();
        issue.body.push_str(&format!("\n\n---\nComment by {author}:\n\n{}", comment.body));
    }
    issue
}

/// Reads an issue from a folder. All files must be valid, because an invalid file may have this number.
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

/// Opens the forge with the project's issues and pull requests.
pub(crate) async fn open(
    settings: &Settings,
    remote: Option<Repository>,
    with: &Connections,
) -> Result<Github, Error> {
    let address = ForgeAddress::parse(&settings.work.api).map_err(|error| {
        Error::usage(error.to_string()).hint("the setting `work.api` or `GITHUB_API_URL` says so")
    })?;
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let repository = settings.work.repo.clone().or(named).ok_or_else(|| {
        Error::usage("it is not known which repository is meant")
            .hint("write `repo = \"OWNER/NAME\"` into `[work]`")
    })?;
    let token = find_token(address.host(), &with.environment).await.map_err(|error| match error {
        ForgeTokenError::Missing { .. } | ForgeTokenError::Malformed => Error::usage(error.to_string()),
    })?;
    Github::open(ForgeAccess::new(address, repository, token)).map_err(refused)
}

/// Converts an error of the forge for the user.
pub(crate) fn refused(error: ForgeError) -> Error {
    match &error {
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
