use proptest::prelude::*;
use saihai_judge::ReplyText;
use saihai_model::{
    ExpectedReply, InvalidOutputPolicy, Json, Output, OutputCheck, OutputSchema, Prompt, Reads,
};
use serde_json::json;

use crate::rehearse::replies::smallest;

/// Returns the real validator's violations for the smallest value.
fn violations(schema: &Json, value: &Json) -> Vec<String> {
    let output = Output {
        schema: OutputSchema { schema: schema.clone(), required: true },
        corrections: 0,
        correction: Prompt::default(),
        still_wrong: InvalidOutputPolicy::KeepValidItems,
        checked: OutputCheck::BySchema,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    };
    let reads = Reads { output: Some(output), ..Reads::default() };
    saihai_judge::read(ExpectedReply::Work(&reads), "", ReplyText { text: "", structured: Some(value) })
        .violations
}

fn check(schema: Json, expected: Json) {
    let object = json!({ "type": "object", "required": ["it"], "properties": { "it": schema } });
    let value = smallest(&object);
    assert_eq!(value, json!({ "it": expected }), "{object}");
    assert_eq!(violations(&object, &value), Vec::<String>::new(), "{object}");
}

// C-77: the smallest schema-valid value.
#[test]
fn the_smallest_value_fits_its_schema() {
    check(json!({ "type": "string" }), json!(""));
    check(json!({ "type": "string", "minLength": 3 }), json!("xxx"));
    check(json!({ "type": "string", "format": "date" }), json!("2026-01-01"));
    check(json!({ "enum": ["b", "a"] }), json!("b"));
    check(json!({ "const": 7 }), json!(7));
    check(json!({ "type": "integer" }), json!(0));
    check(json!({ "type": "integer", "minimum": 3 }), json!(3));
    check(json!({ "type": "integer", "exclusiveMinimum": 3 }), json!(4));
    check(json!({ "type": "integer", "maximum": -2 }), json!(-2));
    check(json!({ "type": "integer", "exclusiveMaximum": 0 }), json!(-1));
    check(json!({ "type": "integer", "minimum": 10, "multipleOf": 4 }), json!(12));
    check(json!({ "type": "number", "minimum": 0.2, "maximum": 0.9 }), json!(0.5));
    check(json!({ "type": "boolean" }), json!(false));
    check(json!({ "type": ["null", "string"] }), Json::Null);
    check(json!({ "type": "array", "items": { "type": "integer" } }), json!([]));
    check(json!({ "type": "array", "minItems": 2, "items": { "type": "string" } }), json!(["", ""]));
    check(json!({ "minItems": 2, "prefixItems": [{ "const": 1 }], "items": { "const": 2 } }), json!([1, 2]));
    check(json!({ "required": ["a"], "properties": { "a": { "type": "null" } } }), json!({ "a": null }));
    check(json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }] }), json!(0));
    check(
        json!({ "allOf": [
            { "required": ["a"], "properties": { "a": { "const": 1 } } },
            { "required": ["b"], "properties": { "b": { "const": 2 } } },
        ] }),
        json!({ "a": 1, "b": 2 }),
    );
}

#[test]
fn a_reference_is_followed_and_one_to_itself_ends() {
    let schema = json!({
        "$defs": { "name": { "type": "string", "minLength": 1 } },
        "type": "object", "required": ["n"], "properties": { "n": { "$ref": "#/$defs/name" } },
    });
    assert_eq!(smallest(&schema), json!({ "n": "x" }));
    let endless = json!({ "required": ["n"], "properties": { "n": { "$ref": "#" } } });
    assert!(smallest(&endless).is_object());
    assert_eq!(smallest(&json!({ "$ref": "#/nowhere" })), json!({}));
    assert_eq!(smallest(&json!(true)), json!({}));
}

fn any_schema() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(json!({ "type": "boolean" })),
        (0..5_u32).prop_map(|least| json!({ "type": "string", "minLength": least })),
        (-9..9_i32, 0..9_i32).prop_map(
            |(least, more)| json!({ "type": "integer", "minimum": least, "maximum": least + more })
        ),
        prop::collection::vec("[a-z]{1,4}", 1..4).prop_map(|words| json!({ "enum": words })),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        prop_oneof![
            (inner.clone(), 0..3_u32).prop_map(|(items, least)| json!({ "type": "array", "items": items, "minItems": least })),
            prop::collection::btree_map("[a-d]", inner.clone(), 0..4).prop_map(|known| {
                let required: Vec<_> = known.keys().cloned().collect();
                json!({ "type": "object", "properties": known, "required": required, "additionalProperties": false })
            }),
            prop::collection::vec(inner, 1..3).prop_map(|any| json!({ "anyOf": any })),
        ]
    })
}

proptest! {
    #[test]
    fn the_smallest_value_of_any_ordinary_schema_is_valid(schema in any_schema()) {
        let object = json!({ "type": "object", "required": ["it"], "properties": { "it": schema } });
        let value = smallest(&object);
        prop_assert_eq!(violations(&object, &value), Vec::<String>::new(), "{}", value);
    }
}
