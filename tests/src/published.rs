//! Checks all output of the tests against the published schemas.
//!
//! Readers must accept unknown keys, so the published schemas allow them. Here the schemas are
//! closed, so that a missing key in a schema is found.

use std::sync::OnceLock;

use saihai_json_schema::JsonSchema;
use serde_json::{Value, json};

pub(crate) const OUTPUT: &str = include_str!("../../crates/cli/src/commands/output.schema.json");

/// Returns the errors of a `--json` object.
pub fn wrong_output(object: &Value) -> Vec<String> {
    static SCHEMA: OnceLock<JsonSchema> = OnceLock::new();
    let mut wrong = complaints(SCHEMA.get_or_init(|| compiled(OUTPUT)), object);
    if object["type"] == "event" {
        wrong.extend(wrong_line(&line_of(object)));
    }
    wrong
}

/// Returns the errors of a review report.
pub fn wrong_report(report: &Value) -> Vec<String> {
    static SCHEMA: OnceLock<JsonSchema> = OnceLock::new();
    complaints(SCHEMA.get_or_init(|| compiled(saihai_review::REPORT_SCHEMA)), report)
}

/// Returns the errors of a journal line.
pub fn wrong_line(line: &Value) -> Vec<String> {
    static SCHEMA: OnceLock<JsonSchema> = OnceLock::new();
    complaints(SCHEMA.get_or_init(|| compiled(saihai::JOURNAL_SCHEMA)), line)
}

/// Returns the errors of the journal lines that the program wrote. Skips lines that a test has
/// damaged, recognised by their checksum.
pub(crate) fn wrong_lines(journal: &[u8]) -> Vec<String> {
    let written = journal.split_inclusive(|byte| *byte == b'\n').filter(|line| is_signed(line));
    let lines = written.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    lines.flat_map(|line| wrong_line(&line).into_iter().map(move |what| format!("{what}: {line}"))).collect()
}

fn is_signed(line: &[u8]) -> bool {
    let Some(at) = line.windows(7).rposition(|part| part == b",\"sum\":") else { return false };
    let sum = format!("{:08x}", crc32fast::hash(&line[..at]));
    line[at..].windows(8).any(|part| part == sum.as_bytes())
}

/// Returns the journal line inside an object of type `event`.
fn line_of(object: &Value) -> Value {
    let mut line =
        json!({"v": 1, "seq": object["seq"], "batch": 1, "left": 0, "at": object["time"], "sum": "00000000"});
    for (kind, body) in object["event"].as_object().into_iter().flatten() {
        line[kind] = body.clone();
    }
    line
}

fn complaints(schema: &JsonSchema, value: &Value) -> Vec<String> {
    schema.violations(value, 20).iter().map(|one| format!("at `{}`: {}", one.pointer, one.message)).collect()
}

fn compiled(schema: &str) -> JsonSchema {
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    JsonSchema::compile(&closed(schema)).expect("a schema")
}

/// Forbids additional properties in every object of a schema.
fn closed(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            for value in map.values_mut() {
                *value = closed(value.take());
            }
            let names_keys = map.get("properties").is_some_and(Value::is_object);
            if names_keys && map.get("type") == Some(&json!("object")) {
                map.insert("additionalProperties".to_owned(), Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = closed(item.take())),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_published_is_found() {
        let cancelled = json!({"v": 1, "type": "cancelled", "run": "x"});
        assert_eq!(wrong_output(&cancelled), Vec::<String>::new());
        let mut more = cancelled;
        more["since"] = json!(1);
        assert!(!wrong_output(&more).is_empty());
    }

    #[test]
    fn only_lines_with_the_right_sum_are_looked_at() {
        let line = |fact: &str| {
            let start = format!(
                "{{\"v\":1,\"seq\":1,\"batch\":1,\"left\":0,\"at\":\"2026-02-06T08:56:00.123Z\",\"fact\":\"{fact}\""
            );
            format!("{start},\"sum\":\"{:08x}\"}}\n", crc32fast::hash(start.as_bytes()))
        };
        assert_eq!(wrong_lines(line("woke").as_bytes()), Vec::<String>::new());
        assert_eq!(wrong_lines(line("wok").as_bytes()).len(), 1);
        assert_eq!(wrong_lines(line("woke").replace("woke", "wok").as_bytes()), Vec::<String>::new());
    }
}
