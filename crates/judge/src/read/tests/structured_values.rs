//! Tests of structured values.

use saihai_model::{
    AnswerForm, Choice, ExpectedReply, InvalidOutputPolicy, Json, LabelField, Method, Output, OutputCheck,
    OutputSchema, Prompt, Question, QuestionSession, Reading, Reads, Shaping, Target,
};
use serde_json::json;

use crate::read::{ReplyText, read};

fn reading(schema: Json, required: bool, prompt: &str, said: ReplyText<'_>) -> Reading {
    let output = Output {
        schema: OutputSchema { schema, required },
        corrections: 1,
        correction: Prompt::default(),
        still_wrong: InvalidOutputPolicy::Go(Target::Complete),
        checked: OutputCheck::BySchema,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    };
    read(ExpectedReply::Work(&Reads { output: Some(output), ..Reads::default() }), prompt, said)
}

fn measure() -> Json {
    json!({"type": "object", "properties": {"height": {"type": "number"}}, "required": ["height"]})
}

/// Formats the value, then violations, then warnings, one per line.
fn shown(reading: &Reading) -> String {
    let value = reading.output.iter().map(ToString::to_string);
    let violations = reading.violations.iter().map(|violation| format!("- {violation}"));
    let warnings = reading.warnings.iter().map(|warning| format!("! {warning}"));
    value.chain(violations).chain(warnings).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check_schema(schema: Json, text: &str, expected: &str) {
    assert_eq!(shown(&reading(schema, true, "", ReplyText { text, structured: None })), expected, "{text}");
}

/// Checks a reply to a step that must measure a height.
#[track_caller]
fn check(text: &str, expected: &str) {
    check_schema(measure(), text, expected);
}

// S-44, case 15
#[test]
fn a_block_in_prose_is_the_value() {
    check(
        "採寸結果です。\n\n```json\n{\"chest\": 95, \"height\": 175, \"shoulder\": 44}\n```\n以上です。",
        r#"{"chest":95,"height":175,"shoulder":44}"#,
    );
}

// S-44, case 16
#[test]
fn candidates_come_in_their_order() {
    check(
        "```json\n{\"height\":1}\n```\n```JSON\n{\"height\":2}\n```",
        "{\"height\":2}\n! several different JSON objects fit the schema: the first choice was taken",
    );
    check("```json\n{\"height\":2}\n```\n```json\n{\"height\":2}\n```", r#"{"height":2}"#);
    check(" {\"height\":3}\n", r#"{"height":3}"#);
    check("It is {\"height\":4}, I think.", r#"{"height":4}"#);
    check("It is {\"height\":1} or {\"height\":5}.\n```json\n{}\n```", r#"{"height":5}"#);
    check("~~~ json linenums\n{\"height\":6}\n~~~", r#"{"height":6}"#);
    let structured = json!({"height": 7});
    let said = ReplyText { text: "```json\n{\"height\":7}\n```", structured: Some(&structured) };
    assert_eq!(shown(&reading(measure(), true, "", said)), r#"{"height":7}"#);
}

// S-44
#[test]
fn the_first_that_fits_wins_over_an_earlier_one_that_does_not() {
    check("```json\n{\"height\":1}\n```\nFor example:\n```json\n{\"depth\":1}\n```", r#"{"height":1}"#);
    let structured = json!({"height": "tall"});
    let said = ReplyText { text: "so {\"height\":1}", structured: Some(&structured) };
    assert_eq!(shown(&reading(measure(), true, "", said)), r#"{"height":1}"#);
}

// S-44, case 16
#[test]
fn other_fences_and_other_values_are_no_candidates() {
    check("```jsonc\n{\"height\":1}\n```", "- no JSON object");
    check("```\n{\"height\":1}\n```", "- no JSON object");
    check("```json\n{\"height\":1}\n", "- no JSON object");
    check("```json\n[{\"height\":1}]\n```", "- no JSON object");
    check("[1, 2]", "- no JSON object");
    check("height: 175", "- no JSON object");
    check("", "- no JSON object");
    let list = json!([1]);
    let said = ReplyText { text: "", structured: Some(&list) };
    assert_eq!(shown(&reading(measure(), true, "", said)), "- no JSON object");
}

// S-44, case 16
#[test]
fn a_fence_inside_a_string_cuts_nothing() {
    check(
        "```json\n{\"height\":1,\"note\":\"```json\\n{}\\n```\"}\n```",
        r#"{"height":1,"note":"```json\n{}\n```"}"#,
    );
    check("{\"height\":1,\"note\":\"\\n```json\\n{}\"}", r#"{"height":1,"note":"\n```json\n{}"}"#);
}

// S-45, case 17
#[test]
fn what_does_not_fit_is_reported_with_its_place() {
    check(r#"{"height":"175"}"#, "{\"height\":\"175\"}\n- /height: \"175\" is not of type \"number\"");
    check(r#"{"depth":1}"#, "{\"depth\":1}\n- \"height\" is a required property");
    check(r#"{"height":{"cm":1}}"#, "{\"height\":{\"cm\":1}}\n- /height: value is not of type \"number\"");
    let strict = json!({"properties": {"a": {"type": "array", "items": {"enum": ["x"]}}}, "additionalProperties": false});
    check_schema(
        strict,
        r#"{"a":["x","y"],"b":1}"#,
        "{\"a\":[\"x\",\"y\"],\"b\":1}\n- /a/1: \"y\" is not one of \"x\"\n- Additional properties are not allowed ('b' was unexpected)",
    );
}

// S-45
#[test]
fn defaults_fill_what_is_left_out() {
    let schema = json!({"properties": {"height": {"type": "number"}, "unit": {"default": "cm"}, "note": {}}});
    check_schema(schema, r#"{"height":1}"#, r#"{"height":1,"unit":"cm"}"#);
}

// S-46
#[test]
fn an_optional_value_may_be_missing_but_not_wrong() {
    let optional = |text| shown(&reading(measure(), false, "", ReplyText { text, structured: None }));
    assert_eq!(optional("nothing"), "");
    assert_eq!(
        optional(r#"{"height":"x"}"#),
        "{\"height\":\"x\"}\n- /height: \"x\" is not of type \"number\""
    );
    assert_eq!(
        optional("```json\n{oops}\n```"),
        "! the block that begins on line 1 is not valid JSON: key must be a string at line 1 column 2"
    );
}

// S-46
#[test]
fn the_correction_learns_why_a_block_does_not_parse() {
    check(
        "Here:\n```json\n{\"height\": 175,}\n```",
        "- no JSON object\n- the block that begins on line 2 is not valid JSON: trailing comma at line 1 column 16",
    );
}

// R-43: an agent that writes no block gets the same feedback
#[test]
fn the_correction_learns_why_what_stands_outside_of_blocks_does_not_parse() {
    let broken = r#"{"overall_score":1,"issues":[{"severity":"critical","description":"bad"},]}"#;
    let why = "trailing comma at line 1 column 74";
    let check = |text: &str, expected: &str| assert_eq!(shown(&read_items(text)), expected, "{text}");
    check(broken, &format!("- no JSON object\n- what begins on line 1 is not valid JSON: {why}"));
    check(
        &format!("I looked at `{{x}}`.\n\nIt says: {broken}\nThat is all."),
        &format!("- no JSON object\n- what begins on line 3 is not valid JSON: {why}"),
    );
}

// T-92
#[test]
fn hostile_values_are_a_violation_and_no_panic() {
    let nothing = "- no JSON object";
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let broken = |why: &str| format!("{nothing}\n- what begins on line 1 is not valid JSON: {why}");
    check(&deep, &broken("recursion limit exceeded at line 1 column 636"));
    check(&"[".repeat(100_000), nothing);
    check(
        &format!("```json\n{deep}\n```"),
        &format!(
            "{nothing}\n- the block that begins on line 1 is not valid JSON: recursion limit exceeded at line 1 column 636"
        ),
    );
    check(r#"{"height":1,"note":"\ud800"}"#, &broken("unexpected end of hex escape at line 1 column 27"));
    check(r#"{"height":NaN}"#, &broken("expected value at line 1 column 11"));
    check(r#"{"height":1e999}"#, &broken("number out of range at line 1 column 15"));
    check(r#"{"height":1} {"height":2} and so on"#, r#"{"height":2}"#);
    check("{\"height\":1}\u{0}", r#"{"height":1}"#);
    check("\u{feff}{\"height\":1}", r#"{"height":1}"#);
    check(&"```json\n{}\n```\n".repeat(20_000), "{}\n- \"height\" is a required property");
}

// T-92
#[test]
fn many_violations_are_told_in_part() {
    let schema = json!({"additionalProperties": {"type": "string"}});
    let members: Vec<String> = (0..1_000).map(|number| format!("\"k{number}\":{number}")).collect();
    let reading = reading(
        schema,
        true,
        "",
        ReplyText { text: &format!("{{{}}}", members.join(",")), structured: None },
    );
    assert_eq!((reading.violations.len(), reading.violations[20].as_str()), (21, "and more"));
    let long = json!({"properties": {"a": {"maxLength": 1}}});
    let text = format!("{{\"a\":\"{}\"}}", "x".repeat(1_000_000));
    let reading = crate::read::tests::structured_values::reading(
        long,
        true,
        "",
        ReplyText { text: &text, structured: None },
    );
    assert!(reading.violations[0].chars().count() < 400, "{}", reading.violations[0].len());
}

// T-91, S-45
#[test]
fn a_schema_that_cannot_be_used_is_a_violation() {
    let unusable = |schema: Json| {
        let reading = reading(schema, true, "", ReplyText { text: "{}", structured: None });
        assert_eq!((reading.output, reading.violations.len()), (Some(json!({})), 1));
        reading.violations[0].split(": ").next().unwrap().to_owned()
    };
    for schema in [
        json!({"type": "nonsense"}),
        json!({"$ref": "#/nowhere"}),
        json!({"$ref": "https://example.org/schema.json"}),
        json!({"pattern": "("}),
        json!({"properties": 1}),
        json!(7),
    ] {
        assert_eq!(unusable(schema.clone()), "the schema of the output cannot be used", "{schema}");
    }
}

// T-94
#[test]
fn hostile_patterns_end() {
    let text = format!("{{\"a\":\"{}!\"}}", "a".repeat(200_000));
    let with = |pattern: &str| {
        let schema = json!({"properties": {"a": {"pattern": pattern}}});
        reading(schema, true, "", ReplyText { text: &text, structured: None }).violations.len()
    };
    assert_eq!(with("^(a+)+$"), 1);
    assert_eq!(with("^(?=(a+)+b)"), 1);
}

// T-92
#[test]
fn a_schema_that_refers_to_itself_ends() {
    let tree = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    let text = format!("{}{{}}{}", "{\"a\":".repeat(120), "}".repeat(120));
    check_schema(tree, &text, &text);
    for schema in [
        json!({"$ref": "#"}),
        json!({"allOf": [{"$ref": "#"}]}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
    ] {
        reading(schema, true, "", ReplyText { text: "{\"a\":1}", structured: None });
    }
}

#[test]
fn an_answer_in_a_form_is_read_like_an_output_and_required() {
    let form = AnswerForm::Form {
        schema: OutputSchema { schema: json!({"required": ["result"]}), required: false },
        field: "result".to_owned(),
        means: [("ok".to_owned(), "ok".into())].into(),
        message: "message".to_owned(),
    };
    let question = Question {
        prompt: Prompt::default(),
        provider: None,
        model: None,
        session: QuestionSession::Same,
        answer: form,
        correction: Prompt::default(),
        corrections: 1,
        unreadable: None,
    };
    let choice = Choice { options: Vec::new(), found_by: Vec::new() };
    let answer = |text| {
        shown(&read(ExpectedReply::Answer(&choice, &question), "", ReplyText { text, structured: None }))
    };
    assert_eq!(answer("```json\n{\"result\":\"OK \"}\n```"), r#"{"result":"OK "}"#);
    assert_eq!(answer("```\n{\"result\":\"ok\"}\n```"), r#"{"result":"ok"}"#, "a fence without `json`");
    assert_eq!(answer("```text\n{\"result\":\"ok\"}\n```"), "- no JSON object");
    assert_eq!(answer("result: ok"), "- no JSON object");
    assert_eq!(answer("{}"), "{}\n- \"result\" is a required property");
}

// S-15
#[test]
fn a_choice_by_field_needs_no_schema() {
    let choice = Choice {
        options: Vec::new(),
        found_by: vec![Method::Field(LabelField { pointer: "/intent".to_owned(), ..LabelField::default() })],
    };
    let reads = Reads { choice: Some(choice), ..Reads::default() };
    let reading = |text| shown(&read(ExpectedReply::Work(&reads), "", ReplyText { text, structured: None }));
    assert_eq!(reading("```json\n{\"intent\":\"next\"}\n```"), r#"{"intent":"next"}"#);
    assert_eq!(reading("nothing"), "");
}

#[test]
fn a_field_with_one_value_is_fixed_and_a_deeper_field_is_found_above() {
    let shaping = Shaping {
        fixed: [("stepId".to_owned(), json!("sew"))].into(),
        lifted: [("cloth".to_owned(), "/found/cloth".to_owned()), ("gone".to_owned(), "/x".to_owned())]
            .into(),
    };
    let schema = OutputSchema { schema: json!({"properties": {"stepId": {"const": "sew"}}}), required: true };
    let (correction, still_wrong) = (Prompt::default(), InvalidOutputPolicy::KeepValidItems);
    let checked = OutputCheck::BySchema;
    let output = Some(Output {
        schema,
        corrections: 0,
        correction,
        still_wrong,
        checked,
        shaping,
        kept_as: None,
        names: None,
    });
    let reads = Reads { output, ..Reads::default() };
    let reading = |text| read(ExpectedReply::Work(&reads), "", ReplyText { text, structured: None });
    let mended = reading(r#"{"stepId": "cut", "found": {"cloth": "wool"}}"#);
    insta::assert_snapshot!(shown(&mended), @r#"
    {"cloth":"wool","found":{"cloth":"wool"},"stepId":"sew"}
    ! /stepId: "cut" was replaced by "sew"
    "#);
    assert_eq!(shown(&reading(r#"{"stepId": "sew"}"#)), r#"{"stepId":"sew"}"#);
    let same = reading(r#"{"cloth": "wool", "found": {"cloth": "wool"}}"#);
    assert_eq!(shown(&same), r#"{"cloth":"wool","found":{"cloth":"wool"}}"#);
    let other = reading(r#"{"cloth": "silk", "found": {"cloth": "wool"}}"#);
    assert_eq!(
        shown(&other),
        r#"{"cloth":"wool","found":{"cloth":"wool"}}"#,
        "the definition names the deeper one"
    );
    assert_eq!(shown(&reading("{}")), "{}", "it need not be given");
}

// T-86
#[test]
fn a_verdict_in_a_repeated_prompt_is_no_value_and_one_that_equals_an_example_is() {
    let example = "Reply with exactly one ```json block of this form:\n```json\n{\"height\": 1}\n```\n";
    let prompt = format!("Measure.\n{example}Thank you.\n");
    let echo = |text: &str| shown(&reading(measure(), true, &prompt, ReplyText { text, structured: None }));
    assert_eq!(echo(&prompt), "- no JSON object");
    assert_eq!(echo(&format!("{prompt}\nI could not.")), "- no JSON object");
    assert_eq!(echo(&format!("{prompt}\n```json\n{{\"height\":2}}\n```")), r#"{"height":2}"#);
    assert_eq!(echo("Here it is:\n```json\n{\"height\": 1}\n```"), r#"{"height":1}"#);
    assert_eq!(echo("```json\n{\"height\": 1}\n```"), r#"{"height":1}"#);
    let bare = "Measure.\nFor example:\n{\"height\": 1}\nThank you.\n";
    let reading = reading(measure(), true, bare, ReplyText { text: &format!("{bare}No."), structured: None });
    assert_eq!(shown(&reading), "- no JSON object");
}

// S-44: a value that passes from round to round has a maximum size.
#[test]
fn a_value_too_large_to_be_passed_on_is_a_violation() {
    let said = |length: usize| json!({"height": 1, "note": "x".repeat(length)}).to_string();
    let taken = reading(measure(), true, "", ReplyText { text: &said(200_000), structured: None });
    assert!(taken.output.is_some() && taken.violations.is_empty(), "{:?}", taken.violations);
    check(&said(300_000), "- the JSON object has 300022 bytes; at most 262144 are taken");
}

fn read_items(text: &str) -> Reading {
    let output = Output {
        schema: OutputSchema { schema: json!({"required": ["issues", "overall_score"]}), required: true },
        corrections: 1,
        correction: Prompt::default(),
        still_wrong: InvalidOutputPolicy::KeepValidItems,
        checked: OutputCheck::ByItem,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    };
    let reads = Reads { output: Some(output), ..Reads::default() };
    read(ExpectedReply::Work(&reads), "", ReplyText { text, structured: None })
}

// R-43, cases 36 and 37
#[test]
fn findings_are_wrong_one_by_one_and_how_they_are_wrapped_is_forgiven() {
    let check = |text: &str, expected: &str| assert_eq!(shown(&read_items(text)), expected, "{text}");
    let valid = r#"{"issues":[{"description":"d","severity":"CRITICAL"}],"overall_score":10}"#;
    check(valid, valid);
    let wrapped = format!(r#"{{"data":{valid}}}"#);
    check(&wrapped, &wrapped);
    check(
        r#"{"issues":[],"overall_score":10.1}"#,
        "{\"issues\":[],\"overall_score\":10.1}\n- overall_score: 10.1 is not a number from 0 to 10",
    );
    check("I found nothing.", "- no JSON object");
    let both = format!("```json\n{valid}\n```\nIn short:\n```json\n{{\"issues\":[]}}\n```");
    check(&both, valid);
}

// R-43: a quotation never silences the agent's own answer.
#[test]
fn of_several_answers_none_is_taken_in_silence() {
    let check = |text: &str, expected: &str| assert_eq!(shown(&read_items(text)), expected, "{text}");
    let found = r#"{"issues":[{"description":"d","severity":"critical"}],"overall_score":1}"#;
    let quoted = r#"{"issues":[],"overall_score":10}"#;
    let several = format!("{found}\n- several different JSON objects fit the schema: give exactly one");
    check(&format!("{found}\nThe file says: {quoted}"), &several);
    check(&format!("{quoted} is what the file says.\n{found}"), &several);
    check(&format!("```json\n{found}\n```\nas in\n```json\n{quoted}\n```\n"), &several);
    check(&format!("```json\n{found}\n```\nonce more: {found}"), found);
    let twice = r#"{"issues":[{"description":"d","severity":"critical"}],"overall_score":1,"issues":[]}"#;
    let ambiguous =
        "- no JSON object\n- the JSON object is ambiguous: duplicate key `issues` at line 1 column 84";
    check(twice, ambiguous);
    check(
        &format!("```json\n{twice}\n```"),
        "- no JSON object\n- the block that begins on line 1 is ambiguous: duplicate key `issues` at line 1 column 84",
    );
}

// R-43: of too many findings, those that fit are kept.
#[test]
fn findings_are_kept_as_far_as_they_fit() {
    let issue = json!({"description": "d".repeat(1_000), "severity": "critical"});
    let reading = read_items(&json!({"issues": vec![issue; 300], "overall_score": 1}).to_string());
    let kept = reading.output.unwrap()["issues"].as_array().map(Vec::len);
    assert!(kept.is_some_and(|kept| (200..300).contains(&kept)), "{kept:?}");
    assert!(reading.violations[0].ends_with("at most 262144 are taken"), "{:?}", reading.violations);
}

// A truncated reply: complete findings are kept, and the agent is asked for the rest
#[test]
fn whole_findings_before_a_cut_are_kept() {
    let check = |text: &str, expected: &str| assert_eq!(shown(&read_items(text)), expected, "{text}");
    let cut = r#"{"overall_score": 4, "issues": [{"description":"d","severity":"critical"}, {"description":"e","sev"#;
    let kept = "{\"issues\":[{\"description\":\"d\",\"severity\":\"critical\"}],\"overall_score\":4}";
    let behind =
        |text: &str| format!("- the JSON object is cut off: its end is missing, behind {}", json!(text));
    let kept = format!("{kept}\n{}", behind(cut));
    check(cut, &kept);
    check(&format!("I looked.\n\n```json\n{cut}"), &kept);
    check(&format!("I looked at `{{x}}`: {cut}"), &kept);
    check("{\"overall_score\": 4\n", &behind(r#"{"overall_score": 4"#));
    let long = format!(r#"{{"issues": [{{"description": "{}"#, "ä".repeat(300));
    check(&long, &behind(&"ä".repeat(200)));
    check("I looked.", "- no JSON object");
}
