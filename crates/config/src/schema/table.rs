//! Converts key tables to object schemas.

use serde_json::{Map, Value as Json, json};

use crate::fields::{Field, Kind, Object};

/// Schemas of tables, each defined once and referenced, because tables can contain themselves.
#[derive(Default)]
pub(super) struct Tables(Map<String, Json>);

impl Tables {
    /// Returns all definitions as the value of `$defs`.
    pub(super) fn into_definitions(self) -> Json {
        Json::Object(self.0)
    }

    /// Returns the schema of a table that already has a definition.
    pub(super) fn definition(&mut self, object: &Object) -> &mut Map<String, Json> {
        let definition = self.0.get_mut(&key(object)).and_then(Json::as_object_mut);
        definition.expect("the table was described before")
    }

    /// Returns the schema of a kind.
    pub(super) fn kind(&mut self, kind: &Kind) -> Json {
        match kind {
            Kind::Text => json!({"type": "string"}),
            Kind::Path => json!({"type": "string", "minLength": 1}),
            Kind::Bool => json!({"type": "boolean"}),
            Kind::Integer { min, max } => integer(*min, *max),
            Kind::Number { min, above: true } => json!({"type": "number", "exclusiveMinimum": min}),
            Kind::Number { min, above: false } => json!({"type": "number", "minimum": min}),
            Kind::Duration { zero } => duration(*zero),
            Kind::OneOf(words) => json!({"type": "string", "enum": words}),
            Kind::List(item) => json!({"type": "array", "items": self.kind(item)}),
            Kind::Filled(item) => json!({"type": "array", "items": self.kind(item), "minItems": 1}),
            Kind::Map(value) => json!({"type": "object", "additionalProperties": self.kind(value)}),
            Kind::Single(value) => {
                let value = self.kind(value);
                json!({"type": "object", "additionalProperties": value, "minProperties": 1, "maxProperties": 1})
            }
            Kind::Object(object) => self.reference(object),
            Kind::Either(kinds) => {
                let kinds: Vec<Json> = kinds.iter().map(|kind| self.kind(kind)).collect();
                json!({"anyOf": kinds})
            }
            Kind::Any => json!({}),
            Kind::Refused(_) => json!({"not": {}}),
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
