use rustix::process::Signal;
use saihai_tests::{Answer, Refusal};
use serde_json::Value;

use super::{KEY, World};

const ONCE: &str = "{name: it, movements: [{name: work, rules: [{condition: done, next: COMPLETE}]}]}";

fn classes(world: &World) -> Vec<String> {
    let journal = world.project.journal();
    let class = |fact: &Value| fact["failure"]["class"].as_str().expect("a class").to_owned();
    journal.facts("failed").map(class).collect()
}

// C-33, Connections case 21: after a rate limit, Saihai waits and repeats the request.
#[test]
fn too_many_requests_are_asked_again() {
    let world = World::new("openai", ONCE, [Answer::slow_down(0), Answer::text("Done.\n[STEP:0]")]);
    world.run().exits(0);
    assert_eq!(classes(&world), ["rate_limited"]);
    let asked = world.server.asked();
    assert_eq!(asked.len(), 2);
    assert_eq!(asked[0].body, asked[1].body, "the same prompt, byte for byte");
}

// C-81, Connections case 41: a truncated reply is not an answer.
#[test]
fn a_cut_answer_is_asked_again() {
    let world =
        World::new("anthropic", ONCE, [Answer::Cut("[STEP:0]".to_owned()), Answer::text("Done.\n[STEP:0]")]);
    world.run().exits(0);
    assert_eq!(classes(&world), ["transient"]);
}

// C-33: Saihai tries a refused key once, and the run parks.
#[test]
fn a_refused_key_parks_the_run_at_once() {
    let said =
        Refusal { status: 401, headers: Vec::new(), code: None, message: format!("{KEY} is not a key") };
    let world = World::new("openai", ONCE, [Answer::Refused(said)]);
    let outcome = world.run().exits(4);
    assert_eq!(world.server.asked().len(), 1);
    assert_eq!(classes(&world), ["auth"]);
    assert!(!outcome.to_string().contains(KEY), "{outcome}");
    assert!(outcome.stderr.contains("[redacted:OPENAI_API_KEY] is not a key"), "{outcome}");
    assert!(!world.project.snapshot_contains(KEY), "the key is written down nowhere");
}

// C-32: `Quota`
#[test]
fn a_used_up_quota_parks_the_run() {
    let code = Some("insufficient_quota".to_owned());
    let said = Refusal { status: 429, headers: Vec::new(), code, message: "pay".to_owned() };
    let world = World::new("openai", ONCE, [Answer::Refused(said)]);
    world.run().exits(4);
    assert_eq!(classes(&world), ["quota"]);
    assert_eq!(world.server.asked().len(), 1);
}

// C-56: an interrupted turn ends immediately, and the run can continue later.
#[test]
fn an_interrupted_turn_leaves_the_server_and_is_asked_again_later() {
    let world = World::new("openai", ONCE, [Answer::endless(), Answer::text("Done.\n[STEP:0]")]);
    let mut live = world.saihai().start();
    live.wait_for("\"asked\"");
    while world.server.asked().is_empty() {
        std::thread::yield_now();
    }
    live.signal(Signal::INT);
    live.finish().exits(3);
    world.project.saihai(["resume", "last"]).env("OPENAI_API_KEY", KEY).run().exits(0);
    assert_eq!(world.server.asked().len(), 2);
}

// C-12: Saihai reports a missing key before the run starts.
#[test]
fn a_missing_key_is_said_before_the_first_turn() {
    let world = World::new("openai", ONCE, [Answer::text("never said")]);
    let settings = world.project.home().join(".config/saihai/config.toml");
    std::fs::write(&settings, "provider = \"openai\"\n").expect("settings");
    let outcome = world.saihai().without_env("OPENAI_API_KEY").run().exits(4);
    assert!(outcome.stderr.contains("provider `openai` has no key; set `OPENAI_API_KEY`"), "{outcome}");
    assert!(world.project.begun().is_empty());
}

// C-42, C-43, Connections case 7: `check` and `run` refuse a provider that cannot enforce the permission.
#[test]
fn a_turn_that_edits_is_refused_before_the_first_turn() {
    let edits = ONCE.replace("name: work,", "name: work, edit: true,");
    let world = World::new("anthropic", &edits, [Answer::text("never said")]);
    let checked = world.project.saihai(["check", "it"]).env(world.key, KEY).run().exits(2);
    let started = world.run().exits(2);
    let said = "provider `anthropic` cannot enforce `edit`, which `work` requires";
    assert!(checked.stdout.contains(said), "{checked}");
    assert!(started.stderr.contains(said), "{started}");
    assert!(world.server.requests().is_empty());
    assert!(world.project.begun().is_empty());
}
