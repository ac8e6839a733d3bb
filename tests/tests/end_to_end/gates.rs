//! Gates, and messages to a run from another process. P-46, P-47, K-4, K-21, K-22.

use insta::assert_snapshot;
use saihai_tests::{At, Fault, Moment, Project, Terminal, in_parallel, story};

use crate::support::{GATE, GATE_REPLIES, at_the_gate, project, run};

// P-46, K-2, K-4
#[test]
fn an_unattended_gate_parks_and_the_answer_reaches_the_next_prompt() {
    let project = at_the_gate();
    project.saihai(["resume", "last"]).run().exits(6);
    project.saihai(["answer", "last", "Blue.\nNot green.", "--no-resume"]).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
    let prompt = project.journal().prompt("use");
    assert!(prompt.contains("## Additional User Inputs\n- Blue.\n  Not green."), "{prompt}");
    assert_snapshot!(story(&project.journal()), @r"
    enter ask
    leave ask by tag rule 0 [need words] -> stage ask/input[0]
    enter ask/input[0]
    parked: person
    leave ask/input[0] by answer rule 0 [answered] -> stage use
    enter use
    leave use by tag rule 0 [done] -> complete
    finished: completed complete
    ");
}

// P-46, K-12
#[test]
fn an_answer_can_come_from_stdin_and_is_never_cut() {
    let project = at_the_gate();
    let refused =
        project.saihai(["answer", "last", "-", "--no-resume"]).input("x".repeat(10_001)).run().exits(2);
    assert!(refused.stderr.contains("10,000") || refused.stderr.contains("10000"), "{refused}");
    project.saihai(["answer", "last", "", "--no-resume"]).run().exits(2);
    project.saihai(["answer", "last", "-", "--no-resume"]).input("x".repeat(10_000)).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
}

// K-22
#[test]
fn a_gate_is_answered_once() {
    let project = at_the_gate();
    project.saihai(["answer", "last", "Blue.", "--no-resume"]).run().exits(0);
    let before = project.snapshot();
    project.saihai(["answer", "last", "Red.", "--no-resume"]).run().exits(2);
    assert_eq!(project.snapshot(), before);
}

const RUN: [&str; 5] = ["run", "it", "The task.", "--script", "script.yaml"];
const ANSWER: [&str; 4] = ["answer", "last", "Blue.", "--no-resume"];

/// Checks that a killed run accepts an answer, or that one message says to resume first. In both cases, the run ends.
fn can_be_answered(project: &Project) -> Result<(), String> {
    let mut answered = project.saihai(ANSWER).run();
    if answered.code != Some(0) {
        let names_resume = answered.stderr.contains("saihai resume");
        if answered.code != Some(2) || !names_resume || answered.stderr.contains("does not wait") {
            return Err(format!("{answered}"));
        }
        let resumed = project.saihai(["resume", "last"]).run();
        match resumed.code {
            // The killed process had recorded the answer.
            Some(0) => answered = resumed,
            Some(6) => answered = project.saihai(ANSWER).run(),
            _ => return Err(format!("{resumed}")),
        }
    }
    let ended = project.saihai(["resume", "last"]).run();
    let answers = project.journal().facts("answered").count();
    if (answered.code, ended.code, answers) != (Some(0), Some(0), 1) {
        return Err(format!("{answers} answers\n{answered}\n{ended}"));
    }
    Ok(())
}

/// Kills a call at each of its disk operations, and checks that the run still accepts an answer.
fn killed_at_every_operation(place: impl Fn() -> Project + Sync, call: &[&str], code: i32) {
    let project = place();
    let log = project.home().join("operations.log");
    project.saihai(call).fault(&Fault::note(&log)).run().exits(code);
    let points: Vec<(At, Moment)> = At::noted(&log)
        .into_iter()
        .flat_map(|at| at.moments().iter().map(move |moment| (at.clone(), *moment)).collect::<Vec<_>>())
        .collect();
    assert!(points.iter().any(|(at, _)| at.path.ends_with("journal.ndjson")), "{points:?}");
    in_parallel(&points, |(at, moment)| {
        let project = place();
        let killed = project.saihai(call).fault(&Fault::kill(*moment, at.number)).run();
        if killed.signal != Some(9) {
            return Err(format!("{at:?} {moment:?}: was not killed: {killed}"));
        }
        if project.begun().is_empty() {
            return Ok(());
        }
        can_be_answered(&project).map_err(|what| format!("{at:?} {moment:?}: {what}"))
    });
}

// K-22
#[test]
fn a_run_that_is_killed_on_its_way_to_a_gate_can_be_answered() {
    killed_at_every_operation(|| project(GATE, GATE_REPLIES), &RUN, 6);
}

// K-22
#[test]
fn an_answer_that_is_killed_can_be_given_again() {
    killed_at_every_operation(at_the_gate, &ANSWER, 0);
}

// K-22: the driving process records the message and dies before it removes the file
#[test]
fn an_answer_counts_if_the_process_that_took_it_is_killed() {
    let project = project(GATE, GATE_REPLIES);
    let fault = Fault::kill_at(Moment::After, r#""fact":{"answered""#);
    let mut terminal = Terminal::start(project.saihai(RUN).fault(&fault));
    terminal.wait_for("your answer in one line");
    let answered = project.saihai(ANSWER).run().exits(0);
    assert!(answered.stderr.contains("continue with `saihai resume"), "{answered}");
    let (code, text) = terminal.finish();
    assert_eq!(code, None, "{text}");
    project.saihai(["resume", "last"]).run().exits(0);
    assert_eq!(project.journal().facts("answered").count(), 1);
}

// K-21, K-22
#[test]
fn a_cancelled_run_stays_cancelled() {
    let project = at_the_gate();
    project.saihai(["cancel", "last"]).run().exits(0);
    let before = project.snapshot();
    project.saihai(["resume", "last"]).run().exits(3);
    project.saihai(["cancel", "last"]).run().exits(2);
    assert_eq!(project.snapshot(), before);
    let listed = project.saihai(["runs", "--json"]).run().exits(0);
    assert_eq!(listed.json()[0]["state"], "cancelled", "{listed}");
}

// P-47
#[test]
fn rules_for_people_are_not_offered_without_one_and_numbers_do_not_shift() {
    let definition = "
name: it
movements:
  - name: work
    rules:
      - {condition: ask, next: work, requires_user_input: true, interactive_only: true}
      - {condition: done, next: COMPLETE}
";
    let replies = "  - {for: work, text: \"[STEP:1]\\n[STEP:0]\"}\n";
    let project = project(definition, replies);
    run(&project).exits(0);
    let prompt = &project.journal().prompts()[0].1;
    assert!(prompt.contains("[STEP:1] = done") && !prompt.contains("[STEP:0]"), "{prompt}");
}
