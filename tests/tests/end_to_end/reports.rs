//! Failing parallel turns, and reports. P-32–P-39.

use insta::assert_snapshot;
use saihai_tests::story;

use crate::support::{project, run};

const THREE: &str = "
name: it
movements:
  - name: check
    parallel:
      - {name: one, report: one.md, rules: [{condition: ok}]}
      - {name: two, report: two.md, rules: [{condition: ok}]}
      - {name: three, report: three.md, rules: [{condition: ok}]}
    rules: [{condition: 'all(\"ok\")', next: last}]
  - name: last
    instruction_template: \"before: {previous_response}\"
    rules: [{condition: over, next: COMPLETE}]
";

// P-33, P-34
#[test]
fn a_failing_part_is_retried_alone_and_the_output_keeps_the_order_of_the_file() {
    let failure = "fail: {class: transient, message: busy, retry_after: 0}";
    let replies = format!(
        "  - {{for: check/two, {failure}}}\n  - {{for: check/two, {failure}}}
  - {{for: check/three, text: 'third [STEP:0]'}}\n  - {{for: check/two, text: 'second [STEP:0]'}}
  - {{for: check/one, text: 'first [STEP:0]'}}\n  - {{for: last, text: '[STEP:0]'}}\n"
    );
    let project = project(THREE, &replies);
    project.write(".saihai/config.toml", "[retry]\nshort_wait = \"60s\"\n");
    project.saihai(["run", "it", "T", "--script", "script.yaml", "--wait"]).run().exits(0);
    let journal = project.journal();
    let attempts: Vec<usize> = journal.asked().into_values().collect();
    assert_eq!(attempts, [1, 3, 1, 1], "{:?}", journal.asked());
    // C-38: an attempt without its own prompt repeats the previous one.
    let again: Vec<bool> = journal
        .facts("asked")
        .filter(|fact| fact["attempt"] != 1)
        .map(|fact| fact["prompt"].is_null())
        .collect();
    assert_eq!(again, [true, true]);
    let prompt = journal.prompt("last");
    let expected =
        "## one\nfirst [STEP:0]\n\n---\n\n## two\nsecond [STEP:0]\n\n---\n\n## three\nthird [STEP:0]";
    assert!(prompt.contains(expected), "{prompt}");
}

// P-34, P-55, T-21
#[test]
fn a_part_that_finally_fails_parks_the_run_and_resume_asks_only_it() {
    let replies = "  - {for: check/two, fail: {class: auth, message: bad key}}
  - {for: check/two, text: 'second [STEP:0]'}
  - {for: check/one, text: 'first [STEP:0]'}\n  - {for: check/three, text: 'third [STEP:0]'}
  - {for: last, text: '[STEP:0]'}\n";
    let project = project(THREE, replies);
    let outcome = run(&project).exits(4);
    assert!(outcome.stderr.contains("bad key"), "{outcome}");
    let names: Vec<String> = project.reports().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["one.md", "three.md"]);
    let before: usize = project.journal().asked().values().sum();
    project.saihai(["resume", "last"]).run().exits(0);
    let after: usize = project.journal().asked().values().sum();
    assert_eq!((before, after), (3, 5), "one for the failed turn, one for the last movement");
}

/// Returns a movement with a report contract that a run visits once or twice.
fn reporting(report: &str) -> String {
    format!(
        "
name: it
movements:
  - name: write
    report: {report}
    rules: [{{condition: done, next: COMPLETE}}, {{condition: again, next: write}}]
"
    )
}

// P-36
#[test]
fn code_inside_a_report_does_not_cut_it() {
    let text =
        "Here it is.\n\n```markdown\n# Cause\n\n```rust\nfn main() {}\n```\n\nThe end.\n```\n\n[STEP:0]\n";
    let reply = serde_json::json!({"text": text});
    let project = project(&reporting("{name: cause.md, format: '# Cause'}"), &format!("  - {reply}\n"));
    run(&project).exits(0);
    assert_snapshot!(project.reports()[0].1, @r"
    # Cause

    ```rust
    fn main() {}
    ```

    The end.
    ");
}

// P-37
#[test]
fn each_report_is_recognised_by_the_heading_before_it() {
    let text = "## Scope\n```markdown\nthe scope\n```\n## Summary\n```markdown\nthe summary\n```\n[STEP:0]";
    let reply = serde_json::json!({"text": text});
    let definition = reporting("[Summary: summary.md, Scope: scope.md]")
        .replace("[Summary: summary.md, Scope", "[{Summary: summary.md}, {Scope")
        .replace("scope.md]", "scope.md}]");
    let project = project(&definition, &format!("  - {reply}\n"));
    run(&project).exits(0);
    let reports = project.reports();
    assert_eq!(reports[0].1.trim_end(), "the scope");
    assert_eq!(reports[1].1.trim_end(), "the summary");
}

// P-38
#[test]
fn without_a_block_the_whole_output_is_saved_with_a_warning() {
    let project =
        project(&reporting("{name: notes.md}"), "  - {text: \"All of this.\\n\\nAnd this.\\n[STEP:0]\"}\n");
    let outcome = run(&project).exits(0);
    assert_eq!(project.reports()[0].1.trim_end(), "All of this.\n\nAnd this.");
    assert!(outcome.stderr.contains("warning") && outcome.stderr.contains("notes.md"), "{outcome}");
}

// P-39
#[test]
fn a_later_visit_overwrites_the_file_and_show_lists_both_versions() {
    let reply = |text: &str, tag: u8| {
        let text = format!("```markdown\n{text}\n```\n[STEP:{tag}]");
        format!("  - {}\n", serde_json::json!({"text": text}))
    };
    let replies = reply("first version", 1) + &reply("second version", 0);
    let project = project(&reporting("{name: notes.md}"), &replies);
    run(&project).exits(0);
    assert_eq!(project.reports()[0].1.trim_end(), "second version");
    let shown = project.saihai(["show", "last", "--json"]).run().exits(0);
    let reports = shown.json()[0]["reports"].clone();
    let versions =
        reports.as_array().map_or(0, |all| all.iter().filter(|one| one["file"] == "notes.md").count());
    assert_eq!(versions, 2, "{reports}");
    assert_snapshot!(story(&project.journal()), @r"
    enter write
      report notes.md (only)
    leave write by tag rule 1 [again] -> stage write
    enter write
      report notes.md (only)
    leave write by tag rule 0 [done] -> complete
    finished: completed complete
    ");
}

// P-22, P-53, T-80
#[test]
fn a_report_outside_its_directory_is_refused_before_any_turn() {
    for name in ["../evil.md", "/tmp/evil.md", "a/../../evil.md"] {
        let project = project(&reporting(&format!("{{name: {name}}}")), "  - {text: x}\n");
        let outcome = run(&project).exits(2);
        assert!(outcome.stderr.contains("unsafe-path"), "{outcome}");
        assert_eq!(project.runs(), [""; 0]);
    }
}
