//! Programs that also support the Agent Client Protocol, driven through it.

use saihai_tests::{Answer, RealAgent};
use serde_json::{Value, json};

use crate::cases::{DONE, EDIT, READONLY};
use crate::scene::Scene;

/// Generates all cases for each program.
macro_rules! each_speaks {
    ($($agent:ident)*) => { $(
        mod $agent {
            use super::RealAgent;

            fn agent() -> &'static RealAgent {
                RealAgent::named(stringify!($agent))
            }

            // C-67
            #[test]
            fn answers_a_plain_turn() {
                super::a_plain_turn(agent());
            }

            // C-42, C-45, C-67
            #[test]
            fn writes_a_file_in_a_turn_that_may_edit() {
                super::a_turn_that_edits(agent());
            }

            // C-42, C-45, C-67
            #[test]
            fn writes_nothing_in_a_turn_that_may_only_read() {
                super::a_turn_that_may_only_read(agent());
            }

            // C-43, C-45
            #[test]
            fn may_only_read_whatever_a_project_allows() {
                super::a_generous_project(agent());
            }

            // C-32, C-67
            #[test]
            fn parks_the_run_at_a_bad_key() {
                super::a_bad_key(agent());
            }
        }
    )* };
}

each_speaks! { gemini copilot }

// C-41, C-45: leaving plan mode asks us, and we refuse.
#[test]
fn gemini_gains_nothing_by_plan_mode_in_a_read_only_turn() {
    let agent = RealAgent::named("gemini");
    let scene = Scene::new(agent, READONLY, |root, _| {
        let command = format!("touch '{}'", root.join("run.txt").display());
        [
            Answer::tool("enter_plan_mode", json!({"reason": "to plan"})),
            Answer::tool("write_file", json!({"file_path": "plan.md", "content": "Do it."})),
            Answer::tool("exit_plan_mode", json!({"plan_filename": "plan.md"})),
            (agent.run)(&command),
            Answer::text(DONE),
        ]
    })
    .through_acp(agent);
    let outcome = scene.run().run();
    assert!(scene.here.server.asked().len() > 1, "the model did try: {outcome}");
    assert!(!scene.here.project.root().join("run.txt").exists(), "{outcome}");
    assert!(!scene.here.project.root().join("plan.md").exists(), "{outcome}");
}

fn a_plain_turn(agent: &'static RealAgent) {
    let scene = Scene::new(agent, READONLY, |_, _| [Answer::text(DONE)]).through_acp(agent);
    let outcome = scene.run().run().exits(0);
    assert!(
        outcome.result()["output"].as_str().is_some_and(|text| text.contains("All is done.")),
        "{outcome}"
    );
    assert_eq!(scene.here.server.asked().len(), 1, "{outcome}");
}

fn a_turn_that_edits(agent: &'static RealAgent) {
    let scene = Scene::new(agent, EDIT, |root, _| {
        [(agent.write)(&root.join("greeting.txt"), "hello"), Answer::text(DONE)]
    });
    let scene = scene.through_acp(agent);
    let outcome = scene.run().run().exits(0);
    let file = scene.here.project.root().join("greeting.txt");
    assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), "hello", "{outcome}");
    let journal = scene.here.project.journal();
    let replied = journal.facts("replied").next().expect("a reply");
    assert_eq!(replied["text"]["inline"], DONE, "{outcome}");
}

/// The model tries to write and to run a command. Its answer after both refusals is the reply.
fn a_turn_that_may_only_read(agent: &'static RealAgent) {
    try_everything(agent, &[]);
}

/// The model tries both in a project whose files allow everything.
fn a_generous_project(agent: &'static RealAgent) {
    try_everything(agent, agent.generous);
}

fn try_everything(agent: &'static RealAgent, files: &[(&str, &str)]) {
    let scene = Scene::new(agent, READONLY, |root, _| {
        let file = root.join("greeting.txt");
        let command = format!("printf hello > '{}'", file.display());
        [(agent.write)(&file, "hello"), (agent.run)(&command), Answer::text(DONE)]
    });
    let scene = scene.through_acp(agent);
    for (path, content) in files {
        scene.here.project.write(path, content);
    }
    let outcome = scene.run().run().exits(0);
    assert_eq!(scene.here.server.asked().len(), 3, "the model did try both: {outcome}");
    assert!(!scene.here.project.root().join("greeting.txt").exists(), "{outcome}");
    let journal = scene.here.project.journal();
    let replied: Vec<&Value> = journal.facts("replied").collect();
    let [replied] = replied.as_slice() else { panic!("{outcome}") };
    assert_eq!((&replied["text"]["inline"], &replied["denied"]), (&DONE.into(), &2.into()), "{outcome}");
}

fn a_bad_key(agent: &'static RealAgent) {
    let scene = Scene::new(agent, READONLY, |_, _| [Answer::status(401)]).through_acp(agent);
    let outcome = scene.run().run().exits(4);
    let journal = scene.here.project.journal();
    let classes: Vec<&Value> = journal.facts("failed").map(|fact| &fact["failure"]["class"]).collect();
    assert_eq!(classes, ["auth"], "{outcome}");
}
