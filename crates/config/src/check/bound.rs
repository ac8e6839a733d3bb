//! Upper bounds on calls and rounds.

use saihai_model::{Choice, ProviderName, Stage, Workflow};

/// Returns the maximum number of provider calls, retries excluded. It is the iteration limit times the most
/// expensive stage, or the turn budget if that is lower. `None` means neither limit is set.
pub fn most_calls(workflow: &Workflow) -> Option<u64> {
    let dearest = workflow.stages.values().map(|stage| calls(stage).map(|(_, times)| times).sum()).max();
    let by_rounds = most_rounds(workflow).map(|rounds| rounds.saturating_mul(dearest.unwrap_or(0)));
    by_rounds.into_iter().chain(workflow.limits.budget.turns).min()
}

pub(super) fn most_rounds(workflow: &Workflow) -> Option<u64> {
    let limits = &workflow.limits;
    limits.rounds.into_iter().chain(limits.hard_rounds).min().map(u64::from)
}

/// Yields each provider one round of a stage can call, and the maximum number of calls. Turns, corrections
/// and judging questions all count.
pub(super) fn calls(stage: &Stage) -> impl Iterator<Item = (&ProviderName, u64)> {
    let turns = stage.turns().iter().flat_map(|turn| {
        let corrections = turn.reads.output.as_ref().map_or(0, |output| u64::from(output.corrections));
        let asked = turn.reads.choice.as_ref().and_then(|choice| questions(choice, &turn.provider));
        [Some((&turn.provider, 1 + corrections)), asked].into_iter().flatten()
    });
    let first = stage.turns().first().map(|turn| &turn.provider);
    let exit = stage.exit.question().zip(first).and_then(|(choice, first)| questions(choice, first));
    turns.chain(exit)
}

/// Returns the provider of a choice's judging question and the maximum number of calls.
fn questions<'a>(choice: &'a Choice, else_by: &'a ProviderName) -> Option<(&'a ProviderName, u64)> {
    let question = choice.question()?;
    Some((question.provider.as_ref().unwrap_or(else_by), 1 + u64::from(question.corrections)))
}
