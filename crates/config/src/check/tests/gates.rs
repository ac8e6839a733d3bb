//! Gates that a run can bypass.

use std::collections::BTreeSet;

use proptest::prelude::*;
use saihai_model::{Activity, Alarm, Monitor, PassedStages, Target, Watch, Workflow};

use super::{GateMode, StageId, said, workflow};
use crate::check::{FindingProblem, Spot, WorkflowFinding, check};

fn bypasses(workflow: &Workflow) -> Vec<WorkflowFinding> {
    let findings = check(workflow).into_iter();
    findings.filter(|finding| matches!(finding.problem, FindingProblem::GateBypass { .. })).collect()
}

#[track_caller]
fn expect(text: &str, expected: &[(&str, &str)]) {
    let way = |stages: &[StageId]| stages.iter().map(StageId::as_str).collect::<Vec<_>>().join(" ");
    let ways = bypasses(&workflow(text)).into_iter().filter_map(|finding| {
        let FindingProblem::GateBypass { asked, around } = finding.problem else { return None };
        Some((way(&asked), way(&around)))
    });
    let ways: Vec<(String, String)> = ways.collect();
    let ways: Vec<(&str, &str)> = ways.iter().map(|(one, other)| (one.as_str(), other.as_str())).collect();
    assert_eq!(ways, expected, "{text}");
}

// K-42
#[test]
fn a_stage_behind_a_gate_that_another_way_enters_is_told_with_both_ways() {
    let text = "plan: review fix; review: [ask] fix; [ask]: deploy; fix: review deploy; deploy: COMPLETE";
    expect(text, &[("review [ask] deploy", "plan fix deploy")]);
    let findings = bypasses(&workflow(text));
    let hint = findings[0].diagnostic("stage").hint;
    assert_eq!(hint.as_deref(), Some("add a gate on this path too, or route it through `review`"));
    // the rule that bypasses the gate, the second of `fix`
    assert_eq!(findings[0].spot, Spot::Rule("fix".into(), 1));
    assert_eq!(
        said(&workflow(text)).lines().last().unwrap(),
        "gate-bypass a gate protects stage `deploy` on the path `review` → `[ask]` → `deploy`, but not on the \
         path `plan` → `fix` → `deploy`"
    );
}

// K-42: cases that are not a bypass
#[test]
fn a_gate_that_every_way_passes_is_not_bypassed() {
    expect("plan: [ask]; [ask]: deploy; deploy: COMPLETE", &[]);
    expect("[ask]: deploy; deploy: COMPLETE", &[]);
    // Two gates, one on each path.
    expect("plan: a b; a: [x]; b: [y]; [x]: deploy; [y]: deploy; deploy: COMPLETE", &[]);
    expect("plan: [x]; [x]: [y]; [y]: deploy; deploy: COMPLETE", &[]);
}

// K-42: loops that return behind a gate
#[test]
fn what_comes_back_behind_an_answered_gate_does_not_go_around_it() {
    expect("plan: [ask]; [ask]: deploy; deploy: mend COMPLETE; mend: deploy", &[]);
    // A question about a stage's work leads back to it with the answer.
    expect("plan: [ask] work; [ask]: plan; work: COMPLETE", &[]);
    expect("plan: work; work: review; review: [ask] COMPLETE; [ask]: work", &[]);
    // The same loop, with a path that enters it before the gate is answered.
    expect(
        "plan: [ask] mend; [ask]: deploy; deploy: mend COMPLETE; mend: deploy",
        &[("plan [ask] deploy", "plan mend deploy")],
    );
}

// K-42: one place decides to ask
#[test]
fn a_stage_that_may_ask_or_go_on_does_not_go_around_its_own_question() {
    expect("plan: work [ask]; [ask]: work; work: COMPLETE", &[]);
    expect("plan: work other; other: work [ask]; [ask]: work; work: COMPLETE", &[]);
}

#[test]
fn only_ways_that_a_run_can_take_and_gates_that_ask_count() {
    // Nothing leads to `lost` or to the gate.
    expect("plan: [ask]; [ask]: deploy; deploy: COMPLETE; lost: deploy", &[]);
    expect("plan: deploy; deploy: COMPLETE; lost: [ask]; [ask]: deploy", &[]);
    let text = "plan: a b; a: [ask]; [ask]: deploy; b: deploy; deploy: COMPLETE";
    expect(text, &[("a [ask] deploy", "plan b deploy")]);
    let mut answered = workflow(text);
    let Activity::Gate(gate) = &mut answered.stages["[ask]"].does else { panic!("it is a gate") };
    gate.mode = GateMode::Auto;
    assert_eq!(bypasses(&answered), []);
}

#[test]
fn a_monitor_can_lead_around_a_gate_too() {
    let mut flow = workflow("plan: work; work: plan [ask]; [ask]: deploy; deploy: COMPLETE");
    assert_eq!(bypasses(&flow), []);
    let watches = Watch::Cycle {
        stages: vec!["work".into(), "plan".into()],
        times: 3,
        returning: false,
        passed: PassedStages::default(),
    };
    flow.monitors.push(Monitor { watches, then: Alarm::Go(Target::Stage("deploy".into())) });
    let [finding] = &bypasses(&flow)[..] else { panic!("one") };
    // No rule leads there, so the finding points to the stage itself.
    assert_eq!(finding.spot, Spot::Stage("deploy".into()));
}

#[test]
fn what_comes_afterwards_is_entered_where_the_work_is_done() {
    // The only end is behind a gate, and so are all stages after it.
    let text = "plan: [ask]; [ask]: work; work: COMPLETE; push: [pr] COMPLETE; [pr]: merge; merge: COMPLETE";
    let mut flow = workflow(text);
    flow.afterwards = Some("push".into());
    assert_eq!(bypasses(&flow), []);
    let text = "plan: work; work: COMPLETE; push: a b; a: [pr]; [pr]: merge; b: merge; merge: COMPLETE";
    let mut flow = workflow(text);
    flow.afterwards = Some("push".into());
    let [finding] = &bypasses(&flow)[..] else { panic!("one") };
    assert!(finding.diagnostic("stage").message.ends_with("`plan` → `work` → `push` → `b` → `merge`"));
}

#[test]
fn long_ways_are_named_by_their_ends() {
    let chain: String = (0..20).map(|index| format!("s{index}: s{} ;", index + 1)).collect();
    let text = format!("start: s0 ask; {chain} s20: deploy; ask: [g]; [g]: deploy; deploy: COMPLETE");
    let message = bypasses(&workflow(&text))[0].diagnostic("stage").message;
    assert!(
        message.ends_with("`start` → `s0` → `s1` → `s2` → … → `s18` → `s19` → `s20` → `deploy`"),
        "{message}"
    );
}

/// Builds a workflow from lists of targets. Every third stage is a gate. The test removes `END`, so no stage ends.
fn random(ways: &[Vec<usize>]) -> String {
    let name = |index: usize| if index.is_multiple_of(3) { format!("[{index}]") } else { index.to_string() };
    let line = |(index, to): (usize, &Vec<usize>)| {
        let to: BTreeSet<usize> = to.iter().map(|to| to % ways.len()).collect();
        let to: Vec<String> = to.into_iter().map(name).collect();
        format!("{}: {} END", name(index), to.join(" "))
    };
    // The first stage is not a gate, so that some stage is reachable without one.
    format!(
        "start: {}; {}",
        name(1 % ways.len()),
        ways.iter().enumerate().map(line).collect::<Vec<_>>().join(";")
    )
}

/// Returns the stages reachable from the start without the excluded ones.
fn reached(flow: &Workflow, without: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let (mut seen, mut open) = (BTreeSet::new(), vec![flow.entry.as_str()]);
    while let Some(stage) = open.pop() {
        let next = flow.stages.get(stage).filter(|_| !without(stage));
        if let Some(next) = next.filter(|_| seen.insert(stage.to_owned())) {
            open.extend(targets(next));
        }
    }
    seen
}

fn targets(stage: &saihai_model::Stage) -> Vec<&str> {
    let saihai_model::Exit::Rules { rules, .. } = &stage.exit else { return Vec::new() };
    let to = rules.iter().filter_map(|rule| {
        let Target::Stage(to) = &rule.then else { return None };
        Some(to.as_str())
    });
    to.collect()
}

/// Finds bypasses by brute force: it removes each stage in turn.
fn by_trying(flow: &Workflow) -> BTreeSet<String> {
    let is_gate = |name: &str| name.starts_with('[');
    let around = reached(flow, is_gate);
    let mut found = BTreeSet::new();
    for stage in around {
        let elsewhere = reached(flow, |name| name == stage);
        let asked = flow.stages.iter().filter(|(id, _)| elsewhere.contains(id.as_str()));
        let asked = asked.filter(|(_, from)| !targets(from).contains(&stage.as_str()));
        let mut gates = asked.flat_map(|(_, from)| targets(from)).filter(|to| is_gate(to));
        if gates.any(|gate| targets(&flow.stages[gate]).contains(&stage.as_str())) {
            found.insert(stage);
        }
    }
    found
}

proptest! {
    // K-42: the fast algorithm agrees with brute force
    #[test]
    fn bypasses_are_found_as_if_every_stage_were_taken_away_in_turn(
        ways in prop::collection::vec(prop::collection::vec(0_usize..12, 0..4), 2..12),
    ) {
        let mut flow = workflow(&random(&ways));
        for stage in flow.stages.values_mut() {
            let saihai_model::Exit::Rules { rules, .. } = &mut stage.exit else { continue };
            rules.retain(|rule| rule.then != Target::Stage("END".into()));
        }
        let found: BTreeSet<String> = bypasses(&flow)
            .into_iter()
            .filter_map(|finding| {
                let FindingProblem::GateBypass { asked, .. } = finding.problem else { return None };
                asked.last().map(|stage| stage.as_str().to_owned())
            })
            .collect();
        prop_assert_eq!(found, by_trying(&flow));
    }
}
