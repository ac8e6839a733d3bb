//! Default values of an agent's files (S-6). All come from the tables, except the few below.

use saihai_model::Json;

use super::tables::{AGENT, CATALOGUE, COMPLETION_LABELS, CONFIG, REGISTRY};
use crate::{Field, Kind, ListedSetting, Object, SettingOrigin};

/// Setting key that lists these defaults.
const KEY: &str = "steps";

/// Defaults of keys whose readers apply them, as JSON. Each key starts with its file.
const UNTABLED: [(&str, &str); 7] = [
    ("agent.json: displayName", "\"{name}\""),
    ("agent.json: actions", "{\"enabled\": false}"),
    ("agent.json: github", "{\"enabled\": false}"),
    ("steps_registry.json: steps.inputs.required", "true"),
    ("steps_registry.json: steps.inputs.onMissing", "\"error\""),
    ("steps_registry.json: steps.outputSchema.$strict", "false"),
    ("steps_registry.json: steps.outputSchema.KEY.required", "true"),
];

/// Returns the defaults of the format that `key` names, each with its file and key.
pub fn format_defaults(key: &str) -> Option<Vec<ListedSetting>> {
    (key == KEY).then(all_format_defaults)
}

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
    // Group keys by file, in the order of the files.
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

/// Returns the tables that a key's value can use.
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
