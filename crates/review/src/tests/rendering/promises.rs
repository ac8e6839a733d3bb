//! Properties of every format.

use saihai_config::Language;
use saihai_config::review::FindingIgnore;
use saihai_json_schema::JsonSchema;
use saihai_model::Json;
use serde_json::json;

use super::{report, result, review};
use crate::baseline::Baseline;
use crate::code::CodeFile;
use crate::plan::{GapReason, ReviewGap};
use crate::report::{AgentStatus, ReviewReport};
use crate::{REPORT_SCHEMA, to_github, to_json, to_markdown, to_sarif};

// R-48, R-50
#[test]
fn a_program_reads_it_back() {
    let text = to_json(&report());
    assert_eq!(serde_json::from_str::<ReviewReport>(&text).unwrap(), report());
    let keys: Vec<String> =
        serde_json::from_str::<Json>(&text).unwrap().as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        keys.join(" "),
        "assessments base filtered findings fixed head load_errors mode not_reviewed notices outcome results run selection summary suppressed type v version warnings"
    );
}

/// Returns the schema without undescribed properties.
fn closed(mut schema: Json) -> Json {
    match &mut schema {
        Json::Object(object) => {
            for value in object.values_mut() {
                *value = closed(value.take());
            }
            if object.contains_key("properties") && object.contains_key("required") {
                object.insert("additionalProperties".to_owned(), false.into());
            }
        }
        Json::Array(values) => {
            for value in values {
                *value = closed(value.take());
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
    schema
}

// R-50
#[test]
fn the_schema_describes_a_report_completely() {
    let schema = closed(serde_json::from_str(REPORT_SCHEMA).unwrap());
    let schema = JsonSchema::compile(&schema).unwrap();
    let value: Json = serde_json::from_str(&to_json(&report())).unwrap();
    assert_eq!(schema.violations(&value, 10), []);
    for key in value.as_object().unwrap().keys() {
        let mut less = value.clone();
        less.as_object_mut().unwrap().remove(key);
        assert!(!schema.accepts(&less), "without {key}");
    }
}

/// The schema of SARIF 2.1.0 as published by OASIS.
const SARIF_SCHEMA: &str = include_str!("sarif-schema-2.1.0.json");

// R-51
#[test]
fn a_log_is_what_the_published_schema_of_sarif_wants() {
    let mut schema: Json = serde_json::from_str(SARIF_SCHEMA).unwrap();
    // A strict regex parser rejects this pattern. It belongs to a property that we do not write.
    for owner in ["run", "toolComponent"] {
        let language = schema.pointer_mut(&format!("/definitions/{owner}/properties/language")).unwrap();
        assert!(language.as_object_mut().unwrap().remove("pattern").is_some());
    }
    let schema = JsonSchema::compile(&schema).unwrap();
    let mut clean = review();
    clean.results = vec![result("a", AgentStatus::Success, &json!({ "issues": [] }))];
    clean.plan.load_errors.clear();
    let hostile = with_message("a b/\u{1b}[31m%41#?\\..\u{202e}\n::error::x");
    for report in [report(), clean.report(), hostile] {
        let log: Json = serde_json::from_str(&to_sarif(&report)).unwrap();
        assert_eq!(schema.violations(&log, 10), []);
        // `format` is an annotation, so the schema alone does not check URIs.
        for uri in uris(&log) {
            assert!(is_uri_reference(uri), "{uri}");
        }
    }
    assert!(!schema.accepts(&json!({ "version": "2.1.0" })), "the schema asks for something");
    for wrong in ["a b", "a\\b", "\u{1b}", "a%4", "日"] {
        assert!(!is_uri_reference(wrong), "{wrong}");
    }
}

/// Returns every value of a key that SARIF defines as a URI.
fn uris(log: &Json) -> Vec<&str> {
    match log {
        Json::Object(members) => {
            let own = members.iter().filter(|(key, _)| key.to_lowercase().ends_with("uri"));
            own.filter_map(|(_, value)| value.as_str()).chain(members.values().flat_map(uris)).collect()
        }
        Json::Array(items) => items.iter().flat_map(uris).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Vec::new(),
    }
}

/// Checks for characters of RFC 3986 and complete escapes.
fn is_uri_reference(text: &str) -> bool {
    let escapes = text.split('%').skip(1);
    let are_whole = escapes
        .map(|rest| rest.get(..2))
        .all(|digits| digits.is_some_and(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit())));
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    are_whole && text.bytes().all(is_known) && text.matches('#').count() <= 1
}

// R-51: code scanning refuses a whole log for one result without a location, and treats all results as open
#[test]
fn every_result_of_a_log_is_one_that_code_scanning_takes() {
    let mut review = review();
    let issues: Vec<Json> = [json!(null), json!({"file_path": "src/load.rs", "line_number": 5})]
        .into_iter()
        .flat_map(|place| ["Something is odd.", "Quite another matter"].map(|text| (text, place.clone())))
        .map(|(text, place)| json!({"severity": "nitpick", "description": text, "location": place}))
        .collect();
    review.results.push(result("twice", AgentStatus::Success, &json!({ "issues": issues })));
    let log: Json = serde_json::from_str(&to_sarif(&review.report())).unwrap();
    let run = &log["runs"][0];
    let results = run["results"].as_array().unwrap();
    let mut names = Vec::new();
    for result in results {
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["artifactLocation"]["uri"].is_string(), "{result}");
        assert_eq!(
            result["properties"]["placeIsKnown"] == false,
            result["locations"][0]["message"].is_object()
        );
        assert_ne!(result["baselineState"], "absent", "{result}");
        // Our own fingerprint separates results that share a line and a rule.
        let own = result["partialFingerprints"]["primaryLocationLineHash"].as_str();
        let line = || format!("{} {}", place["artifactLocation"]["uri"], place["region"]["startLine"]);
        assert!(own.is_some() || place["region"].is_object(), "{result}");
        names.push(format!("{} {}", result["ruleId"], own.map_or_else(line, str::to_owned)));
    }
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "{names:?}");
    let texts = results.iter().map(|one| one["message"]["text"].as_str().unwrap());
    assert!(
        !texts.clone().any(|text| text.contains("too long") || text.contains("Gone since")),
        "{results:?}"
    );
    let of_run = ["filtered", "fixed"].map(|name| run["properties"][name][0]["message"].clone());
    assert_eq!(of_run, ["Perhaps too long.", "Gone since."]);
    // The named file replaces a line that does not exist in it.
    let wrong = results.iter().find(|one| one["properties"]["claimed"] == "src/load.rs:9999").unwrap();
    assert_eq!(wrong["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], "src/load.rs");
}

// R-61: a scanner's log works as a baseline like a report.
#[test]
fn every_form_for_programs_is_a_baseline() {
    for text in [to_json(&report()), to_sarif(&report())] {
        let mut again = review();
        again.baseline = Some(Baseline::read(&serde_json::from_str(&text).unwrap()).unwrap());
        let again = again.report();
        assert_eq!(
            (again.summary.failing, again.fixed.len()),
            (0, 0),
            "{}",
            to_markdown(&again, Language::English)
        );
    }
}

// R-48
#[test]
fn the_same_replies_in_another_order_are_the_same_bytes() {
    let mut other = review();
    other.results.reverse();
    let other = other.report();
    let every = |report: &ReviewReport| {
        [to_markdown(report, Language::English), to_json(report), to_sarif(report), to_github(report)]
    };
    assert_eq!(every(&report()), every(&other));
}

fn with_message(message: &str) -> ReviewReport {
    let mut review = review();
    let issue = json!({"severity": "critical", "description": message, "suggestion": message, "category": message,
        "location": {"file_path": message, "line_number": 1}});
    review.results = vec![result("a", AgentStatus::error("crashed", message), &json!({"issues": [issue]}))];
    review.plan.warnings = vec![message.to_owned()];
    review.plan.load_errors[0].message = message.to_owned();
    review.report()
}

// R-49, R-52
#[test]
fn nothing_an_agent_writes_is_obeyed_by_a_terminal_or_a_ci_service() {
    let hostile = "ok\n::error::x\n  ::add-mask::y\n##[error]z\u{1b}[31m\u{9b}2J\u{202e}\r\n# Heading\n<script>x</script> `<b>`\n```\n> quote";
    let report = with_message(hostile);
    for text in
        [to_markdown(&report, Language::English), to_json(&report), to_sarif(&report), to_github(&report)]
    {
        let hidden = |letter: char| letter != '\n' && saihai_view::is_hidden(letter);
        assert!(!text.contains(hidden), "{text:?}");
        assert!(!text.contains("##["), "{text}");
        let mut obeyed = text.lines().filter(|line| line.trim_start().starts_with("::"));
        let ours = ["::error ", "::warning ", "::notice "];
        assert!(obeyed.all(|line| ours.iter().any(|word| line.starts_with(word))), "{text}");
    }
    let page = to_markdown(&report, Language::English);
    let obeyed = page.lines().filter(|line| line.trim_start().starts_with("::")).count();
    assert_eq!(obeyed, 0, "{page}");
    assert!(!page.replace("\\<script", "").contains("<script"), "{page}");
    assert_eq!(page.lines().filter(|line| line.trim_start() == "# Heading").count(), 0, "{page}");
    assert!(page.contains("\\<script>") && page.contains("`<b>`"), "{page}");
}

// R-52
#[test]
fn github_shows_ten_of_a_kind_and_counts_the_rest() {
    let mut review = review();
    let issues: Vec<Json> = (0..13)
        .map(|number| json!({"severity": "critical", "description": format!("number {number}")}))
        .collect();
    review.results = vec![result("a", AgentStatus::Success, &json!({"issues": issues}))];
    let text = to_github(&review.report());
    assert_eq!(text.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert!(text.contains("\nnot shown above: 3 × error\n"), "{text}");
}

// R-46, case 38: every format has the kind of a finding and the overall assessment
#[test]
fn nothing_that_is_no_issue_is_lost_in_any_form() {
    let mut review = review();
    let all = json!({
        "coverage_gaps": [{"file_path": "src/load.rs", "description": "No test.", "priority": "important"}],
        "dimensions": [{"name": "invariants", "score": 3, "description": "Any text is taken."}],
        "categories": [{"name": "naming", "issues": [{"severity": "nitpick", "description": "No name."}]}],
        "suggestions": [{"title": "Inline", "description": "One line does.", "priority": "suggestion"}],
        "risk_level": "important", "overall_score": 6.5,
    });
    review.results = vec![result("a", AgentStatus::Success, &all)];
    let report = review.report();
    let [people, programs] =
        [["coverage gap", "improvement", "low score"], ["coverage_gap", "improvement", "dimension"]];
    let forms = [
        ("md", to_markdown(&report, Language::English), people),
        ("github", to_github(&report), people),
        ("json", to_json(&report), programs),
        ("sarif", to_sarif(&report), programs),
    ];
    let said = ["No test.", "Any text is taken.", "naming", "No name.", "Inline: One line does."];
    for (form, text, kinds) in forms {
        for word in kinds.iter().chain(&said).chain(&["risk_level", "overall_score"]) {
            assert!(text.contains(word), "{form} has no {word}\n{text}");
        }
    }
}

// Ten notices of findings do not hide the overall assessments
#[test]
fn github_always_shows_the_assessments() {
    let mut review = review();
    let issues: Vec<Json> = (0..13)
        .map(|number| json!({"severity": "nitpick", "description": format!("number {number}")}))
        .collect();
    review.results = vec![result("a", AgentStatus::Success, &json!({"issues": issues, "overall_score": 4}))];
    let text = to_github(&review.report());
    assert!(text.contains("::notice title=assessments::a: overall_score 4/10\n"), "{text}");
    assert_eq!(text.lines().filter(|line| line.starts_with("::notice ")).count(), 10);
}

// R-52, R-62, R-64, R-69: problems of the review itself appear regardless of the number of findings
#[test]
fn github_never_cuts_off_what_a_change_does_to_its_own_review() {
    let mut review = review();
    let issues: Vec<Json> = (0..13)
        .map(|number| json!({"severity": "important", "description": format!("number {number}")}))
        .collect();
    review.results = vec![result("a", AgentStatus::Success, &json!({"issues": issues}))];
    let style = json!({"issues": [{"severity": "critical", "description": "It leaks.",
        "location": {"file_path": "src/load.rs", "line_number": 5}}]});
    review.results.push(result("style", AgentStatus::Success, &style));
    review.plan.load_errors.clear();
    let left_out =
        |number: u32| ReviewGap { file: format!("{number}.py"), agent: None, reason: GapReason::Size };
    review.plan.left_out.extend((10..22).map(left_out));
    let text = to_github(&review.report());
    let lines: Vec<&str> = text.lines().take_while(|line| !line.contains("important")).collect();
    insta::assert_snapshot!(lines.join("\n"), @"
    ::warning title=about the review (1)::the reviewed change touches `.saihai/config.toml`
    ::warning title=suppressed by this change (1)::critical src/load.rs:5 style: It leaks. (suppressed at src/load.rs:4: the name is from the format)
    ::warning title=not reviewed (12)::10.py: size%0A11.py: size%0A12.py: size%0A13.py: size%0A14.py: size%0A15.py: size%0A16.py: size%0A17.py: size%0A18.py: size%0A19.py: size%0Aand 2 more
    ");
    assert!(text.contains("\n::notice title=not reviewed (1)::logo.png: binary\n"), "{text}");
}

// Suggestions of two agents for the same finding are both shown
#[test]
fn people_read_what_each_agent_suggests() {
    let issue = |suggestion: &str| {
        json!({"issues": [{"severity": "important", "description": "It leaks.", "suggestion": suggestion,
            "location": {"file_path": "src/load.rs", "line_number": 5}}]})
    };
    let mut review = review();
    review.results = ["Close it.", "Drop it.", "Close it."]
        .iter()
        .zip(["a", "b", "c"])
        .map(|(suggestion, agent)| result(agent, AgentStatus::Success, &issue(suggestion)))
        .collect();
    let page = to_markdown(&review.report(), Language::English);
    assert_eq!(page.matches("Suggestion: Close it.").count(), 1, "{page}");
    assert!(page.contains("  Also said by b: Suggestion: Drop it.\n"), "{page}");
    assert!(!page.contains("Also said by c"), "{page}");
}

// A comment is in the source, regardless of the file name
#[test]
fn a_log_says_where_a_suppression_is_written() {
    let kinds = |path: &str| {
        let mut review = review();
        let text = "x = 1 # saihai-ignore[a]: known\n";
        review.code = review.code.with(path, CodeFile::changed(Some(text.to_owned()), "@@ -0,0 +1 @@\n+x\n"));
        let other = FindingIgnore {
            agent: Some("b".to_owned()),
            path: None,
            expires: None,
            ..review.plan.ignores.remove(0)
        };
        review.plan.ignores = vec![other];
        let issue = |message: &str| {
            json!({"issues": [{"severity": "nitpick", "description": message,
                "location": {"file_path": path, "line_number": 1}}]})
        };
        review.results = vec![
            result("a", AgentStatus::Success, &issue("It leaks.")),
            result("b", AgentStatus::Success, &issue("Too many words.")),
        ];
        let log: Json = serde_json::from_str(&to_sarif(&review.report())).unwrap();
        let results = log["runs"][0]["results"].as_array().unwrap().clone();
        let kinds = results.iter().filter_map(|one| {
            let kind = one["suppressions"][0]["kind"].as_str()?;
            Some(format!("{} {kind}", one["ruleId"].as_str()?))
        });
        kinds.collect::<Vec<_>>()
    };
    for path in ["src/x.py", "Cargo.toml"] {
        let mut found = kinds(path);
        found.sort();
        assert_eq!(found, ["a inSource", "b external"], "{path}");
    }
}

// R-46: the unreadable part of an answer may be its worst finding
#[test]
fn what_was_refused_of_an_answer_is_in_every_form() {
    let mut report = report();
    for result in &mut report.results {
        if !matches!(result.status, AgentStatus::Success | AgentStatus::Timeout { .. }) {
            result.refused = vec!["the owl is on fire".to_owned()];
        }
    }
    let failed = report.results.iter().filter(|result| !result.refused.is_empty()).count();
    assert!(failed > 1, "one that failed, and one that was cut off");
    let markdown = to_markdown(&report, Language::English);
    for form in [markdown, to_json(&report), to_sarif(&report), to_github(&report)] {
        assert_eq!(form.matches("the owl is on fire").count(), failed, "{form}");
    }
}
