//! The assignment of a run: the work to deliver and its destination.

use std::path::{Path, PathBuf};

use saihai_config::issues::{cut, inert_title};
use saihai_config::{Language, WorkSettings};
use saihai_model::{Budget, Issue, IssueNumber, IssueSource, MergeMethod, RepositoryName};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::repository::{self, Base, Item, Source};

/// The work that one run delivers and its destination. It is frozen when the run starts, so a resumed run
/// delivers the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The invocation that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    pub source: IssueSource,
    /// The repository of the issue, if it comes from a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<RepositoryName>,
    pub issue: IssueNumber,
    /// The title, on one line.
    pub title: String,
    /// Hash of the issue text at the start, to detect later edits.
    pub text: String,
    /// The name of the worker: `agent-7`.
    pub instance: String,
    pub branch: String,
    /// The prefix of the branch name.
    pub branch_prefix: String,
    pub base: Base,
    pub worktree: PathBuf,
    pub worktree_root: PathBuf,
    /// Files of the user to copy into the worktree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy_files: Vec<String>,
    /// Take over an existing branch, even one that Saihai did not create.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopt: bool,
    /// The forge to deliver to. `None` keeps the work in this repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<Destination>,
    /// Set if the work was handed over before. The run then only does the remaining steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// The command that must succeed in the merged tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// Cost limit from the definition and the setting for one issue. The budget of the invocation that
    /// started the run is not part of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_budget: Option<Budget>,
    /// The language of published texts: `en` or `ja`.
    pub language: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Delivered {
    /// The run. Runs of another clone are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The branch was pushed, but no pull request or comment followed yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_pushed: bool,
}

/// The destination on a forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The address of the forge's API.
    pub api: String,
    pub repository: RepositoryName,
    /// The push address, read before the first agent starts.
    pub url: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    pub method: MergeMethod,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_checks: bool,
}

impl Assignment {
    /// Creates an assignment for work in a worktree, without delivery.
    pub fn new(
        issue: &Issue,
        title: String,
        base: Base,
        checkout: &Path,
        work: &WorkSettings,
        language: Language,
    ) -> Self {
        let number = issue.number;
        let root = checkout.join(&work.worktree_root);
        Self {
            batch: None,
            source: issue.source,
            home: None,
            issue: number,
            title,
            text: Self::text_of(issue),
            instance: number.instance(),
            branch: number.branch(&work.branch_prefix),
            branch_prefix: work.branch_prefix.clone(),
            base,
            worktree: root.canonicalize().unwrap_or(root).join(number.slug()),
            worktree_root: work.worktree_root.clone(),
            copy_files: work.copy_files.clone(),
            adopt: false,
            forge: None,
            delivered: None,
            verify: None,
            keep: true,
            own_budget: None,
            language: language.name().to_owned(),
        }
    }

    /// Returns a fingerprint of the issue text.
    pub fn text_of(issue: &Issue) -> String {
        Self::fingerprint(&format!("{}\n{}", issue.title, issue.body))
    }

    /// Returns the issue as an item of the repository.
    pub fn item(&self) -> Item {
        let source = match self.source {
            IssueSource::Folder => Source::Folder,
            IssueSource::Github => Source::Forge,
        };
        Item::Issue { number: self.issue.get(), source, branch_prefix: self.branch_prefix.clone() }
    }

    pub fn language(&self) -> Language {
        Language::named(&self.language).unwrap_or_default()
    }

    /// Returns the title for commits and pull requests.
    pub fn titled(&self, most: usize) -> String {
        cut(&inert_title(&self.title), most)
    }

    /// Returns the title followed by the issue number.
    pub fn titled_and_numbered(&self, most: usize) -> String {
        let title = self.titled(most);
        match self.source {
            IssueSource::Folder => format!("{title} ({})", self.issue.slug()),
            IssueSource::Github => format!("{title} ({})", self.issue),
        }
    }

    fn fingerprint(text: &str) -> String {
        Sha256::digest(text.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Destination {
    /// Returns an address without its password, because a journal stores it. Git receives a token when it
    /// needs one.
    pub fn address(url: &str) -> String {
        repository::address(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_an_address_is_kept() {
        let check = |url: &str, expected: &str| assert_eq!(Destination::address(url), expected);
        check("https://me:secret@github.com/me/tool.git", "https://github.com/me/tool.git");
        check("https://token@github.com/me/tool", "https://github.com/me/tool");
        check("https://github.com/me/a@b", "https://github.com/me/a@b");
        check("ssh://git:secret@host:22/me/tool", "ssh://git@host:22/me/tool");
        check("git@github.com:me/tool.git", "git@github.com:me/tool.git");
        check("/srv/git/tool.git", "/srv/git/tool.git");
    }
}
