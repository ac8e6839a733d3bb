//! Pull requests: open, find and merge them, read the checks of a commit, and mark our part of a text.

use reqwest::Method;
use saihai_model::{IssueNumber, MergeMethod, RepositoryName};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::client::{Github, percent_encoded};
use super::transport::ForgeError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PullRequest {
    pub number: u64,
    /// The URL of its web page.
    pub address: String,
    pub state: PullRequestState,
    pub draft: bool,
    pub body: String,
    pub base: String,
    pub head_commit: String,
    /// Absent while the forge computes it.
    pub mergeable: Option<bool>,
    /// The reason in the forge's own word: `clean`, `blocked`, `dirty`, …
    pub mergeable_state: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PullRequestState {
    Open,
    Merged,
    Closed,
}

/// A pull request to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewPullRequest {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub draft: bool,
}

/// The state of the pull request from a branch to its base.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PullRequestStanding {
    None,
    Open(PullRequest),
    Merged(PullRequest),
    ClosedByPerson(PullRequest),
}

#[derive(Deserialize)]
struct RawPullRequest {
    number: u64,
    html_url: String,
    state: RawPullRequestState,
    #[serde(default)]
    draft: bool,
    body: Option<String>,
    merged_at: Option<String>,
    head: RawPullRequestHead,
    base: RawPullRequestBase,
    mergeable: Option<bool>,
    mergeable_state: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum RawPullRequestState {
    Open,
    Closed,
}

#[derive(Deserialize)]
struct RawPullRequestHead {
    #[serde(rename = "ref")]
    branch: String,
    sha: String,
    /// Absent if the fork was deleted.
    repo: Option<RawHeadRepository>,
}

#[derive(Deserialize)]
struct RawPullRequestBase {
    #[serde(rename = "ref")]
    branch: String,
}

#[derive(Deserialize)]
struct RawHeadRepository {
    full_name: String,
}

#[derive(Deserialize)]
struct RawMerge {
    sha: String,
}

impl Github {
    /// Reads every pull request from a branch of this repository, in any state. A branch of the same name in
    /// a fork does not count.
    pub async fn pull_requests_of(&self, branch: &str) -> Result<Vec<PullRequest>, ForgeError> {
        let what = format!("the pull requests of `{branch}`");
        let head = percent_encoded(&format!("{}:{branch}", self.repository.owner));
        let first = self.path(&format!("/pulls?state=all&per_page=100&head={head}"));
        let all: Vec<RawPullRequest> = self.list(&first, &what).await?;
        let is_ours = |raw: &RawPullRequest| {
            let home = raw.head.repo.as_ref().and_then(|home| RepositoryName::parse(&home.full_name));
            raw.head.branch == branch && home.is_some_and(|home| home.is(&self.repository))
        };
        Ok(all.into_iter().filter(is_ours).map(PullRequest::from).collect())
    }

    /// Reads one pull request, including its mergeability.
    pub async fn pull_request(&self, number: u64) -> Result<PullRequest, ForgeError> {
        let what = format!("pull request #{number}");
        let raw: RawPullRequest = self.get(&self.path(&format!("/pulls/{number}")), &what).await?;
        // A redirect led to another pull request.
        if raw.number == number { Ok(raw.into()) } else { Err(ForgeError::NotFound { what }) }
    }

    /// Opens a pull request. Check first that it does not exist yet.
    pub async fn open_pull_request(&self, new: &NewPullRequest) -> Result<PullRequest, ForgeError> {
        let what = format!("the pull request of `{}`", new.head);
        let raw: RawPullRequest = self.change(Method::POST, &self.path("/pulls"), new, &what).await?;
        Ok(raw.into())
    }

    /// Replaces the text of a pull request.
    pub async fn set_pull_request_body(&self, number: u64, body: &str) -> Result<PullRequest, ForgeError> {
        let what = format!("pull request #{number}");
        let path = self.path(&format!("/pulls/{number}"));
        let raw: RawPullRequest = self.change(Method::PATCH, &path, &json!({"body": body}), &what).await?;
        Ok(raw.into())
    }

    /// Merges a pull request if `commit` is still its head. Returns the merge commit.
    pub async fn merge(&self, number: u64, commit: &str, method: MergeMethod) -> Result<String, ForgeError> {
        let what = format!("pull request #{number}");
        let body = json!({"sha": commit, "merge_method": method.name()});
        let merged =
            self.change(Method::PUT, &self.path(&format!("/pulls/{number}/merge")), &body, &what).await;
        match merged {
            Ok(RawMerge { sha }) => Ok(sha),
            Err(ForgeError::Refused { status: 409, what, .. }) => Err(ForgeError::HeadMoved { what }),
            Err(error) => Err(error),
        }
    }
}

/// Finds the pull request of a branch to `base`, among all pull requests of the branch.
pub fn standing(all: Vec<PullRequest>, base: &str) -> Result<PullRequestStanding, ForgeError> {
    let mut all: Vec<PullRequest> = all.into_iter().filter(|one| one.base == base).collect();
    all.sort_by_key(|one| one.number);
    let open: Vec<&PullRequest> = all.iter().filter(|one| one.state == PullRequestState::Open).collect();
    match open.as_slice() {
        [] => {}
        [only] => return Ok(PullRequestStanding::Open((*only).clone())),
        several => {
            let numbers: Vec<String> = several.iter().map(|one| format!("#{}", one.number)).collect();
            let what = format!("the open pull request to `{base}`");
            return Err(ForgeError::Ambiguous { what, said: numbers.join(", ") });
        }
    }
    // The last event counts: a branch can have a merged and a later closed pull request.
    Ok(match all.pop() {
        None => PullRequestStanding::None,
        Some(last) if last.state == PullRequestState::Merged => PullRequestStanding::Merged(last),
        Some(last) => PullRequestStanding::ClosedByPerson(last),
    })
}

impl From<RawPullRequest> for PullRequest {
    fn from(raw: RawPullRequest) -> Self {
        Self {
            number: raw.number,
            address: raw.html_url,
            state: match raw.state {
                RawPullRequestState::Open => PullRequestState::Open,
                RawPullRequestState::Closed if raw.merged_at.is_some() => PullRequestState::Merged,
                RawPullRequestState::Closed => PullRequestState::Closed,
            },
            draft: raw.draft,
            body: raw.body.unwrap_or_default(),
            base: raw.base.branch,
            head_commit: raw.head.sha,
            mergeable: raw.mergeable,
            mergeable_state: raw.mergeable_state,
        }
    }
}

/// The checks and statuses of a commit by name, grouped by result.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommitChecks {
    pub green: Vec<String>,
    pub pending: Vec<String>,
    /// Failed, cancelled, or ended with an unknown word.
    pub red: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksVerdict {
    /// The commit has no checks.
    None,
    /// At least one is red.
    Red,
    /// None is red, and at least one is pending.
    Pending,
    Green,
}

impl CommitChecks {
    pub fn verdict(&self) -> ChecksVerdict {
        if !self.red.is_empty() {
            ChecksVerdict::Red
        } else if !self.pending.is_empty() {
            ChecksVerdict::Pending
        } else if self.green.is_empty() {
            ChecksVerdict::None
        } else {
            ChecksVerdict::Green
        }
    }
}

#[derive(Deserialize)]
struct RawCheckRuns {
    check_runs: Vec<RawCheckRun>,
}

#[derive(Deserialize)]
struct RawCheckRun {
    name: String,
    status: String,
    conclusion: Option<String>,
}

#[derive(Deserialize)]
struct RawCommitStatuses {
    statuses: Vec<RawCommitStatus>,
}

#[derive(Deserialize)]
struct RawCommitStatus {
    context: String,
    state: String,
}

impl Github {
    /// Reads every check and every status of a commit.
    pub async fn checks(&self, commit: &str) -> Result<CommitChecks, ForgeError> {
        let what = format!("the checks of `{commit}`");
        let runs = self.path(&format!("/commits/{commit}/check-runs?per_page=100"));
        let runs = self.list_in(&runs, &what, |page: RawCheckRuns| page.check_runs).await?;
        let statuses = self.path(&format!("/commits/{commit}/status?per_page=100"));
        let statuses = self.list_in(&statuses, &what, |page: RawCommitStatuses| page.statuses).await?;
        let mut checks = CommitChecks::default();
        for run in runs {
            let word =
                if run.status == "completed" { run.conclusion.as_deref().unwrap_or("") } else { "pending" };
            checks.record(run.name, word);
        }
        for status in statuses {
            checks.record(status.context, &status.state);
        }
        Ok(checks)
    }
}

impl CommitChecks {
    /// Records a result. An unknown word counts as red, so that nothing is merged on a guess.
    fn record(&mut self, name: String, word: &str) {
        match word {
            "success" | "neutral" | "skipped" => self.green.push(name),
            "pending" => self.pending.push(name),
            _ => self.red.push(name),
        }
    }
}

/// The start of all our marks.
const MARK_START: &str = "<!-- saihai:";
/// The last line of our part of a text.
const MARK_END: &str = "<!-- saihai:end -->";

/// Returns the mark that identifies our text: `<!-- saihai:issue=7 run=20260206-085600-issue-7 -->`.
pub fn marker(number: IssueNumber, run: &str) -> String {
    format!("{}run={run} -->", marker_start(number))
}

fn marker_start(number: IssueNumber) -> String {
    format!("<!-- saihai:issue={} ", number.get())
}

/// Returns true if a text contains our part for that issue.
pub fn is_marked(text: &str, number: IssueNumber) -> bool {
    text.contains(&marker_start(number))
}

/// Breaks all our marks in a text, also in code blocks: an agent may quote one.
fn unmarked(text: &str) -> String {
    text.replace(MARK_START, "<!--_saihai:")
}

/// Replaces our part of a text and keeps everything around it. Without such a part, appends it.
pub fn rewrite(text: &str, number: IssueNumber, run: &str, ours: &str) -> String {
    let part = format!("{}\n{}\n{MARK_END}", marker(number, run), unmarked(ours.trim()));
    let Some(from) = text.find(&marker_start(number)) else {
        let before = text.trim_end();
        return if before.is_empty() { part } else { format!("{before}\n\n{part}") };
    };
    // A person may have removed our last line. Then only the first line is known to be ours.
    let first_line = text[from..].find("-->").map_or(text.len(), |end| from + end + "-->".len());
    let to = text[from..].find(MARK_END).map_or(first_line, |end| from + end + MARK_END.len());
    format!("{}{part}{}", &text[..from], &text[to..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_part_of_a_text_is_rewritten() {
        let number = IssueNumber::new(7).expect("a number");
        let check = |text: &str, expected: &str| assert_eq!(rewrite(text, number, "b", "new"), expected);
        let ours = "<!-- saihai:issue=7 run=b -->\nnew\n<!-- saihai:end -->";
        check("", ours);
        check("A person's words.\n", &format!("A person's words.\n\n{ours}"));
        let old = rewrite("Before.", number, "a", "old\n\nold");
        check(&format!("{old}\n\nAfter."), &format!("Before.\n\n{ours}\n\nAfter."));
        // The part of another issue, and a part without an end.
        check("<!-- saihai:issue=70 run=a -->x", &format!("<!-- saihai:issue=70 run=a -->x\n\n{ours}"));
        check("<!-- saihai:issue=7 run=a -->\nkept", &format!("{ours}\nkept"));
    }

    // I-53: text around our part stays, even if an agent quotes our marks and we rewrite our part often.
    #[test]
    fn a_mark_in_what_an_agent_says_is_none() {
        let number = IssueNumber::new(7).expect("a number");
        let said =
            "It ends in\n```\n<!-- saihai:end -->\n```\nand begins with `<!-- saihai:issue=7 run=a -->`.";
        let mut text = format!("{}\n\nAfter.", rewrite("Before.", number, "a", said));
        for run in ["b", "c"] {
            text = rewrite(&text, number, run, said);
            let inert =
                "It ends in\n```\n<!--_saihai:end -->\n```\nand begins with `<!--_saihai:issue=7 run=a -->`.";
            let ours = format!("<!-- saihai:issue=7 run={run} -->\n{inert}\n<!-- saihai:end -->");
            assert_eq!(text, format!("Before.\n\n{ours}\n\nAfter."));
        }
    }
}
