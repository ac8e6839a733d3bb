//! Tests of the features of TAKT's newest releases.

use insta::assert_snapshot;
use saihai_model::{Permission, SectionCondition};

use super::{Project, VALUES, render, render_section, turn};

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

// X-20
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

// X-20
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

// X-23
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

// X-22
#[test]
fn a_command_gate_is_a_proof_of_every_rule_that_does_not_give_up() {
    let project = Project::new(&workflow(
        "",
        "quality_gates: [Tests pass, {type: command, command: npm test, cwd: web, timeout_ms: 9000}, {type: command, name: lint, command: npm run lint}]",
    ));
    let workflow = project.workflow();
    let turn = turn(&workflow, "m");
    assert_snapshot!(serde_json::to_string(&turn.reads.proofs).unwrap(), @r#"[{"of":"","rules":[0],"name":"npm test","by":{"does":{"command":{"argv":["/bin/sh","-c","cd \"$0\" && eval \"$1\"","web","npm test"],"timeout":9000,"told":"by_exit_code","written":"/p/.takt/pieces/t.yaml"}},"once":"read_only"},"refuted":{"again":{"at_most":5,"exhausted":{"end":{"failed":"validation_failed m npm test"}}}}},{"of":"","rules":[0],"name":"lint","by":{"does":{"command":{"argv":["/bin/sh","-c","npm run lint"],"timeout":1800000,"told":"by_exit_code","written":"/p/.takt/pieces/t.yaml"}},"once":"read_only"},"refuted":{"again":{"at_most":5,"exhausted":{"end":{"failed":"validation_failed m lint"}}}}}]"#);
    let failed: Vec<String> = (turn.prompt.sections.iter())
        .filter(|section| matches!(section.when, SectionCondition::Refuted(_)))
        .filter_map(|section| render_section(section, &[("Refutation", "2 failed")]))
        .collect();
    assert_eq!(
        failed,
        [
            "## Failed Check\nAfter your work, the command `npm test` failed. Remove the cause.\n\n```\n2 failed\n```",
            "## Failed Check\nAfter your work, the command `npm run lint` failed. Remove the cause.\n\n```\n2 failed\n```",
        ]
    );
    assert_eq!(workflow.commands().len(), 2, "the gates ask for trust");
}

// X-22
#[test]
fn mistakes_of_gates_are_errors() {
    let said = |gate: &str| Project::new(&workflow("", &format!("quality_gates: [{gate}]"))).said();
    assert_eq!(said("{type: command}"), "error piece/missing-key 5:21 a command gate needs `command`");
    assert_eq!(
        said("{type: command, command: ' '}"),
        "error piece/bad-value 5:46 `command` must be a line for the shell"
    );
    assert!(said("{type: command, command: x, cwd: ../y}").contains("is not a directory below"));
    assert_eq!(
        said("3"),
        "error piece/bad-type 5:21 a quality gate must be text or `{type: command}`, not a whole number"
    );
    let parallel = "name: t\nmovements:\n  - name: m\n    parallel: [{name: a, quality_gates: [{type: command, command: x}], rules: [{condition: ok}]}]\n    rules: [{condition: all(ok), next: COMPLETE}]";
    assert_eq!(
        Project::new(parallel).said(),
        "error piece/not-supported 4:42 a command gate in a sub-movement is not supported (add a movement with `shell:` behind the parallel one, and rules on `exit(0)`)"
    );
}
