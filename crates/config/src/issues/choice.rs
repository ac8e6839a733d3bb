//! What is chosen for issues where several have a say.

use saihai_model::{Issue, IssueSource};

use crate::settings::WorkSettings;

/// The definition an issue is worked on with, and who named it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenDefinition {
    pub name: String,
    pub by: ChosenBy,
    /// A further label of the issue that names another definition, with that.
    pub overruled: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenBy {
    Flag,
    Issue,
    /// A label of it, by `work.definitions`.
    Label(String),
    Settings,
}

/// Chooses the definition of an issue: that of the flag, of the issue itself, of its labels in the order of the settings, of the
/// settings. None where nobody names one: nothing is ever run that was not named.
pub fn choose_definition(
    issue: &Issue,
    flag: Option<&str>,
    settings: &WorkSettings,
) -> Option<ChosenDefinition> {
    let chosen = |name: &str, by| Some(ChosenDefinition { name: name.to_owned(), by, overruled: None });
    if let Some(name) = flag {
        return chosen(name, ChosenBy::Flag);
    }
    if let Some(name) = &issue.definition {
        return chosen(name, ChosenBy::Issue);
    }
    let mut labelled = settings.definitions.iter().filter(|(label, _)| issue.labels.contains(label));
    if let Some((label, name)) = labelled.next() {
        let other = labelled.find(|(_, other)| *other != name);
        let overruled = other.map(|(label, name)| (label.clone(), name.clone()));
        return Some(ChosenDefinition { name: name.clone(), by: ChosenBy::Label(label.clone()), overruled });
    }
    settings.definition.as_deref().and_then(|name| chosen(name, ChosenBy::Settings))
}

/// What there is to take issues from, and what was said about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourcesAtHand {
    /// A flag names a folder.
    pub folder_named: bool,
    /// A flag names a repository, a project or an event.
    pub github_named: bool,
    pub set: Option<IssueSource>,
    /// The folder of issues is there.
    pub folder_exists: bool,
    /// The remote repository is on GitHub.
    pub remote_on_github: bool,
}

/// Why it is open where issues come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSource {
    #[error("issues come from a folder or from GitHub, and the flags name both")]
    Contradiction,
    #[error(
        "there is a folder of issues, and the remote repository is on GitHub; write `source = \"folder\"` or `source = \
         \"github\"` into `[work]`"
    )]
    Both,
    #[error(
        "there is no folder `.saihai/issues`, and the remote repository is not on GitHub; make the folder, or name one \
         with `--from` or a repository with `--repo`"
    )]
    Neither,
}

/// Chooses where issues come from: what flags name, what is set, or the only one there is.
pub fn choose_source(at_hand: SourcesAtHand) -> Result<IssueSource, NoSource> {
    let SourcesAtHand { folder_named, github_named, set, folder_exists, remote_on_github } = at_hand;
    match (folder_named, github_named, set) {
        (true, true, _) => Err(NoSource::Contradiction),
        (true, false, _) => Ok(IssueSource::Folder),
        (false, true, _) => Ok(IssueSource::Github),
        (false, false, Some(source)) => Ok(source),
        (false, false, None) => match (folder_exists, remote_on_github) {
            (true, false) => Ok(IssueSource::Folder),
            (false, true) => Ok(IssueSource::Github),
            (true, true) => Err(NoSource::Both),
            (false, false) => Err(NoSource::Neither),
        },
    }
}
