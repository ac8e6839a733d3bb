//! Runs of hats through the program: `orch.yml` in, a journal and an exit code out.

mod completion;
mod directives;
mod failures;
mod files;
mod gates;
mod limits;
mod missing_reports;
mod ralph;
mod routing;

use saihai_tests::{Outcome, Project, story};
use serde_json::Value;

use crate::support::PROGRAM;

const RING: &str = r#"
max_iterations: 30
hats:
  tester:
    name: "🧪 Tester"
    triggers: ["task.start", "code.written"]
    publishes: ["tests.failing", "tests.passing"]
    instructions: |
      Write a failing test first, and report.
      EVENT: tests.failing or EVENT: tests.passing
      Nothing else.
  coder:
    name: "🔨 Coder"
    triggers: ["tests.failing"]
    publishes: ["code.written"]
    instructions: "Make it pass, then EVENT: code.written"
  closer:
    name: "🧹 Closer"
    triggers: ["tests.passing"]
    publishes: ["code.written", "LOOP_COMPLETE"]
    instructions: "Tidy up with EVENT: code.written, or end with LOOP_COMPLETE"
"#;

fn project(hats: &str, replies: &[&str]) -> Project {
    let project = Project::new(PROGRAM);
    project.write("orch.yml", hats);
    let replies: String = replies.iter().map(|reply| format!("  - {{text: {reply:?}}}\n")).collect();
    project.write("script.yaml", format!("script: 1\nstrict: false\nreplies:\n{replies}"));
    project
}

fn run(project: &Project) -> Outcome {
    project.saihai(["run", "orch", "The task.", "--script", "script.yaml"]).run()
}

/// Runs the hats on these replies, and checks the entered stages, the outcome and the exit code.
#[track_caller]
fn check(hats: &str, replies: &[&str], expected: &str) {
    let project = project(hats, replies);
    let outcome = run(&project);
    let code = outcome.code.expect("an exit code");
    let story = story(&project.journal());
    let entered = story.lines().filter_map(|line| line.strip_prefix("enter "));
    let last = story.lines().last().unwrap_or_default().to_owned();
    let way = entered.collect::<Vec<_>>().join(" ");
    assert_eq!(format!("{way}; {last}; {code}"), expected, "{story}\n{outcome}");
}

/// Returns every event of the last run from the JSON log: source, topic, message and fate.
fn published(project: &Project) -> Vec<String> {
    let log = project.saihai(["log", "last", "--json"]).run().exits(0).stdout;
    let objects = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let published = objects.filter(|object| object["type"] == "published").map(|object| {
        let word = |key: &str| object[key].as_str().unwrap_or("-").to_owned();
        assert!(object["seq"].is_u64() && object["time"].is_string(), "{object}");
        ["source", "topic", "message", "fate", "to", "trigger"].map(word).join(" ")
            + &object["gate"].as_str().map(|gate| format!(" ({gate})")).unwrap_or_default()
    });
    published.collect()
}

/// Returns the log of the last run in its form for people.
fn log(project: &Project) -> String {
    project.saihai(["log", "last"]).run().exits(0).stdout
}

/// Returns the prompts of the last run, in order.
fn prompts(project: &Project) -> Vec<String> {
    project.journal().prompts().into_iter().map(|(_, prompt)| prompt).collect()
}

/// Returns the near misses of the last run: texts that look like a directive but are none.
fn near_misses(project: &Project) -> Vec<String> {
    let journal = project.journal();
    let read = journal.facts("replied").filter_map(|reply| reply["reading"]["near_misses"].as_array());
    read.flatten().filter_map(|miss| miss.as_str()).map(str::to_owned).collect()
}
