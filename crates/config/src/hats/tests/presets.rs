//! What files stand on, and what is built in.

use super::{Project, directives, listed, places, stage};
use crate::definition::BuiltIn;
use crate::{Dialect, Language, MemorySource, Options, Settings, find, load};

const OWN: &str =
    "hats:\n  one: {name: O, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n";

fn built_in() -> Vec<&'static str> {
    BuiltIn::all().iter().filter(|one| one.dialect == Dialect::Hats).map(|one| one.name).collect()
}

fn ids(project: &Project) -> Vec<String> {
    project.workflow().stages.keys().map(ToString::to_string).collect()
}

// H-8, H-22
#[test]
fn the_built_in_hats_are_those_three() {
    assert_eq!(built_in(), ["simple", "tdd", "spec-driven"]);
    let of = |name: &str| ids(&Project::new(&format!("preset: {name}")));
    assert_eq!(of("simple"), ["(base)"]);
    assert_eq!(of("tdd"), ["tester", "implementer", "refactorer", "(base)"]);
    assert_eq!(of("spec-driven"), ["planner", "builder", "reviewer", "(base)"]);
}

// H-22, H-23, HC-41
#[test]
fn instructions_of_the_built_in_hats_say_literally_what_to_write() {
    for (name, language) in
        built_in().into_iter().flat_map(|name| [(name, Language::English), (name, Language::Japanese)])
    {
        let source = MemorySource::new([("/p/x", "")]);
        let definition = find(&source, &places(), &format!("hats:{name}")).unwrap();
        let mut settings = Settings::default();
        settings.language = language;
        let loaded = load(&source, &places(), &definition, &Options::default(), &settings);
        assert_eq!(listed(&loaded.diagnostics), "", "{name} deserves no warning");
        assert_eq!(loaded.language, language);
        let built_in = BuiltIn::named(name).unwrap().text(language);
        let document = super::super::read::read(
            &crate::Document::parse(
                built_in.as_bytes(),
                crate::Format::Yaml,
                "x",
                crate::Area::Hats,
                &mut crate::Diagnostics::new(),
            )
            .unwrap(),
            &mut crate::Diagnostics::new(),
        );
        let written = document.unwrap();
        assert_eq!(written.gates, super::super::written::Gates::default(), "none has gates");
        for hat in written.hats.values() {
            for topic in &hat.publishes {
                let keyword = topic.value == "LOOP_COMPLETE";
                let literal = if keyword { topic.value.clone() } else { format!("EVENT: {}", topic.value) };
                assert!(
                    hat.instructions.value.contains(&literal),
                    "{name}: {} never says {literal}",
                    hat.id.value
                );
            }
        }
    }
}

// H-20, HC-40
#[test]
fn a_hat_of_the_file_replaces_the_one_of_the_preset_whole_and_comes_first() {
    let hats = "preset: tdd\nmax_iterations: 40\nhats:\n  tester: {name: Mine, triggers: [task.start, code.written], publishes: [tests.failing, tests.passing], instructions: My own.}\n";
    let project = Project::new(hats);
    let workflow = project.workflow();
    assert_eq!(ids(&project), ["tester", "implementer", "refactorer", "(base)"]);
    assert_eq!(stage(&workflow, "tester").title, "Mine");
    assert!(!format!("{workflow:?}").contains("You are the tester"));
    assert_eq!(workflow.limits.rounds, Some(40), "the file wins over the preset");
    let typed = project.options(|options| options.max_iterations = Some(7));
    assert_eq!(typed.workflow().limits.rounds, Some(7), "the command line wins over the file");
    let first = Project::new(
        "preset: tdd\nhats:\n  zero: {name: Z, triggers: [tests.failing], publishes: [code.written], instructions: x}\n",
    );
    assert_eq!(ids(&first)[0], "zero");
    assert_eq!(
        first.workflow().topics.unwrap().routes[0].to.as_str(),
        "zero",
        "a user's hat wins a shared trigger"
    );
    assert!(Project::new("preset: tdd\nhats: {tester: null}").said().contains("hats/bad-type"));
}

// H-20
#[test]
fn lists_are_replaced_and_maps_are_merged() {
    let preset = "required_events: [plan.ready]\ngates: {plan.ready: true, pre-loop: true}\nhats:\n  planner: {name: P, triggers: [task.start], publishes: [plan.ready, LOOP_COMPLETE], instructions: x}\n";
    let project = |own: &str| Project::new(&format!("preset: own\n{own}")).file("presets/own.yml", preset);
    assert_eq!(ids(&project("")), ["planner", "(base)", "gate/plan.ready", "gate/pre-loop"]);
    assert_eq!(ids(&project("gates: {pre-loop: false}")), ["planner", "(base)", "gate/plan.ready"]);
    let required = |own: &str| directives(&project(own).workflow(), "planner").words[0].requires.len();
    assert_eq!((required(""), required("required_events: []")), (1, 0));
}

// H-21
#[test]
fn a_preset_of_the_project_wins_and_stands_on_nothing_else() {
    assert_eq!(ids(&Project::new("preset: tdd").file("presets/tdd.yaml", OWN)), ["one", "(base)"]);
    assert_eq!(ids(&Project::new("{}").file("presets/simple.yml", OWN)), ["one", "(base)"], "also unasked");
    let standing_on = |other: &str| {
        Project::new("preset: own").file("presets/own.yml", &format!("preset: {other}\n{OWN}")).said()
    };
    insta::assert_snapshot!(standing_on("tdd"), @"error hats/bad-value preset 1:9 the preset `own` cannot stand on another preset (copy what it needs of the other one)");
    assert_eq!(standing_on("own"), "");
    insta::assert_snapshot!(Project::new("preset: tddd").file("presets/mine.yml", OWN).said(), @"error hats/unknown-preset preset 1:9 no preset is named `tddd` (did you mean `tdd`? there is `simple`, `tdd`, `spec-driven` and `mine`)");
    let wrong = Project::new("preset: own").file("presets/own.yml", "hats: {a: {}}").said();
    assert!(wrong.contains("hats/missing-key"), "{wrong}");
    assert!(Project::new("preset: ../x").file("x.yml", OWN).said().contains("hats/unknown-preset"));
}

// DESIGN section 7
#[test]
fn a_built_in_preset_speaks_the_language_of_the_file() {
    let language = |hats: &str, settings: Language| {
        Project::new(hats).settings(|one| one.language = settings).load().language
    };
    assert_eq!(language("preset: tdd", Language::English), Language::English);
    assert_eq!(language("preset: tdd", Language::Japanese), Language::Japanese);
    assert_eq!(language("preset: tdd\nbase_prompt: これは", Language::English), Language::Japanese);
    assert_eq!(language("preset: tdd\nlanguage: en", Language::Japanese), Language::English);
    assert_eq!(language("hats: {}", Language::Japanese), Language::English, "by kana, whatever settings say");
}
