//! Gates in runs of hats.

use saihai_tests::Project;

use super::{RING, check, project, prompts, run};

/// Returns the author of each approval, in order.
fn approvals(project: &Project) -> Vec<String> {
    let journal = project.journal();
    let answers = journal.facts("answered").filter_map(|answer| answer["by"].as_str());
    answers.map(str::to_owned).collect()
}

// The tests of `work` show that a declined gate leaves no pull request.
#[test]
fn without_a_terminal_a_gate_parks_the_run_and_a_no_ends_it_as_declined() {
    let gated = format!("gates: [tests.passing]\n{RING}");
    let at_gate = || {
        let project = Project::new(crate::support::PROGRAM);
        project.write("orch.yml", &gated);
        project.write(
            "script.yaml",
            "script: 1\nreplies:\n  - {text: 'EVENT: tests.passing look', writes: [{path: made, content: x}]}\n  - {text: LOOP_COMPLETE}\n",
        );
        run(&project).exits(6);
        project
    };
    let approved = at_gate();
    assert_eq!(approved.saihai(["resume", "last"]).run().code, Some(6), "it waits until somebody answers");
    approved.saihai(["answer", "last", "yes", "but quickly", "--no-resume"]).run().exits(0);
    approved.saihai(["resume", "last"]).run().exits(0);
    let prompt = approved.journal().prompt("closer");
    assert!(prompt.contains("> look\n> but quickly\n"), "{prompt}");
    let declined = at_gate();
    declined.saihai(["answer", "last", "no", "--no-resume"]).run().exits(0);
    let outcome = declined.saihai(["resume", "last", "--json"]).run().exits(3);
    assert_eq!(outcome.result()["outcome"], "declined", "{outcome}");
    assert_eq!(declined.read("made"), "x", "files stay");
    assert_eq!(prompts(&declined).len(), 1, "nobody is asked any more");
}

const REPLIES: [&str; 2] = ["EVENT: tests.passing", "LOOP_COMPLETE"];

// Gates ask before the first turn, at completion, or before a topic. Aliases behave the same.
#[test]
fn every_gate_asks_where_its_name_says() {
    let waits = |gates: &str, expected: &str| {
        check(&format!("gates: [{gates}]\n{RING}"), &REPLIES, &format!("{expected}; parked: person; 6"));
    };
    for name in ["pre-loop", "pre_loop", "after_plan"] {
        waits(name, "gate/pre-loop");
    }
    for name in ["post-completion", "post_completion", "after_implementation"] {
        waits(name, "tester closer gate/post-completion");
    }
    waits("tests.passing", "tester gate/tests.passing");
    for name in ["before-pr", "before_pr"] {
        // `run` creates no pull request.
        let gates = format!("gates: [{name}]\n{RING}");
        check(&gates, &REPLIES, "tester closer; finished: completed complete; 0");
    }
    let planned = project("preset: spec-driven\ngates: [after_plan]\n", &["EVENT: plan.ready"]);
    run(&planned).exits(6);
    assert_eq!(planned.journal().path_taken(), ["planner", "gate/plan.ready"]);
    let checked = planned.saihai(["check", "orch"]).run().exits(0);
    assert!(checked.stdout.contains("`after_plan` means the gate `plan.ready`"), "{checked}");
    let wrong = project(&format!("gates: [nothing]\n{RING}"), &[]);
    assert!(run(&wrong).exits(2).stderr.contains("hats/unreachable-gate"));
}

// The tests of `work` cover the same rules for issues.
#[test]
fn auto_says_whether_gates_ask_that_nobody_listed() {
    check(RING, &REPLIES, "tester closer; finished: completed complete; 0");
    check(&format!("auto: false\n{RING}"), &REPLIES, "gate/pre-loop; parked: person; 6");
    let except = format!("auto: false\ngates: {{pre-loop: false}}\n{RING}");
    check(&except, &REPLIES, "tester closer gate/post-completion; parked: person; 6");
    let neither = format!("auto: false\ngates: {{pre-loop: false, post-completion: false}}\n{RING}");
    check(&neither, &REPLIES, "tester closer; finished: completed complete; 0");
    let all = project(&format!("auto: true\ngates: [tests.passing]\n{RING}"), &REPLIES);
    run(&all).exits(0);
    assert_eq!(approvals(&all), ["auto"; 3], "and each is recorded");
    let typed = project(&format!("auto: false\n{RING}"), &REPLIES);
    typed.saihai(["run", "orch", "T", "--script", "script.yaml", "--auto"]).run().exits(0);
    assert_eq!(approvals(&typed), ["auto"; 2]);
}

// HC-43; the tests of `work` cover the third approval, before a pull request.
#[test]
fn a_plain_file_never_waits_and_a_gate_waits_before_the_hat_behind_it() {
    let plain = project(RING, &REPLIES);
    run(&plain).exits(0);
    assert_eq!(approvals(&plain), Vec::<String>::new());
    let asks = project(&format!("auto: false\n{RING}"), &REPLIES);
    run(&asks).exits(6);
    assert_eq!(prompts(&asks), Vec::<String>::new(), "before any turn");
    let approves = project(&format!("auto: true\n{RING}"), &REPLIES);
    run(&approves).exits(0);
    assert_eq!(approvals(&approves), ["auto"; 2]);
    let second = r#"
preset: spec-driven
gates: { plan.ready: true, before-pr: true }
required_events: ["build.done"]
hats:
  default:
    name: "🧭 Triage"
    triggers: []
    publishes: ["plan.ready", "review.revise"]
    instructions: |
      An event arrived that nobody handles. Decide where the work stands and report
      EVENT: plan.ready or EVENT: review.revise with one sentence of reason.
"#;
    let planned = project(second, &["EVENT: plan.ready", "EVENT: build.done", "LOOP_COMPLETE"]);
    planned.saihai(["check", "orch", "--strict"]).run().exits(0);
    run(&planned).exits(6);
    assert_eq!(planned.journal().path_taken(), ["planner", "gate/plan.ready"]);
    planned.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
    planned.saihai(["resume", "last"]).run().exits(0);
    assert_eq!(planned.journal().path_taken(), ["planner", "gate/plan.ready", "builder", "reviewer"]);
}

// H-57: the gate before the first topic asks after the `pre-loop` gate.
#[test]
fn a_gate_before_the_first_topic_asks_too() {
    let gated = format!(
        "auto: false\ngates: {{task.start: true, post-completion: false}}\n{}",
        RING.replace("[\"code.written\"]", "[\"code.written\", \"task.start\"]")
    );
    let project = project(&gated, &REPLIES);
    run(&project).exits(6);
    for _ in 0..2 {
        assert_eq!(prompts(&project).len(), 0);
        project.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
        project.saihai(["resume", "last"]).run();
    }
    assert_eq!(project.journal().path_taken(), ["gate/pre-loop", "gate/task.start", "tester", "closer"]);
}

// H-47: the hat behind the gate learns the missing events of a refused completion.
#[test]
fn a_gate_swallows_no_reminder() {
    let gated = format!("gates: [tests.failing]\nrequired_events: [tests.passing]\n{RING}");
    let project = project(&gated, &["LOOP_COMPLETE\nEVENT: tests.failing", "EVENT: code.written"]);
    run(&project).exits(6);
    project.saihai(["answer", "last", "yes", "--no-resume"]).run().exits(0);
    project.saihai(["resume", "last"]).run();
    let prompt = project.journal().prompt("coder");
    assert!(
        prompt.contains("# Reminder\nThe task cannot be finished before tests.passing was published.\n"),
        "{prompt}"
    );
}

// I-43: an agent cannot answer for another run either.
#[test]
fn an_agent_cannot_say_yes_for_a_person() {
    let project = project(&format!("gates: [pre-loop]\n{RING}"), &REPLIES);
    run(&project).exits(6);
    let waiting = project.runs()[0].clone();
    let program = crate::support::PROGRAM;
    project.write(
        "script.yaml",
        format!(
            "script: 1\nreplies:\n  - {{text: LOOP_COMPLETE, runs: [{{argv: [sh, -c, '{program} answer {waiting} yes > said 2>&1; true']}}]}}\n"
        ),
    );
    project.saihai(["run", "hats:simple", "T", "--script", "script.yaml"]).run().exits(0);
    let said = project.read("said");
    assert!(said.contains("only a person can answer a gate, and this is the agent of `"), "{said}");
    let shown = project.saihai(["show", &waiting, "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["result"]["outcome"], "parked", "{shown:?}");
}
