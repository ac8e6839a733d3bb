//! The arguments of a tool: their schema, and reading them.

use std::collections::BTreeMap;

use saihai_config::nearest;
use serde_json::{Map, Value, json};

use crate::error::CommandError;

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolParameter {
    pub(super) name: &'static str,
    pub(super) kind: ToolParameterKind,
    pub(super) is_required: bool,
    pub(super) about: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ToolParameterKind {
    Text,
    OneOf(&'static [&'static str]),
    /// A whole number between these two.
    Number(u64, u64),
    Flag,
    Texts,
    /// Texts by name.
    Values,
}

impl ToolParameter {
    pub(super) const fn required(name: &'static str, kind: ToolParameterKind, about: &'static str) -> Self {
        Self { name, kind, is_required: true, about }
    }

    pub(super) const fn optional(name: &'static str, kind: ToolParameterKind, about: &'static str) -> Self {
        Self { name, kind, is_required: false, about }
    }

    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ToolParameterKind::Text => json!({"type": "string"}),
            ToolParameterKind::OneOf(words) => json!({"type": "string", "enum": words}),
            ToolParameterKind::Number(least, most) => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            ToolParameterKind::Flag => json!({"type": "boolean"}),
            ToolParameterKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
            ToolParameterKind::Values => {
                json!({"type": "object", "additionalProperties": {"type": "string"}})
            }
        };
        schema["description"] = self.about.into();
        schema
    }

    fn accepts(&self, value: &Value) -> bool {
        let is_text = |value: &Value| value.is_string();
        match self.kind {
            ToolParameterKind::Text => is_text(value),
            ToolParameterKind::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            ToolParameterKind::Number(least, most) => {
                value.as_u64().is_some_and(|number| (least..=most).contains(&number))
            }
            ToolParameterKind::Flag => value.is_boolean(),
            ToolParameterKind::Texts => value.as_array().is_some_and(|texts| texts.iter().all(is_text)),
            ToolParameterKind::Values => value.as_object().is_some_and(|values| values.values().all(is_text)),
        }
    }

    fn expected(&self) -> String {
        match self.kind {
            ToolParameterKind::Text => "a text".to_owned(),
            ToolParameterKind::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                format!("one of {}", words.join(", "))
            }
            ToolParameterKind::Number(least, most) => format!("a whole number from {least} to {most}"),
            ToolParameterKind::Flag => "`true` or `false`".to_owned(),
            ToolParameterKind::Texts => "a list of texts".to_owned(),
            ToolParameterKind::Values => "an object whose values are texts".to_owned(),
        }
    }
}

/// Returns the JSON Schema of the arguments of a tool.
pub(super) fn schema(parameters: &[ToolParameter]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        parameters.iter().map(|parameter| (parameter.name.to_owned(), parameter.schema())).collect();
    let required = parameters.iter().filter(|parameter| parameter.is_required);
    let required: Vec<&str> = required.map(|parameter| parameter.name).collect();
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), properties.into());
    if !required.is_empty() {
        schema.insert("required".to_owned(), required.into());
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    schema
}

/// The arguments of a call. They fit the parameters of the tool.
#[derive(Debug, Default)]
pub(super) struct ToolArguments(Map<String, Value>);

impl ToolArguments {
    /// Checks the arguments. `null` counts as a missing argument, because some clients send it.
    pub(super) fn read(
        given: Option<Map<String, Value>>,
        parameters: &[ToolParameter],
    ) -> Result<Self, CommandError> {
        let mut given = given.unwrap_or_default();
        given.retain(|_, value| !value.is_null());
        for (name, value) in &given {
            let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
                let error = CommandError::usage(format!("there is no argument `{name}`"));
                let names = parameters.iter().map(|parameter| parameter.name);
                return Err(match nearest(name, names) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                });
            };
            if !parameter.accepts(value) {
                let expected = parameter.expected();
                return Err(CommandError::usage(format!("`{name}` must be {expected}")));
            }
        }
        let missing = parameters.iter().find(|one| one.is_required && !given.contains_key(one.name));
        match missing {
            Some(parameter) => {
                let error = CommandError::usage(format!("the argument `{}` is missing", parameter.name));
                Err(error.hint(parameter.about))
            }
            None => Ok(Self(given)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// Returns a required text.
    pub(super) fn required_text(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name)?.as_u64()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.0.get(name)?.as_bool()
    }

    pub(super) fn texts(&self, name: &str) -> Vec<&str> {
        let texts = self.0.get(name).and_then(Value::as_array);
        texts.into_iter().flatten().filter_map(Value::as_str).collect()
    }

    pub(super) fn values(&self, name: &str) -> BTreeMap<&str, &str> {
        let values = self.0.get(name).and_then(Value::as_object);
        let pairs = values.into_iter().flatten();
        pairs.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMETERS: [ToolParameter; 4] = [
        ToolParameter::required("run", ToolParameterKind::Text, "Run id"),
        ToolParameter::optional("what", ToolParameterKind::OneOf(&["reply", "diff"]), "Part"),
        ToolParameter::optional("limit", ToolParameterKind::Number(1, 9), "Most"),
        ToolParameter::optional("values", ToolParameterKind::Values, "Values"),
    ];

    fn read(given: Value) -> Result<ToolArguments, String> {
        let read = ToolArguments::read(given.as_object().cloned(), &PARAMETERS);
        read.map_err(|error| error.message().to_owned())
    }

    // N-20
    #[test]
    fn arguments_are_checked_by_the_table_that_makes_their_schema() {
        let arguments = read(json!({"run": "last", "what": null, "limit": 3, "values": {"a": "b"}})).unwrap();
        assert_eq!((arguments.required_text("run"), arguments.text("what")), ("last", None));
        assert_eq!((arguments.number("limit"), arguments.flag("limit")), (Some(3), None));
        assert_eq!(arguments.values("values"), [("a", "b")].into());
        for (given, why) in [
            (json!({}), "the argument `run` is missing"),
            (json!({"run": 3}), "`run` must be a text"),
            (json!({"run": "x", "rnu": "x"}), "there is no argument `rnu`"),
            (json!({"run": "x", "what": "all"}), "`what` must be one of `reply`, `diff`"),
            (json!({"run": "x", "limit": 0}), "`limit` must be a whole number from 1 to 9"),
            (json!({"run": "x", "limit": 1.5}), "`limit` must be a whole number from 1 to 9"),
            (json!({"run": "x", "values": {"a": 1}}), "`values` must be an object whose values are texts"),
        ] {
            assert_eq!(read(given).unwrap_err(), why);
        }
        let schema = Value::Object(schema(&PARAMETERS));
        assert_eq!(schema["required"], json!(["run"]));
        assert_eq!(schema["properties"]["limit"]["maximum"], 9);
        assert_eq!(schema["additionalProperties"], false);
    }
}
