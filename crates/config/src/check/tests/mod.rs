//! Findings on workflows in a one-line notation.

mod gates;
mod money;
mod validation;

use proptest::prelude::*;
use saihai_model::{
    Activity, Alarm, Choice, Exit, ExitRule, Gate, GateMode, Limits, Method, Monitor, Offer, PassedStages,
    Prompt, PromptPart, PromptSection, Question, QuestionSession, Report, RuleCondition, SectionCondition,
    Stage, StageId, Target, Turn, ValueForm, Variable, Wants, Watch, Workflow, testing,
};

use super::{Spot, check, most_calls};

fn turn(id: &str, labels: &[&str]) -> Turn {
    let turn = testing::turn(id, Vec::new());
    if labels.is_empty() { turn } else { testing::choosing(turn, labels) }
}

fn stage(turns: Vec<Turn>, rules: Vec<ExitRule>) -> Stage {
    let exit = Exit::Rules { rules, question: None, otherwise: Target::failed("no_match") };
    Stage { exit, ..testing::stage(turns, &[]) }
}

/// Parses a workflow. `a: b COMPLETE; b: a` is a stage `a` with a rule to `b` and one to the end, and a stage
/// `b` with a rule to `a`. A name in brackets is a gate.
fn workflow(text: &str) -> Workflow {
    let stages = text.split(';').map(|line| {
        let (name, nexts) = line.split_once(':').unwrap();
        let nexts: Vec<&str> = nexts.split_whitespace().collect();
        let name = name.trim();
        let rule =
            |next: &&str| ExitRule { when: RuleCondition::Is((*next).into()), then: testing::target(next) };
        let mut stage = stage(vec![turn("t", &nexts)], nexts.iter().map(rule).collect());
        if name.starts_with('[') {
            let wants = Wants::Text { max_chars: 10 };
            let (question, mode) = (Prompt::default(), GateMode::Person);
            stage.does = Activity::Gate(Gate { question, wants, mode, timeout: None });
        }
        (name, stage)
    });
    testing::workflow(stages.collect())
}

fn said(workflow: &Workflow) -> String {
    let line = |finding: &super::WorkflowFinding| {
        let diagnostic = finding.diagnostic("stage");
        format!("{} {}", diagnostic.code.slug, diagnostic.message)
    };
    check(workflow).iter().map(line).collect::<Vec<_>>().join("\n")
}

// P-54, K-42
#[test]
fn paths_are_followed_through_every_stage() {
    let expect = |text: &str, expected: &str| assert_eq!(said(&workflow(text)), expected, "{text}");
    expect("a: b; b: COMPLETE", "");
    expect("a: COMPLETE; b: a", "unreachable nothing leads to stage `b`");
    expect(
        "a: b ABORT; b: c; c: b",
        "no-end no path leads from stage `b` to an end of the run
no-end no path leads from stage `c` to an end of the run
unmonitored-cycle `b` → `c` can repeat until the iteration limit",
    );
}

// K-42: each cycle once, by its shortest path, and none that contains a person or a monitor
#[test]
fn cycles_nobody_watches_are_noted_once() {
    let expect = |workflow: &Workflow, expected: &str| assert_eq!(said(workflow), expected);
    expect(&workflow("a: a COMPLETE"), "unmonitored-cycle `a` can repeat until the iteration limit");
    expect(
        &workflow("a: b; b: c COMPLETE; c: a b d; d: e; e: d ABORT"),
        "unmonitored-cycle `a` → `b` → `c` can repeat until the iteration limit
unmonitored-cycle `d` → `e` can repeat until the iteration limit",
    );
    expect(&workflow("a: [g] COMPLETE; [g]: a"), "");
    let mut watched = workflow("a: b COMPLETE; b: a");
    let watches = Watch::Cycle {
        stages: vec!["a".into(), "b".into()],
        times: 3,
        returning: false,
        passed: PassedStages::default(),
    };
    watched.monitors.push(Monitor { watches, then: Alarm::Go(Target::failed("abort")) });
    expect(&watched, "");
}

// P-54: the target of a monitor counts as a path
#[test]
fn a_monitor_leads_somewhere_too() {
    let mut workflow = workflow("a: b; b: a; c: COMPLETE");
    let watches = Watch::Cycle {
        stages: vec!["a".into(), "b".into()],
        times: 3,
        returning: false,
        passed: PassedStages::default(),
    };
    workflow.monitors.push(Monitor { watches, then: Alarm::Go(Target::Stage("c".into())) });
    assert_eq!(said(&workflow), "");
}

// P-56
#[test]
fn the_most_calls_are_the_limit_times_the_dearest_stage() {
    let mut flow = workflow("a: b; b: COMPLETE");
    assert_eq!(most_calls(&flow), Some(10));
    let question = Question {
        prompt: Prompt::default(),
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer: saihai_model::AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    };
    let ask = || Method::Ask(Box::new(question.clone()));
    let mut turns = vec![turn("x", &["ok"]), turn("y", &["ok"]), turn("z", &[])];
    for turn in &mut turns[..2] {
        turn.reads.choice.as_mut().unwrap().found_by.push(ask());
    }
    let mut dear = stage(turns, Vec::new());
    let offered = vec![Offer { number: 0, label: "other".into() }];
    let own = Choice { options: offered, found_by: vec![ask()] };
    dear.exit = Exit::Rules { rules: Vec::new(), question: Some(own), otherwise: Target::Complete };
    flow.stages.insert("b".into(), dear);
    // three turns, two questions about them, one question of the exit
    assert_eq!(most_calls(&flow), Some(60));
    flow.limits.hard_rounds = Some(4);
    assert_eq!(most_calls(&flow), Some(24));
    flow.limits = Limits::default();
    assert_eq!(most_calls(&flow), None);
    // K-35: a turn budget limits the calls of all stages
    flow.limits.budget.turns = Some(7);
    assert_eq!(most_calls(&flow), Some(7));
    flow.limits.rounds = Some(1);
    assert_eq!(most_calls(&flow), Some(6));
}

fn holds(when: &RuleCondition, labels: &[String]) -> bool {
    match when {
        RuleCondition::Always | RuleCondition::Answered(_) => true,
        RuleCondition::Stalled(_) => false,
        RuleCondition::Is(label) => labels == [label.to_string()],
        RuleCondition::All(wanted) if wanted.len() == 1 => {
            labels.iter().all(|label| *label == wanted[0].as_str())
        }
        RuleCondition::All(wanted) => {
            labels.iter().zip(wanted).all(|(label, wanted)| *label == wanted.as_str())
        }
        RuleCondition::Any(wanted) => {
            labels.iter().any(|label| wanted.iter().any(|wanted| wanted.as_str() == label))
        }
    }
}

fn combinations(turns: usize) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    for _ in 0..turns {
        let longer = |combination: &Vec<String>| {
            ["a", "b", "c"].map(|label| combination.iter().cloned().chain([label.to_owned()]).collect())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn any_holds(turns: usize) -> impl Strategy<Value = RuleCondition> {
    let label = prop::sample::select(vec!["a", "b", "c"]).prop_map(saihai_model::Label::from);
    prop_oneof![
        prop::collection::vec(label.clone(), 1..3).prop_map(RuleCondition::Any),
        label.clone().prop_map(|label| RuleCondition::All(vec![label])),
        prop::collection::vec(label, turns..=turns).prop_map(RuleCondition::All),
    ]
}

proptest! {
    // P-20: the fast algorithm agrees with trying every combination
    #[test]
    fn what_is_uncovered_is_found_as_if_every_combination_were_tried(
        (turns, rules) in (2_usize..4).prop_flat_map(|turns| {
            (Just(turns), prop::collection::vec(any_holds(turns), 0..12))
        }),
    ) {
        let rules: Vec<ExitRule> = rules.into_iter().map(|when| ExitRule { when, then: Target::Complete }).collect();
        let names: Vec<String> = (0..turns).map(|index| format!("t{index}")).collect();
        let stage = stage(names.iter().map(|name| turn(name, &["a", "b", "c"])).collect(), rules.clone());
        let mut flow = workflow("a: COMPLETE");
        flow.stages.insert("a".into(), stage);
        let uncovered = |labels: &Vec<String>| !rules.iter().any(|rule| holds(&rule.when, labels));
        let expected = combinations(turns).into_iter().any(|labels| uncovered(&labels));
        let findings = check(&flow);
        let found = findings.iter().find_map(|finding| {
            if let super::FindingProblem::NotExhaustive(results) = &finding.problem { Some(results) } else { None }
        });
        prop_assert_eq!(found.is_some(), expected);
        if let Some(results) = found {
            let labels: Vec<String> = results.iter().map(|(_, label)| label.clone().unwrap().to_string()).collect();
            prop_assert!(uncovered(&labels), "{labels:?} is covered");
        }
    }
}

// one of thousands of stages can have a finding
#[test]
fn long_chains_are_followed_without_recursion() {
    let chain: Vec<String> = (0..20_000).map(|index| format!("s{index}: s{}", index + 1)).collect();
    let flow = workflow(&format!("{}; s20000: s0 COMPLETE", chain.join(";")));
    let findings = check(&flow);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].spot, Spot::Stage("s0".into()));
}

// K-42, P-20: rules with labels that no turn produces
#[test]
fn rules_that_can_never_hold_are_told_apart() {
    let mut flow = workflow("a: COMPLETE");
    let all = |labels: &[&str]| RuleCondition::All(labels.iter().map(|label| (*label).into()).collect());
    let any = |labels: &[&str]| RuleCondition::Any(labels.iter().map(|label| (*label).into()).collect());
    let whens = [
        all(&["ok"]),
        all(&["okay"]),
        all(&["ok", "ok", "ok"]),
        all(&["ok", "slow"]),
        any(&["slow", "fast"]),
        RuleCondition::Answered("else".into()),
        RuleCondition::Always,
    ];
    let rules = whens.map(|when| ExitRule { when, then: Target::Complete }).to_vec();
    let turns = vec![turn("x", &["ok", "slow"]), turn("y", &["ok"])];
    flow.stages.insert("a".into(), stage(turns, rules));
    insta::assert_snapshot!(said(&flow), @"
    dead-rule this rule can never match: `okay` is not a result of `x`
    dead-rule this rule can never match: it names 3 results, but there are 2 turns
    dead-rule this rule can never match: `slow` is not a result of `y`
    dead-rule this rule can never match: nothing has the result `fast`
    dead-rule this rule can never match: its question is never asked, because `judge_fallback` is off
    ");
}

// K-42: reports that a prompt shows but no turn writes
#[test]
fn reports_that_are_shown_are_written_by_a_stage() {
    let shows = |file: &str| {
        let body = vec![PromptPart::Value(Variable::ReportFile(file.to_owned()), ValueForm::Plain)];
        Prompt { sections: vec![PromptSection { body, when: SectionCondition::Always }], ..Prompt::default() }
    };
    let mut flow = workflow("a: COMPLETE");
    let mut reader = turn("t", &["COMPLETE"]);
    reader.prompt = shows("plan.md");
    let rules = vec![ExitRule { when: RuleCondition::Is("COMPLETE".into()), then: Target::Complete }];
    flow.stages.insert("a".into(), stage(vec![reader.clone()], rules.clone()));
    assert_eq!(said(&flow), "unknown-report no stage writes the report `plan.md`");
    let report = Report { file: "plan.md".to_owned(), label: "plan.md".to_owned(), heading: None };
    reader.reads.reports.push(report);
    flow.stages.insert("a".into(), stage(vec![reader], rules));
    assert_eq!(said(&flow), "");
}
