use saihai_tests::Answer;
use serde_json::{Value, json};

use super::{KEY, World};

const TWO: &str = "
name: it
movements:
  - {name: plan, session_key: mine, rules: [{condition: planned, next: review}]}
  - {name: review, session_key: mine, session: continue, rules: [{condition: fine, next: COMPLETE}]}
";

/// Returns the text of each message, for either interface.
fn texts(body: &Value) -> Vec<String> {
    let text = |message: &Value| {
        let content = &message["content"];
        content.as_str().or_else(|| content[0]["text"].as_str()).unwrap_or_default().to_owned()
    };
    body["messages"].as_array().expect("messages").iter().map(text).collect()
}

// C-81, C-83: two movements share a session. Each answer has its tokens, and its price from the settings.
#[test]
fn two_movements_share_a_session() {
    for provider in ["openai", "anthropic"] {
        let world =
            World::new(provider, TWO, [Answer::text("A plan.\n[STEP:0]"), Answer::text("Good.\n[STEP:0]")]);
        let outcome = world.run().exits(0);
        assert_eq!(outcome.result()["outcome"], "completed", "{outcome}");
        let asked = world.server.asked();
        assert_eq!(asked.len(), 2);
        let key = asked[0].header(if provider == "openai" { "authorization" } else { "x-api-key" });
        assert!(key.is_some_and(|key| key.ends_with(KEY)), "{key:?}");
        let (first, second) = (texts(&asked[0].body), texts(&asked[1].body));
        assert_eq!((first.len(), second.len()), (1, 3), "{second:?}");
        assert_eq!(second[0], first[0]);
        assert_eq!(second[1], "A plan.\n[STEP:0]");
        let journal = world.project.journal();
        let replied: Vec<&Value> = journal.facts("replied").collect();
        for reply in &replied {
            assert_eq!(
                (&reply["usage"]["input"], &reply["usage"]["output"]),
                (&json!(100), &json!(20)),
                "{reply}"
            );
            assert_eq!(reply["cost"], 600, "100 tokens at 3 and 20 at 15 dollars a million: {reply}");
            assert!(reply["session"].as_str().is_some_and(|id| id.starts_with("http-")), "{reply}");
        }
        assert_eq!(replied.len(), 2);
        assert!(!world.project.snapshot_contains(KEY), "the key is written down nowhere");
    }
}

// C-82: the model reads a file, and the record has the content it saw.
#[test]
fn a_turn_looks_at_the_project() {
    for provider in ["openai", "anthropic"] {
        let once = "{name: it, movements: [{name: look, rules: [{condition: seen, next: COMPLETE}]}]}";
        let look = Answer::tool("read_file", json!({ "path": "notes.txt" }));
        let outside = Answer::tool("read_file", json!({ "path": "../home/.config/saihai/config.toml" }));
        let world = World::new(provider, once, [look, outside, Answer::text("Seen.\n[STEP:0]")]);
        world.project.write("notes.txt", "the secret of the project\n");
        world.run().exits(0);
        let asked = world.server.asked();
        assert_eq!(asked.len(), 3);
        assert!(asked[1].body.to_string().contains("the secret of the project"));
        assert!(asked[2].body.to_string().contains("is not a relative path that stays inside"));
        let journal = world.project.journal();
        let reply = journal.facts("replied").next().expect("a reply");
        let tools: Vec<&Value> = reply["tools_used"].as_array().expect("tools").iter().collect();
        assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), ["read_file", "read_file"]);
        assert_eq!(reply["usage"]["input"], 300, "all three calls belong to the turn");
    }
}

// C-29, C-32: if the file of a session is missing, a new session starts and the run continues.
#[test]
fn a_lost_session_starts_again() {
    let world = World::new(
        "openai",
        TWO,
        [
            Answer::text("A plan.\n[STEP:0]"),
            Answer::Refused(saihai_tests::Refusal {
                status: 401,
                headers: Vec::new(),
                code: None,
                message: "expired".to_owned(),
            }),
            Answer::text("Good.\n[STEP:0]"),
        ],
    );
    world.run().exits(4);
    let scratch = world.project.run_directory().join("scratch");
    std::fs::remove_dir_all(scratch).expect("sessions");
    let outcome = world.project.saihai(["resume", "last"]).env("OPENAI_API_KEY", KEY).run().exits(0);
    assert!(outcome.stderr.contains("Session disconnected, starting new session"), "{outcome}");
    let asked = world.server.asked();
    assert_eq!(texts(&asked[2].body).len(), 1, "nothing of the lost session is sent");
}
