//! Every kind of stage and exit in the model.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use saihai_model::{
    Action, ActionSpec, Activity, Again, AnswerForm, BlockUse, Blocks, Choice, Completion, Directives,
    EndWord, Ending, Exit, ExitCodeLabel, ExitRule, Gate, GateMode, InvalidOutputPolicy, Keyword, Label,
    LabelField, Method, Offer, Once, Output, OutputCheck, OutputSchema, ProgramExitRange, Prompt, Report,
    ReportClue, Route, RuleCondition, Stage, Target, Topics, Wants, Workflow,
};
use serde_json::json;

use crate::rehearse::RehearsalEnd;
use crate::rehearse::routes::{MoveTarget, RouteMap};
use crate::rehearse::tests::build::{asking, choice, flow, question, standing, target, turn};
use crate::rehearse::tests::{rehearsed, tour};
use crate::rehearse::way_to_completion;

fn rules(list: &[(&str, Target)]) -> Exit {
    let rules = list
        .iter()
        .map(|(label, then)| ExitRule { when: RuleCondition::Is((*label).into()), then: then.clone() });
    Exit::Rules { rules: rules.collect(), question: None, otherwise: Target::failed("no_match") }
}

fn gate(wants: Wants, mode: GateMode) -> Activity {
    Activity::Gate(Gate { question: Prompt::default(), wants, mode, timeout: None })
}

fn action(does: Action) -> Activity {
    Activity::Action(ActionSpec { does, inputs: Vec::new(), once: Once::SetToValue, poll: None })
}

/// Builds a flow in which `ask` leads to `next`, with this stage as `next`.
fn before_end(next: Stage) -> Workflow {
    let mut workflow = flow(10, "ask = done -> next\nend = done -> COMPLETE");
    workflow.stages.insert("next".into(), next);
    workflow
}

// C-77: gates get answers.
#[test]
fn a_gate_is_answered_yes_and_no() {
    let exit = || rules(&[("yes", target("end")), ("no", Target::End(Ending::Declined))]);
    assert_snapshot!(tour(&before_end(standing(gate(Wants::YesNo, GateMode::Person), exit()))), @"
    ask:0 next:0 end:0 | completed: complete
    ask:nomatch | failed: no_match
    ask:0 next:1 | declined
    ask:0 next:0 end:nomatch | failed: no_match
    ");
    // An automatic gate never says no, so no is not an exit.
    assert_snapshot!(tour(&before_end(standing(gate(Wants::YesNo, GateMode::Auto), exit()))), @"
    ask:0 next:0 end:0 | completed: complete
    ask:nomatch | failed: no_match
    ask:0 next:0 end:nomatch | failed: no_match
    ");
}

#[test]
fn a_gate_that_wants_text_is_given_some() {
    let stage = standing(
        gate(Wants::Text { max_chars: 100 }, GateMode::Person),
        rules(&[("answered", target("end"))]),
    );
    assert_snapshot!(tour(&before_end(stage)), @"
    ask:0 next:0 end:0 | completed: complete
    ask:nomatch | failed: no_match
    ask:0 next:0 end:nomatch | failed: no_match
    ");
}

#[test]
fn an_action_has_every_result_its_exit_knows() {
    let exit = rules(&[("ok", target("end")), ("failed", target("ask"))]);
    assert_snapshot!(tour(&before_end(standing(action(Action::Log), exit))), @"
    ask:0 next:0 end:0 | completed: complete
    ask:0 next:1 ask:nomatch | failed: no_match
    ask:0 next:nomatch | failed: no_match
    ask:0 next:0 end:nomatch | failed: no_match
    ");
}

fn form() -> AnswerForm {
    let schema = json!({
        "type": "object",
        "required": ["result", "message"],
        "properties": {
            "result": { "type": "string", "enum": ["OK", "NG"] },
            "message": { "type": "string", "minLength": 1 },
        },
    });
    AnswerForm::Form {
        schema: OutputSchema { schema, required: true },
        field: "result".into(),
        means: [("ok".to_owned(), Label::from("ok")), ("ng".to_owned(), "ng".into())].into(),
        message: "message".into(),
    }
}

// S-72: the rehearsal takes both exits of every check and exhausts every retry.
#[test]
fn a_checked_stage_is_passed_failed_and_exhausted() {
    let by_form = Choice { options: Vec::new(), found_by: vec![Method::Ask(Box::new(question(form())))] };
    let again = Again { note: None, at_most: Some(2), exhausted: target("ABORT") };
    let exit = rules(&[("ok", Target::Complete), ("ng", Target::Again(Box::new(again)))]);
    let mut workflow = flow(20, "work = done -> COMPLETE");
    workflow.stages["work"] = asking(vec![turn("work", Some(by_form))], exit);
    assert_snapshot!(tour(&workflow), @"
    work~:1 work:0 | completed: complete
    work:nomatch | failed: no_match
    work~:1 work~:1 work:1 | failed: abort
    ");
}

#[test]
fn a_visit_that_needs_several_rounds_gets_them() {
    let mut workflow = flow(20, "a = done -> b | stuck -> ABORT\nb = done -> COMPLETE");
    workflow.stages["a"].rounds.min = 3;
    assert_snapshot!(tour(&workflow), @"
    a~:only a~:only a:0 b:0 | completed: complete
    a~:only a~:only a:1 | failed: abort
    a~:only a~:only a:nomatch | failed: no_match
    a~:only a~:only a:0 b:nomatch | failed: no_match
    ");
}

// Published topics, closing words with their required events, silence and its reminder.
#[test]
fn topics_words_and_silence_are_taken() {
    let words = vec![EndWord {
        word: "ALL_DONE".into(),
        requires: vec!["built".into()],
        then: Target::Complete,
        quiet: false,
    }];
    let hears = |declared: &[&str]| Directives {
        words: words.clone(),
        known: vec!["planned".into(), "built".into()],
        declared: Some(declared.iter().map(|topic| (*topic).into()).collect()),
        enforce: false,
        extraction: Default::default(),
    };
    let stage = |name: &str, declared: &[&str], default: Option<&str>| {
        let mut turn = turn(name, None);
        turn.reads.directives = Some(hears(declared));
        let silent = Again { note: None, at_most: Some(2), exhausted: Target::failed("silent") };
        asking(vec![turn], Exit::Topics { silent, default: default.map(Into::into) })
    };
    let mut workflow = flow(20, "planner = x -> COMPLETE\nbuilder = x -> COMPLETE");
    workflow.stages["planner"] = stage("planner", &["planned"], None);
    workflow.stages["builder"] = stage("builder", &["built"], Some("planned"));
    workflow.topics = Some(Topics {
        start: "start".into(),
        routes: vec![Route { pattern: "planned".into(), to: "builder".into(), orphans: false }],
        otherwise: "planner".into(),
        expected: false,
    });
    assert_snapshot!(tour(&workflow), @"
    planner:planned builder:built planner~:directive planner:planned builder~:directive builder:planned builder:directive | completed: complete
    planner:directive | completed: complete
    planner~:directive planner~:directive planner:limit | failed: silent
    ");
}

// Issue 25: a reply that reports nothing is a mistake, even if it would lead to the end in fewer rounds
#[test]
fn a_longer_path_of_replies_that_report_goes_before_a_silent_one() {
    let mut workflow = flow(20, "a = x -> COMPLETE\nb = done -> c\nc = done -> end\nend = done -> COMPLETE");
    let mut turn = turn("a", None);
    turn.reads.directives = Some(Directives {
        words: Vec::new(),
        known: vec!["long".into(), "short".into()],
        declared: Some(["long".into()].into()),
        enforce: false,
        extraction: Default::default(),
    });
    let silent = Again { note: None, at_most: Some(2), exhausted: Target::failed("silent") };
    workflow.stages["a"] = asking(vec![turn], Exit::Topics { silent, default: Some("short".into()) });
    let route = |topic: &str, to: &str| Route { pattern: topic.into(), to: to.into(), orphans: false };
    workflow.topics = Some(Topics {
        start: "start".into(),
        routes: vec![route("long", "b"), route("short", "end")],
        otherwise: "a".into(),
        expected: false,
    });
    let map = RouteMap::of(&workflow);
    let path = |wanted: &MoveTarget| {
        let path = map.nearest(&"a".into(), |path| path.to == *wanted).expect("a path");
        path.steps.iter().map(|(stage, _)| stage.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(path(&MoveTarget::Completion), ["a", "b", "c", "end"]);
    // Silence still leads where nothing else does.
    assert_eq!(path(&MoveTarget::Stage("a".into())), ["a"]);
}

fn with_output(still_wrong: InvalidOutputPolicy) -> Workflow {
    let mut workflow = flow(20, "a = done -> b\nb = done -> COMPLETE");
    let schema = json!({
        "type": "object",
        "required": ["intent"],
        "properties": { "intent": { "enum": ["next", "stop"] }, "target": { "type": "string" } },
        "additionalProperties": false,
    });
    let labels = ["next".into(), "stop".into()];
    let mut by_field = choice(&labels).unwrap();
    by_field.found_by =
        vec![Method::Field(LabelField { pointer: "/intent".into(), ..LabelField::default() })];
    let mut turn = turn("a", Some(by_field));
    turn.reads.output = Some(Output {
        schema: OutputSchema { schema, required: true },
        corrections: 1,
        correction: Prompt::default(),
        still_wrong,
        checked: OutputCheck::BySchema,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    });
    let named = Target::NamedBy { pointer: "/target".into() };
    workflow.stages["a"] = asking(vec![turn], rules(&[("next", named), ("stop", target("ABORT"))]));
    workflow
}

// C-77: the smallest valid value with the deciding field, and a value that stays invalid.
#[test]
fn outputs_decide_name_stages_and_stay_wrong() {
    assert_snapshot!(tour(&with_output(InvalidOutputPolicy::Go(Target::failed("output")))), @"
    a:0 a:1 | failed: abort
    a:output | failed: output
    a:0 b:0 | completed: complete
    a:0 b:nomatch | failed: no_match
    ");
    let rehearsal = rehearsed(&with_output(InvalidOutputPolicy::Go(Target::failed("output"))));
    let values = rehearsal
        .runs
        .iter()
        .flat_map(|run| &run.script.replies)
        .filter_map(|reply| reply.structured.as_ref());
    let mut values: Vec<String> = values.map(ToString::to_string).collect();
    values.dedup();
    assert_snapshot!(values.join("\n"), @r#"
    {"intent":"next","target":"a"}
    {"intent":"stop"}
    "not what was asked for"
    {"intent":"next","target":"b"}
    "#);
}

// C-77: one block per report, found by its name.
#[test]
fn every_report_gets_a_block_that_is_found() {
    let mut workflow = flow(20, "plan = done -> COMPLETE");
    if let Activity::Turns { turns, .. } = &mut workflow.stages["plan"].does {
        let report = |file: &str, heading: Option<&str>| Report {
            file: file.into(),
            label: file.trim_end_matches(".md").into(),
            heading: heading.map(str::to_owned),
        };
        turns[0].reads.reports = vec![report("00-plan.md", Some("# Plan")), report("01-risks.md", None)];
    }
    let script = way_to_completion(&workflow);
    let text = script.replies[0].text.as_deref().unwrap();
    assert_snapshot!(text, @"
    Rehearsed reply 1.

    00-plan.md
    ```markdown
    # Plan

    Rehearsed report.
    ```

    01-risks.md
    ```markdown
    # 01-risks

    Rehearsed report.
    ```

    [STEP:0]
    ");
    let wanted = workflow.wanted(&"plan".into(), saihai_model::RoundPosition::Main(0)).unwrap();
    let reading = saihai_judge::read(wanted, "", saihai_judge::ReplyText { text, structured: None });
    let found: Vec<_> = reading.reports.iter().map(|found| (found.file.as_str(), found.how)).collect();
    assert_eq!(found, [("00-plan.md", ReportClue::Clue), ("01-risks.md", ReportClue::Clue)]);
    assert_eq!(reading.warnings, Vec::<String>::new());
}

fn completing(completion: Completion) -> Workflow {
    let mut workflow = flow(20, "a = done -> b | stuck -> ABORT\nb = done -> a");
    workflow.completion = completion;
    workflow
}

// Completion by a word, by signals, by rounds and by an outside condition.
#[test]
fn there_is_a_way_to_every_kind_of_completion() {
    let ends = |workflow: &Workflow| {
        let rehearsal = rehearsed(workflow);
        assert_eq!(rehearsal.untaken, []);
        rehearsal.runs.iter().any(|run| matches!(run.end, RehearsalEnd::Ended(Ending::Completed(_))))
    };
    let keyword = Keyword { word: "FINISHED".into(), whole_line: true };
    let mut word = completing(Completion::Keyword(keyword.clone()));
    let mut signal = completing(Completion::Signal {
        kind: "advance".into(),
        fields: [("phase".to_owned(), None)].into(),
        times: 2,
        reason: None,
    });
    for workflow in [&mut word, &mut signal] {
        let Activity::Turns { turns, .. } = &mut workflow.stages["b"].does else { panic!("it asks") };
        turns[0].reads.keywords = vec![keyword.clone()];
        let uses = [("advance".to_owned(), BlockUse::Signal)].into_iter().collect();
        turns[0].reads.blocks = Some(Blocks { fence: "action".into(), uses });
    }
    assert!(ends(&word));
    assert!(ends(&signal));
    assert!(ends(&completing(Completion::Rounds(5))));
    let look = ActionSpec { does: Action::IssueState, inputs: Vec::new(), once: Once::ReadOnly, poll: None };
    assert!(ends(&completing(Completion::Outside(look))));
}

#[test]
fn what_comes_afterwards_is_rehearsed_too() {
    let mut workflow = flow(20, "a = done -> COMPLETE");
    let exit = rules(&[("ok", Target::Complete), ("failed", Target::End(Ending::Undelivered))]);
    workflow.stages.insert("push".into(), standing(action(Action::Push), exit));
    workflow.afterwards = Some("push".into());
    assert_snapshot!(tour(&workflow), @"
    a:0 push:0 | completed: complete
    a:nomatch | failed: no_match
    a:0 push:1 | undelivered
    a:0 push:nomatch | failed: no_match
    ");
}

// S-72: the rehearsal takes both exits of every check, exhausts every retry, and leaves an output invalid.
#[test]
fn a_flow_of_checked_steps_is_walked_to_all_its_ends() {
    let rehearsal = rehearsed(&saihai_model::testing::tailor());
    assert_eq!(rehearsal.untaken, []);
    let mut ends: Vec<String> = rehearsal.runs.iter().map(|run| run.end.to_string()).collect();
    ends.sort();
    ends.dedup();
    assert_eq!(ends, ["completed: Flow completed at quote", "failed: step_failed",]);
    let exhausted = Ending::Failed("retries_exhausted quote 2".into());
    assert!(rehearsal.runs.iter().any(|run| run.end == RehearsalEnd::Ended(exhausted.clone())));
}

// S-63
#[test]
fn there_is_a_way_through_the_phases() {
    let step = |from: &str, kind: &str, to: &str| saihai_model::PhaseStep {
        from: from.into(),
        kind: kind.into(),
        fields: std::collections::BTreeMap::new(),
        last: None,
        to: to.into(),
    };
    let steps =
        vec![step("plan", "advance", "work"), step("work", "detour", "work"), step("work", "advance", "end")];
    let phases = saihai_model::Phases { start: "plan".into(), steps, terminal: vec!["end".into()] };
    let mut workflow = completing(Completion::Phase(phases));
    let Activity::Turns { turns, .. } = &mut workflow.stages["b"].does else { panic!("it asks") };
    let uses = [("advance".to_owned(), BlockUse::Signal)].into_iter().collect();
    turns[0].reads.blocks = Some(Blocks { fence: "action".into(), uses });
    let rehearsal = rehearsed(&workflow);
    assert_eq!(rehearsal.untaken, []);
    let ends = rehearsal.runs.iter().map(|run| &run.end);
    assert!(ends.into_iter().any(
        |end| matches!(end, RehearsalEnd::Ended(Ending::Completed(reason)) if reason.text() == "phase end")
    ));
}

// U-9: a rehearsal takes every exit code that a rule names, and one that none does.
#[test]
fn a_program_ends_in_every_way_its_rules_know() {
    let codes = |first, last| ProgramExitRange::Codes { first, last };
    let ranges = [ProgramExitRange::Timeout, codes(0, Some(0)), codes(1, Some(9)), codes(5, Some(12))];
    let labels = ranges.map(|exits| ExitCodeLabel { label: exits.to_string().into(), exits });
    let options = labels.iter().enumerate().map(|(number, one)| Offer { number, label: one.label.clone() });
    let choice =
        Choice { options: options.collect(), found_by: vec![Method::ExitCode(labels.clone().into())] };
    let mut program = turn("next", Some(choice));
    program.program = Some(Box::default());
    let exit = rules(&[
        ("timeout", target("ABORT")),
        ("exit(0)", target("end")),
        ("exit(1..9)", target("ask")),
        ("exit(5..12)", target("end")),
    ]);
    let workflow = before_end(asking(vec![program], exit));
    assert_snapshot!(tour(&workflow), @"
    ask:0 next:1 end:0 | completed: complete
    ask:0 next:2 ask:0 next:3 end:nomatch | failed: no_match
    ask:nomatch | failed: no_match
    ask:0 next:0 | failed: abort
    ask:0 next:nomatch | failed: no_match
    ");
    let exits = rehearsed(&workflow).runs.into_iter().flat_map(|run| run.script.replies);
    let exits: BTreeSet<String> = exits.filter_map(|reply| reply.exit).map(|exit| exit.to_string()).collect();
    assert_eq!(
        exits.into_iter().collect::<Vec<_>>(),
        ["exit code 0", "exit code 1", "exit code 10", "exit code 13", "timed out"]
    );
}
