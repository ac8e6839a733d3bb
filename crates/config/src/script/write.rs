//! Writes a script as a file that Saihai can read back (C-75). Covers the content of generated and
//! recorded replies: conditions, text, values, cost, changes, failures, answers and expectations.

use std::fmt::Write as _;

use saihai_model::{
    Expectation, Json, ProgramExit, Script, ScriptAnswer, ScriptEdit, ScriptReply, ScriptTarget, Times,
    ToolUse, Usage, Usd, Visits,
};
use serde_json::json;

/// Keys of a mapping in output order.
type Keys = Vec<(&'static str, Json)>;

/// Writes a script as JSON, one reply per line.
pub fn script_file(script: &Script) -> String {
    let replies: Vec<_> =
        script.replies.iter().map(|reply| format!("    {}", object(of_reply(reply)))).collect();
    let rest = of_rest(script).into_iter().map(|(key, value)| format!(",\n  \"{key}\": {value}"));
    format!(
        "{{\n  \"script\": 1,\n  \"strict\": {},\n  \"replies\": [\n{}\n  ]{}\n}}\n",
        script.strict,
        replies.join(",\n"),
        rest.collect::<String>()
    )
}

/// Writes a script as human-readable YAML.
pub fn script_yaml(script: &Script) -> String {
    let mut text = format!("script: 1\nstrict: {}\n", script.strict);
    for (key, value) in of_head(script) {
        text.push_str(&yaml_entry(0, key, &value));
    }
    text.push_str(if script.replies.is_empty() { "replies: []\n" } else { "replies:\n" });
    for reply in &script.replies {
        text.push_str(&yaml_item(2, &of_reply(reply)));
    }
    if !script.answers.is_empty() {
        text.push_str("answers:\n");
    }
    for answer in &script.answers {
        text.push_str(&yaml_item(2, &of_answer(answer)));
    }
    if let Some(expect) = &script.expect {
        text.push_str("expect:\n");
        for (key, value) in of_expectation(expect) {
            text.push_str(&yaml_entry(2, key, &value));
        }
    }
    text
}

fn object(keys: Keys) -> Json {
    Json::Object(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn of_rest(script: &Script) -> Keys {
    let answers: Vec<Json> = script.answers.iter().map(|answer| object(of_answer(answer))).collect();
    let answers = (!answers.is_empty()).then_some(("answers", Json::Array(answers)));
    let expect = script.expect.as_ref().map(|expect| ("expect", object(of_expectation(expect))));
    of_head(script).into_iter().chain(answers).chain(expect).collect()
}

/// Returns the keys before the replies.
fn of_head(script: &Script) -> Keys {
    let keys = [
        ("recorded", script.recorded.as_ref().map(|run| json!(run))),
        ("interactive", script.interactive.map(Json::Bool)),
        ("task", script.task.as_ref().map(|task| json!(task))),
    ];
    keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn of_answer(answer: &ScriptAnswer) -> Keys {
    let yes_or_no = matches!(answer.label.as_str(), "yes" | "no").then(|| json!(answer.label));
    let keys = [
        ("for", Some(json!(answer.gate))),
        ("visit", answer.visits.as_ref().map(of_visits)),
        ("answer", yes_or_no),
        ("text", answer.text.as_ref().map(|text| json!(text))),
    ];
    keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn of_expectation(expect: &Expectation) -> Keys {
    let prompts: Vec<_> = expect
        .prompts
        .iter()
        .map(|prompt| json!({ "call": prompt.call.to_string(), "sha256": prompt.sha256 }))
        .collect();
    let outcome = expect.outcome.as_ref().map(|outcome| ("outcome", json!(outcome)));
    let stages = expect.stages.as_ref().map(|stages| ("stages", json!(stages)));
    let prompts = (!prompts.is_empty()).then_some(("prompts", Json::Array(prompts)));
    outcome.into_iter().chain(stages).chain(prompts).collect()
}

fn of_reply(reply: &ScriptReply) -> Keys {
    let times = match reply.times {
        Times::Exactly(1) => None,
        Times::Exactly(times) => Some(json!(times)),
        Times::Always => Some(json!("*")),
    };
    let fail = reply.fail.as_ref().map(|fail| {
        let mut value = json!({ "class": fail.class.name(), "message": fail.message });
        if let Some(wait) = fail.retry_after {
            value["retry_after"] = json!(wait.0 / 1000);
        }
        value
    });
    let keys = [
        ("for", reply.target.as_ref().map(|target| json!(of_target(target)))),
        ("visit", reply.visits.as_ref().map(of_visits)),
        ("prompt", reply.prompt.as_ref().map(|prompt| json!(prompt))),
        ("times", times),
        ("text", reply.text.as_ref().map(|text| json!(text))),
        ("structured", reply.structured.clone()),
        ("exit", reply.exit.map(of_exit)),
        ("usage", of_usage(&reply.usage)),
        ("cost", reply.cost.map(|cost| json!(Usd::dollars(cost)))),
        ("tools_used", list(&reply.tools_used, of_tool)),
        ("writes", list(&reply.writes, |write| json!({ "path": write.path, "content": write.content }))),
        ("edits", list(&reply.edits, of_edit)),
        ("runs", list(&reply.runs, |run| json!({ "argv": run.argv, "exit": run.exit }))),
        ("fail", fail),
        ("hang", reply.hang.then_some(Json::Bool(true))),
    ];
    keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

fn of_exit(exit: ProgramExit) -> Json {
    match exit {
        ProgramExit::Timeout => json!("timeout"),
        ProgramExit::Code(_) | ProgramExit::Signal(_) => json!(exit.code()),
    }
}

fn list<T>(items: &[T], of: impl Fn(&T) -> Json) -> Option<Json> {
    (!items.is_empty()).then(|| items.iter().map(of).collect())
}

fn of_edit(edit: &ScriptEdit) -> Json {
    json!({ "path": edit.path, "find": edit.find, "replace": edit.replace })
}

fn of_tool(tool: &ToolUse) -> Json {
    let keys = [
        ("name", Some(json!(tool.name))),
        ("input", tool.input.clone()),
        ("output", tool.output.clone()),
        ("duration_ms", (tool.duration_ms > 0).then(|| json!(tool.duration_ms))),
    ];
    object(keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
}

fn of_usage(usage: &Usage) -> Option<Json> {
    let counts = [
        ("input", usage.input),
        ("output", usage.output),
        ("cached", usage.cached),
        ("reasoning", usage.reasoning),
    ];
    let known: Keys = counts.into_iter().filter_map(|(key, count)| Some((key, json!(count?)))).collect();
    (!known.is_empty()).then(|| object(known))
}

/// Returns the script notation of a target.
pub fn of_target(target: &ScriptTarget) -> String {
    let turn = target.turn.as_ref().map(|turn| format!("/{turn}")).unwrap_or_default();
    let judge = if target.judge { "#judge" } else { "" };
    format!("{}{turn}{judge}", target.stage)
}

fn of_visits(visits: &Visits) -> Json {
    match visits {
        Visits::These(list) => match list.as_slice() {
            [one] => json!(one),
            several => json!(several),
        },
        Visits::From(first) => json!(format!("{first}..")),
    }
}

/// Writes a list item that is a mapping.
pub(super) fn yaml_item(indent: usize, keys: &Keys) -> String {
    let mut text: String = keys.iter().map(|(key, value)| yaml_entry(indent + 2, key, value)).collect();
    match text.get_mut(indent..=indent) {
        // The first key shares the line with the dash.
        Some(_) => text.replace_range(indent..=indent, "-"),
        None => text = format!("{:indent$}- {{}}\n", ""),
    }
    text
}

pub(super) fn yaml_entry(indent: usize, key: &str, value: &Json) -> String {
    let margin = " ".repeat(indent);
    match value {
        Json::String(text) if is_block(text) => {
            let chomp = if text.ends_with('\n') { "|" } else { "|-" };
            let lines = text
                .lines()
                .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{margin}  {line}\n") });
            format!("{margin}{key}: {chomp}\n{}", lines.collect::<String>())
        }
        Json::Array(items) if items.iter().any(Json::is_object) => {
            let items = items.iter().map(|item| format!("{margin}  - {}\n", flow(item)));
            format!("{margin}{key}:\n{}", items.collect::<String>())
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) | Json::Object(_) => {
            format!("{margin}{key}: {}\n", flow(value))
        }
    }
}

/// Returns true if a block scalar preserves the text byte for byte.
fn is_block(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let plain = |character: char| character == '\n' || !needs_escape(character);
    body.contains('\n')
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && text.chars().all(plain)
        // YAML may cut or keep whitespace-only lines, depending on their context.
        && body.lines().all(|line| line.is_empty() || !line.trim_matches(' ').is_empty())
}

/// Writes a value on one line.
fn flow(value: &Json) -> String {
    match value {
        Json::Null => "null".to_owned(),
        Json::Bool(bool) => bool.to_string(),
        Json::Number(number) => number.to_string(),
        Json::String(text) => scalar(text),
        Json::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Json::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{}: {}", scalar(key), flow(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
    }
}

/// Writes a text on one line, quoted unless it is unambiguous.
fn scalar(text: &str) -> String {
    if is_word(text) { text.to_owned() } else { quoted(text) }
}

/// Words that some YAML readers do not treat as text.
const NO_TEXT: [&str; 10] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan"];

fn is_word(text: &str) -> bool {
    let starts = text.starts_with(|first: char| first.is_ascii_alphabetic());
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'/' | b'#');
    starts && text.bytes().all(rest) && !NO_TEXT.contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            other if needs_escape(other) => {
                let code = u32::from(other);
                let _ = if code > 0xffff {
                    write!(quoted, "\\U{code:08x}")
                } else {
                    write!(quoted, "\\u{code:04x}")
                };
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// Returns true for characters that a reader may reject, drop or treat as a line break.
fn needs_escape(character: char) -> bool {
    let code = u32::from(character);
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{feff}')
        || code & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests;
