//! `agent.json` and `config.json`.

use saihai_model::Permission;
use serde_json::json;

use super::{Project, turn};

// S-20, case 2
#[test]
fn everything_wrong_is_said_at_once() {
    let project = Project::tailor()
        .agent("/version", json!("1"))
        .agent("/behavior/permissionMode", json!("planning"))
        .registry("/entryStep", json!("mesure"));
    insta::assert_snapshot!(project.said(), @r"
    error steps/bad-value agent.json:10:23 `permissionMode` must be `plan`, `acceptEdits`, `bypassPermissions` or `default`, not `planning`
    error steps/version agent.json:25:14 `1` is not a version (write three numbers, such as `1.0.0`)
    error steps/unknown-step steps_registry.json:3:16 step `mesure` does not exist (did you mean `measure`?)
    ");
    assert!(project.load().workflow.is_none());
}

// S-5, S-7, case 3
#[test]
fn an_unknown_key_is_told_with_the_nearest_known_one() {
    let project = Project::tailor().agent("/behaviour", json!({}));
    insta::assert_snapshot!(project.said(), @"error steps/unknown-key agent.json:13:3 unknown key `behaviour` (did you mean `behavior`?)");
}

// Case 4
#[test]
fn tools_must_be_named_and_none_is_none() {
    let project = Project::tailor().dropping("agent.json", "/behavior/allowedTools");
    insta::assert_snapshot!(project.said(), @"error steps/missing-key agent.json:2:15 `behavior` needs `allowedTools`");
    let project = Project::tailor().agent("/behavior/allowedTools", json!([]));
    assert_eq!(turn(&project.workflow(), "measure").tools.as_deref(), Some(&[][..]));
}

// S-7
#[test]
fn names_versions_and_directories_are_checked() {
    let project = Project::tailor().agent("/name", json!("Tailor"));
    insta::assert_snapshot!(project.said(), @r"
    error steps/bad-value agent.json:13:11 `Tailor` cannot be the name of an agent (use lower-case letters, digits and `-`, and start with a letter)
    warning steps/name-differs agent.json:13:11 the agent `Tailor` is in the directory `tailor` (use the directory's name to run it)
    ");
    let project = Project::tailor().registry("/version", json!("1.0"));
    insta::assert_snapshot!(project.said(), @"error steps/version steps_registry.json:52:14 `1.0` is not a version (write three numbers, such as `1.0.0`)");
}

// S-7
#[test]
fn permission_modes_are_levels() {
    let check = |mode: &str, tools: &[&str], expected: Permission| {
        let project = Project::tailor()
            .agent("/behavior/permissionMode", json!(mode))
            .agent("/behavior/allowedTools", json!(tools));
        assert_eq!(turn(&project.workflow(), "measure").permission, expected, "{mode} {tools:?}");
    };
    check("plan", &["Write"], Permission::ReadOnly);
    check("acceptEdits", &[], Permission::Edit { commands: false });
    check("bypassPermissions", &[], Permission::Full);
    check("default", &["Read"], Permission::ReadOnly);
    check("default", &["Read", "Edit"], Permission::Edit { commands: false });
}

// S-8
#[test]
fn a_step_can_have_options_of_its_own() {
    let project = Project::tailor()
        .file("prompts/strict.md", "You are strict.")
        .registry("/steps/quote/permissionMode", json!("bypassPermissions"))
        .registry("/steps/quote/allowedTools", json!([]))
        .registry("/steps/quote/model", json!("large"))
        .registry("/steps/quote/systemPromptPath", json!("prompts/strict.md"));
    let workflow = project.workflow();
    let (measure, quote) = (turn(&workflow, "measure"), turn(&workflow, "quote"));
    assert_eq!((measure.permission, quote.permission), (Permission::ReadOnly, Permission::Full));
    assert_eq!(measure.tools.as_deref(), Some(&["Read".to_owned()][..]));
    assert_eq!(quote.tools.as_deref(), Some(&[][..]), "an empty list is a value");
    assert_eq!((measure.model.as_deref(), quote.model.as_deref()), (None, Some("large")));
    assert_eq!(measure.persona, Some("You are a tailor.\n".into()));
    assert_eq!(quote.persona, Some("You are strict.".into()));
}

// S-18, case 38
#[test]
fn config_json_stands_above_the_agent_and_flags_above_both() {
    let config =
        r#"{"version": "1.0.0", "overrides": {"permissionMode": "acceptEdits", "allowedTools": ["Edit"]}}"#;
    let project = Project::tailor().file("config.json", config);
    let workflow = project.workflow();
    assert_eq!(turn(&workflow, "measure").permission, Permission::Edit { commands: false });
    assert_eq!(
        turn(&workflow, "measure").tools.as_deref(),
        Some(&["Edit".to_owned()][..]),
        "lists never merge"
    );
    let project = project.options(|options| options.max_permission = Some(Permission::ReadOnly));
    assert_eq!(turn(&project.workflow(), "measure").permission, Permission::ReadOnly);
    let broken = Project::tailor().file("config.json", "{");
    insta::assert_snapshot!(broken.said(), @"error steps/syntax config.json:1:2 this is not valid JSON: expected a key in double quotes, but the file ends");
}

// S-18
#[test]
fn older_names_in_config_json_are_told() {
    let idle = r#"{"github": {"apiVersion": "2022-11-28", "labels": {"done": "done"}}}"#;
    let idle = Project::tailor().file("config.json", idle);
    let idle = idle.agent("/github", json!({"enabled": true, "labels": {"done": "done"}}));
    insta::assert_snapshot!(idle.said(), @r"
    note steps/no-effect agent.json:15:5 `labels` has no effect: a block names its own labels
    note steps/no-effect config.json:1:13 `apiVersion` and `labels` have no effect here
    ");
    let config = r#"{"worktree": {"forceWorktree": false, "worktreeRoot": "../trees"}, "frobs": 1}"#;
    insta::assert_snapshot!(Project::tailor().file("config.json", config).said(), @r"
    note steps/other-name config.json:1:15 `forceWorktree` is another name of `enabled`
    note steps/other-name config.json:1:39 `worktreeRoot` is another name of `root`
    error steps/unknown-key config.json:1:68 unknown key `frobs` (`config.json` has the keys `$schema`, `version`, `overrides`, `github`, `logging` and `worktree`)
    ");
}

// Keys of a newer format in an older file
#[test]
fn keys_of_the_later_format_are_named_with_their_places() {
    insta::assert_snapshot!(Project::tailor().agent("/runner", json!({})).said(), @r"
    error steps/mixed-shapes agent.json:25:3 an agent has either `behavior` or `runner`, not both
    error steps/mixed-shapes agent.json:25:3 an agent has either `prompts` or `runner`, not both
    warning steps/missing-key agent.json:25:3 `runner` has no `boundaries`: the agent can only read, with `Read`, `Glob` and `Grep` (add `boundaries` with `allowedTools` and `permissionMode`)
    error steps/missing-key agent.json:25:13 `runner` needs `flow`
    error steps/missing-key agent.json:25:13 `runner` needs `verdict`
    ");
    let later = Project::tailor().dropping("agent.json", "/behavior").agent("/runner", json!({"flow": {}}));
    insta::assert_snapshot!(later.said(), @r"
    error steps/mixed-shapes agent.json:14:3 an agent has either `prompts` or `runner`, not both
    warning steps/missing-key agent.json:14:3 `runner` has no `boundaries`: the agent can only read, with `Read`, `Glob` and `Grep` (add `boundaries` with `allowedTools` and `permissionMode`)
    error steps/missing-key agent.json:14:13 `runner` needs `verdict`
    error steps/missing-key agent.json:15:13 `flow` needs `systemPromptPath`
    error steps/missing-key agent.json:15:13 `flow` needs `prompts`
    ");
    let step = Project::tailor()
        .registry("/steps/quote/structuredGate", json!({}))
        .registry("/steps/quote/c1", json!("order"))
        .registry("/validationSteps", json!({}));
    insta::assert_snapshot!(step.said(), @r"
    error steps/not-supported steps_registry.json:23:7 `c1` is not a key of a step: put it into `prompt`
    error steps/not-supported steps_registry.json:51:7 `structuredGate` belongs to a registry of the later format, which has `agentId`
    error steps/not-supported steps_registry.json:54:3 `validationSteps` belongs to a registry of the later format, which has `agentId`
    ");
}

// S-17
#[test]
fn what_is_known_and_cannot_be_done_is_refused_by_name_with_the_way_out() {
    let agent = |pointer: &str, value| Project::tailor().agent(pointer, value).said();
    let step =
        |pointer: &str, value| Project::tailor().registry(&format!("/steps/quote/{pointer}"), value).said();
    let external = |resource: &str| {
        let config = json!({"resourceType": resource});
        let project = Project::tailor().agent("/behavior/completionType", json!("externalState"));
        project.agent("/behavior/completionConfig", config).said()
    };
    let handler = json!({"enabled": true, "types": ["note"], "handlers": {"note": "handlers/note.ts"}});
    let all = [
        step("runner", json!({"command": "make"})),
        Project::tailor().registry("/preflightConditions", json!([{"validator": "clean"}])).said(),
        step("customVariables", json!([{"name": "x", "source": "computed"}])),
        external("github-project"),
        external("api"),
        agent("/actions", handler),
        step("path", json!("quote.md")),
        step("c1", json!("order")),
    ];
    insta::assert_snapshot!(all.join("\n---\n"), @r"
    error steps/not-supported steps_registry.json:50:7 `runner` belongs to a registry of the later format, which has `agentId`
    ---
    error steps/not-supported steps_registry.json:4:3 `preflightConditions` belongs to a registry of the later format, which has `agentId`
    ---
    error steps/not-supported steps_registry.json:45:21 computed variables are not supported (compute the value first and pass it as a parameter)
    ---
    error steps/not-supported agent.json:7:23 the state of `github-project` cannot be checked (use `github-issue` or `file`; for other states, write a program for `custom`)
    ---
    error steps/not-supported agent.json:7:23 the state of `api` cannot be checked (use `github-issue` or `file`; for other states, write a program for `custom`)
    ---
    error steps/not-supported agent.json:5:15 the handler `handlers/note.ts` is not supported (there is `builtin:log`, `file`, `completion-signal`, `github-issue` and `github-comment`)
    ---
    error steps/not-supported steps_registry.json:45:7 `path` is not a key of a step: put it into `prompt`
    ---
    error steps/not-supported steps_registry.json:23:7 `c1` is not a key of a step: put it into `prompt`
    ");
}

// S-7
#[test]
fn what_no_provider_can_be_held_to_is_told() {
    let sandbox = json!({"network": {"mode": "none"}, "filesystem": {"allowedPaths": ["src"]}});
    let project = Project::tailor().agent("/behavior/sandboxConfig", sandbox.clone());
    insta::assert_snapshot!(project.said(), @r"
    warning steps/sandbox agent.json:12:7 no provider can enforce `filesystem` of a sandbox (`permissionMode` and `allowedTools` are enforced)
    warning steps/sandbox agent.json:17:7 no provider can enforce `network` of a sandbox (`permissionMode` and `allowedTools` are enforced)
    ");
    let alone =
        |sandbox: saihai_model::Json| Project::tailor().agent("/behavior/sandboxConfig", sandbox).said();
    insta::assert_snapshot!(alone(json!({})), @"warning steps/sandbox agent.json:11:22 an agent's file cannot set `sandboxConfig` for a provider (`permissionMode` and `allowedTools` are enforced)");
    insta::assert_snapshot!(alone(json!({"enabled": true})), @"warning steps/sandbox agent.json:11:22 an agent's file cannot set `sandboxConfig` for a provider (`permissionMode` and `allowedTools` are enforced)");
    assert_eq!(alone(json!({"enabled": false})), "");
    let mut off = sandbox;
    off["enabled"] = json!(false);
    let project = Project::tailor().agent("/behavior/sandboxConfig", off);
    assert_eq!(project.said(), "");
    assert_eq!(turn(&project.workflow(), "measure").permission, Permission::ReadOnly, "it widens nothing");
    let project = Project::tailor().agent("/github", json!({}));
    insta::assert_snapshot!(project.said(), @"error steps/missing-key agent.json:13:13 `github` needs `enabled`");
}

// Worktree option of a run: `config.json` wins over `agent.json`.
#[test]
fn a_working_tree_is_wished_for() {
    let project = Project::tailor().agent("/worktree", json!({"enabled": true, "root": "../trees"}));
    let wishes = |project: &Project| {
        let wishes = project.load().wishes;
        (wishes.worktree, wishes.worktree_root)
    };
    let elsewhere = Some("../trees".to_owned());
    assert_eq!(wishes(&project), (Some(true), elsewhere.clone()));
    assert_eq!(wishes(&Project::tailor()), (None, None));
    let off = project.file("config.json", r#"{"worktree": {"forceWorktree": false}}"#);
    assert_eq!(wishes(&off), (Some(false), elsewhere));
    let on = Project::tailor().file("config.json", r#"{"worktree": {"enabled": true}}"#);
    assert_eq!(wishes(&on), (Some(true), None));
}
