//! Structured answers: the schema that an API accepts, and the check of a value against its schema.

use saihai_json_schema::JsonSchema;
use saihai_model::{Ask, Json};
use serde_json::{Value, json};

/// A structured answer, or the reason for its absence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Structured {
    /// The value, if it satisfies the schema.
    pub(crate) value: Option<Json>,
    /// The reason, if a value is required and missing.
    pub(crate) error: Option<String>,
}

/// Maximum number of reported violations.
const TOLD: usize = 5;
/// Maximum length of one violation in characters.
const CHARACTERS: usize = 300;

impl Structured {
    /// Reads the structured answer: `value` if the provider has a field for it, else the whole text.
    pub(crate) fn of(ask: &Ask, value: Option<Json>, text: &str) -> Self {
        let Some(schema) = &ask.schema else { return Self { value, error: None } };
        let value = match value {
            Some(value) => value,
            None => match serde_json::from_str(text.trim()) {
                Ok(value) => value,
                Err(error) => return Self::wrong(format!("the reply is not JSON: {error}")),
            },
        };
        match violations(schema, &value) {
            None => Self { value: Some(value), error: None },
            Some(error) => Self::wrong(error),
        }
    }

    fn wrong(error: String) -> Self {
        Self { value: None, error: Some(error) }
    }
}

/// Returns all violations of a value, or `None` if it is valid.
fn violations(schema: &Json, value: &Json) -> Option<String> {
    let schema = match JsonSchema::compile(schema) {
        Ok(schema) => schema,
        Err(errors) => {
            let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
            return Some(format!("the schema cannot be used: {}", cut(&reasons.join("; "))));
        }
    };
    let found = schema.violations(value, TOLD);
    let told: Vec<String> = found.iter().map(|one| cut(&one.to_string())).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn cut(text: &str) -> String {
    text.chars().take(CHARACTERS).collect()
}

/// Name of the tool through which a model gives a structured answer, for APIs without a better way.
pub(super) const ANSWER: &str = "answer";

/// A schema that the APIs accept: its value is always an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SchemaForm {
    pub(super) schema: Value,
    /// The field `value` of the object contains the requested value.
    wrapped: bool,
}

impl SchemaForm {
    pub(super) fn new(schema: &Value) -> Self {
        let is_object =
            schema["type"] == "object" || (schema["type"].is_null() && schema["properties"].is_object());
        if is_object {
            let mut schema = schema.clone();
            schema["type"] = json!("object");
            return Self { schema, wrapped: false };
        }
        let schema = json!({
            "type": "object",
            "properties": { "value": schema },
            "required": ["value"],
            "additionalProperties": false,
        });
        Self { schema, wrapped: true }
    }

    /// Returns the requested value from the received object.
    pub(super) fn open(&self, mut object: Value) -> Value {
        match object.get_mut("value") {
            Some(value) if self.wrapped => value.take(),
            Some(_) | None => object,
        }
    }

    /// Returns true if the API can guarantee the schema: every object requires all its fields and allows no
    /// others. Any other schema with a guarantee is an error.
    pub(super) fn is_strict(&self) -> bool {
        is_closed(&self.schema)
    }
}

/// Returns true if every object in a schema requires all its fields and allows no others.
pub(crate) fn is_closed(schema: &Value) -> bool {
    match schema {
        Value::Object(fields) => {
            let closed = match fields.get("properties") {
                Some(Value::Object(properties)) => {
                    let required = fields.get("required").and_then(Value::as_array);
                    let is_required = |name: &String| {
                        required.is_some_and(|names| names.iter().any(|required| required == name.as_str()))
                    };
                    fields.get("additionalProperties") == Some(&json!(false))
                        && properties.keys().all(is_required)
                }
                Some(_) => false,
                None => fields.get("type") != Some(&json!("object")),
            };
            closed && fields.values().all(is_closed)
        }
        Value::Array(items) => items.iter().all(is_closed),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    mod structured {
        use serde_json::json;

        use super::super::*;
        use crate::testing::ask;

        fn check(
            schema: Option<Json>,
            value: Option<Json>,
            text: &str,
            expected: Result<Option<Json>, &str>,
        ) {
            let structured = Structured::of(&Ask { schema, ..ask() }, value, text);
            let expected = match expected {
                Ok(value) => Structured { value, error: None },
                Err(error) => Structured { value: None, error: Some(error.to_owned()) },
            };
            assert_eq!(structured, expected);
        }

        fn approval() -> Option<Json> {
            Some(
                json!({"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}),
            )
        }

        // C-25
        #[test]
        fn a_value_that_satisfies_the_schema_is_kept_from_its_slot_or_from_the_text() {
            let good = json!({"approved": true});
            check(approval(), Some(good.clone()), "done", Ok(Some(good.clone())));
            check(approval(), None, " {\"approved\":true}\n", Ok(Some(good)));
        }

        // C-25, Connections case 35: an agent's own validation is never trusted.
        #[test]
        fn any_other_value_is_absent_and_the_error_says_where() {
            check(approval(), Some(json!({})), "done", Err("\"approved\" is a required property"));
            check(
                approval(),
                Some(json!({"approved": "yes"})),
                "done",
                Err("/approved: \"yes\" is not of type \"boolean\""),
            );
            check(
                approval(),
                None,
                "no idea",
                Err("the reply is not JSON: expected ident at line 1 column 2"),
            );
        }

        #[test]
        fn nothing_is_missed_where_nothing_was_asked_for() {
            check(None, None, "done", Ok(None));
            check(None, Some(json!(1)), "done", Ok(Some(json!(1))));
        }

        #[test]
        fn a_schema_that_cannot_be_used_is_said_and_nothing_passes_it() {
            let structured =
                Structured::of(&Ask { schema: Some(json!({"type": 3})), ..ask() }, Some(json!(1)), "");
            assert_eq!(structured.value, None);
            assert!(structured.error.is_some_and(|error| error.starts_with("the schema cannot be used: ")));
        }
    }

    mod form {
        use super::super::*;

        #[test]
        fn a_value_that_is_no_object_is_asked_for_inside_of_one() {
            let form = SchemaForm::new(&json!({ "type": "array", "items": { "type": "string" } }));
            assert_eq!(form.schema["properties"]["value"]["type"], "array");
            assert_eq!(form.open(json!({ "value": ["a"] })), json!(["a"]));
            assert_eq!(form.open(json!(["a"])), json!(["a"]));
            let form = SchemaForm::new(&json!({ "properties": { "value": {} } }));
            assert_eq!(form.schema["type"], "object");
            assert_eq!(form.open(json!({ "value": 1 })), json!({ "value": 1 }));
        }

        #[test]
        fn only_closed_schemas_are_strict() {
            let strict = |schema: Value| SchemaForm::new(&schema).is_strict();
            let closed = json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"],
                             "additionalProperties": false });
            assert!(strict(closed.clone()));
            assert!(strict(json!({ "type": "array", "items": closed })));
            for open in [
                json!({ "type": "object" }),
                json!({ "type": "object", "properties": {} }),
                json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false }),
                json!({ "type": "object", "properties": { "a": { "type": "object" } }, "required": ["a"],
                    "additionalProperties": false }),
            ] {
                assert!(!strict(open.clone()), "{open}");
            }
        }
    }
}
