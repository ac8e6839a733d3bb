//! Actions of a run on issues: read, open, comment and close.

use std::collections::BTreeMap;
use std::sync::Arc;

use saihai::{ActionExecutor, ActionFuture, ActionRequest, Driver};
use saihai_config::issues::inert;
use saihai_config::{Settings, Use};
use saihai_connect::Connections;
use saihai_connect::forge::{ForgeError, Github, NewIssue};
use saihai_model::{
    Action, ActionInput, Failure, FailureClass, IssueNumber, IssueState, Json, Label, Outcome, ReplyBlock,
    Workflow,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::definitions::insist_on_providers;
use crate::error::CommandError;
use crate::issue_tracker::{IssueTracker, IssueUnreadable};
use crate::project::Project;
use crate::terminal::Streams;

/// Maximum characters of a title derived from the text (S-67).
const TITLE: usize = 50;

/// Performs a run's actions on issues.
#[derive(Debug)]
pub(super) struct IssueActions {
    tracker: Arc<IssueTracker>,
    /// The issue of the run.
    own: Option<IssueNumber>,
}

impl IssueActions {
    pub(super) fn new(tracker: IssueTracker, own: Option<IssueNumber>) -> Self {
        Self { tracker: Arc::new(tracker), own }
    }
}

impl ActionExecutor for IssueActions {
    fn perform(&self, deed: ActionRequest, stop: CancellationToken) -> ActionFuture {
        let (tracker, own) = (Arc::clone(&self.tracker), self.own);
        Box::pin(async move {
            // An action with effects is not cancelled: it has its own timeout, and a partial effect would be worse.
            let does = perform(&tracker, own, &deed);
            if deed.does != Action::IssueState {
                return does.await.unwrap_or_else(Outcome::Failed);
            }
            tokio::select! {
                done = does => done.unwrap_or_else(Outcome::Failed),
                () = stop.cancelled() => Outcome::Failed(Failure::new(FailureClass::Cancelled, "it was stopped")),
            }
        })
    }
}

async fn perform(
    tracker: &IssueTracker,
    own: Option<IssueNumber>,
    deed: &ActionRequest,
) -> Result<Outcome, Failure> {
    match (&deed.does, &deed.given) {
        (Action::IssueState, _) => look(tracker, of_run(own)?).await,
        (Action::CloseIssue { close, add, remove }, _) => {
            let (github, number) = (github(tracker)?, of_run(own)?);
            github.change_labels(number, add, remove).await.map_err(|error| repeatable(&error))?;
            if *close {
                github.close_issue(number).await.map_err(|error| repeatable(&error))?;
            }
            Ok(done("ok", "issue", number))
        }
        (Action::OpenIssue | Action::Comment, ActionInput::Block(_)) if deed.look_up => {
            Err(refused("it is unknown if this was done before the interruption; Saihai does not repeat it"))
        }
        (Action::OpenIssue, ActionInput::Block(block)) => {
            let made = github(tracker)?.open_issue(&new_issue(block)?).await.map_err(|error| once(&error))?;
            Ok(done("ok", "issue", made.number))
        }
        (Action::Comment, ActionInput::Block(block)) => {
            let number = match block.value.get("issue") {
                Some(named) => number(named).ok_or_else(|| refused(format!("{named} is not an issue")))?,
                None => of_run(own)?,
            };
            let body = inert(&text(block, "content").ok_or_else(|| refused("its `content` is missing"))?);
            github(tracker)?.comment(number, &body).await.map_err(|error| once(&error))?;
            Ok(done("ok", "issue", number))
        }
        (does, _) => {
            Err(Failure::new(FailureClass::BadRequest, format!("`{does:?}` is not done to an issue")))
        }
    }
}

async fn look(tracker: &IssueTracker, number: IssueNumber) -> Result<Outcome, Failure> {
    let issue = tracker.issue(number).await.map_err(|trouble| match trouble {
        IssueUnreadable::Forge(error) => repeatable(&error),
        IssueUnreadable::Folder(why) => Failure::new(FailureClass::BadRequest, why),
    })?;
    let reason = format!("Issue {number} is closed");
    Ok(match issue.state {
        IssueState::Open => done("open", "issue", number),
        IssueState::Closed => {
            let output = BTreeMap::from([("reason".to_owned(), json!(reason))]);
            Outcome::Done { label: Some(Label::from("reached")), output }
        }
    })
}

/// Builds the new issue from a block. Text by an agent must not mention users or close issues.
fn new_issue(block: &ReplyBlock) -> Result<NewIssue, Failure> {
    let content = text(block, "content").unwrap_or_default();
    let title = text(block, "title").unwrap_or_else(|| content.chars().take(TITLE).collect());
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() {
        return Err(refused("it has neither a `title` nor a `content`"));
    }
    Ok(NewIssue {
        title: inert(&title),
        body: inert(&content),
        labels: labels(block)?,
        assignees: text(block, "assignee").into_iter().collect(),
    })
}

/// Reads the labels: a list of strings, or a single string.
fn labels(block: &ReplyBlock) -> Result<Vec<String>, Failure> {
    let wrong = || refused("its `labels` are neither a text nor a list of texts");
    match block.value.get("labels") {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(Json::String(label)) => Ok(vec![label.clone()]),
        Some(Json::Array(labels)) => {
            labels.iter().map(|label| label.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
        }
        Some(Json::Bool(_) | Json::Number(_) | Json::Object(_)) => Err(wrong()),
    }
}

fn text(block: &ReplyBlock, name: &str) -> Option<String> {
    let text = block.value.get(name).and_then(Json::as_str)?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn number(named: &Json) -> Option<IssueNumber> {
    match named {
        Json::String(text) => IssueNumber::parse(text.strip_prefix('#').unwrap_or(text)),
        Json::Number(number) => number.as_u64().and_then(IssueNumber::new),
        Json::Null | Json::Bool(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn of_run(own: Option<IssueNumber>) -> Result<IssueNumber, Failure> {
    own.ok_or_else(|| refused("it names no issue, and the run has none"))
}

fn github(tracker: &IssueTracker) -> Result<&Github, Failure> {
    match tracker {
        IssueTracker::Github(github) => Ok(github),
        IssueTracker::Folder(_) => Err(refused("the issues of this project are files, and not on GitHub")),
        IssueTracker::OnlyLookedAt(_) => {
            Err(refused("`work.forge` is `local`: Saihai reads issues, but does not change them"))
        }
    }
}

fn done(label: &str, key: &str, number: IssueNumber) -> Outcome {
    let output = BTreeMap::from([(key.to_owned(), json!(number.get()))]);
    Outcome::Done { label: Some(Label::from(label)), output }
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::new(FailureClass::Refused, why)
}

/// Converts the error of an action that may be repeated.
fn repeatable(error: &ForgeError) -> Failure {
    let (class, until) = match error {
        ForgeError::Transient { .. } => (FailureClass::Transient, None),
        ForgeError::RateLimited { until } => (FailureClass::RateLimited, *until),
        ForgeError::NoRights { .. } => (FailureClass::Auth, None),
        _ => (FailureClass::BadRequest, None),
    };
    Failure { until, ..Failure::new(class, error.to_string()) }
}

/// Converts the error of an action that must not be repeated (P4).
fn once(error: &ForgeError) -> Failure {
    if matches!(error, ForgeError::Transient { .. }) {
        return refused(format!("{error}; it is unknown if this was done, and Saihai does not repeat it"));
    }
    repeatable(error)
}

/// Creates the handler of a run's external actions. Returns nothing if the run has none.
pub(crate) async fn issue_executor(
    workflow: &Workflow,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<Option<Arc<dyn ActionExecutor>>, CommandError> {
    if !is_about_issue(workflow) {
        return Ok(None);
    }
    insist_on_providers(workflow, with)?;
    streams.diagnose(&settings.check_trust(&[Use::Work]), settings.strict)?;
    let tracker = IssueTracker::of(project, settings, with).await?;
    Ok(Some(Arc::new(IssueActions::new(tracker, workflow.issue))))
}

/// Creates the handler for a known tracker.
pub(crate) fn issue_executor_with(
    workflow: &Workflow,
    tracker: IssueTracker,
) -> Option<Arc<dyn ActionExecutor>> {
    is_about_issue(workflow)
        .then(|| Arc::new(IssueActions::new(tracker, workflow.issue)) as Arc<dyn ActionExecutor>)
}

/// Returns true if the workflow itself uses an issue. Actions of its delivery do not count.
fn is_about_issue(workflow: &Workflow) -> bool {
    let delivers = saihai_delivery::comments(workflow);
    let own = workflow.actions().into_iter().filter(|action| action.does.is_about_issue()).count();
    own > delivers
}

/// Adds the handler to the driver.
pub(crate) fn with_executor(driver: Driver, outside: Option<Arc<dyn ActionExecutor>>) -> Driver {
    match outside {
        Some(outside) => driver.reaching(outside),
        None => driver,
    }
}

#[cfg(test)]
mod issues_tests {
    use super::*;

    /// Returns the result of an action on a folder of issues.
    async fn came(does: Action, value: Json, look_up: bool) -> String {
        let issues = IssueActions::new(IssueTracker::Folder("/nowhere".into()), IssueNumber::new(7));
        let given = ActionInput::Block(ReplyBlock { kind: "x".to_owned(), value });
        let deed =
            ActionRequest { run: "r".to_owned(), does, given, look_up, spent: saihai_model::Cost::default() };
        match issues.perform(deed, CancellationToken::new()).await {
            Outcome::Failed(failure) => format!("{}: {}", failure.class.name(), failure.message),
            other => format!("{other:?}"),
        }
    }

    // S-65, P4
    #[tokio::test]
    async fn after_a_crash_what_may_have_been_done_is_reported_and_not_repeated() {
        for does in [Action::OpenIssue, Action::Comment] {
            let came = came(does, json!({"content": "x"}), true).await;
            assert_eq!(
                came,
                "refused: it is unknown if this was done before the interruption; Saihai does not repeat it"
            );
        }
    }

    #[tokio::test]
    async fn issues_that_are_files_are_looked_at_and_not_written() {
        let content = json!({"content": "x"});
        let opened = came(Action::OpenIssue, content.clone(), false).await;
        assert_eq!(opened, "refused: the issues of this project are files, and not on GitHub");
        let looked = came(Action::IssueState, content, false).await;
        assert_eq!(looked, "bad_request: there is no issue #7 in `/nowhere`");
        let nowhere = came(Action::Comment, json!({"content": "x", "issue": "seven"}), false).await;
        assert_eq!(nowhere, "refused: \"seven\" is not an issue");
    }
}
