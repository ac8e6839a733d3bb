//! The form of a structured answer.

use serde_json::{Value, json};

/// Name of the tool through which a model gives a structured answer, for APIs without a better way.
pub(super) const ANSWER: &str = "answer";

/// A schema that the APIs accept: its value is always an object.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    pub(super) schema: Value,
    /// The field `value` of the object contains the requested value.
    wrapped: bool,
}

impl Form {
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
        strict(&self.schema)
    }
}

fn strict(schema: &Value) -> bool {
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
            closed && fields.values().all(strict)
        }
        Value::Array(items) => items.iter().all(strict),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_no_object_is_asked_for_inside_of_one() {
        let form = Form::new(&json!({ "type": "array", "items": { "type": "string" } }));
        assert_eq!(form.schema["properties"]["value"]["type"], "array");
        assert_eq!(form.open(json!({ "value": ["a"] })), json!(["a"]));
        assert_eq!(form.open(json!(["a"])), json!(["a"]));
        let form = Form::new(&json!({ "properties": { "value": {} } }));
        assert_eq!(form.schema["type"], "object");
        assert_eq!(form.open(json!({ "value": 1 })), json!({ "value": 1 }));
    }

    #[test]
    fn only_closed_schemas_are_strict() {
        let strict = |schema: Value| Form::new(&schema).is_strict();
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
