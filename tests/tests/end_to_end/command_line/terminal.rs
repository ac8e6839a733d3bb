//! Terminals: redrawn lines, prompts at gates, and Ctrl-C.

use rustix::process::Signal;
use saihai_tests::{Project, Terminal, screen};

use super::support::{ASK, ONE, REVIEWED, normal, project};

const ASKING: &str = "  - {for: plan, visit: 1, text: \"Left or right?\\n[STEP:1]\"}
  - {for: plan, visit: 2, prompt: to the left, text: \"left\\n[STEP:0]\"}";

fn start(project: &Project, more: &[&str]) -> Terminal {
    let arguments = ["run", "it", "The task.", "--script", "script.yaml"];
    let invocation =
        project.saihai(arguments.iter().chain(more)).without_env("NO_COLOR").env("TERM", "xterm");
    Terminal::start(invocation)
}

// K-4, P-46
#[test]
fn a_person_at_the_terminal_is_asked() {
    let project = project(ASK, ASKING);
    let mut terminal = start(&project, &[]);
    terminal.wait_for("your answer in one line");
    terminal.press("\n");
    terminal.wait_for("at least one character");
    terminal.press("to the left\n");
    let (code, text) = terminal.finish();
    insta::assert_snapshot!(normal(&project, &screen(&text).join("\n")), @r#"
    run RUN
    started it (piece): The task.
    iteration 1 of 10: plan
      plan replied in SOME TIME
      plan → plan/input[1]: "needs a decision" — Left or right?
    ? plan - ask
      Movement `plan` needs your input: needs a decision
      
      Left or right?
      your answer in one line (Ctrl-D keeps it open): warning: an answer needs at least one character
      your answer in one line (Ctrl-D keeps it open):   plan/input[1] answered by a person: to the left
      plan/input[1] → plan — to the left
    iteration 2 of 10: plan
      plan replied in SOME TIME
      plan → completed: "done" — left
    completed at plan: "done" — left
    run RUN: SOME TIME, 2 iterations, 2 turns

    left
    note: next: `saihai explain` gives the reasons, `saihai show` the figures
    "#);
    assert_eq!(code, Some(0));
}

// The person has not seen the question yet.
#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let project = project(ASK, ASKING);
    let mut terminal = start(&project, &[]);
    terminal.press("too early\n\u{4}half a line");
    terminal.wait_for("your answer in one line");
    terminal.press("to the left\n");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("answered by a person: to the left"), "{text}");
}

// K-4: closing the prompt is not an answer
#[test]
fn a_person_may_leave_a_gate_open() {
    let project = project(ASK, ASKING);
    let mut terminal = start(&project, &[]);
    terminal.wait_for("your answer in one line");
    terminal.press("\u{4}");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(6), "{text}");
    project.saihai(["answer", "last", "to the left", "--no-resume"]).run().exits(0);
    project.saihai(["resume", "last"]).run().exits(0);
}

// K-4, K-22: a stop signal is not an answer either
#[test]
fn a_person_may_stop_at_a_question_and_answer_later() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let project = project(ASK, ASKING);
        let mut terminal = start(&project, &[]);
        terminal.wait_for("your answer in one line");
        terminal.press("half a line");
        terminal.signal(signal);
        let (code, text) = terminal.finish();
        assert_eq!(code, (signal != Signal::KILL).then_some(6), "{text}");
        if signal == Signal::INT {
            let below = screen(&text).into_iter().skip_while(|line| !line.contains("your answer")).skip(1);
            insta::assert_snapshot!(normal(&project, &below.collect::<Vec<_>>().join("\n")), @r#"
            stopping… press Ctrl-C again to quit immediately
            waiting for you at `plan/input[1]`
            last: plan → plan/input[1]: "needs a decision" — Left or right?
            run RUN: SOME TIME, 1 iteration, 1 turn

            Left or right?
            note: answer with `saihai answer last TEXT`
            "#);
        }
        let listed = project.saihai(["runs", "--json"]).run().exits(0);
        assert_eq!(listed.json()[0]["reason"], "person", "{listed}");
        project.saihai(["answer", "last", "to the left", "--no-resume"]).run().exits(0);
        project.saihai(["resume", "last"]).run().exits(0);
    }
}

// K-4: without a terminal there is no prompt
#[test]
fn nobody_is_asked_where_json_is_wanted() {
    let (code, text) = start(&project(ASK, ASKING), &["--json"]).finish();
    assert_eq!(code, Some(6), "{text}");
    assert!(!text.contains("your answer"), "{text}");
}

// K-4, K-22: an answer from another process reaches the waiting process
#[test]
fn a_gate_shown_here_can_be_answered_from_elsewhere() {
    let project = project(ASK, ASKING);
    let mut terminal = start(&project, &[]);
    terminal.wait_for("your answer in one line");
    // U-4: the process lives, but the person is the one who has to act.
    let listed = project.saihai(["runs"]).run().exits(0);
    assert!(listed.stdout.ends_with("  waiting for you at `plan/input[1]`\n"), "{listed}");
    let shown = project.saihai(["show", "last"]).run().exits(0);
    assert!(shown.stderr.ends_with(" TEXT`\n") && !shown.stderr.contains("resume"), "{shown}");
    let outcome = project.saihai(["answer", "last", "to the left", "--no-resume"]).run().exits(0);
    assert!(outcome.stderr.contains("the process that drives the run continues with it"), "{outcome}");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(0), "{text}");
}

// K-1: each turn has one line, redrawn in place
#[test]
fn turns_under_way_are_redrawn_in_place_and_leave_nothing_behind() {
    let replies = "  - {for: plan, text: \"x\\n```markdown\\n# 計画\\n```\\n[STEP:0]\"}
  - {for: verify/tests, delay: 1, usage: {input: 10, output: 5}, text: '[STEP:0]'}
  - {for: verify/レビュー, delay: 2, text: '[STEP:0]'}";
    let project = project(REVIEWED, replies);
    let mut terminal = start(&project, &[]);
    terminal.wait_for("verify/レビュー");
    let drawn = screen(&terminal.text());
    let frame: Vec<&str> =
        drawn.iter().map(|line| line.trim_start_matches(|c| ('⠀'..='⣿').contains(&c))).collect();
    assert!(frame.iter().any(|line| line.starts_with("iteration 2 of 12  0:0")), "{drawn:#?}");
    assert!(frame.iter().any(|line| line.starts_with(" verify/tests     0:00")), "{drawn:#?}");
    let (code, text) = terminal.finish();
    insta::assert_snapshot!(normal(&project, &screen(&text).join("\n")), @r#"
    run RUN
    started it (piece): The task.
    iteration 1 of 12: plan
      plan replied in SOME TIME
      saved report `01-plan.md`
      plan → verify: "計画ができた" — x
    iteration 2 of 12: verify
      verify/tests replied in SOME TIME, 15 tokens
      verify/レビュー replied in SOME TIME
      verify → completed:
        tests: "合格"
        レビュー: "合格"
    completed at verify:
      tests: "合格"
      レビュー: "合格"
    run RUN: SOME TIME, 2 iterations, 3 turns, 15 tokens
    report .takt/reports/RUN/01-plan.md

    ## tests

    ---

    ## レビュー
    note: next: `saihai explain` gives the reasons, `saihai show` the figures
    "#);
    assert_eq!(code, Some(0));
}

// K-1
#[test]
fn no_color_means_no_colour_and_no_redrawing() {
    let project = project(ONE, "  - {for: plan, delay: 1, text: '[STEP:0]'}");
    let arguments = ["run", "it", "The task.", "--script", "script.yaml"];
    for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let invocation = project.saihai(arguments).without_env("NO_COLOR").env(name, value);
        let (code, text) = Terminal::start(invocation).finish();
        assert_eq!(code, Some(0), "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
    // Otherwise, the output has colours.
    assert!(start(&project, &[]).finish().1.contains("\u{1b}[1m"));
}

// K-case 3, T-72
#[test]
fn ctrl_c_parks_and_says_how_to_go_on() {
    let project = project(ONE, "  - {for: plan, hang: true}\n  - {for: plan, text: '[STEP:0]'}");
    let mut live = project.saihai(["run", "it", "x", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    live.signal(Signal::INT);
    let outcome = live.finish().exits(3);
    assert_eq!(outcome.result()["reason"], "interrupt");
    assert!(outcome.stderr.contains("note: continue with `saihai resume "), "{outcome}");
    project.saihai(["resume", "last"]).run().exits(0);
}

// K-22, K-4: `resume` asks again at an open gate
#[test]
fn a_person_who_resumes_at_a_terminal_is_asked() {
    let project = project(ASK, ASKING);
    project.saihai(["run", "it", "The task.", "--script", "script.yaml"]).run().exits(6);
    let mut terminal = Terminal::start(project.saihai(["resume", "last"]));
    terminal.wait_for("your answer in one line");
    terminal.press("to the left\n");
    let (code, text) = terminal.finish();
    assert_eq!(code, Some(0), "{text}");
}

// H-60
#[test]
fn a_log_that_is_followed_ends_with_its_run() {
    let project = project(
        ONE,
        "  - {for: plan, delay: 1, text: '[STEP:1]'}\n  - {for: plan, delay: 1, text: '[STEP:0]'}",
    );
    let mut live = project.saihai(["run", "it", "x", "--script", "script.yaml", "--json"]).start();
    live.wait_for("\"asked\"");
    let followed = project.saihai(["log", "last", "-f", "--json"]).run().exits(0);
    let driven = live.finish().exits(0);
    let events: Vec<_> = driven.json().into_iter().filter(|object| object["type"] == "event").collect();
    assert_eq!(followed.json(), events);
}

// C-28: another terminal can watch the text of a running turn, and no file remains afterwards. (Saihai holds
// back a last letter that might start a secret.)
#[test]
fn a_log_that_is_followed_shows_what_a_turn_says_while_it_runs() {
    let project = project(ONE, "");
    let said = r#"[{"content": "[STEP:0]", "text_chunks": ["look", "ing at\u001b[2J it\nnow the tests:"], "wait_for_abort": true}]"#;
    project.write("mock.json", said);
    let mut live = project.saihai(["run", "it", "x", "--script", "mock.json", "--json"]).start();
    live.wait_for("\"asked\"");
    let mut read = project.saihai(["log", "last", "-f", "--json"]).start();
    let shown: serde_json::Value = serde_json::from_str(&read.wait_for("\"progress\"")).expect("JSON");
    assert_eq!((&shown["call"]["stage"], &shown["text"]), (&"plan".into(), &"look".into()));
    let mut followed = project.saihai(["log", "last", "-f"]).start();
    let line = followed.wait_for("looking at");
    assert_eq!(line.trim(), r"plan | looking at\x1b[2J it");
    let live_files = project.run_directory().join("live");
    assert!(live_files.is_dir());
    live.signal(Signal::INT);
    live.finish().exits(3);
    let progress = read.finish().exits(0).json().into_iter().filter(|object| object["type"] == "progress");
    let said: Vec<_> = progress.filter_map(|object| Some(object["text"].as_str()?.to_owned())).collect();
    assert_eq!(said.concat(), "looking at\u{1b}[2J it\nnow the tests:");
    let followed = followed.finish().exits(0);
    assert!(
        followed.stdout.contains("plan | now the tests:\n"),
        "a line that never ended is shown too: {followed}"
    );
    assert!(!live_files.exists());
    let journal = project.read(&format!(".saihai/runs/{}/journal.ndjson", project.runs()[0]));
    assert!(!journal.contains("looking"), "it is never journaled");
}

// T-85: only Saihai's own styling reaches a terminal, even if agents and files contain escape sequences
#[test]
fn nothing_that_others_wrote_steers_a_real_terminal() {
    let replies = "  - {for: plan, text: \"\\e]0;title\\a \\e[2J\\e[31mred \\x9b1m\\n[STEP:0]\"}";
    let definition = ONE.replace("- name: plan", "- name: plan\n    agent: ../agents/loud.md");
    let project = project(&definition, replies);
    project.write(".takt/agents/loud.md", "You are \u{1b}[31mloud\u{1b}[0m.\n");
    let commands: [&[&str]; 6] = [
        &["run", "it", "a \u{1b}]52;c;x\u{7} task", "--script", "script.yaml"],
        &["runs"],
        &["show", "last"],
        &["log", "last"],
        &["explain", "last"],
        &["prompt", "it"],
    ];
    for arguments in commands {
        let invocation = project.saihai(arguments).without_env("NO_COLOR").env("TERM", "xterm");
        let (code, text) = Terminal::start(invocation).finish();
        assert_eq!(code, Some(0), "{text}");
        // `screen` rejects all sequences except Saihai's own.
        let shown = screen(&text).join("\n");
        assert!(!shown.chars().any(|c| c.is_control() && c != '\n'), "{arguments:?}: {shown:?}");
    }
}
