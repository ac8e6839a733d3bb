//! Tests of the features of TAKT's newest releases.

use insta::assert_snapshot;
use saihai_model::{Exit, Permission, SectionCondition, Stage, StageId, Target, Workflow};

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

/// Returns the exits of every stage, one line each.
fn exits(workflow: &Workflow) -> String {
    let target = |target: &Target| match target {
        Target::Stage(id) => id.to_string(),
        Target::Complete => "COMPLETE".to_owned(),
        Target::End(ending) => ending.reason().to_owned(),
        other => format!("{other:?}"),
    };
    let line = |(id, stage): (&StageId, &Stage)| {
        let Exit::Rules { rules, .. } = &stage.exit else { return id.to_string() };
        let targets: Vec<String> = rules.iter().map(|rule| target(&rule.then)).collect();
        format!("{id}: {}", targets.join(", "))
    };
    let stages: Vec<String> = workflow.stages.iter().map(line).collect();
    format!("start {}\n{}", workflow.entry, stages.join("\n"))
}

// X-26
#[test]
fn a_step_uses_a_fragment_and_its_own_keys_win() {
    let piece = "name: t\nsteps:\n  - uses: coding\n    edit: true\n    provider_options: {claude: {allowed_tools: [Read]}}\n    with: {what: [rust, tests], how: Work.}\n    rules: [{condition: done, next: COMPLETE}]\nknowledge: {rust: Own it., tests: Prove it.}\n";
    let fragment = "params: {what: {type: 'facet_ref[]', facet_kind: knowledge}, how: {type: facet_ref, facet_kind: instruction}}\nedit: false\nuses: base\nknowledge: [{$param: what}]\ninstruction: {$param: how}\nprovider_options: {codex: {allowed_tools: [shell]}}\n";
    let project = Project::new(piece)
        .file("/p/.takt/steps/coding.yaml", fragment)
        .file("/home/me/.takt/steps/base.yml", "persona: ./smith.md\nprovider: codex\n")
        .file("/home/me/.takt/steps/smith.md", "You forge.");
    let workflow = project.workflow();
    let turn = turn(&workflow, "coding");
    assert_eq!((turn.permission, turn.provider.as_str()), (EDIT, "codex"));
    assert_eq!(turn.tools.as_deref(), Some(&["shell".to_owned()][..]));
    let prompt = render(&turn.prompt, &VALUES);
    assert!(prompt.starts_with("You forge.\n"), "{prompt}");
    assert!(prompt.contains("## Knowledge\nOwn it.\n\nProve it.\n\nWork.\n"), "{prompt}");
}

// X-26
#[test]
fn mistakes_in_fragments_name_their_file() {
    let said = |lines: &str, fragment: &str| {
        let piece = format!("name: t\nsteps:\n  - uses: part\n    {lines}\n    {RULES}\n");
        Project::new(&piece).file("/p/.takt/steps/part.yaml", fragment).said()
    };
    assert_eq!(
        said("edit: true", "name: m\neditt: true\n"),
        "error piece/unknown-key .takt/steps/part.yaml2:1 unknown key `editt` (did you mean `edit`?)"
    );
    assert_eq!(
        said("edit: true", "name: m\npersona: nobody\n"),
        "error piece/unknown-facet .takt/steps/part.yaml2:10 no persona is named `nobody` (add it to `personas:`, name a `.md` file, or put one into `.takt/facets/personas` or `.takt/personas` or `~/.takt/facets/personas` or `~/.takt/personas`)"
    );
    let parameter =
        "params: {how: {type: facet_ref, facet_kind: instruction}}\nname: m\ninstruction: {$param: how}\n";
    assert_eq!(
        said("edit: true", parameter),
        "error piece/missing-key 3:11 `part` needs the parameter `how` (add `with: {how: …}`)"
    );
    assert_eq!(
        said("with: {how: x, hwo: y}", parameter),
        "error piece/unknown-parameter 4:20 `part` has no parameter `hwo` (did you mean `how`?)"
    );
    assert_eq!(said("with: {how: [x]}", parameter), "error piece/bad-type 4:17 `how` must be text");
    assert_eq!(
        said("edit: true", "name: m\ninstruction: {$param: x}\n"),
        "error piece/unknown-parameter .takt/steps/part.yaml2:23 no parameter is named `x` (declare it in `subworkflow: {params: …}`)"
    );
    assert!(said("edit: true", "name: m\nuses: part\n").contains("too many step fragments use each other"));
    assert_eq!(
        Project::new("name: t\nsteps: [{uses: gone, name: m, rules: [{condition: c, next: COMPLETE}]}]")
            .said(),
        "error piece/missing-file 2:16 no step fragment is named `gone` (put `gone.yaml` into `.takt/steps` or `~/.takt/steps`)"
    );
}

// X-26
#[test]
fn rules_can_be_a_tree_of_the_parent_and_its_sub_movements() {
    let piece = |child: &str| {
        format!(
            "name: t\nsteps:\n  - name: m\n    parallel: [{{name: a, instruction: Look.}}, {{name: b, instruction: Look.}}]\n    rules: {{self: [{{condition: all(ok), next: COMPLETE}}], parallel: {{a: [{{condition: ok}}], {child}: [{{condition: ok}}]}}}}\n"
        )
    };
    assert_eq!(exits(&Project::new(&piece("b")).workflow()), "start m\nm: COMPLETE");
    assert_eq!(
        Project::new(&piece("c")).said(),
        "error workflow/dead-rule 5:32 this rule can never match: `ok` is not a result of `b`\nerror piece/unknown-movement 5:92 no sub-movement is named `c`"
    );
}

const CHILD: &str = "name: child\nsubworkflow: {callable: true, returns: [replan], params: {text: {type: facet_ref, facet_kind: instruction, default: Look.}}}\ninitial_step: two\nsteps:\n  - {name: one, instruction: {$param: text}, rules: [{condition: fine, next: COMPLETE}, {condition: bad, next: two}]}\n  - {name: two, rules: [{condition: again, next: one}, {condition: wrong, return: replan}, {condition: stuck, next: ABORT}]}\nloop_monitors: [{cycle: [one, two], judge: {rules: [{condition: go, next: one}, {condition: no, next: COMPLETE}]}}]\n";

/// Returns a workflow with the steps `plan` and `call`, which calls `child`.
fn calling(lines: &str, rules: &str) -> Project {
    let piece = format!(
        "name: t\nsteps:\n  - {{name: plan, rules: [{{condition: planned, next: call}}]}}\n  - name: call\n    kind: workflow_call\n    {lines}\n    rules: [{rules}]\nloop_monitors: [{{cycle: [plan, call], judge: {{rules: [{{condition: go, next: call}}, {{condition: no, next: ABORT}}]}}}}]\n"
    );
    Project::new(&piece).file("/p/.takt/workflows/child.yaml", CHILD)
}

const RESULTS: &str =
    "{condition: COMPLETE, next: COMPLETE}, {condition: replan, next: plan}, {condition: ABORT, next: ABORT}";

// X-27
#[test]
fn the_steps_of_a_called_workflow_are_stages_of_the_run() {
    let workflow = calling("call: child\n    args: {text: Look twice.}", RESULTS).workflow();
    assert_snapshot!(exits(&workflow), @"
    start plan
    plan: call/two
    call/one: COMPLETE, call/two
    call/two: call/one, plan, abort
    judge(plan, call): call/two, abort
    judge(call/one, call/two): call/one, COMPLETE
    ");
    assert_snapshot!(serde_json::to_string(&workflow.monitors).unwrap(), @r#"[{"watches":{"cycle":{"stages":["plan","call/two"],"times":3,"returning":true,"passed":{"groups":[["call/two","call/one"]]}}},"then":{"go":{"stage":"judge(plan, call)"}}},{"watches":{"cycle":{"stages":["call/one","call/two"],"times":3,"returning":true}},"then":{"go":{"stage":"judge(call/one, call/two)"}}}]"#);
    let prompt = render(&turn(&workflow, "call/one").prompt, &VALUES);
    assert!(prompt.contains("- Movement: call/one\n") && prompt.contains("\n\nLook twice.\n"), "{prompt}");
    assert_eq!(workflow.limits.rounds, Some(10), "the limit is that of the caller");
    let recovers = "{condition: COMPLETE, next: COMPLETE}, {condition: replan, next: plan}, {condition: ABORT, next: plan}";
    let recovering = calling("call: ../workflows/child.yaml", recovers).workflow();
    assert!(exits(&recovering).contains("call/two: call/one, plan, plan"));
}

// X-27
#[test]
fn calls_inside_calls_pass_results_on() {
    let middle = "name: middle\nsteps: [{name: inner, kind: workflow_call, call: child, rules: [{condition: COMPLETE, next: COMPLETE}, {condition: replan, return: replan}, {condition: ABORT, next: ABORT}]}]\n";
    let project = calling("call: middle", RESULTS).file("/p/.takt/workflows/middle.yaml", middle);
    assert_snapshot!(exits(&project.workflow()), @"
    start plan
    plan: call/inner/two
    call/inner/one: COMPLETE, call/inner/two
    call/inner/two: call/inner/one, plan, abort
    judge(plan, call): call/inner/two, abort
    judge(call/inner/one, call/inner/two): call/inner/one, COMPLETE
    ");
    let endless = calling("call: t", RESULTS);
    assert_eq!(
        endless.said().lines().next().unwrap(),
        "error piece/too-large 6:11 workflows call each other more than 5 levels deep (the calls are t → t → t → t → t)"
    );
}

// X-27
#[test]
fn mistakes_of_calls_are_errors() {
    let said = |lines: &str, rules: &str| calling(lines, rules).said();
    assert_eq!(
        said("call: child", "{condition: COMPLETE, next: COMPLETE}"),
        "error piece/missing-rules 4:11 the call `call` can end with `replan`, and no rule says what follows (add the rule `{condition: replan, next: …}`)"
    );
    assert_eq!(
        said("call: gone", RESULTS),
        "error piece/missing-file 6:11 no workflow is named `gone` (TAKT's own workflows are not part of Saihai: copy them with `takt eject`)"
    );
    assert_eq!(
        said("call: child\n    args: {txt: x}", RESULTS),
        "error piece/unknown-parameter 7:12 the workflow has no parameter `txt` (did you mean `text`?)"
    );
    assert_eq!(
        said("call: child\n    args: {text: [x]}", RESULTS),
        "error piece/bad-type 7:12 `text` must be text"
    );
    assert_eq!(
        said("call: child\n    edit: true", RESULTS),
        "error piece/no-effect 7:5 `edit` has no effect on a call: the called workflow does the work (remove it)"
    );
    assert_eq!(
        Project::new(&workflow("", "call: x")).said(),
        "error piece/no-effect 5:5 `call` has no effect without `kind: workflow_call`"
    );
}

// X-27
#[test]
fn a_workflow_with_results_can_run_by_itself() {
    let alone = Project::new(CHILD).workflow();
    assert_snapshot!(exits(&alone), @"
    start two
    one: COMPLETE, two
    two: one, abort, abort
    judge(one, two): one, COMPLETE
    ");
}

// X-27
#[test]
fn vars_replace_their_names_in_the_instruction() {
    let project =
        Project::new(&workflow("", "vars: {file: out.txt}\ninstruction: 'Write {file} and {other}.'"));
    let prompt = render(&turn(&project.workflow(), "m").prompt, &VALUES);
    assert!(prompt.contains("Write out.txt and {other}."), "{prompt}");
}

// X-7
#[test]
fn a_rule_of_a_parent_can_name_the_failure_of_a_sub_movement() {
    let failed = |sub: &str, rule: &str| {
        let piece = format!(
            "name: t\nsteps:\n  - name: m\n    parallel: [{{name: a, instruction: Look., rules: [{{condition: {sub}}}, {{condition: ok}}]}}]\n    rules: [{{condition: {rule}, next: ABORT}}, {{condition: all(ok), next: COMPLETE}}, {{condition: any({sub}), next: m}}]\n"
        );
        turn(&Project::new(&piece).workflow(), "m").reads.failed.clone()
    };
    assert_eq!(failed("bad", "any(error)"), Some("error".into()));
    assert_eq!(failed("bad", "all(\"error\")"), Some("error".into()));
    assert_eq!(failed("error", "all(error)"), None, "the sub-movement itself has this result");
}

// X-1
#[test]
fn a_provider_can_be_a_mapping_and_belong_to_the_whole_workflow() {
    let of = |own: &str, step: &str| {
        let workflow = Project::new(&workflow(own, step)).workflow();
        let turn = turn(&workflow, "m");
        (turn.provider.to_string(), turn.model.clone().unwrap_or_default())
    };
    let both = |provider: &str, model: &str| (provider.to_owned(), model.to_owned());
    assert_eq!(of("", "provider: {type: claude, model: opus}"), both("claude", "opus"));
    let config = "workflow_config: {provider: claude-sdk, model: sonnet}";
    assert_eq!(of(config, ""), both("claude", "sonnet"));
    assert_eq!(of(config, "model: opus"), both("claude", "opus"));
    assert_eq!(of(config, "provider: codex"), both("codex", ""));
    assert_eq!(
        Project::new(&workflow("", "provider: 3")).said(),
        "error piece/bad-type 5:15 `provider` must be text, not a whole number (write it in quotes: `\"3\"`)"
    );
}
