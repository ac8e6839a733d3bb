//! Agents of the later format: gates for replies, and validators before the end.

use insta::assert_snapshot;
use saihai_tests::{Outcome, Project};
use serde_json::{Value, json};

use crate::support::PROGRAM;

fn agent() -> Value {
    json!({
        "version": "1.13.0", "name": "coat", "description": "Makes a coat.",
        "runner": {
            "flow": {"systemPromptPath": "prompts/system.md", "prompts": {"registry": "steps_registry.json"}},
            "verdict": {"type": "stepMachine", "config": {"maxIterations": 12}},
            "boundaries": {"allowedTools": ["Read"], "permissionMode": "plan"}
        }
    })
}

fn registry() -> Value {
    json!({
        "agentId": "coat", "version": "1.0.0", "c1": "steps", "entryStep": "cut",
        "failurePatterns": {"unsewn": {"edition": "failed", "adaptation": "unsewn", "params": ["report"]}},
        "validators": {"sewn": {
            "type": "command", "command": "cat open-seams 2>/dev/null", "successWhen": "empty",
            "failurePattern": "unsewn"
        }},
        "validationSteps": {"close": {
            "c2": "closure", "c3": "coat", "postLLMConditions": [{"validator": "sewn"}],
            "onFailure": {"action": "retry", "maxAttempts": 2}
        }},
        "steps": {
            "cut": {
                "stepKind": "work", "c2": "initial", "c3": "cut",
                "structuredGate": {
                    "allowedIntents": ["next", "repeat", "jump"], "intentField": "next_action.action",
                    "targetField": "next_action.target", "handoffFields": ["found.cloth"]
                },
                "transitions": {"next": {"target": "sew"}}
            },
            "sew": {
                "kind": "verification", "address": {"c2": "continuation", "c3": "sew"},
                "outputSchemaRef": {"file": "coat.json", "schema": "sew"},
                "structuredGate": {"allowedIntents": ["next", "repeat"], "intentField": "intent"},
                "transitions": {"next": {"condition": "fit", "targets": {"good": "close", "bad": "cut"}}}
            },
            "close": {
                "stepKind": "closure", "c2": "closure", "c3": "coat",
                "structuredGate": {"allowedIntents": ["closing", "repeat"], "intentField": "intent"},
                "transitions": {"closing": {"target": null}, "repeat": {"target": "sew"}}
            }
        }
    })
}

fn coat(change: impl FnOnce(&mut Value)) -> Project {
    let mut registry = registry();
    change(&mut registry);
    let project = Project::new(PROGRAM);
    project.write(".agent/coat/agent.json", agent().to_string());
    project.write(".agent/coat/steps_registry.json", registry.to_string());
    let schema = json!({"sew": {"type": "object", "required": ["intent"], "properties": {
        "intent": {"type": "string"}, "fit": {"type": "string"}}}});
    project.write(".agent/coat/schemas/coat.json", schema.to_string());
    let prompts = [
        ("system.md", "You are a tailor.\n"),
        ("steps/initial/cut/f_default.md", "Cut a coat.\n"),
        ("steps/continuation/sew/f_default.md", "Sew the {uv-cut_cloth}.\n"),
        ("steps/closure/coat/f_default.md", "Close.\n"),
        ("steps/closure/coat/f_failed_unsewn.md", "Still open: {uv-report}\nSew it.\n"),
    ];
    for (path, text) in prompts {
        project.write(&format!(".agent/coat/prompts/{path}"), text);
    }
    project
}

/// Runs the agent on these replies.
fn run(project: &Project, replies: &[(&str, &str)], more: &[&str]) -> Outcome {
    let mut script = "script: 1\nreplies:\n".to_owned();
    for (step, text) in replies {
        script += &format!("  - {{for: {step}, text: {}}}\n", Value::from(*text));
    }
    project.write("walk.yaml", script);
    let arguments = ["run", "coat", "--script", "walk.yaml"];
    project.saihai(arguments.iter().chain(more).copied()).run()
}

const CUT: (&str, &str) = (
    "cut",
    "```json\n{\"next_action\": {\"action\": \"Continue\"}, \"found\": {\"cloth\": \"wool\"}, \"stepId\": \"sew\"}\n```",
);
const SEWN: (&str, &str) = ("sew", "{\"intent\": \"pass\", \"fit\": \"good\"}");
const CLOSED: (&str, &str) = ("close", "{\"intent\": \"done\"}");

/// Returns the error line of a failed run.
fn why(failed: &Outcome) -> &str {
    failed.stderr.lines().find(|line| line.starts_with("error")).unwrap_or(&failed.stderr)
}

fn prompts(project: &Project) -> Vec<String> {
    let asked = project.journal();
    asked.prompts().iter().map(|(_, text)| text.lines().next().unwrap_or_default().to_owned()).collect()
}

// S-14, S-15
#[test]
fn replies_say_what_follows_and_hand_on_what_they_found() {
    let project = coat(|_| {});
    assert_snapshot!(project.saihai(["check", "coat"]).run().exits(0).stdout, @"
    coat: ok (at most 12 iterations, 24 agent calls)
      close: .agent/coat/prompts/steps/closure/coat/f_default.md
      close: .agent/coat/prompts/steps/closure/coat/f_failed_unsewn.md
        report: what a validator printed
      cut: .agent/coat/prompts/steps/initial/cut/f_default.md
      sew: .agent/coat/prompts/steps/continuation/sew/f_default.md
        cut_cloth: the output `cloth` of step `cut`
    no errors in 1 file
    ");
    assert_snapshot!(project.saihai(["graph", "coat"]).run().exits(0).stdout, @r#"
    flowchart TD
        n0["close"]
        n1["cut"]
        n2["sew"]
        n3(["COMPLETE"])
        n0 -->|"closing"| n3
        n0 ==>|"repeat"| n2
        n1 -->|"next"| n2
        n1 ==>|"repeat"| n1
        n2 ==>|"next (bad)"| n1
        n2 -->|"next (good)"| n0
        n2 ==>|"repeat"| n2
    "#);
    project.saihai(["rehearse", "coat"]).run().exits(0);
    let done = run(&project, &[CUT, SEWN, CLOSED], &["--trust-project"]).exits(0);
    let mended = r#"warning: `cut`: /stepId: "sew" was replaced by "cut""#;
    assert!(done.stderr.contains(mended), "a reply speaks for the running step: {done}");
    assert_eq!(prompts(&project), ["Cut a coat.", "Sew the wool.", "Close."]);
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["loop"]["completionReason"], json!("Flow completed at close"));
    let project = coat(|_| {});
    let bad = ("sew", "{\"intent\": \"next\", \"fit\": \"bad\"}");
    let jump = ("cut", "{\"next_action\": {\"action\": \"jump\", \"target\": \"close\"}}");
    run(&project, &[CUT, bad, jump, CLOSED], &["--trust-project"]).exits(0);
    assert_eq!(prompts(&project), ["Cut a coat.", "Sew the wool.", "Cut a coat.", "Close."]);
    // A step's name may be a number, and a reply may write it as a number.
    let project = coat(|registry| {
        let close =
            registry["steps"].as_object_mut().and_then(|steps| steps.remove("close")).expect("a step");
        registry["steps"]["2"] = close;
        registry["steps"]["sew"]["transitions"]["next"]["targets"]["good"] = json!("2");
        let validated = registry["validationSteps"].as_object_mut().and_then(|steps| steps.remove("close"));
        registry["validationSteps"]["2"] = validated.expect("a step");
    });
    let jump = ("cut", "{\"next_action\": {\"action\": \"jump\", \"target\": 2}}");
    run(&project, &[jump, ("\"2\"", CLOSED.1)], &["--trust-project"]).exits(0);
    assert_eq!(prompts(&project), ["Cut a coat.", "Close."]);
}

// The intents `handoff` and `escalate`, and the fields they pass on.
#[test]
fn a_step_hands_on_its_work_and_what_it_found_and_a_verification_can_escalate() {
    let handing = || {
        let project = coat(|registry| {
            let steps = &mut registry["steps"];
            steps["cut"]["structuredGate"]["allowedIntents"] = json!(["next", "handoff"]);
            steps["cut"]["structuredGate"]["handoffFields"] = json!(["found.cloth", "found.thread.colour"]);
            steps["cut"]["transitions"]["handoff"] = json!({"target": "sew"});
            steps["sew"]["structuredGate"]["allowedIntents"] = json!(["next", "escalate"]);
            steps["sew"]["transitions"]["escalate"] = json!({"target": "close"});
        });
        project.write(
            ".agent/coat/prompts/steps/continuation/sew/f_default.md",
            "Sew {uv-cut_cloth} in {uv-cut_colour}.\n",
        );
        project
    };
    let hands = |fields: &str| {
        let text = format!("{{\"next_action\": {{\"action\": \"HandOff\"}}, \"found\": {fields}}}");
        ["cut".to_owned(), text]
    };
    let [cut, found] = hands("{\"cloth\": \"wool\", \"thread\": {\"colour\": \"red\"}}");
    let escalate = ("sew", "{\"intent\": \"escalate\", \"fit\": \"none\"}");
    let project = handing();
    run(&project, &[(&cut, &found), escalate, CLOSED], &["--trust-project"]).exits(0);
    assert_eq!(prompts(&project), ["Cut a coat.", "Sew wool in red.", "Close."]);
    let kept = project.journal().facts("replied").next().map(|fact| fact["reading"]["output"].clone());
    let kept = kept.unwrap_or_default();
    assert_eq!((&kept["cloth"], &kept["colour"]), (&json!("wool"), &json!("red")), "by their last names");
    let [cut, found] = hands("{\"cloth\": \"wool\"}");
    let project = handing();
    let failed = run(&project, &[(&cut, &found)], &["--trust-project"]).exits(1);
    assert!(failed.stderr.contains("MissingRequiredInput: cut.colour"), "{failed}");
}

// S-15, case 41
#[test]
fn what_a_step_may_not_say_is_corrected_once_and_then_fails_it() {
    let project = coat(|_| {});
    let closing = ("cut", "{\"next_action\": {\"action\": \"closing\"}}");
    let failed = run(&project, &[closing, closing], &["--trust-project"]).exits(1);
    assert_snapshot!(why(&failed), @r#"error: step `cut` failed: its output is invalid: /next_action/action: "closing" is not one of "next", "repeat" or "jump""#);
    assert_snapshot!(prompts(&project).join("\n"), @r#"
    Cut a coat.
    Your output violates the schema: /next_action/action: "closing" is not one of "next", "repeat" or "jump". Return only the corrected JSON.
    "#);
    let project = coat(|_| {});
    let nowhere = ("cut", "{\"next_action\": {\"action\": \"jump\", \"target\": \"iron\"}}");
    let failed = run(&project, &[nowhere, nowhere], &["--trust-project"]).exits(1);
    assert_snapshot!(why(&failed), @r#"error: step `cut` failed: its output is invalid: /next_action/target: "iron" is not one of "close", "cut" or "sew""#);
    let lenient = coat(|registry| {
        registry["steps"]["cut"]["structuredGate"]["failFast"] = json!(false);
        registry["steps"]["cut"]["structuredGate"]["fallbackIntent"] = json!("next");
        registry["steps"]["cut"]["structuredGate"]["handoffFields"] = json!([]);
        registry["steps"]["sew"]["c2"] = json!("closure");
        registry["steps"]["sew"]["address"] = json!({"c2": "closure", "c3": "coat"});
    });
    let done = run(&lenient, &[closing, SEWN, CLOSED], &["--trust-project"]).exits(0);
    assert!(done.stderr.contains("warning: `cut`: ") && done.stderr.contains(": taken as `next`"), "{done}");
    let null = coat(|registry| registry["steps"]["cut"]["transitions"]["next"] = json!({"target": null}));
    let refused = null.saihai(["check", "coat"]).run().exits(2);
    assert!(refused.stdout.contains("`next` needs a step to go to"), "{refused}");
}

// S-16
#[test]
fn a_step_closes_only_when_its_validators_are_satisfied() {
    let project = coat(|_| {});
    project.write("open-seams", "left sleeve\n");
    let refused = run(&project, &[CUT, SEWN, CLOSED], &[]).exits(2);
    assert_snapshot!(refused.stderr, @r"
    error[settings/untrusted]: `.agent/coat/steps_registry.json` is not trusted, and it runs `cat open-seams 2>/dev/null`
      = help: review it, then run `saihai trust .agent/coat/steps_registry.json`; `--trust-project` trusts it for one call
    ");
    project.saihai(["trust", ".agent/coat/steps_registry.json"]).run().exits(0);
    let failed = run(&project, &[CUT, SEWN, CLOSED, CLOSED, CLOSED], &[]).exits(1);
    assert!(failed.stderr.contains("Retries exhausted: close (2)"), "{failed}");
    assert_eq!(
        prompts(&project),
        ["Cut a coat.", "Sew the wool.", "Close.", "Still open: left sleeve", "Still open: left sleeve"]
    );
    let abort =
        coat(|registry| registry["validationSteps"]["close"]["onFailure"] = json!({"action": "abort"}));
    abort.write("open-seams", "left sleeve\n");
    let failed = run(&abort, &[CUT, SEWN, CLOSED], &["--trust-project"]).exits(1);
    assert!(failed.stderr.contains("step `close` failed: the validator `sewn` failed"), "{failed}");
    let skip = coat(|registry| registry["validationSteps"]["close"]["onFailure"] = json!({"action": "skip"}));
    skip.write("open-seams", "left sleeve\n");
    let done = run(&skip, &[CUT, SEWN, CLOSED], &["--trust-project"]).exits(0);
    assert!(done.stderr.contains("warning: close (sewn) failed: left sleeve\n"), "{done}");
    let explained = skip.saihai(["explain", "last"]).run().exits(0).stdout;
    assert!(explained.contains("`sewn` failed:"), "{explained}");
}
