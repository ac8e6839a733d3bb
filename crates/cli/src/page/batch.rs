//! The issues of `saihai work`, as a board.

use std::collections::BTreeMap;

use saihai_delivery::{IssueRun, Placement, stage};
use saihai_model::{Start, WorkOutcome};

use super::model::{BatchColumn, BatchIssue, BatchPage};
use crate::driving::state_words;
use crate::error::CommandError;
use crate::project::Project;

impl BatchPage {
    /// Takes the newest run of each issue. Issues that no run has begun are known to `saihai work --list` alone.
    pub(super) fn of(projects: &[Project]) -> Result<Self, CommandError> {
        let mut issues = Vec::new();
        for (index, project) in projects.iter().enumerate() {
            let mut newest: BTreeMap<String, BatchIssue> = BTreeMap::new();
            for directory in project.runs().list()? {
                let Ok(start) = directory.start() else { continue };
                let Some(id) = issue_id(start) else { continue };
                if newest.contains_key(&id) {
                    continue;
                }
                // One broken run does not hide the others.
                let Ok(Some(run)) = IssueRun::read(&directory) else { continue };
                newest.insert(id.clone(), batch_issue(index, id, &run));
            }
            issues.extend(newest.into_values());
        }
        Ok(Self { issues })
    }
}

fn issue_id(start: &Start) -> Option<String> {
    match Placement::of(start)? {
        Placement::Issue(assignment) => Some(assignment.issue.to_string()),
        Placement::Own { .. } => None,
    }
}

fn batch_issue(project: usize, id: String, run: &IssueRun) -> BatchIssue {
    let column = match run.outcome() {
        _ if run.is_at_gate() => BatchColumn::AtGate,
        None | Some(WorkOutcome::Elsewhere) => BatchColumn::Working,
        Some(WorkOutcome::Merged) => BatchColumn::Merged,
        Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady) => BatchColumn::InReview,
        Some(WorkOutcome::Waiting) if run.awaits_merge().is_some() => BatchColumn::InReview,
        Some(WorkOutcome::Waiting | WorkOutcome::Limited | WorkOutcome::Provider) => BatchColumn::Waiting,
        Some(_) => BatchColumn::Failed,
    };
    BatchIssue {
        project,
        id,
        title: run.assignment.title.clone(),
        column,
        words: state_words(&run.state),
        run: Some(run.id().to_owned()),
        branch: Some(run.assignment.branch.clone()),
        pull_request: run.outputs.text(stage::PULL_REQUEST, "url").map(str::to_owned),
        depends_on: Vec::new(),
    }
}
