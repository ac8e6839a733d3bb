//! Whether a JSON Schema can be used, before a turn is paid for (S-19).

use jsonschema::PatternOptions;
use saihai_model::Json;

use crate::{list_of, quoted};

/// What a `type` can be.
const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Why no reply could ever fit a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unusable {
    /// Where in the schema, as a JSON pointer.
    pub(super) pointer: String,
    /// What is wrong there.
    pub(super) why: String,
    /// What to write instead, where that is known.
    pub(super) hint: Option<&'static str>,
}

/// Compiles a schema as judgment will, with the same bounds. A reply is an object, so a schema that takes none is of no
/// use either.
pub(super) fn check(schema: &Json) -> Result<(), Unusable> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(100_000).size_limit(1 << 20);
    let built = jsonschema::options().offline().with_pattern_options(patterns).build(schema);
    if let Err(error) = built {
        let pointer = error.instance_path().as_str().to_owned();
        let why = match (pointer.rsplit('/').next(), error.instance().as_str()) {
            (Some("type"), Some(word)) => {
                format!("{} is none of the types {}", quoted(word), list_of(TYPES, "and"))
            }
            (Some("pattern"), Some(pattern)) => format!("{} is no regular expression", quoted(pattern)),
            (_, _) => error.to_string(),
        };
        return Err(Unusable { pointer, why, hint: None });
    }
    let takes_objects = match schema.get("type") {
        Some(Json::String(kind)) => kind == "object",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) | None => true,
    };
    match takes_objects {
        true => Ok(()),
        false => Err(Unusable {
            pointer: "/type".to_owned(),
            why: "a reply is read as an object, and this takes none".to_owned(),
            hint: Some("write `\"type\": \"object\"`, with what is wanted under a key of it"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(schema: &Json) -> String {
        check(schema).map_or_else(|one| format!("{}: {}", one.pointer, one.why), |()| "right".to_owned())
    }

    #[test]
    fn a_schema_that_judgment_could_not_use_is_told_with_its_place() {
        for right in [json!({}), json!({"type": "object"}), json!({"type": ["null", "object"]})] {
            assert_eq!(wrong(&right), "right", "{right}");
        }
        insta::assert_snapshot!(wrong(&json!({"type": "nonsense"})), @"/type: `nonsense` is none of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`");
        insta::assert_snapshot!(wrong(&json!({"type": "array"})), @"/type: a reply is read as an object, and this takes none");
        let pattern = json!({"properties": {"a": {"type": "string", "pattern": "("}}});
        insta::assert_snapshot!(wrong(&pattern), @"/properties/a/pattern: `(` is no regular expression");
        insta::assert_snapshot!(wrong(&json!({"required": "a"})), @r#"/required: "a" is not of type "array""#);
        insta::assert_snapshot!(wrong(&json!({"$ref": "https://example.com/x"})), @": Resource 'https://example.com/x' is not present in a registry and retrieving it failed: Retrieval is disabled, cannot fetch https://example.com/x");
    }
}
