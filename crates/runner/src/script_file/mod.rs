//! A script as a file that can be read back (C-75). Only what generated and recorded replies hold is written:
//! conditions, words, values, what they cost, failures and what is expected.

mod yaml;

use saihai_model::{Expectation, Json, Script, ScriptReply, ScriptTarget, Times, Usage, Usd, Visits};
use serde_json::json;

/// The keys of a mapping in the order they are written.
type Keys = Vec<(&'static str, Json)>;

/// The text of a script file: JSON, one reply a line.
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

/// The text of a script file: YAML, as a person would write it.
pub fn script_yaml(script: &Script) -> String {
    let mut text = format!("script: 1\nstrict: {}\n", script.strict);
    if let Some(task) = &script.task {
        text.push_str(&yaml::entry(0, "task", &json!(task)));
    }
    text.push_str(if script.replies.is_empty() { "replies: []\n" } else { "replies:\n" });
    for reply in &script.replies {
        text.push_str(&yaml::item(2, &of_reply(reply)));
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
    let task = script.task.as_ref().map(|task| ("task", json!(task)));
    let expect = script.expect.as_ref().map(|expect| ("expect", object(of_expectation(expect))));
    task.into_iter().chain(expect).collect()
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
        ("fail", fail),
        ("hang", reply.hang.then_some(Json::Bool(true))),
    ];
    keys.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
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

fn of_target(target: &ScriptTarget) -> String {
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
