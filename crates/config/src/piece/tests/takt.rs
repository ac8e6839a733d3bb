//! Tests of the words that newer TAKT releases brought.

use super::{Project, VALUES, movement, render, turn, with_rule};

const RULES: &str = "rules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT}]";

fn prompt(project: &Project) -> String {
    render(&turn(&project.workflow(), "m").prompt, &VALUES)
}

// X-1, X-40: one note per kind of key, however many movements have it
#[test]
fn keys_without_effect_are_noted_once() {
    let movements: String = (0..3)
        .map(|number| {
            format!(
                "  - {{name: m{number}, tags: [a], provider_options: {{codex: {{network_access: true}}}}, rules: [{{condition: c, next: m0}}, {{condition: d, next: m1}}, {{condition: e, next: m2}}, {{condition: f, next: COMPLETE}}]}}\n"
            )
        })
        .collect();
    let loaded = Project::new(&format!(
        "name: t\ninteractive_mode: assistant\nmovements:\n{movements}  - {{name: n, companion: true, rules: [{{condition: c, next: m0}}]}}\n"
    ))
    .load();
    assert_eq!(
        loaded.notes.iter().filter(|note| note.contains("has no effect")).cloned().collect::<Vec<_>>(),
        [
            "`interactive_mode` has no effect: start with `saihai run NAME TASK`",
            "`tags` has no effect: choose the provider with `provider:` or in the settings (in 3 movements)",
            "`provider_options.codex.network_access` has no effect: the settings of the provider decide it (in 3 movements)",
            "`companion` has no effect: Saihai has no advisory agent; TAKT has it off by default (in `n`)",
        ]
    );
}

// X-1
#[test]
fn tools_come_from_the_movement_then_its_provider_options_then_the_piece() {
    let piece = "piece_config: {provider_options: {claude: {allowed_tools: [Glob]}}}\n";
    let tools = |lines: &str| {
        turn(&Project::new(&format!("{piece}{}", with_rule(lines))).workflow(), "m").tools.clone().unwrap()
    };
    assert_eq!(tools("edit: true"), ["Glob"]);
    assert_eq!(tools("provider_options: {claude: {allowed_tools: [Read]}}"), ["Read"]);
    assert_eq!(tools("allowed_tools: [Grep]\nprovider_options: {claude: {allowed_tools: [Read]}}"), ["Grep"]);
}

// X-1
#[test]
fn takt_names_of_providers_mean_ours() {
    for (theirs, ours) in [("mock", "script"), ("claude-sdk", "claude"), ("claude-terminal", "claude")] {
        let workflow = Project::new(&with_rule(&format!("provider: {theirs}"))).workflow();
        assert_eq!(turn(&workflow, "m").provider.as_str(), ours);
    }
}

// X-2
#[test]
fn facets_are_found_in_the_folders_of_older_releases() {
    let piece = with_rule("persona: smith");
    let project = Project::new(&piece).file("/p/.takt/personas/smith.md", "You forge.");
    assert!(prompt(&project).starts_with("You forge.\n"));
    let newer = project.file("/p/.takt/facets/personas/smith.md", "You forge better.");
    assert!(prompt(&newer).starts_with("You forge better.\n"));
}

// X-2
#[test]
fn a_bundled_facet_is_refused_with_the_way_to_copy_it() {
    assert_eq!(
        Project::new(&with_rule("persona: supervisor")).said(),
        "error piece/unknown-facet 4:14 no persona is named `supervisor` (TAKT bundles this persona, Saihai does not: copy it with `takt eject` into `.takt/facets/personas`)"
    );
    assert_eq!(
        Project::new(&with_rule("instruction: implement")).said(),
        "error piece/unknown-facet 4:18 no instruction is named `implement` (TAKT bundles this instruction, Saihai does not: copy it with `takt eject` into `.takt/facets/instructions`)"
    );
}

// X-3
#[test]
fn a_value_is_a_file_only_if_it_is_written_like_one_or_exists() {
    let text = Project::new(&with_rule("instruction: Fix the typos in README.md"));
    assert!(prompt(&text).contains("Fix the typos in README.md"));
    let named = Project::new(&with_rule("instruction: my notes.md"))
        .file("/p/.takt/pieces/my notes.md", "Read this.");
    assert!(prompt(&named).contains("Read this."));
    let role = Project::new(&with_rule("agent: You are a coder."));
    assert!(prompt(&role).starts_with("You are a coder.\n"));
    for missing in ["notes.md", "../my notes.md"] {
        let said = Project::new(&with_rule(&format!("instruction: {missing}"))).said();
        assert!(said.starts_with("error piece/missing-file 4:18"), "{said}");
    }
}

// X-9
#[test]
fn a_piece_that_mentions_the_report_directory_is_told_where_it_is() {
    let english = Project::new(&movement(&format!(
        "edit: false\ninstruction: Write into the Report Directory.\n{RULES}"
    )));
    assert!(prompt(&english).contains(
        "- Movement iteration: 1\n- Report Directory: /p/.takt/reports/r\n- Editing: disabled in this movement."
    ));
    let japanese = Project::new(&movement(&format!("instruction: レポートディレクトリに書くこと\n{RULES}")));
    assert!(prompt(&japanese).contains("1 回目\n- レポートディレクトリ: /p/.takt/reports/r\n"));
    let other = Project::new(&movement(&format!("edit: false\ninstruction: Work.\n{RULES}")));
    assert!(!prompt(&other).contains("/p/.takt/reports/r"));
    assert!(!prompt(&other).contains("Editing"));
}

// X-10
#[test]
fn texts_include_and_extend_others() {
    let project = Project::new(&with_rule("persona: child\ninstruction: 'A {{include:partials/deep/x}} B'"))
        .file("/p/.takt/facets/personas/child.md", "{extends:parent}\nI am the child.")
        .file("/p/.takt/personas/parent.md", "I am the parent.\n")
        .file("/p/.takt/facets/partials/deep/x.md", "one {{include:partials/y}}")
        .file("/p/.takt/facets/partials/y.md", "two {task}\n");
    let prompt = prompt(&project);
    assert!(prompt.starts_with("I am the parent.\nI am the child.\n"), "{prompt}");
    assert!(prompt.contains("A one two Fix the login B"), "{prompt}");
}

// X-10
#[test]
fn a_reference_without_a_text_and_an_endless_one_are_refused() {
    let said = |text: &str| {
        Project::new(&with_rule(&format!("instruction: '{text}'")))
            .file("/p/.takt/facets/partials/loop.md", "{{include:partials/loop}}")
            .said()
    };
    assert_eq!(
        said("x {{include:partials/none}}"),
        "error piece/missing-file 4:21 `{{include:partials/none}}` names no text (put `none.md` into `.takt/facets/partials` or `.takt/partials` or `~/.takt/facets/partials` or `~/.takt/partials`)"
    );
    assert!(said("{{include:../secrets}}").starts_with("error piece/missing-file"));
    assert!(said("{{include:partials/loop}}").contains("more than 5 levels deep"));
    assert_eq!(
        said("a {structured:plan.files}"),
        "error piece/not-supported 4:21 the variable `{structured:plan.files}` is not supported (Saihai has no value for it; write the text itself)"
    );
}

// X-21
#[test]
fn the_order_of_a_report_replaces_the_request() {
    let report =
        "report: {name: a.md, format: \"# A\\n## B\", order: Describe it for users., use_judge: true}";
    let prompt = prompt(&Project::new(&movement(&format!("{report}\n{RULES}"))));
    assert!(
        prompt.contains("## Report Output (required)\nDescribe it for users.\nEnclose the report in a ```markdown block.\n\nFile name: a.md\nFormat:\n# A\n## B"),
        "{prompt}"
    );
}

// X-22, X-23
#[test]
fn quality_gates_and_the_rules_of_all_steps_are_sections_of_the_prompt() {
    let piece = format!(
        "all_steps: {{rules: ../house.md}}\n{}",
        movement(&format!("quality_gates: [Tests pass, No warnings]\n{RULES}"))
    );
    let project = Project::new(&piece).file("/p/.takt/house.md", "Never touch vendor.\n");
    let prompt = prompt(&project);
    assert!(prompt.contains("\n\nNever touch vendor.\n\n"), "{prompt}");
    assert!(
        prompt.contains("## Quality Gates\nMeet all of these conditions before you finish.\n- Tests pass\n- No warnings\n\n---"),
        "{prompt}"
    );
}
