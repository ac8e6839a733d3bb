//! Shared helpers of these suites.

use saihai_tests::{Outcome, Project};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_saihai-faulty");

/// One movement with three rules.
pub(crate) const ONE: &str = "\
name: one
max_iterations: 3
movements:
  - name: plan
    rules:
      - {condition: done, next: COMPLETE}
      - {condition: again, next: plan}
      - {condition: stop, next: ABORT}
";

/// A movement that asks a person.
pub(crate) const ASK: &str = "\
name: ask
movements:
  - name: plan
    rules:
      - {condition: done, next: COMPLETE}
      - {condition: needs a decision, next: plan, requires_user_input: true}
";

/// A movement with a report, and two reviewers in parallel.
pub(crate) const REVIEWED: &str = "\
name: 修正
max_iterations: 12
movements:
  - name: plan
    report: {name: 01-plan.md, format: '# 計画'}
    rules: [{condition: 計画ができた, next: verify}, {condition: 進められない, next: ABORT}]
  - name: verify
    parallel:
      - {name: tests, rules: [{condition: 合格}, {condition: 不合格}]}
      - {name: レビュー, rules: [{condition: 合格}, {condition: 不合格}]}
    rules: [{condition: 'all(\"合格\")', next: COMPLETE}, {condition: 'any(\"不合格\")', next: plan}]
";

/// Creates a project with a definition `it` and its replies.
pub(crate) fn project(definition: &str, replies: &str) -> Project {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", definition);
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    project
}

/// Runs the definition of [`project`] on its replies, with extra arguments.
pub(crate) fn run(project: &Project, more: &[&str]) -> Outcome {
    let arguments = ["run", "it", "The task.", "--script", "script.yaml"];
    project.saihai(arguments.iter().chain(more)).run()
}

/// Formats an outcome: stdout, then stderr, then the exit code, with placeholders for values that differ between runs.
pub(crate) fn seen(project: &Project, outcome: &Outcome) -> String {
    let text =
        format!("{}-- stderr\n{}? {}", outcome.stdout, outcome.stderr, outcome.code.expect("an exit code"));
    normal(project, &text)
}

/// Replaces the run's id, the project's directory and all times by placeholders.
pub(crate) fn normal(project: &Project, text: &str) -> String {
    let mut text = text.replace(&project.root().display().to_string(), "PROJECT");
    for run in project.runs().iter().rev() {
        text = text.replace(run.as_str(), "RUN");
    }
    times(&lengths(&text))
}

/// Replaces times by `TIME`: `2026-02-06T08:56:00.123Z`, `2026-02-06 08:56:00` and `08:56:00`.
fn times(text: &str) -> String {
    let is_time = |part: &str| {
        let pattern = |pattern: &str| {
            part.len() == pattern.len()
                && part.chars().zip(pattern.chars()).all(|(one, other)| match other {
                    '0' => one.is_ascii_digit(),
                    other => one == other,
                })
        };
        ["0000-00-00T00:00:00.000Z", "0000-00-00 00:00:00", "00:00:00"].iter().any(|form| pattern(form))
    };
    let mut out = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let found = [24, 19, 8].into_iter().find(|length| rest.get(..*length).is_some_and(is_time));
        match (found, rest.chars().next()) {
            (Some(length), _) => {
                out.push_str("TIME");
                rest = &rest[length..];
            }
            (None, Some(character)) => {
                out.push(character);
                rest = &rest[character.len_utf8()..];
            }
            (None, None) => break,
        }
    }
    out
}

/// Replaces durations: `replied in 12 ms` becomes `replied in SOME ms`.
fn lengths(text: &str) -> String {
    let lines = text.split_inclusive('\n').map(|line| match line.split_once("replied in ") {
        Some((before, after)) => {
            let length = after.find([',', '\n']).unwrap_or(after.len());
            format!("{before}replied in SOME TIME{}", &after[length..])
        }
        None => line.to_owned(),
    });
    lines.collect()
}
