//! Issues as text: files in a folder, their meaning, and their use in prompts and on forges.
//!
//! The author of an issue is untrusted. Saihai parses dependencies from the text, cleans titles and
//! cuts long texts. Before an agent's text goes to a forge, Saihai makes it inert. No file or
//! branch name comes from it.

mod dependencies;
mod folder;
mod text;

use std::ops::RangeInclusive;

use saihai_model::{Issue, IssueNumber, IssueSource};

pub use self::dependencies::{MentionedIssues, mentioned};
pub use self::folder::{ISSUE, load_folder};
pub use self::text::{
    BlankTitle, COMMIT_TITLE, PULL_REQUEST_TITLE, Task, clean_title, cut, inert, inert_excerpt, inert_title,
    task,
};
use crate::diagnostic::quoted;
use crate::settings::WorkSettings;

/// Definition for an issue, and the source that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenDefinition {
    pub name: String,
    pub by: ChosenBy,
    /// Another label of the issue and the different definition that it names.
    pub overruled: Option<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChosenBy {
    Flag,
    Issue,
    /// A label of the issue, through `work.definitions`.
    Label(String),
    Settings,
}

/// Chooses an issue's definition: flag, front matter, labels in settings order, default setting. Returns
/// `None` if nothing names one: Saihai never runs an unnamed definition.
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

/// Available issue sources, and the flags that select one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourcesAtHand {
    /// A flag names a folder.
    pub folder_named: bool,
    /// A flag names a repository, a project or an event.
    pub github_named: bool,
    pub set: Option<IssueSource>,
    pub folder_exists: bool,
    /// The git remote is on GitHub.
    pub remote_on_github: bool,
}

/// Reason why the issue source is undecided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSource {
    #[error("issues come from a folder or from GitHub, and the flags name both")]
    Contradiction,
    #[error(
        "there is a folder of issues, and the remote repository is on GitHub; write `source = \"folder\"` or `source = \
         \"github\"` into `[work]`"
    )]
    Both,
    #[error("there is no folder `.saihai/issues`, and the remote repository is not on GitHub")]
    Neither,
}

/// Chooses the issue source: from flags, from settings, or the only available one.
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

/// Maximum number of selected issues, to catch typing errors.
const MOST: usize = 1000;

/// Reason why a text is not an issue selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSelection {
    #[error("{} is not the number of an issue; write numbers and ranges such as `1,4,7-9`", quoted(.0))]
    NoNumber(String),
    #[error("the range {} ends before it begins", quoted(.0))]
    Backwards(String),
    #[error("{} names more than {MOST} issues", quoted(.0))]
    TooMany(String),
}

/// Parses `1,4,7-9`. Keeps the typed order and removes duplicates.
pub fn parse_selection(text: &str) -> Result<Vec<IssueNumber>, BadSelection> {
    let mut selected: Vec<IssueNumber> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let range = range(part)?;
        let length = (range.end() - range.start()) as usize;
        if selected.len() + length >= MOST {
            return Err(BadSelection::TooMany(text.to_owned()));
        }
        for number in range.filter_map(|number| IssueNumber::new(number.into())) {
            if !selected.contains(&number) {
                selected.push(number);
            }
        }
    }
    Ok(selected)
}

fn range(part: &str) -> Result<RangeInclusive<u32>, BadSelection> {
    let number = |text: &str| {
        let number = IssueNumber::parse(text).map(IssueNumber::get);
        number.ok_or_else(|| BadSelection::NoNumber(part.to_owned()))
    };
    let Some((first, last)) = part.split_once('-') else {
        let only = number(part)?;
        return Ok(only..=only);
    };
    let (first, last) = (number(first)?, number(last)?);
    if last < first { Err(BadSelection::Backwards(part.to_owned())) } else { Ok(first..=last) }
}

#[cfg(test)]
mod tests;
