//! Tolerant parsing of replies, with one repeated question if parsing fails.

use saihai_tests::{Answer, ApiServer};

use super::*;

fn said(text: &str) -> String {
    format!("  - for: main/a\n    text: '{text}'\n")
}

const VALID: &str = r#"{"issues":[{"severity":"CRITICAL","description":"d"}],"overall_score":9}"#;

// R-43, R-45, cases 36 and 37
#[test]
fn a_reply_that_is_right_but_for_its_wrapping_is_not_asked_for_again() {
    for text in [VALID.to_owned(), format!(r#"{{"data":{VALID}}}"#), format!("Well: {VALID}")] {
        let project = reviewed_by(&[("a", "")]);
        let outcome = review(&project, &said(&text), &["--json"]).exits(1);
        let told = report(&outcome);
        assert_eq!(statuses(&told), ["a success"], "{text}");
        assert_eq!(told["findings"][0]["severity"], "critical");
    }
}

// R-45: the registry has six names, and each schema is printed exactly as sent
#[test]
fn every_schema_of_a_reply_is_printed_by_its_name() {
    let project = Project::new(PROGRAM);
    let own = [
        ("category_classification", "categories"),
        ("improvement_suggestions", "suggestions"),
        ("multi_dimensional_analysis", "dimensions"),
        ("scored_issues", "overall_score"),
        ("severity_classified", "critical_issues"),
        ("test_gap_assessment", "coverage_gaps"),
    ];
    for (name, property) in own {
        let printed = project.saihai(["schema", &format!("review/{name}")]).run().exits(0).stdout;
        let schema: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
        let mut properties: Vec<_> = schema["properties"].as_object().expect("properties").keys().collect();
        let required: Vec<_> = schema["required"].as_array().expect("a list").iter().collect();
        properties.sort();
        assert_eq!(required, properties, "{name}");
        assert!(properties.iter().any(|known| *known == property), "{name}");
        let has_issues = properties.iter().any(|known| *known == "issues");
        assert_eq!(has_issues, name != "severity_classified", "{name}");
        assert_eq!(schema["additionalProperties"], false);
    }
    project.saihai(["schema", "review/scored"]).run().exits(2);
}

// R-43, case 36
#[test]
fn a_reply_that_is_wrong_is_asked_for_once_more_and_what_is_valid_in_it_is_kept() {
    let wrong = VALID.replace(":9}", ":10.1}");
    let project = reviewed_by(&[("a", "")]);
    let outcome = review(&project, &(said(&wrong) + &said(VALID)), &["--json"]).exits(1);
    assert_eq!(statuses(&report(&outcome)), ["a success"]);
    let journal = std::fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
    let lines = journal.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let sessions: Vec<_> =
        lines.filter_map(|line| line["fact"]["replied"]["session"].as_str().map(str::to_owned)).collect();
    assert_eq!(sessions, ["script-1", "script-1"], "it is asked where it answered");
    let corrected = project.journal().prompts().pop().expect("a prompt").1;
    insta::assert_snapshot!(corrected.split("```").next().expect("words"), @"
    Your reply does not match the schema:

    - overall_score: 10.1 is not a number from 0 to 10

    Reply with one JSON object matching this schema and nothing else.
    ");
    let outcome = review(&reviewed_by(&[("a", "")]), &(said(&wrong) + &said(&wrong)), &["--json"]).exits(1);
    let told = report(&outcome);
    assert_eq!(statuses(&told), ["a truncated"]);
    assert_eq!(told["results"][0]["reason"], "invalid_output");
    assert_eq!(told["findings"][0]["message"], "d");
    let outcome = review(&reviewed_by(&[("a", "")]), &(said("nothing") + &said("{}")), &["--json"]).exits(4);
    assert_eq!(report(&outcome)["results"][0]["class"], "invalid_output");
}

// R-43: a nullable field may be missing without a complaint; an unknown field is ignored with a note
#[test]
fn a_reply_without_what_may_be_null_is_right() {
    let check = |text: &str, notes: serde_json::Value| {
        let project = reviewed_by(&[("a", "allowed_tools = [\"file_read\"]\n")]);
        let server = ApiServer::start(|_| [Answer::Text(text.to_owned())]);
        let settings = format!(
            "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n",
            server.url()
        );
        project.write("../home/.config/saihai/config.toml", settings);
        let asked = project.saihai(["review", "--json"]).env("OPENAI_API_KEY", "sk-of-the-test");
        let outcome = asked.run().exits(1);
        let told = report(&outcome);
        assert_eq!(statuses(&told), ["a success"], "{outcome}");
        assert_eq!(told["results"][0]["notes"], notes, "{outcome}");
        assert!(!outcome.stderr.contains("warning"), "{outcome}");
        assert_eq!(server.asked().len(), 1, "{outcome}");
    };
    check(VALID, serde_json::Value::Null);
    check(
        &VALID.replace(":9}", ":9,\"mood\":1}"),
        serde_json::json!(["`mood` was not asked for and is ignored"]),
    );
}

// If the repeated question fails, complete findings before the cut survive. If it succeeds, the new reply
// counts
#[test]
fn a_reply_cut_off_in_the_middle_keeps_what_is_whole_of_it() {
    let cut = r#"{"overall_score": 4, "issues": [{"description": "d", "severity": "important"}, {"description": "e", "sev"#;
    let replies = format!(
        "  - {{for: main/a, times: 2, text: '{cut}'}}\n  - {{for: main/b, text: '{cut}'}}\n{}",
        none("main/b")
    );
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let told = report(&review(&project, &replies, &["--json"]).exits(1));
    assert_eq!(statuses(&told), ["a truncated", "b success"]);
    assert_eq!(told["results"][0]["reason"], "invalid_output");
    let found: Vec<_> =
        told["findings"].as_array().expect("findings").iter().map(|one| &one["message"]).collect();
    assert_eq!(found, ["d"]);
}

// R-42: a timeout keeps the streamed part of a reply
#[test]
fn what_was_streamed_before_the_time_is_over_is_kept() {
    let project = reviewed_by(&[("late", "timeout = 2\nallowed_tools = [\"file_read\"]\n")]);
    let first = r#"{"severity": "important", "description": "It leaks."}"#;
    let rest =
        format!(r#"{{"severity": "nitpick", "description": "{}"}}"#, "never said to its end, ".repeat(40));
    let text = format!("{{\"overall_score\": 4, \"issues\": [{first}, {rest}]}}");
    let server = ApiServer::start(|_| [Answer::Endless(text)]);
    let settings = format!(
        "provider = \"openai\"\n[providers.openai]\nmodel = \"m\"\nbase_url = \"{}/v1\"\n",
        server.url()
    );
    project.write("../home/.config/saihai/config.toml", settings);
    let outcome = project.saihai(["review", "--json"]).env("OPENAI_API_KEY", "sk-of-the-test").run().exits(4);
    let told = report(&outcome);
    assert_eq!(statuses(&told), ["late timeout"]);
    assert_eq!(told["results"][0]["timeout_seconds"], 2);
    let found: Vec<_> = told["findings"].as_array().expect("findings").iter().collect();
    assert_eq!(found.len(), 1, "{outcome}");
    assert_eq!(found[0]["message"], "It leaks.");
}

// R-43: an agent that quotes an answer is asked which one it means, and until then nothing is lost.
#[test]
fn a_quoted_answer_never_silences_the_agents_own() {
    let project = reviewed_by(&[("a", "")]);
    let quoting = format!(r#"{VALID} and the file says {{"issues":[],"overall_score":10}}"#);
    let told = report(&review(&project, &(said(&quoting) + &said(VALID)), &["--json"]).exits(1));
    assert_eq!(statuses(&told), ["a success"]);
    assert_eq!(told["findings"][0]["severity"], "critical");
    let told =
        report(&review(&project, &(said(&quoting) + &said(&quoting)), &["--json", "--no-cache"]).exits(1));
    assert_eq!(statuses(&told), ["a truncated"]);
    assert_eq!(told["findings"][0]["severity"], "critical");
}

// R-43, R-53: unreadable findings never count as no findings, and a person can read them
#[test]
fn findings_that_are_all_refused_are_no_answer() {
    let high = r#"{"overall_score":1,"issues":[{"severity":"High","description":"SQL injection"}]}"#;
    let cut = r#"{"overall_score": 1, "issues": [{"severity": "critical", "description": "SQL injection"#;
    let other = r#"{"overall_score":1,"findings":[{"what":"SQL injection"}]}"#;
    let null = r#"{"overall_score":1,"issues":null}"#;
    let empty = r#"{"overall_score":1,"issues":[{"severity":"critical","description":""}]}"#;
    for text in [high, cut, other, null, empty] {
        let project = reviewed_by(&[("a", ""), ("b", "")]);
        let replies = said(text) + &said(text) + &none("main/b");
        let told = report(&review(&project, &replies, &["--json", "--require-all"]).exits(4));
        assert_eq!(statuses(&told), ["a error", "b success"], "{text}");
        assert_eq!(told["results"][0]["class"], "invalid_output", "{text}");
        let seen = review(&project, &replies, &[]).exits(0).stdout;
        let can_be_read = seen.contains("SQL injection");
        assert_eq!(can_be_read, text.contains("SQL injection"), "{text}\n{seen}");
    }
    let told = report(&review(&reviewed_by(&[("a", "")]), &none("main/a"), &["--json"]).exits(0));
    assert_eq!(statuses(&told), ["a success"], "nothing found is an answer");
}
