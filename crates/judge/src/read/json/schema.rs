//! The schema of a structured value.

use saihai_json_schema::{JsonSchema, JsonSchemaViolation};
use saihai_model::Json;

use super::super::excerpt;

#[derive(Debug)]
pub(super) struct Schema<'a> {
    source: &'a Json,
    compiled: JsonSchema,
}

impl<'a> Schema<'a> {
    /// Maximum number of reported violations: an agent corrects the visible ones, and its next reply is checked again.
    const TOLD: usize = 20;
    const CHARACTERS: usize = 300;

    /// Compiles a schema. An unusable schema is a violation that no reply can fix.
    pub(super) fn new(source: &'a Json) -> Result<Self, String> {
        JsonSchema::compile(source).map(|compiled| Self { source, compiled }).map_err(|errors| {
            let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let reason = excerpt::head(&reasons.join("; "), Self::CHARACTERS);
            format!("the schema of the output cannot be used: {reason}")
        })
    }

    pub(super) fn accepts(&self, value: &Json) -> bool {
        self.compiled.accepts(value)
    }

    /// Returns the violations of a value, up to [`Self::TOLD`].
    pub(super) fn violations(&self, value: &Json) -> Vec<String> {
        let found = self.compiled.violations(value, Self::TOLD + 1);
        let mut told: Vec<String> = found.iter().take(Self::TOLD).map(violation).collect();
        if found.len() > Self::TOLD {
            told.push("and more".to_owned());
        }
        told
    }

    /// Adds the defaults of missing properties.
    pub(super) fn with_defaults(&self, mut value: Json) -> Json {
        let properties = self.source.get("properties").and_then(Json::as_object);
        if let (Some(object), Some(properties)) = (value.as_object_mut(), properties) {
            for (name, property) in properties {
                if let Some(default) = property.get("default").filter(|_| !object.contains_key(name)) {
                    object.insert(name.clone(), default.clone());
                }
            }
        }
        value
    }
}

fn violation(one: &JsonSchemaViolation) -> String {
    let what = excerpt::head(&one.message, Schema::CHARACTERS);
    match one.pointer.as_str() {
        "" => what,
        pointer => format!("{}: {what}", excerpt::head(pointer, Schema::CHARACTERS)),
    }
}
