//! Journals of earlier releases. Every later release must read them with the same result.

use std::fs;
use std::path::{Path, PathBuf};

use saihai_tests::{Project, wrong_line, wrong_output};

use crate::support::PROGRAM;

/// Returns the directories of all runs of earlier releases.
fn golden() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let below = |directory: &Path| -> Vec<PathBuf> {
        let entries =
            fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        entries.map(|entry| entry.expect("an entry").path()).filter(|path| path.is_dir()).collect()
    };
    below(&root).iter().flat_map(|version| below(version)).collect()
}

/// Copies the run into a new project, and returns the project and the run's id.
fn taken_over(run: &Path) -> (Project, String) {
    let project = Project::new(PROGRAM);
    let id = fs::read_to_string(run.join("id")).expect("its id").trim().to_owned();
    for entry in fs::read_dir(run.join("run")).expect("its directory") {
        let path = entry.expect("a file").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        project.write(&format!(".saihai/runs/{id}/{name}"), fs::read(&path).expect("a file"));
    }
    (project, id)
}

#[test]
fn t17_runs_of_earlier_releases_are_read_as_they_were_written() {
    let runs = golden();
    assert!(!runs.is_empty());
    for run in runs {
        let (project, id) = taken_over(&run);
        for command in ["show", "explain", "log"] {
            let outcome = project.saihai([command, id.as_str(), "--json"]).run().exits(0);
            let expected =
                fs::read_to_string(run.join(format!("{command}.json"))).expect("what it said then");
            let today: Vec<serde_json::Value> = outcome.json();
            let then: Vec<serde_json::Value> =
                expected.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            for (today, then) in today.iter().zip(&then) {
                assert!(holds(today, then), "{command} of {}:\n{today}\n{then}", run.display());
            }
            assert_eq!(today.len(), then.len(), "{command} of {}", run.display());
        }
        // The run waits at a gate, and still accepts an answer and ends.
        project.saihai(["answer", &id, "Go on.", "--no-resume"]).run().exits(0);
        project.saihai(["resume", &id]).run().exits(0);
    }
}

// K-3: the published schemas also describe the output of earlier releases
#[test]
fn t17_what_earlier_releases_wrote_is_described_by_the_schemas_of_today() {
    for run in golden() {
        let lines = |file: &str| -> Vec<serde_json::Value> {
            let text = fs::read_to_string(run.join(file)).expect("a file of the run");
            text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
        };
        let outputs = ["show.json", "explain.json", "log.json"];
        let mut wrong: Vec<String> = lines("run/journal.ndjson").iter().flat_map(wrong_line).collect();
        wrong.extend(outputs.iter().flat_map(|file| lines(file)).flat_map(|object| wrong_output(&object)));
        assert!(wrong.is_empty(), "{}: {wrong:#?}", run.display());
    }
}

#[test]
fn t17_a_decision_that_would_be_another_now_stops_and_is_named() {
    for run in golden() {
        let (project, id) = taken_over(&run);
        let path = format!(".saihai/runs/{id}/journal.ndjson");
        let journal = project.read(&path);
        let (number, line) = journal
            .lines()
            .zip(1..)
            .find(|(line, _)| line.contains("\"exited\"") && line.contains("\"rule\":0"))
            .map(|(line, number)| (number, line))
            .expect("an exit by the first rule");
        // This simulates an earlier engine that took the second rule.
        let other = signed(&line.replace("\"rule\":0", "\"rule\":1"));
        project.write(&path, journal.replace(line, &other));
        let before = project.snapshot();
        let outcome = project.saihai(["resume", &id]).run().exits(2);
        assert!(outcome.stderr.contains(&format!("event {number}")), "{outcome}");
        assert_eq!(project.snapshot(), before);
    }
}

/// Replaces the checksum of a line with the correct one.
fn signed(line: &str) -> String {
    let (text, _) = line.split_once(",\"sum\"").expect("a checksum");
    format!("{text},\"sum\":\"{:08x}\"}}", crc32fast::hash(text.as_bytes()))
}

/// Returns whether today's output has everything of the earlier output. Only new fields are allowed.
fn holds(today: &serde_json::Value, then: &serde_json::Value) -> bool {
    match (today, then) {
        (serde_json::Value::Object(today), serde_json::Value::Object(then)) => {
            then.iter().all(|(key, then)| today.get(key).is_some_and(|today| holds(today, then)))
        }
        (serde_json::Value::Array(today), serde_json::Value::Array(then)) => {
            today.len() == then.len() && today.iter().zip(then).all(|(today, then)| holds(today, then))
        }
        (today, then) => today == then,
    }
}
