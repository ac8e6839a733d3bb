//! Programs instead of agents (U-9).

use crate::support::sim::text_of;
use crate::support::{Sim, flow};
use saihai_model::*;

/// `work` leads to the program `tests`, which leads back to `work` or completes.
fn checked() -> Workflow {
    let mut workflow = flow("work: done -> tests; tests: exit(0) -> COMPLETE, exit(1..) -> work; max 6");
    let Activity::Turns { turns, .. } = &mut workflow.stages["tests"].does else { panic!("turns") };
    turns[0] = testing::running(turns[0].clone(), "make test");
    workflow
}

fn ended(exit: ProgramExit) -> Reading {
    Reading { exit: Some(exit), digest: exit.to_string(), ..Reading::default() }
}

/// Answers the program as the driver does: without session, tokens and cost.
fn end(sim: &mut Sim, exit: ProgramExit) {
    let request = sim.take_ask("tests");
    assert_eq!((request.money, request.session.as_deref(), request.model.as_deref()), (None, None, None));
    sim.reply_with(&request, ended(exit), |reply| {
        reply.session = None;
        reply.usage = Usage::default();
        reply.cost = Some(Usd(0));
        reply.spoken = Some("$ make test\n[exit code 2]".into());
    });
}

// U-9
#[test]
fn an_exit_code_chooses_the_rule_and_only_the_iteration_counts() {
    let mut sim = Sim::started(checked());
    sim.tag("work", Some(0));
    end(&mut sim, ProgramExit::Code(2));
    let request = sim.asks.last().unwrap();
    let prompt = text_of(request.draft.as_ref().unwrap());
    assert!(prompt.contains("$ make test\n[exit code 2]"), "the agent sees the result: {prompt}");
    sim.tag("work", Some(0));
    end(&mut sim, ProgramExit::Code(0));
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(
        sim.path(),
        [
            "work -(tag)-> tests",
            "tests -(exit_code)-> work",
            "work -(tag)-> tests",
            "tests -(exit_code)-> complete"
        ]
    );
    assert_eq!((sim.run.iteration(), sim.run.spent().turns), (4, 2), "a program is a movement and no turn");
    sim.prove_replay();
}

// U-9
#[test]
fn a_spent_budget_stops_agents_and_no_program() {
    let mut workflow = checked();
    workflow.limits.budget.turns = Some(1);
    let mut sim = Sim::started(workflow);
    sim.tag("work", Some(0));
    end(&mut sim, ProgramExit::Signal(9));
    assert_eq!(sim.outcome(), "parked: budget", "the second turn of the agent is over the budget");
}

// U-9
#[test]
fn a_program_whose_process_died_runs_again_and_nothing_else_does() {
    let mut sim = Sim::started(checked());
    sim.tag("work", Some(0));
    sim.crash_and_resume();
    let repeated =
        sim.decisions().into_iter().any(|one| matches!(one, Decision::Repeated { attempt: 2, .. }));
    assert!(repeated, "{:?}", sim.decisions());
    end(&mut sim, ProgramExit::Code(0));
    assert_eq!(sim.outcome(), "completed: complete");
    assert_eq!(sim.log, ["work/work", "tests/tests", "tests/tests"]);
    sim.prove_replay();
}

// U-9
#[test]
fn a_program_that_cannot_start_parks_the_run_and_no_agent_takes_over() {
    let mut workflow = checked();
    workflow.retry.fallback = vec![(ProgramCommand::PROVIDER.into(), "other".into())];
    let mut sim = Sim::started(workflow);
    sim.tag("work", Some(0));
    sim.fail("tests", FailureClass::Missing);
    assert_eq!(sim.outcome(), "parked: provider");
}

// U-9
#[test]
fn a_program_next_to_agents_counts_in_all_and_any() {
    let check = |exit, tag, expected: &str| {
        let mut workflow = flow("look[tests review]: all(ok) -> COMPLETE");
        let stage = &mut workflow.stages["look"];
        let rule = |when, then| ExitRule { when, then };
        let all = RuleCondition::All(vec!["exit(0)".into(), "ok".into()]);
        let any = RuleCondition::Any(vec!["exit(1..)".into(), "bad".into()]);
        let rules = vec![rule(all, Target::Complete), rule(any, Target::failed("abort"))];
        stage.exit = Exit::Rules { rules, question: None, otherwise: Target::failed("no_match") };
        let Activity::Turns { turns, .. } = &mut stage.does else { panic!("turns") };
        turns[0] = testing::running(turns[0].clone(), "make test");
        turns[1] = testing::choosing(turns[1].clone(), &["ok", "bad"]);
        let mut sim = Sim::started(workflow);
        end(&mut sim, exit);
        sim.tag("review", Some(tag));
        assert_eq!(sim.outcome(), expected, "{exit} {tag}");
        sim.prove_replay();
    };
    check(ProgramExit::Code(0), 0, "completed: complete");
    check(ProgramExit::Code(0), 1, "failed: abort");
    check(ProgramExit::Timeout, 0, "failed: abort");
}
