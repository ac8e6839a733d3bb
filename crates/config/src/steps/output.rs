//! JSON output that a reply must contain (S-8, S-45).

use saihai_model::Json;
use serde_json::{Map, json};

use super::json_schema::{self, UnusableSchema};
use crate::{Cursor, Diagnostics, Kind, Located, Node, Value, did_you_mean, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Output {
    pub(super) schema: Json,
    pub(super) keys: Vec<Key>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Key {
    pub(super) name: Located<String>,
    /// True if every valid output has the key.
    pub(super) certain: bool,
}

/// Types in the short form.
const TYPES: Kind = Kind::OneOf(&["string", "number", "boolean", "object", "array"]);

impl Output {
    /// Reads the short form or a JSON Schema. In a JSON Schema, `type` is a string.
    pub(super) fn read(value: &Cursor<'_>, step: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        if !value.must_be(&Kind::Map(&Kind::Any), diagnostics) {
            return None;
        }
        let is_schema = value.get("type").is_some_and(|kind| kind.node().as_text().is_some());
        Some(if is_schema { of_schema(value, diagnostics) } else { of_short(value, step, diagnostics) })
    }
}

fn of_schema(value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Output {
    for UnusableSchema { pointer, why, hint } in json_schema::check(&value.node().to_json()) {
        let message = format!("this schema cannot be used: {why}");
        let diagnostic = inside(value, &pointer).error("bad-value", message).label("nothing can fit this");
        diagnostics.push(diagnostic.maybe_hint(hint));
    }
    let required: Vec<String> = value
        .get("required")
        .map(|list| list.items().filter_map(|item| Some(item.text()?.value)).collect())
        .unwrap_or_default();
    let properties = value.get("properties").map(|map| map.entries().collect::<Vec<_>>()).unwrap_or_default();
    let keys = properties.into_iter().map(|(name, property)| {
        let certain = required.contains(&name.value) || property.get("default").is_some();
        Key { certain, name }
    });
    Output { keys: keys.collect(), schema: value.node().to_json() }
}

/// Returns the value at a JSON pointer, or its deepest existing ancestor.
fn inside<'d>(value: &Cursor<'d>, pointer: &str) -> Cursor<'d> {
    let mut here = value.clone();
    for step in pointer.split('/').skip(1) {
        let key = step.replace("~1", "/").replace("~0", "~");
        let next = here.get(&key).or_else(|| here.items().nth(key.parse().ok()?));
        let Some(next) = next else { break };
        here = next;
    }
    here
}

fn of_short(value: &Cursor<'_>, step: &str, diagnostics: &mut Diagnostics) -> Output {
    let (mut properties, mut required, mut keys) = (Map::new(), Vec::new(), Vec::new());
    let mut strict = false;
    for (name, entry) in value.entries() {
        match name.value.as_str() {
            "$namespace" => {
                let written = entry.node().as_text().unwrap_or_default();
                if written != step {
                    let message = format!("`$namespace` must be {}, not {}", quoted(step), quoted(written));
                    diagnostics.push(entry.error("bad-value", message).label("not the step's id"));
                }
            }
            "$strict" => {
                if entry.must_be(&Kind::Bool, diagnostics) {
                    strict = entry.node().as_bool().unwrap_or_default();
                }
            }
            _ => {
                let Some(property) = read_property(&entry, diagnostics) else { continue };
                if property.required {
                    required.push(name.value.clone());
                }
                properties.insert(name.value.clone(), property.schema);
                keys.push(Key { name, certain: property.certain });
            }
        }
    }
    let mut schema = json!({"type": "object", "properties": properties, "required": required});
    if strict {
        schema["additionalProperties"] = json!(false);
    }
    Output { schema, keys }
}

struct Property {
    schema: Json,
    required: bool,
    certain: bool,
}

const KEYS: [&str; 4] = ["type", "required", "description", "default"];

fn read_property(entry: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Property> {
    if !entry.must_be(&Kind::Map(&Kind::Any), diagnostics) {
        return None;
    }
    for (key, _) in entry.entries() {
        if !KEYS.contains(&key.value.as_str()) {
            let message = format!("unknown key {}", quoted(&key.value));
            let diagnostic = key.error("unknown-key", message).label("not a key of an output");
            diagnostics.push(diagnostic.maybe_hint(did_you_mean(&key.value, KEYS)));
        }
    }
    let Some(kind) = entry.get("type") else {
        diagnostics
            .push(entry.error("missing-key", "an output needs `type`").label("`type` is missing here"));
        return None;
    };
    if !kind.must_be(&TYPES, diagnostics) {
        return None;
    }
    let kind = kind.node().as_text().unwrap_or_default();
    let required = match entry.get("required") {
        Some(flag) if flag.must_be(&Kind::Bool, diagnostics) => flag.node().as_bool().unwrap_or(true),
        Some(_) | None => true,
    };
    let mut schema = json!({"type": kind});
    if let Some(about) = entry.get("description").filter(|about| about.must_be(&Kind::Text, diagnostics)) {
        schema["description"] = about.node().to_json();
    }
    let default = entry.get("default");
    if let Some(default) = &default {
        check_default(default, kind, required, diagnostics);
        schema["default"] = default.node().to_json();
    }
    Some(Property { schema, required, certain: required || default.is_some() })
}

fn check_default(default: &Cursor<'_>, kind: &str, required: bool, diagnostics: &mut Diagnostics) {
    if required {
        let message = "`default` is only for an output with `\"required\": false`";
        diagnostics.push(default.error("bad-value", message).label("never used"));
    }
    if !is_of(default.node(), kind) {
        let message = format!("the default must be of type `{kind}`");
        diagnostics.push(default.error("bad-type", message).label(default.node().value.kind()));
    }
}

fn is_of(node: &Node, kind: &str) -> bool {
    match &node.value {
        Value::Text(_) | Value::Date(_) => kind == "string",
        Value::Integer(_) | Value::Float(_) => kind == "number",
        Value::Bool(_) => kind == "boolean",
        Value::List(_) => kind == "array",
        Value::Map(_) => kind == "object",
        Value::Null => false,
    }
}
