//! Settings and flags that decide the result of a review and the calls of its agents.

use super::*;

/// Writes the user's own review settings.
fn set(project: &Project, settings: &str) {
    project.write("../home/.config/saihai/config.toml", format!("[review]\n{settings}\n"));
}

/// Returns a reply with one important issue at `FILE:LINE`, or without a location.
fn issue_at(place: &str) -> String {
    let location = match place.split_once(':') {
        Some((file, line)) => format!("{{file_path: {file}, line_number: {line}}}"),
        None => "null".to_owned(),
    };
    let issue = format!("{{severity: important, description: \"it is wrong\", location: {location}}}");
    format!("  - {{for: main/a, structured: {{issues: [{issue}], overall_score: 5}}}}\n")
}

//
#[test]
fn how_near_to_the_change_a_finding_must_be_to_count_is_said_by_the_settings() {
    let project = reviewed_by(&[("a", "")]);
    std::fs::remove_file(project.root().join("store.py")).expect("a file");
    let lines = |fifteenth: &str| {
        let line = |number: u32| match number {
            15 => format!("{fifteenth}\n"),
            _ => format!("line_{number} = 1\n"),
        };
        (1..=30).map(line).collect::<String>()
    };
    project.write("long.py", lines("before = 1")).write("other.py", "other = 1\n");
    commit(&project);
    project.write("long.py", lines("after = 2"));
    let places = [
        ("added", "long.py:15"),
        ("context", "long.py:13"),
        ("file", "long.py:1"),
        ("outside", "other.py:1"),
        ("none", "nowhere"),
        ("unverified", "long.py:999"),
    ];
    let failing = |scope: &str| {
        set(&project, &format!("fail_scope = \"{scope}\""));
        let fails = places.iter().filter(|(anchor, place)| {
            let outcome = review(&project, &issue_at(place), &["--json"]);
            assert_eq!(report(&outcome)["findings"][0]["anchor"], *anchor, "{outcome}");
            match outcome.code {
                Some(1) => true,
                Some(0) => false,
                _ => panic!("{outcome}"),
            }
        });
        fails.map(|(anchor, _)| *anchor).collect::<Vec<_>>()
    };
    assert_eq!(failing("added"), ["added", "none", "unverified"]);
    assert_eq!(failing("context"), ["added", "context", "none", "unverified"]);
    let near = ["added", "context", "file", "none", "unverified"];
    assert_eq!(failing("file"), near);
    assert_eq!(failing("all"), ["added", "context", "file", "outside", "none", "unverified"]);
    let unset = places.iter().filter(|(_, place)| {
        set(&project, "");
        review(&project, &issue_at(place), &[]).code == Some(1)
    });
    assert_eq!(unset.map(|(anchor, _)| *anchor).collect::<Vec<_>>(), near);
}

// Saihai sets aside findings below the required confidence
#[test]
fn how_certain_a_finding_must_be_is_said_by_a_setting_and_by_its_flag() {
    let project = reviewed_by(&[("a", "")]);
    let unsure = one("main/a", "critical").replace("{severity", "{confidence: 60, severity");
    let check = |settings: &str, arguments: &[&str], code: i32| {
        set(&project, settings);
        let told = report(&review(&project, &unsure, &[&["--json"], arguments].concat()).exits(code));
        let count = |list: &str| told[list].as_array().map_or(0, Vec::len);
        let expected = if code == 1 { (1, 0) } else { (0, 1) };
        assert_eq!((count("findings"), count("filtered")), expected, "{told}");
    };
    check("", &[], 1);
    check("min_confidence = 60", &[], 1);
    check("min_confidence = 61", &[], 0);
    check("min_confidence = 61", &["--min-confidence", "60"], 1);
    check("", &["--min-confidence", "61"], 0);
}

// If all agents are required, by a setting or a flag, one failed agent fails the review
#[test]
fn that_everybody_must_deliver_is_said_by_a_setting_and_by_its_flag() {
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let replies = format!("{}  - {{for: main/b, fail: {{class: auth, message: \"no\"}}}}\n", none("main/a"));
    review(&project, &replies, &[]).exits(0);
    review(&project, &replies, &["--require-all"]).exits(4);
    set(&project, "require_all = true");
    review(&project, &replies, &[]).exits(4);
    set(&project, "require_all = false");
    review(&project, &replies, &[]).exits(0);
}

/// Returns the planned turns of the first phase. Asserts that files are left out only with exit code 5.
fn planned(project: &Project, replies: &str, arguments: &[&str], code: i32) -> serde_json::Value {
    let told = report(&review(project, replies, &[&["--json"], arguments].concat()).exits(code));
    let left_out = told["not_reviewed"].as_array().map_or(0, Vec::len);
    assert_eq!(left_out > 0, code == 5, "{told}");
    let run = told["run"].as_str().expect("a run");
    let frozen = project.read(&format!(".saihai/runs/{run}/workflow.json"));
    let workflow: serde_json::Value = serde_json::from_str(&frozen).expect("JSON");
    workflow["stages"]["main"]["does"]["turns"].clone()
}

#[test]
fn how_many_are_asked_at_once_is_said_by_a_setting_and_by_its_flag() {
    let project = reviewed_by(&[("a", "")]);
    let at_once = |settings: &str, arguments: &[&str]| {
        set(&project, settings);
        planned(&project, &none("main/a"), arguments, 0)["at_once"].clone()
    };
    assert_eq!(at_once("", &[]), 4);
    assert_eq!(at_once("concurrency = 2", &[]), 2);
    assert_eq!(at_once("concurrency = 2", &["--jobs", "1"]), 1);
}

#[test]
fn how_long_an_agent_has_is_said_by_a_setting_and_by_its_flag() {
    let project = reviewed_by(&[("a", "")]);
    let within = |settings: &str, arguments: &[&str]| {
        set(&project, settings);
        planned(&project, &none("main/a"), arguments, 0)["turns"][0]["within"].clone()
    };
    assert_eq!(within("", &[]), 600_000);
    assert_eq!(within("timeout = 50", &[]), 50_000);
    assert_eq!(within("timeout = 50", &["--timeout", "90s"]), 90_000);
}

#[test]
fn how_much_is_shown_in_how_many_turns_is_said_by_settings_and_by_their_flags() {
    let project = reviewed_by(&[("a", "")]);
    for name in ["one.py", "two.py"] {
        project.write(name, "value = 1\n".repeat(800));
    }
    let check = |settings: &str, arguments: &[&str], turns: &[&str], code: i32| {
        set(&project, settings);
        let replies: String = turns.iter().map(|turn| none(&format!("main/{turn}"))).collect();
        let phase = planned(&project, &replies, arguments, code);
        let asked = phase["turns"].as_array().expect("turns").iter();
        assert_eq!(asked.map(|turn| turn["id"].as_str().unwrap_or_default()).collect::<Vec<_>>(), turns);
    };
    let (whole, parts) = (["a"], ["a:1", "a:2"]);
    check("", &[], &whole, 0);
    check("max_diff_bytes = 10000", &[], &whole, 5);
    check("max_diff_bytes = 10000", &["--max-diff-bytes", "40000"], &whole, 0);
    check("", &["--max-diff-bytes", "10000"], &whole, 5);
    check("max_diff_bytes = 10000\nmax_chunks = 2", &[], &parts, 0);
    check("max_diff_bytes = 10000\nmax_chunks = 2", &["--max-chunks", "1"], &whole, 5);
    check("max_diff_bytes = 10000", &["--max-chunks", "2"], &parts, 0);
}
