//! What one run is to deliver, and where.

use std::path::{Path, PathBuf};

use saihai_config::issues::{cut, inert_title};
use saihai_config::{Language, WorkSettings};
use saihai_model::{Budget, Issue, IssueNumber, IssueSource, MergeMethod, RepositoryName};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::repository::{self, Base, Item, Source};

/// What one run is to deliver, and where: frozen with its beginning, so that whoever goes on with it delivers the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assignment {
    /// The invocation that began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
    pub source: IssueSource,
    /// The repository it is an issue of, where it is one of a repository's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<RepositoryName>,
    pub issue: IssueNumber,
    /// Its title, on one line.
    pub title: String,
    /// A hash of its text then, to see that somebody has edited it.
    pub text: String,
    /// What the one who works on it is called: `agent-7`.
    pub instance: String,
    pub branch: String,
    /// What the branch's name begins with.
    pub branch_prefix: String,
    pub base: Base,
    pub worktree: PathBuf,
    pub worktree_root: PathBuf,
    /// Files of the user's that are copied there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy_files: Vec<String>,
    /// A branch that is there is taken over, whoever made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub adopt: bool,
    /// Where it goes; nowhere where it stays in this repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forge: Option<Destination>,
    /// It was handed over before, and only what is left of that is done now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<Delivered>,
    /// What must succeed in the merged tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// What it may cost whoever drives it: by its definition, and by what is set for one issue. What the invocation gave it that
    /// began it is no part of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_budget: Option<Budget>,
    /// The language of what people read: `en` or `ja`.
    pub language: String,
}

/// Who has handed work over.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Delivered {
    /// The run; another clone's is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// It came no further than to the server: nobody was told of it yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_pushed: bool,
}

/// Where on a forge it goes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Destination {
    /// The address of the forge's interface.
    pub api: String,
    pub repository: RepositoryName,
    /// The address that is pushed to, as it was before the first agent.
    pub url: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
    pub method: MergeMethod,
    /// They are merged also where there are no checks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_checks: bool,
}

impl Assignment {
    /// The work on an issue in a worktree of its own, of which nothing is delivered.
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

    /// By what the text of an issue is known again.
    pub fn text_of(issue: &Issue) -> String {
        Self::fingerprint(&format!("{}\n{}", issue.title, issue.body))
    }

    /// The issue as the repository knows it.
    pub fn item(&self) -> Item {
        let source = match self.source {
            IssueSource::Folder => Source::Folder,
            IssueSource::Github => Source::Forge,
        };
        Item::Issue { number: self.issue.get(), source, branch_prefix: self.branch_prefix.clone() }
    }

    /// The language of what people read.
    pub fn language(&self) -> Language {
        Language::named(&self.language).unwrap_or_default()
    }

    /// The title as commits and pull requests have it.
    pub fn titled(&self, most: usize) -> String {
        cut(&inert_title(&self.title), most)
    }

    /// The same with the number behind it.
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
    /// An address without the password that may stand in it: it is kept in a journal, and git is lent a token where it needs one.
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
