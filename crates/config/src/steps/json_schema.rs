//! Checks that a JSON Schema is usable, before any turn costs money (S-19).

use saihai_json_schema::{JsonSchema, JsonSchemaProblem};
use saihai_model::Json;

use crate::did_you_mean;

/// Reason why no reply can match a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnusableSchema {
    /// JSON pointer into the schema.
    pub(super) pointer: String,
    pub(super) why: String,
    pub(super) hint: Option<String>,
}

/// Compiles a schema the same way as judgment. A reply is an object, so a schema that rejects all objects is
/// unusable.
pub(super) fn check(schema: &Json) -> Vec<UnusableSchema> {
    if let Err(errors) = JsonSchema::compile(schema) {
        let unusable = errors.into_iter().map(|error| {
            let (pointer, why) = (error.pointer, error.problem.to_string());
            UnusableSchema { hint: hint(&error.problem), pointer, why }
        });
        return unusable.collect();
    }
    let takes_objects = match schema.get("type") {
        Some(Json::String(kind)) => kind == "object",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) | None => true,
    };
    match takes_objects {
        true => Vec::new(),
        false => vec![UnusableSchema {
            pointer: "/type".to_owned(),
            why: "a reply is read as an object, and this takes none".to_owned(),
            hint: Some("write `\"type\": \"object\"`, with what is wanted under a key of it".to_owned()),
        }],
    }
}

fn hint(problem: &JsonSchemaProblem) -> Option<String> {
    let JsonSchemaProblem::UnsupportedKeyword(keyword) = problem else { return None };
    match keyword.as_str() {
        "nullable" => {
            Some("write `\"type\": [\"string\", \"null\"]`, with the type that is meant".to_owned())
        }
        "additionalItems" => Some("write `items` after `prefixItems`".to_owned()),
        "dependencies" => Some("write `dependentRequired` or `dependentSchemas`".to_owned()),
        other => did_you_mean(other, JsonSchema::keywords()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(schema: &Json) -> String {
        let said = check(schema).into_iter().map(|one| {
            let hint = one.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}: {}{hint}", one.pointer, one.why)
        });
        said.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_schema_that_judgment_could_not_use_is_told_with_its_place() {
        for right in [json!({}), json!({"type": "object"}), json!({"type": ["null", "object"]})] {
            assert_eq!(wrong(&right), "", "{right}");
        }
        insta::assert_snapshot!(wrong(&json!({"type": "nonsense"})), @"/type: `nonsense` is none of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`");
        insta::assert_snapshot!(wrong(&json!({"type": "array"})), @r#"/type: a reply is read as an object, and this takes none (write `"type": "object"`, with what is wanted under a key of it)"#);
        let pattern = json!({"properties": {"a": {"type": "string", "pattern": "("}}});
        insta::assert_snapshot!(wrong(&pattern), @"/properties/a/pattern: `(` is no regular expression");
        insta::assert_snapshot!(wrong(&json!({"required": "a"})), @"/required: `required` must be a list of names, each once");
        insta::assert_snapshot!(wrong(&json!({"$ref": "https://example.com/x"})), @"/$ref: `https://example.com/x` is outside of this schema; only `#/…` can be referred to");
    }

    // Accepting a keyword without effect would promise a check that never runs.
    #[test]
    fn a_keyword_that_is_not_supported_is_refused_by_name() {
        let schema = json!({"unevaluatedProperties": false, "requird": ["a"], "properties": {"a": {"nullable": true}}});
        insta::assert_snapshot!(wrong(&schema), @r#"
        /properties/a/nullable: the keyword `nullable` is not supported (write `"type": ["string", "null"]`, with the type that is meant)
        /requird: the keyword `requird` is not supported (did you mean `required`?)
        /unevaluatedProperties: the keyword `unevaluatedProperties` is not supported
        "#);
    }
}
