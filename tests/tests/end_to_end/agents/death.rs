//! Saihai is killed while an agent works. C-58, Connections case 32.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_tests::Project;
use serde_json::json;

use super::fake;
use super::personality::{ACP, ALL, settings_file, with_each};
use super::stage::is_alive;
use crate::support::PROGRAM;

const DEFINITION: &str = "
name: it
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}]}
";

/// Waits for a file and reads it.
fn read(path: &Path) -> String {
    let begun = Instant::now();
    loop {
        match fs::read_to_string(path) {
            Ok(text) => return text,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{}: {error}", path.display()),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

// T-71: ten times, as every program, with what it started in its own session and with what has no parent.
#[test]
fn c58_an_agent_dies_with_saihai_and_resume_ends_what_it_left_behind() {
    let setsid = ["claude", "codex", ACP].map(|name| (name, "setsid"));
    let cases: Vec<_> = ALL.map(|name| (name, "double_fork")).into_iter().chain(setsid).collect();
    with_each(&cases, |case @ (name, fault)| {
        let project = Project::new(PROGRAM);
        project.write(".takt/pieces/it.yaml", DEFINITION);
        project.write("../home/.config/saihai/config.toml", settings_file(name));
        // In the middle of its turn.
        let first = json!({"text": "part", "no_end": true, "fault": fault});
        let fake = fake(&project, name, &json!([first, {"text": "[STEP:0]"}]));
        let live = fake.saihai(["run", "it", "T", "--provider", name]).start();
        let lingering: u32 = read(&project.root().join("lingering")).parse().expect("a number");
        let agent = fake.calls()[0].process();
        live.signal(Signal::KILL);
        live.finish();
        wait_until("the agent outlives Saihai", || !is_alive(agent));
        assert!(is_alive(lingering), "nobody has ended it yet: {case:?}");
        fake.saihai(["resume", "last"]).run().exits(0);
        assert!(!is_alive(lingering), "{case:?}");
        assert!(!fake.calls()[1].saw_lingering(), "it was gone before anything was asked: {case:?}");
    });
}
