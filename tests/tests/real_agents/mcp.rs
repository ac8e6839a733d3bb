//! The programs call the tools of `saihai mcp` (N-21).

use saihai_tests::{Answer, RealAgent};
use serde_json::{Value, json};

use crate::cases::{DONE, FULL};
use crate::scene::Scene;

const CHILD: &str = "
name: child
movements:
  - {name: work, rules: [{condition: done, next: COMPLETE}]}
";

/// The agent starts a run by our server, and hears its id. The run knows the turn that started it.
pub(crate) fn a_run_that_the_agent_starts(agent: &'static RealAgent, call: fn(Value) -> Vec<Answer>) {
    let asked = json!({
        "definition": "child", "task": "count owls", "budget": "turns=2", "worktree": false, "provider": "script",
    });
    let scene = Scene::new(agent, FULL, |_, _| call(asked).into_iter().chain([Answer::text(DONE)]));
    let project = &scene.here.project;
    project.write(".takt/pieces/child.yaml", CHILD);
    project.write("child.yaml", "script: 1\nreplies:\n  - {for: work, text: '[STEP:0]'}\n");
    let script = project.root().join("child.yaml");
    scene.set(&format!("[providers.script]\nfile = \"{}\"", script.display()));
    scene.here.connect_saihai();
    let outcome = scene.run().run().exits(0);
    let count = scene.here.server.asked().len();
    assert!(scene.told(count - 1).contains("-count-owls"), "{outcome}");
    let runs = project.begun();
    let child = runs.iter().find(|run| run.ends_with("-count-owls")).expect("the run of the agent");
    let shown = scene.saihai(&["show", child, "--json"]).run().exits(0).json();
    let parent = runs.iter().find(|run| *run != child).expect("the run");
    assert_eq!(shown[0]["parent"]["run"], json!(parent), "{shown:?}");
}
