//! Running step agents: limits, retries, outputs, completion, actions. S-24–S-73.

mod flow;
mod issues;
mod programs;
mod prompt_inputs;
mod results;
mod start;

use saihai_tests::{Outcome, Project};
use serde_json::{Value, json};

use crate::support::PROGRAM;

/// Creates an agent `it` from its completion, further keys and steps, with a prompt for each step and check.
fn agent(behavior: &Value, more: &Value, steps: &Value, replies: &str) -> Project {
    let project = Project::new(PROGRAM);
    let mut file = json!({
        "version": "1.0.0",
        "name": "it",
        "behavior": {
            "systemPromptPath": "prompts/system.md",
            "allowedTools": [],
            "permissionMode": "plan",
        },
        "prompts": {"registry": "steps_registry.json"},
    });
    merge(&mut file["behavior"], behavior);
    merge(&mut file, more);
    let entry = steps.as_object().and_then(|steps| steps.keys().next()).expect("a step").clone();
    let mut steps = steps.clone();
    for (id, step) in steps.as_object_mut().expect("steps by id") {
        step["prompt"] = json!({"path": format!("{id}.md")});
        project.write(&format!(".agent/it/prompts/{id}.md"), format!("Do {id}.\n"));
        if step.get("check").is_some() {
            step["check"]["prompt"] = json!({"path": "check.md"});
            step["check"]["responseFormat"] = json!({"result": "ok|ng", "message": "optional"});
            project.write(".agent/it/prompts/check.md", "Is it right?\n");
        }
    }
    let registry = json!({"version": "1.0.0", "basePath": "prompts", "entryStep": entry, "steps": steps});
    project.write(".agent/it/agent.json", file.to_string());
    project.write(".agent/it/steps_registry.json", registry.to_string());
    project.write(".agent/it/prompts/system.md", "You work.\n");
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project
}

fn merge(into: &mut Value, more: &Value) {
    for (key, value) in more.as_object().expect("an object") {
        into[key] = value.clone();
    }
}

fn completes(kind: &str, config: &Value) -> Value {
    json!({"completionType": kind, "completionConfig": config})
}

fn run(project: &Project, more: &[&str]) -> Outcome {
    let arguments = ["run", "it", "--script", "script.yaml"];
    project.saihai(arguments.iter().chain(more).copied()).run()
}

/// Returns the loop's result without its summaries, and checks that each iteration has one summary (S-26).
fn returned(project: &Project) -> Value {
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    let mut returned = shown[0]["loop"].clone();
    let summaries = returned["summaries"].take();
    assert_eq!(returned["iterations"], json!(summaries.as_array().map(Vec::len)));
    returned.as_object_mut().expect("an object").remove("summaries");
    returned
}

fn summaries(project: &Project) -> Value {
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0).json();
    shown[0]["loop"]["summaries"].clone()
}

const ANY: &str = "  - {text: 'a reply', times: \"*\"}\n";

/// Returns two steps that lead to each other for ever.
fn for_ever() -> Value {
    json!({"a": {"next": "b"}, "b": {"next": "a"}})
}

// S-33, S-60, case 7
#[test]
fn a_budget_of_three_iterations_is_three_work_turns() {
    let project =
        agent(&completes("iterationBudget", &json!({"maxIterations": 3})), &json!({}), &for_ever(), ANY);
    run(&project, &[]).exits(0);
    assert_eq!(project.journal().asked().len(), 3);
    let expected = json!({"success": true, "completionReason": "Reached 3", "iterations": 3});
    assert_eq!(returned(&project), expected);
}

// S-28, S-29, case 8, case 11
#[test]
fn a_run_that_never_completes_is_stopped_at_one_hundred_and_only_a_person_raises_that() {
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE", "maxIterations": 500}));
    let project = agent(&keyword, &json!({}), &for_ever(), ANY);
    let outcome = run(&project, &[]).exits(5);
    assert!(outcome.stderr.contains("Hard limit exceeded: 100"), "{outcome}");
    assert_eq!(project.journal().asked().len(), 100);
    let expected = json!({
        "success": false,
        "completionReason": "emergency_stop",
        "error": "Hard limit exceeded: 100",
        "iterations": 100,
    });
    assert_eq!(returned(&project), expected);
    let raised = agent(&keyword, &json!({}), &for_ever(), ANY);
    run(&raised, &["--max-iterations", "120"]).exits(5);
    assert_eq!(raised.journal().asked().len(), 120);
}

// S-31, case 9
#[test]
fn a_flow_that_is_not_done_at_its_cap_has_failed() {
    let steps = json!({"a": {"next": "b"}, "b": {"check": {
        "onPass": {"complete": true}, "onFail": {"next": "a"}}}});
    let replies =
        "  - {for: 'b#judge', text: '{\"result\": \"ng\"}', times: \"*\"}\n  - {text: 'x', times: \"*\"}\n";
    let project = agent(&completes("stepMachine", &json!({"maxIterations": 4})), &json!({}), &steps, replies);
    run(&project, &[]).exits(5);
    let expected = json!({
        "success": false,
        "completionReason": "max_iterations",
        "error": "Iteration limit reached: 4",
        "iterations": 4,
    });
    assert_eq!(returned(&project), expected);
}

// S-60, case 9
#[test]
fn a_keyword_in_the_second_reply_is_two_iterations() {
    let replies = "  - {text: 'not yet'}\n  - {text: 'now DONE'}\n";
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE"}));
    let project = agent(&keyword, &json!({}), &for_ever(), replies);
    run(&project, &[]).exits(0);
    assert_eq!(returned(&project)["iterations"], json!(2));
}

// S-39, case 12
#[test]
fn retries_that_are_exhausted_fail_the_run_and_say_so() {
    let steps = json!({"quote": {"check": {"onPass": {"complete": true}, "onFail": {"retry": true}}}});
    let replies = "  - {for: 'quote#judge', text: '{\"result\": \"NG\"}', times: \"*\"}\n  - {text: 'x', times: \"*\"}\n";
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, replies);
    let outcome = run(&project, &[]).exits(1);
    assert!(outcome.stderr.contains("Retries exhausted: quote (3)"), "{outcome}");
    assert_eq!(project.journal().asked().len(), 8, "four work turns and four checks");
    let expected = json!({
        "success": false,
        "completionReason": "step_failed",
        "error": "Retries exhausted: quote (3)",
        "iterations": 4,
    });
    assert_eq!(returned(&project), expected);
}

// S-45, S-46, case 17
#[test]
fn an_output_of_the_wrong_type_is_corrected_once_and_then_fails_the_step() {
    let steps = json!({"measure": {"terminal": true, "outputSchema": {"height": {"type": "number"}}}});
    let wrong = "  - {text: '{\"height\": \"175\"}', times: \"*\"}\n";
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, wrong);
    let outcome = run(&project, &[]).exits(1);
    assert_eq!(project.journal().asked().len(), 2);
    assert!(outcome.stderr.contains("step `measure` failed: its output is invalid: "), "{outcome}");
    assert!(outcome.stderr.contains("height"), "it is named: {outcome}");
}

// S-4, case 27
#[test]
fn an_agent_that_is_rewritten_and_deleted_while_it_runs_ends_as_before() {
    let steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    let project = agent(&completes("stepMachine", &json!({"maxIterations": 1})), &json!({}), &steps, ANY);
    run(&project, &[]).exits(5);
    std::fs::remove_dir_all(project.root().join(".agent/it/prompts")).expect("it was there");
    project.write(".agent/it/agent.json", "{}");
    project.saihai(["resume", "last", "--max-iterations", "2"]).run().exits(0);
    assert_eq!(returned(&project)["completionReason"], json!("Flow completed at b"));
}

// S-34, S-61, case 33
#[test]
fn a_file_that_is_there_needs_no_turn_and_one_that_is_missing_fails_a_flow_that_ends() {
    let steps = json!({"a": {"terminal": true}});
    let state = json!({"resourceType": "file", "path": "done.txt", "targetState": "exists"});
    let project = agent(&completes("externalState", &state), &json!({}), &steps, ANY);
    run(&project, &[]).exits(1);
    assert_eq!(
        returned(&project),
        json!({
            "success": false,
            "completionReason": "flow_ended",
            "error": "flow ended at a, but `done.txt` does not exist",
            "iterations": 1,
        })
    );
    project.write("done.txt", "");
    run(&project, &[]).exits(0);
    assert_eq!(returned(&project)["iterations"], json!(0));
}

fn acting() -> Value {
    json!({"actions": {"enabled": true, "types": ["note", "complete", "phase-advance"], "handlers": {"note": "file"}}})
}

fn blocks(blocks: &[Value]) -> String {
    let text: String = blocks.iter().map(|block| format!("```action\n{block}\n```\n")).collect();
    format!("  - {{text: {}}}\n", Value::from(text))
}

// S-63, case 36
#[test]
fn a_complete_signal_succeeds_with_its_data_as_the_reason() {
    let replies = blocks(&[json!({"type": "complete", "content": "all sewn"})]);
    let budget = completes("iterationBudget", &json!({"maxIterations": 9}));
    let project = agent(&budget, &acting(), &for_ever(), &replies);
    run(&project, &[]).exits(0);
    let expected = json!({"success": true, "completionReason": "all sewn", "iterations": 1});
    assert_eq!(returned(&project), expected);
}

// S-65, P8, case 37
#[test]
fn blocks_are_acted_on_and_what_fails_is_told_and_stops_nothing() {
    let replies = blocks(&[
        json!({"type": "note", "content": "kept"}),
        json!({"type": "note", "content": "x", "filename": "../x"}),
        json!({"type": "unheard"}),
    ]);
    let budget = completes("iterationBudget", &json!({"maxIterations": 1}));
    let project = agent(&budget, &acting(), &for_ever(), &replies);
    run(&project, &[]).exits(0);
    let told = &summaries(&project)[0];
    assert_eq!(
        told["actionResults"],
        json!([
            {"success": true, "result": {"path": "output.md", "bytes": 4}},
            {"success": false, "error": told["actionResults"][1]["error"]},
        ])
    );
    assert!(told["errors"][0].as_str().is_some_and(|error| error.contains("unheard")), "{told}");
    let written = std::fs::read_to_string(project.root().join("output.md")).expect("it was written");
    assert_eq!(written, "kept");
    assert!(!project.root().join("../x").exists());
}

fn handler(project: &Project, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    project.write(".agent/it/handler.sh", format!("#!/bin/sh\n{body}\n"));
    let path = project.root().join(".agent/it/handler.sh");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

// S-62, K-39, case 35
#[test]
fn a_handler_of_the_project_is_run_only_as_it_was_trusted() {
    let custom = completes("custom", &json!({"handlerPath": "handler.sh"}));
    let project = agent(&custom, &json!({}), &for_ever(), ANY);
    handler(&project, "touch ran; echo '{\"complete\": true, \"reason\": \"it fits\"}'");
    let refused = run(&project, &[]).exits(2);
    assert!(refused.stderr.contains("`.agent/it/handler.sh` is not trusted"), "{refused}");
    assert!(refused.stderr.contains("saihai trust .agent/it/handler.sh"), "{refused}");
    assert!(!project.root().join("ran").exists() && project.runs().is_empty(), "nothing was begun");
    run(&project, &["--trust-project"]).exits(0);
    project.saihai(["trust", ".agent/it/handler.sh"]).run().exits(0);
    run(&project, &[]).exits(0);
    let expected = json!({"success": true, "completionReason": "it fits", "iterations": 1});
    assert_eq!(returned(&project), expected);
    handler(&project, "exit 1");
    run(&project, &[]).exits(2);
    project.saihai(["trust", ".agent/it/handler.sh"]).run().exits(0);
    let failed = run(&project, &[]).exits(1);
    assert!(failed.stderr.contains("handler.sh` exited with 1"), "{failed}");
}

// S-63, case 36
#[test]
fn a_signal_that_a_completion_type_does_not_support_is_warned_of() {
    let replies = blocks(&[json!({"type": "phase-advance"})]);
    let budget = completes("iterationBudget", &json!({"maxIterations": 1}));
    let project = agent(&budget, &acting(), &for_ever(), &replies);
    let done = run(&project, &[]).exits(0);
    let warning = "warning: `a`: the `phase-advance` block on line 1 steers nothing in this workflow\n";
    assert!(done.stderr.contains(warning), "{done}");
    assert_eq!(returned(&project)["completionReason"], json!("Reached 1"));
}

fn in_phases() -> Value {
    json!({"actions": {"enabled": true, "types": ["project-plan", "phase-advance", "review-result"]}})
}

/// Creates an agent with phases, with one block per reply.
fn phases(kinds: &[Value]) -> Project {
    let replies: String = kinds.iter().map(|block| blocks(std::slice::from_ref(block))).collect();
    let phases = completes("phaseCompletion", &json!({"maxIterations": kinds.len()}));
    agent(&phases, &in_phases(), &for_ever(), &replies)
}

// S-63
#[test]
fn a_review_that_passed_before_its_phase_is_remembered_when_the_phase_ends() {
    let (advance, passed) =
        (json!({"type": "phase-advance"}), json!({"type": "review-result", "passed": true}));
    let plan = json!({"type": "project-plan"});
    let early = phases(&[plan.clone(), passed.clone(), advance.clone(), advance.clone()]);
    run(&early, &[]).exits(0);
    assert_eq!(returned(&early)["completionReason"], json!("Phase reached: complete"));
    let failed = json!({"type": "review-result", "passed": false});
    let late = phases(&[plan.clone(), passed.clone(), failed.clone(), advance.clone(), advance.clone()]);
    run(&late, &[]).exits(5);
    let again = phases(&[plan, advance.clone(), failed, advance, passed]);
    run(&again, &[]).exits(0);
    assert_eq!(returned(&again)["iterations"], json!(5), "the review ends its phase");
}

fn logs(project: &Project) -> Vec<String> {
    let entries = std::fs::read_dir(project.root().join("tmp/logs")).expect("it was made");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
    names.sort();
    names
}

fn log(project: &Project, name: &str) -> String {
    std::fs::read_to_string(project.root().join("tmp/logs").join(name)).expect("it is there")
}

#[test]
fn what_happens_is_also_logged_where_the_agent_wants_it_and_only_the_newest_are_kept() {
    let logging = json!({"logging": {"directory": "tmp/logs", "format": "jsonl", "maxFiles": 2}});
    let steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    let project = agent(&completes("stepMachine", &json!({"maxIterations": 1})), &logging, &steps, ANY);
    run(&project, &[]).exits(5);
    project.saihai(["resume", "last", "--max-iterations", "2"]).run().exits(0);
    let [only] = logs(&project).try_into().expect("one run, one log");
    assert!(only.starts_with("it-20") && only.ends_with("Z.jsonl"), "{only}");
    let lines: Vec<Value> =
        log(&project, &only).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let said = |text: &str| lines.iter().find(|line| line["message"] == json!(text));
    let entered = said("iteration 2 of 2: b").expect("what followed the resume is there too");
    assert_eq!((&entered["level"], entered["timestamp"].is_string()), (&json!("info"), true));
    assert!(said("iteration 1 of 1: a").is_some() && lines[0]["data"]["seq"].is_u64(), "{lines:?}");
    for _ in 0..3 {
        run(&project, &[]).exits(5);
    }
    let kept = logs(&project);
    assert!(kept.len() == 2 && !kept.contains(&only), "{kept:?}");
}

#[test]
fn a_log_can_be_text_and_one_that_cannot_be_written_stops_no_run() {
    let logging = json!({"logging": {"directory": "tmp/logs", "format": "text", "maxFiles": 5}});
    let steps = json!({"a": {"terminal": true}});
    let project = agent(&completes("stepMachine", &json!({})), &logging, &steps, ANY);
    run(&project, &[]).exits(0);
    let [only] = logs(&project).try_into().expect("one run, one log");
    let text = log(&project, &only);
    assert!(text.contains("Z INFO a → completed"), "{text}");
    let blocked = agent(&completes("stepMachine", &json!({})), &logging, &steps, ANY);
    blocked.write("tmp", "a file");
    let done = run(&blocked, &[]).exits(0);
    assert!(done.stderr.contains("warning: cannot write the log of the agent: "), "{done}");
    let outside = json!({"logging": {"directory": "../logs", "format": "text", "maxFiles": 5}});
    let refused = agent(&completes("stepMachine", &json!({})), &outside, &steps, ANY);
    assert!(run(&refused, &[]).exits(2).stderr.contains("steps/path-escape"));
}

#[test]
fn a_run_is_recorded_forked_and_goes_on_after_its_limit() {
    let steps = json!({"a": {"next": "b"}, "b": {"check": {
        "onPass": {"complete": true}, "onFail": {"retry": true}}}});
    let replies = "  - {for: 'b#judge', text: '{\"result\": \"ng\"}'}\n  - {for: 'b#judge', text: '{\"result\": \"ok\"}'}\n  - {text: 'x', times: \"*\"}\n";
    let flow = completes("stepMachine", &json!({"maxIterations": 2}));
    let project = agent(&flow, &json!({}), &steps, replies);
    run(&project, &[]).exits(5);
    project.saihai(["resume", "last", "--max-iterations", "9"]).run().exits(0);
    assert_eq!(project.journal().asked().values().sum::<usize>(), 5, "nothing is asked twice");
    project.saihai(["record", "last", "--out", "recorded.yaml"]).run().exits(0);
    let forked = project.saihai(["fork", "last"]).run().exits(0);
    project.saihai(["resume", forked.stdout.trim(), "--max-iterations", "9"]).run().exits(0);
    let again = ["run", "it", "--script", "recorded.yaml", "--max-iterations", "9"];
    let again = project.saihai(again).run().exits(0);
    assert!(again.stdout.contains("completed (Flow completed at b)"), "{again}");
}
