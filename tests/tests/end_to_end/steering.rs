//! `saihai tell`: a person's words reach the agents of a run (V-20).

use std::time::Duration;

use saihai_tests::Project;
use serde_json::{Value, json};

use crate::support::{PROGRAM, project};

const LOOP: &str = "\
name: it
movements:
  - name: plan
    rules: [{condition: ready, next: COMPLETE}, {condition: again, next: plan}]
  - name: review
    rules: [{condition: ok, next: COMPLETE}]
";

/// The first turn takes its time, and the second finishes the run.
const SLOW: &str =
    "  - {for: plan, visit: 1, delay: 30, text: \"[STEP:1]\"}\n  - {for: plan, visit: 2, text: \"[STEP:0]\"}";

fn tell(project: &Project, arguments: &[&str]) -> saihai_tests::Outcome {
    project.saihai([&["tell"], arguments].concat()).run()
}

fn notes(project: &Project) -> Value {
    project.saihai(["show", "last", "--json"]).run().exits(0).json()[0]["notes"].clone()
}

/// Starts a run, and waits until its first turn is asked.
fn started(project: &Project) -> saihai_tests::Live {
    let live = project.saihai(["run", "it", "The task.", "--script", "script.yaml"]).start();
    let begun = std::time::Instant::now();
    while project.begun().is_empty() || project.journal().facts("asked").next().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    live
}

const ENGLISH: &str =
    "## Note from the user\n\nFollow this note. The rules above stay as they are.\n\n> Use tabs.";

#[test]
fn now_stops_the_running_turn_and_asks_it_again_with_the_note() {
    let project = project(LOOP, SLOW);
    let live = started(&project);
    let told = tell(&project, &["--now", "Use tabs."]).exits(0);
    assert!(told.stderr.contains("running turns of `plan` stop and start again with your note"), "{told}");
    let waited = std::time::Instant::now();
    while project.journal().facts("asked").count() < 2 {
        assert!(waited.elapsed() < Duration::from_secs(20), "it was not asked again");
        std::thread::sleep(Duration::from_millis(20));
    }
    let journal = project.journal();
    let prompts = journal.prompts();
    assert_eq!(prompts.len(), 2);
    assert!(!prompts[0].1.contains("Use tabs."));
    assert!(prompts[1].1.contains(ENGLISH), "{}", prompts[1].1);
    assert_eq!(journal.facts("failed").next().expect("the first attempt")["failure"]["class"], "cancelled");
    let shown = notes(&project);
    assert_eq!(
        (&shown[0]["state"], &shown[0]["to"], &shown[0]["calls"]),
        (&json!("shown"), &json!("plan"), &json!(["plan.1.1.1"]))
    );
    drop(live);
}

#[test]
fn a_run_that_nobody_drives_shows_the_note_when_it_continues() {
    let replies =
        "  - {for: plan, visit: 1, text: \"[STEP:1]\"}\n  - {for: plan, visit: 2, text: \"[STEP:0]\"}";
    let project = project(LOOP, replies);
    let run = ["run", "it", "The task.", "--script", "script.yaml", "--budget", "turns=1"];
    project.saihai(run).run().exits(5);
    let told = tell(&project, &["last", "Use tabs.", "--json"]).exits(0);
    let object = &told.json()[0];
    assert_eq!(
        (&object["type"], &object["to"], &object["driven"]),
        (&json!("told"), &json!("plan"), &json!(false))
    );
    assert!(told.stderr.contains("continue the run with `saihai resume last --budget turns=2`"), "{told}");
    tell(&project, &["Never mind."]).exits(0);
    assert_eq!(
        project.saihai(["runs", "--json"]).run().exits(0).json()[0]["reason"],
        "budget",
        "still parked"
    );
    tell(&project, &["--withdraw", "2"]).exits(0);
    let listed = notes(&project);
    assert_eq!((&listed[0]["state"], &listed[1]["state"]), (&json!("waiting"), &json!("withdrawn")));
    project.saihai(["resume", "--budget", "turns=9"]).run().exits(0);
    let prompts = project.journal().prompts();
    assert!(prompts[1].1.contains(ENGLISH) && !prompts[1].1.contains("Never mind"), "{}", prompts[1].1);
    let explained = project.saihai(["explain"]).run().exits(0).stdout;
    assert!(explained.contains("after note 1 from a person: Use tabs."), "{explained}");
    let refused = tell(&project, &["--withdraw", "1"]).exits(2);
    assert!(refused.stderr.contains("is already completed"), "{refused}");
}

#[test]
fn a_note_reaches_hats_and_step_agents_too() {
    let hats = Project::new(PROGRAM);
    hats.write(
        "orch.yml",
        "hats:\n  a: {name: A, triggers: [task.start, b.done], publishes: [b.done, LOOP_COMPLETE], instructions: Work.}\n",
    );
    hats.write(
        "script.yaml",
        "script: 1\nreplies:\n  - {text: 'EVENT: b.done'}\n  - {text: 'LOOP_COMPLETE'}\n",
    );
    let steps = Project::new(PROGRAM);
    steps.write(
        ".agent/it/agent.json",
        json!({
            "version": "1.0.0", "name": "it",
            "behavior": {
                "systemPromptPath": "prompts/system.md", "allowedTools": [], "permissionMode": "plan",
                "completionType": "iterationBudget", "completionConfig": {"maxIterations": 2},
            },
            "prompts": {"registry": "steps_registry.json"},
        })
        .to_string(),
    );
    let step = json!({"prompt": {"path": "a.md"}, "next": "a"});
    let registry = json!({"version": "1.0.0", "basePath": "prompts", "entryStep": "a", "steps": {"a": step}});
    steps.write(".agent/it/steps_registry.json", registry.to_string());
    steps.write(".agent/it/prompts/system.md", "You work.\n").write(".agent/it/prompts/a.md", "Do a.\n");
    steps.write("script.yaml", "script: 1\nreplies:\n  - {text: 'a reply', times: \"*\"}\n");
    for (project, name) in [(hats, "orch"), (steps, "it")] {
        let run = ["run", name, "The task.", "--script", "script.yaml", "--budget", "turns=1"];
        let run = if name == "it" {
            vec!["run", name, "--script", "script.yaml", "--budget", "turns=1"]
        } else {
            run.to_vec()
        };
        project.saihai(run).run().exits(5);
        tell(&project, &["タブを使ってください。"]).exits(0);
        project.saihai(["resume", "--budget", "turns=9"]).run().exits(0);
        let prompts = project.journal().prompts();
        assert!(
            !prompts[0].1.contains("タブ") && prompts[1].1.contains("## 利用者からの指示"),
            "{prompts:?}"
        );
        assert!(prompts[1].1.contains("> タブを使ってください。"), "{}", prompts[1].1);
    }
}

#[test]
fn what_cannot_be_told_is_refused_and_records_nothing() {
    let project = project(LOOP, "  - {for: plan, text: \"[STEP:1]\", times: \"*\"}");
    let nothing = tell(&project, &["Use tabs."]).exits(2);
    assert!(nothing.stderr.contains("error:"), "{nothing}");
    let run = ["run", "it", "The task.", "--script", "script.yaml", "--budget", "turns=1"];
    project.saihai(run).run().exits(5);
    let before = project.journal().facts("told").count();
    for (arguments, expected) in [
        (
            &["--to", "reviev", "x"][..],
            "no agent works at a stage `reviev`; stages with agents: plan, review",
        ),
        (&[" "], "a note has 1 to 10000 characters"),
        (&["last"], "no note given"),
        (&[], "no note given"),
        (&["--withdraw", "3"], "has no note 3 to withdraw"),
    ] {
        let refused = tell(&project, arguments).exits(2);
        assert!(refused.stderr.contains(expected), "{refused}");
    }
    let long = "x".repeat(10_001);
    tell(&project, &[&long]).exits(2);
    // An agent must not steer its own run.
    let inside = project.saihai(["tell", "x"]).env("SAIHAI_TURN", "plan.1.1.1");
    let inside = inside.env("SAIHAI_RUN_DIRECTORY", project.run_directory()).run().exits(2);
    assert!(inside.stderr.contains("only a person can give a note"), "{inside}");
    assert_eq!(project.journal().facts("told").count(), before);
}
