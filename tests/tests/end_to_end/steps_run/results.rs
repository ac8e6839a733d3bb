//! Results of a run of a step agent: its transitions, its reasons, and parallel runs.

use rustix::process::Signal;
use saihai_tests::{At, Fault, Project};
use serde_json::{Value, json};

use super::{ANY, agent, completes, for_ever, phases, returned, run};

/// Returns every transition of the last run, without values that differ between runs.
fn transitions(project: &Project) -> Vec<Value> {
    let mut told = project.saihai(["explain", "last", "--json"]).run().exits(0).json();
    for one in &mut told {
        let reasons: Vec<Value> =
            one["evidence"].as_array().into_iter().flatten().map(|one| one["value"].clone()).collect();
        *one = json!([one["stage"], one["iteration"], one["labels"], one["to"], reasons]);
    }
    told
}

// S-38: stay, move, complete and fail. Each is recorded with its step, iteration, verdict and reason.
#[test]
fn a_check_that_passed_or_failed_leads_where_it_says_and_is_recorded_with_its_reason() {
    let steps = json!({
        "a": {"check": {"onPass": {"next": "b"}, "onFail": {"retry": true, "maxRetries": 1}}},
        "b": {"check": {"onPass": {"complete": true}, "onFail": {"next": "a"}}},
    });
    let answers = |answers: &[(&str, &str, &str)]| -> String {
        let line = |(step, result, message): &(&str, &str, &str)| {
            let answer = json!({"result": result, "message": message}).to_string();
            format!("  - {{for: '{step}#judge', text: {}}}\n", Value::from(answer))
        };
        answers.iter().map(line).chain([ANY.to_owned()]).collect()
    };
    let judged = |result: &str, message: &str| json!([{"message": message, "result": result}]);
    let replies = answers(&[("a", "ng", "too wide"), ("a", "ok", "fits"), ("b", "ok", "sewn")]);
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, &replies);
    run(&project, &[]).exits(0);
    let expected = [
        json!(["a", 1, ["ng"], "again", judged("ng", "too wide")]),
        json!(["a", 2, ["ok"], {"stage": "b"}, judged("ok", "fits")]),
        json!(["b", 3, ["ok"], "complete", judged("ok", "sewn")]),
    ];
    assert_eq!(transitions(&project), expected);
    let replies = answers(&[("a", "ng", "too wide"), ("a", "ng", "still")]);
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, &replies);
    run(&project, &[]).exits(1);
    let failed = json!({"end": {"failed": "retries_exhausted a 1"}});
    let expected = [
        json!(["a", 1, ["ng"], "again", judged("ng", "too wide")]),
        json!(["a", 2, ["ng"], failed, judged("ng", "still")]),
    ];
    assert_eq!(transitions(&project), expected);
}

// S-70: each run is an independent loop. There are no locks between them, and they need neither git nor a forge.
#[test]
fn several_agents_are_several_runs_at_the_same_time() {
    let budget = completes("iterationBudget", &json!({"maxIterations": 20}));
    let project = agent(&budget, &json!({}), &for_ever(), ANY);
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| run(&project, &[]).exits(0))).collect();
        for run in runs {
            let done = run.join().expect("it ran");
            assert!(done.stdout.contains("completed (Reached 20)"), "{done}");
        }
    });
    assert_eq!(project.runs().len(), 3);
}

// Case 40
#[test]
fn a_catalogue_asks_its_first_prompt_once_and_then_the_other_until_it_is_done() {
    let budget = completes("iterationBudget", &json!({"maxIterations": 3}));
    let project = agent(&budget, &json!({}), &for_ever(), ANY);
    let steps = json!({
        "initial.iterate": {"c2": "initial", "c3": "iterate"},
        "continuation.iterate": {"c2": "continuation", "c3": "iterate"},
    });
    let registry = json!({"agentId": "it", "version": "1.0.0", "c1": "steps", "steps": steps});
    project.write(".agent/it/steps_registry.json", registry.to_string());
    for (part, text) in [("initial", "Begin."), ("continuation", "Go on: {uv-iteration}.")] {
        project.write(&format!(".agent/it/prompts/steps/{part}/iterate/f_default.md"), text);
    }
    run(&project, &[]).exits(0);
    let asked: Vec<String> = project.journal().prompts().into_iter().map(|(_, prompt)| prompt).collect();
    assert_eq!(asked, ["Begin.", "Go on: 2.", "Go on: 3."]);
    assert_eq!(returned(&project)["completionReason"], json!("Reached 3"));
}

// S-13, S-63
#[test]
fn a_catalogue_asks_in_the_words_of_each_phase() {
    let (advance, plan) = (json!({"type": "phase-advance"}), json!({"type": "project-plan"}));
    let (passed, failed) =
        (json!({"type": "review-result", "passed": true}), json!({"type": "review-result", "passed": false}));
    let kinds = [json!({"type": "none"}), plan, advance.clone(), failed, advance, passed];
    let project = phases(&kinds);
    let mut steps = json!({});
    for phase in ["preparation", "processing", "review", "again"] {
        for part in ["initial", "continuation"] {
            let path = format!("{part}-{phase}.md");
            project.write(&format!(".agent/it/prompts/{path}"), format!("{part} {phase}"));
            steps[format!("{part}.project.{phase}")] = json!({"promptPath": path});
        }
    }
    let registry = json!({"agentId": "it", "version": "1.0.0", "steps": steps});
    project.write(".agent/it/steps_registry.json", registry.to_string());
    run(&project, &[]).exits(0);
    let asked: Vec<String> = project.journal().prompts().into_iter().map(|(_, prompt)| prompt).collect();
    let expected = [
        "initial preparation",
        "continuation preparation",
        "initial processing",
        "initial review",
        "initial again",
        "initial review",
    ];
    assert_eq!(asked, expected);
    assert_eq!(returned(&project)["completionReason"], json!("Phase reached: complete"));
}

/// Returns the completion reason of the last run, and checks that exactly the failed runs have an error.
fn reason(project: &Project) -> String {
    let returned = returned(project);
    let error = returned["error"].as_str().unwrap_or_default();
    assert_eq!(returned["success"] == json!(false), !error.is_empty(), "{returned}");
    returned["completionReason"].as_str().unwrap_or_default().to_owned()
}

// S-26: every possible reason, with its exit code.
#[test]
fn a_run_always_returns_whether_it_succeeded_and_why_not() {
    let machine = |steps: Value, replies: &str| {
        agent(&completes("stepMachine", &json!({})), &json!({}), &steps, replies)
    };
    let ends = |project: &Project, more: &[&str], code: i32| {
        run(project, more).exits(code);
        reason(project)
    };
    let (once, on) = (json!({"a": {"terminal": true}}), json!({"a": {"next": "b"}, "b": {"terminal": true}}));
    assert_eq!(ends(&machine(once.clone(), ANY), &[], 0), "Flow completed at a");
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE"}));
    let endless = agent(&keyword, &json!({}), &for_ever(), ANY);
    let few = |project: &Project, name: &str, value: &str| {
        project.saihai(["run", "it", "--script", "script.yaml"]).env(name, value).run().exits(5)
    };
    let stopped = few(&endless, "SAIHAI_LIMITS__HARD_ITERATIONS", "7");
    assert!(
        stopped.stderr.contains("Hard limit exceeded: 7"),
        "S-29: it names the person's limit: {stopped}"
    );
    assert_eq!(reason(&endless), "emergency_stop");
    assert_eq!(ends(&machine(on.clone(), ANY), &["--max-iterations", "1"], 5), "max_iterations");
    assert_eq!(ends(&machine(on.clone(), "  - {hang: true}\n"), &["--run-timeout", "1s"], 5), "timeout");
    assert_eq!(ends(&machine(on.clone(), ANY), &["--budget", "turns=1"], 5), "budget");
    let wrong = json!({"a": {"terminal": true, "outputSchema": {"x": {"type": "number"}}}});
    assert_eq!(ends(&machine(wrong, ANY), &[], 1), "step_failed");
    let state = json!({"resourceType": "file", "path": "done.txt", "targetState": "exists"});
    let waiting = agent(&completes("externalState", &state), &json!({}), &once, ANY);
    assert_eq!(ends(&waiting, &[], 1), "flow_ended");
    let refused = "  - {fail: {class: auth, message: 'log in'}}\n";
    assert_eq!(ends(&machine(once.clone(), refused), &[], 4), "provider_failed");
    let full = machine(on, ANY);
    let log = full.home().join("operations.log");
    // The first run creates the directories.
    full.saihai(["run", "it", "--script", "script.yaml"]).run().exits(0);
    full.saihai(["run", "it", "--script", "script.yaml"]).fault(&Fault::note(&log)).run().exits(0);
    let writes = |at: &At| at.kind == "Write" && at.path.ends_with("journal.ndjson");
    let late = At::noted(&log).into_iter().rfind(writes).expect("appends").number;
    // A full disk cannot record its own failure: only the process that drives the run can report it.
    let fault = Fault::fail_from(late, "ENOSPC");
    let told = full.saihai(["run", "it", "--script", "script.yaml", "--json"]).fault(&fault).run().exits(4);
    assert_eq!(told.result()["reason"], json!("storage"), "{told}");
    let gated = json!({"a": {"terminal": true, "gate": "Shall it?"}});
    let asking = machine(gated, ANY);
    assert_eq!(ends(&asking, &[], 6), "waiting");
    asking.saihai(["answer", "last", "no", "--no-resume"]).run().exits(0);
    assert_eq!(reason(&asking), "declined");
    assert_eq!(ends(&asking, &[], 6), "waiting");
    asking.saihai(["cancel", "last"]).run();
    assert_eq!(reason(&asking), "cancelled");
}

// S-26: only a reply can complete a run; a failed or empty reply does not count.
#[test]
fn nothing_is_a_success_to_which_nobody_replied() {
    let keyword = completes("keywordSignal", &json!({"completionKeyword": "DONE"}));
    let one = completes("iterationBudget", &json!({"maxIterations": 1}));
    let steps = json!({"a": {"next": "a"}});
    let failed = "  - {fail: {class: auth, message: 'DONE'}, times: '*'}\n";
    let empty = "  - {text: '', times: '*'}\n";
    for (completion, replies) in [(&keyword, failed), (&one, failed), (&keyword, empty), (&one, empty)] {
        let project = agent(completion, &json!({}), &steps, replies);
        run(&project, &[]).exits(4);
        assert_eq!(reason(&project), "provider_failed");
    }
}

// S-25, case 42: one process starts a run, and a run stops once. A waiting run is not stopped.
#[test]
fn a_run_is_started_once_and_stopped_once_and_then_only_forked() {
    let steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    let replies = "  - {text: 'done'}\n  - {hang: true}\n  - {text: 'done', times: \"*\"}\n";
    let project = agent(&completes("stepMachine", &json!({})), &json!({}), &steps, replies);
    let mut live = project.saihai(["run", "it", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    live.wait_for("\"asked\"");
    let again = project.saihai(["resume", "last"]).run().exits(2);
    let owned = format!("run `{}` is owned by process {}", project.runs()[0], live.pid());
    assert!(again.stderr.contains(&owned), "{again}");
    live.signal(Signal::INT);
    live.finish().exits(3);
    assert_eq!(returned(&project)["completionReason"], json!("cancelled"));
    let forked = project.saihai(["fork", "last"]).run().exits(0).stdout.trim().to_owned();
    project.saihai(["cancel", &forked]).run();
    let stopped = returned(&project);
    for _ in 0..2 {
        project.saihai(["cancel", &forked]).run();
        project.saihai(["resume", &forked]).run().exits(3);
        assert_eq!(returned(&project), stopped, "it stays as it is");
    }
    let parked = project.runs().into_iter().find(|run| *run != forked).expect("the first one");
    project.saihai(["resume", &parked]).run().exits(0);
    let asked = project.saihai(["show", &parked, "--json"]).run().exits(0).json();
    assert_eq!(asked[0]["loop"]["completionReason"], json!("Flow completed at b"), "what was parked went on");
}
