//! Merges demand a verified verdict of reviews whose agents have the verdict tool (N-3).

use std::path::Path;

use saihai_tests::{FakeAgent, Outcome, Project};
use serde_json::{Value, json};

use super::{commit, git, outcomes, repository};

const FAKE_AGENT: &str = env!("CARGO_BIN_EXE_saihai-fake-agent");

/// A project whose review decides between two results, and an issue.
fn project() -> Project {
    let project = repository("");
    project.write(
        ".saihai/pieces/it.yaml",
        "name: it
movements:
  - {name: fix, provider: claude, edit: true, rules: [{condition: done, next: review}]}
  - name: review
    provider: claude
    rules: [{condition: approved, next: COMPLETE}, {condition: needs work, next: fix}]
",
    );
    project.write(".saihai/issues/7.md", "# Login fails\n");
    commit(&project);
    project
}

/// Returns an agent that fixes the issue and approves, with these calls of the verdict tool.
fn agent<'a>(project: &'a Project, verdicts: &Value) -> FakeAgent<'a> {
    let answers = json!([
        {"text": "Done.\n[STEP:0]", "writes": {"fixed.txt": "fixed\n"}},
        {"text": "Fine.\n[STEP:0]", "verdicts": verdicts},
    ]);
    FakeAgent::install(project, Path::new(FAKE_AGENT), &["claude"], &answers)
}

fn merge(agent: &FakeAgent<'_>) -> Outcome {
    agent.saihai(["work", "--auto", "--merge"]).run()
}

// N-3
#[test]
fn a_review_that_used_the_verdict_tool_is_merged() {
    let project = project();
    let agent = agent(&project, &json!([{"verdict": "approved", "reason": "It works."}]));
    assert_eq!(outcomes(&merge(&agent).exits(0)), ["#7 merged"]);
    // The base is checked out with other changes, so the merge lies next to it.
    assert_eq!(git(&project, &["show", "saihai/merge/main:fixed.txt"]), "fixed");
}

// N-3: text alone could come from a file that the agent quoted. A person decides, by merging.
#[test]
fn a_review_that_only_wrote_a_tag_waits_for_a_person() {
    let project = project();
    let agent = agent(&project, &json!([]));
    let waits = merge(&agent).exits(6);
    assert_eq!(outcomes(&waits), ["#7 waiting"], "{waits}");
    assert!(waits.to_string().contains("the verdict of `review` is not verified"), "{waits}");
    let main = git(&project, &["ls-tree", "--name-only", "main"]);
    assert!(!main.contains("fixed.txt"), "{main}");

    git(&project, &["merge", "--quiet", "--no-edit", "feature/issue-7"]);
    let again = merge(&agent).exits(0);
    assert_eq!(outcomes(&again), ["#7 merged"], "{again}");
    assert_eq!(agent.calls().len(), 2, "no further turn was paid");
}
