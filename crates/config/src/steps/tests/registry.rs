//! `steps_registry.json`: steps, checks and transitions.

use saihai_model::Json;
use serde_json::json;

use super::Project;

#[track_caller]
fn of_quote(pointer: &str, value: saihai_model::Json) -> String {
    Project::tailor().registry(&format!("/steps/quote/{pointer}"), value).said()
}

// S-10, case 5
#[test]
fn every_step_that_is_named_must_exist() {
    let project = Project::tailor()
        .registry("/entryStep", json!("x"))
        .registry("/steps/quote/check/onFail", json!({"next": "mesure"}));
    insta::assert_snapshot!(project.said(), @r"
    error steps/unknown-step steps_registry.json:3:16 step `x` does not exist
    error steps/unknown-step steps_registry.json:25:19 step `mesure` does not exist (did you mean `measure`?)
    ");
}

// S-8, case 6
#[test]
fn a_step_must_say_what_follows_it() {
    let project = Project::tailor().dropping("steps_registry.json", "/steps/measure/next");
    insta::assert_snapshot!(project.said(), @r#"error steps/no-exit steps_registry.json:5:16 this step has no next step (add `check`, `next` or `"terminal": true`)"#);
    insta::assert_snapshot!(of_quote("check/onPass", json!({})), @"error steps/empty-transition steps_registry.json:29:19 `onPass` says nothing (add one of `complete`, `next`, `fallback` and `retry`)");
    insta::assert_snapshot!(of_quote("check/onPass", json!({"complete": false, "retry": false})), @"error steps/empty-transition steps_registry.json:29:19 `onPass` says nothing (add one of `complete`, `next`, `fallback` and `retry`)");
    insta::assert_snapshot!(of_quote("check/onFail", json!({"retry": true, "maxRetries": 0})), @"error steps/bad-value steps_registry.json:25:25 `maxRetries` must be between 1 and 100000, not `0`");
    insta::assert_snapshot!(of_quote("check/onFail", json!({"next": "measure", "maxRetries": 2})), @r#"error steps/bad-value steps_registry.json:25:11 `maxRetries` needs `retry` (add `"retry": true`, or remove it)"#);
    insta::assert_snapshot!(of_quote("next", json!("measure")), @"error steps/bad-value steps_registry.json:45:7 a step with a `check` has no `next` (set the next steps in `onPass` and `onFail`)");
    let project = Project::tailor().registry("/steps/measure/terminal", json!(true));
    insta::assert_snapshot!(project.said(), @"error steps/bad-value steps_registry.json:21:7 a step has either `next` or `terminal`, not both (remove one of them)");
}

// S-9
#[test]
fn a_key_that_another_hides_is_told() {
    insta::assert_snapshot!(of_quote("check/onFail", json!({"fallback": "measure", "retry": true})), @"warning steps/shadowed steps_registry.json:26:11 `retry` has no effect with `fallback` (keep `retry` and name the step in `onExhausted`, or remove `retry`)");
    insta::assert_snapshot!(of_quote("check/onPass", json!({"complete": true, "next": "measure"})), @"warning steps/shadowed steps_registry.json:31:11 `next` has no effect with `complete` (remove `next`)");
}

// S-8
#[test]
fn ids_iterations_and_answers_are_checked() {
    let project = Project::tailor()
        .registry("/steps/Bad id", json!({"prompt": {"path": "system.md"}, "terminal": true}));
    insta::assert_snapshot!(project.said(), @"error steps/step-id steps_registry.json:5:5 `Bad id` cannot be the id of a step (use lower-case letters, digits, `_`, `.` and `-`, and start with a letter or digit)");
    insta::assert_snapshot!(of_quote("id", json!("other")), @"error steps/step-id steps_registry.json:42:13 the step `quote` has the id `other`");
    insta::assert_snapshot!(of_quote("iterations", json!({"min": 0})), @"error steps/bad-value steps_registry.json:46:16 `min` must be between 1 and 100000, not `0`");
    insta::assert_snapshot!(of_quote("iterations", json!({"min": 3, "max": 2})), @"error steps/bad-value steps_registry.json:46:16 `max` must be at least `min`, which is 3");
    insta::assert_snapshot!(of_quote("check/responseFormat", json!({"result": "yes|no"})), @"error steps/bad-value steps_registry.json:38:21 `result` of an answer must be `ok|ng`, `pass|fail` or `boolean`, not `yes|no`");
    insta::assert_snapshot!(of_quote("check/responseFormat", json!({"message": "text"})), @r#"
    error steps/missing-key steps_registry.json:37:27 `responseFormat` needs `result` (write `"result": "ok|ng"`)
    error steps/bad-value steps_registry.json:38:22 `message` of an answer must be `string` or `optional`, not `text`
    "#);
    insta::assert_snapshot!(of_quote("gate", json!(" ")), @"error steps/bad-value steps_registry.json:42:15 the question of a gate is empty");
}

#[test]
fn the_answer_of_a_check_may_hold_more_and_the_agent_is_asked_for_it() {
    let form = json!({"result": "boolean", "message": "optional", "seams": "how many are open"});
    let workflow = Project::tailor().registry("/steps/quote/check/responseFormat", form.clone()).workflow();
    let choice = super::turn(&workflow, "quote").reads.choice.as_ref().unwrap();
    let asked = super::shown(&choice.question().unwrap().prompt);
    let shown = serde_json::to_string_pretty(&form).unwrap();
    assert!(asked.ends_with(&format!("```json\n{shown}\n```\n")), "{asked}");
    insta::assert_snapshot!(of_quote("check/responseFormat", json!({"result": "ok|ng", "seams": 3})), @r#"error steps/bad-type steps_registry.json:39:20 `seams` must be text, not a whole number (write it in quotes: `"3"`)"#);
}

// S-8
#[test]
fn an_output_is_written_short_or_as_a_json_schema() {
    let short = json!({
        "$namespace": "measure", "$strict": true,
        "height": {"type": "number", "description": "in cm"},
        "note": {"type": "string", "required": false, "default": "none"}
    });
    let project = Project::tailor().registry("/steps/measure/outputSchema", short);
    let workflow = project.workflow();
    let output = super::turn(&workflow, "measure").reads.output.as_ref().unwrap();
    assert_eq!(
        output.schema.schema,
        json!({
            "type": "object",
            "properties": {
                "height": {"type": "number", "description": "in cm"},
                "note": {"type": "string", "default": "none"}
            },
            "required": ["height"],
            "additionalProperties": false
        })
    );
    let schema =
        json!({"type": "object", "properties": {"height": {"type": "integer"}}, "required": ["height"]});
    let project = Project::tailor().registry("/steps/measure/outputSchema", schema.clone());
    assert_eq!(
        super::turn(&project.workflow(), "measure").reads.output.as_ref().unwrap().schema.schema,
        schema
    );
}

// S-8
#[test]
fn what_is_wrong_with_an_output_is_told() {
    let wrong = json!({
        "$namespace": "other", "$strict": 1,
        "height": {"type": "numeric"},
        "note": {"type": "string", "default": 1, "requird": false},
        "size": {}
    });
    let project = Project::tailor()
        .registry("/steps/measure/outputSchema", wrong)
        .registry("/steps/quote/inputs", json!({}))
        .file("prompts/order/quote/text/f_default.md", "Quote.");
    insta::assert_snapshot!(project.said(), @r#"
    error steps/bad-value steps_registry.json:8:23 `$namespace` must be `measure`, not `other`
    error steps/bad-type steps_registry.json:9:20 `["$strict"]` must be `true` or `false`, not a whole number
    error steps/bad-value steps_registry.json:11:19 `type` must be `string`, `number`, `boolean`, `object` or `array`, not `numeric`
    error steps/bad-value steps_registry.json:14:22 `default` is only for an output with `"required": false`
    error steps/bad-type steps_registry.json:14:22 the default must be of type `string`
    error steps/unknown-key steps_registry.json:15:11 unknown key `requird` (did you mean `required`?)
    error steps/missing-key steps_registry.json:18:17 an output needs `type`
    "#);
}

// A schema that no reply can match is an error of the definition, found before any turn costs money.
#[test]
fn a_json_schema_that_cannot_be_used_is_told_where_it_is_wrong() {
    let told = |schema: Json| {
        let project = Project::tailor().registry("/steps/measure/outputSchema", schema);
        let project = project.registry("/steps/quote/inputs", json!({}));
        project.file("prompts/order/quote/text/f_default.md", "Quote.").said()
    };
    let height = |property: Json| json!({"type": "object", "properties": {"height": property}});
    assert_eq!(told(height(json!({"type": "string", "pattern": "^[a-z]+$"}))), "");
    insta::assert_snapshot!(told(json!({"type": "nonsense"})), @"error steps/bad-value steps_registry.json:8:17 this schema cannot be used: `nonsense` is not one of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`");
    insta::assert_snapshot!(told(json!({"type": "array"})), @r#"error steps/bad-value steps_registry.json:8:17 this schema cannot be used: a reply is an object, which this schema does not accept (write `"type": "object"`, with the wanted value under one of its keys)"#);
    insta::assert_snapshot!(told(height(json!({"type": "nonsense"}))), @"error steps/bad-value steps_registry.json:10:21 this schema cannot be used: `nonsense` is not one of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`");
    insta::assert_snapshot!(told(height(json!({"type": "string", "pattern": "("}))), @"error steps/bad-value steps_registry.json:10:24 this schema cannot be used: `(` is not a regular expression");
    // All at once, each at its own location.
    let several =
        json!({"type": "object", "requird": ["height"], "properties": {"height": {"nullable": true}}});
    insta::assert_snapshot!(told(several), @r#"
    error steps/bad-value steps_registry.json:10:25 this schema cannot be used: the keyword `nullable` is not supported (write `"type": ["string", "null"]`, with the type that is meant)
    error steps/bad-value steps_registry.json:13:20 this schema cannot be used: the keyword `requird` is not supported (did you mean `required`?)
    "#);
}

// S-10, K-42
#[test]
fn steps_nothing_leads_to_and_flows_without_an_end_are_told() {
    let lonely = json!({"prompt": {"path": "system.md"}, "terminal": true});
    insta::assert_snapshot!(Project::tailor().registry("/steps/lonely", lonely).said(), @"warning workflow/unreachable steps_registry.json:5:5 nothing leads to step `lonely`");
    let endless = Project::tailor().registry("/steps/quote/check/onPass", json!({"next": "measure"}));
    insta::assert_snapshot!(endless.said(), @r#"error workflow/no-end steps_registry.json:3:16 no path leads from step `measure` to an end of the flow (let a step be `"terminal": true`, or a check `"complete": true`)"#);
}

// S-8, S-60
#[test]
fn the_entry_can_depend_on_the_completion_type() {
    let project = Project::tailor().registry("/entryStepMapping", json!({"stepMachine": "quote"}));
    assert_eq!(project.workflow().entry.as_str(), "quote");
    let project = Project::tailor().dropping("steps_registry.json", "/entryStep");
    insta::assert_snapshot!(project.said(), @"error steps/missing-key steps_registry.json:1:1 no first step for a run (add `entryStep`, or name this completion type in `entryStepMapping`)");
}

// Also if a stronger key hides it.
#[test]
fn a_step_that_is_named_in_vain_must_exist_too() {
    insta::assert_snapshot!(of_quote("check/onPass", json!({"complete": true, "next": "mesure"})), @r"
    warning steps/shadowed steps_registry.json:31:11 `next` has no effect with `complete` (remove `next`)
    error steps/unknown-step steps_registry.json:31:19 step `mesure` does not exist (did you mean `measure`?)
    ");
    insta::assert_snapshot!(of_quote("check/onFail", json!({"next": "measure", "retry": true, "onExhausted": "x"})), @r"
    error steps/unknown-step steps_registry.json:26:26 step `x` does not exist
    warning steps/shadowed steps_registry.json:27:11 `retry` has no effect with `next` (keep `retry` and name the step in `onExhausted`, or remove `retry`)
    ");
}

#[test]
fn next_beats_fallback() {
    let project = Project::tailor()
        .registry("/steps/quote/check/onFail", json!({"fallback": "quote", "next": "measure"}));
    insta::assert_snapshot!(project.said(), @"warning steps/shadowed steps_registry.json:25:11 `fallback` has no effect with `next` (remove `fallback`)");
    let exit = serde_json::to_string(&super::stage(&project.workflow(), "quote").exit).unwrap();
    assert!(
        exit.contains(r#""then":{"stage":"measure"}"#) && !exit.contains(r#"{"stage":"quote"}"#),
        "{exit}"
    );
}

#[test]
fn a_registry_has_steps_and_its_entries_are_among_them() {
    insta::assert_snapshot!(Project::tailor().registry("/steps", json!({})).said(), @r"
    error steps/unknown-step steps_registry.json:3:16 step `measure` does not exist
    error steps/bad-value steps_registry.json:4:12 a registry needs at least one step
    ");
    let mapped = |mapping: Json| Project::tailor().registry("/entryStepMapping", mapping);
    insta::assert_snapshot!(mapped(json!({"stepMachine": "quot"})).said(), @"error steps/unknown-step steps_registry.json:5:20 step `quot` does not exist (did you mean `quote`?)");
    insta::assert_snapshot!(mapped(json!({"stepMachin": "quote"})).said(), @"error steps/unknown-key steps_registry.json:5:5 `stepMachin` is neither a completion type nor a mode (did you mean `stepMachine`?)");
    let by_mode = mapped(json!({"check_budget": "quote"}))
        .agent("/behavior/completionType", json!("checkBudget"))
        .agent("/behavior/completionConfig", json!({"maxChecks": 2}));
    assert_eq!(by_mode.workflow().entry.as_str(), "quote");
}

#[test]
fn the_entry_that_a_step_machine_names_is_the_one_in_force() {
    let project = |entry: &str| {
        Project::tailor()
            .registry("/entryStepMapping", json!({"stepMachine": "quote"}))
            .agent("/behavior/completionConfig", json!({"entryStep": entry}))
    };
    assert!(!project("quote").load().diagnostics.has_errors(), "{}", project("quote").said());
    let said = project("measure").said();
    assert!(said.contains("`measure` is not `quote` (remove it)"), "{said}");
}
