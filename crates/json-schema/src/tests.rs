use serde_json::{Value, json};

use super::{JsonSchema, JsonSchemaError, JsonSchemaViolation};

#[track_caller]
fn schema(schema: &Value) -> JsonSchema {
    JsonSchema::compile(schema).unwrap_or_else(|errors| panic!("{schema}: {}", shown(&errors)))
}

fn shown(errors: &[JsonSchemaError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Checks the violations of a value, or the errors of an unusable schema.
#[track_caller]
fn check(source: Value, value: Value, expected: &[&str]) {
    let schema = schema(&source);
    let found = schema.violations(&value, 10);
    let found: Vec<String> = found.iter().map(JsonSchemaViolation::to_string).collect();
    assert_eq!(found, expected, "{source} {value}");
    assert_eq!(schema.accepts(&value), expected.is_empty(), "{source} {value}");
}

#[track_caller]
fn refused(source: Value, expected: &str) {
    let errors = JsonSchema::compile(&source).expect_err("an unusable schema");
    assert_eq!(shown(&errors), expected, "{source}");
}

#[test]
fn a_violation_names_the_place_and_quotes_short_values() {
    check(json!({"type": "string"}), json!(1), &[r#"1 is not of type "string""#]);
    check(json!({"type": ["string", "null"]}), json!([1]), &[r#"value is not of types "string", "null""#]);
    check(json!({"type": ["string", "null"]}), json!(null), &[]);
    check(json!({"enum": ["a", "b"]}), json!("c"), &[r#""c" is not one of "a" or "b""#]);
    check(json!({"enum": [1, 2, 3, 4]}), json!(5), &["5 is not one of 1, 2 or 2 other candidates"]);
    check(json!({"const": {"a": 1}}), json!(1), &[r#"{"a":1} was expected"#]);
    check(
        json!({"properties": {"a/b": {"items": false}}}),
        json!({"a/b": [[]]}),
        &["/a~1b/0: value is not allowed here"],
    );
    check(json!({"required": ["a", "b"]}), json!({"b": 1}), &[r#""a" is a required property"#]);
    check(json!({"dependentRequired": {"a": ["b"]}}), json!({"a": 1}), &[r#""b" is a required property"#]);
    check(
        json!({"additionalProperties": false}),
        json!({"a": 1, "b": 2}),
        &["Additional properties are not allowed ('a', 'b' were unexpected)"],
    );
    check(json!({"propertyNames": {"maxLength": 1}}), json!({"ab": 1}), &[r#"the name "ab" is not allowed"#]);
    check(
        json!({"minLength": 2, "pattern": "^[A-Z]"}),
        json!("a"),
        &[r#""a" is shorter than 2 characters"#, r#""a" does not match "^[A-Z]""#],
    );
    check(
        json!({"maxItems": 1, "uniqueItems": true}),
        json!([1, 1.0]),
        &["value has more than 1 item", "value has non-unique elements"],
    );
    check(json!({"minProperties": 1}), json!({}), &["value has less than 1 property"]);
    check(json!({"contains": {"type": "string"}}), json!([1]), &["no item fits what the list must contain"]);
    check(
        json!({"contains": true, "maxContains": 1}),
        json!([1, 2]),
        &["2 items fit what the list must contain; at most 1 may"],
    );
    check(
        json!({"exclusiveMinimum": 1, "multipleOf": 0.1}),
        json!(0.35),
        &["0.35 is less than or equal to the minimum of 1", "0.35 is not a multiple of 0.1"],
    );
    check(
        json!({"anyOf": [{"type": "null"}, false]}),
        json!(1),
        &["1 is not valid under any of the schemas listed in the 'anyOf' keyword"],
    );
    check(
        json!({"oneOf": [true, {"minimum": 0}]}),
        json!(1),
        &["1 is valid under more than one of the schemas listed in the 'oneOf' keyword"],
    );
    check(json!({"not": {"const": 1}}), json!(1), &[r#"{"const":1} is not allowed for 1"#]);
    check(
        json!({"if": {"minimum": 5}, "then": {"multipleOf": 5}, "else": false}),
        json!(6),
        &["6 is not a multiple of 5"],
    );
    check(
        json!({"$ref": "#/definitions/a%20b", "definitions": {"a b": {"type": "null"}}}),
        json!(1),
        &[r#"1 is not of type "null""#],
    );
}

#[test]
fn only_as_many_violations_are_made_as_are_wanted() {
    let schema = schema(&json!({"items": {"type": "null"}}));
    assert_eq!(schema.violations(&json!([1, 2, 3]), 2).len(), 2);
}

#[test]
fn every_keyword_that_is_not_checked_is_refused_with_its_place() {
    refused(
        json!({"unevaluatedProperties": false, "properties": {"a": {"nullable": true, "$anchor": "x"}}}),
        "at `/properties/a/$anchor`: the keyword `$anchor` is not supported; at `/properties/a/nullable`: the keyword `nullable` is not supported; at `/unevaluatedProperties`: the keyword `unevaluatedProperties` is not supported",
    );
    refused(
        json!({"items": [{}]}),
        "at `/items`: `items` must be one schema for all items; a list of schemas is called `prefixItems`",
    );
    refused(json!({"not": {"$id": "x"}}), "at `/not/$id`: `$id` must be at the top of the schema");
    for annotation in
        ["title", "description", "default", "examples", "format", "$schema", "$id", "$comment", "x-mine"]
    {
        schema(&json!({annotation: "https://example.org"}));
    }
}

#[test]
fn a_value_that_a_keyword_cannot_have_is_refused() {
    refused(json!(7), "a schema must be an object, `true` or `false`");
    refused(
        json!({"type": "text"}),
        "at `/type`: `text` is not one of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`",
    );
    refused(json!({"type": []}), "at `/type`: `type` must be a type, or a list of types");
    refused(json!({"required": ["a", "a"]}), "at `/required`: `required` must be a list of names, each once");
    refused(json!({"exclusiveMinimum": true}), "at `/exclusiveMinimum`: `exclusiveMinimum` must be a number");
    refused(json!({"maxLength": -1}), "at `/maxLength`: `maxLength` must be a whole number from 0");
    refused(json!({"multipleOf": 0}), "at `/multipleOf`: `multipleOf` must be a number over 0");
    refused(
        json!({"properties": {"a": 1}}),
        "at `/properties/a`: a schema must be an object, `true` or `false`",
    );
    refused(
        json!({"patternProperties": {"(": {}}}),
        "at `/patternProperties/(`: `(` is not a regular expression",
    );
    refused(
        json!({"$ref": "x.json"}),
        "at `/$ref`: `x.json` is outside of this schema; only `#/…` can be referred to",
    );
    refused(json!({"$ref": "#/$defs/a"}), "at `/$ref`: nothing exists at `#/$defs/a`");
    refused(
        json!({"$ref": "#/examples/0", "examples": [3]}),
        "at `/examples/0`: a schema must be an object, `true` or `false`",
    );
}

#[test]
fn a_reference_ends_or_is_refused() {
    let tree =
        json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}, "additionalProperties": false});
    check(tree.clone(), json!({"left": {"right": {}}}), &[]);
    check(
        tree,
        json!({"left": {"up": 1}}),
        &["/left: Additional properties are not allowed ('up' was unexpected)"],
    );
    refused(json!({"$ref": "#"}), "at `/$ref`: `#` refers to itself");
    refused(
        json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}}),
        "at `/$defs/a/allOf/0/$ref`: `#/$defs/a` refers to itself",
    );
}

#[test]
fn patterns_mean_what_they_mean_in_javascript() {
    let matches = |pattern: &str, text: &str| schema(&json!({ "pattern": pattern })).accepts(&json!(text));
    assert!(matches(r"^\d+$", "12") && !matches(r"^\d+$", "１２"));
    assert!(!matches(r"^\w$", "é") && matches(r"^\W$", "é"));
    assert!(matches(r"^[\s\d]+$", "1\u{feff}2"));
    assert!(matches(r"^[[&~-]+$", "[&&~~--"));
    assert!(matches(r"^[+--]$", ",") && !matches(r"^[+--]$", "."));
    assert!(matches(r"^(?!con$)[a-z]+$", "conf") && !matches(r"^(?!con$)[a-z]+$", "con"));
    assert!(matches(r"^(.)\1$", "aa") && !matches(r"^(.)\1$", "ab"));
    assert!(matches(r"^(?<year>\d{4})-\/$", "2026-/"));
    assert!(!matches("^.$", "\u{2028}") && matches(r"\bb", "éb"));
    assert!(!matches("^a$", "a\n"));
    for wrong in [r"\A", r"\z", "(?i)a", "(?>a)", "[]", "(", r"\8x["] {
        refused(
            json!({ "pattern": wrong }),
            &format!("at `/pattern`: `{wrong}` is not a regular expression"),
        );
    }
}

#[test]
fn a_pattern_without_end_does_not_match() {
    let schema = schema(&json!({"pattern": "^(?=(a+)+b)"}));
    assert!(!schema.accepts(&json!("a".repeat(100_000))));
}

#[test]
fn numbers_are_compared_as_they_are_written() {
    check(json!({"multipleOf": 0.01}), json!(1.13), &[]);
    check(json!({"type": "integer", "enum": [1]}), json!(1.0), &[]);
    check(
        json!({"maximum": 9_007_199_254_740_992_u64}),
        json!(9_007_199_254_740_993_u64),
        &["9007199254740993 is greater than the maximum of 9007199254740992"],
    );
    check(json!({"const": 1e300}), json!(1e300), &[]);
    check(json!({"minimum": 1e300}), json!(1), &["1 is less than the minimum of 1e+300"]);
    check(json!({"maxLength": 2.0}), json!("abc"), &[r#""abc" is longer than 2 characters"#]);
}
