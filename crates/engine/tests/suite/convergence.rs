//! Cycles that make no progress: detectors, the nudge, the hold, and rules about them.

use proptest::prelude::*;
use saihai_model::*;

use crate::support::sim::text_of;
use crate::support::{Sim, flow};

/// `fix` edits, `review` reads; a breaker with the usual thresholds watches both.
fn fix_and_review() -> Workflow {
    let mut workflow = flow("fix: done -> review; review: ok -> COMPLETE, more -> fix; max 200");
    watched(&mut workflow, &["fix", "review"]);
    workflow
}

fn watched(workflow: &mut Workflow, stages: &[&str]) {
    for (id, stage) in &mut workflow.stages {
        if let (Activity::Turns { turns, .. }, true) = (&mut stage.does, id.as_str() != "review") {
            turns.iter_mut().for_each(|turn| turn.permission = Permission::Edit { commands: true });
        }
    }
    workflow.breakers = vec![Breaker::usual(stages.iter().map(|stage| (*stage).into()).collect())];
}

fn marks(names: &[u32]) -> Vec<FindingMark> {
    let mark = |name: &u32| FindingMark {
        fingerprint: format!("f{name}"),
        severity: Some(Severity::Important),
        file: Some("src/a.rs".to_owned()),
        text: format!("problem {name}"),
        waived: false,
    };
    names.iter().map(mark).collect()
}

fn tagged(number: usize) -> Reading {
    Reading { tag: Some(Tag { number: Some(number), line: 1 }), ..Reading::default() }
}

fn is_over(sim: &Sim) -> bool {
    sim.run.hold().is_some() || sim.run.ending().is_some()
}

/// Edits; the files are then `tree`.
fn edit(sim: &mut Sim, stage: &str, tree: &str) {
    let request = sim.take_ask(stage);
    let state = TreeState { id: tree.to_owned(), base: String::new(), changed: None };
    sim.reply_with(&request, tagged(0), |reply| reply.tree = Some(TreeFact::Seen(state)));
}

/// Reviews. `None` lists no findings, and only asks for more.
fn review(sim: &mut Sim, findings: Option<&[u32]>) {
    let number = usize::from(findings.is_none_or(|found| !found.is_empty()));
    let reading = Reading { listed_findings: findings.map(marks), ..tagged(number) };
    sim.reply("review", reading);
}

/// Drives fix and review over this script until it ends or the run stops. Returns the number of fixes and the outcome.
fn drive(workflow: Workflow, script: &[(&str, Option<&[u32]>)]) -> (usize, Sim) {
    let mut sim = Sim::started(workflow);
    let mut fixes = 0;
    for (tree, findings) in script {
        edit(&mut sim, "fix", tree);
        fixes += 1;
        if is_over(&sim) {
            break;
        }
        review(&mut sim, *findings);
        if is_over(&sim) {
            break;
        }
    }
    sim.prove_replay();
    (fixes, sim)
}

/// Returns the stalls that the engine recorded: `nudged back`, `held back`.
fn stalls(sim: &Sim) -> Vec<String> {
    let stalls = sim.decisions().into_iter().filter_map(|decision| match decision {
        Decision::Stalled { evidence, then } => {
            let kinds: Vec<&str> = evidence.signals.iter().map(|signal| signal.kind().name()).collect();
            Some(format!("{then:?} {}", kinds.join("+")).to_lowercase())
        }
        _ => None,
    });
    stalls.collect()
}

#[track_caller]
fn check(script: &[(&str, Option<&[u32]>)], fixes: usize, outcome: &str, expected: &[&str]) {
    let (done, sim) = drive(fix_and_review(), script);
    assert_eq!(
        (done, sim.outcome().as_str(), stalls(&sim)),
        (fixes, outcome, expected.iter().map(|text| text.to_string()).collect())
    );
}

// N-10, N-11, N-12
#[test]
fn unchanged_files_are_still() {
    check(&[("a", None); 10], 4, "parked: no_progress", &["nudged still", "held still"]);
    // A change after the nudge goes on. The nudge is given once.
    let trees = ["a", "a", "a", "b", "c", "c", "c"].map(|tree| (tree, None));
    check(&trees, 7, "parked: no_progress", &["nudged still", "held still"]);
}

// N-11, N-14
#[test]
fn an_oscillation_is_stopped_after_the_nudge() {
    let trees = ["a", "b", "a", "b", "a", "b", "a", "b"].map(|tree| (tree, None));
    check(&trees, 4, "parked: no_progress", &["nudged back", "held back"]);
    // The longest period is four changes.
    let period = |count: usize| {
        let trees: Vec<String> = (0..30).map(|index| format!("t{}", index % count)).collect();
        let script: Vec<(&str, Option<&[u32]>)> = trees.iter().map(|tree| (tree.as_str(), None)).collect();
        drive(fix_and_review(), &script).1.outcome()
    };
    assert_eq!([2, 3, 4].map(period), ["parked: no_progress"; 3].map(str::to_owned));
    assert_eq!(period(5), "running: fix.31.1.1 Work");
}

// N-11
#[test]
fn an_oscillation_of_findings_hides_no_oscillation_of_files() {
    let (both, one): (&[u32], &[u32]) = (&[1, 2], &[1]);
    let script = [("a", Some(both)), ("b", Some(one))].repeat(4);
    // The first smaller set is progress; the second one closes a finding again that was closed before.
    check(&script, 5, "parked: no_progress", &["nudged back", "held back"]);
}

// N-11
#[test]
fn equal_findings_are_the_same_whatever_the_files_are() {
    let found: &[u32] = &[1, 2];
    let trees = ["a", "b", "c", "d", "e", "f"].map(|tree| (tree, Some(found)));
    check(&trees, 4, "parked: no_progress", &["nudged same", "held same"]);
}

// N-11, N-14
#[test]
fn a_finding_that_makes_way_for_the_next_grows() {
    let trees: Vec<String> = (0..20).map(|index| format!("t{index}")).collect();
    let found: Vec<Vec<u32>> = (0..20).map(|index| vec![index]).collect();
    let script: Vec<_> =
        trees.iter().zip(&found).map(|(tree, one)| (tree.as_str(), Some(one.as_slice()))).collect();
    check(&script, 5, "parked: no_progress", &["nudged grow", "held grow"]);
}

// N-14
#[test]
fn a_set_that_hardly_shrinks_is_stopped_where_it_does_not() {
    // Ten findings, of which one is closed in every sixth review.
    let trees: Vec<String> = (0..60).map(|index| format!("t{index}")).collect();
    let found: Vec<Vec<u32>> = (0..60).map(|index| (index / 6..10).collect()).collect();
    let script: Vec<_> =
        trees.iter().zip(&found).map(|(tree, some)| (tree.as_str(), Some(some.as_slice()))).collect();
    check(&script, 4, "parked: no_progress", &["nudged same", "held same"]);
    // One that is closed in every second review goes on to the end.
    let found: Vec<Vec<u32>> = (0..60).map(|index| (index / 2..10).collect()).collect();
    let script: Vec<_> =
        trees.iter().zip(&found).map(|(tree, some)| (tree.as_str(), Some(some.as_slice()))).collect();
    check(&script, 21, "completed: complete", &[]);
}

// N-14
#[test]
fn healthy_long_loops_are_never_stopped() {
    let trees: Vec<String> = (0..90).map(|index| format!("t{index}")).collect();
    let script: Vec<_> = trees.iter().map(|tree| (tree.as_str(), None)).collect();
    check(&script, 90, "running: fix.91.1.1 Work", &[]);
    let found: Vec<Vec<u32>> = (0..60).map(|index| (index..50).collect()).collect();
    let script: Vec<_> =
        trees.iter().zip(&found).map(|(tree, some)| (tree.as_str(), Some(some.as_slice()))).collect();
    check(&script, 51, "completed: complete", &[]);
}

// N-11
#[test]
fn money_without_progress_is_a_share_of_the_budget() {
    let mut workflow = fix_and_review();
    // Every turn costs 100.
    workflow.limits.budget.usd = Some(Usd(2_000));
    let found = [&[1, 2][..], &[1], &[3], &[4], &[4, 5], &[6, 7], &[6, 7], &[8, 9]].map(<[u32]>::to_vec);
    let trees: Vec<String> = (0..found.len()).map(|index| format!("t{index}")).collect();
    let script: Vec<_> =
        trees.iter().zip(&found).map(|(tree, some)| (tree.as_str(), Some(some.as_slice()))).collect();
    workflow.breakers[0] = Breaker {
        spend: Some(40),
        ..Breaker { stages: workflow.breakers[0].stages.clone(), ..Breaker::default() }
    };
    let (fixes, sim) = drive(workflow, &script);
    assert_eq!((fixes, stalls(&sim)), (7, vec!["nudged spend".to_owned(), "held spend".to_owned()]));
}

// N-12
#[test]
fn the_nudge_is_one_section_of_the_next_editing_prompt() {
    let mut workflow = fix_and_review();
    for (key, word) in [
        ("nudge", "## No progress"),
        ("nudge-back", "after {}: same files in {}"),
        ("nudge-same", "same findings in {}"),
        ("nudge-advice", "Change the approach."),
    ] {
        workflow.words.insert(key.to_owned(), word.to_owned());
    }
    let plain = |sim: &Sim| text_of(sim.asks[0].draft.as_ref().unwrap());
    let found: &[u32] = &[1];
    let mut sim = Sim::started(workflow);
    let first = plain(&sim);
    for tree in ["a", "b", "a"] {
        assert!(!plain(&sim).contains("No progress"), "{}", plain(&sim));
        edit(&mut sim, "fix", tree);
        assert!(!plain(&sim).contains("No progress"), "a reviewer is not told");
        review(&mut sim, Some(found));
    }
    let shown = plain(&sim);
    assert!(shown.starts_with(first.lines().next().unwrap()), "{shown}");
    let nudge = "## No progress\n\n- after fix: same files in 1, 5\n- same findings in 2, 4, 6\n  \
                 - src/a.rs: problem 1\n\nChange the approach.";
    assert!(shown.ends_with(nudge), "{shown}");
    // A lost session asks again with the same words, and the next round without them.
    sim.crash_and_resume();
    edit(&mut sim, "fix", "c");
    sim.prove_replay();
    let nudged = sim.run.progress()[&0].clone();
    assert_eq!((nudged.nudged, nudged.due), (true, None));
}

// N-12
#[test]
fn the_hold_names_the_evidence_and_a_resume_starts_a_new_window() {
    let (_, mut sim) = drive(fix_and_review(), &[("a", None); 10]);
    let Some(Hold::NoProgress(evidence)) = sim.run.hold().cloned() else { panic!("{}", sim.outcome()) };
    let signal = StallSignal::Still { stage: "fix".into(), tree: "a".to_owned(), rounds: vec![1, 3, 5, 7] };
    let stages = vec!["fix".into(), "review".into()];
    assert_eq!(*evidence, StallEvidence { stages, signals: vec![signal], since: 1, spent: Usd(600) });
    assert_eq!(exit_code(None, sim.run.hold()), 5);
    sim.resume(None);
    assert_eq!(sim.outcome(), "running: review.4.1.1 Work");
    for _ in 0..3 {
        review(&mut sim, None);
        assert!(!is_over(&sim), "{}", sim.outcome());
        edit(&mut sim, "fix", "a");
    }
    assert_eq!(stalls(&sim), ["nudged still", "held still", "nudged still"]);
    sim.prove_replay();
}

// N-12
#[test]
fn a_rule_takes_the_place_of_nudge_and_hold() {
    let mut workflow =
        flow("fix: done -> review; review: ok -> COMPLETE, more -> fix; rethink: done -> COMPLETE; max 50");
    watched(&mut workflow, &["fix", "review"]);
    let Exit::Rules { rules, .. } = &mut workflow.stages["fix"].exit else { panic!("rules") };
    let when = RuleCondition::Stalled(vec![StallKind::Back]);
    rules.push(ExitRule { when, then: Target::Stage("rethink".into()) });
    let trees = ["a", "b", "a"].map(|tree| (tree, None));
    let (fixes, sim) = drive_until(workflow, &trees, "rethink");
    assert_eq!((fixes, stalls(&sim)), (3, vec!["routed back".to_owned()]));
    assert_eq!(sim.path().last().unwrap(), "fix -(stalled)-> rethink");
}

// N-12
#[test]
fn a_judge_decides_instead_of_nudge_and_hold() {
    let mut workflow = flow(
        "fix: done -> review; review: ok -> COMPLETE, more -> fix; judge: go -> fix, stop -> ABORT; max 50",
    );
    watched(&mut workflow, &["fix", "review"]);
    workflow.stages["judge"].aside = true;
    workflow.breakers[0].judges = vec![StallJudge { kinds: vec![StallKind::Back], stage: "judge".into() }];
    let trees = ["a", "b", "a"].map(|tree| (tree, None));
    let (_, mut sim) = drive_until(workflow, &trees, "judge");
    assert_eq!((stalls(&sim), sim.run.carry().cycles), (vec!["routed back".to_owned()], 2));
    // The window starts again.
    sim.tag("judge", Some(0));
    for tree in ["b", "a"] {
        edit(&mut sim, "fix", tree);
        sim.tag("review", Some(1));
    }
    edit(&mut sim, "fix", "b");
    sim.tag("judge", Some(1));
    assert_eq!((sim.outcome().as_str(), stalls(&sim).len()), ("failed: abort", 2));
    sim.prove_replay();
}

fn drive_until(workflow: Workflow, script: &[(&str, Option<&[u32]>)], stage: &str) -> (usize, Sim) {
    let mut sim = Sim::started(workflow);
    for (index, (tree, findings)) in script.iter().enumerate() {
        edit(&mut sim, "fix", tree);
        if sim.run.visit().is_some_and(|visit| visit.stage.as_str() == stage) {
            sim.prove_replay();
            return (index + 1, sim);
        }
        review(&mut sim, *findings);
    }
    panic!("{stage} is never entered: {}", sim.outcome());
}

// N-11
#[test]
fn a_cycle_that_the_run_left_starts_again() {
    let mut workflow = flow(
        "plan: done -> fix; fix: done -> review; review: ok -> COMPLETE, more -> fix, new -> plan; max 50",
    );
    watched(&mut workflow, &["fix", "review"]);
    let mut sim = Sim::started(workflow);
    for _ in 0..4 {
        sim.tag("plan", Some(0));
        edit(&mut sim, "fix", "a");
        sim.tag("review", Some(1));
        edit(&mut sim, "fix", "a");
        sim.tag("review", Some(2));
    }
    assert_eq!(stalls(&sim), Vec::<String>::new());
}

proptest! {
    // N-14: no false stop while the open set shrinks, whatever the files are.
    #[test]
    fn no_stop_while_the_open_set_shrinks(
        trees in proptest::collection::vec(0_u8..3, 30),
        steps in proptest::collection::vec(1_usize..4, 30),
        adds in proptest::collection::vec(proptest::bool::ANY, 30),
    ) {
        let mut open: Vec<u32> = (0..40).collect();
        let mut next = 100;
        let mut sim = Sim::started(fix_and_review());
        for ((tree, step), adds) in trees.iter().zip(&steps).zip(&adds) {
            edit(&mut sim, "fix", &format!("t{tree}"));
            // Some are closed; a new one may come, as long as fewer stay open.
            open.drain(..(*step + usize::from(*adds)).min(open.len()));
            if *adds && !open.is_empty() {
                next += 1;
                open.push(next);
            }
            review(&mut sim, Some(&open));
            prop_assert_eq!(stalls(&sim), Vec::<String>::new());
            if open.is_empty() {
                break;
            }
        }
        prop_assert!(sim.run.hold().is_none());
    }

    // N-14: every endless cycle over few states is stopped within a bound.
    #[test]
    fn a_cycle_over_few_files_is_stopped(trees in proptest::collection::vec(0_u8..3, 40)) {
        let names: Vec<String> = trees.iter().map(|tree| format!("t{tree}")).collect();
        let script: Vec<(&str, Option<&[u32]>)> = names.iter().map(|tree| (tree.as_str(), None)).collect();
        let (fixes, sim) = drive(fix_and_review(), &script);
        prop_assert_eq!(sim.outcome(), "parked: no_progress");
        prop_assert!(fixes <= 12, "{} fixes", fixes);
    }
}

// Invariant 6: the state does not grow with the number of rounds.
#[test]
fn a_window_stays_bounded() {
    let names: Vec<String> = (0..80).map(|index| format!("t{index}")).collect();
    let script: Vec<(&str, Option<&[u32]>)> = names.iter().map(|tree| (tree.as_str(), None)).collect();
    let (_, sim) = drive(fix_and_review(), &script);
    let kept =
        sim.run.progress().values().flat_map(|cycle| cycle.trails.values()).map(|trail| trail.trees.len());
    assert_eq!(kept.max(), Some(Breaker::MOST as usize + 2));
}
