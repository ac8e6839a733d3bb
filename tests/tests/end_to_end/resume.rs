//! `saihai resume`: finished work never runs again. T-21 to T-24.

use rustix::process::Signal;
use saihai_tests::Workload;

use crate::support::{PROGRAM, project, run};

/// Returns eight parallel turns: five reply and three hang in the first process.
fn eight() -> (String, String) {
    let subs: String =
        (1..=8).map(|n| format!("      - {{name: s{n}, rules: [{{condition: ok}}]}}\n")).collect();
    let definition = format!(
        "name: it\nmovements:\n  - name: check\n    parallel:\n{subs}    rules: [{{condition: 'all(\"ok\")', next: COMPLETE}}]\n"
    );
    let replies = (1..=8)
        .map(|n| {
            let first = if n <= 5 { "" } else { &format!("  - {{for: check/s{n}, hang: true}}\n") };
            format!("{first}  - {{for: check/s{n}, text: '[STEP:0]'}}\n")
        })
        .collect();
    (definition, replies)
}

#[test]
fn t21_killed_among_eight_siblings_only_the_open_ones_are_asked_again() {
    let (definition, replies) = eight();
    let project = project(&definition, &replies);
    let mut live = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).start();
    for _ in 0..5 {
        live.wait_for("\"replied\"");
    }
    live.signal(Signal::KILL);
    drop(live.finish());
    project.saihai(["resume", "last"]).run().exits(0);
    let asked = project.journal().asked();
    assert_eq!(asked.values().filter(|count| **count == 1).count(), 5, "{asked:?}");
    assert_eq!(asked.values().filter(|count| **count == 2).count(), 3, "{asked:?}");
}

#[test]
fn t22_killed_from_outside_again_and_again_a_run_still_completes() {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    let workload = Workload::new(PROGRAM);
    let mut kills = 0;
    // Each process dies after its third reply; only the last ones end by themselves.
    let mut live = workload.begin_json().start();
    for _ in 0..10 {
        for _ in 0..3 {
            live.wait_for("\"replied\"");
        }
        live.signal(Signal::KILL);
        assert_eq!(live.finish().signal, Some(9));
        kills += 1;
        live = workload.resume_json().start();
    }
    live.finish().exits(6);
    workload.finish().exits(0);
    assert_eq!(workload.end(), expected);
    let calls: usize = workload.calls().iter().map(|(_, count)| count).sum();
    assert!(calls < Workload::TURNS + kills * 4, "{calls} calls after {kills} kills");
}

#[test]
fn t23_editing_or_removing_the_definition_changes_no_run_in_flight() {
    let (_, expected) = Workload::uninterrupted(PROGRAM);
    let workload = Workload::new(PROGRAM);
    workload.begin().run().exits(6);
    workload.project.write(".takt/pieces/workload.yaml", "name: other\nmovements: []\n");
    std::fs::remove_file(workload.project.root().join("script.json")).expect("the script was there");
    workload.project.write(".saihai/config.toml", "provider = \"claude\"\n");
    workload.finish().exits(0);
    assert_eq!(workload.end(), expected);
}

// K-22, P-58
#[test]
fn t24_resuming_a_finished_run_does_nothing_and_says_how_it_ended() {
    let plain = "name: it\nmovements:\n  - {name: w, rules: [{condition: a, next: COMPLETE}, {condition: b, next: ABORT}]}\n";
    for (tag, code) in [(0, 0), (1, 1)] {
        let project = project(plain, &format!("  - {{text: '[STEP:{tag}]'}}\n"));
        run(&project).exits(code);
        let before = project.snapshot();
        for _ in 0..10 {
            project.saihai(["resume", "last"]).run().exits(code);
        }
        assert_eq!(project.snapshot(), before);
    }
}
