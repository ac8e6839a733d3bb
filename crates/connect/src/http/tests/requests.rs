//! Requests.

use saihai_model::Ask;
use serde_json::json;

use super::support::{Anthropic, HELLO_ANTHROPIC, HELLO_OPENAI, Openai, World};
use crate::testing::loopback_server::{LoopbackServer, Seen, stream};

async fn sent(world: &World, answer: &str, ask: Ask) -> Seen {
    let server = LoopbackServer::start(vec![stream(answer)]).await;
    world.answer(&server, ask).await.0.unwrap();
    server.seen().remove(0)
}

// C-81, C-23: the role goes into the system prompt.
#[tokio::test]
async fn anthropic_is_sent_what_its_interface_asks_for() {
    let world = World { environment: vec![("ANTHROPIC_API_KEY", "secret-key")], ..World::new(Anthropic) };
    let ask = Ask { persona: Some("You plan.".into()), ..world.ask() };
    let seen = sent(&world, HELLO_ANTHROPIC, ask).await;
    assert_eq!(seen.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(seen.header("x-api-key"), Some("secret-key"));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
    assert!(seen.header("user-agent").is_some_and(|agent| agent.starts_with("saihai/")));
    assert_eq!(
        seen.body,
        json!({
            "model": "m", "max_tokens": 32_000, "stream": true, "system": "You plan.",
            "messages": [{ "role": "user", "content": [{ "type": "text", "text": "Plan it." }] }],
        })
    );
}

// C-81
#[tokio::test]
async fn openai_is_sent_what_its_interface_asks_for() {
    let world = World { environment: vec![("OPENAI_API_KEY", "secret-key")], ..World::new(Openai) };
    let ask = Ask { persona: Some("You plan.".into()), ..world.ask() };
    let seen = sent(&world, HELLO_OPENAI, ask).await;
    assert_eq!(seen.line, "POST /chat/completions HTTP/1.1");
    assert_eq!(seen.header("authorization"), Some("Bearer secret-key"));
    assert_eq!(
        seen.body,
        json!({
            "model": "m", "stream": true, "stream_options": { "include_usage": true },
            "messages": [
                { "role": "system", "content": "You plan." },
                { "role": "user", "content": "Plan it." },
            ],
        })
    );
}

// C-81: a server on this machine needs neither a key nor a model.
#[tokio::test]
async fn a_server_on_this_machine_needs_neither_key_nor_model() {
    let world = World::new(Openai);
    let seen = sent(&world, HELLO_OPENAI, Ask { model: None, ..world.ask() }).await;
    assert_eq!(seen.header("authorization"), None);
    assert!(seen.body.get("model").is_none());
}

// C-22: the settings fill the gaps of the definition. An empty tool list is not a gap.
#[tokio::test]
async fn the_settings_fill_in_what_an_ask_leaves_open() {
    let mut world = World::new(Openai);
    world.settings.system_prompt = Some("Be brief.".into());
    world.settings.model = Some("from-settings".into());
    world.settings.tools = Some(vec!["Read".into()]);
    let open = Ask { model: None, tools: None, ..world.ask() };
    let seen = sent(&world, HELLO_OPENAI, open).await.body;
    assert_eq!(seen["model"], "from-settings");
    assert_eq!(seen["messages"][0], json!({ "role": "system", "content": "Be brief." }));
    assert_eq!(seen["tools"].as_array().map(Vec::len), Some(1));
    assert_eq!(seen["tools"][0]["function"]["name"], "read_file");
    let none = sent(&world, HELLO_OPENAI, Ask { tools: Some(Vec::new()), ..world.ask() }).await.body;
    assert!(none.get("tools").is_none());
    assert_eq!(none["model"], "m");
}

// R-37, C-82: names of other agents mean our equivalent tools; cached parts are marked.
#[tokio::test]
async fn the_tools_of_a_turn_are_offered_under_our_names() {
    let world = World::new(Anthropic);
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    let offered = async |tools| {
        let body = sent(&world, HELLO_ANTHROPIC, Ask { tools, ..world.ask() }).await.body;
        assert_eq!(body["messages"][0]["content"][0]["cache_control"], json!({ "type": "ephemeral" }));
        let tools = body["tools"].as_array().unwrap().clone();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(offered(None).await, ["read_file", "list_files", "grep"]);
    assert_eq!(offered(names(&["file_read"])).await, ["read_file", "list_files", "grep"]);
    assert_eq!(offered(names(&["Grep", "Bash", "Read"])).await, ["read_file", "grep"]);
    assert_eq!(offered(names(&["LS", "Glob"])).await, ["list_files"]);
}

// C-82: a forced tool (anthropic) or `response_format` (openai).
#[tokio::test]
async fn a_schema_is_asked_for_in_each_interfaces_way() {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    let world = World::new(Anthropic);
    let ask = || Ask { schema: Some(schema.clone()), ..world.ask() };
    let body = sent(&world, HELLO_ANTHROPIC, ask()).await.body;
    assert_eq!(body["tool_choice"], json!({ "type": "tool", "name": "answer" }));
    assert_eq!(body["tools"][0]["input_schema"], schema);
    let looking = sent(&world, HELLO_ANTHROPIC, Ask { tools: None, ..ask() }).await.body;
    assert_eq!(looking["tool_choice"], json!({ "type": "any" }));
    assert_eq!(looking["tools"].as_array().map(Vec::len), Some(4));
    let world = World::new(Openai);
    let body = sent(&world, HELLO_OPENAI, Ask { schema: Some(schema.clone()), ..world.ask() }).await.body;
    assert_eq!(
        body["response_format"],
        json!({ "type": "json_schema",
                "json_schema": { "name": "answer", "schema": schema, "strict": false } })
    );
}
