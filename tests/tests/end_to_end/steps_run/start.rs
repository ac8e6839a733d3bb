//! The start of a step agent's run: the order of its preparations, and its log.

use saihai_connect::forge::testing::{ForgeServer, ForgeState};
use saihai_tests::{FakeAgent, Project};
use serde_json::{Value, json};

use super::programs::fake_agent;
use super::{ANY, agent, completes, for_ever, logs, run};

fn logged(directory: &str) -> Value {
    json!({"logging": {"directory": directory, "format": "jsonl", "maxFiles": 5}})
}

/// Returns whether a refused run left nothing behind.
fn is_clean(project: &Project) -> bool {
    !project.root().join("tmp/logs").exists() && project.begun().is_empty()
}

// S-21: the order is prompts and completion handler, then the connection to the agent, then the targets of
// actions. Saihai reports the first failure, does not open the next resource, and leaves nothing behind.
#[test]
fn what_a_run_needs_is_opened_in_its_order_and_left_as_it_was_where_one_fails() {
    let mut state = ForgeState::default();
    state.issue(12, "Sew a coat", &[]).body = "Of wool.".to_owned();
    let server = ForgeServer::start(state);
    let mut more = logged("tmp/logs");
    more["github"] = json!({"enabled": true});
    more["actions"] = json!({"enabled": true, "types": ["bug"], "handlers": {"bug": "github-issue"}});
    let project = agent(&completes("custom", &json!({"handlerPath": "handler.sh"})), &more, &for_ever(), ANY);
    project.write(".saihai/config.toml", "[work]\nrepo = \"me/tool\"\n");
    let prompt = project.root().join(".agent/it/prompts/b.md");
    std::fs::remove_file(&prompt).expect("it was there");
    let answers = json!([{"text": "done"}]);
    let fake = FakeAgent::install(&project, fake_agent(), &["codex"], &answers);
    let begin = |provider: &str, more: &[(&str, String)], code: i32| {
        let call = fake.saihai([
            "run",
            "it",
            "--issue",
            "12",
            "--no-worktree",
            "--trust-project",
            "--provider",
            provider,
        ]);
        let call =
            more.iter().fold(call.without_env("GITHUB_TOKEN"), |call, (name, value)| call.env(name, value));
        let outcome = call.env("GITHUB_API_URL", server.url()).run().exits(code);
        assert!(is_clean(&project), "{outcome}");
        outcome.stderr
    };
    let told = begin("claude", &[], 2);
    assert!(told.contains("steps/prompt-not-found") && !told.contains("claude"), "{told}");
    std::fs::write(&prompt, "Do b.\n").expect("it is ours");
    let told = begin("claude", &[], 2);
    assert!(told.contains("handler.sh") && !told.contains("claude"), "{told}");
    super::handler(&project, "echo '{\"complete\": true, \"reason\": \"it fits\"}'");
    let told = begin("claude", &[], 4);
    assert!(told.contains("claude") && !told.contains("GITHUB_TOKEN"), "{told}");
    let told = begin("codex", &[], 2);
    assert!(told.contains("GITHUB_TOKEN"), "{told}");
    assert_eq!(server.requests().len(), 0, "the forge was asked for nothing");
    assert!(fake.calls().is_empty());
    let token = ("GITHUB_TOKEN", "a-token-of-ours".to_owned());
    let call = fake.saihai([
        "run",
        "it",
        "--issue",
        "12",
        "--no-worktree",
        "--trust-project",
        "--provider",
        "codex",
    ]);
    server.change(|state| state.issues.get_mut(&12).expect("it is there").closed = true);
    call.env(token.0, token.1).env("GITHUB_API_URL", server.url()).run().exits(0);
    assert_eq!((logs(&project).len(), project.runs().len()), (1, 1), "now all of it is there");
}

/// Returns the lines of the only log, each with its level and message.
fn levels(project: &Project) -> Vec<(String, String)> {
    let [only] = logs(project).try_into().expect("one run, one log");
    let text = super::log(project, &only);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines.map(|line| (word(&line["level"]), word(&line["message"]))).collect()
}

// S-68, case 28
#[test]
fn a_failure_that_no_retry_mends_is_one_error_in_the_log_and_the_result_and_nothing_is_asked_after_it() {
    let steps = json!({"a": {"next": "b"}, "b": {"terminal": true}});
    let machine = completes("stepMachine", &json!({}));
    let fails = |times: &str| {
        format!(
            "  - {{fail: {{class: transient, message: 'timed out', retry_after: 0}}, times: {times}}}\n{ANY}"
        )
    };
    let mended = agent(&machine, &logged("tmp/logs"), &steps, &fails("2"));
    run(&mended, &[]).exits(0);
    assert_eq!(mended.journal().asked()["a.1.1.1"], 3, "two that failed, and one that did not");
    let errors = |project: &Project| -> Vec<String> {
        levels(project)
            .into_iter()
            .filter(|(level, _)| level == "error")
            .map(|(_, message)| message)
            .collect()
    };
    assert_eq!(errors(&mended), [""; 0]);
    let project = agent(&machine, &logged("tmp/logs"), &steps, &fails("'*'"));
    run(&project, &[]).exits(4);
    assert_eq!(project.journal().asked()["a.1.1.1"], 4);
    assert_eq!(errors(&project), ["parked: the provider failed at `a` (transient)"]);
    let returned = super::returned(&project);
    assert_eq!(returned["error"], json!("transient: timed out"));
    assert_eq!(returned["iterations"], json!(1), "no iteration that went on");
}

// S-18: the log settings of `config.json` override the agent's own.
#[test]
fn how_many_logs_are_kept_is_said_by_config_json() {
    let steps = json!({"a": {"terminal": true}});
    let project = agent(&completes("stepMachine", &json!({})), &logged("tmp/logs"), &steps, ANY);
    project.write(".agent/it/config.json", r#"{"logging": {"maxFiles": 1}}"#);
    for _ in 0..2 {
        run(&project, &[]).exits(0);
    }
    assert_eq!((logs(&project).len(), project.runs().len()), (1, 2));
}

// S-18: with `verbose: false` in `config.json`, and only then, the agent's log has no details.
#[test]
fn a_log_that_is_not_verbose_has_no_details() {
    let steps = json!({"a": {"terminal": true}});
    let project = agent(&completes("stepMachine", &json!({})), &logged("tmp/logs"), &steps, ANY);
    let said = |verbose: &str| -> Vec<(String, String)> {
        project.write(".agent/it/config.json", format!(r#"{{"logging": {{"maxFiles": 1{verbose}}}}}"#));
        run(&project, &[]).exits(0);
        levels(&project)
    };
    let whole = said("");
    assert!(whole.iter().any(|(level, _)| level == "debug"), "{whole:?}");
    let kinds =
        |lines: Vec<(String, String)>| -> Vec<String> { lines.into_iter().map(|line| line.0).collect() };
    assert_eq!(kinds(said(r#", "verbose": true"#)), kinds(whole.clone()));
    let main: Vec<String> = kinds(whole).into_iter().filter(|level| level != "debug").collect();
    assert_eq!(kinds(said(r#", "verbose": false"#)), main);
}
