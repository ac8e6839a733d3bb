use insta::assert_snapshot;
use proptest::prelude::*;

use saihai_config::{
    Definition, Dialect, MemorySource, Options, Origin, ProjectPaths, Settings, ValidatedDefinition,
    WorkGate, load,
};
use saihai_model::{Activity, Ending, Exit, GateMode, Millis, RuleCondition, StageId, Target, Workflow};

use crate::stages::*;

fn lowered(file: &str, dialect: Dialect, text: &str) -> Workflow {
    let path = format!("/p/{file}");
    let source = MemorySource::new([(path.as_str(), text)]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition =
        Definition { name: "it".to_owned(), dialect, origin: Origin::Path, path: Some(path.into()) };
    let loaded = load(&source, &places, &definition, &Options::default(), &Settings::default());
    loaded.workflow.expect("a workflow")
}

fn piece() -> Workflow {
    let text = "name: it\nmovements:\n  - {name: work, rules: [{condition: done, next: COMPLETE}]}\n";
    lowered("it.yaml", Dialect::Piece, text)
}

fn delivery(handing: DeliveryTarget, merge: bool, gates: &[WorkGate]) -> DeliveryOptions {
    DeliveryOptions {
        about: "#7 Login fails, from main".to_owned(),
        bound: "0 turns so far, at most 20".to_owned(),
        gates: gates.to_vec(),
        mode: GateMode::Person,
        gate_timeout: None,
        handing,
        merge,
        comment: false,
    }
}

const REQUEST: DeliveryTarget = DeliveryTarget::PullRequest { checks: Millis(60_000) };

/// Lists the transitions of every stage, those of the definition included.
fn ways(workflow: &Workflow) -> String {
    let name = |target: &Target| match target {
        Target::Stage(id) => id.to_string(),
        Target::Complete => "COMPLETE".to_owned(),
        Target::End(ending) => format!("{} {}", ending.outcome(), ending.reason()),
        Target::NamedBy { .. } | Target::ByPhase { .. } | Target::Again(_) => "…".to_owned(),
    };
    let stages = workflow.stages.iter().map(|(id, stage)| {
        let Exit::Rules { rules, .. } = &stage.exit else { return format!("{id}: topics") };
        let rules = rules.iter().map(|rule| {
            let RuleCondition::Is(label) = &rule.when else { return format!("{:?}", rule.when) };
            format!("{label} → {}", name(&rule.then))
        });
        // Every action has these failures, all with the same target.
        let rules = rules.filter(|rule| !BROKEN.iter().any(|word| rule.starts_with(word)));
        format!("{id}: {}", rules.collect::<Vec<_>>().join(", "))
    });
    let afterwards = workflow.afterwards.as_ref().map(StageId::to_string).unwrap_or_default();
    let head = format!("entry {}, afterwards {afterwards}", workflow.entry);
    [head].into_iter().chain(stages).collect::<Vec<_>>().join("\n")
}

#[test]
fn everything_that_can_be_asked_for_stands_around_the_definition() {
    assert_snapshot!(ways(&deliver(piece(), &delivery(REQUEST, true, &WorkGate::ALL))), @"
    entry deliver/pre-loop, afterwards deliver/finalize
    work: done → COMPLETE
    deliver/pre-loop: yes → deliver/worktree
    deliver/worktree: ready → work, not-ours → failed not-ours
    deliver/post-completion: yes → deliver/push
    deliver/finalize: committed → deliver/post-completion, no-changes → deliver/clean-up, branch-changed → failed branch-changed, history-rewritten → failed history-rewritten, embedded-repository → failed embedded-repository, large-file → failed large-file, secret → failed secret
    deliver/push: pushed → deliver/pull-request, moved → deliver/finalize, push-rejected → failed push-rejected
    deliver/pull-request: created → deliver/checks, merged → deliver/clean-up
    deliver/checks: green → deliver/merge, merged → deliver/merge, moved → deliver/finalize, red → failed checks
    deliver/merge: merged → deliver/clean-up, moved → deliver/finalize, verify → failed verify
    deliver/clean-up: merged → completed merged, pr-created → completed pr-created, branch-ready → completed branch-ready, no-changes → completed no-changes
    ");
}

#[test]
fn a_branch_alone_needs_neither_push_nor_request() {
    assert_snapshot!(ways(&deliver(piece(), &delivery(DeliveryTarget::Branch, false, &[]))), @"
    entry deliver/worktree, afterwards deliver/finalize
    work: done → COMPLETE
    deliver/worktree: ready → work, not-ours → failed not-ours
    deliver/finalize: committed → deliver/clean-up, no-changes → deliver/clean-up, branch-changed → failed branch-changed, history-rewritten → failed history-rewritten, embedded-repository → failed embedded-repository, large-file → failed large-file, secret → failed secret
    deliver/clean-up: merged → completed merged, pr-created → completed pr-created, branch-ready → completed branch-ready, no-changes → completed no-changes, moved → deliver/finalize
    ");
}

#[test]
fn what_a_definition_has_behind_its_end_goes_on_with_the_delivery() {
    let hats = "gates: [post-completion]\nhats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n";
    let workflow =
        deliver(lowered("orch.yml", Dialect::Hats, hats), &delivery(DeliveryTarget::Branch, false, &[]));
    let ways = ways(&workflow);
    assert!(ways.contains("gate/post-completion: yes → deliver/finalize"), "{ways}");
    assert_eq!(workflow.afterwards, Some("gate/post-completion".into()));
}

// A merge or push checks the branch again; without them the last stage does.
#[test]
fn a_branch_that_moved_after_the_last_yes_is_shown_again_whatever_is_done_with_it() {
    for handing in [DeliveryTarget::Branch, DeliveryTarget::Push, REQUEST] {
        for merge in [false, true] {
            let ways = ways(&deliver(piece(), &delivery(handing, merge, &WorkGate::ALL)));
            assert!(ways.contains("moved → deliver/finalize"), "{handing:?}, {merge}: {ways}");
        }
    }
}

// I-40: the question names the issue and shows the commit.
#[test]
fn a_gate_shows_the_issue_and_what_there_is_to_hand_over() {
    for gate in WorkGate::ALL {
        // Gates with nothing between them are one question (U-19).
        let workflow = deliver(piece(), &delivery(REQUEST, false, &[gate]));
        let Activity::Gate(asked) = &workflow.stages[&gate_stage(gate)].does else { panic!("no gate") };
        let written = format!("{:?}", asked.question);
        assert!(written.contains("#7 Login fails, from main"), "{written}");
        let is_first = gate == WorkGate::PreLoop;
        assert_eq!(written.contains("shown"), !is_first, "{written}");
        assert_eq!(written.contains("0 turns so far, at most 20"), is_first, "{written}");
    }
}

proptest! {
    #[test]
    fn every_way_of_handing_over_is_a_sound_workflow(which in 0..3usize, merge: bool, gates in 0..8u8) {
        let handing = [DeliveryTarget::Branch, DeliveryTarget::Push, REQUEST][which];
        let gates: Vec<_> = WorkGate::ALL.into_iter().filter(|gate| gates & (1 << *gate as u8) != 0).collect();
        let workflow = deliver(piece(), &delivery(handing, merge, &gates));
        let sound = ValidatedDefinition::validate(workflow);
        prop_assert!(sound.is_ok(), "{sound:?}");
    }
}

// A failed run reports one of the codes of its loop, even if the failure was outside the loop.
#[test]
fn every_failure_of_a_delivery_has_a_known_code() {
    let added = deliver(piece(), &delivery(REQUEST, true, &WorkGate::ALL));
    let mut ends = 0;
    for (_, stage) in added.stages.iter().filter(|(id, _)| id.as_str().starts_with("deliver/")) {
        let Exit::Rules { rules, otherwise, .. } = &stage.exit else { continue };
        for target in rules.iter().map(|rule| &rule.then).chain([otherwise]) {
            if let Target::End(Ending::Failed(code)) = target {
                ends += 1;
                assert!(matches!(code, saihai_model::FailureReason::Delivery(_)), "{code:?}");
            }
        }
    }
    assert!(ends > 10, "{ends}");
}
