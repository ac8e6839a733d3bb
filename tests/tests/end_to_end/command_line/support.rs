//! Shared helpers of these suites.

use saihai_tests::{Outcome, Project};

pub(crate) use crate::support::{PROGRAM, project};

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
        // The end of a program: `after 12 ms`.
        None if line.trim_end().ends_with("ms") && line.contains(" after ") => {
            let (before, _) = line.rsplit_once(" after ").unwrap_or((line, ""));
            format!("{before} after SOME TIME\n")
        }
        None => match figures(line) {
            Some((run, rest)) => format!("{run}SOME TIME{rest}"),
            None => line.to_owned(),
        },
    });
    lines.collect()
}

/// Splits the figures of a run around its elapsed time: `run RUN: `, `12 ms`, `, 2 turns`.
fn figures(line: &str) -> Option<(&str, &str)> {
    let start = line.strip_prefix("run ")?.find(": ")? + "run : ".len();
    let (run, rest) = line.split_at(start);
    rest.starts_with(|c: char| c.is_ascii_digit()).then_some(())?;
    Some((run, &rest[rest.find(',')?..]))
}
