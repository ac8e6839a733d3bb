//! Completion and its reasons.

use std::collections::BTreeMap;

use saihai_model::*;
use serde_json::json;

use crate::support::{Sim, flow};

fn looping(completion: Completion) -> Workflow {
    let mut workflow = flow("work: always -> work; max 50");
    workflow.completion = completion;
    workflow.words = [
        ("completed-flow", "Flow completed at {}"),
        ("completed-rounds", "Reached {}"),
        ("completed-checks", "{} checks"),
    ]
    .map(|(key, word)| (key.to_owned(), word.to_owned()))
    .into();
    workflow
}

fn forced(completion: Completion) -> Completion {
    Completion::First(vec![completion, Completion::Flow])
}

fn says(words: &[&str]) -> Reading {
    Reading { keywords: words.iter().map(|word| (*word).to_owned()).collect(), ..Reading::default() }
}

fn blocks(blocks: &[Json]) -> Reading {
    let block = |value: &Json| ReplyBlock {
        kind: value["type"].as_str().expect("a type").to_owned(),
        value: value.clone(),
    };
    Reading { blocks: blocks.iter().map(block).collect(), ..Reading::default() }
}

fn keyword(word: &str) -> Completion {
    Completion::Keyword(Keyword { word: word.to_owned(), whole_line: false })
}

fn outside(does: Action) -> Completion {
    Completion::Outside(ActionSpec { does, inputs: Vec::new(), once: Once::ReadOnly, poll: None })
}

fn file() -> Action {
    Action::FileState { path: "done.txt".to_owned(), absent: false }
}

fn handler() -> Action {
    let argv = vec!["./handler".to_owned()];
    Action::Command {
        argv,
        timeout: Millis::seconds(60),
        input: Json::Null,
        told: CommandVerdict::ByAnswer,
        written: None,
    }
}

/// Replies until the run rests, and checks its outcome and number of iterations.
fn check(workflow: Workflow, replies: &[Reading], outcome: &str, iterations: u32) {
    let mut sim = Sim::started(workflow);
    for reading in replies {
        assert_eq!(sim.asks.len(), 1, "{}", sim.outcome());
        let request = sim.asks.remove(0);
        sim.reply_to(&request, reading.clone());
    }
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), (outcome, iterations));
    sim.prove_replay();
}

#[test]
fn a_budget_of_three_iterations_is_three_work_turns_and_reached() {
    // S-33, S-60, case 7
    let nothing = vec![Reading::default(); 3];
    check(looping(forced(Completion::Rounds(3))), &nothing, "completed: Reached 3", 3);
}

#[test]
fn a_flow_that_completes_early_names_where() {
    // S-60, S-61: a forced completion counts before the budget is used up
    let mut workflow = looping(forced(Completion::Rounds(3)));
    workflow.stages = flow("work: always -> close; close: always -> COMPLETE").stages;
    check(workflow, &vec![Reading::default(); 2], "completed: Flow completed at close", 2);
}

#[test]
fn a_keyword_completes_in_the_iteration_that_says_it() {
    // S-60, case 9
    check(looping(keyword("DONE")), &[says(&[]), says(&["DONE"])], "completed: keyword DONE", 2);
}

#[test]
fn all_conditions_of_an_and_may_be_met_in_different_iterations() {
    // The keyword in iteration 1, the second in iteration 2
    let both = Completion::All(vec![keyword("DONE"), Completion::Rounds(2)]);
    check(looping(both), &[says(&["DONE"]), says(&[])], "completed: keyword DONE; Reached 2", 2);
}

#[test]
fn a_budget_of_checks_counts_those_that_were_answered() {
    // S-60, case 34: a corrected check is one check, and a step without a check counts nothing
    let checked = |completion: Completion| {
        let mut workflow = crate::dialects::tailor();
        let Exit::Rules { rules, .. } = &mut workflow.stages["quote"].exit else { unreachable!() };
        rules[0].then = Target::Stage("measure".into());
        workflow.completion = completion;
        workflow.words.insert("completed-checks".to_owned(), "{} checks".to_owned());
        Sim::started(workflow)
    };
    let pass = |sim: &mut Sim, step: &str| {
        sim.reply(step, Reading { keywords: vec!["DONE".to_owned()], ..crate::dialects::outputs(json!({})) });
        sim.reply(&format!("{step}#judge"), crate::dialects::outputs(json!({"result": "ok"})));
    };
    let mut sim = checked(forced(Completion::Checks(2)));
    sim.reply("measure", crate::dialects::outputs(json!({})));
    sim.reply("measure#judge", crate::dialects::outputs(json!({"result": "hm"})));
    sim.reply("measure", crate::dialects::outputs(json!({"result": "ok"})));
    assert_eq!((sim.run.counts().checks, sim.outcome().as_str()), (1, "running: quote.1.1.1 Work"));
    pass(&mut sim, "quote");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: 2 checks", 2));
    sim.prove_replay();
    let mut sim = checked(Completion::All(vec![keyword("DONE"), Completion::Checks(2)]));
    pass(&mut sim, "measure");
    assert_eq!(sim.outcome(), "running: quote.1.1.1 Work", "the keyword was said, one check is missing");
    pass(&mut sim, "quote");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: keyword DONE; 2 checks", 2));
}

#[test]
fn any_joins_its_reasons_and_first_gives_only_the_first() {
    // S-60
    let parts = || vec![Completion::Rounds(1), keyword("DONE")];
    check(looping(Completion::Any(parts())), &[says(&["DONE"])], "completed: Reached 1; keyword DONE", 1);
    check(looping(Completion::First(parts())), &[says(&["DONE"])], "completed: Reached 1", 1);
    let nested = Completion::All(vec![Completion::Any(parts()), keyword("SURE")]);
    check(
        looping(nested),
        &[says(&["DONE"]), says(&["SURE"])],
        "completed: Reached 1; keyword DONE; keyword SURE",
        2,
    );
}

#[test]
fn the_data_of_a_complete_signal_is_the_reason() {
    // S-63, case 36
    let signal = Completion::Signal {
        kind: "complete".to_owned(),
        fields: BTreeMap::new(),
        times: 1,
        reason: Some("content".to_owned()),
    };
    let workflow = || looping(Completion::First(vec![signal.clone(), Completion::Rounds(9)]));
    let said = blocks(&[json!({"type": "complete", "content": " all sewn "})]);
    check(workflow(), &[Reading::default(), said], "completed: all sewn", 2);
    let silent = blocks(&[json!({"type": "complete"})]);
    check(workflow(), &[silent], "completed: signal complete", 1);
}

#[test]
fn a_structured_signal_needs_all_its_fields() {
    // S-60
    let signal = Completion::Signal {
        kind: "review".to_owned(),
        fields: [("ok".to_owned(), Some(json!(true))), ("by".to_owned(), None)].into(),
        times: 1,
        reason: None,
    };
    let replies = [
        json!({"type": "review", "ok": true}),
        json!({"type": "review", "ok": "true", "by": "x"}),
        json!({"type": "review", "ok": true, "by": "x"}),
    ];
    let replies = replies.map(|block| blocks(&[block]));
    check(looping(signal), &replies, "completed: signal review", 3);
}

fn phases() -> Completion {
    let step = |from: &str, kind: &str, passed: Option<bool>, to: &str| PhaseStep {
        from: from.to_owned(),
        kind: kind.to_owned(),
        fields: passed.map(|passed| ("passed".to_owned(), Some(json!(passed)))).into_iter().collect(),
        last: None,
        to: to.to_owned(),
    };
    Completion::Phase(Phases {
        start: "preparation".to_owned(),
        steps: vec![
            step("preparation", "project-plan", None, "processing"),
            step("preparation", "phase-advance", None, "processing"),
            step("processing", "phase-advance", None, "review"),
            step("review", "review-result", Some(true), "complete"),
            step("review", "review-result", None, "again"),
            step("review", "phase-advance", None, "again"),
            step("again", "phase-advance", None, "review"),
        ],
        terminal: vec!["complete".to_owned()],
    })
}

#[test]
fn signals_lead_from_phase_to_phase_in_order_and_each_once() {
    // S-63
    let mut workflow = looping(phases());
    let Activity::Turns { turns, .. } = &mut workflow.stages[0].does else { unreachable!() };
    let shows = vec![PromptPart::Value(Variable::CurrentPhase, ValueForm::Plain)];
    turns[0].prompt.sections = vec![PromptSection { body: shows, when: SectionCondition::Always }];
    let mut sim = Sim::started(workflow);
    let mut prompts = Vec::new();
    let replies = [
        vec![json!({"type": "phase-advance"}), json!({"type": "project-plan"})],
        vec![json!({"type": "phase-advance"})],
        vec![json!({"type": "review-result", "passed": false})],
        vec![json!({"type": "phase-advance"}), json!({"type": "review-result", "passed": true})],
    ];
    for reply in &replies {
        prompts.push(crate::support::sim::text_of(sim.asks[0].draft.as_ref().unwrap()));
        sim.reply("work", blocks(reply));
    }
    assert_eq!(prompts, ["preparation", "processing", "review", "again"]);
    assert_eq!(sim.outcome(), "completed: phase complete");
    sim.prove_replay();
}

#[test]
fn advancing_at_the_end_of_all_phases_changes_nothing() {
    let workflow = looping(Completion::All(vec![phases(), keyword("DONE")]));
    let advance = || blocks(&[json!({"type": "phase-advance"})]);
    let passed = blocks(&[json!({"type": "review-result", "passed": true})]);
    let replies = [advance(), advance(), passed, advance(), says(&["DONE"])];
    check(workflow, &replies, "completed: phase complete; keyword DONE", 5);
}

#[test]
fn a_state_that_is_reached_before_the_first_turn_completes_without_one() {
    // S-34, case 33
    let mut sim = Sim::started(looping(outside(file())));
    assert_eq!(sim.open(), [""; 0], "nothing is asked before it was looked");
    sim.perform("reached");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: reached", 0));
    assert_eq!(sim.path(), ["work -(condition)-> complete"]);
    sim.prove_replay();
}

#[test]
fn a_state_that_is_not_reached_is_asked_again_at_the_end_of_each_iteration() {
    // S-34, S-60
    let mut sim = Sim::started(looping(outside(file())));
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("reached");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: reached", 2));
    sim.prove_replay();
}

#[test]
fn only_states_are_looked_at_before_the_first_turn() {
    // S-34: a handler needs iterations, and there is none yet
    let both = Completion::Any(vec![outside(handler()), outside(file())]);
    let mut sim = Sim::started(looping(both));
    assert_eq!(sim.performs.len(), 1);
    assert_eq!(sim.performs[0].action.does, file());
    sim.perform("open");
    sim.reply("work", Reading::default());
    assert_eq!(sim.performs[0].action.does, handler(), "at the end of the iteration both, in order");
    sim.perform("open");
    assert_eq!(sim.performs[0].action.does, file());
    sim.perform("reached");
    assert_eq!(sim.outcome(), "completed: reached");
    sim.prove_replay();
}

#[test]
fn a_phase_that_is_terminal_from_the_beginning_completes_only_after_an_iteration() {
    // Only outside state can complete a run without an iteration
    let Completion::Phase(mut phases) = phases() else { unreachable!() };
    phases.terminal = vec!["preparation".to_owned()];
    let either = Completion::Any(vec![outside(file()), Completion::Phase(phases)]);
    let mut sim = Sim::started(looping(either));
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("open");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: phase preparation", 1));
    sim.prove_replay();
}

#[test]
fn a_look_that_was_under_way_when_the_process_died_is_made_again() {
    // S-34, P4: checking changes nothing
    let mut sim = Sim::started(looping(outside(file())));
    sim.crash_and_resume();
    assert_eq!(sim.performs.len(), 1);
    sim.perform("reached");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: reached", 0));
    sim.prove_replay();
}

#[test]
fn completion_is_judged_again_each_time_and_judging_changes_nothing() {
    // S-59: a condition that no longer holds does not complete the run. A step's check is independent of it.
    let both = Completion::All(vec![outside(file()), keyword("DONE")]);
    let mut sim = Sim::started(looping(both));
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("reached");
    assert_eq!(sim.outcome(), "running: work.2.1.1 Work", "only one of the two holds");
    sim.reply("work", says(&["DONE"]));
    let before = sim.run.clone();
    let call = sim.performs[0].call.clone();
    let fact = |label: &str| {
        let outcome = Outcome::Done { label: Some(label.into()), output: BTreeMap::new() };
        Event { at: before.now(), fact: Fact::Performed { call: call.clone(), outcome } }
    };
    let judged = |label: &str| {
        let mut run = before.clone();
        let effects = run.apply(&sim.workflow, &fact(label));
        (run, format!("{effects:?}"))
    };
    assert_eq!(judged("open"), judged("open"), "twice the same");
    assert!(judged("reached").0.ending().is_some() && judged("open").0.ending().is_none());
    assert_eq!(sim.run, before, "whoever only judged has changed nothing");
    sim.perform("open");
    assert_eq!(sim.outcome(), "running: work.3.1.1 Work", "the file was there, and is not");
    sim.reply("work", Reading::default());
    sim.perform("reached");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: reached; keyword DONE", 3));
    sim.prove_replay();
}

#[test]
fn a_look_that_fails_for_ever_parks_the_run_and_is_never_not_yet() {
    // S-60, S-69, case 33
    let mut sim = Sim::started(looping(outside(Action::IssueState)));
    let call = sim.performs.remove(0).call;
    let failure = Failure::new(FailureClass::Auth, "not logged in");
    sim.fact(Fact::Performed { call, outcome: Outcome::Failed(failure) });
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("parked: provider", 0));
    assert_eq!(exit_code(None, sim.run.hold()), 4);
}

#[test]
fn a_flow_that_ends_while_the_state_is_open_is_a_failure() {
    // S-61, case 33
    let mut workflow = looping(outside(file()));
    workflow.stages = flow("work: always -> COMPLETE").stages;
    let mut sim = Sim::started(workflow);
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("open");
    assert_eq!(sim.outcome(), "failed: flow_ended");
}

#[test]
fn a_handlers_reason_is_the_reason_and_a_broken_handler_fails_the_run() {
    // S-62, case 35
    let ends = |label: &str, name: &str, text: &str| {
        let mut sim = Sim::started(looping(outside(handler())));
        sim.reply("work", Reading::default());
        let call = sim.performs.remove(0).call;
        let output = [(name.to_owned(), json!(text))].into();
        let outcome = Outcome::Done { label: Some(label.into()), output };
        sim.fact(Fact::Performed { call, outcome });
        sim.prove_replay();
        sim.outcome()
    };
    assert_eq!(ends("reached", "reason", "the suit fits"), "completed: the suit fits");
    assert_eq!(ends("reached", "reason", " "), "completed: reached");
    assert_eq!(ends("open", "reason", "not yet"), "running: work.2.1.1 Work");
    assert_eq!(ends("broken", "error", "`h` exited with 1"), "failed: completion_failed `h` exited with 1");
}

#[test]
fn a_condition_is_asked_at_the_end_of_every_iteration_also_of_those_before_the_exit_is_asked() {
    // S-36, S-60: never one late
    let mut workflow = looping(outside(handler()));
    workflow.stages[0].rounds.min = 3;
    let mut sim = Sim::started(workflow);
    sim.reply("work", Reading::default());
    sim.perform("open");
    sim.reply("work", Reading::default());
    sim.perform("reached");
    assert_eq!((sim.outcome().as_str(), sim.run.iteration()), ("completed: reached", 2));
    sim.prove_replay();
}
