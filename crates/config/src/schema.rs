//! JSON Schemas, generated from the readers' own tables: an editor marks exactly what a reader
//! rejects. A schema covers keys and kinds only. Readers check relations between parts of a file.

use serde_json::{Map, Value as Json, json};

use crate::fields::{Field, Object, ValueKind};
use crate::hats::ORCH;
use crate::piece::PIECE;
use crate::review::OutputSchema;
use crate::script::{ENTRY, SCRIPT};
use crate::settings::SETTINGS;
use crate::steps::{AGENT, CATALOGUE, CONFIG, REGISTRY};
use crate::{issues, review};

/// All schema names with descriptions.
pub const SCHEMAS: [(&str, &str); 9] = [
    ("piece", "a piece, as in `.saihai/pieces/NAME.yaml`"),
    ("hats", "hats, as in `orch.yml`"),
    ("agent", "a step agent, as in `.agent/NAME/agent.json`"),
    ("steps-registry", "the steps of an agent, as in `.agent/NAME/steps_registry.json`"),
    ("steps-config", "settings of an agent for one machine, as in `.agent/NAME/config.json`"),
    ("review-agent", "a review agent, as in `.saihai/agents/NAME.toml`"),
    ("settings", "settings, as in `.saihai/config.toml`"),
    ("script", "a script file, or a mock scenario of TAKT"),
    ("issue", "the front matter of an issue, as in `.saihai/issues/7-login.md`"),
];

/// Returns a schema by name, in JSON Schema 2020-12.
pub fn schema(name: &str) -> Option<Json> {
    match name {
        "piece" => Some(of_table(name, &PIECE)),
        "agent" => Some(of_table(name, &AGENT)),
        "steps-registry" => Some(of_registry(name)),
        "steps-config" => Some(of_table(name, &CONFIG)),
        "hats" => Some(of_table(name, &ORCH)),
        "review-agent" => Some(of_table(name, &review::AGENT)),
        "settings" => Some(of_table(name, &SETTINGS)),
        "script" => Some(of_script()),
        "issue" => Some(of_table(name, &issues::ISSUE)),
        _ => name.strip_prefix("review/").and_then(OutputSchema::named).map(of_reply),
    }
}

/// Returns the reply schema of a review agent as providers receive it, plus `$schema` and a title.
fn of_reply(schema: OutputSchema) -> Json {
    let mut json = schema.json();
    json["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    json["title"] = json!(format!("Saihai: {}", schema.about()));
    json
}

fn of_table(name: &str, object: &'static Object) -> Json {
    let mut tables = Tables::default();
    let root = tables.kind(&ValueKind::Object(object));
    document(name, root, tables)
}

/// Accepts a mapping as a Saihai script and a list as a TAKT scenario. Like TAKT, it ignores
/// unknown keys of a scenario.
fn of_script() -> Json {
    let mut tables = Tables::default();
    let own = tables.kind(&ValueKind::Object(&SCRIPT));
    let scenario = json!({"type": "array", "items": tables.kind(&ValueKind::Object(&ENTRY))});
    let entry = tables.definition(&ENTRY);
    entry.remove("additionalProperties");
    entry.insert("required".to_owned(), json!(["content"]));
    document("script", json!({"anyOf": [own, scenario]}), tables)
}

/// Accepts steps with a flow, or only a list of prompts.
fn of_registry(name: &str) -> Json {
    let mut tables = Tables::default();
    let shapes = [&REGISTRY, &CATALOGUE].map(|object| tables.kind(&ValueKind::Object(object)));
    document(name, json!({"anyOf": shapes}), tables)
}

fn document(name: &str, mut root: Json, tables: Tables) -> Json {
    let about = SCHEMAS.iter().find(|(schema, _)| *schema == name).map(|(_, about)| *about);
    root["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    root["title"] = json!(format!("Saihai: {}", about.unwrap_or(name)));
    root["$defs"] = tables.into_definitions();
    root
}

/// Schemas of tables, each defined once and referenced, because tables can contain themselves.
#[derive(Default)]
struct Tables(Map<String, Json>);

impl Tables {
    /// Returns all definitions as the value of `$defs`.
    fn into_definitions(self) -> Json {
        Json::Object(self.0)
    }

    /// Returns the schema of a table that already has a definition.
    fn definition(&mut self, object: &Object) -> &mut Map<String, Json> {
        let definition = self.0.get_mut(&key(object)).and_then(Json::as_object_mut);
        definition.expect("the table was described before")
    }

    /// Returns the schema of a kind.
    fn kind(&mut self, kind: &ValueKind) -> Json {
        match kind {
            ValueKind::Text => json!({"type": "string"}),
            ValueKind::Path => json!({"type": "string", "minLength": 1}),
            ValueKind::Bool => json!({"type": "boolean"}),
            ValueKind::Integer { min, max } => integer(*min, *max),
            ValueKind::Number { min, above: true } => json!({"type": "number", "exclusiveMinimum": min}),
            ValueKind::Number { min, above: false } => json!({"type": "number", "minimum": min}),
            ValueKind::Duration { zero } => duration(*zero),
            ValueKind::OneOf(words) => json!({"type": "string", "enum": words}),
            ValueKind::List(item) => json!({"type": "array", "items": self.kind(item)}),
            ValueKind::Filled(item) => json!({"type": "array", "items": self.kind(item), "minItems": 1}),
            ValueKind::Map(value) => json!({"type": "object", "additionalProperties": self.kind(value)}),
            ValueKind::Single(value) => {
                let value = self.kind(value);
                json!({"type": "object", "additionalProperties": value, "minProperties": 1, "maxProperties": 1})
            }
            ValueKind::Object(object) => self.reference(object),
            ValueKind::Either(kinds) => {
                let kinds: Vec<Json> = kinds.iter().map(|kind| self.kind(kind)).collect();
                json!({"anyOf": kinds})
            }
            ValueKind::Any => json!({}),
            ValueKind::Refused(_) => json!({"not": {}}),
        }
    }

    fn reference(&mut self, object: &'static Object) -> Json {
        let key = key(object);
        if !self.0.contains_key(&key) {
            // A placeholder stops the recursion if the object contains itself.
            self.0.insert(key.clone(), Json::Null);
            let described = self.object(object);
            self.0.insert(key.clone(), described);
        }
        json!({"$ref": format!("#/$defs/{key}")})
    }

    fn object(&mut self, object: &'static Object) -> Json {
        let mut properties = Map::new();
        let (mut required, mut spellings) = (Vec::new(), Vec::new());
        for field in object.fields.iter().filter(|field| !field.is_refused()) {
            properties.insert(field.name.to_owned(), self.field(field));
            for alias in field.aliases {
                let mut other = self.field(field);
                other["description"] =
                    json!(format!("another spelling of `{}`: {}", field.name, field.about));
                properties.insert((*alias).to_owned(), other);
            }
            match (field.required, field.aliases.is_empty()) {
                (true, true) => required.push(field.name),
                (_, false) => spellings.push(one_spelling(field)),
                (false, true) => {}
            }
        }
        let mut schema = json!({
            "type": "object",
            "description": object.title,
            "properties": properties,
            "additionalProperties": false,
        });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if !spellings.is_empty() {
            schema["allOf"] = json!(spellings);
        }
        schema
    }

    fn field(&mut self, field: &Field) -> Json {
        let mut schema = self.kind(field.form.as_ref().unwrap_or(&field.kind));
        if !field.about.is_empty() {
            schema["description"] = json!(field.about);
        }
        if let Some(default) = field.default.and_then(|text| serde_json::from_str::<Json>(text).ok()) {
            schema["default"] = default;
        }
        schema
    }
}

/// Returns the definition key: `judges-rule` for `a judge's rule`.
fn key(object: &Object) -> String {
    let title = object.title;
    let noun = ["a ", "an ", "the "].iter().find_map(|article| title.strip_prefix(article)).unwrap_or(title);
    noun.replace(['`', '\''], "").replace(' ', "-")
}

/// Allows only one spelling of a key with aliases.
fn one_spelling(field: &Field) -> Json {
    let all: Vec<&str> = std::iter::once(field.name).chain(field.aliases.iter().copied()).collect();
    let mut alone: Vec<Json> = all.iter().map(|one| json!({"required": [one]})).collect();
    if !field.required {
        let given: Vec<Json> = alone.clone();
        alone.push(json!({"not": {"anyOf": given}}));
    }
    json!({"oneOf": alone})
}

fn integer(min: i64, max: i64) -> Json {
    let mut schema = json!({"type": "integer", "minimum": min});
    if max < i64::MAX {
        schema["maximum"] = json!(max);
    }
    schema
}

/// Accepts whole seconds or a text with a unit.
fn duration(zero: bool) -> Json {
    let pattern = if zero { "^[0-9]+[smh]?$" } else { "^0*[1-9][0-9]*[smh]?$" };
    let least = i64::from(!zero);
    json!({"anyOf": [{"type": "string", "pattern": pattern}, {"type": "integer", "minimum": least}]})
}

#[cfg(test)]
mod tests;
