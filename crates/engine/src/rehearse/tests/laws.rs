use std::collections::BTreeSet;

use proptest::prelude::*;
use saihai_model::{Decision, StageId};

use crate::rehearse::routes::ExitPath;
use crate::rehearse::tests::build::flow;
use crate::rehearse::tests::replay::again;
use crate::rehearse::{MOST_RUNS, Rehearse, rehearse, way_to_completion};
use crate::rehearse::{RehearsalEnd, UntakenReason};

/// Workflows of four stages with rules of every kind, loops and ends: the limit and the lines.
fn any_flow() -> impl Strategy<Value = (u32, String)> {
    let condition =
        prop::sample::select(vec!["a", "b", "c", "always", "all a", "any a b", "any c", "?x", "?y"]);
    let target = prop::sample::select(vec!["s0", "s1", "s2", "s3", "COMPLETE", "ABORT"]);
    let rules = prop::collection::vec((condition, target), 1..5);
    let stage = (rules, 1..4_usize);
    (prop::collection::vec(stage, 4), 3..25_u32).prop_map(|(stages, limit)| {
        let lines = stages.iter().enumerate().map(|(number, (rules, turns))| {
            let turns: Vec<_> = (0..*turns).map(|turn| format!("t{turn}")).collect();
            let rules: Vec<_> = rules.iter().map(|(when, then)| format!("{when} -> {then}")).collect();
            format!("s{number} [{}] = {}", turns.join(" "), rules.join(" | "))
        });
        (limit, lines.collect::<Vec<_>>().join("\n"))
    })
}

/// Returns the taken rules, as recorded by the engine.
fn taken(decisions: &[Decision]) -> BTreeSet<(StageId, usize)> {
    let taken = decisions.iter().filter_map(|decision| {
        let Decision::Exited { stage, verdict } = decision else { return None };
        Some((stage.clone(), verdict.rule?))
    });
    taken.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    // C-77: the same workflow and seed give the same scripts; every exit is taken or listed, never both.
    #[test]
    fn every_rule_is_taken_or_listed((limit, lines) in any_flow(), seed: u64) {
        let workflow = flow(limit, &lines);
        let rehearsal = rehearse(&workflow, Rehearse { seed, faults: false });
        prop_assert_eq!(&rehearsal, &rehearse(&workflow, Rehearse { seed, faults: false }));
        prop_assert!(rehearsal.runs.len() <= MOST_RUNS);
        let taken: BTreeSet<_> = rehearsal.runs.iter().flat_map(|run| taken(&run.decisions)).collect();
        let listed = rehearsal.untaken.iter().filter_map(|untaken| {
            let ExitPath::Rule(rule) = untaken.way else { return None };
            Some((untaken.stage.clone(), rule))
        });
        let listed: BTreeSet<_> = listed.collect();
        for (id, stage) in &workflow.stages {
            let saihai_model::Exit::Rules { rules, .. } = &stage.exit else { continue };
            for rule in 0..rules.len() {
                let exit = (id.clone(), rule);
                prop_assert!(taken.contains(&exit) != listed.contains(&exit), "{exit:?}");
            }
        }
    }

    // C-77: a script reproduces its run through the player of real runs.
    #[test]
    fn a_generated_script_plays_the_run_it_was_made_from((limit, lines) in any_flow(), seed: u64) {
        let workflow = flow(limit, &lines);
        for run in &rehearse(&workflow, Rehearse { seed, faults: false }).runs {
            let (decisions, left) = again(&workflow, seed, run);
            prop_assert_eq!(&decisions, &run.decisions);
            prop_assert_eq!(left, 0);
            prop_assert!(run.end != RehearsalEnd::Endless);
        }
    }

    // K-25: if some run completes, the path to completion does, and no run completes in fewer rounds.
    #[test]
    fn no_run_completes_sooner_than_the_way_to_completion((limit, lines) in any_flow()) {
        let workflow = flow(limit, &lines);
        let rounds = |decisions: &[Decision]| decisions.iter().filter(|one| matches!(one, Decision::Round { .. })).count();
        let completes = |decisions: &[Decision]| matches!(decisions.last(), Some(Decision::Finished { ending: saihai_model::Ending::Completed(_) }));
        let rehearsal = rehearse(&workflow, Rehearse::default());
        let best = rehearsal.runs.iter().filter(|run| completes(&run.decisions)).map(|run| rounds(&run.decisions)).min();
        let mut way = rehearsal.runs.first().cloned().unwrap();
        way.script = saihai_model::Script { strict: true, ..way_to_completion(&workflow) };
        let (decisions, left) = again(&workflow, 0, &way);
        prop_assert_eq!(left, 0);
        match best {
            Some(best) => {
                prop_assert!(completes(&decisions));
                prop_assert!(rounds(&decisions) <= best);
            }
            None => prop_assert!(!completes(&decisions)),
        }
    }

    // A rule reported as unreachable never holds, for any labels of the turns.
    #[test]
    fn what_no_reply_can_reach_never_happens((limit, lines) in any_flow()) {
        let workflow = flow(limit, &lines);
        let rehearsal = rehearse(&workflow, Rehearse { seed: 0, faults: true });
        let dead = rehearsal.untaken.iter().filter(|untaken| untaken.why == UntakenReason::NoReply);
        let dead: Vec<_> = dead.map(|untaken| (untaken.stage.clone(), untaken.way.clone())).collect();
        for (stage, rule) in rehearsal.runs.iter().flat_map(|run| taken(&run.decisions)) {
            prop_assert!(!dead.contains(&(stage.clone(), ExitPath::Rule(rule))), "{stage} {rule}");
        }
    }
}
