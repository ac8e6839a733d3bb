//! The issues of `saihai work`, as a board.

use std::collections::BTreeMap;

use saihai_config::Diagnostics;
use saihai_config::issues::load_folder;
use saihai_delivery::{IssueRun, Placement, stage};
use saihai_model::{Issue, IssueState, WorkOutcome};
use saihai_view::RunState;

use super::model::{BatchColumn, BatchIssue, BatchPage};
use super::projects::ServedProjects;
use crate::commands::work::{ListedIssue, last_listed_issues};
use crate::driving::state_words;
use crate::error::CommandError;
use crate::project::Project;

impl BatchPage {
    /// Takes the newest run of each issue, and the issues that no run has begun: those of the project's folder, and those
    /// that the last `saihai work` has listed. A forge is not asked: looking at a page needs no token.
    pub(super) fn of(projects: &ServedProjects) -> Result<Self, CommandError> {
        let mut issues = Vec::new();
        for (index, project) in projects.all().iter().enumerate() {
            let mut found: BTreeMap<u32, BatchIssue> = BTreeMap::new();
            for directory in project.runs().list()? {
                let Some(Placement::Issue(assignment)) = directory.start().ok().and_then(Placement::of)
                else {
                    continue;
                };
                let number = assignment.issue.get();
                if found.contains_key(&number) {
                    continue;
                }
                // One broken run does not hide the others.
                let Ok(Some(run)) = IssueRun::read(&directory) else { continue };
                let address = projects.address(index, run.id());
                found.insert(number, begun(index, address, &run));
            }
            for issue in folder_issues(project) {
                let one = found.entry(issue.number.get()).or_insert_with(|| not_begun(index, &issue));
                one.depends_on = issue.depends_on.iter().map(ToString::to_string).collect();
            }
            for issue in last_listed_issues(project) {
                let one = found.entry(issue.number).or_insert_with(|| listed(index, &issue));
                if one.depends_on.is_empty() {
                    one.depends_on = issue.depends_on.iter().map(|number| format!("#{number}")).collect();
                }
            }
            issues.extend(found.into_values());
        }
        Ok(Self { issues })
    }
}

/// Reads the issues of the project's folder, if it has one. `saihai check` reports mistakes in them.
fn folder_issues(project: &Project) -> Vec<Issue> {
    let folder = project.load_settings(false, &mut Diagnostics::new()).work.from;
    if !folder.is_dir() {
        return Vec::new();
    }
    load_folder(&project.source, &folder, &project.shown(&folder), &mut Diagnostics::new())
}

fn not_begun(project: usize, issue: &Issue) -> BatchIssue {
    let (column, words) = match issue.state {
        IssueState::Open => (BatchColumn::Waiting, "not begun"),
        IssueState::Closed => (BatchColumn::Merged, "closed"),
    };
    let (id, title) = (issue.number.to_string(), issue.title.clone());
    BatchIssue { column, words: words.to_owned(), ..waiting(project, id, title) }
}

fn listed(project: usize, issue: &ListedIssue) -> BatchIssue {
    waiting(project, format!("#{}", issue.number), issue.title.clone())
}

fn waiting(project: usize, id: String, title: String) -> BatchIssue {
    BatchIssue {
        project,
        id,
        title,
        column: BatchColumn::Waiting,
        words: "not begun".to_owned(),
        run: None,
        branch: None,
        pull_request: None,
        depends_on: Vec::new(),
        checks: None,
    }
}

fn begun(project: usize, address: String, run: &IssueRun) -> BatchIssue {
    let is_at_gate = run.is_at_gate() || matches!(run.state, RunState::Running { gate: Some(_), .. });
    let column = match run.outcome() {
        _ if is_at_gate => BatchColumn::AtGate,
        None | Some(WorkOutcome::Elsewhere) => BatchColumn::Working,
        Some(WorkOutcome::Merged | WorkOutcome::NoChanges | WorkOutcome::Closed) => BatchColumn::Merged,
        Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady) => BatchColumn::InReview,
        Some(WorkOutcome::Waiting) if run.awaits_merge().is_some() => BatchColumn::InReview,
        Some(WorkOutcome::Waiting | WorkOutcome::Limited | WorkOutcome::Provider | WorkOutcome::Paused) => {
            BatchColumn::Waiting
        }
        Some(_) => BatchColumn::Failed,
    };
    let red = run.outputs.text(stage::CHECKS, "why");
    let checks = match (red, run.outputs.has(stage::CHECKS)) {
        (Some(red), _) => Some(format!("failed: {red}")),
        (None, true) => Some("passed".to_owned()),
        (None, false) => None,
    };
    BatchIssue {
        project,
        id: run.assignment.issue.to_string(),
        title: run.assignment.title.clone(),
        column,
        words: state_words(&run.state),
        run: Some(address),
        branch: Some(run.assignment.branch.clone()),
        pull_request: run.outputs.text(stage::PULL_REQUEST, "url").map(str::to_owned),
        depends_on: Vec::new(),
        checks,
    }
}
