//! Short retelling of a run for snapshots.

use serde_json::Value;

use crate::Journal;

/// Returns the engine's decisions, one per line, without times, attempts and ids.
pub fn story(journal: &Journal) -> String {
    let told = journal.lines.iter().filter(|line| line.kind == "decision");
    told.filter_map(|line| sentence(&line.name, &line.body)).map(|line| line + "\n").collect()
}

fn sentence(name: &str, body: &Value) -> Option<String> {
    match name {
        "entered" => Some(format!("enter {}", word(&body["stage"]))),
        "called" if body["purpose"] == "question" => {
            Some(format!("  question about {}", word(&body["call"]["stage"])))
        }
        "called" if body["purpose"] == "correction" => Some("  correction".to_owned()),
        "retry" => Some(format!("  retry {}, attempt {}", word(&body["call"]["stage"]), body["attempt"])),
        "repeated" => Some(format!("  again {}", word(&body["call"]["stage"]))),
        "reports" => Some(list(&body["found"], |found| {
            format!("  report {} ({})", word(&found["file"]), word(&found["how"]))
        })),
        "alarm" => Some(format!("  alarm after {} cycles", body["count"])),
        "exited" => Some(exit(body)),
        "parked" => Some(format!("parked: {}", word(&body["hold"]))),
        "finished" => Some(format!("finished: {}", word(&body["ending"]))),
        _ => None,
    }
}

fn exit(body: &Value) -> String {
    let verdict = &body["verdict"];
    let rule = verdict["rule"].as_u64().map(|rule| format!(" rule {rule}")).unwrap_or_default();
    let labels = list(&verdict["labels"], |label| label.as_str().unwrap_or("-").to_owned());
    format!(
        "leave {} by {}{rule} [{labels}] -> {}",
        word(&body["stage"]),
        word(&verdict["by"]),
        word(&verdict["to"])
    )
}

fn list(values: &Value, show: impl Fn(&Value) -> String) -> String {
    values.as_array().map(|values| values.iter().map(show).collect::<Vec<_>>().join(", ")).unwrap_or_default()
}

/// Formats a string, or a variant name with its contents.
fn word(value: &Value) -> String {
    if let Some(text) = value.as_str() {
        return text.to_owned();
    }
    let variant = value.as_object().filter(|one| one.len() == 1).and_then(|one| one.iter().next());
    match variant {
        Some((name, Value::String(inner))) => format!("{name} {inner}"),
        Some((name, _)) => name.clone(),
        None => value.to_string(),
    }
}
