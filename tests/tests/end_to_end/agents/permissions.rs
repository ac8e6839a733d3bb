//! Permissions of a turn, from the definition to the program's arguments. C-40 to C-46.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use insta::assert_snapshot;
use saihai_tests::{FakeAgent, Invocation, Project};
use serde_json::json;

use super::one_request::Stage;
use super::{FAKE_AGENT, fake};
use crate::support::PROGRAM;

const DONE: &str = "done\n[STEP:0]";
const NOBODY: u32 = 65_534;

/// Creates a project with one movement and with settings for its provider.
fn one(provider: &str, keys: &str, settings: &str) -> Project {
    let project = Project::new(PROGRAM);
    let movement = format!(
        "  - {{name: work, provider: {provider}, {keys}, rules: [{{condition: ok, next: COMPLETE}}]}}"
    );
    project.write(".takt/pieces/it.yaml", format!("name: it\nmovements:\n{movement}\n"));
    project.write("../home/.config/saihai/config.toml", format!("[providers.{provider}]\n{settings}"));
    project
}

/// Runs such a movement once, and returns the value of a permission flag in the program's arguments.
fn given(provider: &str, keys: &str, settings: &str, flag: &str) -> Option<String> {
    let project = one(provider, keys, settings);
    let fake = fake(&project, provider, &json!([{"text": DONE}]));
    fake.saihai(["run", "it", "T"]).run().exits(0);
    fake.calls()[0].after(flag)
}

/// Installs the fake as `claude`, and prepares a run of it by a user other than root.
fn by_an_ordinary_user(project: &Project) -> (FakeAgent<'_>, Invocation) {
    let own = |name: &str, program: &str| {
        let copy = project.home().join(name);
        fs::copy(program, &copy).expect("a copy that others may run");
        copy
    };
    let fake = FakeAgent::install(project, &own("fake", FAKE_AGENT), &["claude"], &json!([{"text": DONE}]));
    let call = fake.saihai(["run", "it", "T"]);
    if !rustix::process::geteuid().is_root() {
        return (fake, call);
    }
    let program = own("saihai", PROGRAM);
    let above = project.home().parent().expect("the temporary directory").to_owned();
    fs::set_permissions(&above, fs::Permissions::from_mode(0o755)).expect("permissions");
    hand_over(&above);
    (fake, call.program(&program).as_user(NOBODY))
}

/// Gives a directory and all its contents to an ordinary user.
fn hand_over(directory: &Path) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let entry = entry.expect("an entry");
        if entry.file_type().expect("a kind of file").is_dir() {
            hand_over(&entry.path());
        } else if entry.path().is_file() {
            chown(entry.path(), Some(NOBODY), Some(NOBODY)).expect("another owner");
        }
    }
    chown(directory, Some(NOBODY), Some(NOBODY)).expect("another owner");
}

// C-42, C-44, Connections case 1
#[test]
fn an_edit_runs_commands_unasked_and_bypasses_no_permission() {
    assert_eq!(given("claude", "edit: true", "", "--permission-mode").as_deref(), Some("acceptEdits"));
    let unasked = given("claude", "edit: true", "", "--allowedTools").expect("tools that need no asking");
    assert!(unasked.split(',').any(|tool| tool == "Bash"), "{unasked}");
    assert_eq!(given("codex", "edit: true", "", "-s").as_deref(), Some("workspace-write"));
}

// C-42, C-44, Connections case 1
#[test]
fn everything_is_for_an_ordinary_user_only() {
    let project = one("claude", "permission_mode: full", "");
    let (fake, call) = by_an_ordinary_user(&project);
    call.run().exits(0);
    assert_eq!(fake.calls()[0].after("--permission-mode").as_deref(), Some("bypassPermissions"));
    if rustix::process::geteuid().is_root() {
        let project = one("claude", "permission_mode: full", "");
        let fake = super::fake(&project, "claude", &json!([{"text": DONE}]));
        let outcome = fake.saihai(["run", "it", "T"]).run().exits(4);
        assert!(outcome.stderr.contains("or pass `--max-permission edit`"), "{outcome}");
        assert!(fake.calls().is_empty() && project.runs().is_empty());
        fake.saihai(["run", "it", "T", "--max-permission", "edit"]).run().exits(0);
    }
}

// C-42, Connections case 2: this mode accepts edits without a question and runs no command unasked. It also works for root.
#[test]
fn edits_alone_are_accepted_where_a_definition_or_the_settings_ask_for_no_more() {
    let mode = given("claude", "edit: true", "edit_mode = \"acceptEdits\"\n", "--permission-mode");
    assert_eq!(mode.as_deref(), Some("acceptEdits"));

    let project = Project::new(PROGRAM);
    let behavior = json!({
        "systemPromptPath": "prompts/system.md", "allowedTools": [], "permissionMode": "acceptEdits",
        "completionType": "iterationBudget", "completionConfig": {"maxIterations": 1},
    });
    let agent = json!({
        "version": "1.0.0", "name": "it", "behavior": behavior, "prompts": {"registry": "steps_registry.json"},
    });
    let registry = json!({
        "version": "1.0.0", "basePath": "prompts", "entryStep": "a",
        "steps": {"a": {"next": "a", "prompt": {"path": "a.md"}}},
    });
    project.write(".agent/it/agent.json", agent.to_string());
    project.write(".agent/it/steps_registry.json", registry.to_string());
    project.write(".agent/it/prompts/system.md", "You work.\n").write(".agent/it/prompts/a.md", "Do it.\n");
    let fake = fake(&project, "claude", &json!([{"text": "done"}]));
    fake.saihai(["run", "it", "--provider", "claude"]).run().exits(0);
    assert_eq!(fake.calls()[0].after("--permission-mode").as_deref(), Some("acceptEdits"));
}

// C-40, Connections case 3
#[test]
fn what_contradicts_itself_is_shown_with_both_places_and_nothing_is_started() {
    for (edit, mode) in [("false", "full"), ("true", "readonly")] {
        let project = one("claude", &format!("edit: {edit}, permission_mode: {mode}"), "");
        let fake = fake(&project, "claude", &json!([]));
        let refused = fake.saihai(["run", "it", "T"]).run().exits(2);
        let words = format!("`edit: {edit}` and `permission_mode: {mode}` contradict each other");
        assert!(refused.stderr.contains(&words), "{refused}");
        let places = [" could only be `", "- because of this"];
        assert!(places.iter().all(|place| refused.stderr.contains(place)), "{refused}");
        assert!(project.runs().is_empty());
    }
}

// C-42, Connections case 4: Saihai removes writing tools from the list, and `check` reports it.
#[test]
fn a_turn_that_only_looks_is_shown_no_tool_that_writes_and_check_says_so() {
    assert_eq!(given("claude", "allowed_tools: [Read, Write]", "", "--tools").as_deref(), Some("Read"));
    let project = one("claude", "allowed_tools: [Read, Write]", "");
    let fake = fake(&project, "claude", &json!([]));
    let checked = fake.saihai(["check", ".takt/pieces/it.yaml"]).run().exits(0);
    assert_snapshot!(format!("{}{}", checked.stdout, checked.stderr), @"
    warning[piece/no-effect]: `Write` has no effect in a read-only movement
    --> .takt/pieces/it.yaml:3:58
      |
    3 |   - {name: work, provider: claude, allowed_tools: [Read, Write], rules: [{condition: ok, next: COMPLETE}]}
      |                                                          ^^^^^
      = help: add `edit: true`, or remove it

    it: ok, 1 warning (at most 10 agent calls)
    no errors, 1 warning in 1 file
    ");
}

// C-46, Connections case 8
#[tokio::test]
async fn a_variable_that_would_allow_everything_reaches_nobody() {
    let mut stage = Stage::new("copilot", &json!({"text": "done"}));
    let given = [("COPILOT_ALLOW_ALL", "true"), ("COPILOT_HOME", "/home"), ("MINE", "1")];
    stage.environment = given.map(|(name, value)| (name, value.to_owned())).to_vec();
    stage.settings.env_pass = vec!["COPILOT_ALLOW_ALL".to_owned(), "MINE".to_owned()];
    let (_, call) = stage.answer("x").await;
    let seen = given.map(|(name, _)| call.variable(name));
    assert_eq!(seen, [None, Some("/home"), Some("1")]);
}

// C-43: a program of tomorrow may have tools that this version does not know.
#[test]
fn a_tool_that_we_do_not_know_in_a_read_only_turn_is_shown_and_recorded() {
    let check = |keys: &str, expected: bool| {
        let project = one("copilot", keys, "");
        let tools = json!([{"name": "teleport", "input": {}, "output": "gone"}]);
        let fake = fake(&project, "copilot", &json!([{"text": DONE, "tools": tools}]));
        let outcome = fake.saihai(["run", "it", "T"]).run().exits(0);
        assert_eq!(outcome.stderr.contains("copilot called `teleport`"), expected, "{outcome}");
        let journal = project.journal();
        let replied = journal.facts("replied").next().expect("a reply");
        let warnings = replied["reading"]["warnings"].to_string();
        assert_eq!(warnings.contains("copilot called `teleport`"), expected, "{replied}");
    };
    check("edit: false", true);
    check("edit: true", false);
}
