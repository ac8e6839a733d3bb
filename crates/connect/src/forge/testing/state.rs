//! What the forge keeps.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// Everything the forge keeps. There is one repository, `me/tool`, and we are `saihai-bot` to it.
#[derive(Debug, Clone)]
pub struct ForgeState {
    /// The address of its pages.
    pub home: String,
    /// The branch that is meant where none is named.
    pub default_branch: String,
    pub issues: BTreeMap<u64, KeptIssue>,
    /// Labels of the repository, each with its colour.
    pub labels: BTreeMap<String, String>,
    pub pull_requests: BTreeMap<u64, KeptPullRequest>,
    /// What checks say of commits: name, status, conclusion.
    pub checks: BTreeMap<String, Vec<(String, String, Option<String>)>>,
    /// What statuses say of commits: name and state.
    pub statuses: BTreeMap<String, Vec<(String, String)>>,
    /// Boards, by owner and number.
    pub boards: BTreeMap<(String, u64), Board>,
    /// What a branch points to.
    pub branches: BTreeMap<String, String>,
    /// How many comments there have been.
    pub comments: u64,
    /// Where whoever looks at a path is sent on to.
    pub redirects: BTreeMap<String, String>,
    /// What is to be seen at paths outside of the repository.
    pub outside: BTreeMap<String, Value>,
    /// A method that is forbidden here.
    pub forbidden_method: Option<String>,
    /// The repository itself, where branches are pushed to and merged in.
    pub git: Option<PathBuf>,
    /// A check is green for every commit that nothing else is said of.
    pub all_green: bool,
    /// Whether a rule of the branch, such as a review, stands before every merge. Who may do anything may merge all the same.
    pub guarded: bool,
    /// Such a check has not ended yet.
    pub pending: bool,
    /// Whether a merge closes the issues that its pull request says it closes, as on GitHub itself.
    pub closes: bool,
    /// Whether new pull requests can be merged, as far as the forge knows.
    pub mergeable: Option<bool>,
}

#[derive(Debug, Clone, Default)]
pub struct KeptIssue {
    pub title: String,
    pub body: String,
    pub labels: Vec<String>,
    pub closed: bool,
    /// Whether it was opened again.
    pub reopened: bool,
    /// Whether it is a pull request, as this forge counts them.
    pub is_pull_request: bool,
    /// What blocks it: repository and number.
    pub blocked_by: Vec<(String, u64)>,
    pub comments: Vec<KeptComment>,
    /// Who is to see to it.
    pub assignees: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct KeptComment {
    pub id: u64,
    pub author: String,
    /// What they are to the repository.
    pub association: String,
    pub body: String,
}

#[derive(Debug, Clone)]
pub struct KeptPullRequest {
    pub title: String,
    pub body: String,
    /// The branch it comes from.
    pub head: String,
    /// The repository that branch is in; absent where that is gone.
    pub head_repository: Option<String>,
    /// The commit at its head.
    pub commit: String,
    /// The branch it goes to.
    pub base: String,
    /// Whether it is a draft.
    pub draft: bool,
    pub closed: bool,
    pub merged: bool,
    /// Whether it can be merged.
    pub mergeable: Option<bool>,
}

#[derive(Debug, Clone, Default)]
pub struct Board(pub Vec<(BoardItem, Option<String>)>);

/// What stands on a board, with its status.
#[derive(Debug, Clone)]
pub enum BoardItem {
    /// An issue: repository and number.
    Issue(String, u64),
    PullRequest(String, u64),
    Draft(String),
    /// Something we may not see.
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

    /// Closes what a text says it closes.
    pub fn close_named_in(&mut self, text: &str) {
        let named = text.lines().filter_map(|line| line.strip_prefix("Closes #")?.parse::<u64>().ok());
        for number in named {
            if let Some(issue) = self.issues.get_mut(&number) {
                issue.closed = true;
            }
        }
    }

    /// What a branch points to.
    pub(super) fn tip(&self, branch: &str) -> Option<String> {
        let known = self.branches.get(branch).cloned();
        known.or_else(|| self.ask_git(&["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")]))
    }

    /// Merges a commit into a branch of the repository itself.
    pub(super) fn merge_in_git(&self, base: &str, commit: &str) -> Option<String> {
        let into = self.tip(base)?;
        let tree = self.ask_git(&["merge-tree", "--write-tree", &into, commit])?;
        let who = ["-c", "user.name=Forge", "-c", "user.email=forge@example.com"];
        let made = ["commit-tree", &tree, "-p", &into, "-p", commit, "-m", "Merge pull request"];
        let merged = self.ask_git(&[&who[..], &made[..]].concat())?;
        self.ask_git(&["update-ref", &format!("refs/heads/{base}"), &merged, &into])?;
        Some(merged)
    }

    /// The commit at the head of a pull request: where its branch is now, as long as it is open.
    pub(super) fn head_of(&self, kept: &KeptPullRequest) -> String {
        let is_live =
            self.git.is_some() && !kept.closed && kept.head_repository.as_deref() == Some("me/tool");
        is_live.then(|| self.tip(&kept.head)).flatten().unwrap_or_else(|| kept.commit.clone())
    }

    /// Whether a pull request can be merged: as it is kept, unless git itself says that it conflicts.
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

    /// A number that nothing has yet.
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
