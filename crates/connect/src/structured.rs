//! Validates structured answers. We never trust an agent's own validation (C-25).

use saihai_json_schema::JsonSchema;
use saihai_model::{Ask, Json};

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
    /// Reads the structured answer of a reply: `value` if the provider has a field for it, else the whole
    /// text.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::ask;

    fn check(schema: Option<Json>, value: Option<Json>, text: &str, expected: Result<Option<Json>, &str>) {
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
        check(approval(), None, "no idea", Err("the reply is not JSON: expected ident at line 1 column 2"));
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
