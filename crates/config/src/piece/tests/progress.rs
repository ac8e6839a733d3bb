//! The key `progress`, breakers of cycles, and rules about them.

use saihai_model::{Breaker, Exit, RuleCondition, StallJudge, StallKind, Workflow};

use super::Project;

fn piece(more: &str) -> String {
    format!(
        "name: t
{more}
movements:
  - {{name: plan, rules: [{{condition: done, next: fix}}]}}
  - {{name: fix, edit: true, rules: [{{condition: done, next: review}}, {{condition: stuck, next: ABORT}}]}}
  - {{name: review, rules: [{{condition: fine, next: COMPLETE}}, {{condition: bad, next: fix}}]}}
  - {{name: poll, rules: [{{condition: again, next: poll}}, {{condition: done, next: plan}}]}}
"
    )
}

fn workflow(more: &str) -> Workflow {
    Project::new(&piece(more)).workflow()
}

fn cycle() -> Vec<saihai_model::StageId> {
    vec!["fix".into(), "review".into()]
}

// N-12
#[test]
fn a_cycle_between_an_editing_and_a_reviewing_movement_has_a_breaker() {
    let usual = workflow("");
    assert_eq!(usual.breakers, [Breaker::usual(cycle())]);
    assert_eq!(usual.words["nudge"], "## No progress");
    assert_eq!(workflow("language: ja").words["nudge"], "## 進捗なし");
    let off = workflow("progress: off");
    assert_eq!((off.breakers, off.words.get("nudge")), (Vec::new(), None));
    let given = workflow("progress: {still: 4, same: off, spend: 80}");
    let expected = Breaker { still: Some(4), same: None, spend: Some(80), ..Breaker::usual(cycle()) };
    assert_eq!(given.breakers, [expected]);
    // Without an editing movement there is nothing to compare, also with the key.
    let reading = Project::new(&piece("progress: {still: 1}").replace("edit: true, ", "")).workflow();
    assert_eq!(reading.breakers, []);
}

// N-11
#[test]
fn wrong_thresholds_are_refused() {
    let said = |more: &str| Project::new(&piece(more)).said();
    for wrong in ["progress: on", "progress: {still: 0}", "progress: {spend: 101}", "progress: {stil: 1}"] {
        assert!(said(wrong).starts_with("error piece/"), "{wrong}: {}", said(wrong));
    }
}

// N-12
#[test]
fn a_rule_names_detectors() {
    let rules = |condition: &str| {
        let rule = format!("{{condition: '{condition}', next: plan}}, {{condition: stuck");
        piece("").replace("{condition: stuck", &rule)
    };
    let stages = Project::new(&rules("stalled(\"back\", \"still\")")).workflow().stages;
    let Exit::Rules { rules: found, .. } = &stages["fix"].exit else { panic!("rules") };
    assert_eq!(found[1].when, RuleCondition::Stalled(vec![StallKind::Back, StallKind::Still]));
    // Agents are not offered such a rule.
    let choice = stages["fix"].turns()[0].reads.choice.as_ref().unwrap();
    assert_eq!(choice.options.iter().map(|offer| offer.number).collect::<Vec<_>>(), [0, 2]);
    let said = Project::new(&rules("stalled(\"bck\")")).said();
    assert!(said.contains("`bck` is not a detector (did you mean `back`?)"), "{said}");
    let sub = "name: t\nmovements:\n  - name: m\n    parallel: [{name: a, rules: [{condition: 'stalled(\"back\")'}]}]\n    \
               rules: [{condition: 'all(\"x\")', next: COMPLETE}]\n";
    let said = Project::new(sub).said();
    assert!(
        said.contains("is about a cycle of movements (put it into a rule of a movement in the cycle)"),
        "{said}"
    );
}

// N-12
#[test]
fn a_loop_monitor_asks_its_judge_when_the_cycle_is_stalled() {
    let monitor = |more: &str| {
        format!(
            "{}loop_monitors:\n  - {{cycle: [fix, review], {more}judge: {{rules: [{{condition: go on, next: fix}}, \
             {{condition: stop, next: ABORT}}]}}}}\n",
            piece("")
        )
    };
    let workflow = Project::new(&monitor("condition: 'stalled(\"back\", \"same\")', ")).workflow();
    let [breaker] = &workflow.breakers[..] else { panic!("{:?}", workflow.breakers) };
    let judge =
        StallJudge { kinds: vec![StallKind::Back, StallKind::Same], stage: "judge(fix, review)".into() };
    assert_eq!((&breaker.judges[..], &workflow.monitors[..]), (&[judge][..], &[][..]));
    let said = |more: &str| Project::new(&monitor(more)).said();
    assert!(said("condition: often, ").contains("`often` is not a condition of a loop monitor"));
    let off = monitor("condition: 'stalled(\"back\")', ").replace("name: t\n", "name: t\nprogress: off\n");
    let said = Project::new(&off).said();
    assert!(said.contains("no breaker watches this cycle"), "{said}");
}
