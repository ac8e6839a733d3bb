//! A run as a row of the page.

use std::collections::BTreeSet;

use saihai::RunDirectory;
use saihai_delivery::Placement;
use saihai_model::{FileChangeCounts, Millis, Start, Usd};
use saihai_view::{AttemptResult, RunSpending, RunState, RunView};

use super::model::{BudgetUse, PageChangeCounts, PageRow, PageState};
use super::projects::ServedProjects;
use crate::quantities::{count, grouped, length};
use crate::watching::{FollowedRow, RunStanding, SeenRun, StandingKind};

impl FollowedRow for PageRow {
    fn of(run: &SeenRun<'_>) -> Self {
        let (view, standing) = (run.view, RunStanding::of(run));
        let task = view.start.task.inline().unwrap_or_default();
        let last = view.visits.last();
        let owner = match run.state {
            RunState::Running { owner, .. } => *owner,
            _ => None,
        };
        let spending = run.workflow.and_then(|workflow| view.spending(workflow));
        Self {
            id: run.directory.id().to_owned(),
            run: run.directory.id().to_owned(),
            project: 0,
            state: standing.kind.into(),
            words: standing.words,
            waits_for: standing.waits_for,
            definition: view.start.definition.clone(),
            dialect: view.start.dialect.clone(),
            task: task.lines().next().unwrap_or_default().to_owned(),
            issue: issue(&view.start),
            stage: last.map(|visit| visit.stage.to_string()),
            visit: last.map_or(0, |visit| visit.visit),
            started: view.started.0,
            last: view.last_at.0,
            driven: view.driven.0,
            read_at: view.last_at.0,
            owner,
            is_driven: matches!(run.state, RunState::Running { gate: None, .. }),
            iterations: view.iterations,
            turns: view.turns,
            tokens: view.usage.tokens(),
            cost: view.cost.map(Usd::dollars),
            unpriced: view.unpriced.iter().map(ToString::to_string).collect(),
            budget: spending.as_ref().map(budget_uses).unwrap_or_default(),
            changes: view.file_changes.map(|FileChangeCounts { files, added, removed }| PageChangeCounts {
                files,
                added,
                removed,
            }),
            providers: providers(view),
            is_rehearsal: view.start.rehearsal,
            forked_from: view.start.forked_from.clone(),
        }
    }

    fn broken(run: &RunDirectory, error: &str) -> Self {
        Self {
            id: run.id().to_owned(),
            run: run.id().to_owned(),
            project: 0,
            state: PageState::Broken,
            words: format!("cannot be read: {error}"),
            waits_for: String::new(),
            definition: String::new(),
            dialect: String::new(),
            task: String::new(),
            issue: None,
            stage: None,
            visit: 0,
            started: 0,
            last: 0,
            driven: 0,
            read_at: 0,
            owner: None,
            is_driven: false,
            iterations: 0,
            turns: 0,
            tokens: 0,
            cost: None,
            unpriced: Vec::new(),
            budget: Vec::new(),
            changes: None,
            providers: Vec::new(),
            is_rehearsal: false,
            forked_from: None,
        }
    }

    fn is_settled(&self) -> bool {
        matches!(
            self.state,
            PageState::Completed
                | PageState::Failed
                | PageState::Declined
                | PageState::Cancelled
                | PageState::Broken
        )
    }
}

impl PageRow {
    /// Says where the run is on this page.
    pub(super) fn located(self, projects: &ServedProjects, project: usize) -> Self {
        Self { id: projects.address(project, &self.run), project, ..self }
    }

    /// Returns the place in the list: what waits for a person first.
    pub(super) fn rank(&self) -> u8 {
        match self.state {
            PageState::Waiting => 0,
            PageState::Running => 1,
            _ => 2,
        }
    }
}

impl From<StandingKind> for PageState {
    fn from(kind: StandingKind) -> Self {
        match kind {
            StandingKind::Waiting => Self::Waiting,
            StandingKind::Running => Self::Running,
            StandingKind::Interrupted => Self::Interrupted,
            StandingKind::Answered => Self::Answered,
            StandingKind::Parked => Self::Parked,
            StandingKind::Completed => Self::Completed,
            StandingKind::Failed => Self::Failed,
            StandingKind::Declined => Self::Declined,
            StandingKind::Cancelled => Self::Cancelled,
        }
    }
}

fn issue(start: &Start) -> Option<String> {
    // Most runs have none; only a frozen delivery is parsed.
    match Placement::of(start)? {
        Placement::Issue(assignment) => Some(assignment.issue.to_string()),
        Placement::Own { .. } => None,
    }
}

fn providers(view: &RunView) -> Vec<String> {
    let attempts = view.calls.iter().flat_map(|call| &call.attempts);
    let names = attempts.filter_map(|attempt| match &attempt.result {
        AttemptResult::Open => None,
        AttemptResult::Replied { reply, .. } => reply.provider.as_ref(),
        AttemptResult::Failed { failed, .. } => failed.provider.as_ref(),
    });
    let names: BTreeSet<&str> = names.map(|name| name.as_str()).collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Lists the limits of a budget, each with its use.
pub(super) fn budget_uses(spending: &RunSpending) -> Vec<BudgetUse> {
    let RunSpending { budget, spent, driven, .. } = spending;
    let one = |kind: &str, used: f64, limit: f64, words: String| BudgetUse {
        kind: kind.to_owned(),
        used,
        limit,
        words,
    };
    let mut uses = Vec::new();
    uses.extend(
        budget
            .usd
            .map(|most| one("usd", spent.usd.dollars(), most.dollars(), format!("{} of {most}", spent.usd))),
    );
    uses.extend(budget.tokens.map(|most| {
        let words = format!("{} of {}", grouped(spent.tokens), count(most, "token"));
        one("tokens", number(spent.tokens), number(most), words)
    }));
    uses.extend(budget.turns.map(|most| {
        let words = format!("{} of {}", grouped(spent.turns), count(most, "turn"));
        one("turns", number(spent.turns), number(most), words)
    }));
    uses.extend(budget.time.map(|Millis(most)| {
        let words = format!("{} of {}", length(*driven), length(Millis(most)));
        one("time", number(driven.0), number(most), words)
    }));
    uses
}

#[expect(clippy::cast_precision_loss, reason = "a bar of a hundred pixels")]
fn number(value: u64) -> f64 {
    value as f64
}
