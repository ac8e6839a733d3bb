use saihai_json_schema::JsonSchema;
use serde_json::{Value as Json, json};

use super::{SCHEMAS, schema};

fn piece() -> Json {
    schema("piece").unwrap()
}

/// Checks that the named schema accepts or rejects a value.
#[track_caller]
fn check(name: &str, value: &Json, accepted: bool) {
    let schema = schema(name).unwrap();
    let said = JsonSchema::compile(&schema).unwrap().violations(value, 10);
    assert_eq!(said.is_empty(), accepted, "{name}: {value}\n{said:?}");
}

#[test]
fn every_schema_says_which_one_it_is() {
    for (name, about) in SCHEMAS {
        let schema = schema(name).unwrap();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert_eq!(schema["title"], json!(format!("Saihai: {about}")));
    }
    assert_eq!(schema("steps"), None);
}

#[test]
fn a_table_becomes_a_schema_with_descriptions_defaults_words_and_spellings() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&piece()["$defs"]["loop-monitor"]).unwrap(), @r##"
    {
      "additionalProperties": false,
      "description": "a loop monitor",
      "properties": {
        "condition": {
          "description": "`stalled(\"back\")`: ask the judge when this detector fires, instead of after a number of cycles",
          "type": "string"
        },
        "cycle": {
          "description": "movements to watch, in order",
          "items": {
            "type": "string"
          },
          "minItems": 1,
          "type": "array"
        },
        "ignore_steps": {
          "description": "movements that the cycle may pass",
          "items": {
            "type": "string"
          },
          "type": "array"
        },
        "judge": {
          "$ref": "#/$defs/judge",
          "description": "agent that decides how to continue"
        },
        "threshold": {
          "default": 3,
          "description": "number of complete cycles in a row",
          "maximum": 100000,
          "minimum": 1,
          "type": "integer"
        }
      },
      "required": [
        "cycle",
        "judge"
      ],
      "type": "object"
    }
    "##);
    let movement = &piece()["$defs"]["movement"]["properties"];
    assert_eq!(movement["permission_mode"]["enum"], json!(["readonly", "edit", "full"]));
    assert_eq!(
        movement["persona"],
        json!({
            "type": "string",
            "description": "another spelling of `agent`: role: a file or a name; its whole text starts the prompt",
        })
    );
    assert_eq!(movement["team_leader"], Json::Null, "what is refused is no key");
}

fn with_movement(movement: &Json) -> Json {
    json!({"name": "p", "movements": [movement]})
}

#[test]
fn a_piece_is_held_to_its_keys() {
    check("piece", &with_movement(&json!({"name": "m"})), true);
    check("piece", &json!({"name": "p", "steps": [{"name": "m"}]}), true);
    check("piece", &json!({"name": "p"}), false);
    check("piece", &json!({"name": "p", "movements": []}), false);
    check("piece", &json!({"name": "p", "movements": [{"name": "m"}], "steps": [{"name": "m"}]}), false);
    check("piece", &json!({"name": "p", "movements": [{"name": "m"}], "max_steps": "infinite"}), false);
    for (wrong, value) in [
        ("agnet", json!("x")),
        ("edit", json!("yes")),
        ("permission_mode", json!("everything")),
        ("session", json!("compact")),
        ("team_leader", json!({})),
        ("rules", json!([{"condition": "c", "nxt": "COMPLETE"}])),
        ("report", json!({"name": "a.md", "fromat": "x"})),
        ("report", json!([{"name": "a.md", "fromat": "x"}])),
        ("report", json!([])),
        ("parallel", json!([{"name": "s", "agnet": "x"}])),
        ("parallel", json!({})),
    ] {
        check("piece", &with_movement(&json!({"name": "m", wrong: value})), false);
    }
    check("piece", &with_movement(&json!({"name": "m", "agent": "a", "persona": "a"})), false);
    for report in
        [json!("a.md"), json!({"name": "a.md", "format": "x"}), json!([{"name": "a.md"}, {"Plan": "b.md"}])]
    {
        check("piece", &with_movement(&json!({"name": "m", "report": report})), true);
    }
    check("piece", &with_movement(&json!({"name": "m", "parallel": [{"name": "s", "agent": "x"}]})), true);
}

// K-30
#[test]
fn settings_are_held_to_their_keys() {
    check("settings", &json!({}), true);
    check("settings", &json!({"retry": {"max_wait": "30m"}, "budget": {"usd": 0.5}}), true);
    check("settings", &json!({"limits": {"run_timeout": 90}}), true);
    check("settings", &json!({"providers": {"mine": {"kind": "command", "env": {"A": "b"}}}}), true);
    check("settings", &json!({"provder": "claude"}), false);
    check("settings", &json!({"retry": {"max_wiat": "30m"}}), false);
    check("settings", &json!({"retry": {"max_wait": "soon"}}), false);
    check("settings", &json!({"limits": {"run_timeout": "0s"}}), false);
    check("settings", &json!({"limits": {"run_timeout": 0}}), false);
    check("settings", &json!({"budget": {"usd": 0}}), false);
    check("settings", &json!({"providers": {"mine": {"progam": "x"}}}), false);
    check("settings", &json!({"reports_dir": ""}), false);
}

// C-75
#[test]
fn a_script_is_ours_or_a_scenario() {
    check("script", &json!({"script": 1, "replies": [{"for": "plan", "times": "*", "visit": [1, 2]}]}), true);
    check("script", &json!({"script": 2, "replies": []}), false);
    check("script", &json!({"script": 1, "replies": [{"txt": "x"}]}), false);
    check("script", &json!({"script": 1, "replies": [{"visit": 0}]}), false);
    // TAKT ignores unknown keys but requires `content`.
    check("script", &json!([{"content": "x", "new_in_takt": 1}]), true);
    check("script", &json!([{"agent": "coder"}]), false);
}

/// Collects every object of a schema.
fn objects<'a>(schema: &'a Json, found: &mut Vec<&'a Json>) {
    match schema {
        Json::Object(map) => {
            if map.get("properties").is_some_and(Json::is_object) && map.contains_key("type") {
                found.push(schema);
            }
            map.values().for_each(|value| objects(value, found));
        }
        Json::Array(items) => items.iter().for_each(|item| objects(item, found)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

#[test]
fn every_key_of_every_schema_is_described() {
    let mut bare = Vec::new();
    for (name, _) in SCHEMAS {
        let (schema, mut all) = (schema(name).unwrap(), Vec::new());
        objects(&schema, &mut all);
        assert!(!all.is_empty(), "{name}");
        for object in all {
            for (key, property) in object["properties"].as_object().unwrap() {
                if property["description"].as_str().is_none_or(str::is_empty) {
                    bare.push(format!("{name}: {}.{key}", object["description"]));
                }
            }
        }
    }
    assert!(bare.is_empty(), "without a description: {bare:#?}");
}
