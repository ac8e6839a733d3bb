use proptest::prelude::*;
use saihai_model::{FailureClass, Workflow};

use crate::rehearse::tests::build::flow;
use crate::rehearse::tests::replay::again;
use crate::rehearse::{Rehearsal, RehearsalEnd};
use crate::rehearse::{Rehearse, rehearse};

fn workflow() -> Workflow {
    flow(
        30,
        "
        plan = done -> review | stuck -> ABORT
        review [a b] = all ok -> COMPLETE | any ng -> plan | ?minor -> plan",
    )
}

fn troubled(seed: u64) -> Rehearsal {
    rehearse(&workflow(), Rehearse { seed, faults: true })
}

// K-20: `--faults` adds failures, garbage and missing decisions, all from the seed.
#[test]
fn faults_come_from_the_seed() {
    assert_eq!(troubled(1), troubled(1));
    assert_ne!(troubled(1).runs, troubled(2).runs);
}

#[test]
fn every_kind_of_fault_is_mixed_in() {
    let clean = rehearse(&workflow(), Rehearse::default()).runs.len();
    let rehearsal = troubled(0);
    let replies: Vec<_> = rehearsal.runs[clean..].iter().flat_map(|run| &run.script.replies).collect();
    let failed = replies.iter().filter_map(|reply| reply.fail.as_ref()).map(|fail| fail.class);
    let failed: std::collections::BTreeSet<FailureClass> = failed.collect();
    assert!(failed.len() >= 4, "{failed:?}");
    let says = |words: &str| {
        replies.iter().any(|reply| reply.text.as_deref().is_some_and(|text| text.contains(words)))
    };
    assert!(says("cannot say"));
    assert!(says("[STEP:99999999999999999999]") || says("never closed") || says("EVENT:"));
    assert_eq!(rehearsal.untaken, [], "the clean runs are made all the same");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    // With any faults, a run ends or is held, and its script reproduces it.
    #[test]
    fn every_troubled_run_ends_or_is_held_and_can_be_played_again(seed: u64) {
        let workflow = workflow();
        for run in &troubled(seed).runs {
            prop_assert!(run.end != RehearsalEnd::Endless);
            let (decisions, left) = again(&workflow, seed, run);
            prop_assert_eq!(&decisions, &run.decisions);
            prop_assert_eq!(left, 0);
        }
    }
}
