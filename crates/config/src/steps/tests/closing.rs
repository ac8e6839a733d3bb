//! Edge cases of gates: handed-on fields, fallbacks and proofs, and errors in unused parts.

use saihai_model::{Json, Method};
use serde_json::json;

use super::later::{Later, later};
use super::{stage, turn};

/// Returns the diagnostics, without the note about the name of the completion type.
fn said(change: impl FnOnce(&mut Later)) -> String {
    told(&later().with(change))
}

fn told(later: &Later) -> String {
    let said = later.said();
    said.lines().filter(|line| !line.starts_with("note steps/other-name")).collect::<Vec<_>>().join("\n")
}

fn of_step(step: &str, pointer: &str, value: Json) -> String {
    said(|later| {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = later.registry["steps"][step].pointer_mut(parent).expect("something there");
        parent[key] = value;
    })
}

// `closing` by a field is still `closing`, so its validators run.
#[test]
fn closing_by_a_field_is_validated_like_any_other() {
    let by_field = json!({"condition": "how", "targets": {"sold": null, "given": null}});
    let later = later().with(|later| later.registry["steps"]["close"]["transitions"]["closing"] = by_field);
    assert_eq!(told(&later), "");
    let workflow = later.project().workflow();
    let choice = turn(&workflow, "close").reads.choice.as_ref().expect("it has a gate");
    let Method::Field(field) = &choice.found_by[0] else { panic!("a field says it") };
    let labels: Vec<&str> = field.narrowed[0].means.values().map(|label| label.as_str()).collect();
    assert_eq!(labels, ["closing", "closing"]);
    let proofs: Vec<&str> = stage(&workflow, "close").proofs().map(|proof| proof.of.as_str()).collect();
    assert_eq!(proofs, ["closing", "closing"], "both validators");
    let options: Vec<&str> = choice.options.iter().map(|offer| offer.label.as_str()).collect();
    assert_eq!(options, ["closing", "repeat"]);
}

// A handed-on output has one source.
#[test]
fn two_fields_that_are_handed_on_under_one_name_are_an_error() {
    let two = of_step("initial.cut", "/structuredGate/handoffFields", json!(["found.cloth", "order.cloth"]));
    insta::assert_snapshot!(two, @"error steps/variable-collision steps_registry.json:59:11 the output `cloth` would have two sources (pass on only one of them, or the object that contains both)");
    let same = of_step("initial.cut", "/structuredGate/handoffFields", json!(["found.cloth", "found.cloth"]));
    assert_eq!(same, "");
    // S-15: only the named fields are handed on, so a schema key of the same name is no second source.
    let hidden =
        of_step("initial.cut", "/structuredGate/handoffFields", json!(["found.cloth", "found.summary"]));
    assert_eq!(hidden, "");
    let decides =
        of_step("initial.cut", "/structuredGate/handoffFields", json!(["found.cloth", "found.next_action"]));
    insta::assert_snapshot!(decides, @"error steps/variable-collision steps_registry.json:59:11 the output `next_action` would replace a field that selects the next step (pass on the object that contains it)");
}

// A fallback needs a fixed target.
#[test]
fn an_intent_that_leads_where_the_reply_says_cannot_be_fallen_back_on() {
    let jump = json!({
        "allowedIntents": ["next", "jump"], "intentField": "i", "targetField": "to",
        "failFast": false, "fallbackIntent": "jump"
    });
    let next = json!({
        "allowedIntents": ["next", "escalate"], "intentField": "i", "failFast": false, "fallbackIntent": "next"
    });
    insta::assert_snapshot!(of_step("sew", "/structuredGate", jump), @r"
    error steps/bad-value steps_registry.json:88:27 `jump` needs a target from the reply, and such a reply has none (fall back on an intent that leads to one step)
    warning steps/shadowed steps_registry.json:93:9 `escalate` is not among `allowedIntents`
    ");
    insta::assert_snapshot!(of_step("sew", "/structuredGate", next), @"error steps/bad-value steps_registry.json:88:27 `next` needs a target from the reply, and such a reply has none (fall back on an intent that leads to one step)");
    let closing = json!({
        "allowedIntents": ["closing"], "intentField": "i", "failFast": false, "fallbackIntent": "closing"
    });
    let by_field = json!({"closing": {"condition": "how", "targets": {"sold": null}}});
    let told = said(|later| {
        later.registry["steps"]["close"]["structuredGate"] = closing;
        later.registry["steps"]["close"]["transitions"] = by_field;
    });
    assert_eq!(told, "", "however it closes, it closes");
}

// Errors in unused parts are reported too.
#[test]
fn what_no_step_uses_is_read_all_the_same() {
    let validator = |value: Json| said(|later| later.registry["validators"]["spare"] = value);
    let fine = json!({"type": "command", "command": "x", "successWhen": "empty", "failurePattern": "dirty"});
    assert_eq!(validator(fine.clone()), "");
    let mut wrong = fine.clone();
    wrong["failurePattern"] = json!("durty");
    insta::assert_snapshot!(validator(wrong), @"error steps/bad-value steps_registry.json:138:25 there is no failure pattern `durty` (did you mean `dirty`?)");
    let mut wrong = fine;
    wrong["successWhen"] = json!("never");
    insta::assert_snapshot!(validator(wrong), @"error steps/bad-value steps_registry.json:139:22 `successWhen` must be `empty`, `non-empty` or `exitCode:0`, not `never`");
    let pattern = said(|later| later.registry["failurePatterns"]["spare"] = json!({"edtion": "x"}));
    insta::assert_snapshot!(pattern, @"error steps/unknown-key steps_registry.json:20:7 unknown key `edtion` (did you mean `edition`?)");
    let entry = said(|later| later.registry["steps"]["initial.issue"] = json!(5));
    insta::assert_snapshot!(entry, @r#"
    note steps/unused-prompt steps_registry.json:75:5 this completion type does not use `initial.issue`
    error steps/bad-type steps_registry.json:75:22 `["initial.issue"]` must be a mapping, not a whole number
    "#);
}

// The parts of `runner` outside the flow.
#[test]
fn logging_sandbox_and_worktree_of_a_runner_are_read() {
    let later = later().with(|later| {
        let runner = &mut later.agent["runner"];
        runner["logging"] = json!({"directory": "logs", "format": "text", "maxFiles": 4});
        runner["boundaries"]["sandbox"] = json!({"enabled": true});
        runner["execution"] = json!({"worktree": {"enabled": true, "root": "../trees"}});
    });
    insta::assert_snapshot!(told(&later), @"warning steps/sandbox agent.json:18:18 an agent's file cannot set `sandbox` for a provider (`permissionMode` and `allowedTools` are enforced)");
    let loaded = later.project().load();
    assert_eq!(loaded.wishes.worktree, Some(true));
    assert_eq!(loaded.wishes.worktree_root.as_deref(), Some("../trees"));
    let log = loaded.workflow.and_then(|workflow| workflow.log).expect("it is written");
    assert_eq!((log.directory.as_str(), log.keep), ("/p/logs", 4));
}
