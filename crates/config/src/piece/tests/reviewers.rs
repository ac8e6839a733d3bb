//! Movements with a review agent (P-61).

use saihai_model::{CarriedWords, Method, Permission, SessionPolicy, Turn};

use super::Project;
use crate::SessionDefault;

const RULES: &str = r#"
    rules:
      - {condition: 'findings("important")', next: ABORT}
      - {condition: 'no_findings("important")', next: COMPLETE}
"#;

/// A review agent of the project.
const GUARD: &str = r#"
name = "guard"
description = "d"
model = "codex:big"
output_schema = "severity_classified"
allowed_tools = ["file_read"]
system_prompt = "You guard."
timeout = 60
max_turns = 7
[applicability]
file_patterns = ["*.sql"]
exclude_patterns = ["docs/**"]
"#;

fn piece(movement: &str) -> String {
    format!("name: p\nmovements:\n  - name: look\n{movement}{RULES}")
}

fn check(movement: &str, expected: &str) {
    assert_eq!(Project::new(&piece(movement)).said(), expected, "{movement}");
}

fn turn(project: &Project) -> Turn {
    project.workflow().stages["look"].turns()[0].clone()
}

#[test]
fn role_schema_tools_and_limits_are_the_agents_and_it_only_looks() {
    let project = Project::new(&piece("    reviewer: guard"))
        .file("/p/.saihai/agents/guard.toml", GUARD)
        .settings(|settings| settings.default_session = SessionDefault::Continue);
    let turn = turn(&project);
    assert_eq!(turn.persona, Some("You guard.".into()));
    assert_eq!(turn.role.as_deref(), Some("guard"));
    assert_eq!((turn.provider.as_str(), turn.model.as_deref()), ("codex", Some("big")));
    assert_eq!(turn.permission, Permission::ReadOnly);
    assert_eq!(turn.session, SessionPolicy::Fresh);
    assert_eq!((turn.timeout.map(|timeout| timeout.0), turn.max_calls), (Some(60_000), Some(7)));
    let output = turn.reads.output.expect("a schema");
    assert!(output.schema.schema["properties"]["critical_issues"].is_object());
    assert_eq!(turn.reads.carry, CarriedWords::Findings { language: "en".into() });
    let method = &turn.reads.choice.expect("a choice").found_by;
    assert!(
        matches!(method.as_slice(), [Method::Findings(thresholds)] if thresholds.len() == 2),
        "{method:?}"
    );
    let shown = serde_json::to_value(&turn.prompt).unwrap();
    insta::assert_snapshot!(shown["sections"][0]["body"][0], @r#"{"value":[{"changes":{"excluded":["docs/**"],"language":"en","most":300000,"remote":"origin"}},"plain"]}"#);
}

#[test]
fn the_movements_own_provider_and_model_go_before_the_agents() {
    let named = |movement: &str| {
        let project = Project::new(&piece(movement)).file("/p/.saihai/agents/guard.toml", GUARD);
        let turn = turn(&project);
        format!("{} {}", turn.provider, turn.model.unwrap_or_else(|| "-".to_owned()))
    };
    assert_eq!(named("    reviewer: guard\n    model: claude:small"), "claude small");
    assert_eq!(named("    reviewer: guard\n    provider: claude"), "claude -");
    let flags = Project::new(&piece("    reviewer: guard"))
        .file("/p/.saihai/agents/guard.toml", GUARD)
        .options(|options| options.provider = Some("script".into()));
    assert_eq!(turn(&flags).model, None);
}

#[test]
fn a_reviewer_allows_only_a_few_other_keys() {
    check("    reviewer: code-reviewer\n    description: d\n    model: m", "");
    check(
        "    reviewer: code-reviewer\n    edit: true\n    report: a.md",
        "error piece/no-effect 5:5 `edit` has no effect on a movement with `reviewer`: the review agent decides it (remove it)\n\
         error piece/no-effect 6:5 `report` has no effect on a movement with `reviewer`: the review agent decides it (remove it)",
    );
    check(
        "    reviewer: code-reviwer",
        "error piece/unknown-reviewer 4:15 no review agent is named `code-reviwer` (did you mean `code-reviewer`?)",
    );
}

#[test]
fn an_agent_whose_file_is_wrong_is_said_to_be_unknown_with_the_reason() {
    let broken = GUARD.replace("description = \"d\"\n", "");
    let said =
        Project::new(&piece("    reviewer: guard")).file("/p/.saihai/agents/guard.toml", broken).said();
    let codes: Vec<&str> = said.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(codes, ["review/missing-key", "piece/unknown-reviewer"], "{said}");
}

#[test]
fn findings_are_all_a_review_agent_says_and_nobody_else_does() {
    let with = |movement: &str, condition: &str| {
        let rule = format!("    rules: [{{condition: '{condition}', next: COMPLETE}}]");
        Project::new(&format!("name: p\nmovements:\n  - name: look\n{movement}{rule}")).said()
    };
    assert_eq!(
        with("    reviewer: code-reviewer\n", "approved"),
        "error piece/bad-condition 5:25 `approved` is not about findings, which are the only result of a review agent (write `findings(\"important\")` or `no_findings(\"important\")`)"
    );
    assert_eq!(
        with("", "findings(\"important\")"),
        "error piece/bad-condition 4:25 `findings(\"important\")` is about findings, but this movement has no review agent (such conditions are for movements with `reviewer`)"
    );
    assert_eq!(
        with("    reviewer: code-reviewer\n", "findings(\"importent\")"),
        "error piece/bad-condition 5:25 the condition `findings(…)` cannot be read: `importent` is not a severity (did you mean `important`?)"
    );
}

#[test]
fn a_parent_names_the_results_of_its_review_agents_as_they_are_written() {
    let piece = |label: &str| {
        format!(
            r#"
name: p
movements:
  - name: both
    parallel:
      - {{name: a, reviewer: code-reviewer, rules: [{{condition: 'findings("critical")'}}, {{condition: 'no_findings("critical")'}}]}}
      - {{name: b, reviewer: silent-failure-hunter, rules: [{{condition: 'findings("critical")'}}, {{condition: 'no_findings("critical")'}}]}}
    rules:
      - {{condition: 'all("no_findings(\"critical\")")', next: COMPLETE}}
      - {{condition: 'any("{label}")', next: ABORT}}
"#
        )
    };
    assert_eq!(Project::new(&piece(r#"findings(\"critical\")"#)).said(), "");
    assert_eq!(
        Project::new(&piece(r#"findings(\"important\")"#)).said(),
        "error workflow/dead-rule 10:21 this rule can never match: nothing has the result `findings(\"important\")`"
    );
}
