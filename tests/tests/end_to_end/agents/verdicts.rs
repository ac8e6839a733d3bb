//! The verdict tool, from the call of an agent to the route of a run (N-1 – N-5).

use saihai_tests::{FakeAgent, Project};
use serde_json::{Value, json};

use super::fake;
use crate::support::PROGRAM;

/// Creates a project whose movement decides between two results.
fn review(settings: &str) -> Project {
    let project = Project::new(PROGRAM);
    project.write(
        ".takt/pieces/it.yaml",
        "name: it
movements:
  - name: review
    provider: claude
    rules:
      - {condition: approved, next: COMPLETE}
      - {condition: needs work, next: ABORT}
",
    );
    project.write(".saihai/config.toml", settings);
    project
}

fn reading(project: &Project) -> Value {
    project.journal().facts("replied").last().expect("a reply")["reading"].clone()
}

fn verdict(label: &str) -> Value {
    json!({"verdict": label, "reason": "Two tests fail."})
}

fn run(fake: &FakeAgent<'_>, code: i32) {
    fake.saihai(["run", "it", "T"]).run().exits(code);
}

// N-1, N-2, N-4: the tool is offered in a read-only turn, called and believed. A tag in the text does not win.
#[test]
fn a_verdict_by_the_tool_counts_more_than_the_text() {
    let project = review("");
    let text = "The file says:\n\n[STEP:0]";
    let fake = fake(
        &project,
        "claude",
        &json!([{"text": text, "verdicts": [verdict("approved"), verdict("needs work"), verdict("merge")]}]),
    );
    run(&fake, 1);
    let call = &fake.calls()[0];
    assert_eq!(call.after("--allowedTools").as_deref(), Some("mcp__saihai-turn__saihai_verdict"));
    assert!(call.arguments().contains("--strict-mcp-config"), "{}", call.arguments());
    assert!(call.input().contains("[STEP:0] = approved"), "{}", call.input());
    let reading = reading(&project);
    assert_eq!(
        (&reading["verdict"], &reading["channel"], &reading["tag"]["number"], &reading["quotation"]),
        (
            &json!({"number": 1, "reason": "Two tests fail.", "calls": 2}),
            &json!("tool"),
            &json!(0),
            &json!("Two tests fail.")
        )
    );
    let journal = project.journal();
    let exited = journal.decisions("exited").last().expect("an exit");
    assert_eq!(exited["verdict"]["by"], "tool");
    let used = journal.facts("replied").last().expect("a reply")["tools_used"].clone();
    let refused = "`merge` is not a verdict of this turn; use `approved`, `needs work`";
    assert_eq!(used[2]["output"], refused, "{used}");
    let explained = fake.saihai(["explain"]).run().exits(0).stdout;
    assert!(
        explained.contains("the agent called the verdict tool with “needs work” (last of 2 calls); its tag for “approved” does not count"),
        "{explained}"
    );
    let explained = fake.saihai(["explain", "-v"]).run().exits(0).stdout;
    assert!(explained.contains("by the verdict tool"), "{explained}");
    assert!(explained.contains("verdict by verdict tool, verified"), "{explained}");
    let listed = fake.saihai(["explain", "--json"]).run().exits(0);
    let listed = listed.json();
    assert_eq!(
        (&listed[0]["method"], &listed[0]["decisive"][0]["channel"]),
        (&json!("tool"), &json!("tool"))
    );
}

// N-1: without a call, the tag decides, and the reading says that it is not verified.
#[test]
fn an_agent_that_does_not_call_the_tool_is_read_by_its_tag() {
    let project = review("");
    let fake = fake(&project, "claude", &json!([{"text": "Fine.\n[STEP:0]", "verdicts": []}]));
    run(&fake, 0);
    let reading = reading(&project);
    assert_eq!((&reading["channel"], &reading["degraded"]), (&Value::Null, &json!("not_called")));
    let explained = fake.saihai(["explain", "-v"]).run().exits(0).stdout;
    assert!(explained.contains("the agent did not call the verdict tool"), "{explained}");
}

// N-2: TAKT's exact prompt, and no server
#[test]
fn a_plain_verdict_has_neither_a_server_nor_a_sentence_about_it() {
    let project = review("verdict = \"plain\"\n");
    let fake = fake(&project, "claude", &json!([{"text": "Fine.\n[STEP:0]"}]));
    run(&fake, 0);
    let call = &fake.calls()[0];
    assert_eq!(call.after("--mcp-config"), None);
    assert!(!call.input().contains("saihai_verdict"), "{}", call.input());
    assert_eq!(reading(&project)["degraded"], Value::Null);
}

// N-3: a verdict that must be verified does not come from the text.
#[test]
fn a_tag_alone_is_no_verified_verdict() {
    let by_tag = review("verdict = \"verified\"\n");
    run(&fake(&by_tag, "claude", &json!([{"text": "Fine.\n[STEP:0]"}])), 1);
    assert_eq!(by_tag.journal().decisions("exited").last().expect("an exit")["verdict"]["by"], "no_match");
    let by_tool = review("verdict = \"verified\"\n");
    run(&fake(&by_tool, "claude", &json!([{"text": "", "verdicts": [verdict("approved")]}])), 0);
    assert_eq!(reading(&by_tool)["channel"], "tool");
}

// N-1, N-5: a tag with the word of this call is read only from the last line, and retries keep the word.
#[test]
fn a_tag_needs_the_word_of_its_call() {
    let project = review("verdict = \"nonce\"\n[retry]\ntransient = 2\n");
    let fake = fake(
        &project,
        "claude",
        &json!([{"status": 500}, {"text": "[STEP:0]\nIt says [STEP:0 bcdfgh]."}, {"text": "[STEP:NONE]"}]),
    );
    fake.saihai(["run", "it", "T"]).run().exits(1);
    let calls = fake.calls();
    assert_eq!(calls[0].input(), calls[1].input());
    let word = |input: &str| {
        let (_, rest) = input.split_once("[STEP:0 ").expect("a tag with a word");
        rest.split_once(']').expect("its end").0.to_owned()
    };
    let word = word(calls[0].input());
    assert_eq!(word.len(), 6, "{word}");
    assert!(calls[0].input().contains(&format!("[STEP:1 {word}] = needs work")), "{}", calls[0].input());
    let first = project.journal().facts("replied").next().expect("a reply")["reading"].clone();
    assert_eq!((&first["tag"], &first["channel"]), (&Value::Null, &Value::Null));
    // The judge's own answer is a plain tag.
    assert!(calls[2].input().contains("[STEP:NONE]"), "{}", calls[2].input());
}
