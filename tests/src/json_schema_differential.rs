//! Compares our validator with the `jsonschema` crate, which covers the whole standard and is used
//! only here.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use saihai_config::review::OutputSchema;
use saihai_config::{SCHEMAS, schema};
use saihai_json_schema::JsonSchema;
use serde_json::{Map, Value, json};

const NAMES: [&str; 4] = ["a", "ab", "b1", "計"];
const PATTERNS: [&str; 12] = [
    "^a",
    "b$",
    "^[a-c]+$",
    r"\d",
    r"^\w+$",
    r"\s",
    "^.$",
    "",
    "^(?!ab)",
    r"^(a|b)\1?",
    "[^a-z]",
    r"^\S{2,}$",
];

/// Generates strings, numbers in several notations, and small structures of them. Omits large
/// numbers, because only the crate rounds them in `multipleOf`.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![
            json!(-1),
            json!(0),
            json!(1),
            json!(1.0),
            json!(1.5),
            json!(2),
            json!(0.3)
        ]),
        prop::sample::select(vec![json!(9_007_199_254_740_991_u64), json!(-0.0), json!(100.5)]),
        prop::sample::select(vec!["", "a", "ab", "abc", "b1", "計", "a b", "é", "１"]).prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(prop::sample::select(NAMES.to_vec()), inner, 0..4).prop_map(object),
        ]
    })
}

fn object<K: Into<String>>(members: std::collections::BTreeMap<K, Value>) -> Value {
    Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

fn merged(parts: Vec<Value>) -> Value {
    let maps = parts.into_iter().filter_map(|part| part.as_object().cloned());
    Value::Object(maps.flatten().collect::<Map<String, Value>>())
}

/// Generates one keyword that constrains only the value itself.
fn leaf_keyword() -> impl Strategy<Value = Value> {
    let types = ["array", "boolean", "integer", "null", "number", "object", "string"];
    let size = prop::sample::select(vec![
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    ]);
    let bound = prop::sample::select(vec!["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]);
    let limits = prop::sample::select(vec![
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(9_007_199_254_740_992_u64),
    ]);
    let names = || prop::sample::subsequence(NAMES.to_vec(), 0..3);
    prop_oneof![
        3 => prop::sample::select(types.to_vec()).prop_map(|one| json!({"type": one})),
        1 => prop::sample::subsequence(types.to_vec(), 1..4).prop_map(|many| json!({"type": many})),
        1 => vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        1 => value().prop_map(|value| json!({"const": value})),
        1 => (size, 0..4_u64).prop_map(|(keyword, size)| json!({keyword: size})),
        1 => (bound, limits).prop_map(|(keyword, limit)| json!({keyword: limit})),
        1 => prop::sample::select(vec![json!(2), json!(0.1), json!(0.5), json!(1.5)]).prop_map(|of| json!({"multipleOf": of})),
        1 => prop::sample::select(PATTERNS.to_vec()).prop_map(|pattern| json!({"pattern": pattern})),
        1 => names().prop_map(|names| json!({"required": names})),
        1 => (prop::sample::select(NAMES.to_vec()), names()).prop_map(|(name, names)| json!({"dependentRequired": {name: names}})),
        1 => any::<bool>().prop_map(|unique| json!({"uniqueItems": unique})),
        1 => Just(json!({"title": "a", "format": "date-time", "default": 1, "$comment": "b"})),
    ]
}

fn schema_source() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![8 => vec(leaf_keyword(), 0..3).prop_map(merged), 1 => any::<bool>().prop_map(Value::from)];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let one = prop::sample::select(vec![
            "additionalProperties",
            "items",
            "not",
            "if",
            "then",
            "else",
            "propertyNames",
        ]);
        let list = prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]);
        let by_name = prop::sample::select(vec!["properties", "dependentSchemas"]);
        let named = btree_map(prop::sample::select(NAMES.to_vec()), inner.clone(), 0..3);
        let patterned = btree_map(prop::sample::select(PATTERNS.to_vec()), inner.clone(), 0..3);
        let contains = (inner.clone(), 0..3_u64, 1..3_u64);
        let keyword = prop_oneof![
            4 => leaf_keyword(),
            3 => (one, inner.clone()).prop_map(|(keyword, schema)| json!({keyword: schema})),
            2 => (list, vec(inner.clone(), 1..4)).prop_map(|(keyword, schemas)| json!({keyword: schemas})),
            3 => (by_name, named).prop_map(|(keyword, named)| json!({keyword: object(named)})),
            1 => patterned.prop_map(|named| json!({"patternProperties": object(named)})),
            1 => contains.prop_map(|(schema, least, most)| {
                json!({"contains": schema, "minContains": least, "maxContains": most})
            }),
            1 => inner.prop_map(|schema| json!({"$defs": {"one": schema}, "properties": {"a": {"$ref": "#"}}})),
        ];
        vec(keyword, 1..4).prop_map(merged)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, ..ProptestConfig::default() })]

    #[test]
    fn a_value_is_accepted_by_both_or_by_neither(source in schema_source(), values in vec(value(), 1..12)) {
        let theirs = jsonschema::draft202012::new(&source).expect("a schema of the standard");
        let ours = JsonSchema::compile(&source).unwrap_or_else(|errors| panic!("{source}: {errors:?}"));
        for value in values {
            let violations = ours.violations(&value, usize::MAX);
            prop_assert_eq!(theirs.is_valid(&value), ours.accepts(&value), "{} {}", source, value);
            prop_assert_eq!(violations.is_empty(), ours.accepts(&value), "{} {}", source, value);
            let places: Vec<String> =
                theirs.iter_errors(&value).map(|error| error.instance_path().to_string()).collect();
            for violation in violations {
                prop_assert!(places.contains(&violation.pointer), "{} {} {:?} {:?}", source, value, violation, places);
            }
        }
    }
}

#[test]
fn both_refuse_what_is_no_schema() {
    let wrong = [
        json!({"type": "text"}),
        json!({"type": 3}),
        json!({"type": []}),
        json!({"required": "a"}),
        json!({"required": ["a", "a"]}),
        json!({"required": [1]}),
        json!({"properties": 1}),
        json!({"properties": {"a": 7}}),
        json!({"items": 7}),
        json!({"items": [{}]}),
        json!({"enum": 3}),
        json!({"minLength": -1}),
        json!({"minLength": 1.5}),
        json!({"minimum": "1"}),
        json!({"exclusiveMinimum": true}),
        json!({"multipleOf": 0}),
        json!({"uniqueItems": 1}),
        json!({"allOf": {}}),
        json!({"allOf": []}),
        json!({"not": 1}),
        json!({"dependentRequired": {"a": "b"}}),
        json!({"pattern": "("}),
        json!({"patternProperties": {"(": {}}}),
        json!({"$ref": "#/nowhere"}),
        json!({"$ref": 3}),
        json!(7),
    ];
    for source in wrong {
        assert!(jsonschema::draft202012::new(&source).is_err(), "{source}");
        assert!(JsonSchema::compile(&source).is_err(), "{source}");
    }
}

#[test]
fn both_read_patterns_alike() {
    let patterns = [
        r"^\d+$",
        r"^\D$",
        r"^[\w.]+$",
        r"^[^\s]+$",
        r"^\/a\-b$",
        r"^[[]$",
        r"^[a&&b]$",
        r"^[a~~b]$",
        r"^[+--]$",
        r"^[a-]$",
        r"^[-a]$",
        r"^\u0061$",
        r"^\x61$",
        r"^\cA$",
        r"^\p{L}$",
        r"^\P{L}$",
        r"^(?:ab|c)$",
        r"^(?=a)",
        r"(?<=a)b",
        r"(?<!a)b",
        r"^a{2,3}?$",
        r"^[\]\\]$",
        r"^\.$",
        r"^\$$",
        "^\u{8a08}$",
        r"^\t$",
    ];
    let texts = [
        "", "a", "aa", "ab", "b", "c", "1", "１", "é", "計", "/a-b", "[", "&", "~", "-", ",", ".", "$", "\\",
        "]", " ", "\u{feff}", "\u{85}", "\t", "\u{1}", "\u{8}", "a\n", "\n", "\r", "\u{2028}", "_",
    ];
    let mut different = Vec::new();
    for pattern in patterns {
        let source = json!({ "pattern": pattern });
        match (jsonschema::draft202012::new(&source), JsonSchema::compile(&source)) {
            (Ok(theirs), Ok(ours)) => {
                let differs = |text: &&&str| ours.accepts(&json!(text)) != theirs.is_valid(&json!(text));
                different.extend(texts.iter().filter(differs).map(|text| format!("{pattern} {text:?}")));
            }
            (theirs, ours) => different.push(format!("{pattern}: {:?} {:?}", theirs.is_ok(), ours.is_ok())),
        }
    }
    assert_eq!(different, [""; 0]);
}

#[test]
fn every_schema_we_publish_is_one_and_is_supported() {
    let texts = [saihai::JOURNAL_SCHEMA, saihai_review::REPORT_SCHEMA, crate::published::OUTPUT];
    let written = texts.map(|text| serde_json::from_str(text).expect("a schema is JSON"));
    let made = SCHEMAS.into_iter().filter_map(|(name, _)| schema(name));
    let replies = OutputSchema::ALL.into_iter().map(OutputSchema::json);
    let all: Vec<Value> = written.into_iter().chain(made).chain(replies).collect();
    assert_eq!(all.len(), 18);
    for source in all {
        assert!(jsonschema::draft202012::meta::is_valid(&source), "{source}");
        assert!(JsonSchema::compile(&source).is_ok(), "{source}");
    }
}
