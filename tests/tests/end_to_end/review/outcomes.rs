//! Results and exit codes of a review.

use super::*;

// R-54, R-55, case 39
#[test]
fn the_worst_finding_decides_by_the_threshold() {
    let check = |severity: &str, arguments: &[&str], code: i32| {
        let project = reviewed_by(&[("a", "")]);
        review(&project, &one("main/a", severity), arguments).exits(code);
    };
    check("important", &[], 1);
    check("critical", &[], 1);
    check("suggestion", &[], 0);
    check("suggestion", &["--fail-on", "suggestion"], 1);
    check("important", &["--fail-on", "critical"], 0);
    check("critical", &["--fail-on", "never"], 0);
}

#[test]
fn the_run_ends_as_its_review_does() {
    let project = reviewed_by(&[("a", "")]);
    review(&project, &one("main/a", "important"), &[]).exits(1);
    let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
    let row = (&listed[0]["dialect"], &listed[0]["state"], &listed[0]["reason"]);
    assert_eq!(row, (&"review".into(), &"failed".into(), &"findings".into()));
    project.saihai(["resume", "last"]).run().exits(1);
}

// Reviews are recorded as runs
#[test]
fn reviews_are_runs_that_are_listed_explained_and_logged() {
    let project = reviewed_by(&[("a", ""), ("b", ""), ("c", "phase = \"final\"\n")]);
    let replies = one("main/a", "important") + &none("main/b") + &none("final/c");
    review(&project, &replies, &[]).exits(1);
    let listed = project.saihai(["runs", "--dialect", "review", "--json"]).run().exits(0).json();
    assert_eq!(listed.len(), 1);
    assert_eq!(project.saihai(["runs", "--dialect", "piece", "--json"]).run().exits(0).json().len(), 0);
    let expected = [
        ("explain", ["main → final", "final → completed", "report → failed (findings)"]),
        ("log", ["phase main", "main/b replied", "report → failed (findings)"]),
    ];
    for (command, expected) in expected {
        let told = project.saihai([command, "last"]).run().exits(0);
        for words in expected {
            assert!(told.stdout.contains(words), "{command} does not tell {words}\n{told}");
        }
    }
}

// R-32, case 29
#[test]
fn where_there_is_nothing_to_review_nobody_is_asked() {
    let project = repository();
    insta::assert_snapshot!(seen(&project.saihai(["review"]).run()), @"
    nothing to review against `main`
    ? 0
    ");
    let outcome = project.saihai(["review", "--json", "--out", "sarif=r.sarif"]).run().exits(0);
    assert_eq!(report(&outcome)["findings"], serde_json::json!([]));
    assert!(project.read("r.sarif").contains("\"2.1.0\""));
    project.write("kept.py", "print(2)\n");
    let arguments = ["--skip", "code-reviewer", "--skip", "code-simplifier", "--skip", "pr-test-analyzer"];
    insta::assert_snapshot!(seen(&project.saihai([&["review"][..], &arguments].concat()).run()), @"
    no agent applies
    ? 0
    ");
    assert!(project.begun().is_empty());
}

// R-53
#[test]
fn where_everybody_must_deliver_a_wrong_definition_ends_it_before_it_begins() {
    let project = reviewed_by(&[("a", "")]);
    project.write(".saihai/agents/bad.toml", "name = \"bad\"\n");
    review(&project, &none("main/a"), &["--require-all"]).exits(2);
    assert!(project.begun().is_empty());
    let outcome = review(&project, &none("main/a"), &["--json"]).exits(0);
    assert_eq!(report(&outcome)["load_errors"][0]["file"], ".saihai/agents/bad.toml");
}

// R-53: the reader of the output does not affect the review
#[test]
fn a_reader_who_went_away_changes_neither_exit_code_nor_files() {
    let told = |setup: &str, code: i32| {
        let project = reviewed_by(&[("a", "")]);
        project.write("script.yaml", format!("script: 1\nreplies:\n{}", one("main/a", "critical")));
        let asked = project.saihai(["review", "--script", "script.yaml", "--out", "sarif=q.sarif"]);
        let outcome = asked.under_shell(setup).run().exits(code);
        assert!(project.read("q.sarif").contains("a found it"), "{outcome}");
        outcome.stderr
    };
    let said = told(r#"{ "$@"; echo $? > status; } | true; exit $(cat status)"#, 1);
    assert!(!said.contains("error"), "{said}");
    let said = told("exec > /dev/full", 4);
    assert!(said.contains("cannot write the output"), "{said}");
}

// R-53: findings take precedence over a limit, and the hint names the limit to raise
#[test]
fn a_finding_fails_a_review_that_met_its_time_limit() {
    let replies = one("main/a", "critical") + "  - {for: main/b, hang: true}\n";
    for more in [&[][..], &["--allow-partial"]] {
        let project = reviewed_by(&[("a", ""), ("b", "")]);
        let outcome = review(&project, &replies, &[&["--run-timeout", "2s"], more].concat()).exits(1);
        assert!(outcome.stderr.contains("`saihai resume last --run-timeout TIME`"), "{outcome}");
        assert!(outcome.stdout.contains("1 failing"), "{outcome}");
    }
    let replies = none("main/a") + "  - {for: main/b, hang: true}\n";
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let arguments = ["--run-timeout", "2s", "--json", "--out", "sarif=r.sarif"];
    let told = report(&review(&project, &replies, &arguments).exits(5));
    assert_eq!(told["outcome"], "incomplete", "as the process ends");
    let sarif: serde_json::Value = serde_json::from_str(&project.read("r.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["invocations"][0]["exitCode"], 5);
}

// R-32
#[test]
fn an_agent_that_would_see_nothing_is_not_asked_and_the_report_says_why() {
    let project =
        reviewed_by(&[("a", ""), ("b", "[applicability]\nalways = true\nexclude_patterns = ['**']\n")]);
    let told = report(&review(&project, &none("main/a"), &["--json"]).exits(0));
    assert_eq!(statuses(&told), ["a success"]);
    let said = review(&project, &none("main/a"), &["--no-cache"]).exits(0).stdout;
    assert!(said.contains("no changed file is text for it: all are binary or excluded"), "{said}");
    std::fs::remove_file(project.root().join("store.py")).expect("a file");
    project.write("logo.png", b"\x89PNG\0");
    let before = project.runs().len();
    let outcome = review(&project, &none("main/a"), &["--json"]).exits(0);
    assert!(outcome.stderr.contains("no agent applies"), "{outcome}");
    assert_eq!(report(&outcome)["not_reviewed"][0]["file"], "logo.png");
    assert_eq!(project.runs().len(), before, "nobody was asked");
}
