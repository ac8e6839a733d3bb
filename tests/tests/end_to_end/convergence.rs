//! Loops that do not converge: a run that oscillates tells its agents once, and then parks with the evidence.

use saihai_tests::Project;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_saihai-faulty");

/// `{progress}` is a line of the piece.
fn piece(progress: &str) -> String {
    format!(
        "name: loop
max_iterations: 60
{progress}
movements:
  - name: fix
    edit: true
    instruction_template: Fix it.
    rules: [{{condition: Done, next: review}}]
  - name: review
    instruction_template: Review it.
    report: {{name: review.md, format: '# Review'}}
    rules: [{{condition: Fine, next: COMPLETE}}, {{condition: Not yet, next: fix}}]
"
    )
}

const REVIEW: &str = "```markdown\\n# Review\\n| Location | Issue |\\n|---|---|\\n| src/a.txt:1 | wrong value |\\n```\\n[STEP:1]";

/// Returns a script whose fixes write these contents, and whose reviews never end.
fn script(contents: &[&str]) -> String {
    let mut text = "script: 1\nreplies:\n".to_owned();
    for (index, content) in contents.iter().enumerate() {
        let visit = index + 1;
        text.push_str(&format!(
            "  - {{for: fix, visit: {visit}, writes: [{{path: src/a.txt, content: \"{content}\"}}], text: \"Done.\\n[STEP:0]\"}}\n"
        ));
        text.push_str(&format!("  - {{for: review, visit: {visit}, text: \"{REVIEW}\"}}\n"));
    }
    text
}

fn project(progress: &str, contents: &[&str]) -> Project {
    let project = Project::new(PROGRAM);
    project.write(".saihai/pieces/loop.yaml", piece(progress)).write("script.yaml", script(contents));
    project.write("src/a.txt", "start").write(".gitignore", ".saihai/\n");
    project
}

fn in_git(project: &Project) {
    project.git(["init", "--quiet"]).run().exits(0);
    project.git(["add", "--all"]).run().exits(0);
    project.git(["commit", "--quiet", "-m", "start"]).run().exits(0);
}

const RUN: [&str; 5] = ["run", "loop", "the task", "--script", "script.yaml"];

fn stalls(project: &Project) -> Vec<Value> {
    let transitions = project.saihai(["explain", "--json"]).run().exits(0).json();
    let evidence = transitions
        .iter()
        .flat_map(|transition| transition["evidence"].as_array().expect("evidence").clone());
    evidence.filter(|one| one["kind"] == "stalled").collect()
}

// N-10, N-11, N-12
#[test]
fn an_oscillation_tells_the_agents_once_and_parks_with_its_evidence() {
    let project = project("progress: {same: off}", &["a", "b", "a", "b", "a", "b", "a", "b", "a"]);
    in_git(&project);
    let outcome = project.saihai(RUN).run().exits(5);
    assert!(outcome.stderr.contains("no progress in fix ⇄ review"), "{outcome}");
    let shown = project.saihai(["show", "--json"]).run().exits(0).json();
    let result = &shown[0]["result"];
    assert_eq!((&result["outcome"], &result["reason"]), (&json!("parked"), &json!("no_progress")));
    let found = stalls(&project);
    let brief: Vec<Value> = found
        .iter()
        .map(|one| json!([one["then"], one["signals"][0]["back"]["rounds"], one["since"]]))
        .collect();
    assert_eq!(brief, [json!(["nudged", [1, 5], 1]), json!(["held", [3, 7], 1])]);
    let trees = |one: &Value| one["signals"][0]["back"]["tree"].clone();
    assert_ne!(trees(&found[0]), trees(&found[1]));
    // The prompt after the nudge, and no other one, says so.
    let prompts = project.saihai(["show", "--json", "fix"]).run().exits(0).stdout;
    assert_eq!(prompts.matches("## No progress").count(), 1, "{prompts}");
    let explained = project.saihai(["explain"]).run().exits(0).stdout;
    assert!(explained.contains("the files after `fix` are the same in iterations 3 and 7"), "{explained}");
    // A resume gets a new window.
    project.saihai(["resume", "last"]).run().exits(5);
}

// N-11
#[test]
fn findings_that_stay_the_same_are_named() {
    let project = project("", &["a", "b", "c", "d", "e", "f"]);
    in_git(&project);
    project.saihai(RUN).run().exits(5);
    let found = stalls(&project);
    let same = &found[1]["signals"][0]["same"];
    assert_eq!((&same["rounds"], &same["findings"][0]["file"]), (&json!([2, 4, 6, 8]), &json!("src/a.txt")));
    let explained = project.saihai(["explain"]).run().exits(0).stdout;
    assert!(explained.contains("src/a.txt: wrong value"), "{explained}");
}

// N-10, N-12
#[test]
fn without_a_repository_explain_says_that_files_are_not_compared() {
    let project = project("progress: {same: off}", &["a", "b", "a", "b", "a", "b"]);
    // The script ends before the limit.
    project.saihai(RUN).run().exits(4);
    assert_eq!(stalls(&project), Vec::<Value>::new());
    let explained = project.saihai(["explain"]).run().exits(0).stdout;
    assert_eq!(explained.matches("files not compared: there is no git repository").count(), 1, "{explained}");
}

// N-11
#[test]
fn progress_off_and_a_piece_that_routes_need_no_hold() {
    let off = project("progress: off", &["a", "b", "a", "b", "a", "b"]);
    in_git(&off);
    off.saihai(RUN).run().exits(4);
    assert_eq!(stalls(&off), Vec::<Value>::new());

    let routed = project("progress: {same: off}", &["a", "b", "a"]);
    let rules = "rules: [{condition: 'stalled(\"back\")', next: ABORT}, {condition: Done, next: review}]";
    let piece = piece("progress: {same: off}").replace("rules: [{condition: Done, next: review}]", rules);
    routed.write(".saihai/pieces/loop.yaml", piece);
    in_git(&routed);
    routed.saihai(RUN).run().exits(1);
    assert_eq!(stalls(&routed)[0]["then"], "routed");
    let explained = routed.saihai(["explain", "-v"]).run().exits(0).stdout;
    assert!(explained.contains("stalled(\"back\")"), "{explained}");
}

// N-12
#[test]
fn check_names_cycles_without_a_breaker() {
    let project = project("progress: off", &["a"]);
    let note = |project: &Project| {
        let found = project.saihai(["check", "--json"]).run().exits(0).json();
        found[0]["diagnostics"].as_array().unwrap().iter().map(|one| one["code"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(note(&project), ["workflow/unmonitored-cycle"]);
    project.write(".saihai/pieces/loop.yaml", piece(""));
    assert_eq!(note(&project), Vec::<Value>::new());
}

// N-13
#[test]
fn the_ledger_says_what_became_of_each_finding() {
    let project = project("", &["a", "b"]);
    let reviews =
        ["| src/a.txt:1 | wrong value |\\n| src/b.txt:9 | no test |", "| src/a.txt:7 | another value |"];
    let tables = reviews.map(|rows| REVIEW.replace("| src/a.txt:1 | wrong value |", rows));
    let mut text = script(&["a", "b"]);
    for table in &tables {
        text = text.replacen(REVIEW, table, 1);
    }
    project.write("script.yaml", text);
    in_git(&project);
    project.saihai(RUN).run().exits(4);
    let found = project.saihai(["show", "--findings", "--json"]).run().exits(0).json();
    let brief: Vec<String> = found[0]["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            format!("{} {} {} {} {}", one["text"], one["state"], one["origin"], one["first"], one["last"])
        })
        .collect();
    assert_eq!(
        brief,
        [
            r#""wrong value" "resolved" null 2 2"#,
            r#""no test" "unconfirmed" null 2 2"#,
            r#""another value" "new" "introduced" 4 4"#,
        ]
    );
    let shown = project.saihai(["show", "--findings"]).run().exits(0);
    assert!(shown.stdout.contains("src/b.txt: no test"), "{shown}");
    project.saihai(["show", "last", "review", "--findings"]).run().exits(2);
}
