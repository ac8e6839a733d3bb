//! Finds the smallest value that a JSON Schema accepts.

use saihai_model::Json;
use serde_json::{Map, json};

/// Maximum depth of a schema. A schema that refers to itself has no smallest value anyway.
const DEPTH: u32 = 32;

/// Returns a small value for a schema. The value may be invalid if the schema uses unsupported keywords, such as a
/// pattern or a condition. The caller must check it with the real validator.
pub(super) fn smallest(schema: &Json) -> Json {
    value(schema, schema, DEPTH)
}

fn value(root: &Json, schema: &Json, depth: u32) -> Json {
    let Some(object) = schema.as_object().filter(|_| depth > 0) else { return json!({}) };
    if let Some(fixed) = object.get("const").or_else(|| first(object, "enum")) {
        return fixed.clone();
    }
    if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| json!({}), |target| value(root, target, depth - 1));
    }
    if let Some(parts) = object.get("allOf").and_then(Json::as_array) {
        return value(root, &merged(root, object, parts), depth - 1);
    }
    if let Some(part) = first(object, "anyOf").or_else(|| first(object, "oneOf")) {
        return value(root, &merged(root, object, std::slice::from_ref(part)), depth - 1);
    }
    match kind(object) {
        "string" => string(object),
        "integer" | "number" => number(object),
        "boolean" => json!(false),
        "null" => Json::Null,
        "array" => array(root, object, depth),
        _ => members(root, object, depth),
    }
}

fn first<'a>(object: &'a Map<String, Json>, key: &str) -> Option<&'a Json> {
    object.get(key)?.as_array()?.first()
}

/// Returns the type of the schema, or infers it from the other keywords.
fn kind(object: &Map<String, Json>) -> &str {
    let types = match object.get("type") {
        Some(Json::Array(types)) => types.first().and_then(Json::as_str),
        Some(one) => one.as_str(),
        None => None,
    };
    let about = |words: &[&str]| words.iter().any(|word| object.contains_key(*word));
    match types {
        Some(kind) => kind,
        None if about(&["items", "prefixItems", "minItems"]) => "array",
        None if about(&["minLength", "maxLength", "pattern"]) => "string",
        None if about(&["minimum", "maximum", "multipleOf"]) => "number",
        None => "object",
    }
}

/// Merges schemas into one, as far as a union of their keywords can express it.
fn merged(root: &Json, own: &Map<String, Json>, parts: &[Json]) -> Json {
    let mut all = own.clone();
    ["allOf", "anyOf", "oneOf"].iter().for_each(|word| {
        all.remove(*word);
    });
    for part in parts {
        let reference = part.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix('#'));
        let part = reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(part);
        for (word, says) in part.as_object().into_iter().flatten() {
            match (all.get_mut(word), says) {
                (Some(Json::Array(before)), Json::Array(more)) if word == "required" => {
                    before.extend(more.iter().cloned());
                }
                (Some(Json::Object(before)), Json::Object(more)) if word == "properties" => {
                    before.extend(more.clone());
                }
                _ => {
                    all.insert(word.clone(), says.clone());
                }
            }
        }
    }
    Json::Object(all)
}

fn string(object: &Map<String, Json>) -> Json {
    let length = object.get("minLength").and_then(Json::as_u64).unwrap_or(0).min(10_000);
    let text = match object.get("format").and_then(Json::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("email") => "a@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some(_) | None => "",
    };
    let missing = usize::try_from(length).unwrap_or(0).saturating_sub(text.len());
    Json::String(format!("{text}{}", "x".repeat(missing)))
}

fn number(object: &Map<String, Json>) -> Json {
    let integer = kind(object) == "integer";
    let bound = |key: &str| object.get(key).and_then(Json::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let unit = step.unwrap_or(if integer { 1.0 } else { 0.5 });
    let fits = |value: f64| {
        bound("minimum").is_none_or(|least| value >= least)
            && bound("exclusiveMinimum").is_none_or(|least| value > least)
            && bound("maximum").is_none_or(|most| value <= most)
            && bound("exclusiveMaximum").is_none_or(|most| value < most)
    };
    let near = |edge: f64| {
        [(edge / unit).ceil() * unit, (edge / unit).ceil() * unit + unit, (edge / unit).floor() * unit - unit]
    };
    let edges = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].into_iter().filter_map(bound);
    let value = [0.0].into_iter().chain(edges.flat_map(near)).find(|value| fits(*value)).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the range checked here")]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn array(root: &Json, object: &Map<String, Json>, depth: u32) -> Json {
    let least = object.get("minItems").and_then(Json::as_u64).unwrap_or(0).min(1_000);
    let prefix = object.get("prefixItems").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let anything = json!({});
    let rest = object.get("items").unwrap_or(&anything);
    let items = (0..usize::try_from(least).unwrap_or(0))
        .map(|index| value(root, prefix.get(index).unwrap_or(rest), depth - 1));
    Json::Array(items.collect())
}

fn members(root: &Json, object: &Map<String, Json>, depth: u32) -> Json {
    let required = object.get("required").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let anything = json!({});
    let member = |name: &str| {
        let schema = object.get("properties").and_then(|known| known.get(name)).unwrap_or(&anything);
        (name.to_owned(), value(root, schema, depth - 1))
    };
    Json::Object(required.iter().filter_map(Json::as_str).map(member).collect())
}
