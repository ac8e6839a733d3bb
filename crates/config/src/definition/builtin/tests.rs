//! Built-in definitions have no findings, and mean the same in both languages.

use indexmap::IndexSet;
use saihai_model::{
    Choice, Exit, Label, Method, Prompt, PromptPart, RuleCondition, Stage, Turn, Variable, Workflow,
};

use super::BuiltInDefinition;
use crate::{Dialect, Language, LoadedDefinition, MemorySource, Options, ProjectPaths, Settings, find, load};

const LANGUAGES: [Language; 2] = [Language::English, Language::Japanese];

fn loaded(name: &str, language: Language) -> LoadedDefinition {
    let source = MemorySource::new([("/p/README.md", "")]);
    let places = ProjectPaths { current: "/p".into(), root: "/p".into(), user: None, home: None };
    let definition = find(&source, &places, name).unwrap();
    let mut settings = Settings::default();
    settings.language = language;
    load(&source, &places, &definition, &Options::default(), &settings)
}

fn lowered(name: &str, language: Language) -> Workflow {
    loaded(name, language).workflow.unwrap_or_else(|| panic!("{name} has errors"))
}

// P-2, K-11: they need no other file, and cause no error, warning or note
#[test]
fn nothing_is_to_be_said_against_what_is_built_in() {
    for built_in in BuiltInDefinition::all() {
        for language in LANGUAGES {
            let loaded = loaded(built_in.name, language);
            let said: Vec<_> = loaded.diagnostics.iter().collect();
            assert!(said.is_empty(), "{} in {language:?}: {said:?}", built_in.name);
            assert_eq!(loaded.language, language);
            assert!(loaded.description.is_some(), "{} is described", built_in.name);
            assert_eq!(loaded.workflow.unwrap().name, built_in.name);
        }
    }
}

/// Formats the parts of a workflow that no language may change, one line each. It numbers labels, and keeps
/// only the values of prompts.
fn shape(workflow: &Workflow) -> String {
    let mut lines = vec![format!("from {} within {:?}", workflow.entry, workflow.limits)];
    for (id, stage) in &workflow.stages {
        lines.push(format!("{id}{}", if stage.aside { " (aside)" } else { "" }));
        lines.extend(stage.turns().iter().map(|turn| format!("  {}", turn_shape(turn))));
        lines.extend(exit_shape(stage).into_iter().map(|line| format!("  {line}")));
    }
    lines.extend(workflow.monitors.iter().map(|monitor| format!("{monitor:?}")));
    lines.extend(workflow.topics.iter().map(|topics| format!("{topics:?}")));
    lines.join("\n")
}

fn turn_shape(turn: &Turn) -> String {
    let reports: Vec<&str> = turn.reads.reports.iter().map(|report| report.file.as_str()).collect();
    let (role, permission) = (turn.role.as_deref().unwrap_or_default(), turn.permission.name());
    let (id, session, values) = (&turn.id, &turn.session, values(&turn.prompt));
    format!("{id} as {role}, {permission}, {session:?}, writes {reports:?}, shows {values:?}")
}

fn values(prompt: &Prompt) -> Vec<String> {
    let parts = prompt.sections.iter().flat_map(|section| &section.body);
    parts
        .filter_map(|part| match part {
            // A review agent gets the description of changes in its own language.
            PromptPart::Value(Variable::Changes(_), _) => Some("Changes".to_owned()),
            PromptPart::Value(variable, _) => Some(format!("{variable:?}")),
            PromptPart::Fixed(_) => None,
        })
        .collect()
}

fn exit_shape(stage: &Stage) -> Vec<String> {
    let Exit::Rules { rules, otherwise, .. } = &stage.exit else { return topics_shape(stage) };
    let options = stage.turns().iter().flat_map(|turn| &turn.reads.choice).flat_map(|choice| &choice.options);
    let labels: IndexSet<&Label> = options.map(|offer| &offer.label).collect();
    let number = |label: &Label| labels.get_index_of(label);
    let condition = |when: &RuleCondition| match when {
        RuleCondition::Always => "always".to_owned(),
        RuleCondition::Is(label) => format!("is {:?}", number(label)),
        RuleCondition::Answered(label) => format!("answered {:?}", number(label)),
        RuleCondition::All(labels) => format!("all {:?}", labels.iter().map(number).collect::<Vec<_>>()),
        RuleCondition::Any(labels) => format!("any {:?}", labels.iter().map(number).collect::<Vec<_>>()),
        RuleCondition::Stalled(_) => when.stalled_text(),
    };
    let mut lines: Vec<String> =
        rules.iter().map(|rule| format!("{} -> {:?}", condition(&rule.when), rule.then)).collect();
    lines.push(format!("otherwise -> {otherwise:?}"));
    lines
}

/// H-22: equal ids and topics.
fn topics_shape(stage: &Stage) -> Vec<String> {
    let directives = stage.turns().iter().filter_map(|turn| turn.reads.directives.as_ref());
    directives.map(|directives| format!("{directives:?}")).collect()
}

#[test]
fn both_languages_of_what_is_built_in_have_one_shape() {
    for built_in in BuiltInDefinition::all() {
        let [english, japanese] = LANGUAGES.map(|language| lowered(built_in.name, language));
        assert_eq!(shape(&english), shape(&japanese), "{}", built_in.name);
    }
}

/// Returns the conditions that agents choose from.
fn conditions(workflow: &Workflow) -> Vec<String> {
    let turns = workflow.stages.values().flat_map(Stage::turns);
    let chosen = |choice: &&Choice| !matches!(choice.found_by.as_slice(), [Method::Findings(_)]);
    let choices = turns.flat_map(|turn| &turn.reads.choice).filter(chosen);
    let offers = choices.flat_map(|choice| &choice.options);
    offers.map(|offer| offer.label.to_string()).collect()
}

// The answers of a step's check belong to the format, not to a language.
#[test]
fn every_condition_is_in_its_own_language() {
    for built_in in BuiltInDefinition::all().iter().filter(|one| one.dialect != Dialect::Steps) {
        for condition in conditions(&lowered(built_in.name, Language::English)) {
            assert!(condition.is_ascii(), "{}: {condition}", built_in.name);
        }
        for condition in conditions(&lowered(built_in.name, Language::Japanese)) {
            let kana = |letter: char| ('\u{3040}'..='\u{30ff}').contains(&letter);
            assert!(condition.contains(kana), "{}: {condition}", built_in.name);
        }
    }
}

// Only movements that must change files have permission to do so.
#[test]
fn reviews_and_research_can_only_look() {
    for name in ["review", "research", "reviewer"] {
        let workflow = lowered(name, Language::English);
        let turns = workflow.stages.values().flat_map(Stage::turns);
        let permissions: IndexSet<&str> = turns.map(|turn| turn.permission.name()).collect();
        assert_eq!(permissions, IndexSet::from(["readonly"]), "{name}");
    }
}

// T-105
#[test]
fn prompts_of_what_is_built_in_are_lean() {
    for built_in in BuiltInDefinition::all() {
        for language in LANGUAGES {
            for (stage, turn, tokens) in loaded(built_in.name, language).added_tokens {
                assert!(tokens <= 400, "{} in {language:?}, {stage}/{turn}: {tokens}", built_in.name);
            }
        }
    }
}

// N-12
#[test]
fn built_in_cycles_between_an_editing_and_a_reviewing_stage_have_a_breaker() {
    let broken = |built_in: &BuiltInDefinition| {
        let breakers = lowered(built_in.name, Language::English).breakers;
        let cycles =
            breakers.iter().map(|breaker| breaker.stages.iter().map(|id| id.as_str()).collect::<Vec<_>>());
        (!breakers.is_empty()).then(|| format!("{}: {:?}", built_in.name, cycles.collect::<Vec<_>>()))
    };
    let found: Vec<String> = BuiltInDefinition::all().iter().filter_map(broken).collect();
    insta::assert_snapshot!(found.join("\n"), @r#"
    default: [["plan", "implement"], ["review", "fix", "supervise"]]
    minimal: [["review", "fix"]]
    test-first: [["write-tests", "implement", "review"]]
    debug: [["diagnose", "fix", "verify"]]
    review-fix: [["review", "fix"]]
    specialists: [["review", "fix"]]
    docs: [["review", "revise"]]
    iterator: [["understand", "work", "verify"]]
    "#);
}
