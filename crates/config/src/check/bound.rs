//! The most calls a run can make.

use saihai_model::{Choice, Stage, Workflow};

/// The most provider calls without retries: the iteration limit times the dearest stage. `None` where rounds are
/// not limited.
pub fn most_calls(workflow: &Workflow) -> Option<u64> {
    let limits = &workflow.limits;
    let rounds = match (limits.rounds, limits.hard_rounds) {
        (Some(rounds), Some(hard)) => rounds.min(hard),
        (rounds, hard) => rounds.or(hard)?,
    };
    let dearest = workflow.stages.values().map(calls).max().unwrap_or(0);
    Some(u64::from(rounds).saturating_mul(dearest))
}

/// Turns, their corrections and every question that can be asked in one round.
fn calls(stage: &Stage) -> u64 {
    let turns = stage.turns().iter().map(|turn| {
        let corrections = turn.reads.output.as_ref().map_or(0, |output| u64::from(output.corrections));
        1 + corrections + turn.reads.choice.as_ref().map_or(0, questions)
    });
    turns.sum::<u64>() + stage.exit.question().map_or(0, questions)
}

fn questions(choice: &Choice) -> u64 {
    choice.question().map_or(0, |question| 1 + u64::from(question.corrections))
}
