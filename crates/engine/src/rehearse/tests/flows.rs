use insta::assert_snapshot;
use saihai_model::{Alarm, Exit, Monitor, PassedStages, RuleCondition, Target, Watch};

use crate::rehearse::RehearsalEnd;
use crate::rehearse::tests::build::flow;
use crate::rehearse::tests::{path, rehearsed, tour};
use crate::rehearse::way_to_completion;

// C-77, P-60: the rehearsal takes every rule, and "none of these".
#[test]
fn every_rule_of_a_loop_is_taken() {
    let workflow = flow(
        20,
        "
        plan = done -> build | stuck -> ABORT
        build = done -> review
        review = approved -> COMPLETE | needs_fix -> build",
    );
    assert_snapshot!(tour(&workflow), @"
    plan:0 build:0 review:1 build:nomatch | failed: no_match
    plan:1 | failed: abort
    plan:nomatch | failed: no_match
    plan:0 build:0 review:0 | completed: complete
    plan:0 build:0 review:nomatch | failed: no_match
    ");
}

// C-77: aggregates need matching replies of several turns.
#[test]
fn aggregates_are_taken_by_what_several_turns_say() {
    let workflow = flow(20, "
        review [security style tests] = all approved -> COMPLETE | all rejected -> ABORT | any needs_fix -> fix
        fix = done -> review");
    assert_snapshot!(tour(&workflow), @"
    review:2 fix:0 review:0 | completed: complete
    review:1 | failed: abort
    review:nomatch | failed: no_match
    review:2 fix:nomatch | failed: no_match
    ");
}

// P-43: an answer to the exit's own question takes its rule.
#[test]
fn the_question_of_an_exit_is_answered() {
    let workflow = flow(
        20,
        "
        review [a b] = all ok -> COMPLETE | ?minor -> review | ?major -> ABORT",
    );
    assert_snapshot!(tour(&workflow), @"
    review:1 review:0 | completed: complete
    review:2 | failed: abort
    review:nomatch | failed: no_match
    ");
}

#[test]
fn a_rule_that_can_never_hold_is_listed() {
    let mut workflow = flow(
        20,
        "
        a = always -> b | late -> COMPLETE
        b = done -> COMPLETE",
    );
    assert_snapshot!(tour(&workflow), @"
    a:0 b:0 | completed: complete
    a:0 b:nomatch | failed: no_match
    untaken `a`: rule 1, `late` (no reply makes it hold)
    ");
    // A rule that this run does not offer is not an exit.
    if let Exit::Rules { rules, .. } = &mut workflow.stages[0].exit {
        rules[1].when = RuleCondition::Any(Vec::new());
    }
    assert_snapshot!(tour(&workflow), @"
    a:0 b:0 | completed: complete
    a:0 b:nomatch | failed: no_match
    ");
}

#[test]
fn a_stage_nothing_leads_to_is_listed() {
    let workflow = flow(
        20,
        "
        a = done -> COMPLETE
        island = done -> a",
    );
    assert_snapshot!(tour(&workflow), @"
    a:0 | completed: complete
    a:nomatch | failed: no_match
    untaken `island`: rule 0, `done` (nothing leads to its stage)
    untaken `island`: no rule matches (nothing leads to its stage)
    ");
}

// C-77: within the iteration limits.
#[test]
fn exits_beyond_the_limit_of_rounds_are_listed() {
    let workflow = flow(
        2,
        "
        a = done -> b
        b = done -> c
        c = done -> COMPLETE",
    );
    assert_snapshot!(tour(&workflow), @"
    a:0 b:0 | parked: max_iterations
    a:nomatch | failed: no_match
    a:0 b:nomatch | failed: no_match
    untaken `c`: rule 0, `done` (too far for the limit of rounds)
    untaken `c`: no rule matches (too far for the limit of rounds)
    ");
}

// P-51: only a full cycle reaches its judge.
#[test]
fn a_monitor_is_set_off_so_that_its_judge_is_rehearsed() {
    let mut workflow = flow(
        20,
        "
        build = done -> review
        review = ok -> COMPLETE | ng -> build
        judge = healthy -> build | hopeless -> ABORT",
    );
    workflow.stages["judge"].aside = true;
    workflow.monitors.push(Monitor {
        watches: Watch::Cycle {
            stages: vec!["build".into(), "review".into()],
            times: 2,
            returning: false,
            passed: PassedStages::default(),
        },
        then: Alarm::Go(Target::Stage("judge".into())),
    });
    assert_snapshot!(tour(&workflow), @"
    build:0 review:1 build:0 (alarm 0) review:monitor judge:0 build:nomatch | failed: no_match
    build:0 review:0 | completed: complete
    build:0 review:nomatch | failed: no_match
    build:0 review:1 build:0 (alarm 0) review:monitor judge:1 | failed: abort
    build:0 review:1 build:0 (alarm 0) review:monitor judge:nomatch | failed: no_match
    ");
}

// A run without another destination must still end.
#[test]
fn a_workflow_without_an_end_is_parked_by_its_limit() {
    let workflow = flow(
        5,
        "
        a = always -> b
        b = always -> a",
    );
    assert_snapshot!(tour(&workflow), @"a:0 b:0 a:0 b:0 a:0 | parked: max_iterations");
}

#[test]
fn a_workflow_without_end_and_limit_is_not_rehearsed_for_ever() {
    let mut workflow = flow(
        5,
        "
        a = always -> b
        b = always -> a",
    );
    workflow.limits.rounds = None;
    let rehearsal = rehearsed(&workflow);
    assert_eq!(rehearsal.runs.iter().map(|run| &run.end).collect::<Vec<_>>(), [&RehearsalEnd::Endless]);
    assert_eq!(rehearsal.untaken, []);
}

// K-25: the path to completion is a shortest one.
#[test]
fn the_way_to_completion_is_a_shortest_one() {
    let workflow = flow(
        20,
        "
        plan = long -> design | short -> build | stop -> ABORT
        design = done -> build
        build = done -> review
        review = ng -> build | ok -> COMPLETE",
    );
    let script = way_to_completion(&workflow);
    assert!(!script.strict);
    let said = script.replies.iter().map(|reply| {
        let text = reply.text.as_deref().unwrap_or_default();
        format!("{}: {}", reply.target.as_ref().unwrap().stage, text.lines().last().unwrap_or_default())
    });
    assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @"
    plan: [STEP:1]
    build: [STEP:0]
    review: [STEP:1]
    ");
}

#[test]
fn most_runs_are_a_few_and_each_takes_something_new() {
    let stages: Vec<String> = (0..60)
        .map(|n| format!("s{n} = a -> s{} | b -> s{} | c -> ABORT", (n + 1) % 60, (n + 7) % 60))
        .collect();
    let workflow = flow(200, &stages.join("\n"));
    let rehearsal = rehearsed(&workflow);
    assert_eq!(rehearsal.untaken, []);
    assert!(rehearsal.runs.len() <= 125, "{} runs for 120 exits that end", rehearsal.runs.len());
    assert!(path(&rehearsal.runs[0].decisions).split(' ').count() > 100, "one run takes many exits");
}

// C-77: at most 200 runs; exits that they did not reach are listed.
#[test]
fn no_more_runs_are_made_than_allowed() {
    let stages: Vec<String> =
        (0..150).map(|n| format!("s{n} = a -> s{} | b -> ABORT", (n + 1) % 150)).collect();
    let rehearsal = rehearsed(&flow(400, &stages.join("\n")));
    assert_eq!(rehearsal.runs.len(), crate::rehearse::MOST_RUNS);
    assert_eq!(rehearsal.untaken.len(), 100);
    assert!(rehearsal.untaken.iter().all(|untaken| untaken.why == crate::rehearse::UntakenReason::NotTried));
}
