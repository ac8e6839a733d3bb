//! Saihai is killed while an agent works. C-58, Connections case 32.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use saihai_tests::Project;
use serde_json::json;

use super::fake;
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

#[test]
fn c58_an_agent_dies_with_saihai_and_resume_ends_what_it_left_behind() {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", DEFINITION);
    let answers = json!([{"text": "[STEP:0]", "fault": "double_fork"}, {"text": "[STEP:0]"}]);
    let fake = fake(&project, "claude", &answers);
    let live = fake.saihai(["run", "it", "T", "--provider", "claude"]).start();
    let lingering: u32 = read(&project.root().join("lingering")).parse().expect("a number");
    let agent = fake.calls()[0].process();
    live.signal(Signal::KILL);
    live.finish();
    wait_until("the agent outlives Saihai", || !is_alive(agent));
    assert!(is_alive(lingering), "nobody has ended it yet");
    fake.saihai(["resume", "last"]).run().exits(0);
    assert!(!is_alive(lingering));
}
