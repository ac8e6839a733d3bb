//! Reviews that a person, a crash or `cancel` stops.

use rustix::process::Signal;
use saihai_tests::Terminal;

use super::*;

/// Starts a review by `a`, which answers at once, and `b`, which hangs on its first call.
fn stuck(arguments: &[&str]) -> (Project, Terminal) {
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let replies =
        format!("{}  - {{for: main/b, hang: true}}\n{}", one("main/a", "important"), none("main/b"));
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    let flags = ["review", "--script", "script.yaml", "--jobs", "1"];
    let mut terminal = Terminal::start(project.saihai([&flags[..], arguments].concat()));
    terminal.wait_for("main/a replied");
    (project, terminal)
}

#[test]
fn a_review_whose_process_was_killed_is_resumed_and_asks_only_who_is_missing() {
    let (project, terminal) = stuck(&[]);
    terminal.signal(Signal::KILL);
    terminal.finish();
    let resumed = project.saihai(["resume", "last"]).run().exits(1);
    assert!(resumed.stdout.contains("2 of 2 agents answered"), "{resumed}");
    let asked: Vec<usize> = project.journal().asked().into_values().collect();
    assert_eq!(asked, [1, 2], "`a` was paid for once");
}

// A cancelled review stays cancelled
#[test]
fn a_cancelled_review_is_not_resumed_and_keeps_what_was_found() {
    let (project, terminal) = stuck(&["--json"]);
    terminal.signal(Signal::INT);
    assert_eq!(terminal.finish().0, Some(3));
    project.saihai(["cancel", "last"]).run().exits(0);
    let resumed = project.saihai(["resume", "last"]).run().exits(3);
    let told = report(&resumed);
    assert_eq!(statuses(&told), ["a success", "b error"]);
    assert_eq!(told["outcome"], "cancelled");
    let asked: Vec<usize> = project.journal().asked().into_values().collect();
    assert_eq!(asked, [1, 1], "nobody is asked again");
}

// A resumed review keeps its report options, and a stopped review also writes a report
#[test]
fn a_review_that_goes_on_tells_its_report_as_it_was_asked_to() {
    let flags = ["--format", "sarif", "--out", "json=r.json", "--write-baseline", "kept.json"];
    let (project, terminal) = stuck(&flags);
    terminal.signal(Signal::INT);
    assert_eq!(terminal.finish().0, Some(3));
    let read = |file: &str| serde_json::from_str::<serde_json::Value>(&project.read(file)).expect("JSON");
    assert_eq!(statuses(&read("r.json")), ["a success", "b error"]);
    assert_eq!(read("r.json")["outcome"], "cancelled");
    assert!(!project.root().join("kept.json").exists(), "what is later compared with is a whole review");
    let resumed = project.saihai(["resume", "last"]).run().exits(1);
    assert_eq!(report(&resumed)["version"], "2.1.0", "{resumed}");
    assert_eq!(statuses(&read("r.json")), ["a success", "b success"]);
    assert_eq!(read("kept.json"), read("r.json"));
}
