//! A worker or the server goes away: only turns in flight are lost.

use rustix::process::Signal;

use crate::setting::{Setting, is_alive, shown, wait_for};

// D-T3: the server keeps every finished turn
#[test]
fn a_killed_server_continues_all_runs_and_repeats_no_finished_turn() {
    let mut setting = Setting::new();
    setting.write("nap", "0.3");
    let _worker = setting.worker("worker", 8);
    let runs: Vec<String> = (0..8).map(|_| setting.submit("five", &[])).collect();
    wait_for("some turns", || setting.counted("end").len() > 12);
    setting.kill_server();
    setting.start_server();
    for run in &runs {
        setting.journal_of(run);
        assert_eq!(setting.file_of(run, "work.txt"), "one\ntwo\nthree\nfour\nfive", "{run}");
    }
    let ended = setting.counted("end");
    assert_eq!(ended.len(), 40);
    assert!(ended.values().all(|times| *times == 1), "{ended:?}");
}

// D-T4, D-9: a frozen worker wakes up too late to change anything
#[test]
fn the_push_of_a_frozen_worker_is_refused_and_its_agent_ends() {
    let setting = Setting::new();
    setting.write("nap", "300");
    let frozen = setting.worker("frozen", 1);
    let run = setting.submit("five", &[]);
    wait_for("the first turn", || !setting.log().is_empty());
    let agent = setting.log()[0].process;
    frozen.signal(Signal::STOP);
    setting.write("nap", "0.1");
    let _other = setting.worker("other", 1);
    wait_for("the second attempt", || !setting.counted("end").is_empty());
    frozen.signal(Signal::CONT);
    setting.journal_of(&run);
    wait_for("the end of the frozen agent", || !is_alive(agent));
    assert_eq!(setting.file_of(&run, "work.txt"), "one\ntwo\nthree\nfour\nfive");
    let first = (run.clone(), "one".to_owned());
    assert_eq!(setting.counted("start")[&first], 2);
    assert_eq!(setting.counted("end")[&first], 1, "only the second attempt came to its end");
}

// D-T5, D-10: the branch is free only when no process of the agent is left
#[test]
fn a_cancelled_run_ends_after_its_agent_and_the_children_of_the_agent() {
    let setting = Setting::new();
    setting.write("stubborn", "");
    let _worker = setting.worker("worker", 1);
    let run = setting.submit("five", &[]);
    wait_for("the agent", || setting.log().iter().any(|line| line.what == "child"));
    let agent = setting.log()[0].process;
    setting.done(&["pull", &run]);
    setting.done(&["cancel", &run]);
    wait_for("the end of the run", || {
        let is_open = setting.status(&run).ends_with("RUNNING");
        assert!(is_open || !is_alive(agent), "the branch was released while the agent lived");
        !is_open
    });
    setting.journal_of(&run);
    let shown = setting.done(&["show", &run]);
    assert!(shown.contains("cancelled"), "{shown}");
}

// D-T5a, D-11a: a reply that was written down is never asked for again
#[test]
fn a_reply_in_the_spool_of_a_killed_worker_is_reported_when_it_comes_back() {
    let setting = Setting::new();
    let once = setting.path("died").display().to_string();
    let variables = [("SAIHAI_TEMPORAL_FAULT", "spooled"), ("SAIHAI_TEMPORAL_FAULT_ONCE", &once)];
    let worker = setting.worker_with("worker", 1, &variables);
    let run = setting.submit("five", &[]);
    worker.wait();
    let _again = setting.worker("worker", 1);
    setting.journal_of(&run);
    let started = setting.counted("start");
    assert_eq!(started.len(), 5);
    assert!(started.values().all(|times| *times == 1), "{started:?}");
}

#[track_caller]
fn refused(setting: &Setting, arguments: &[&str]) -> String {
    let output = setting.saihai(arguments).output().expect("the program");
    assert!(!output.status.success(), "{}", shown(&output));
    String::from_utf8(output.stderr).expect("text")
}

// Bad input: no server, a wrong namespace, and places that cannot work
#[test]
fn what_cannot_work_is_refused_by_name_and_leaves_nothing() {
    let setting = Setting::without_server();
    let blobs = setting.path("blobs").display().to_string();
    let nowhere = refused(&setting, &["run", "five", "x", "--server", "127.0.0.1:1", "--blobs", &blobs]);
    assert!(nowhere.starts_with("error: cannot reach the Temporal server at `127.0.0.1:1`: "), "{nowhere}");
    let worker = refused(&setting, &["worker", "--server", "127.0.0.1:1", "--blobs", &blobs]);
    assert!(worker.starts_with("error: cannot reach the Temporal server at `127.0.0.1:1`: "), "{worker}");
    let bucket = refused(&setting, &["worker", "--server", "127.0.0.1:1", "--blobs", "s3://bucket/x"]);
    assert!(
        bucket.starts_with("error: `s3://bucket/x` is an address; this version keeps texts in a directory")
    );
    let none = refused(&setting, &["worker", "--server", "127.0.0.1:1"]);
    assert!(none.starts_with("error: no directory for the texts of runs given"), "{none}");
    let own = refused(&setting, &["run", "five", "x", "--server", "127.0.0.1:1", "--blobs", "."]);
    assert!(
        own.starts_with("error: the directory for the texts of runs cannot be the project itself"),
        "{own}"
    );
    let left = std::fs::read_dir(setting.path("blobs")).unwrap().count();
    assert_eq!(left, 0);
}

#[test]
fn a_wrong_namespace_is_named() {
    let setting = Setting::new();
    let place = setting.place();
    let arguments = setting.on_server(&["run", "five", "x", "--namespace", "elsewhere"], &place);
    let said = refused(&setting, &arguments);
    assert!(
        said.starts_with(&format!(
            "error: the server at `{}` has no namespace `elsewhere`",
            setting.address()
        ))
    );
}

// A worker without the agent program: the run waits with a reason, and nothing is lost
#[test]
fn a_worker_without_the_agent_program_parks_the_run() {
    let setting = Setting::new();
    let _worker = setting.worker("worker", 1);
    std::fs::rename(setting.path("agent.sh"), setting.path("away.sh")).unwrap();
    let run = setting.submit("five", &[]);
    wait_for("the run to park", || {
        let pulled = setting.saihai(&["pull", &run]).output().unwrap();
        pulled.status.success() && setting.done(&["show", &run]).contains("parked")
    });
    std::fs::rename(setting.path("away.sh"), setting.path("agent.sh")).unwrap();
    setting.done(&["resume", &run]);
    setting.journal_of(&run);
    assert_eq!(setting.file_of(&run, "work.txt"), "one\ntwo\nthree\nfour\nfive");
}
