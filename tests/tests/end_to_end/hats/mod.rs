//! Hats as a person runs them: `orch.yml` in, a journal and an exit code out.

mod failing;

use saihai_tests::{Outcome, Project, story};

use serde_json::Value;

use crate::support::PROGRAM;

const RING: &str = r#"
max_iterations: 30
hats:
  tester:
    name: "🧪 Tester"
    triggers: ["task.start", "code.written"]
    publishes: ["tests.failing", "tests.passing"]
    instructions: |
      Write a failing test first, and report.
      EVENT: tests.failing or EVENT: tests.passing
      Nothing else.
  coder:
    name: "🔨 Coder"
    triggers: ["tests.failing"]
    publishes: ["code.written"]
    instructions: "Make it pass, then EVENT: code.written"
  closer:
    name: "🧹 Closer"
    triggers: ["tests.passing"]
    publishes: ["code.written", "LOOP_COMPLETE"]
    instructions: "Tidy up with EVENT: code.written, or end with LOOP_COMPLETE"
"#;

fn project(hats: &str, replies: &[&str]) -> Project {
    let project = Project::new(PROGRAM);
    project.write("orch.yml", hats);
    let replies: String = replies.iter().map(|reply| format!("  - {{text: {reply:?}}}\n")).collect();
    project.write("script.yaml", format!("script: 1\nstrict: false\nreplies:\n{replies}"));
    project
}

fn run(project: &Project) -> Outcome {
    project.saihai(["run", "orch", "The task.", "--script", "script.yaml"]).run()
}

/// The way of a run on these replies: every stage entered, then the exit code.
#[track_caller]
fn check(hats: &str, replies: &[&str], expected: &str) {
    let project = project(hats, replies);
    let outcome = run(&project);
    let code = outcome.code.expect("an exit code");
    let story = story(&project.journal());
    let entered = story.lines().filter_map(|line| line.strip_prefix("enter "));
    let last = story.lines().last().unwrap_or_default().to_owned();
    let way = entered.collect::<Vec<_>>().join(" ");
    assert_eq!(format!("{way}; {last}; {code}"), expected, "{story}\n{outcome}");
}

// H-24, H-25, H-41, HC-16
#[test]
fn hats_are_switched_by_the_last_event_until_the_closing_word() {
    check(
        RING,
        &[
            "EVENT: tests.passing\nEVENT: tests.failing",
            "EVENT: code.written",
            "EVENT: tests.passing",
            "LOOP_COMPLETE",
        ],
        "tester coder tester closer; finished: completed complete; 0",
    );
}

// H-29, HC-2, HC-3
#[test]
fn a_topic_that_nobody_takes_goes_to_the_default_hat_or_to_no_hat() {
    let replies = ["EVENT: deploy.now", "LOOP_COMPLETE"];
    check(RING, &replies, "tester (base); finished: completed complete; 0");
    let project = project(RING, &replies);
    let outcome = run(&project).exits(0);
    let told =
        "nobody takes `deploy.now`; taken are `task.start`, `code.written`, `tests.failing`, `tests.passing`";
    assert!(outcome.stderr.contains(told), "{outcome}");
    assert!(!project.journal().prompt("(base)").contains("# Hat:"));
    let default = "  default: {name: D, triggers: [], publishes: [code.written], instructions: x}\n";
    check(&format!("{RING}{default}"), &replies, "tester default; finished: completed complete; 0");
}

// H-48, H-49, HC-21, HC-22
#[test]
fn silence_is_reminded_of_and_then_stalls() {
    check(RING, &["ok", "ok", "ok"], "tester; parked: limit stalled; 5");
    check(
        RING,
        &["ok", "EVENT: tests.failing", "ok", "EVENT: code.written", "EVENT: tests.passing", "LOOP_COMPLETE"],
        "tester coder tester closer; finished: completed complete; 0",
    );
    let project =
        project(RING, &["```\nEVENT: tests.failing\n```\nok", "EVENT: tests.failing", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    let reminded = project.journal().prompt("tester");
    assert!(reminded.contains("# Reminder\nThe previous turn of this role reported no result. What it reported stood in a code block and does not count. The topics of this role are: tests.failing, tests.passing. Check what is already done, finish the rest, then report. It ended with:\n\n> ```\n> EVENT: tests.failing\n> ```\n> ok\n"), "{reminded}");
    assert!(reminded.contains("# Event\ntask.start\n"), "the event is kept: {reminded}");
}

// H-49, HC-23
#[test]
fn a_loop_without_hats_goes_on_until_its_limit() {
    check("max_iterations: 5\n", &["working"; 5], "(base); parked: limit max_iterations; 5");
}

// H-46, H-53, HC-30
#[test]
fn the_last_iteration_may_complete() {
    let one = RING.replace("max_iterations: 30", "max_iterations: 1");
    check(&one, &["LOOP_COMPLETE"], "tester; finished: completed complete; 0");
    check(&one, &["EVENT: tests.failing"], "tester coder; parked: limit max_iterations; 5");
}

// H-43, H-44, H-45, HC-24, HC-25, HC-26, HC-27, HC-28
#[test]
fn the_closing_word_ends_the_run_and_only_as_a_directive() {
    for reply in [
        "**LOOP_COMPLETE**",
        "✅ LOOP_COMPLETE!",
        "- EVENT: LOOP_COMPLETE all done",
        "実装しました。LOOP_COMPLETE",
        "LOOP_COMPLETE\nEVENT: tests.failing",
    ] {
        check(RING, &[reply], "tester; finished: completed complete; 0");
    }
    for reply in [
        "do not print LOOP_COMPLETE yet",
        "❌ LOOP_COMPLETE",
        "loop_complete",
        "```\nLOOP_COMPLETE\n```",
        "> LOOP_COMPLETE",
    ] {
        check(RING, &[reply, "LOOP_COMPLETE"], "tester; finished: completed complete; 0");
    }
    let other = format!("completion_keyword: DONE\n{}", RING.replace("LOOP_COMPLETE", "DONE"));
    check(&other, &["LOOP_COMPLETE", "DONE"], "tester; finished: completed complete; 0");
}

// H-47, HC-29
#[test]
fn completion_waits_for_the_required_events() {
    let hats = format!("required_events: [tests.passing]\n{RING}");
    let project = project(
        &hats,
        &["LOOP_COMPLETE\nEVENT: tests.failing", "LOOP_COMPLETE", "EVENT: tests.passing", "LOOP_COMPLETE"],
    );
    run(&project).exits(0);
    let told = "The task cannot be finished before tests.passing was published.";
    assert!(project.journal().prompt("coder").contains(told), "{}", project.journal().prompt("coder"));
    check(
        &hats,
        &["LOOP_COMPLETE", "EVENT: tests.passing\nLOOP_COMPLETE"],
        "tester; finished: completed complete; 0",
    );
}

// H-42, H-50, HC-11
#[test]
fn an_undeclared_topic_routes_unless_scopes_are_enforced() {
    check(
        RING,
        &["EVENT: code.written one", "LOOP_COMPLETE"],
        "tester tester; finished: completed complete; 0",
    );
    let strict = format!("enforce_hat_scope: true\n{RING}");
    check(&strict, &["EVENT: code.written", "LOOP_COMPLETE"], "tester; finished: completed complete; 0");
}

// H-28, H-51, H-52, HC-8, HC-9, HC-36
#[test]
fn repetition_is_legal_and_bounded() {
    let own =
        "hats:\n  tester: {name: T, triggers: [task.start, again], publishes: [again], instructions: x}\n";
    check(own, &["EVENT: again"; 4], "tester tester tester tester; parked: limit stale; 5");
    check(
        own,
        &["EVENT: again 1", "EVENT: again 2", "EVENT: again 3", "LOOP_COMPLETE"],
        "tester tester tester tester; finished: completed complete; 0",
    );
    let bounded = format!("max_activations: 2\n{own}");
    check(
        &bounded,
        &["EVENT: again 1", "EVENT: again 2"],
        "tester tester tester; parked: limit exhausted; 5",
    );
    let rescued = format!(
        "{bounded}  rescue: {{name: R, triggers: [tester.exhausted], publishes: [LOOP_COMPLETE], instructions: x}}\n"
    );
    check(
        &rescued,
        &["EVENT: again 1", "EVENT: again 2", "LOOP_COMPLETE"],
        "tester tester rescue; finished: completed complete; 0",
    );
}

// H-40, HC-19
#[test]
fn the_message_of_an_event_reaches_the_next_prompt() {
    let project = project(RING, &["EVENT: tests.failing {\"file\":\"a.rs\"}", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    let prompt = project.journal().prompt("coder");
    assert!(prompt.contains("# Event\ntests.failing\nFrom: tester\n\n> {\"file\":\"a.rs\"}\n"), "{prompt}");
}

// H-32, HC-18
#[test]
fn an_agent_that_prints_its_whole_prompt_directs_nothing() {
    for hats in [
        RING,
        "preset: simple\nmax_iterations: 2\n",
        "preset: tdd\n",
        "preset: spec-driven\n",
        "preset: tdd\nlanguage: ja\n",
        "preset: spec-driven\nlanguage: ja\n",
    ] {
        let first = project(hats, &[]);
        let prompt = first.saihai(["prompt", "orch", "--task", "The task."]).run().exits(0).stdout;
        let project = project(hats, &[&prompt, &prompt, &prompt]);
        let outcome = run(&project).exits(5);
        let story = story(&project.journal());
        assert_eq!(story.matches("enter ").count(), 1, "{story}\n{outcome}");
    }
}

// H-59, HC-43; the gate before a pull request is not built.
#[test]
fn a_gate_waits_for_a_person_and_a_no_declines() {
    let replies = ["EVENT: tests.passing look", "LOOP_COMPLETE"];
    let gated = format!("gates: [tests.passing]\n{RING}");
    let at_gate = || {
        let project = project(&gated, &replies);
        run(&project).exits(6);
        project
    };
    let approved = at_gate();
    approved.saihai(["answer", "last", "yes", "but quickly"]).run().exits(0);
    approved.saihai(["resume", "last"]).run().exits(0);
    let prompt = approved.journal().prompt("closer");
    assert!(prompt.contains("> look\n> but quickly\n"), "{prompt}");
    let declined = at_gate();
    declined.saihai(["answer", "last", "no"]).run().exits(0);
    declined.saihai(["resume", "last"]).run().exits(3);
    check(&format!("auto: false\n{RING}"), &replies, "gate/pre-loop; parked: person; 6");
    check(
        &format!("auto: true\n{RING}"),
        &replies,
        "gate/pre-loop tester closer gate/post-completion; finished: completed complete; 0",
    );
}

// H-6, H-17, HC-31, HC-45
#[test]
fn what_is_wrong_is_said_before_there_is_a_run() {
    let project = project(&RING.replace("max_iterations: 30", "max_iterations: 0"), &[]);
    run(&project).exits(2);
    project.saihai(["run", "nowhere.yml", "x"]).run().exits(2);
    assert!(!project.root().join(".saihai/runs").exists());
    let sound = Project::new(PROGRAM);
    sound.write("orch.yml", RING);
    for count in ["0", "-1", "1.5", "abc"] {
        sound.saihai(["run", "orch", "x", "--max-iterations", count]).run().exits(2);
    }
    assert!(!sound.root().join(".saihai/runs").exists());
}

// H-67, HC-44
#[test]
fn a_chain_of_default_topics_stalls_all_the_same() {
    let hats = "event_loop: {}\nhats:\n  a: {name: A, triggers: [task.start, b.done], publishes: [a.done], default_publishes: a.done}\n  b: {name: B, triggers: [a.done], publishes: [b.done, LOOP_COMPLETE], default_publishes: b.done}\n";
    check(hats, &["hm"; 5], "a b; parked: limit stalled; 5");
}

// H-66: the task of a collection, and a word that cancels
#[test]
fn a_collection_brings_its_task_and_can_be_cancelled_by_the_agent() {
    let project = Project::new(PROGRAM);
    project.write("ralph.yml", "event_loop: {prompt: Sort the list., cancellation_promise: STOP}\nhats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n");
    project.write("script.yaml", "script: 1\nreplies: [{text: STOP}]\n");
    project.saihai(["run", "ralph.yml", "--script", "script.yaml"]).run().exits(3);
    assert!(project.journal().prompt("a").contains("# Task\nSort the list.\n"));
}

// H-60
#[test]
fn the_log_lists_every_event_for_programs() {
    let project = project(RING, &["EVENT: tests.failing two red", "EVENT: code.written", "LOOP_COMPLETE"]);
    run(&project).exits(0);
    let log = project.saihai(["log", "last", "--json"]).run().exits(0).stdout;
    let published = log.lines().map(|line| serde_json::from_str::<Value>(line).expect("an object"));
    let published = published.filter(|object| object["type"] == "published").map(|object| {
        let word = |key: &str| object[key].as_str().unwrap_or("-").to_owned();
        assert!(object["seq"].is_u64() && object["time"].is_string(), "{object}");
        ["source", "topic", "message", "fate", "to", "trigger"].map(word).join(" ")
    });
    insta::assert_snapshot!(published.collect::<Vec<_>>().join("\n"), @"
    start task.start - taken tester task.start
    tester tests.failing two red taken coder tests.failing
    coder code.written - taken tester code.written
    ");
    let explained = project.saihai(["explain", "last"]).run().exits(0).stdout;
    assert!(explained.contains("published `tests.failing` on line 1 of the reply: two red"), "{explained}");
    assert!(explained.contains("closing word `LOOP_COMPLETE` in the reply"), "{explained}");
}

// H-29: a gate on its way does not make somebody take it.
#[test]
fn a_gated_topic_that_nobody_takes_is_orphaned_all_the_same() {
    let hats =
        "gates: [gone]\nhats:\n  a: {name: A, triggers: [task.start], publishes: [gone], instructions: x}\n";
    let project = project(hats, &["EVENT: gone", "LOOP_COMPLETE"]);
    run(&project).exits(6);
    project.saihai(["answer", "last", "yes"]).run().exits(0);
    let outcome = project.saihai(["resume", "last"]).run().exits(0);
    let log = project.saihai(["log", "last"]).run().exits(0).stdout;
    assert!(log.contains("nobody takes `gone`"), "{log}");
    assert_eq!(project.journal().path_taken(), ["a", "gate/gone", "(base)"], "{outcome}");
}

// H-30: as it is entered, not as a run begins.
#[test]
fn the_prompt_of_a_hat_is_shown_with_an_event_of_its_own() {
    let project = project(RING, &[]);
    let shown = |hat: &str| project.saihai(["prompt", "orch", hat, "--task", "T"]).run().exits(0).stdout;
    assert!(shown("tester").contains("# Event\ntask.start\n"), "{}", shown("tester"));
    assert!(shown("coder").contains("# Event\ntests.failing\n"), "{}", shown("coder"));
}

// H-8
#[test]
fn a_preset_is_ejected_once() {
    let project = Project::new(PROGRAM);
    project.saihai(["eject", "hats:tdd"]).run().exits(0);
    project.saihai(["eject", "hats:tdd"]).run().exits(2);
    project.saihai(["check", "orch", "--strict"]).run().exits(0);
    project.saihai(["rehearse", "orch"]).run().exits(0);
}
