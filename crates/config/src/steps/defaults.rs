//! What holds in an agent's files where nothing is written (S-6): the defaults of the tables, and no others.

use saihai_model::Json;

use super::tables::{AGENT, CATALOGUE, CONFIG, REGISTRY};
use crate::{Field, Kind, ListedSetting, Object, SettingOrigin};

/// The key under which they are listed.
const KEY: &str = "steps";

/// The defaults of a format, where a key names one: each with the file and the key it belongs to.
pub fn format_defaults(key: &str) -> Option<Vec<ListedSetting>> {
    if key != KEY {
        return None;
    }
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
    Some(listed)
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
        if let Some(value) = field.default.and_then(|json| serde_json::from_str::<Json>(json).ok()) {
            listed.push(ListedSetting { key: key.clone(), value, origin: SettingOrigin::Default });
        }
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
