//! Realistic definitions, from text to rehearsal.

use insta::assert_snapshot;
use saihai_config::{
    Area, Definition, Diagnostics, Dialect, Document, Format, Language, MemorySource, Options, ProjectPaths,
    Settings, find, list, load, read_script,
};
use saihai_model::{Script, Workflow};

use crate::rehearse::tests::replay::again;
use crate::rehearse::tests::{path, rehearsed, tour};
use crate::rehearse::way_to_completion;
use saihai_config::script_file;

fn places() -> ProjectPaths {
    ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None }
}

/// Lowers a definition: a built-in one by its name, or a text.
fn lowered(name: &str, text: &str) -> Workflow {
    lowered_in(Language::English, name, text)
}

fn lowered_in(language: Language, name: &str, text: &str) -> Workflow {
    let source = MemorySource::new([("/p/own.yaml", text)]);
    let definition: Definition = find(&source, &places(), name).unwrap();
    let options = Options { provider: Some("script".into()), ..Options::default() };
    let mut settings = Settings::default();
    settings.language = language;
    let loaded = load(&source, &places(), &definition, &options, &settings);
    loaded.workflow.unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

// C-77, P-60: every rule of the built-in definition, including its monitor's judge.
#[test]
fn the_built_in_definition_is_rehearsed_whole() {
    assert_snapshot!(tour(&lowered("minimal", "")), @"
    plan:0 implement:0 review:1 fix:0 review:1 fix:0 review:1 (alarm 0) fix:monitor judge(review, fix):0 review:0 | completed: complete
    plan:1 | failed: abort
    plan:nomatch | failed: no_match
    plan:0 implement:1 | failed: abort
    plan:0 implement:nomatch | failed: no_match
    plan:0 implement:0 review:nomatch | failed: no_match
    plan:0 implement:0 review:1 fix:1 | failed: abort
    plan:0 implement:0 review:1 fix:nomatch | failed: no_match
    plan:0 implement:0 review:1 fix:0 review:1 fix:0 review:1 (alarm 0) fix:monitor judge(review, fix):1 | failed: abort
    plan:0 implement:0 review:1 fix:0 review:1 fix:0 review:1 (alarm 0) fix:monitor judge(review, fix):nomatch | failed: no_match
    ");
}

// C-77, P-60: no rule of any of them is dead, and each can complete.
#[test]
fn every_exit_of_every_built_in_definition_can_be_taken_in_both_languages() {
    let listed = list(&MemorySource::new([("/p/own.yaml", "")]), &places(), saihai_config::Language::English);
    // Review agents are not workflows.
    let workflows = listed.into_iter().filter(|listed| listed.definition.dialect != Dialect::Review);
    let names = workflows.map(|listed| listed.definition.name);
    for (name, language) in
        names.flat_map(|name| [(name.clone(), Language::English), (name, Language::Japanese)])
    {
        let rehearsal = rehearsed(&lowered_in(language, &name, ""));
        let untaken: Vec<String> = rehearsal.untaken.iter().map(ToString::to_string).collect();
        assert_eq!(untaken, [""; 0], "{name} in {language:?}");
        let ends: Vec<String> = rehearsal.ends().iter().map(|reached| reached.end.to_string()).collect();
        assert!(ends.iter().any(|end| end.starts_with("completed: ")), "{name} in {language:?}: {ends:?}");
        assert!(ends.iter().all(|end| !end.starts_with("parked")), "{name} in {language:?}: {ends:?}");
    }
}

const OWN: &str = r#"
name: own
max_iterations: 9
movements:
  - name: ask
    rules:
      - { condition: clear, next: reviewers }
      - { condition: unclear, next: reviewers, requires_user_input: true }
      - { condition: only at a terminal, next: ABORT, interactive_only: true }
  - name: reviewers
    parallel:
      - { name: security, rules: [{ condition: approved }, { condition: needs_fix }] }
      - { name: style, rules: [{ condition: approved }, { condition: needs_fix }] }
    rules:
      - { condition: 'all("approved")', next: COMPLETE }
      - { condition: 'any("needs_fix")', next: ask }
      - { condition: something else is wrong, next: ABORT }
"#;

#[test]
fn gates_aggregates_and_plain_conditions_are_rehearsed() {
    assert_snapshot!(tour(&lowered("./own.yaml", OWN)), @"
    ask:0 reviewers:1 ask:1 ask/input[1]:0 reviewers:0 | completed: complete
    ask:nomatch | failed: no_match
    ask:0 reviewers:2 | failed: abort
    ask:0 reviewers:nomatch | failed: no_match
    ");
}

/// Parses a script file for its workflow.
fn read_back(text: &str, workflow: &Workflow) -> Script {
    let mut diagnostics = Diagnostics::new();
    let document =
        Document::parse(text.as_bytes(), Format::Json, "walk.json", Area::Script, &mut diagnostics);
    let (script, more) = read_script(&document.unwrap(), Some(workflow));
    diagnostics.append(more);
    let mut script = script.unwrap_or_else(|| panic!("{diagnostics:?}"));
    script.replies.iter_mut().for_each(|reply| reply.origin = "generated".into());
    script
}

// C-77: a file from `--write-script` parses back into the same script.
#[test]
fn a_written_script_is_read_back_as_it_was() {
    let own = lowered("./own.yaml", OWN);
    let minimal = lowered("minimal", "");
    for workflow in [&own, &minimal] {
        for script in
            rehearsed(workflow).runs.into_iter().map(|run| run.script).chain([way_to_completion(workflow)])
        {
            assert_eq!(read_back(&script_file(&script), workflow), script);
        }
    }
}

// K-25: a shortest path to completion.
#[test]
fn the_way_to_completion_of_a_definition_is_short() {
    let stages = |workflow: &Workflow| {
        let replies = way_to_completion(workflow).replies;
        replies.iter().map(|reply| reply.target.as_ref().unwrap().stage.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(stages(&lowered("minimal", "")), ["plan", "implement", "review"]);
    assert_eq!(stages(&lowered("./own.yaml", OWN)), ["ask", "reviewers", "reviewers"]);
}

/// Returns the fenced blocks of the guide, by their language.
fn guide(language: &str) -> Vec<&'static str> {
    let text = include_str!("../../../../../docs/guides/rehearsing.md");
    let fence = format!("\n```{language}");
    // The words after the language say how the manual's tests use the block.
    let blocks = text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("\n```").next());
    blocks.filter_map(|block| block.split_once('\n')).map(|(_, block)| block).collect()
}

/// Returns the output of `saihai rehearse` for a definition.
fn printed(text: &str) -> String {
    let rehearsal = rehearsed(&lowered("./own.yaml", text));
    let mut lines = vec![match rehearsal.untaken.len() {
        0 => format!("{} runs, every exit taken", rehearsal.runs.len()),
        untaken => format!("{} runs, {untaken} exits never taken", rehearsal.runs.len()),
    }];
    for reached in rehearsal.ends() {
        lines.push(format!("  {:>3}  {}", reached.runs, reached.end));
        lines.push(format!(
            "       {}",
            reached.path.iter().map(|stage| stage.as_str()).collect::<Vec<_>>().join(" → ")
        ));
    }
    if !rehearsal.untaken.is_empty() {
        lines.push("never taken:".to_owned());
        lines.extend(rehearsal.untaken.iter().map(|one| format!("  {one}")));
    }
    lines.join("\n")
}

#[test]
fn the_guide_shows_what_its_definition_really_does() {
    let definition = guide("yaml")[0];
    let shown = guide("console");
    assert_eq!(shown[0], format!("$ saihai rehearse login\n{}", printed(definition)));
    let short = definition.replace("max_iterations: 8", "max_iterations: 2");
    assert_eq!(shown[1], format!("$ saihai rehearse login-short\n{}", printed(&short)));
}

#[test]
fn the_script_of_the_guide_plays_to_completion_and_is_used_up() {
    let workflow = lowered("./own.yaml", guide("yaml")[0]);
    let mut diagnostics = Diagnostics::new();
    let document = Document::parse(
        guide("yaml")[1].as_bytes(),
        Format::Yaml,
        "fix-once.yaml",
        Area::Script,
        &mut diagnostics,
    );
    let (script, _) = read_script(&document.unwrap(), Some(&workflow));
    let mut run = rehearsed(&workflow).runs.remove(0);
    run.script = script.unwrap();
    let (decisions, left) = again(&workflow, 0, &run);
    assert_eq!(path(&decisions), "plan:0 implement:0 reviewers:1 implement:0 reviewers:0");
    assert_eq!(left, 0);
}
