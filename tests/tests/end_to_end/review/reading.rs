//! What agents reply is read with forgiveness, and asked for once more where that is not enough.

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

    - overall_score: 10.1 is no number from 0 to 10

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
