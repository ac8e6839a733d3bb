//! What holds in an agent's files where nothing is written (S-6): the defaults of the tables, and no others.

use saihai_model::Json;

use super::tables::{AGENT, CATALOGUE, COMPLETION_LABELS, CONFIG, REGISTRY};
use crate::{Field, Kind, ListedSetting, Object, SettingOrigin};

/// The key under which they are listed.
const KEY: &str = "steps";

/// Defaults of keys that their readers look at themselves, as JSON, each behind its file.
const UNTABLED: [(&str, &str); 7] = [
    ("agent.json: displayName", "\"{name}\""),
    ("agent.json: actions", "{\"enabled\": false}"),
    ("agent.json: github", "{\"enabled\": false}"),
    ("steps_registry.json: steps.inputs.required", "true"),
    ("steps_registry.json: steps.inputs.onMissing", "\"error\""),
    ("steps_registry.json: steps.outputSchema.$strict", "false"),
    ("steps_registry.json: steps.outputSchema.KEY.required", "true"),
];

/// The defaults of a format, where a key names one: each with the file and the key it belongs to.
pub fn format_defaults(key: &str) -> Option<Vec<ListedSetting>> {
    (key == KEY).then(all_format_defaults)
}

/// The defaults of all formats that have any.
pub fn all_format_defaults() -> Vec<ListedSetting> {
    let files = [
        ("agent.json", &AGENT),
        ("steps_registry.json", &REGISTRY),
        ("steps_registry.json (agentId)", &CATALOGUE),
        ("config.json", &CONFIG),
    ];
    let mut listed = Vec::new();
    for (file, object) in files {
        walk(object, &format!("{file}: "), &mut Vec::new(), &mut listed);
    }
    let labels = "agent.json: runner.integrations.github.labels.completion.";
    walk(&COMPLETION_LABELS, labels, &mut Vec::new(), &mut listed);
    listed.extend(UNTABLED.iter().filter_map(|(key, json)| default_of((*key).to_owned(), json)));
    // Keys of one file stand together, in the order of the files.
    let rank =
        |one: &ListedSetting| files.iter().position(|(file, _)| one.key.starts_with(&format!("{file}: ")));
    listed.sort_by_key(rank);
    listed
}

fn default_of(key: String, json: &str) -> Option<ListedSetting> {
    let value = serde_json::from_str::<Json>(json).ok()?;
    Some(ListedSetting { key, value, origin: SettingOrigin::Default })
}

fn walk(
    object: &'static Object,
    before: &str,
    around: &mut Vec<&'static str>,
    listed: &mut Vec<ListedSetting>,
) {
    // A table can contain itself.
    if around.contains(&object.title) {
        return;
    }
    around.push(object.title);
    for field in object.fields {
        let key = format!("{before}{}", field.name);
        listed.extend(field.default.and_then(|json| default_of(key.clone(), json)));
        for below in inside(field) {
            walk(below, &format!("{key}."), around, listed);
        }
    }
    around.pop();
}

/// The tables of what can stand under a key.
fn inside(field: &Field) -> Vec<&'static Object> {
    let mut open = vec![field.form.unwrap_or(field.kind)];
    let mut found = Vec::new();
    while let Some(kind) = open.pop() {
        match kind {
            Kind::Object(object) => found.push(object),
            Kind::List(one) | Kind::Filled(one) | Kind::Map(one) | Kind::Single(one) => open.push(*one),
            Kind::Either(kinds) => open.extend(kinds.iter().copied()),
            Kind::Text
            | Kind::Path
            | Kind::Bool
            | Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Duration { .. }
            | Kind::OneOf(_)
            | Kind::Any
            | Kind::Refused(_) => {}
        }
    }
    found.reverse();
    found
}
