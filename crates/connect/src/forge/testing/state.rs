//! State of the forge.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// All state of the forge. There is one repository, `me/tool`, and our account is `saihai-bot`.
#[derive(Debug, Clone)]
pub struct ForgeState {
    /// The URL of its web page.
    pub home: String,
    pub default_branch: String,
    pub issues: BTreeMap<u64, KeptIssue>,
    /// Labels of the repository, each with its colour.
    pub labels: BTreeMap<String, String>,
    pub pull_requests: BTreeMap<u64, KeptPullRequest>,
    /// Checks of commits: name, status, conclusion.
    pub checks: BTreeMap<String, Vec<(String, String, Option<String>)>>,
    /// Statuses of commits: name and state.
    pub statuses: BTreeMap<String, Vec<(String, String)>>,
    /// Boards, by owner and number.
    pub boards: BTreeMap<(String, u64), Board>,
    /// The commit of each branch.
    pub branches: BTreeMap<String, String>,
    /// Number of comments so far.
    pub comments: u64,
    pub redirects: BTreeMap<String, String>,
    /// Contents of paths outside of the repository.
    pub outside: BTreeMap<String, Value>,
    /// A method that is forbidden here.
    pub forbidden_method: Option<String>,
    /// The git repository, for pushes and merges.
    pub git: Option<PathBuf>,
    /// Commits without recorded checks have one green check.
    pub all_green: bool,
    /// A branch rule, such as a required review, blocks every merge. Administrators can still merge.
    pub guarded: bool,
    /// The check of `all_green` has not ended yet.
    pub pending: bool,
    /// A merge closes the issues that its pull request names, as on GitHub.
    pub closes: bool,
    /// Mergeability of new pull requests, as far as the forge knows.
    pub mergeable: Option<bool>,
}

#[derive(Debug, Clone, Default)]
pub struct KeptIssue {
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub closed: bool,
    pub reopened: bool,
    pub is_pull_request: bool,
    pub blocked_by: Vec<(String, u64)>,
    pub comments: Vec<KeptComment>,
    pub assignees: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct KeptComment {
    pub id: u64,
    pub author: String,
    /// The author's role in the repository.
    pub association: String,
    pub body: String,
}

#[derive(Debug, Clone)]
pub struct KeptPullRequest {
    pub title: String,
    pub body: String,
    pub head: String,
    /// The repository of the source branch; absent if it was deleted.
    pub head_repository: Option<String>,
    pub commit: String,
    pub base: String,
    pub draft: bool,
    pub closed: bool,
    pub merged: bool,
    pub mergeable: Option<bool>,
}

#[derive(Debug, Clone, Default)]
pub struct Board(pub Vec<(BoardItem, Option<String>)>);

/// An item of a board, with its status.
#[derive(Debug, Clone)]
pub enum BoardItem {
    /// An issue: repository and number.
    Issue(String, u64),
    PullRequest(String, u64),
    Draft(String),
    /// An item that our account may not see.
    Hidden,
}

impl Default for ForgeState {
    fn default() -> Self {
        Self {
            home: "https://github.com/me/tool".to_owned(),
            default_branch: "main".to_owned(),
            issues: BTreeMap::new(),
            labels: BTreeMap::new(),
            pull_requests: BTreeMap::new(),
            checks: BTreeMap::new(),
            statuses: BTreeMap::new(),
            boards: BTreeMap::new(),
            branches: BTreeMap::new(),
            comments: 0,
            redirects: BTreeMap::new(),
            outside: BTreeMap::new(),
            forbidden_method: None,
            pending: false,
            closes: false,
            mergeable: Some(true),
            git: None,
            all_green: false,
            guarded: false,
        }
    }
}

impl ForgeState {
    pub fn issue(&mut self, number: u64, title: &str, labels: &[&str]) -> &mut KeptIssue {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let kept = KeptIssue { title: title.to_owned(), labels, ..KeptIssue::default() };
        self.issues.insert(number, kept);
        self.issues.get_mut(&number).expect("it was just put there")
    }

    /// Adds an open pull request from a branch of the repository to `main`.
    pub fn pull_request(&mut self, number: u64, head: &str, commit: &str) -> &mut KeptPullRequest {
        let kept = KeptPullRequest {
            title: format!("Change {number}"),
            body: String::new(),
            head: head.to_owned(),
            head_repository: Some("me/tool".to_owned()),
            commit: commit.to_owned(),
            base: "main".to_owned(),
            draft: false,
            closed: false,
            merged: false,
            mergeable: Some(true),
        };
        self.pull_requests.insert(number, kept);
        self.pull_requests.get_mut(&number).expect("it was just put there")
    }

    /// Closes the issues that a text says it closes.
    pub fn close_named_in(&mut self, text: &str) {
        let named = text.lines().filter_map(|line| line.strip_prefix("Closes #")?.parse::<u64>().ok());
        for number in named {
            if let Some(issue) = self.issues.get_mut(&number) {
                issue.closed = true;
            }
        }
    }

    /// Returns the commit of a branch.
    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        let known = self.branches.get(branch).cloned();
        known.or_else(|| self.ask_git(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]))
    }

    /// Merges a commit into a branch of the git repository.
    pub(super) fn merge_in_git(&self, base: &str, commit: &str) -> Option<String> {
        let into = self.tip(base)?;
        let tree = self.ask_git(&["merge-tree", "--write-tree", &into, commit])?;
        let who = ["-c", "user.name=Forge", "-c", "user.email=forge@example.com"];
        let made = ["commit-tree", &tree, "-p", &into, "-p", commit, "-m", "Merge pull request"];
        let merged = self.ask_git(&[&who[..], &made[..]].concat())?;
        self.ask_git(&["update-ref", &format!("refs/heads/{base}"), &merged, &into])?;
        Some(merged)
    }

    /// Returns the head commit of a pull request: the tip of its branch while it is open.
    pub(super) fn head_of(&self, kept: &KeptPullRequest) -> String {
        let is_live =
            self.git.is_some() && !kept.closed && kept.head_repository.as_deref() == Some("me/tool");
        is_live.then(|| self.tip(&kept.head)).flatten().unwrap_or_else(|| kept.commit.clone())
    }

    /// Returns the stored mergeability, unless git reports a conflict.
    pub(super) fn mergeable(&self, kept: &KeptPullRequest) -> Option<bool> {
        let (Some(git), Some(into), false) = (&self.git, self.tip(&kept.base), kept.closed) else {
            return kept.mergeable;
        };
        let mut merge = Command::new("git");
        merge.arg("--git-dir").arg(git).args(["merge-tree", "--write-tree", &into, &self.head_of(kept)]);
        let conflicts = merge.output().is_ok_and(|said| said.status.code() == Some(1));
        if conflicts { Some(false) } else { kept.mergeable }
    }

    fn ask_git(&self, arguments: &[&str]) -> Option<String> {
        let git = self.git.as_ref()?;
        let said = Command::new("git").arg("--git-dir").arg(git).args(arguments).output().ok()?;
        said.status.success().then(|| String::from_utf8_lossy(&said.stdout).trim().to_owned())
    }

    pub(super) fn free_number(&self) -> u64 {
        let last = self.issues.keys().chain(self.pull_requests.keys()).max();
        last.copied().unwrap_or(0) + 1
    }

    pub(super) fn issue_json(&self, number: u64) -> Option<Value> {
        let issue = self.issues.get(&number)?;
        let labels: Vec<Value> = issue.labels.iter().map(|label| json!({"name": label})).collect();
        let mut value = json!({
            "number": number,
            "title": issue.title,
            "body": issue.body,
            "state": if issue.closed { "closed" } else { "open" },
            "state_reason": issue.reopened.then_some("reopened"),
            "labels": labels,
            "user": {"login": "author"},
            "repository_url": "https://api.github.com/repos/me/tool",
        });
        if issue.is_pull_request {
            value["pull_request"] = json!({"url": "…"});
        }
        Some(value)
    }

    pub(super) fn pull_request_json(&self, number: u64) -> Option<Value> {
        let kept = self.pull_requests.get(&number)?;
        let mergeable = self.mergeable(kept);
        Some(json!({
            "number": number,
            "html_url": format!("{}/pull/{number}", self.home),
            "title": kept.title,
            "body": kept.body,
            "state": if kept.closed { "closed" } else { "open" },
            "draft": kept.draft,
            "merged_at": kept.merged.then_some("2026-02-06T08:56:00Z"),
            "head": {
                "ref": kept.head,
                "sha": self.head_of(kept),
                "repo": kept.head_repository.as_ref().map(|name| json!({"full_name": name})),
            },
            "base": {"ref": kept.base},
            "mergeable": mergeable,
            "mergeable_state": match mergeable {
                Some(true) if self.guarded => "blocked",
                Some(true) => "clean",
                Some(false) => "dirty",
                None => "unknown",
            },
        }))
    }
}
