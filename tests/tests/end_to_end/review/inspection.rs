//! Commands that inspect definitions and runs, applied to review agents and reviews.

use super::*;

const PHASES: [(&str, &str); 4] =
    [("b", "phase = \"final\"\n"), ("a1", ""), ("a-1", ""), ("z", "phase = \"early\"\n")];

/// Returns the stdout and stderr of a command.
fn told(project: &Project, arguments: &[&str], code: i32) -> String {
    let outcome = project.saihai(arguments.iter().copied()).run().exits(code);
    format!("{}{}", outcome.stdout, outcome.stderr)
}

#[test]
fn the_prompt_of_an_agent_is_the_one_that_a_review_of_the_change_sends() {
    let project = reviewed_by(&[("a", "")]);
    review(&project, &none("main/a"), &[]).exits(0);
    let sent = project.journal().prompt("main");
    for named in ["a", ".saihai/agents/a.toml"] {
        let shown = project.saihai(["prompt", named]).run().exits(0);
        assert_eq!(shown.stdout, sent, "{named}");
    }
    let shown = project.saihai(["prompt", "a", "main/a", "--json"]).run().exits(0);
    let object: serde_json::Value = serde_json::from_str(&shown.stdout).expect("JSON");
    assert_eq!((&object["persona"], &object["turn"]), (&"p".into(), &"a".into()));
    assert_eq!(object["text"], sent.as_str());
}

#[test]
fn where_nothing_has_changed_a_placeholder_stands_for_it() {
    let project = Project::new(PROGRAM);
    let shown = project.saihai(["prompt", "code-reviewer"]).run().exits(0);
    assert!(shown.stdout.contains("base: BASE\nhead: -\nfiles:\n- FILE\n"), "{shown}");
    assert!(
        shown
            .stderr
            .contains("is not in a git repository: the prompt shows a placeholder instead of the change"),
        "{shown}"
    );
    let project = repository();
    let shown = project.saihai(["prompt", "code-reviewer"]).run().exits(0);
    assert!(
        shown
            .stderr
            .contains("note: nothing has changed: the prompt shows a placeholder instead of the change"),
        "{shown}"
    );
}

#[test]
fn an_agent_is_drawn_and_rehearsed_as_a_review_by_it_alone() {
    let project = reviewed_by(&[("a", "")]);
    insta::assert_snapshot!(told(&project, &["graph", "a"], 0), @r#"
    flowchart TD
        n0["main<br/>a"]
        n1["report"]
        n2(["COMPLETE"])
        n3(["ABORT"])
        n0 --> n1
        n1 -->|"passed"| n2
        n1 -->|"findings<br/>partial<br/>undelivered"| n3
    "#);
    insta::assert_snapshot!(told(&project, &["rehearse", ".saihai/agents/a.toml"], 0), @"
    5 runs, every exit taken
        1  completed: complete
           main → report
        1  failed: findings
           main → report
        1  failed: no_report
           main → report
        1  incomplete: partial
           main → report
        1  undelivered
           main → report
    ");
    project.write("script.yaml", format!("script: 1\nreplies:\n{}", one("main/a", "important")));
    let outcome = project.saihai(["rehearse", "a", "--script", "script.yaml"]).run().exits(1);
    assert!(outcome.stdout.contains("main/a found it"), "{outcome}");
    assert!(outcome.stderr.contains("rehearsal: no agent is asked"), "{outcome}");
}

#[test]
fn what_is_no_agent_or_a_wrong_one_is_refused_with_what_is_wrong() {
    let project = reviewed_by(&[("a", "phase = \"late\"\n")]);
    for command in ["prompt", "graph", "rehearse"] {
        let wrong = told(&project, &[command, ".saihai/agents/a.toml"], 2);
        assert!(wrong.contains("error[review/bad-value]: `phase` must be"), "{wrong}");
        let unknown = told(&project, &[command, "code-revewer"], 2);
        assert!(unknown.contains("no definition is named `code-revewer`"), "{unknown}");
    }
}

#[test]
fn a_review_that_was_run_is_drawn_explained_and_logged_like_every_run() {
    let project = reviewed_by(&PHASES);
    let replies: String = ["early/z", "main/a-1", "main/a1", "final/b"].map(none).concat();
    review(&project, &replies, &["--jobs", "1"]).exits(0);
    let drawn = told(&project, &["graph", "last"], 0);
    insta::assert_snapshot!(without_times(&drawn), @r#"
    flowchart TD
        n0["early<br/>z<br/>×1 · [..]"]
        n1[["main<br/>a-1<br/>a1<br/>×1 · [..]"]]
        n2["final<br/>b<br/>×1 · [..]"]
        n3["report<br/>×1 · [..]"]
        n4(["COMPLETE"])
        n5(["ABORT"])
        n0 -->|"×1"| n1
        n1 -->|"×1"| n2
        n2 -->|"×1"| n3
        n3 -->|"passed ×1"| n4
        n3 -->|"findings<br/>partial<br/>undelivered"| n5
        linkStyle 0,1,2,3 stroke:#2563eb,stroke-width:3px
    "#);
    insta::assert_snapshot!(without_times(&told(&project, &["explain", "last"], 0)), @r#"
    `z` (early) selected: always
    `a-1` (main) selected: always
    `a1` (main) selected: always
    `architecture-reviewer` (main) not selected: the settings disable it
    `breaking-change-reviewer` (main) not selected: the settings disable it
    `code-reviewer` (main) not selected: the settings disable it
    `dependency-reviewer` (main) not selected: the settings disable it
    `performance-reviewer` (main) not selected: the settings disable it
    `pr-test-analyzer` (main) not selected: the settings disable it
    `security-reviewer` (main) not selected: the settings disable it
    `silent-failure-hunter` (main) not selected: the settings disable it
    `type-design-analyzer` (main) not selected: the settings disable it
    `b` (final) selected: always
    `code-simplifier` (final) not selected: the settings disable it
    `comment-analyzer` (final) not selected: the settings disable it
    [..]  early → main
    [..]  main → final
    [..]  final → completed
    [..]  report → completed: "passed"
    "#);
    insta::assert_snapshot!(without_times(&told(&project, &["log", "last", "-v"], 0)), @r#"
     1  [..]  started review (review)
     2  [..]  entered `early` (visit 1)
     3  [..]  phase early
     4  [..]  call `early.1.1.1` for `early` (work)
     5  [..]  asked early (3,190 bytes)
     6  [..]  early replied in [..]
     7  [..]  early → main
                  rule 0 “always”, the only way
     8  [..]  entered `main` (visit 1)
     9  [..]  phase main
    10  [..]  call `main.1.1.1` for `main/a-1` (work)
    11  [..]  asked main/a-1 (3,190 bytes)
    12  [..]  main/a-1 replied in [..]
    13  [..]  call `main.1.1.2` for `main/a1` (work)
    14  [..]  asked main/a1 (3,190 bytes)
    15  [..]  main/a1 replied in [..]
    16  [..]  main → final
                  rule 0 “always”, the only way
    17  [..]  entered `final` (visit 1)
    18  [..]  phase final
    19  [..]  call `final.1.1.1` for `final` (work)
    20  [..]  asked final (3,190 bytes)
    21  [..]  final replied in [..]
    22  [..]  final → completed
                  rule 0 “always”, the only way
    23  [..]  entered `report` (visit 1)
    24  [..]  call `report.1.1.1` for `report` (no agent)
    25  [..]  report done: passed (4 delivered, 0 failed, 0 failing, 0 findings)
    26  [..]  report → completed: "passed"
                  rule 0 “passed”, by result
    27  [..]  completed
    "#);
}

/// Replaces times, run IDs and hashes, which differ in each run.
fn without_times(text: &str) -> String {
    let number =
        regex::Regex::new(r"\d+(\.\d+)? (ms|s)\b|\d\d:\d\d:\d\d(\.\d+)?|\d{8}-\d{6}[a-z0-9-]*|[0-9a-f]{12,}")
            .expect("a pattern");
    number.replace_all(text, "[..]").into_owned()
}
