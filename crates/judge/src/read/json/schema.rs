//! What a structured value must look like.

use jsonschema::{PatternOptions, ValidationError, Validator};
use saihai_model::Json;

use super::super::excerpt;

/// A JSON Schema, ready to be asked.
#[derive(Debug)]
pub(super) struct Schema<'a> {
    source: &'a Json,
    validator: Validator,
}

impl<'a> Schema<'a> {
    /// The most violations that are told: an agent corrects what it is shown and is read again.
    const TOLD: usize = 20;
    /// The longest one.
    const CHARACTERS: usize = 300;

    /// Prepares a schema. One that cannot be used is a violation that no reply can mend.
    pub(super) fn new(source: &'a Json) -> Result<Self, String> {
        let patterns = PatternOptions::fancy_regex().backtrack_limit(100_000).size_limit(1 << 20);
        jsonschema::options()
            .offline()
            .with_pattern_options(patterns)
            .build(source)
            .map(|validator| Self { source, validator })
            .map_err(|error| {
                let reason = excerpt::head(&error.to_string(), Self::CHARACTERS);
                format!("the schema of the output cannot be used: {reason}")
            })
    }

    /// Whether a value satisfies it.
    pub(super) fn accepts(&self, value: &Json) -> bool {
        self.validator.is_valid(value)
    }

    /// What is wrong with a value, and where.
    pub(super) fn violations(&self, value: &Json) -> Vec<String> {
        let mut errors = self.validator.iter_errors(value);
        let mut told: Vec<String> = errors.by_ref().take(Self::TOLD).map(|error| violation(&error)).collect();
        if errors.next().is_some() {
            told.push("and more".to_owned());
        }
        told
    }

    /// The value with the defaults of properties it leaves out.
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

/// A place and what is wrong there. A value of one word is quoted, a large one is not.
fn violation(error: &ValidationError<'_>) -> String {
    let is_large = error.instance().is_object() || error.instance().is_array();
    let what = if is_large { error.masked().to_string() } else { error.to_string() };
    let what = excerpt::head(&what, Schema::CHARACTERS);
    match error.instance_path().as_str() {
        "" => what,
        place => format!("{}: {what}", excerpt::head(place, Schema::CHARACTERS)),
    }
}
