//! Review settings.

use std::path::Path;

use saihai_tests::FakeAgent;
use serde_json::json;

use super::super::read_only_access::FAKE_AGENT;
use super::*;

// R-41
#[test]
fn settings_of_reviews_have_defaults_bounds_and_flags_and_the_closest_limit_counts() {
    what_is_not_said_has_a_default();
    the_least_and_the_most_of_each_number_are_taken();
    what_is_unknown_or_out_of_range_is_refused_with_its_place_and_what_would_be_right();
    what_is_of_another_type_or_about_nobody_is_refused_in_the_same_way();
    the_same_is_refused_of_a_flag();
    a_flag_wins_over_the_settings();
    a_limit_of_an_agent_is_taken_from_where_it_is_said_most_closely();
    who_has_no_limit_of_calls_is_counted_and_stopped();
}

/// Creates a project with one agent and these review settings, ahead of those that disable the other
/// agents.
fn project_with(settings: &str) -> Project {
    let project = reviewed_by(&[("a", "")]);
    let others = project.read(".saihai/config.toml");
    project.write(".saihai/config.toml", format!("{settings}\n{others}"));
    project
}

fn what_is_not_said_has_a_default() {
    let outcome = Project::new(PROGRAM).saihai(["config", "review", "--explain"]).run().exits(0);
    insta::assert_snapshot!(outcome.stdout, @r#"
    KEY                      VALUE        ORIGIN
    review.concurrency       4            default
    review.timeout           "600s"       default
    review.max_turns         30           default
    review.fail_on           "important"  default
    review.fail_scope        "file"       default
    review.min_confidence    0            default
    review.max_diff_bytes    300000       default
    review.max_chunks        1            default
    review.require_all       false        default
    review.cache             true         default
    review.web               false        default
    review.allow_unconfined  false        default
    "#);
}

fn the_least_and_the_most_of_each_number_are_taken() {
    for right in [
        "concurrency = 1\ntimeout = 1\nmax_turns = 1\nmin_confidence = 0\nmax_diff_bytes = 10000\nmax_chunks = 1",
        "concurrency = 64\ntimeout = 86400\nmax_turns = 1000\nmin_confidence = 100\nmax_chunks = 100",
        "timeout = \"24h\"\nmax_diff_bytes = 1000000000",
        "fail_on = \"critical\"\nfail_scope = \"added\"",
        "fail_on = \"important\"\nfail_scope = \"context\"",
        "fail_on = \"suggestion\"\nfail_scope = \"file\"",
        "fail_on = \"nitpick\"\nfail_scope = \"all\"",
        "fail_on = \"never\"\nrequire_all = true\ncache = false\nweb = true\nallow_unconfined = true",
    ] {
        let project = project_with(&format!("[review]\n{right}"));
        let outcome = review(&project, &none("main/a"), &[]);
        assert_eq!(outcome.code, Some(0), "{right}: {outcome}");
    }
}

/// Returns the lines of a refusal: the error, its location and the help.
fn refusal(outcome: &Outcome) -> String {
    assert_eq!(outcome.code, Some(2), "{outcome}");
    let told =
        outcome.stderr.lines().map(str::trim).filter(|line| {
            line.starts_with("error") || line.starts_with("-->") || line.starts_with("= help")
        });
    told.map(|line| format!("    {line}\n")).collect()
}

/// Returns the refusal of each of these lines of `[review]`, tested one at a time.
fn refused(lines: &[&str]) -> String {
    let told = lines.iter().map(|line| {
        let project = project_with(&format!("[review]\n{line}"));
        // Uses the configured provider, which is never called here.
        let told = format!("{line}\n{}", refusal(&project.saihai(["review"]).run()));
        assert_eq!(project.begun(), [""; 0], "{line}");
        told
    });
    told.collect()
}

fn what_is_unknown_or_out_of_range_is_refused_with_its_place_and_what_would_be_right() {
    let wrong = [
        "concurency = 2",
        "provider = \"cluade\"",
        "provider = \"nobody\"",
        "base = \"nowhere\"",
        "concurrency = 0",
        "concurrency = 65",
        "timeout = 0",
        "timeout = 86401",
        "max_turns = 0",
        "max_turns = 1001",
        "fail_on = \"all\"",
        "fail_scope = \"line\"",
        "min_confidence = 101",
        "max_diff_bytes = 9999",
        "max_chunks = 0",
        "max_chunks = 101",
    ];
    insta::assert_snapshot!(refused(&wrong), @r#"
    concurency = 2
        error[settings/unknown-key]: unknown key `concurency`
        --> .saihai/config.toml:2:1
        = help: did you mean `concurrency`?
    provider = "cluade"
        error[settings/unknown-provider]: no provider is named `cluade`
        --> .saihai/config.toml:2:12
        = help: did you mean `claude`?
    provider = "nobody"
        error[settings/unknown-provider]: no provider is named `nobody`
        --> .saihai/config.toml:2:12
        = help: known are `claude`, `codex`, `opencode`, `gemini`, `copilot`, `acp`, `command`, `anthropic`, `openai` and `script`; others need a table `[providers.NAME]`
    base = "nowhere"
        error: the revision `nowhere` does not exist here
        = help: `git fetch` downloads revisions of the remote
        = help: it comes from `[review] base`: `saihai config review.base --explain` prints the file
    concurrency = 0
        error[settings/bad-value]: `concurrency` must be between 1 and 64, not `0`
        --> .saihai/config.toml:2:15
    concurrency = 65
        error[settings/bad-value]: `concurrency` must be between 1 and 64, not `65`
        --> .saihai/config.toml:2:15
    timeout = 0
        error[settings/bad-value]: `review.timeout` must be between `1s` and `24h`
        --> .saihai/config.toml:2:11
    timeout = 86401
        error[settings/bad-value]: `review.timeout` must be between `1s` and `24h`
        --> .saihai/config.toml:2:11
    max_turns = 0
        error[settings/bad-value]: `max_turns` must be between 1 and 1000, not `0`
        --> .saihai/config.toml:2:13
    max_turns = 1001
        error[settings/bad-value]: `max_turns` must be between 1 and 1000, not `1001`
        --> .saihai/config.toml:2:13
    fail_on = "all"
        error[settings/bad-value]: `fail_on` must be `critical`, `important`, `suggestion`, `nitpick` or `never`, not `all`
        --> .saihai/config.toml:2:11
    fail_scope = "line"
        error[settings/bad-value]: `fail_scope` must be `added`, `context`, `file` or `all`, not `line`
        --> .saihai/config.toml:2:14
    min_confidence = 101
        error[settings/bad-value]: `min_confidence` must be between 0 and 100, not `101`
        --> .saihai/config.toml:2:18
    max_diff_bytes = 9999
        error[settings/bad-value]: `max_diff_bytes` must be at least 10000, not `9999`
        --> .saihai/config.toml:2:18
    max_chunks = 0
        error[settings/bad-value]: `max_chunks` must be between 1 and 100, not `0`
        --> .saihai/config.toml:2:14
    max_chunks = 101
        error[settings/bad-value]: `max_chunks` must be between 1 and 100, not `101`
        --> .saihai/config.toml:2:14
    "#);
}

fn what_is_of_another_type_or_about_nobody_is_refused_in_the_same_way() {
    let wrong = [
        "budget = 5",
        "require_all = 1",
        "cache = \"no\"",
        "web = \"yes\"",
        "allow_unconfined = 0",
        "agents.a.enabled = 1",
        "agents.a.provider = \"cluade\"",
        "agents.a.timeout = 86401",
        "agents.a.max_turns = 0",
        "agents.a.phase = \"early\"",
        "agents.code-revewer.enabled = false",
    ];
    insta::assert_snapshot!(refused(&wrong), @r#"
    budget = 5
        error[settings/bad-type]: `budget` must be a mapping, not a whole number
        --> .saihai/config.toml:2:10
    require_all = 1
        error[settings/bad-type]: `require_all` must be `true` or `false`, not a whole number
        --> .saihai/config.toml:2:15
    cache = "no"
        error[settings/bad-type]: `cache` must be `true` or `false`, not text
        --> .saihai/config.toml:2:9
        = help: write `false`
    web = "yes"
        error[settings/bad-type]: `web` must be `true` or `false`, not text
        --> .saihai/config.toml:2:7
        = help: write `true`
    allow_unconfined = 0
        error[settings/bad-type]: `allow_unconfined` must be `true` or `false`, not a whole number
        --> .saihai/config.toml:2:20
    agents.a.enabled = 1
        error[settings/bad-type]: `enabled` must be `true` or `false`, not a whole number
        --> .saihai/config.toml:2:20
    agents.a.provider = "cluade"
        error[settings/unknown-provider]: no provider is named `cluade`
        --> .saihai/config.toml:2:21
        = help: did you mean `claude`?
    agents.a.timeout = 86401
        error[settings/bad-value]: `review.agents.a.timeout` must be between `1s` and `24h`
        --> .saihai/config.toml:2:20
    agents.a.max_turns = 0
        error[settings/bad-value]: `max_turns` must be between 1 and 1000, not `0`
        --> .saihai/config.toml:2:22
    agents.a.phase = "early"
        error[settings/unknown-key]: unknown key `phase`
        --> .saihai/config.toml:2:10
        = help: a review agent's settings has the keys `enabled`, `provider`, `model`, `timeout` and `max_turns`
    agents.code-revewer.enabled = false
        error[settings/unknown-agent]: no review agent is named `code-revewer`
        --> .saihai/config.toml:2:31
        = help: did you mean `code-reviewer`?
    "#);
}

fn the_same_is_refused_of_a_flag() {
    let wrong = [
        ["--provider", "cluade"],
        ["--base", "nowhere"],
        ["--jobs", "0"],
        ["--jobs", "65"],
        ["--timeout", "0"],
        ["--timeout", "25h"],
        ["--max-turns", "0"],
        ["--max-turns", "1001"],
        ["--fail-on", "all"],
        ["--min-confidence", "101"],
        ["--max-diff-bytes", "9999"],
        ["--max-chunks", "0"],
        ["--max-chunks", "101"],
        ["--budget", "5"],
    ];
    let project = project_with("");
    let told = wrong.iter().map(|[flag, value]| {
        let outcome = project.saihai(["review", flag, value]).run();
        format!("{flag} {value}\n{}", refusal(&outcome))
    });
    insta::assert_snapshot!(told.collect::<String>(), @"
    --provider cluade
        error[provider/unknown-provider]: no provider is named `cluade`
        = help: did you mean `claude`?
    --base nowhere
        error: the revision `nowhere` does not exist here
        = help: `git fetch` downloads revisions of the remote
    --jobs 0
        error: `0` does not fit `--jobs`: 0 is not in 1..=64
    --jobs 65
        error: `65` does not fit `--jobs`: 65 is not in 1..=64
    --timeout 0
        error: `0` does not fit `--timeout`: it must be between `1s` and `24h`
    --timeout 25h
        error: `25h` does not fit `--timeout`: it must be between `1s` and `24h`
    --max-turns 0
        error: `0` does not fit `--max-turns`: 0 is not in 1..=1000
    --max-turns 1001
        error: `1001` does not fit `--max-turns`: 1001 is not in 1..=1000
    --fail-on all
        error: `all` does not fit `--fail-on`
        = help: write one of `critical`, `important`, `suggestion`, `nitpick`, `never`
    --min-confidence 101
        error: `101` does not fit `--min-confidence`: 101 is not in 0..=100
    --max-diff-bytes 9999
        error: `9999` does not fit `--max-diff-bytes`: it must be a whole number, at least 10000
    --max-chunks 0
        error: `0` does not fit `--max-chunks`: 0 is not in 1..=100
    --max-chunks 101
        error: `101` does not fit `--max-chunks`: 101 is not in 1..=100
    --budget 5
        error: `5` does not fit `--budget`: `5` has no key; write `usd=…`, `tokens=…`, `turns=…` or `minutes=…`, joined by commas
    ");
    assert_eq!(project.begun(), [""; 0]);
}

fn workflow(project: &Project, told: &Value) -> Value {
    let run = told["run"].as_str().expect("a run");
    let path = format!(".saihai/runs/{run}/workflow.json");
    serde_json::from_str(&project.read(&path)).expect("JSON")
}

fn a_flag_wins_over_the_settings() {
    let own = "[review]\nconcurrency = 2\ntimeout = 40\nmax_turns = 4\nmodel = \"of-the-settings\"\n";
    let project = project_with(own);
    let frozen = |arguments: &[&str]| {
        let told =
            review(&project, &none("main/a"), &[&["--json", "--no-cache"], arguments].concat()).exits(0);
        let turns = workflow(&project, &report(&told))["stages"]["main"]["does"]["turns"].clone();
        let turn = &turns["turns"][0];
        format!("{} {} {} {}", turns["at_once"], turn["within"], turn["max_calls"], turn["model"])
    };
    assert_eq!(frozen(&[]), r#"2 40000 4 "of-the-settings""#);
    let typed = ["--jobs", "3", "--timeout", "50s", "--max-turns", "5", "--model", "typed"];
    assert_eq!(frozen(&typed), r#"3 50000 5 "typed""#);

    let ends = |settings: &str, arguments: &[&str], turns: u32, expected: i32| {
        let project = project_with(&format!("[review]\n{settings}"));
        for name in ["long-1", "long-2", "long-3"] {
            project.write(name, "a line of many\n".repeat(500));
        }
        let found = one("main/a", "important").replace("severity:", "confidence: 50, severity:");
        let of_parts: String = (1..=turns).map(|part| none(&format!("main/a:{part}"))).collect();
        let outcome = review(&project, if turns == 1 { &found } else { &of_parts }, arguments);
        assert_eq!(outcome.code, Some(expected), "{settings} {arguments:?}: {outcome}");
    };
    ends("", &[], 1, 1);
    ends("fail_on = \"critical\"", &[], 1, 0);
    ends("fail_on = \"critical\"", &["--fail-on", "important"], 1, 1);
    ends("min_confidence = 51", &[], 1, 0);
    ends("min_confidence = 51", &["--min-confidence", "50"], 1, 1);
    let small = "fail_on = \"never\"\nmax_diff_bytes = 10000";
    ends(small, &[], 1, 5);
    ends(small, &["--max-diff-bytes", "100000"], 1, 0);
    ends(small, &["--max-chunks", "4"], 3, 0);
    ends(&format!("{small}\nmax_chunks = 4"), &[], 3, 0);
    ends(&format!("{small}\nmax_chunks = 4"), &["--max-chunks", "1"], 1, 5);
    let poor = format!("{small}\nmax_chunks = 4\nbudget.turns = 1");
    ends(&poor, &[], 3, 5);
    ends(&poor, &["--budget", "turns=3"], 3, 0);
}

fn a_limit_of_an_agent_is_taken_from_where_it_is_said_most_closely() {
    let own = "timeout = 30\nmax_turns = 3\n";
    let project = reviewed_by(&[("bare", ""), ("file", own), ("set", own)]);
    let settings = project.read(".saihai/config.toml");
    let said = "[review]\ntimeout = 40\nmax_turns = 4\n[review.agents.set]\ntimeout = 20\nmax_turns = 2\n";
    project.write(".saihai/config.toml", format!("{said}{settings}"));
    let replies: String = ["main/bare", "main/file", "main/set"].map(none).concat();
    let limits = |arguments: &[&str]| {
        let told = review(&project, &replies, &[&["--json", "--no-cache"], arguments].concat()).exits(0);
        let turns = workflow(&project, &report(&told))["stages"]["main"]["does"]["turns"]["turns"].clone();
        let turns = turns.as_array().expect("turns").iter();
        turns
            .map(|turn| format!("{} {} {}", turn["id"], turn["within"], turn["max_calls"]))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(limits(&[]), r#""bare" 40000 4, "file" 30000 3, "set" 20000 2"#);
    let typed = ["--timeout", "2h", "--max-turns", "9"];
    assert_eq!(limits(&typed), r#""bare" 7200000 9, "file" 7200000 9, "set" 7200000 9"#);
}

fn who_has_no_limit_of_calls_is_counted_and_stopped() {
    let project = reviewed_by(&[("cut", "max_turns = 3\n"), ("sound", "max_turns = 4\n")]);
    let tool = json!({"name": "shell", "input": "ls", "output": "store.py"});
    let found = json!({"issues": [{"severity": "nitpick", "description": "It leaks."}], "overall_score": 5});
    let answer = json!({"tools": [tool, tool, tool], "structured": found});
    let fake = FakeAgent::install(&project, Path::new(FAKE_AGENT), &["codex"], &json!([answer, answer]));
    let told =
        report(&fake.saihai(["review", "--provider", "codex", "--json", "--jobs", "1"]).run().exits(0));
    assert_eq!(statuses(&told), ["cut truncated", "sound success"], "{told:#}");
    assert_eq!(told["results"][0]["reason"], "max_turns");
}
