//! Output: data on stdout, JSON with version and type, and no foreign control characters. K-1, K-3.

use saihai_tests::Project;

use crate::support::{PROGRAM, project, run};

const DEFINITION: &str = "
name: it
movements:
  - name: work
    report: {name: notes.md}
    rules: [{condition: done, next: COMPLETE}, {condition: asked, next: work, requires_user_input: true}]
";

const REPLIES: &str =
    "  - {text: \"```markdown\\nnotes\\n```\\n[STEP:0]\", usage: {input: 900, output: 120}, cost: 0.02}\n";

/// Every command that reports about a run.
const ABOUT: [&[&str]; 5] =
    [&["runs"], &["show", "last"], &["log", "last"], &["explain", "last"], &["resume", "last"]];

// K-3
#[test]
fn every_json_object_says_its_version_and_type() {
    let project = project(DEFINITION, REPLIES);
    let outcome = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).run().exits(0);
    let mut outcomes = vec![outcome];
    for command in ABOUT {
        outcomes.push(project.saihai(command.iter().chain(&["--json"])).run().exits(0));
    }
    for outcome in outcomes {
        let objects = outcome.json();
        assert!(!objects.is_empty(), "{outcome}");
        for object in objects {
            assert_eq!(object["v"], 1, "{object}");
            assert!(object["type"].is_string(), "{object}");
        }
    }
}

// K-20
#[test]
fn the_events_of_a_run_are_its_journal_and_the_result_comes_last() {
    let project = project(DEFINITION, REPLIES);
    let outcome = project.saihai(["run", "it", "T", "--script", "script.yaml", "--json"]).run().exits(0);
    let objects = outcome.json();
    let (result, events) = objects.split_last().expect("objects");
    let run = project.runs().concat();
    assert_eq!(events.len(), project.journal().lines.len());
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(
            (&event["type"], &event["run"], &event["seq"]),
            (&"event".into(), &run.as_str().into(), &seq.into())
        );
    }
    assert_eq!(result["type"], "result");
    assert_eq!(result["run"], run.as_str());
    assert_eq!(result["outcome"], "completed");
    assert_eq!(result["exit"], 0);
    assert_eq!(result["iterations"], 1);
    assert_eq!(result["turns"], 1);
    assert_eq!(result["dialect"], "piece");
    assert_eq!(result["rehearsal"], false);
    assert_eq!(result["cost_usd"], 0.02);
}

// K-1, P-45
#[test]
fn stdout_is_the_result_and_progress_is_on_stderr() {
    let outcome = run(&project(DEFINITION, REPLIES)).exits(0);
    assert!(outcome.stdout.contains("notes.md"), "{outcome}");
    assert!(!outcome.stdout.contains('\u{1b}') && !outcome.stderr.contains('\u{1b}'), "{outcome}");
    assert!(!outcome.stderr.is_empty(), "{outcome}");
}

#[test]
fn t85_control_characters_of_others_reach_no_output() {
    // CSI, OSC 0, 8 and 52, DCS, a C1 byte, backspace, a bidirectional override and a CI command.
    let hostile = "\u{1b}[31mred\u{1b}]0;title\u{7}\u{1b}]8;;http://x\u{7}link\u{1b}]52;c;eA==\u{7}\u{1b}Pq\u{1b}\\\u{9b}2J\u{8}\u{202e}\n::add-mask::x";
    let text = format!("{hostile}\n```markdown\n{hostile}\n```\n[STEP:0]");
    // YAML accepts these characters only as escapes.
    let escaped: String = text.chars().map(|letter| format!("\\u{:04x}", u32::from(letter))).collect();
    let project = project(DEFINITION, &format!("  - {{text: \"{escaped}\"}}\n"));
    let task = format!("Task {hostile}");
    let outcome = project.saihai(["run", "it", &task, "--script", "script.yaml"]).run().exits(0);
    let mut outcomes = vec![outcome];
    for command in ABOUT {
        outcomes.push(project.saihai(command).run().exits(0));
    }
    outcomes.push(project.saihai(["run", "it\u{1b}[31m", "T"]).run().exits(2));
    project.write("bad.yaml", format!("name: \"{}\"\nwrong\u{9b}: 1\n", "\u{202e}"));
    outcomes.push(project.saihai(["check", "./bad.yaml"]).run().exits(2));
    for outcome in outcomes {
        let seen = outcome.stdout.clone() + &outcome.stderr;
        let hidden =
            |letter: char| letter.is_control() && letter != '\n' && letter != '\t' || letter == '\u{202e}';
        assert!(!seen.contains(hidden), "{:?}", outcome.to_string());
    }
}

// K-40, K-43
#[test]
fn diagnostics_are_the_same_for_people_and_programs() {
    let project = Project::new(PROGRAM);
    project.write("bad.yaml", "name: it\nmovements:\n  - name: a\n    ruels: []\n");
    let human = project.saihai(["check", "./bad.yaml"]).run().exits(2);
    let json = project.saihai(["check", "./bad.yaml", "--format", "json"]).run().exits(2).json();
    let found = json[0]["diagnostics"].as_array().cloned().unwrap_or_default();
    assert!(!found.is_empty(), "{json:?}");
    for one in found {
        assert_eq!(one["type"], "diagnostic");
        let code = one["code"].as_str().expect("a code");
        let place = format!("bad.yaml:{}:{}", one["line"], one["column"]);
        let everything = human.stdout.clone() + &human.stderr;
        assert!(everything.contains(code) && everything.contains(&place), "{code} {place}: {human}");
    }
}

// A multi-line error of an agent is shown as lines, and in full only once.
#[test]
fn an_error_of_several_lines_is_shown_as_lines() {
    let failing = "  - {for: work, fail: {class: bad_request, message: \"first\\nsecond\\n  third\"}}\n";
    let piece = "name: it\nmovements:\n  - {name: work, rules: [{condition: done, next: COMPLETE}]}\n";
    let project = project(piece, failing);
    let outcome = project.saihai(["run", "it", "T", "--script", "script.yaml"]).run().exits(4);
    assert!(outcome.stderr.contains("warning: `work` failed (bad_request): first …\n"), "{outcome}");
    assert!(outcome.stderr.contains("error: bad_request: first\n    second\n      third\n"), "{outcome}");
    assert_eq!(outcome.stderr.matches("second").count(), 1, "{outcome}");
    assert!(!outcome.stderr.contains("\\n"), "{outcome}");
}
