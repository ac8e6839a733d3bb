//! Baselines and suppressed findings.

use super::*;

/// Returns the state of each finding, followed by the fixed ones.
fn states(report: &serde_json::Value) -> Vec<String> {
    let list = |name: &str| report[name].as_array().cloned().unwrap_or_default();
    let word = |value: &serde_json::Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let found = list("findings")
        .iter()
        .map(|one| format!("{} {}", word(one, "state"), word(one, "message")))
        .collect::<Vec<_>>();
    let fixed = list("fixed").iter().map(|one| format!("fixed {}", word(one, "message"))).collect::<Vec<_>>();
    found.into_iter().chain(fixed).collect()
}

/// Returns a reply with an issue on each of these lines.
fn at(lines: &[u32]) -> String {
    let issue = |line: &u32| {
        let place = format!("location: {{file_path: store.py, line_number: {line}}}");
        format!("{{severity: important, description: \"line {line}\", {place}}}")
    };
    let issues = lines.iter().map(issue).collect::<Vec<_>>().join(", ");
    format!("  - {{for: main/a, structured: {{issues: [{issues}], overall_score: 5}}}}\n")
}

fn project() -> Project {
    let project = reviewed_by(&[("a", "")]);
    project.write(".gitignore", "script.yaml\nbase.json\n");
    project.write("store.py", "first = 1\nimport a\nimport b\nimport c\nimport d\nimport e\nlast = 2\n");
    project
}

//
#[test]
fn what_a_baseline_knows_does_not_count_and_what_is_gone_is_fixed() {
    let project = project();
    let first = review(&project, &at(&[1]), &["--write-baseline", "base.json"]).exits(1);
    review(&project, &at(&[1]), &["--baseline", "base.json"]).exits(0);
    let run = first.stderr.lines().find_map(|line| line.strip_prefix("run ")).expect("a run").to_owned();
    let told = report(&review(&project, &at(&[1, 7]), &["--baseline", &run, "--json"]).exits(1));
    assert_eq!(states(&told), ["persisting line 1", "new line 7"]);
    let told = report(&review(&project, &at(&[7]), &["--baseline", "base.json", "--json"]).exits(1));
    assert_eq!(states(&told), ["new line 7", "fixed line 1"]);
}

// The log of a scanner also works as a baseline
#[test]
fn a_sarif_log_is_a_baseline() {
    let project = project();
    project.write(".gitignore", "script.yaml\nbase.sarif\n");
    review(&project, &at(&[1]), &["--out", "sarif=base.sarif"]).exits(1);
    let again = ["--baseline", "base.sarif", "--json"];
    let told = report(&review(&project, &at(&[1, 7]), &again).exits(1));
    assert_eq!(states(&told), ["persisting line 1", "new line 7"]);
    let told = report(&review(&project, &at(&[]), &again).exits(0));
    assert_eq!(states(&told), ["fixed line 1"]);
}

// A finding in a file that was not reviewed again is not fixed
#[test]
fn what_lies_in_a_file_that_is_not_reviewed_is_not_fixed() {
    let project = project();
    review(&project, &at(&[1]), &["--write-baseline", "base.json"]).exits(1);
    commit(&project);
    project.write("other.py", "print(2)\n");
    let against = ["--base", "HEAD", "--baseline", "base.json", "--json"];
    assert_eq!(states(&report(&review(&project, &at(&[]), &against).exits(0))), [""; 0]);
    std::fs::remove_file(project.root().join("store.py")).expect("a file");
    commit(&project);
    let gone = report(
        &review(&project, &at(&[]), &["--base", "HEAD~1", "--baseline", "base.json", "--json"]).exits(0),
    );
    assert_eq!(states(&gone), ["fixed line 1"]);
}

//
#[test]
fn what_is_no_baseline_is_refused_before_anybody_is_asked() {
    let project = project();
    project.write("base.json", "{}");
    let check = |baseline: &str| seen(&review(&project, &at(&[]), &["--baseline", baseline]));
    insta::assert_snapshot!(check("base.json"), @"
    error: `base.json` is not a baseline: it is neither the report of a review nor a SARIF log
    ? 2
    ");
    insta::assert_snapshot!(check("none.json"), @"
    error: the file `none.json` does not exist
      = help: `--write-baseline FILE` creates one
    ? 2
    ");
    assert_eq!(check("./.saihai"), "error: `./.saihai` is not a baseline: it is a directory\n? 2");
    assert_eq!(check("/dev/null"), "error: `/dev/null` is not a baseline: it is not an ordinary file\n? 2");
    assert!(check("last").starts_with("error: there are no runs yet in"));
    assert!(project.begun().is_empty());
}

//
#[test]
fn the_last_review_of_the_branch_is_the_baseline() {
    let project = project();
    let since = |replies: &str| review(&project, replies, &["--since-last", "--json"]);
    let outcome = since(&at(&[1])).exits(1);
    assert!(outcome.stderr.contains("this branch has no finished review yet"), "{outcome}");
    assert_eq!(states(&report(&since(&at(&[1])).exits(0))), ["persisting line 1"]);
    git(&project, &["checkout", "--quiet", "-b", "other"]);
    assert_eq!(states(&report(&since(&at(&[1])).exits(1))), [" line 1"]);
    // A detached HEAD has no branch, so no earlier review of one is a baseline.
    git(&project, &["checkout", "--quiet", "--detach"]);
    for _ in 0..2 {
        let outcome = since(&at(&[1])).exits(1);
        assert!(outcome.stderr.contains("note: no branch is checked out"), "{outcome}");
        assert_eq!(states(&report(&outcome)), [" line 1"]);
    }
    // Saihai skips an unreadable review.
    git(&project, &["checkout", "--quiet", "other"]);
    let run = since(&at(&[1])).exits(0).stderr;
    let run = run.lines().find_map(|line| line.strip_prefix("run ")).expect("a run").to_owned();
    project.write(&format!(".saihai/runs/{run}/review.json"), "{");
    assert_eq!(states(&report(&since(&at(&[1])).exits(0))), ["persisting line 1"]);
}

// R-49, case 44: anyone may have written the baseline.
#[test]
fn what_a_baseline_says_of_its_agents_is_printed_as_text() {
    let project = project();
    review(&project, &at(&[1]), &["--write-baseline", "base.json"]).exits(1);
    let mut known: serde_json::Value = serde_json::from_str(&project.read("base.json")).expect("JSON");
    let members = known["findings"][0]["members"].as_array_mut().expect("who found it");
    let mut other = members[0].clone();
    other["agent"] = "x\n::error::pwn\u{1b}[31m".into();
    members.push(other);
    project.write("base.json", known.to_string());
    let told = review(&project, &at(&[]), &["--baseline", "base.json"]);
    assert!(told.stdout.contains("pwn"), "{told}");
    assert!(!told.stdout.contains('\u{1b}') && !told.stdout.contains("\n::"), "{told}");
}

// reports are public, and an ignored file may contain a key.
#[test]
fn no_excerpt_is_shown_of_a_file_that_git_ignores() {
    let project = project();
    project.write(".gitignore", "script.yaml\n.env\n");
    project.write(".env", "SECRET=hunter2\n");
    project.write("kept.py", "print(1)\n");
    let at = |file: &str| {
        let issue = format!(
            "{{severity: important, description: d, location: {{file_path: {file}, line_number: 1}}}}"
        );
        format!("  - {{for: main/a, structured: {{issues: [{issue}], overall_score: 5}}}}\n")
    };
    for form in ["md", "json", "sarif"] {
        let told = review(&project, &at(".env"), &["--format", form]);
        assert!(!told.stdout.contains("hunter2"), "{told}");
        let other = review(&project, &at("kept.py"), &["--format", form]);
        assert!(other.stdout.contains("print(1)"), "{other}");
    }
}

//
#[test]
fn a_stranger_does_not_decide_what_is_heard_of_his_change() {
    let project = project();
    git(&project, &["switch", "--quiet", "--create", "topic"]);
    project.write("store.py", "first = 1  # saihai-ignore[a]: nothing to see\n");
    commit(&project);
    let told = report(&review(&project, &at(&[1]), &["--json"]).exits(0));
    assert_eq!(told["suppressed"][0]["added_by_change"], true, "{told}");
    let told = report(&review(&project, &at(&[1]), &["--json", "--definitions-from", "main"]).exits(1));
    let said = "1 finding counts although it is suppressed: with `--definitions-from`, comments that the change adds or moves do not count, nor do comments and fingerprints for lines it adds";
    let [none, one] = [serde_json::json!([]), serde_json::json!([said])];
    assert_eq!((&told["suppressed"], &told["warnings"]), (&none, &one), "{told}");
    // A comment that existed before the change still counts.
    project.write("store.py", "first = 1  # saihai-ignore[a]: nothing to see\nmore = 2\n");
    commit(&project);
    let told =
        report(&review(&project, &at(&[1]), &["HEAD~1", "--json", "--definitions-from", "main"]).exits(0));
    assert_eq!(told["suppressed"][0]["added_by_change"], false, "{told}");
}

// R-62, case 43
#[test]
fn what_is_suppressed_is_listed_and_does_not_count() {
    let project = project();
    let ignores =
        "[[ignore]]\nagent = \"a\"\npath = \"*.py\"\nreason = \"generated\"\nexpires = \"2999-12-31\"\n";
    project.write(".saihai/review-ignore.toml", ignores);
    let told = report(&review(&project, &at(&[1]), &["--json"]).exits(0));
    assert_eq!(told["suppressed"][0]["reason"], "generated");
    let said = "the change affects its own review: it touches `.saihai/review-ignore.toml`";
    assert_eq!(told["warnings"], serde_json::json!([said]));
    assert_eq!(told["suppressed"][0]["added_by_change"], true);
    project.write(".saihai/review-ignore.toml", ignores.replace("2999", "2001"));
    let told = report(&review(&project, &at(&[1]), &["--json"]).exits(1));
    assert_eq!(told["notices"][0]["level"], "warning");
    project.write(".saihai/review-ignore.toml", "[[ignore]]\nagent = \"a\"\n");
    let outcome = review(&project, &at(&[1]), &[]).exits(2);
    assert!(
        outcome.stderr.contains("error[review/missing-key]: an entry of `ignore` needs `reason`"),
        "{outcome}"
    );
    project.write(".saihai/review-ignore.toml", "");
    project.write("store.py", "first = 1  # saihai-ignore[a]: as agreed\n");
    let told = report(&review(&project, &at(&[1]), &["--json"]).exits(0));
    assert_eq!(told["suppressed"][0]["reason"], "as agreed");
}

// only a complete review may become a baseline
#[test]
fn a_baseline_is_not_replaced_by_a_review_that_is_not_whole() {
    let keep = ["--write-baseline", "../base.json", "--no-cache"];
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let all = one("main/a", "important") + &one("main/b", "important");
    review(&project, &all, &keep).exits(1);
    let before = project.read("../base.json");
    let failed = |agent: &str| format!("  - {{for: main/{agent}, fail: {{class: auth, message: no}}}}\n");
    let kept = |replies: &str, code: i32, why: &str| {
        let outcome = review(&project, replies, &keep).exits(code);
        assert!(outcome.stderr.contains("base.json` is not written: "), "{outcome}");
        assert!(outcome.stderr.contains(why), "{outcome}");
        assert_eq!(project.read("../base.json"), before, "{why}");
    };
    kept(&(failed("a") + &failed("b")), 4, "not every agent answered");
    kept(&(failed("a") + &none("main/b")), 0, "not every agent answered");
    commit(&project);
    kept(&none("main/a"), 0, "nothing was reviewed");
}
