//! Keys of an agent's files. Readers, schemas, the manual and the listing of defaults all use these tables.

mod agent;
mod registry;

use saihai_model::Json;

pub use self::agent::{AGENT, CONFIG};
pub(super) use self::agent::{
    CHECK_BUDGET, COMPLETION_LABELS, COMPOSITE, CUSTOM, EXTERNAL_STATE, ITERATION_BUDGET, KEYWORD_SIGNAL,
    PHASE_COMPLETION, STEP_MACHINE, STRUCTURED_SIGNAL,
};
pub use self::registry::{CATALOGUE, REGISTRY};
pub(super) use self::registry::{INPUTS_OF_STEPS, OUTPUT_PROPERTY, STEP_INPUT};
use crate::{Field, ListedSetting, Object, SettingOrigin, ValueKind};

/// Permission modes, in the agent's own terms.
const PERMISSIONS: ValueKind = ValueKind::OneOf(&["plan", "acceptEdits", "bypassPermissions", "default"]);

/// `$schema`, which every file may have and Saihai ignores.
const SCHEMA: Field = text("$schema", "for editors; no effect");

const fn field(name: &'static str, kind: ValueKind, about: &'static str) -> Field {
    Field::new(name, kind).about(about)
}

const fn text(name: &'static str, about: &'static str) -> Field {
    field(name, ValueKind::Text, about)
}

const fn texts(name: &'static str, about: &'static str) -> Field {
    field(name, ValueKind::List(&ValueKind::Text), about)
}

const fn path(name: &'static str, about: &'static str) -> Field {
    field(name, ValueKind::Path, about)
}

const fn flag(name: &'static str, about: &'static str) -> Field {
    field(name, ValueKind::Bool, about)
}

const fn object(name: &'static str, table: &'static Object, about: &'static str) -> Field {
    field(name, ValueKind::Object(table), about)
}

const fn required(mut field: Field) -> Field {
    field.required = true;
    field
}

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
            ValueKind::Object(object) => found.push(object),
            ValueKind::List(one) | ValueKind::Filled(one) | ValueKind::Map(one) | ValueKind::Single(one) => {
                open.push(*one)
            }
            ValueKind::Either(kinds) => open.extend(kinds.iter().copied()),
            _ => {}
        }
    }
    found.reverse();
    found
}
