//! Small parts: days, paths, changes, results.

use saihai_model::{Millis, Usage, Usd};

use saihai_config::review::PathPattern;

use super::*;
use crate::suppression::parse_day;

//
#[test]
fn paths_are_made_relative_to_the_root() {
    let check = |named: &str, expected: &[&str]| {
        assert_eq!(ReviewedCode::new("/home/me/p/").places(named), expected, "{named}")
    };
    check("src/a.rs", &["src/a.rs"]);
    check(" ./src//x/../a.rs ", &["src/a.rs"]);
    check("/home/me/p/src/a.rs", &["src/a.rs"]);
    check("src\\a.rs", &["src\\a.rs", "src/a.rs"]);
    check("b/src/a.rs", &["b/src/a.rs", "src/a.rs"]);
    check("a:b.rs", &["a:b.rs"]);
    check("1:/x.rs", &["1:/x.rs"]);
    for outside in
        ["../../x", "/etc/passwd", "/home/me/password", "a/../../x", "C:\\x", "", ".", "/home/me/p"]
    {
        check(outside, &[]);
    }
}

//
#[test]
fn patterns_take_paths() {
    let check = |pattern: &str, path: &str, expected| {
        assert_eq!(PathPattern::new(pattern).unwrap().takes(path), expected, "{pattern} {path}")
    };
    check("src/a.rs", "src/a.rs", true);
    check("src/a.rs", "src/a.rsx", false);
    check("src/*.rs", "src/a.rs", true);
    check("src/*.rs", "src/deep/a.rs", false);
    check("src/**/*.rs", "src/a.rs", true);
    check("src/**/*.rs", "src/very/deep/a.rs", true);
    check("src/**", "src/deep/a.rs", true);
    check("**/a.rs", "a.rs", true);
    check("**/a.rs", "xa.rs", false);
    check("vendor/", "vendor/x/y.c", true);
    check("vendor/", "vendored.c", false);
    check("?.rs", "a.rs", true);
    check("?.rs", "/.rs", false);
    check("*", "a", true);
    check("", "", true);
    check("*a*a*a*a*a*a*a*b", &"a".repeat(5_000), false);
    check("*.{rs,toml}", "a.toml", true);
    check("*.{rs,toml}", "a.py", false);
    check("[a-c].rs", "b.rs", true);
    check("[a-c].rs", "d.rs", false);
    assert!(PathPattern::new("a{b").is_err());
}

//
#[test]
fn days_are_days_of_the_calendar() {
    for day in ["2026-02-06", "2024-02-29", "2000-02-29", "0000-12-31"] {
        assert_eq!(parse_day(day).unwrap().to_string(), day);
    }
    for none in [
        "2026-02-29",
        "1900-02-29",
        "2026-13-01",
        "2026-00-01",
        "2026-1-01",
        "2026-01-32",
        "2026-01-00",
        "26-01-01",
        "2026-01-01-",
        "+026-01-01",
        "",
    ] {
        assert_eq!(parse_day(none), None, "{none}");
    }
    assert!(parse_day("2026-02-06") < parse_day("2026-10-01"));
}

//
#[test]
fn a_change_knows_the_lines_it_adds_and_shows() {
    let change = ChangedLines::of_diff(
        "diff --git a/x b/x\n@@ -1,2 +1,3 @@\n one\n+two\n three\n@@ -10 +11,0 @@\n-gone\n@@ -20,0 +21 @@\n+--- a/x\n\\ No newline at end of file\n",
    );
    let lines = |holds: &dyn Fn(u32) -> bool| (0..30).filter(|line| holds(*line)).collect::<Vec<u32>>();
    assert_eq!(lines(&|line| change.adds((line, line))), [2, 21]);
    assert_eq!(lines(&|line| change.shows((line, line))), [1, 2, 3, 21]);
    assert!(change.adds((3, 40)) && !change.adds((3, 20)));
    for hostile in
        ["@@ -1,2 +1,99999999999 @@\n+x", "@@ -1 +4294967295,3 @@\n+a\n+b\n+c", "@@", "@@ -x +y @@"]
    {
        ChangedLines::of_diff(hostile);
    }
}

// an agent that got its text in parts has one result.
#[test]
fn results_of_parts_are_one_result() {
    let part = |status: AgentStatus, cost: Option<u64>| AgentResult {
        cost: cost.map(Usd),
        usage: Some(Usage { input: Some(5), ..Usage::default() }),
        findings: vec![finding("a", "nitpick", "", "x")],
        cached: true,
        ..AgentResult::new("a", status, Millis(10))
    };
    let truncated = AgentStatus::Truncated { reason: TruncatedBy::MaxTurns };
    let whole = part(AgentStatus::Success, Some(3))
        .and(part(truncated.clone(), None))
        .and(part(AgentStatus::Success, Some(4)));
    assert_eq!((whole.status, whole.findings.len(), whole.elapsed_ms), (truncated, 3, Millis(30)));
    assert_eq!((whole.cost, whole.usage.unwrap().input, whole.cached), (Some(Usd(7)), Some(15), true));
}

//
#[test]
fn settings_are_read_by_the_words_they_are_written_in() {
    for name in ["critical", "important", "suggestion", "nitpick", "never"] {
        assert_eq!(FailOn::named(name).unwrap().name(), name);
    }
    for name in ["added", "context", "file", "all"] {
        assert_eq!(format!("{:?}", FailScope::named(name).unwrap()).to_lowercase(), name);
    }
    assert_eq!((FailOn::named("Critical"), FailScope::named("none")), (None, None));
}

// the limits of similarity
#[test]
fn two_lines_apart_and_a_quarter_in_common_are_the_same_thing_and_no_more() {
    let count = |place: &str, message: &str| {
        let first = finding("a", "nitpick", "src/a.rs:7-8", "abcdpqr");
        review(vec![first, finding("b", "nitpick", place, message)]).report().findings.len()
    };
    assert_eq!(count("src/a.rs:10", "abcdpqr"), 1, "two lines behind the last");
    assert_eq!(count("src/a.rs:11", "abcdpqr"), 2, "three lines behind the last");
    assert_eq!(count("src/a.rs:5", "abcdpqr"), 1, "two lines before the first");
    assert_eq!(count("src/a.rs:4", "abcdpqr"), 2, "three lines before the first");
    assert_eq!(count("src/a.rs:7", "abcdstu"), 1, "2 of 8 groups in common");
    assert_eq!(count("src/a.rs:7", "abcdstuv"), 2, "2 of 9 groups in common");
}

// a fingerprint covers five lines, not six
#[test]
fn the_sixth_line_of_a_finding_is_no_part_of_its_fingerprint() {
    let name = |fifth: &str, sixth: &str| {
        let mut review = review(vec![finding("a", "nitpick", "x.py:1-6", "long")]);
        review.code =
            ReviewedCode::new("").with("x.py", CodeFile::whole(format!("1\n2\n3\n4\n{fifth}\n{sixth}\n")));
        review.report().findings[0].fingerprint.clone()
    };
    assert_eq!(name("5", "6"), name("5", "other"));
    assert_ne!(name("5", "6"), name("other", "6"));
}

// The schema of reports has no place for the files of each turn
#[test]
fn a_report_leaves_out_which_files_each_turn_showed() {
    let mut review = review(Vec::new());
    review.plan.selection.push(ConsideredAgent {
        agent: "a".to_owned(),
        description: String::new(),
        origin: String::new(),
        phase: "main".to_owned(),
        selected: true,
        why: String::new(),
        shown: vec![vec!["src/a.rs".to_owned()]],
    });
    assert_eq!(review.report().selection[0].shown, [] as [Vec<String>; 0]);
}
