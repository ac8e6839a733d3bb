//! The frozen part of a run outside the user's checkout: its worktree, and the work to deliver.

use std::path::{Path, PathBuf};

use saihai::{WorkDirectory, Workplace};
use saihai_config::issues::{cut, inert_title};
use saihai_config::{Language, WorkSettings};
use saihai_git::{BaseCommit, WorkItem, WorkItemSource};
use saihai_model::{Budget, Issue, IssueNumber, IssueSource, MergeMethod, RepositoryName, Start};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The work of a run and its destination, frozen at the start: a resumed run delivers the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssueAssignment {
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
    pub base: BaseCommit,
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
    pub forge: Option<ForgeDestination>,
    /// Set if the work was handed over before. The run then only does the remaining steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered: Option<EarlierDelivery>,
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
pub struct EarlierDelivery {
    /// The run. Runs of another clone are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// The branch was pushed, but no pull request or comment followed yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only_pushed: bool,
}

/// The destination on a forge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgeDestination {
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

impl IssueAssignment {
    /// Creates an assignment for work in a worktree, without delivery.
    pub fn new(
        issue: &Issue,
        title: String,
        base: BaseCommit,
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
    pub fn item(&self) -> WorkItem {
        issue_item(self.source, self.issue, &self.branch_prefix)
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

impl ForgeDestination {
    /// Returns an address without its password, for a journal. Git receives a token when it needs one.
    pub fn address(url: &str) -> String {
        saihai_git::address(url)
    }
}

/// Returns an issue as an item of the repository.
pub fn issue_item(source: IssueSource, issue: IssueNumber, branch_prefix: &str) -> WorkItem {
    let source = match source {
        IssueSource::Folder => WorkItemSource::Folder,
        IssueSource::Github => WorkItemSource::Forge,
    };
    WorkItem::Issue { number: issue.get(), source, branch_prefix: branch_prefix.to_owned() }
}

/// The worktree of a run without an issue (K-23), frozen when the run starts. Branch and directory carry the run's
/// name, and both stay after the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnTree {
    pub commit: String,
    pub worktree_root: PathBuf,
    /// Files of the user to copy into the worktree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy_files: Vec<String>,
}

impl OwnTree {
    pub fn branch(run: &str) -> String {
        WorkItem::Run { id: run.to_owned() }.branch()
    }
}

/// The workplace of a run outside the user's checkout, frozen when the run starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Placement {
    /// The worktree of an issue.
    Issue(Box<IssueAssignment>),
    /// A worktree of the run's own.
    Own { own_tree: OwnTree },
}

impl Placement {
    /// Returns the placement of a started run, or `None` if it works in the user's checkout.
    pub fn of(start: &Start) -> Option<Self> {
        start.delivery.clone().and_then(|frozen| serde_json::from_value(frozen).ok())
    }

    /// Returns the workplace for a new run. `checkout` is the user's.
    pub fn workplace(&self, checkout: &Path) -> Workplace {
        let directory = match self {
            Self::Issue(assignment) => WorkDirectory::At(assignment.worktree.clone()),
            Self::Own { own_tree } => {
                let root = checkout.join(&own_tree.worktree_root);
                WorkDirectory::NamedAfterRun(root.canonicalize().unwrap_or(root))
            }
        };
        Workplace { directory, frozen: serde_json::to_value(self).expect("it has text keys only") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_an_address_is_kept() {
        let check = |url: &str, expected: &str| assert_eq!(ForgeDestination::address(url), expected);
        check("https://me:secret@github.com/me/tool.git", "https://github.com/me/tool.git");
        check("https://token@github.com/me/tool", "https://github.com/me/tool");
        check("https://github.com/me/a@b", "https://github.com/me/a@b");
        check("ssh://git:secret@host:22/me/tool", "ssh://git@host:22/me/tool");
        check("git@github.com:me/tool.git", "git@github.com:me/tool.git");
        check("/srv/git/tool.git", "/srv/git/tool.git");
    }
}
