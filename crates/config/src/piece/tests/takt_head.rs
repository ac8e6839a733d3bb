//! Tests of the features of TAKT's newest releases.

use saihai_model::Permission;

use super::{Project, VALUES, render, turn};

const RULES: &str = "rules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT}]";
const EDIT: Permission = Permission::Edit { commands: true };

/// Returns a workflow with these lines of its own and one step `m` with these lines.
fn workflow(own: &str, step: &str) -> String {
    let step: String = step.lines().map(|line| format!("    {line}\n")).collect();
    format!("name: t\n{own}\nsteps:\n  - name: m\n{step}    {RULES}\n")
}

fn tools_of(project: &Project) -> (Permission, String) {
    let workflow = project.workflow();
    let turn = turn(&workflow, "m");
    (turn.permission, turn.tools.clone().unwrap_or_default().join(" "))
}

//
#[test]
fn capabilities_are_presets_of_tools() {
    let check = |own: &str, step: &str, permission: Permission, tools: &str| {
        let project = Project::new(&workflow(own, step))
            .file(
                "/p/.takt/provider-options/house.yaml",
                "extends: readonly\ncodex: {allowed_tools: [shell]}",
            )
            .file("/home/me/.takt/provider-options/mine.yml", "claude: {allowed_tools: [Read]}");
        assert_eq!(tools_of(&project), (permission, tools.to_owned()), "{own} {step}");
    };
    let looking = "Read Glob Grep Bash WebSearch WebFetch";
    check("", "capabilities: readonly", Permission::ReadOnly, looking);
    check(
        "",
        "capabilities: [edit, enable-skills]",
        EDIT,
        "Read Glob Grep Edit Write Bash WebSearch WebFetch",
    );
    check("capabilities: edit", "capabilities: mine", EDIT, "Read");
    check("capabilities: edit", "capabilities: readonly\nedit: false", Permission::ReadOnly, looking);
    check("", "capabilities: enable-skills", Permission::ReadOnly, "");
    check("", "provider_options: {extends: house}\nprovider: codex", Permission::ReadOnly, "shell");
    check("", "provider_options: {extends: house}\nprovider: claude", Permission::ReadOnly, looking);
    check(
        "",
        "provider_options: {extends: house, claude: {allowed_tools: [Glob]}}",
        Permission::ReadOnly,
        "Glob",
    );
    check("capabilities: edit", "allowed_tools: [Grep]\nedit: false", Permission::ReadOnly, "Grep");
}

//
#[test]
fn an_unknown_preset_and_endless_ones_are_errors() {
    let said = |step: &str| {
        Project::new(&workflow("", step)).file("/p/.takt/provider-options/loop.yaml", "extends: loop").said()
    };
    assert_eq!(
        said("capabilities: raedonly"),
        "error piece/missing-file 5:19 no preset of tools is named `raedonly` (did you mean `readonly`?)"
    );
    assert_eq!(
        said("provider_options: {extends: house}"),
        "error piece/missing-file 5:33 no preset of tools is named `house` (write its tools into `.takt/provider-options/house.yaml`: `claude: {allowed_tools: [Read]}`)"
    );
    assert!(said("capabilities: loop").contains("more than 5 levels deep"));
}

//
#[test]
fn rules_of_all_steps_can_be_names_of_files() {
    let project = Project::new(&workflow(
        "all_steps: {rules: [house, {ref: mine, position: before_instruction}]}",
        "instruction: Work.",
    ))
    .file("/p/.takt/pieces/rules/house.md", "Keep the house rules.\n")
    .file("/home/me/.takt/workflows/rules/mine.md", "Keep mine.");
    let prompt = render(&turn(&project.workflow(), "m").prompt, &VALUES);
    assert!(prompt.contains("\n\nKeep the house rules.\n\nKeep mine.\n\n"), "{prompt}");
    assert_eq!(
        Project::new(&workflow("all_steps: {rules: [../x]}", "")).said(),
        "error piece/missing-file 2:21 no rule for all steps is named `../x` (put `../x.md` into `.takt/pieces/rules` or `.takt/workflows/rules` or `~/.takt/workflows/rules`)"
    );
}
