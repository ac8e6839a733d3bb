//! Report formats.

use rustix::process::Signal;
use saihai_tests::Terminal;

use super::*;

/// Runs a review whose report has content in every section, and prints it with these arguments.
fn printed(arguments: &[&str]) -> (Project, Outcome) {
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let fails = "  - {for: main/b, fail: {class: refused, message: no}}\n";
    let outcome = review(&project, &(one("main/a", "important") + fails), arguments);
    (project, outcome)
}

/// Replaces the digits of durations, which differ in each run.
fn equal(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']);
    let time = |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.');
    words
        .map(
            |word| if time(word) { word.replace(|c: char| c.is_ascii_digit(), "0") } else { word.to_owned() },
        )
        .collect()
}

// R-49
#[test]
fn people_read_it_file_by_file_with_the_code() {
    let (project, outcome) = printed(&[]);
    let outcome = outcome.exits(1);
    insta::assert_snapshot!(equal(&outcome.stdout), @"
    **Review failed - 1 finding (1 important), 1 failing; 1 of 2 agents answered; 0.0 s**

    ## Findings

    ### store.py

    - **important** · `store.py:2` · a · `8a26e96cabf5850b`

      main/a found it

      ```
      2 |     return db.execute(query)
      ```

    ## Assessments

    - a: overall_score 5/10

    ## Agents

    - a: 1 finding, 0.0 s
    - **b**: failed (refused): no, 0.0 s
    - architecture-reviewer: not selected (the settings disable it)
    - breaking-change-reviewer: not selected (the settings disable it)
    - code-reviewer: not selected (the settings disable it)
    - dependency-reviewer: not selected (the settings disable it)
    - performance-reviewer: not selected (the settings disable it)
    - pr-test-analyzer: not selected (the settings disable it)
    - security-reviewer: not selected (the settings disable it)
    - silent-failure-hunter: not selected (the settings disable it)
    - type-design-analyzer: not selected (the settings disable it)
    - code-simplifier: not selected (the settings disable it)
    - comment-analyzer: not selected (the settings disable it)

    ## Recommended actions

    0. **important** · `store.py:2` · main/a found it
    0. Run the review again, because these agents did not answer: b
    ");
    let kept = std::fs::read_to_string(project.run_directory().join("review.md")).expect("the saved report");
    assert_eq!(kept, outcome.stdout, "the run keeps it");
}

// R-48, R-51, R-52
#[test]
fn programs_read_it_in_three_more_forms_and_files_take_any() {
    let (project, outcome) =
        printed(&["--format", "github", "--out", "json=r.json", "--out", "sarif=r.sarif"]);
    insta::assert_snapshot!(equal(&outcome.exits(1).stdout), @"
    ::warning title=agents that failed (1)::b: error: failed (refused): no
    ::warning file=store.py,line=2,endLine=2,title=important%3A a::main/a found it
    ::notice title=assessments::a: overall_score 5/10
    Review failed - 1 finding (1 important), 1 failing; 1 of 2 agents answered; 0.0 s
    ");
    let json: serde_json::Value = serde_json::from_str(&project.read("r.json")).expect("JSON");
    let kept =
        std::fs::read_to_string(project.run_directory().join("review.json")).expect("the saved report");
    assert_eq!(json, serde_json::from_str::<serde_json::Value>(&kept).expect("JSON"));
    let sarif: serde_json::Value = serde_json::from_str(&project.read("r.sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["message"]["text"], "main/a found it");
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

// R-52
#[test]
fn the_summary_of_a_job_is_added_to_also_by_a_review_that_goes_on_or_has_nothing_to_do() {
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    project.write("../summary.md", "before\n");
    let summary = project.root().join("../summary.md");
    let hangs = format!("{}  - {{for: main/b, hang: true}}\n{}", one("main/a", "important"), none("main/b"));
    project.write("script.yaml", format!("script: 1\nreplies:\n{hangs}"));
    let arguments = ["review", "--script", "script.yaml", "--format", "github", "--jobs", "1"];
    let stopped = project.saihai(arguments).env("GITHUB_STEP_SUMMARY", &summary);
    let mut terminal = Terminal::start(stopped);
    terminal.wait_for("main/a replied");
    terminal.signal(Signal::INT);
    assert_eq!(terminal.finish().0, Some(3));
    let so_far = project.read("../summary.md");
    assert!(so_far.starts_with("before\n**Review stopped - 1 finding"), "{so_far}");
    let resumed = project.saihai(["resume", "last"]).env("GITHUB_STEP_SUMMARY", &summary).run().exits(1);
    assert!(resumed.stdout.starts_with("::warning file=store.py,line=2"), "{resumed}");
    assert!(
        resumed.stderr.contains("report done: findings (2 delivered, 0 failed, 1 failing, 1 finding)"),
        "{resumed}"
    );
    let whole = project.read("../summary.md");
    assert!(
        whole.contains("\n**Review failed - 1 finding (1 important), 1 failing; 2 of 2 agents"),
        "{whole}"
    );
    std::fs::remove_file(project.root().join("store.py")).expect("the change");
    let nothing = project.saihai(["review", "--format", "github"]).env("GITHUB_STEP_SUMMARY", &summary);
    nothing.run().exits(0);
    let added = project.read("../summary.md");
    assert!(added.strip_prefix(&whole).is_some_and(|added| added.starts_with("**Review passed")), "{added}");
}

// R-50
#[test]
fn what_programs_are_given_is_what_the_schema_says() {
    let (project, outcome) = printed(&["--json"]);
    let schema = project.saihai(["schema", "review-report"]).run().exits(0).stdout;
    assert_eq!(schema, saihai_review::REPORT_SCHEMA);
    assert_eq!(saihai_tests::wrong_report(&report(&outcome.exits(1))), Vec::<String>::new());
}

// R-53: Saihai asks no agent for a report that it cannot write.
#[test]
fn a_report_that_cannot_be_written_is_refused_before_anybody_is_asked() {
    let project = reviewed_by(&[("a", "")]);
    let outcome = review(&project, &none("main/a"), &["--out", "sarif=nowhere/x.sarif"]).exits(2);
    assert!(outcome.stderr.contains("its directory does not exist"), "{outcome}");
    let outcome = review(&project, &none("main/a"), &["--out", "json=.saihai"]).exits(2);
    assert!(outcome.stderr.contains("it is a directory"), "{outcome}");
    for other in [["--out", "sarif=./x"], ["--write-baseline", "x"]] {
        let arguments = [&["--out", "json=x"], &other[..]].concat();
        let outcome = review(&project, &none("main/a"), &arguments).exits(2);
        assert!(outcome.stderr.contains("two reports cannot be written to"), "{outcome}");
    }
    assert_eq!(project.begun(), [""; 0]);
}
