//! Provider failures through the program: attempts, waits, parking and fallbacks. C-29 – C-38.

use serde_json::Value;

use saihai_tests::Project;

use crate::support::{PROGRAM, project, run};

const ONE: &str =
    "name: it\nmovements:\n  - {name: work, session: continue, rules: [{condition: done, next: COMPLETE}]}\n";

/// Returns the bodies of all facts or decisions with this name, in order.
fn all(project: &Project, name: &str) -> Vec<Value> {
    let lines = std::fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of the journal"));
    let bodies = lines.filter_map(|line| {
        let entry = line.get("fact").or_else(|| line.get("decision"))?;
        entry.get(name).cloned()
    });
    bodies.collect()
}

fn attempts(project: &Project) -> usize {
    all(project, "asked").len()
}

// Connections case 23
#[test]
fn four_transient_failures_in_a_row_park_the_run_and_every_wait_is_within_its_bound() {
    let failing = "  - {for: work, times: 4, fail: {class: transient, message: 'status 503'}}\n  - {for: work, text: 'x [STEP:0]'}\n";
    let project = project(ONE, failing);
    let parked = run(&project).exits(4);
    assert!(parked.stdout.contains("the provider failed at `work` (transient, script)"), "{parked}");
    assert!(parked.stderr.contains("transient: status 503"), "{parked}");
    assert_eq!(attempts(&project), 4);
    let failed: Vec<u64> = times(&project, "failed");
    let retries = all(&project, "retry");
    assert_eq!(retries.len(), 3);
    for ((retry, failed), most) in retries.iter().zip(failed).zip([1_000, 2_000, 4_000]) {
        let waited = retry["not_before"].as_u64().expect("a time").saturating_sub(failed);
        assert!(waited <= most, "{waited} > {most}");
    }
    project.saihai(["resume", "last"]).run().exits(0);
}

/// Returns the time of each fact with this name, in milliseconds.
fn times(project: &Project, name: &str) -> Vec<u64> {
    let lines = std::fs::read_to_string(project.run_directory().join("journal.ndjson")).expect("a journal");
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of the journal"));
    let times = lines.filter(|line| line["fact"].get(name).is_some()).map(|line| {
        let at: jiff::Timestamp = line["at"].as_str().expect("a time").parse().expect("a time");
        u64::try_from(at.as_millisecond()).expect("after 1970")
    });
    times.collect()
}

// C-34, Connections case 21, K case 4
#[test]
fn a_limit_that_lasts_parks_at_once_and_everybody_is_told_until_when() {
    let limited = "  - {for: work, fail: {class: rate_limited, message: slow down, retry_after: 999999}}\n  - {for: work, text: 'x [STEP:0]'}\n";
    for more in [&[][..], &["--wait"][..]] {
        let project = project(ONE, limited);
        let arguments = ["run", "it", "The task.", "--script", "script.yaml"];
        let parked = project.saihai(arguments.iter().chain(more)).run().exits(4);
        assert!(parked.stdout.contains("parked: waiting until 20"), "{parked}");
        assert!(parked.stdout.contains("(rate_limited, script)"), "{parked}");
        let listed = project.saihai(["runs"]).run().exits(0);
        assert!(listed.stdout.contains("(rate_limited, script)"), "{listed}");
        let listed = project.saihai(["runs", "--json"]).run().exits(0).json();
        assert_eq!((&listed[0]["state"], &listed[0]["provider"]), (&"parked".into(), &"script".into()));
        assert!(listed[0]["until"].is_string(), "{listed:?}");
        // Before that time, `resume` asks and writes nothing.
        let before = project.snapshot();
        project.saihai(["resume", "last"]).run().exits(4);
        assert_eq!(project.snapshot(), before);
        project.saihai(["resume", "last", "--now"]).run().exits(0);
    }
}

// C-33: on_quota = fail
#[test]
fn a_quota_that_nobody_is_to_wait_for_has_no_time_to_wake_up() {
    let used_up = "  - {for: work, fail: {class: quota, message: used up, retry_after: 1}}\n  - {for: work, text: 'x [STEP:0]'}\n";
    let project = project(ONE, used_up);
    project.write(".saihai/config.toml", "[retry]\non_quota = \"fail\"\n");
    let arguments = ["run", "it", "The task.", "--script", "script.yaml", "--wait"];
    let parked = project.saihai(arguments).run().exits(4);
    assert!(parked.stdout.contains("the provider failed at `work` (quota, script)"), "{parked}");
    project.saihai(["resume", "last"]).run().exits(0);
}

// C-29, Connections case 18
#[test]
fn a_lost_session_starts_again_once_with_exactly_these_words() {
    let lost = "  - {for: work, fail: {class: session_lost, message: gone}}\n";
    let project = project(ONE, &format!("{lost}  - {{for: work, text: 'x [STEP:0]'}}\n"));
    let outcome = run(&project).exits(0);
    let said =
        outcome.stderr.lines().filter(|line| line.contains("Session disconnected")).collect::<Vec<_>>();
    assert_eq!(said, ["warning: Session disconnected, starting new session"], "{outcome}");
    assert_eq!(all(&project, "retry")[0]["new_session"], true, "it is recorded");
    // If the session is lost again, the run fails.
    let project = crate::support::project(ONE, &format!("{lost}{lost}"));
    let outcome = run(&project).exits(4);
    assert_eq!(outcome.stderr.matches("Session disconnected").count(), 1, "{outcome}");
    assert_eq!(attempts(&project), 2);
}

// C-35, Connections case 24
#[test]
fn a_fallback_answers_when_all_attempts_are_spent_and_one_that_cannot_hold_the_agent_does_not() {
    let refused =
        "  - {for: work, fail: {class: auth, message: not logged in}}\n  - {for: work, text: 'x [STEP:0]'}\n";
    let settings = "provider = \"first\"\n[providers.first]\nkind = \"script\"\nfallback = \"second\"\n[providers.second]\nkind = \"script\"\n";
    let project = project(&ONE.replace("name: work,", "name: work, provider: first,"), refused);
    user_settings(&project, settings);
    let arguments = ["run", "it", "The task."];
    let outcome = project.saihai(arguments).env("SAIHAI_SCRIPT", "script.yaml").run().exits(0);
    assert!(outcome.stderr.contains("attempt 2, by `second`, in a new session"), "{outcome}");
    assert_eq!(all(&project, "failed")[0]["provider"], "first");
    // Saihai skips a fallback whose permission limits are unknown.
    let project =
        crate::support::project(&ONE.replace("name: work,", "name: work, provider: first,"), refused);
    let loose = "[providers.second]\nkind = \"command\"\nprogram = \"/bin/true\"\n";
    user_settings(&project, &settings.replace("[providers.second]\nkind = \"script\"\n", loose));
    let outcome = project.saihai(arguments).env("SAIHAI_SCRIPT", "script.yaml").run().exits(4);
    assert!(
        outcome.stderr.contains("`work` is not given to `second`, which cannot enforce its permission"),
        "{outcome}"
    );
}

/// Writes user settings, which need no trust.
fn user_settings(project: &Project, text: &str) {
    let directory = project.home().join(".config/saihai");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("config.toml"), text).expect("settings");
}

// C-12, Connections case 19
#[test]
fn a_program_that_is_missing_is_named_before_there_is_a_run() {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", ONE);
    user_settings(
        &project,
        "provider = \"mine\"\n[providers.mine]\nkind = \"claude\"\nprogram = \"no-such-agent\"\n",
    );
    let outcome = project.saihai(["run", "it", "The task."]).run().exits(4);
    assert!(
        outcome.stderr.contains("no-such-agent") && outcome.stderr.contains("/usr/local/bin"),
        "{outcome}"
    );
    assert_eq!(project.runs(), Vec::<String>::new());
}

// C-43, Connections case 7
#[test]
fn a_provider_that_cannot_hold_an_agent_to_its_permission_is_refused_by_check_and_at_the_start() {
    let project = Project::new(PROGRAM);
    project.write(".takt/pieces/it.yaml", ONE);
    user_settings(
        &project,
        "provider = \"mine\"\n[providers.mine]\nkind = \"command\"\nprogram = \"/bin/true\"\n",
    );
    for arguments in [&["run", "it", "The task."][..], &["check", ".takt/pieces/it.yaml"][..]] {
        let outcome = project.saihai(arguments).run().exits(2);
        assert!(
            format!("{}{}", outcome.stdout, outcome.stderr).contains("error[provider/cannot-enforce]"),
            "{outcome}"
        );
    }
    assert_eq!(project.runs(), Vec::<String>::new());
}

// C-22: a run freezes the provider's settings, and `prompt` shows them before the run.
#[test]
fn a_system_prompt_and_tools_of_the_settings_stand_in_for_what_a_definition_does_not_say() {
    let project = project(ONE, "  - {for: work, text: 'x [STEP:0]'}\n");
    user_settings(&project, "[providers.script]\nsystem_prompt = \"Be brief.\"\ntools = []\n");
    let shown = project.saihai(["prompt", "it", "--json"]).run().exits(0).json();
    assert_eq!(shown[0]["persona"], "Be brief.");
    run(&project).exits(0);
    let frozen = std::fs::read_to_string(project.run_directory().join("workflow.json")).expect("a workflow");
    let frozen: Value = serde_json::from_str(&frozen).expect("a workflow");
    let turn = &frozen["stages"]["work"]["does"]["turns"]["turns"][0];
    assert_eq!((&turn["persona"]["inline"], &turn["tools"]), (&"Be brief.".into(), &serde_json::json!([])));
}
