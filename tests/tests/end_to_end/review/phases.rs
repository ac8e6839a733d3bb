//! Phases of agents. A failed agent does not affect the others.

use rustix::process::Signal;
use saihai_tests::Terminal;

use std::time::Duration;

use super::*;

const PHASES: [(&str, &str); 4] =
    [("b", "phase = \"final\"\n"), ("a1", ""), ("a-1", ""), ("z", "phase = \"early\"\n")];

/// Returns the order in which the journal records questions and replies of the agents.
fn order(project: &Project) -> Vec<String> {
    let journal = std::fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
    let lines = journal.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let mut order = Vec::new();
    for line in lines {
        for (fact, word) in [("asked", "asked"), ("replied", "answered")] {
            if let Some(call) = line["fact"][fact]["call"].as_object() {
                order.push(format!("{} {} {word}", call["stage"].as_str().unwrap_or_default(), call["n"]));
            }
        }
    }
    order
}

// R-40, case 35
#[test]
fn phases_follow_each_other_and_one_job_is_one_agent_at_a_time() {
    let project = reviewed_by(&PHASES);
    let replies: String = ["early/z", "main/a-1", "main/a1", "final/b"].map(none).concat();
    let outcome = review(&project, &replies, &["--jobs", "1", "--json"]).exits(0);
    insta::assert_snapshot!(order(&project).join("\n"), @"
    early 1 asked
    early 1 answered
    main 1 asked
    main 1 answered
    main 2 asked
    main 2 answered
    final 1 asked
    final 1 answered
    ");
    let expected = ["z success", "a-1 success", "a1 success", "b success"];
    assert_eq!(statuses(&report(&outcome)), expected);
}

// R-40, case 35: even if jobs are free
#[test]
fn the_next_phase_waits_for_the_slowest_of_the_one_before() {
    let project = reviewed_by(&PHASES);
    let slow = none("main/a1").replace("for:", "delay: 1s, for:");
    let replies = none("early/z") + &none("main/a-1") + &slow + &none("final/b");
    review(&project, &replies, &["--jobs", "4"]).exits(0);
    insta::assert_snapshot!(order(&project).join("\n"), @"
    early 1 asked
    early 1 answered
    main 1 asked
    main 2 asked
    main 1 answered
    main 2 answered
    final 1 asked
    final 1 answered
    ");
}

// R-41: precedence is flag, settings of the agent, its file, settings of reviews
#[test]
fn a_limit_is_taken_from_where_it_is_said_most_closely() {
    let limits = |arguments: &[&str]| {
        let agents = [
            ("bare", ""),
            ("file", "timeout = 30\nmax_turns = 3\n"),
            ("set", "timeout = 30\nmax_turns = 3\n"),
        ];
        let project = reviewed_by(&agents);
        let settings = project.read(".saihai/config.toml");
        let own = "[review]\ntimeout = 40\nmax_turns = 4\n[review.agents.set]\ntimeout = 20\nmax_turns = 2\n";
        project.write(".saihai/config.toml", format!("{own}{settings}"));
        let replies: String = ["main/bare", "main/file", "main/set"].map(none).concat();
        review(&project, &replies, arguments).exits(0);
        let frozen =
            std::fs::read_to_string(project.run_directory().join("workflow.json")).expect("a workflow");
        let workflow: serde_json::Value = serde_json::from_str(&frozen).expect("JSON");
        let turns = workflow["stages"]["main"]["does"]["turns"]["turns"].as_array().expect("turns").clone();
        let limits =
            turns.iter().map(|turn| format!("{} {} {}", turn["id"], turn["within"], turn["max_calls"]));
        limits.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(limits(&[]), r#""bare" 40000 4, "file" 30000 3, "set" 20000 2"#);
    let typed = ["--timeout", "2h", "--max-turns", "9"];
    assert_eq!(limits(&typed), r#""bare" 7200000 9, "file" 7200000 9, "set" 7200000 9"#);
}

// R-41: Saihai rejects an unknown key or a value out of range, with its location, before it asks an agent
#[test]
fn wrong_settings_of_reviews_are_refused_with_their_place() {
    let project = reviewed_by(&[("a", "")]);
    let wrong = "[review]\nconcurency = 2\nconcurrency = 65\nmax_turns = 1001\ntimeout = \"25h\"\nfail_on = \"all\"\nmax_diff_bytes = 9999\nweb = 1\n";
    project.write(".saihai/config.toml", format!("{wrong}[review.agents.aa]\nenabled = false\n"));
    let outcome = review(&project, &none("main/a"), &[]).exits(2);
    let told: Vec<&str> =
        outcome.stderr.lines().filter(|line| line.starts_with("error") || line.starts_with("-->")).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    error[settings/unknown-key]: unknown key `concurency`
    --> .saihai/config.toml:2:1
    error[settings/bad-value]: `concurrency` must be between 1 and 64, not `65`
    --> .saihai/config.toml:3:15
    error[settings/bad-value]: `max_turns` must be between 1 and 1000, not `1001`
    --> .saihai/config.toml:4:13
    error[settings/bad-value]: `review.timeout` must be between `1s` and `24h`
    --> .saihai/config.toml:5:11
    error[settings/bad-value]: `fail_on` must be `critical`, `important`, `suggestion`, `nitpick` or `never`, not `all`
    --> .saihai/config.toml:6:11
    error[settings/bad-value]: `max_diff_bytes` must be at least 10000, not `9999`
    --> .saihai/config.toml:7:18
    error[settings/bad-type]: `web` must be `true` or `false`, not a whole number
    --> .saihai/config.toml:8:7
    ");
    assert_eq!(project.begun(), [""; 0]);
    project.write(".saihai/config.toml", "[review.agents.code-revewer]\nenabled = false\n");
    let outcome = review(&project, &none("main/a"), &[]).exits(2);
    insta::assert_snapshot!(seen(&outcome), @"
    error[settings/unknown-agent]: no review agent is named `code-revewer`
    --> .saihai/config.toml:2:11
      |
    2 | enabled = false
      |           ^^^^^ has no effect
      = help: did you mean `code-reviewer`?
    ? 2
    ");
    project.write(".saihai/config.toml", "[review.agents.code-revewer]\n");
    let outcome = review(&project, &none("main/a"), &[]).exits(2);
    insta::assert_snapshot!(seen(&outcome), @"
    error[settings/unknown-agent]: no review agent is named `code-revewer`
    --> .saihai/config.toml:1:1
      |
    1 | [review.agents.code-revewer]
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^ has no effect
      = help: did you mean `code-reviewer`?
    ? 2
    ");
}

// R-41: too many model calls stop an agent, and its reply up to then counts
#[test]
fn too_many_model_calls_cut_an_agent_off_with_what_it_has_found() {
    let project = reviewed_by(&[("a", ""), ("b", "max_turns = 31\n")]);
    let often = |agent: &str| one(&format!("main/{agent}"), "important").replace("for:", "calls: 31, for:");
    let told = report(&review(&project, &(often("a") + &often("b")), &["--json"]).exits(1));
    assert_eq!(statuses(&told), ["a truncated", "b success"]);
    assert_eq!(told["results"][0]["reason"], "max_turns");
    assert_eq!(told["results"][0]["findings"][0]["message"], "main/a found it");
}

// R-48, case 34
#[test]
fn results_are_listed_by_name_and_the_same_replies_give_the_same_report() {
    let slow = |agent: &str| one(&format!("main/{agent}"), "nitpick").replace("for:", "delay: 1s, for:");
    let reports =
        [slow("a") + &one("main/b", "nitpick"), one("main/a", "nitpick") + &slow("b")].map(|replies| {
            let project = reviewed_by(&[("b", ""), ("a", "")]);
            let mut report = report(&review(&project, &replies, &["--json"]).exits(0));
            assert_eq!(statuses(&report), ["a success", "b success"]);
            report["run"] = serde_json::Value::Null;
            report["head"] = serde_json::Value::Null;
            report["summary"]["wall_ms"] = serde_json::Value::Null;
            for result in report["results"].as_array_mut().expect("results") {
                result["elapsed_ms"] = serde_json::Value::Null;
            }
            report
        });
    assert_eq!(reports[0], reports[1]);
}

// R-42, R-53, case 32
#[test]
fn one_that_fails_and_one_that_is_late_lose_nothing_of_the_third() {
    let agents = [("fails", ""), ("finds", ""), ("late", "timeout = 1\n")];
    let broken = "  - {for: main/fails, fail: {class: auth, message: not logged in}}\n  - {for: main/late, hang: true}\n";
    let project = reviewed_by(&agents);
    let outcome =
        review(&project, &format!("{broken}{}", one("main/finds", "important")), &["--json"]).exits(1);
    let told = report(&outcome);
    assert_eq!(statuses(&told), ["fails error", "finds success", "late timeout"]);
    assert_eq!(told["results"][0]["class"], "auth");
    assert_eq!(told["results"][0]["message"], "not logged in");
    assert_eq!(told["results"][2]["timeout_seconds"], 1);
    assert_eq!(told["findings"][0]["message"], "main/finds found it");
    let replies = format!("{broken}{}", none("main/finds"));
    review(&reviewed_by(&agents), &replies, &[]).exits(0);
    review(&reviewed_by(&agents), &replies, &["--require-all"]).exits(4);
}

// Covers every status with its fields; the tests of programs cover the exit code and the last output
#[test]
fn a_result_says_how_an_agent_ended_and_what_is_known_of_it() {
    let agents = [("cut", ""), ("fails", ""), ("late", "timeout = 1\n"), ("sound", "")];
    let project = reviewed_by(&agents);
    let issue = "{severity: nitpick, description: \"It leaks.\"}";
    let replies = format!(
        "  - {{for: main/cut, times: 2, structured: {{issues: [{issue}, {{severity: nitpick}}], overall_score: 5}}}}\n\
         \x20 - {{for: main/fails, fail: {{class: auth, message: not logged in}}}}\n\
         \x20 - {{for: main/late, hang: true}}\n\
         \x20 - {{for: main/sound, structured: {{issues: [{issue}], overall_score: 9}}, usage: {{input: 7, output: 2}}, cost: 0.25}}\n"
    );
    let told = report(&review(&project, &replies, &["--json"]).exits(0));
    let mut results = told["results"].clone();
    for result in results.as_array_mut().expect("results") {
        assert!(result["elapsed_ms"].is_u64(), "{result}");
        let fields = result.as_object_mut().expect("an object");
        for field in ["elapsed_ms", "assessments", "notes"] {
            fields.remove(field);
        }
        let found = fields["findings"].as_array().map_or(0, Vec::len);
        fields["findings"] = found.into();
    }
    let lines: Vec<String> = results.as_array().expect("results").iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    {"agent":"cut","cached":false,"findings":1,"reason":"invalid_output","refused":["{\"severity\":\"nitpick\"}"],"status":"truncated"}
    {"agent":"fails","cached":false,"class":"auth","findings":0,"message":"not logged in","status":"error"}
    {"agent":"late","cached":false,"findings":0,"status":"timeout","timeout_seconds":1}
    {"agent":"sound","cached":false,"cost_usd":0.25,"findings":1,"status":"success","usage":{"input":7,"output":2}}
    "#);
}

// R-53, case 33
#[test]
fn where_nobody_delivers_there_is_a_report_of_the_reasons() {
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let fails = |agent: &str, why: &str| {
        format!("  - {{for: main/{agent}, fail: {{class: refused, message: {why}}}}}\n")
    };
    let outcome = review(&project, &(fails("a", "no") + &fails("b", "never")), &["--json"]).exits(4);
    let told = report(&outcome);
    assert_eq!(statuses(&told), ["a error", "b error"]);
    assert_eq!(
        (&told["results"][0]["message"], &told["results"][1]["message"]),
        (&"no".into(), &"never".into())
    );
    let part = "  - {for: main/b, times: 2, structured: {issues: [{severity: critical, description: d}, {severity: 1}], overall_score: 1}}\n";
    let outcome =
        review(&reviewed_by(&[("a", ""), ("b", "")]), &(fails("a", "no") + part), &["--json"]).exits(1);
    assert_eq!(statuses(&report(&outcome)), ["a error", "b truncated"]);
}

// R-57
#[test]
fn an_interrupted_review_reports_what_is_finished_and_goes_on_with_the_rest() {
    let project = reviewed_by(&[("a", ""), ("b", "")]);
    let replies =
        format!("{}  - {{for: main/b, hang: true}}\n{}", one("main/a", "important"), none("main/b"));
    project.write("script.yaml", format!("script: 1\nreplies:\n{replies}"));
    let mut terminal = Terminal::start(project.saihai(["review", "--script", "script.yaml", "--jobs", "1"]));
    terminal.wait_for("main/a replied");
    terminal.signal(Signal::INT);
    let (code, screen) = terminal.finish();
    assert_eq!(code, Some(3), "{screen}");
    assert!(screen.contains("Review stopped - 1 finding"), "{screen}");
    assert!(screen.contains("continue with `saihai resume "), "{screen}");
    project.write("store.py", "changed meanwhile\n");
    let resumed = project.saihai(["resume", "last"]).run().exits(1);
    let said = "`store.py` changed since the review started; the review continues with the earlier content";
    assert!(resumed.stderr.contains(said), "{resumed}");
    assert!(resumed.stdout.contains("main/a found it"), "{resumed}");
    assert!(resumed.stdout.contains("2 |     return db.execute(query)"), "{resumed}");
    let asked: Vec<usize> = project.journal().asked().into_values().collect();
    assert_eq!(asked, [1, 2], "only what is missing is asked");
}

// R-64
#[test]
fn a_hard_budget_leaves_out_the_last_agents() {
    let project = reviewed_by(&[("a", ""), ("b", ""), ("c", "phase = \"final\"\n")]);
    let replies = none("main/a") + &none("main/b");
    let outcome = review(&project, &replies, &["--budget", "turns=2", "--json"]).exits(5);
    let told = report(&outcome);
    assert_eq!(statuses(&told), ["a success", "b success", "c error"]);
    assert_eq!(told["results"][2]["class"], "budget");
    let left = serde_json::json!([{"file": "store.py", "agent": "c", "reason": "budget"}]);
    assert_eq!(told["not_reviewed"], left);
    let project = reviewed_by(&[("a", ""), ("b", ""), ("c", "phase = \"final\"\n")]);
    review(&project, &replies, &["--budget", "turns=2", "--allow-partial"]).exits(0);
}

// Only files that the agent would have seen count as not reviewed
#[test]
fn an_agent_that_was_not_paid_for_misses_only_what_it_would_have_been_shown() {
    let project =
        reviewed_by(&[("a", ""), ("b", "phase = \"final\"\n[applicability]\nfile_patterns = [\"*.sql\"]\n")]);
    project.write("schema.sql", "select 1;\n");
    let outcome = review(&project, &none("main/a"), &["--budget", "turns=1", "--json"]).exits(5);
    let left = serde_json::json!([{"file": "schema.sql", "agent": "b", "reason": "budget"}]);
    assert_eq!(report(&outcome)["not_reviewed"], left);
    let project = reviewed_by(&[("a", "")]);
    project.write("b.txt", "line of text\n".repeat(700)).write("c.txt", "line of text\n".repeat(700));
    let limits =
        ["--max-diff-bytes", "10000", "--max-chunks", "3", "--jobs", "1", "--budget", "turns=1", "--json"];
    let outcome = review(&project, &none("main/a:1"), &limits).exits(5);
    let files: Vec<_> = report(&outcome)["not_reviewed"].as_array().expect("a list").clone();
    let files: Vec<_> = files.iter().map(|one| one["file"].as_str().unwrap_or_default()).collect();
    assert_eq!(files, ["c.txt", "store.py"], "the first part was paid for");
}

// K-25, K case 6
#[test]
fn nobody_reviews_where_no_provider_is_configured() {
    let project = reviewed_by(&[("a", "")]);
    insta::assert_snapshot!(seen(&project.saihai(["review"]).run()), @r#"
    error: no provider configured
      = help: pass `--provider claude`, or set `provider` in `.saihai/config.toml`
      = help: `saihai review --explain-selection` needs none
    ? 2
    "#);
    insta::assert_snapshot!(seen(&project.saihai(["review", "--provider", "script"]).run()), @"
    error: the provider `script` needs a script
      = help: pass `--script FILE`
    ? 2
    ");
    insta::assert_snapshot!(seen(&project.saihai(["review", "--provider", "cluade"]).run()), @"
    error[provider/unknown-provider]: no provider is named `cluade`
      = help: did you mean `claude`?
    ? 2
    ");
    insta::assert_snapshot!(seen(&project.saihai(["review", "--pr", "12"]).run()), @r#"
    error: cannot determine the GitHub repository
      = help: set `repo = "OWNER/NAME"` in `[work]`
    ? 2
    "#);
    assert!(project.begun().is_empty());
}

// R-64: a turn in progress can exceed the budget, and the report says so
#[test]
fn a_budget_that_was_passed_is_told() {
    let agents = ["a", "b", "c", "d"];
    let project = reviewed_by(&agents.map(|name| (name, "")));
    let reply = |name: &str| {
        format!("  - {{for: main/{name}, cost: 0.5, structured: {{issues: [], overall_score: 9}}}}\n")
    };
    let replies = agents.map(reply).concat();
    let budget = ["--budget", "usd=0.6", "--json", "--no-cache"];
    let told = report(&review(&project, &replies, &budget).exits(0));
    let over = "spent $2.0000 of $0.6000: calls that were running at the limit still count";
    assert_eq!(told["warnings"], serde_json::json!([over]));
    let one_by_one = [&budget[..], &["--jobs", "1"]].concat();
    let told = report(&review(&project, &replies, &one_by_one).exits(5));
    assert_eq!(told["warnings"], serde_json::json!([]), "{told}");
    assert_eq!(statuses(&told), ["a success", "b error", "c error", "d error"]);
}

// V-20: a note reaches the reviewers that are still to be asked
#[test]
fn a_note_reaches_the_next_phase_of_a_review() {
    let project = reviewed_by(&[("a", ""), ("c", "phase = \"final\"\n")]);
    let slow = none("main/a").replace("structured:", "delay: 3, structured:");
    project.write("script.yaml", format!("script: 1\nreplies:\n{slow}{}", none("final/c")));
    let live = project.saihai(["review", "--script", "script.yaml"]).start();
    let begun = std::time::Instant::now();
    while project.begun().is_empty() || project.journal().facts("asked").next().is_none() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it did not start");
        std::thread::sleep(Duration::from_millis(20));
    }
    project.saihai(["tell", "last", "--to", "final", "Look at the licence."]).run().exits(0);
    live.finish().exits(0);
    let prompts = project.journal().prompts();
    let told: Vec<bool> = prompts.iter().map(|(_, prompt)| prompt.contains("Look at the licence.")).collect();
    assert_eq!(told, [false, true], "{prompts:#?}");
}
