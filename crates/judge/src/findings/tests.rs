//! R-43, R-45, R-46: all parts of a reply become findings and assessments.

use insta::assert_snapshot;
use saihai_model::Json;
use serde_json::json;

use super::super::*;

fn schema(required: &[&str]) -> Json {
    json!({"type": "object", "required": required})
}

fn told(payload: &ReviewReply) -> String {
    let mut lines = Vec::new();
    for one in &payload.findings {
        let place = one.place().or(one.claimed.clone()).unwrap_or_default();
        let mut line = format!("{} {} [{place}] {}", one.severity.name(), one.kind.name(), one.message);
        let more = [
            one.suggestion.as_ref().map(|text| format!("suggestion {text}")),
            one.category.as_ref().map(|text| format!("category {text}")),
            one.confidence.map(|percent| format!("confidence {percent}")),
            one.claimed.as_ref().map(|text| format!("claimed {text}")),
        ];
        for part in more.into_iter().flatten() {
            line.push_str(&format!(" | {part}"));
        }
        lines.push(line);
    }
    for one in &payload.assessments {
        let value =
            one.score.map(|score| score.to_string()).or(one.level.map(|level| level.name().to_owned()));
        let description = one.description.as_deref().unwrap_or_default();
        lines.push(
            format!("{} = {} {description}", one.name, value.unwrap_or_default()).trim_end().to_owned(),
        );
    }
    lines.extend(payload.problems.iter().map(|problem| format!("problem: {problem}")));
    lines.extend(payload.refused.iter().map(|words| format!("refused: {words}")));
    lines.extend(payload.notes.iter().map(|note| format!("note: {note}")));
    lines.join("\n")
}

fn read(required: &[&str], value: Json) -> String {
    let payload = ReviewReply::read("who", &schema(required), &value);
    assert!(payload.findings.iter().all(|finding| finding.agent == "who"));
    told(&payload)
}

// R-45, R-46
#[test]
fn a_score_and_issues() {
    let issue = json!({
        "severity": "CRITICAL", "description": " It leaks. ",
        "location": {"file_path": "src/a.rs", "line_number": 3, "end_line": 5},
        "suggestion": "Close it.", "category": "resources", "confidence": 80, "agent_name": "me",
    });
    let plain = json!({"severity": "nitpick", "description": "Name.", "location": null});
    assert_snapshot!(read(&["issues", "overall_score"], json!({"issues": [issue, plain], "overall_score": 7.5})), @"
    critical issue [src/a.rs:3-5] It leaks. | suggestion Close it. | category resources | confidence 80
    nitpick issue [] Name.
    overall_score = 7.5
    ");
}

// R-46
#[test]
fn the_list_an_issue_stands_in_decides_its_severity() {
    let item = |text: &str, severity: &str| json!({"severity": severity, "description": text});
    let lists = json!({
        "nitpick_issues": [item("four", "critical")],
        "important_issues": [item("two", "important")],
        "critical_issues": [item("one", "nitpick")],
        "suggestion_issues": [item("three", "Blocker")],
        "issues": [item("two", "suggestion"), item("five", "important")],
    });
    assert_snapshot!(read(&["critical_issues"], lists), @"
    critical issue [] one
    important issue [] two
    suggestion issue [] three
    nitpick issue [] four
    important issue [] five
    ");
}

// R-46
#[test]
fn gaps_risks_dimensions_categories_and_improvements_are_not_lost() {
    let everything = json!({
        "issues": [],
        "coverage_gaps": [
            {"file_path": "src/a.rs", "line_number": 9, "description": "No test for zero.", "priority": "important"},
            {"file_path": "src/b.rs", "line_number": null, "description": "No test at all.", "priority": "critical"},
        ],
        "risk_level": "Important",
        "dimensions": [
            {"name": "encapsulation", "score": 3, "description": "Fields are open."},
            {"name": "invariants", "score": 5, "description": "Fine."},
        ],
        "categories": [{"name": "stale", "issues": [
            {"severity": "suggestion", "description": "Outdated.", "category": "doc"},
        ]}],
        "suggestions": [{
            "title": "Flatten", "description": "Return early.", "priority": "suggestion",
            "location": {"file_path": "src/a.rs", "line_number": 2, "end_line": null},
        }],
        "overall_score": 10,
    });
    assert_snapshot!(read(&[], everything), @"
    important coverage_gap [src/a.rs:9] No test for zero.
    critical coverage_gap [src/b.rs] No test at all.
    suggestion dimension [] encapsulation: Fields are open.
    suggestion issue [] Outdated. | category stale/doc
    suggestion improvement [src/a.rs:2] Flatten: Return early.
    risk_level = important
    encapsulation = 3 Fields are open.
    invariants = 5 Fine.
    overall_score = 10
    ");
}

// R-45
#[test]
fn categories_may_be_a_map() {
    let map =
        json!({"issues": [], "categories": {"stale": [{"severity": "nitpick", "description": "Old."}]}});
    assert_snapshot!(read(&["categories", "issues"], map), @"nitpick issue [] Old. | category stale");
}

// R-43
#[test]
fn an_answer_in_one_more_object_is_taken_out_of_it_only_where_that_helps() {
    let valid = json!({"issues": [], "overall_score": 1});
    assert_eq!(read(&["issues", "overall_score"], json!({"data": valid})), "overall_score = 1");
    assert_eq!(
        read(&["issues", "overall_score"], json!({"data": {"x": 1}})),
        "problem: `issues` is missing\nproblem: `overall_score` is missing\nrefused: {\"data\":{\"x\":1}}\nnote: `data` was not asked for and is ignored"
    );
    let half =
        json!({"data": {"issues": [{"severity": "nitpick", "description": "x"}], "overall_score": 11}});
    assert_eq!(
        read(&["issues", "overall_score"], half),
        "nitpick issue [] x\nproblem: overall_score: 11 is not a number from 0 to 10"
    );
}

// Null counts as absent only for nullable properties.
#[test]
fn null_is_no_answer_where_something_is_asked_for() {
    let check = |required: &[&str], value: Json, expected: &str| assert_eq!(read(required, value), expected);
    let scored = ["issues", "overall_score"];
    check(
        &scored,
        json!({"issues": null, "overall_score": 3}),
        "overall_score = 3\nproblem: `issues` is null",
    );
    check(&scored, json!({"issues": [], "overall_score": null}), "problem: `overall_score` is null");
    check(
        &["coverage_gaps", "risk_level"],
        json!({"coverage_gaps": null, "risk_level": null}),
        "problem: `coverage_gaps` is null\nproblem: `risk_level` is null",
    );
    let listed = json!({"categories": [{"name": "a", "issues": null}, {"name": "b"}]});
    let expected = "problem: categories/0/issues: is not a list\nproblem: categories/1/issues: is missing";
    check(&["categories"], listed, expected);
    check(&["categories"], json!({"categories": {"a": null}}), "problem: categories/a: is not a list");
    let nullable = json!({"severity": "nitpick", "description": "x", "location": null, "suggestion": null,
                          "category": null, "confidence": null});
    check(&["issues"], json!({"issues": [nullable]}), "nitpick issue [] x");
}

// R-43: valid items are kept, and problems are reported.
#[test]
fn items_that_are_valid_by_themselves_are_kept() {
    let place = |line: Json| json!({"file_path": "a.rs", "line_number": line});
    let issues = json!([
        {"severity": "important", "description": "kept"},
        {"severity": "Blocker", "description": "of no severity"},
        {"severity": "important", "description": "  "},
        {"severity": "important"},
        "no object",
        {"severity": "important", "description": "line 0", "location": place(json!(0))},
        {"severity": "important", "description": "line as text", "location": place(json!("7"))},
        {"severity": "important", "description": "no line", "location": {"file_path": "a.rs"}},
        {"severity": "important", "description": "place as text", "location": "a.rs:7"},
        {"severity": "important", "description": "backwards",
         "location": {"file_path": "a.rs", "line_number": 7, "end_line": 3}},
        {"severity": "important", "description": "too certain", "confidence": 101},
        {"severity": "important", "description": "with more", "mood": "bad", "suggestion": ""},
    ]);
    assert_snapshot!(read(&["issues", "overall_score"], json!({"issues": issues, "overall_score": "9", "mood": 1})), @r#"
    important issue [] kept
    important issue [a.rs] line 0 | claimed a.rs:0
    important issue [a.rs] line as text | claimed a.rs:"7"
    important issue [a.rs] no line
    important issue ["a.rs:7"] place as text | claimed "a.rs:7"
    important issue [a.rs:7] backwards | claimed a.rs:7-3
    important issue [] too certain
    important issue [] with more
    problem: issues/4: is not an object
    problem: issues/1/severity: "Blocker" is not one of `critical`, `important`, `suggestion`, `nitpick`
    problem: issues/2/description: is empty
    problem: issues/3/description: is missing
    problem: issues/5/location/line_number: 0 is not a line number from 1 on
    problem: issues/6/location/line_number: "7" is not a line number from 1 on
    problem: issues/7/location/line_number: is missing
    problem: issues/8/location: is not an object
    problem: issues/9/location/end_line: 3 is not a line number from 7 on
    problem: issues/10/confidence: 101 is not a whole number from 0 to 100
    problem: overall_score: "9" is not a number from 0 to 10
    refused: "no object"
    refused: {"description":"of no severity","severity":"Blocker"}
    refused: {"description":"  ","severity":"important"}
    refused: {"severity":"important"}
    note: `mood` in `issues` was not asked for and is ignored
    note: `mood` was not asked for and is ignored
    "#);
}

// R-43
#[test]
fn hostile_payloads_are_problems_and_no_panic() {
    for (value, expected) in [
        (json!(null), "problem: the reply is not an object\nrefused: null"),
        (json!([1]), "problem: the reply is not an object\nrefused: [1]"),
        (json!({"issues": {"a": 1}}), "problem: issues: is not a list\nrefused: {\"a\":1}"),
        (json!({"issues": null, "overall_score": null}), ""),
        (json!({"categories": {"a": 1}}), "problem: categories/a: is not a list\nrefused: 1"),
        (
            json!({"risk_level": 7}),
            "problem: risk_level: 7 is not one of `critical`, `important`, `suggestion`, `nitpick`",
        ),
        (
            json!({"issues": [{"severity": "nitpick", "description": "x", "location": {
                "file_path": "a", "line_number": u64::MAX}}]}),
            "nitpick issue [a] x | claimed a:18446744073709551615\n\
             problem: issues/0/location/line_number: 18446744073709551615 is not a line number from 1 on",
        ),
    ] {
        assert_eq!(read(&[], value.clone()), expected, "{value}");
    }
}

// R-43: a score alone is not an item if the findings were unreadable.
#[test]
fn a_score_alone_is_no_item() {
    let scored = schema(&["issues", "overall_score"]);
    let has_items = |issues: Json| {
        let payload = ReviewReply::read("who", &scored, &json!({"issues": issues, "overall_score": 1}));
        (payload.problems.is_empty(), payload.has_items())
    };
    assert_eq!(has_items(json!([])), (true, false), "nothing was found");
    assert_eq!(has_items(json!([{"severity": "nitpick", "description": "x"}])), (true, true));
    for wrong in [
        json!([{"severity": "High", "description": "SQL injection"}]),
        json!([{"severity": "critical", "description": " "}]),
        json!(["SQL injection"]),
        json!(null),
        json!("none"),
    ] {
        assert_eq!(has_items(wrong.clone()), (false, false), "{wrong}");
    }
    let dimensions = json!([{"name": "a", "score": 9, "description": "d"}, {"name": "b", "score": 11}]);
    let payload =
        ReviewReply::read("who", &Json::Null, &json!({"dimensions": dimensions, "risk_level": "nitpick"}));
    assert!(payload.has_items(), "a dimension is an item");
}

// A person can still read an item that is not a valid finding.
#[test]
fn what_is_refused_is_told_in_its_own_words() {
    let long = "x".repeat(600);
    let issues = json!([{"severity": "High", "description": "SQL injection"}, "a word", {"severity": "High", "description": long}]);
    let payload = ReviewReply::read("who", &schema(&["issues"]), &json!({"issues": issues}));
    assert_eq!(payload.refused[..2], ["\"a word\"", r#"{"description":"SQL injection","severity":"High"}"#]);
    assert_eq!(payload.refused[2].chars().count(), 501, "{}", payload.refused[2]);
    let another = json!({"overall_score": 3, "verdict": "bad", "findings": [{"what": "SQL injection"}]});
    assert_snapshot!(read(&["issues", "overall_score"], another), @r#"
    overall_score = 3
    problem: `issues` is missing
    refused: {"findings":[{"what":"SQL injection"}]}
    note: `findings` was not asked for and is ignored
    note: `verdict` was not asked for and is ignored
    "#);
}

// R-43: an invalid correction removes nothing from the reply it corrects.
#[test]
fn two_replies_that_are_wrong_in_part_are_put_together() {
    let issue = |severity: &str, message: &str| json!({"severity": severity, "description": message});
    let read = |issues: Json, score: u32| {
        let value = json!({"issues": issues, "overall_score": score, "risk_level": "nitpick"});
        ReviewReply::read("who", &schema(&["issues"]), &value)
    };
    let bad = issue("Blocker", "unread");
    let first = read(json!([issue("critical", "one"), issue("important", "two"), bad]), 2);
    let mut second = read(json!([issue("important", "one"), bad, issue("High", "unread too")]), 3);
    second.assessments.retain(|one| one.name == "overall_score");
    assert_snapshot!(told(&second.and_before(first)), @r#"
    important issue [] one
    important issue [] two
    overall_score = 3
    risk_level = nitpick
    problem: issues/1/severity: "Blocker" is not one of `critical`, `important`, `suggestion`, `nitpick`
    problem: issues/2/severity: "High" is not one of `critical`, `important`, `suggestion`, `nitpick`
    problem: issues/2/severity: "Blocker" is not one of `critical`, `important`, `suggestion`, `nitpick`
    refused: {"description":"unread","severity":"Blocker"}
    refused: {"description":"unread too","severity":"High"}
    "#);
}

// `5.0` is an integer in JSON Schema, and no reason to pay for another request
#[test]
fn whole_numbers_may_be_written_with_a_point() {
    let place = |line: Json, end: Json| json!({"file_path": "a", "line_number": line, "end_line": end});
    let issue = |place: Json| json!({"severity": "nitpick", "description": "x", "location": place, "confidence": 90.0});
    let reply = json!({"issues": [issue(place(json!(5.0), json!(7.0))), issue(place(json!(5.5), json!(null))), issue(place(json!(1e20), json!(null)))]});
    assert_snapshot!(told(&ReviewReply::read("a", &schema(&["issues"]), &reply)), @"
    nitpick issue [a:5-7] x | confidence 90
    nitpick issue [a] x | confidence 90 | claimed a:5.5
    nitpick issue [a] x | confidence 90 | claimed a:1e+20
    problem: issues/1/location/line_number: 5.5 is not a line number from 1 on
    problem: issues/2/location/line_number: 1e+20 is not a line number from 1 on
    ");
}
