use crate::{Area, Diagnostics, Document, Format, read_script};
use insta::assert_snapshot;
use proptest::prelude::*;
use saihai_model::{
    CallId, Expectation, ExpectedPrompt, FailureClass, Json, Millis, Script, ScriptAnswer, ScriptEdit,
    ScriptFailure, ScriptReply, ScriptRun, ScriptTarget, ScriptWrite, ToolUse, Usage, Usd, Visits,
};
use serde_json::json;

use super::{script_file, script_yaml};

fn read_back(text: &str, format: Format) -> Script {
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(text.as_bytes(), format, "s", Area::Script, &mut diagnostics);
    let (script, more) = document.map(|document| read_script(&document, None)).unwrap_or_default();
    diagnostics.append(more);
    let mut script = script.unwrap_or_else(|| panic!("{diagnostics:?}\n{text}"));
    script.replies.iter_mut().for_each(|reply| reply.origin.clear());
    script
}

fn check(script: &Script) {
    assert_eq!(&read_back(&script_file(script), Format::Json), script);
    assert_eq!(&read_back(&script_yaml(script), Format::Yaml), script);
}

fn reply(stage: &str, text: &str) -> ScriptReply {
    let target = ScriptTarget { stage: stage.into(), turn: None, judge: false };
    ScriptReply {
        target: Some(target),
        visits: Some(Visits::These(vec![1])),
        text: Some(text.to_owned()),
        ..ScriptReply::default()
    }
}

fn everything() -> Script {
    let mut judge = reply("review", "[STEP:0]");
    judge.target = Some(ScriptTarget { stage: "review".into(), turn: Some("tests".into()), judge: true });
    let class = FailureClass::RateLimited;
    let retry_after = Some(Millis::seconds(1));
    let fail = ScriptFailure { class, message: "slow: down".to_owned(), retry_after, until: None };
    Script {
        strict: true,
        lenient_roles: false,
        replies: vec![
            ScriptReply {
                usage: Usage { input: Some(900), output: Some(120), ..Usage::default() },
                cost: Some(Usd(20_000)),
                structured: Some(json!({ "ok": true, "found": [1.5, null, "a: b"] })),
                ..reply("plan", "Two steps:\n\n  1. look\n[STEP:0]\n")
            },
            ScriptReply { text: None, fail: Some(fail), ..reply("review", "") },
            judge,
            ScriptReply { text: None, hang: true, ..reply("review", "") },
            ScriptReply {
                writes: vec![ScriptWrite { path: "a.txt".to_owned(), content: "one\ntwo\n".to_owned() }],
                edits: vec![ScriptEdit {
                    path: "b.txt".to_owned(),
                    find: "x: y".to_owned(),
                    replace: String::new(),
                }],
                runs: vec![ScriptRun { argv: vec!["make".to_owned()], exit: 2 }],
                tools_used: vec![ToolUse {
                    name: "Read".to_owned(),
                    input: Some(json!({ "path": "a" })),
                    output: None,
                    duration_ms: 3,
                }],
                ..reply("plan", "done")
            },
        ],
        task: Some("fix the login".to_owned()),
        expect: Some(Expectation {
            outcome: Some("completed".to_owned()),
            stages: Some(vec!["plan".into(), "no".into()]),
            prompts: vec![ExpectedPrompt {
                call: CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 },
                sha256: "1".repeat(64),
            }],
        }),
        answers: vec![
            ScriptAnswer {
                gate: "ask".into(),
                visits: Some(Visits::These(vec![2])),
                label: "yes".into(),
                text: Some("go on".to_owned()),
            },
            ScriptAnswer {
                gate: "tell".into(),
                visits: None,
                label: "answered".into(),
                text: Some("two\nlines".to_owned()),
            },
        ],
        interactive: Some(false),
        recorded: Some("20260206-085600-fix".to_owned()),
    }
}

// C-75
#[test]
fn a_script_is_written_as_a_person_would_write_it() {
    check(&everything());
    assert_snapshot!(script_yaml(&everything()), @r#"
    script: 1
    strict: true
    recorded: "20260206-085600-fix"
    interactive: false
    task: "fix the login"
    replies:
      - for: plan
        visit: 1
        text: |
          Two steps:

            1. look
          [STEP:0]
        structured: {found: [1.5, null, "a: b"], ok: true}
        usage: {input: 900, output: 120}
        cost: 0.02
      - for: review
        visit: 1
        fail: {class: rate_limited, message: "slow: down", retry_after: 1}
      - for: review/tests#judge
        visit: 1
        text: "[STEP:0]"
      - for: review
        visit: 1
        hang: true
      - for: plan
        visit: 1
        text: done
        tools_used:
          - {duration_ms: 3, input: {path: a}, name: Read}
        writes:
          - {content: "one\ntwo\n", path: a.txt}
        edits:
          - {find: "x: y", path: b.txt, replace: ""}
        runs:
          - {argv: [make], exit: 2}
    answers:
      - for: ask
        visit: 2
        answer: "yes"
        text: "go on"
      - for: tell
        text: |-
          two
          lines
    expect:
      outcome: completed
      stages: [plan, "no"]
      prompts:
        - {call: plan.1.1.1, sha256: "1111111111111111111111111111111111111111111111111111111111111111"}
    "#);
}

#[test]
fn a_script_without_replies_is_one() {
    check(&Script { strict: false, ..Script::default() });
    check(&Script { replies: vec![ScriptReply::default()], ..Script::default() });
}

/// Generates texts that YAML misreads without proper quoting.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "\n", "\n\n", " ", "  ", "\t", "- ", ": ", " #", "'", "\"", "\\", "yes", "1", "1e3", "~", "{",
        "[STEP:0]", "---", "...", "|", "計画", "\u{feff}", "\u{85}", "\u{2028}", "\u{1b}", "\u{0}", "\r\n",
        "\u{ffff}", "a",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat()), any::<String>()]
}

fn any_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Json::Bool),
        any::<i64>().prop_map(Json::from),
        any_text().prop_map(Json::String),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::Array),
            prop::collection::vec((any_text(), inner), 0..4)
                .prop_map(|entries| Json::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    // C-75
    #[test]
    fn whatever_was_said_is_read_back_byte_for_byte(
        texts in prop::collection::vec(any_text(), 1..4),
        task in prop::option::of(any_text()),
        structured in prop::option::of(any_value()),
    ) {
        let mut replies: Vec<_> = texts.iter().map(|text| reply("plan", text)).collect();
        replies[0].structured = structured.filter(|value| !value.is_null());
        check(&Script { strict: true, replies, task, ..Script::default() });
    }
}
