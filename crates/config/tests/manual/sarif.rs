//! Checks SARIF logs of every wrong example in the manual against SARIF 2.1.0.

use std::collections::BTreeSet;

use saihai_config::{Diagnostics, to_sarif};
use serde_json::Value as Json;

use crate::page::examples;
use crate::{pieces, settings};

/// Checks the requirements for a log. Section numbers refer to the standard.
#[track_caller]
fn conforms(log: &Json) {
    assert_eq!(log["version"], "2.1.0", "3.13.2");
    assert_eq!(log["$schema"], "https://json.schemastore.org/sarif-2.1.0.json", "3.13.3");
    let runs = log["runs"].as_array().expect("3.13.4: an array");
    for run in runs {
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].as_str().is_some_and(|name| !name.is_empty()), "3.19.8: the tool has a name");
        assert_eq!(run["columnKind"], "unicodeCodePoints", "3.14.17");
        let rules: Vec<&str> = list(&driver["rules"]).iter().filter_map(|rule| rule["id"].as_str()).collect();
        assert_eq!(rules.len(), list(&driver["rules"]).len(), "3.49.3: every rule has an id");
        assert_eq!(rules.iter().collect::<BTreeSet<_>>().len(), rules.len(), "3.19.23: each rule once");
        for result in list(&run["results"]) {
            let index = result["ruleIndex"].as_u64().expect("3.27.6: a number");
            assert_eq!(
                rules.get(index as usize).copied(),
                result["ruleId"].as_str(),
                "3.27.6: that of the rule"
            );
            assert!(matches!(result["level"].as_str(), Some("error" | "warning" | "note")), "3.27.10");
            says(&result["message"]);
            for place in list(&result["locations"]).iter().chain(list(&result["relatedLocations"])) {
                place_conforms(place, &run["originalUriBaseIds"]);
            }
        }
    }
}

fn place_conforms(place: &Json, bases: &Json) {
    let physical = &place["physicalLocation"];
    let artifact = &physical["artifactLocation"];
    let uri = artifact["uri"].as_str().expect("3.4.3: a text");
    assert!(uri.is_ascii() && !uri.contains([' ', '\\']), "3.10.1: {uri} is no URI reference");
    match artifact["uriBaseId"].as_str() {
        Some(base) => {
            assert!(!uri.starts_with('/') && !uri.contains(':'), "3.4.4: {uri} is not relative");
            says(&bases[base]["description"]);
        }
        None => assert!(uri.starts_with("file:///"), "3.4.3: {uri} is relative to nothing"),
    }
    if let Some(region) = physical.get("region") {
        let number = |key: &str| region[key].as_u64().unwrap_or_else(|| panic!("3.30: {key} in {region}"));
        let (start, end) =
            ((number("startLine"), number("startColumn")), (number("endLine"), number("endColumn")));
        assert!(start.0 >= 1 && start.1 >= 1, "3.30.5, 3.30.6: counted from 1: {region}");
        assert!(start <= end, "3.30.7: ends before it begins: {region}");
    }
    if let Some(message) = place.get("message") {
        says(message);
    }
}

/// Checks 3.11: a message has a text.
fn says(message: &Json) {
    let text = message["text"].as_str().expect("3.11.8: a text");
    assert!(!text.is_empty());
}

fn list(value: &Json) -> &[Json] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn check(diagnostics: &Diagnostics) -> usize {
    let log: Json = serde_json::from_str(&to_sarif(diagnostics)).expect("JSON");
    conforms(&log);
    list(&log["runs"][0]["results"]).len()
}

// K-43
#[test]
fn everything_that_is_wrong_makes_a_log_that_scanners_accept() {
    let files = [(".takt/pieces/coder.md", "You write code.\n"), (".takt/pieces/blank.md", "\n")];
    let mut results = 0;
    for block in examples(&["piece", "workflow"]) {
        results += check(&pieces::try_out(&block.text, &files).diagnostics);
    }
    for block in examples(&["settings", "provider"]) {
        results += check(&settings::load(&block.text));
    }
    assert!(results > 40, "only {results}");
}
