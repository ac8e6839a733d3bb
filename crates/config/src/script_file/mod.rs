//! Writes a script as a file that Saihai can read back (C-75). Covers the content of generated and
//! recorded replies: conditions, text, values, cost, changes, failures, answers and expectations.

mod yaml;

use saihai_model::{
    Expectation, Json, Script, ScriptAnswer, ScriptEdit, ScriptReply, ScriptTarget, Times, ToolUse, Usage,
    Usd, Visits,
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
        text.push_str(&yaml::entry(0, key, &value));
    }
    text.push_str(if script.replies.is_empty() { "replies: []\n" } else { "replies:\n" });
    for reply in &script.replies {
        text.push_str(&yaml::item(2, &of_reply(reply)));
    }
    if !script.answers.is_empty() {
        text.push_str("answers:\n");
    }
    for answer in &script.answers {
        text.push_str(&yaml::item(2, &of_answer(answer)));
    }
    if let Some(expect) = &script.expect {
        text.push_str("expect:\n");
        for (key, value) in of_expectation(expect) {
            text.push_str(&yaml::entry(2, key, &value));
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

#[cfg(test)]
mod tests;
