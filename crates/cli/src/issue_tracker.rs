//! The issues of a project: their tracker, the remote repository, and the forge that agents may read.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use saihai_config::issues::{NoSource, SourcesAtHand, choose_source, clean_title, load_folder, task};
use saihai_config::{Comments, Diagnostics, DiskSource, ForgeKind, Settings, Use};
use saihai_connect::forge::{
    ForgeAccess, ForgeAddress, ForgeComment, ForgeError, ForgeRepository, Github, find_token,
};
use saihai_connect::{Connections, program, remote};
use saihai_model::{
    Issue, IssueNumber, IssueSource, IssueState, Json, ProviderKind, RepositoryName, Stage, Turn, Workflow,
};

use crate::error::CommandError;
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

/// The location of a project's issues.
pub(crate) enum IssueTracker {
    /// A folder of the project.
    Folder(PathBuf),
    Github(Github),
    /// GitHub, read-only: with the forge `local` nothing leaves the machine (I-61).
    OnlyLookedAt(Github),
}

/// A reason why an issue is not readable.
#[derive(Debug)]
pub(crate) enum IssueUnreadable {
    /// The folder does not contain the issue, or is invalid.
    Folder(String),
    /// The forge does not return the issue.
    Forge(ForgeError),
}

impl fmt::Debug for IssueTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => f.debug_tuple("Folder").field(folder).finish(),
            Self::Github(github) => f.debug_tuple("Github").field(github.repository()).finish(),
            Self::OnlyLookedAt(github) => f.debug_tuple("OnlyLookedAt").field(github.repository()).finish(),
        }
    }
}

impl IssueTracker {
    /// Opens the tracker from the settings and the project's remote. The settings of `work` must be trusted.
    pub(crate) async fn of(
        project: &Project,
        settings: &Settings,
        with: &Connections,
    ) -> Result<Self, CommandError> {
        let remote = RemoteRepository::of_project(&project.places.root, &settings.work.remote, with).await;
        let at_hand = SourcesAtHand {
            folder_named: false,
            github_named: settings.work.repo.is_some() && settings.work.source.is_none(),
            set: settings.work.source,
            folder_exists: settings.work.from.is_dir(),
            remote_on_github: remote.as_ref().is_some_and(|remote| remote.is_on_github(with)),
        };
        let in_settings = "create the folder, or set `from` or `repo` in `[work]` of `.saihai/config.toml`";
        match choose_source(at_hand).map_err(|error| no_source(error, in_settings))? {
            IssueSource::Folder => Ok(Self::Folder(settings.work.from.clone())),
            IssueSource::Github => {
                let forge = settings.work.forge.unwrap_or(ForgeKind::Github);
                Ok(Self::on(open_github(settings, remote, with).await?, forge))
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
    pub(crate) async fn issue(&self, number: IssueNumber) -> Result<Issue, IssueUnreadable> {
        match self {
            Self::Github(github) | Self::OnlyLookedAt(github) => {
                github.issue(number).await.map_err(IssueUnreadable::Forge)
            }
            Self::Folder(folder) => {
                let (mut found, shown) = (Diagnostics::new(), folder.display().to_string());
                let issues = load_folder(&DiskSource, folder, &shown, &mut found);
                let issue = issues.into_iter().find(|issue| issue.number == number);
                issue.ok_or_else(|| {
                    IssueUnreadable::Folder(format!("there is no issue {number} in `{shown}`"))
                })
            }
        }
    }
}

/// Returns the prompt variables of an issue (S-8: variables from `github`).
pub(crate) fn issue_variables(issue: &Issue) -> BTreeMap<String, Json> {
    let texts = [
        ("issue_title", issue.title.clone()),
        ("issue_body", issue.body.clone()),
        ("issue_labels", issue.labels.join(", ")),
    ];
    texts.into_iter().map(|(name, text)| (name.to_owned(), Json::String(text))).collect()
}

/// The treatment of a closed issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClosedIssue {
    IsDone,
    IsLookedAt,
}

/// The issue to work on, and the treatment of a closed one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IssueTask {
    pub(crate) number: IssueNumber,
    pub(crate) closed: ClosedIssue,
}

/// Reads the task from an issue. Returns nothing for a closed issue, and prints a note.
pub(crate) async fn issue_task(
    IssueTask { number, closed }: IssueTask,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<Option<(String, Issue)>, CommandError> {
    streams.diagnose(&settings.check_trust(&[Use::Work]), settings.strict)?;
    let mut told = None;
    let issue = match IssueTracker::of(project, settings, with).await? {
        IssueTracker::Folder(_) => of_folder(number, project, settings, streams)?,
        IssueTracker::Github(github) | IssueTracker::OnlyLookedAt(github) => {
            let issue = github.issue(number).await.map_err(forge_error)?;
            if settings.work.comments == Comments::Trusted {
                told = Some(with_comments(&issue, github.comments(number).await.map_err(forge_error)?));
            }
            issue
        }
    };
    if issue.state == IssueState::Closed && closed == ClosedIssue::IsDone {
        streams.note(&format!("issue {number} is closed, nothing to do"));
        return Ok(None);
    }
    let said = task(told.as_ref().unwrap_or(&issue), &settings.work.label_prefix);
    let task = said.map_err(|blank| CommandError::usage(format!("issue {number}: {blank}")))?;
    if task.left_out > 0 {
        streams.note(&format!(
            "the text of issue {number} is too long: {} at its end left out",
            crate::quantities::count(task.left_out as u64, "character")
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

/// Builds the error for issues of unknown origin. The hint says how the command at hand can name one.
pub(crate) fn no_source(error: NoSource, how: &str) -> CommandError {
    let refused = CommandError::usage(error.to_string());
    match error {
        NoSource::Neither => refused.hint(how),
        NoSource::Both | NoSource::Contradiction => refused,
    }
}

/// Reads an issue from a folder. All files must be valid, because an invalid file may have this number.
fn of_folder(
    number: IssueNumber,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<Issue, CommandError> {
    let mut found = Diagnostics::new();
    let folder = &settings.work.from;
    let shown = project.shown(folder);
    let issues = load_folder(&project.source, folder, &shown, &mut found);
    streams.diagnose(&found.sorted(), settings.strict)?;
    issues.into_iter().find(|issue| issue.number == number).ok_or_else(|| {
        CommandError::usage(format!("there is no issue {number} in `{}`", visible_line(&shown)))
    })
}

/// Opens the forge with the project's issues and pull requests.
pub(crate) async fn open_github(
    settings: &Settings,
    remote: Option<RemoteRepository>,
    with: &Connections,
) -> Result<Github, CommandError> {
    let address = ForgeAddress::parse(&settings.work.api).map_err(|error| {
        CommandError::usage(error.to_string()).hint("the address comes from `work.api` or `GITHUB_API_URL`")
    })?;
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let repository = settings.work.repo.clone().or(named).ok_or_else(|| {
        CommandError::usage("cannot determine the GitHub repository")
            .hint("set `repo = \"OWNER/NAME\"` in `[work]`")
    })?;
    let token = find_token(address.host(), &with.environment).await;
    let token = token.map_err(|error| CommandError::usage(error.to_string()))?;
    Github::open(ForgeAccess::new(address, repository, token)).map_err(forge_error)
}

/// Converts an error of the forge for the user.
pub(crate) fn forge_error(error: ForgeError) -> CommandError {
    let message = visible_line(&error.to_string()).into_owned();
    match error {
        ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) | ForgeError::Transferred { .. } => {
            CommandError::usage(message)
        }
        _ => CommandError::unavailable(message),
    }
}

/// A repository on a forge.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RemoteRepository {
    /// The host name in lower case.
    pub(crate) host: String,
    pub(crate) name: String,
}

const GITHUB: &str = "github.com";
/// The environment variable that names a GitHub Enterprise server for `gh`.
pub(crate) const OWN_HOST: &str = "GH_HOST";

impl RemoteRepository {
    /// Returns the remote with this name, or otherwise any remote. Returns nothing without git or without a remote.
    pub(crate) async fn of_project(root: &Path, name: &str, with: &Connections) -> Option<Self> {
        let (git, _) = program("git", with).await?;
        Self::of(&remote(&git, root, name, with).await?)
    }

    /// Returns true for GitHub and for the server in `GH_HOST`.
    pub(crate) fn is_on_github(&self, with: &Connections) -> bool {
        let own =
            with.environment.iter().find(|(name, _)| name == OWN_HOST).and_then(|(_, value)| value.to_str());
        self.host == GITHUB || own.is_some_and(|own| own.eq_ignore_ascii_case(&self.host))
    }

    /// Parses the address of a remote. Always drops a user or a password.
    pub(crate) fn of(address: &str) -> Option<Self> {
        let (place, path) = match address.split_once("://") {
            Some(("https" | "http" | "ssh" | "git", rest)) => rest.split_once('/')?,
            Some(_) => return None,
            // The `scp` form. A local path has a slash before any colon.
            None => address.split_once(':').filter(|(place, _)| !place.contains('/'))?,
        };
        let host = place.rsplit_once('@').map_or(place, |(_, host)| host);
        let host = host.split_once(':').map_or(host, |(host, _)| host).to_ascii_lowercase();
        let name = path.trim_matches('/');
        let name = name.strip_suffix(".git").unwrap_or(name);
        let parts: Vec<&str> = name.split('/').collect();
        let is_whole = parts.len() >= 2 && parts.iter().all(|part| !part.is_empty()) && !host.is_empty();
        is_whole.then(|| Self { host, name: name.to_owned() })
    }
}

/// Tools that read from the forge.
const LOOKING: [&str; 3] = ["gh_read", "pr_view", "issue_view"];

/// Adds the readable repository to the connections, if a turn has such a tool and Saihai runs it. Saihai sends a
/// token there, so the project's settings must be trusted.
pub(crate) async fn with_forge(
    with: Connections,
    workflow: &Workflow,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<Connections, CommandError> {
    let mut turns = workflow.stages.values().flat_map(Stage::turns);
    if !turns.any(|turn| looks(turn, settings)) {
        return Ok(with);
    }
    streams.diagnose(&settings.check_trust(&[Use::Work]), settings.strict)?;
    let address = ForgeAddress::parse(&settings.work.api).map_err(|error| {
        CommandError::usage(error.to_string()).hint("the address comes from `work.api` or `GITHUB_API_URL`")
    })?;
    let remote = RemoteRepository::of_project(&project.places.root, &settings.work.remote, &with).await;
    let remote = remote.filter(|remote| remote.is_on_github(&with));
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let Some(repository) = settings.work.repo.clone().or(named) else {
        streams.warning("agents cannot read issues and pull requests: the GitHub repository is unknown");
        streams.note("set `repo = \"OWNER/NAME\"` in `[work]`");
        return Ok(with);
    };
    Ok(Connections { forge: Some(ForgeRepository { address, repository }), ..with })
}

/// Returns true if Saihai runs such a tool for the turn. Agent programs bring their own tools.
fn looks(turn: &Turn, settings: &Settings) -> bool {
    let asks = turn.tools.iter().flatten().any(|tool| LOOKING.contains(&tool.as_str()));
    let kind = settings.provider(turn.provider.as_str()).map(|provider| provider.kind);
    asks && matches!(kind, Some(ProviderKind::Anthropic | ProviderKind::Openai))
}

#[cfg(test)]
mod repository_tests {
    use super::*;

    // C-86
    #[test]
    fn a_repository_is_known_by_its_address_and_no_secret_in_it_is_kept() {
        let check = |address: &str, expected: Option<(&str, &str)>| {
            let found = RemoteRepository::of(address);
            let found = found.as_ref().map(|found| (found.host.as_str(), found.name.as_str()));
            assert_eq!(found, expected, "{address}");
        };
        let ours = Some(("github.com", "me/tool"));
        check("https://github.com/me/tool.git", ours);
        check("https://me:secret@GitHub.com/me/tool", ours);
        check("git@github.com:me/tool.git", ours);
        check("ssh://git@github.com:22/me/tool/", ours);
        check("https://gitlab.com/a/b/c.git", Some(("gitlab.com", "a/b/c")));
        check("/srv/git/tool.git", None);
        check("../tool", None);
        check("file:///srv/git/tool.git", None);
        check("https://github.com/tool", None);
        check("", None);
    }
}
