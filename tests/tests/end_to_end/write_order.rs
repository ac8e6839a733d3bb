//! The order of disk writes: the journal never names data that is not durable yet. This order lets a run
//! survive a power cut. The crash tests cover partly written operations.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use saihai_tests::{At, Fault, Journal, Workload};

use crate::support::PROGRAM;

/// Returns the operations of a whole workload, in three calls.
fn operations() -> (Workload, Vec<At>) {
    let workload = Workload::new(PROGRAM);
    let mut all = Vec::new();
    for (call, code) in [(workload.begin(), 6), (workload.answer(), 0), (workload.resume(), 0)] {
        let log = workload.project.home().join("operations.log");
        call.fault(&Fault::note(&log)).run().exits(code);
        all.extend(At::noted(&log));
        fs::remove_file(log).expect("the log was there");
    }
    (workload, all)
}

/// Returns every append to the journal that happened while other data could still be lost.
fn lost_by_a_power_cut(operations: &[At]) -> Vec<String> {
    let parent =
        |path: &str| Path::new(path).parent().map(|parent| parent.display().to_string()).unwrap_or_default();
    let mut unsynced: BTreeSet<String> = BTreeSet::new();
    let mut found = Vec::new();
    for at in operations {
        let is_journal = at.path.ends_with("journal.ndjson");
        if is_journal && at.kind == "Write" && !unsynced.is_empty() {
            found.push(format!(
                "operation {}: the journal goes on while {unsynced:?} could be lost",
                at.number
            ));
        }
        match at.kind.as_str() {
            // The text in the lock file only names its owner for people; the kernel holds the lock.
            _ if at.path.ends_with("/lock") => false,
            "Write" => unsynced.insert(at.path.clone()),
            "Sync" => unsynced.remove(&at.path),
            // Reports are written through an open directory, and the log names that directory by the file.
            "SyncDirectory" => unsynced.remove(&at.path) || unsynced.remove(&parent(&at.path)),
            "Create" | "CreateDirectory" | "Rename" => unsynced.insert(parent(&at.path)),
            _ => false,
        };
    }
    found.extend(
        unsynced
            .iter()
            .filter(|path| path.ends_with("journal.ndjson"))
            .map(|path| format!("{path} at the end")),
    );
    found
}

#[test]
fn t11_nothing_is_named_before_it_is_durable() {
    let (_, operations) = operations();
    assert_eq!(lost_by_a_power_cut(&operations), [""; 0]);
}

// T-8
#[test]
fn t11_control_a_sync_left_out_is_noticed() {
    let (_, mut operations) = operations();
    let blob =
        operations.iter().position(|at| at.kind == "Sync" && at.path.contains("/blobs/")).expect("a blob");
    operations.remove(blob);
    let found = lost_by_a_power_cut(&operations);
    assert!(found.first().is_some_and(|first| first.contains("/blobs/")), "{found:?}");
}

// These counts are the part of the cost rules that does not depend on timing.
#[test]
fn t101_an_ordinary_turn_is_one_write_and_one_sync() {
    let (workload, operations) = operations();
    let of_journal = |kind: &str| {
        operations.iter().filter(|at| at.kind == kind && at.path.ends_with("journal.ndjson")).count()
    };
    let journal: Journal = workload.project.journal();
    let appends = usize::try_from(journal.lines.last().expect("lines").batch).expect("a count");
    assert_eq!((of_journal("Write"), of_journal("Sync")), (appends, appends));
    let turns = journal.facts("replied").count();
    let others = journal.facts("performed").count() + journal.facts("answered").count();
    // One append for the start, one for the resume.
    assert_eq!(appends, turns + others + 2);
}
