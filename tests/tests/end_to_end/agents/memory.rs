//! Saihai's memory stays small for any output of an agent. C-52, Connections case 28.

use std::fs;
use std::thread;
use std::time::Duration;

use saihai_tests::Project;
use serde_json::{Value, json};

use super::fake;
use super::personality::{self, ALL, Name, with_each};
use crate::support::PROGRAM;

const DEFINITION: &str = "
name: it
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}]}
";

/// Returns the peak memory of a process in KiB; `None` after its end.
fn peak(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Runs one turn, and returns the peak memory in KiB and the exit code.
fn measured(name: Name, answers: &Value) -> (u64, Option<i32>) {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", DEFINITION);
    project.write("../home/.config/saihai/config.toml", personality::settings_file(name));
    let fake = fake(&project, name, answers);
    let live = fake.saihai(["run", "it", "T", "--provider", name]).start();
    let process = live.pid();
    let mut most = 0;
    while let Some(now) = peak(process) {
        most = now;
        thread::sleep(Duration::from_millis(2));
    }
    (most, live.finish().code)
}

#[test]
fn c52_a_long_line_and_a_flood_are_not_held_in_memory_in_each_program() {
    with_each(&ALL, |name| {
        let (usual, code) = measured(name, &json!([{"text": "[STEP:0]"}]));
        assert_eq!(code, Some(0), "{name}");
        let (long, code) = measured(name, &json!([{"text": "[STEP:0]", "fault": "long_line"}]));
        assert_eq!(code, Some(0), "{name}: the line is parsed and the turn goes on");
        let flood = json!({"text": "[STEP:0]", "fault": "flood"});
        let (flooded, code) = measured(name, &json!([flood, {"text": "[STEP:0]"}]));
        assert_eq!(code, Some(0), "{name}: it is ended, and asked once more");
        for (what, most) in [("a long line", long), ("a flood", flooded)] {
            assert!(most <= usual + 16 * 1024, "{name}, {what}: {most} KiB instead of {usual} KiB");
        }
    });
}
