//! A script as a file that can be read back (C-75).

use saihai_model::{Json, Script, ScriptReply, ScriptTarget, Times, Visits};
use serde_json::{Map, json};

/// The text of a script file: JSON, one reply a line. Only what generated replies hold is written: conditions,
/// words, values and failures.
pub fn script_file(script: &Script) -> String {
    let replies: Vec<_> = script.replies.iter().map(|reply| format!("    {}", of_reply(reply))).collect();
    format!(
        "{{\n  \"script\": 1,\n  \"strict\": {},\n  \"replies\": [\n{}\n  ]\n}}\n",
        script.strict,
        replies.join(",\n")
    )
}

fn of_reply(reply: &ScriptReply) -> Json {
    let mut keys = Map::new();
    let mut put = |key: &str, value: Option<Json>| {
        if let Some(value) = value {
            keys.insert(key.to_owned(), value);
        }
    };
    put("for", reply.target.as_ref().map(|target| json!(of_target(target))));
    put("visit", reply.visits.as_ref().map(of_visits));
    put("prompt", reply.prompt.as_ref().map(|prompt| json!(prompt)));
    put(
        "times",
        match reply.times {
            Times::Exactly(1) => None,
            Times::Exactly(times) => Some(json!(times)),
            Times::Always => Some(json!("*")),
        },
    );
    put("text", reply.text.as_ref().map(|text| json!(text)));
    put("structured", reply.structured.clone());
    put(
        "fail",
        reply.fail.as_ref().map(|fail| {
            let mut value = json!({ "class": fail.class.name(), "message": fail.message });
            if let Some(wait) = fail.retry_after {
                value["retry_after"] = json!(wait.0 / 1000);
            }
            value
        }),
    );
    Json::Object(keys)
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
