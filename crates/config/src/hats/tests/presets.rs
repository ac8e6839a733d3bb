//! Presets, own and built in.

use super::{Project, directives, listed, places, stage};
use crate::definition::BuiltInDefinition;
use crate::{Dialect, Language, MemorySource, Options, Settings, find, load};

const OWN: &str =
    "hats:\n  one: {name: O, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n";

fn built_in() -> Vec<&'static str> {
    BuiltInDefinition::all().iter().filter(|one| one.dialect == Dialect::Hats).map(|one| one.name).collect()
}

fn ids(project: &Project) -> Vec<String> {
    project.workflow().stages.keys().map(ToString::to_string).collect()
}

/// Returns the hats of a preset, with id, triggers and published topics.
fn table(name: &str, language: Language) -> Vec<String> {
    let text = BuiltInDefinition::named(name).unwrap().text(language);
    let mut diagnostics = crate::Diagnostics::new();
    let document = crate::Document::parse(
        text.as_bytes(),
        crate::Format::Yaml,
        "x",
        crate::Area::Hats,
        &mut diagnostics,
    );
    let written = super::super::read::read(&document.unwrap(), &mut diagnostics).unwrap();
    let topics = |all: &[crate::Located<String>]| {
        all.iter().map(|topic| topic.value.as_str()).collect::<Vec<_>>().join(", ")
    };
    let hats = written.hats.values();
    hats.map(|hat| format!("{}({} → {})", hat.id.value, topics(&hat.triggers), topics(&hat.publishes)))
        .collect()
}

// H-22
#[test]
fn the_built_in_hats_have_these_ids_and_topics_in_both_languages_and_no_gates() {
    let tdd = [
        "tester(task.start, code.written → tests.failing, tests.passing)",
        "implementer(tests.failing → code.written)",
        "refactorer(tests.passing → code.written, LOOP_COMPLETE)",
    ];
    let spec_driven = [
        "planner(task.start → plan.ready)",
        "builder(plan.ready, review.revise → build.done)",
        "reviewer(build.done → review.revise, LOOP_COMPLETE)",
    ];
    for language in [Language::English, Language::Japanese] {
        assert_eq!(table("simple", language), [""; 0]);
        assert_eq!(table("tdd", language), tdd);
        assert_eq!(table("spec-driven", language), spec_driven);
        let other = if language == Language::English { Language::Japanese } else { Language::English };
        let texts = |language| BuiltInDefinition::named("tdd").unwrap().text(language);
        assert_ne!(texts(language), texts(other), "each is written in its own language");
        for name in built_in() {
            let project = Project::new(&format!("preset: {name}"));
            let workflow = project.settings(|settings| settings.language = language).workflow();
            assert!(workflow.stages.values().all(|stage| stage.turns().len() == 1), "{name} has no gates");
        }
    }
}

#[test]
fn the_built_in_hats_are_those_three() {
    assert_eq!(built_in(), ["simple", "tdd", "spec-driven"]);
    let of = |name: &str| ids(&Project::new(&format!("preset: {name}")));
    assert_eq!(of("simple"), ["(base)"]);
    assert_eq!(of("tdd"), ["tester", "implementer", "refactorer", "(base)"]);
    assert_eq!(of("spec-driven"), ["planner", "builder", "reviewer", "(base)"]);
}

// H-23, HC-41
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
        let built_in = BuiltInDefinition::named(name).unwrap().text(language);
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
        assert_eq!(written.gates, super::super::model::HatGates::default(), "none has gates");
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

// HC-40
#[test]
fn a_hat_of_the_file_replaces_the_one_of_the_preset_whole_and_comes_first() {
    let hats = "preset: tdd\nhats:\n  tester: {name: Mine, triggers: [task.start, code.written], publishes: [tests.failing, tests.passing], instructions: My own.}\n";
    let project = Project::new(hats);
    let workflow = project.workflow();
    assert_eq!(ids(&project), ["tester", "implementer", "refactorer", "(base)"]);
    assert_eq!(stage(&workflow, "tester").title, "Mine");
    let built_in = BuiltInDefinition::named("tdd").unwrap().text(Language::English);
    let theirs = built_in.lines().map(str::trim).find(|line| line.contains("tests.failing if"));
    assert!(!format!("{workflow:?}").contains(theirs.unwrap_or("Write")), "nothing of theirs is left");
    let limited = |own: &str, typed: Option<u32>| {
        let project =
            Project::new(&format!("preset: own\n{own}")).file("presets/own.yml", "max_iterations: 9\n");
        project.options(|options| options.max_iterations = typed).workflow().limits.rounds
    };
    assert_eq!(limited("", None), Some(9), "the preset wins over the default");
    assert_eq!(limited("max_iterations: 40\n", None), Some(40), "the file wins over the preset");
    assert_eq!(limited("max_iterations: 40\n", Some(7)), Some(7), "the command line wins over the file");
}

// H-20
#[test]
fn lists_and_scalars_are_replaced_maps_are_merged_and_hats_of_the_file_come_first() {
    let preset = "model: theirs\nbase_prompt: Theirs.\nrequired_events: [plan.ready]\ngates: {plan.ready: true, pre-loop: true}\nworktree: {base_dir: theirs, copy_files: [a]}\nhats:\n  planner: {name: P, triggers: [task.start], publishes: [plan.ready, LOOP_COMPLETE], instructions: x}\n";
    let on = |preset: &str, own: &str| {
        Project::new(&format!("preset: own\n{own}")).file("presets/own.yml", preset)
    };
    let project = |own: &str| on(preset, own);
    assert_eq!(ids(&project("")), ["planner", "(base)", "gate/plan.ready", "gate/pre-loop"]);
    // A map merges by gate, under any of its names; a list replaces.
    for own in ["gates: {pre-loop: false}", "gates: {pre_loop: false}"] {
        assert_eq!(ids(&project(own)), ["planner", "(base)", "gate/plan.ready"], "{own}");
    }
    assert_eq!(ids(&project("gates: {after_plan: false}")), ["planner", "(base)", "gate/pre-loop"]);
    assert_eq!(ids(&project("gates: [post-completion]")), ["planner", "(base)", "gate/post-completion"]);
    let listed = preset.replace("{plan.ready: true, pre-loop: true}", "[plan.ready]");
    assert_eq!(ids(&on(&listed, "")), ["planner", "(base)", "gate/plan.ready"]);
    assert_eq!(ids(&on(&listed, "gates: {pre-loop: true}")), ["planner", "(base)", "gate/pre-loop"]);
    let aliases = preset.replace("pre-loop: true", "after_implementation: true");
    assert_eq!(
        ids(&on(&aliases, "gates: {post-completion: false}")),
        ["planner", "(base)", "gate/plan.ready"]
    );
    assert_eq!(
        project("gates: {pre_loop: true, pre-loop: false}").said().lines().count(),
        1,
        "within one file they must agree"
    );
    let wishes = project("worktree: {base_dir: mine}").load().wishes;
    assert_eq!(
        (wishes.worktree_root.as_deref(), wishes.copy_files),
        (Some("mine"), Some(vec!["a".to_owned()]))
    );
    let required = |own: &str| directives(&project(own).workflow(), "planner").words[0].requires.len();
    assert_eq!((required(""), required("required_events: []")), (1, 0));
    let said = |own: &str| {
        let workflow = project(own).workflow();
        let turn = super::turn(&workflow, "planner");
        (turn.model.clone().unwrap(), format!("{:?}", turn.prompt).contains("Theirs."))
    };
    assert_eq!(said(""), ("theirs".to_owned(), true));
    assert_eq!(said("model: mine\nbase_prompt: Mine."), ("mine".to_owned(), false));
    let typed = project("model: mine").options(|options| options.model = Some("typed".to_owned()));
    assert_eq!(super::turn(&typed.workflow(), "planner").model.as_deref(), Some("typed"));
    let first = project(
        "hats:\n  zero: {name: Z, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n",
    );
    assert_eq!(ids(&first)[..2], ["zero", "planner"]);
    assert_eq!(first.workflow().topics.unwrap().routes[0].to.as_str(), "zero", "it wins a shared trigger");
    let whole = project(
        "hats:\n  planner: {name: Mine, triggers: [task.start], publishes: [plan.ready], instructions: y}\n",
    );
    assert_eq!(
        directives(&whole.workflow(), "planner").declared.as_ref().unwrap().len(),
        1,
        "nothing is mixed"
    );
    assert!(project("hats: {planner: null}").said().contains("hats/bad-type"));
}

// H-21
#[test]
fn a_preset_of_the_project_wins_and_stands_on_nothing_else() {
    assert_eq!(ids(&Project::new("preset: tdd").file("presets/tdd.yaml", OWN)), ["one", "(base)"]);
    assert_eq!(ids(&Project::new("{}").file("presets/simple.yml", OWN)), ["one", "(base)"], "also unasked");
    let standing_on = |other: &str| {
        Project::new("preset: own").file("presets/own.yml", &format!("preset: {other}\n{OWN}")).said()
    };
    insta::assert_snapshot!(standing_on("tdd"), @"error hats/bad-value preset 1:9 the preset `own` cannot extend another preset (copy the parts it needs from the other preset)");
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

// H-20: a value in the file wins, even an empty one.
#[test]
fn an_empty_base_prompt_and_a_no_replace_those_of_the_preset() {
    let preset = "base_prompt: Theirs.\ncreate_pr: true\nhats:\n  one: {name: O, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: 'ralph emit x'}\n";
    let on = |own: &str| Project::new(&format!("preset: p\n{own}")).file("presets/p.yml", preset);
    let prompt = |project: &Project| format!("{:?}", super::turn(&project.workflow(), "one").prompt);
    let below = prompt(&on(""));
    assert!(below.contains("Theirs.") && below.contains("`ralph emit TOPIC TEXT`"), "{below}");
    assert!(!prompt(&on("base_prompt: ''\n")).contains("Theirs."));
    assert_eq!(on("").load().notes.len(), 1, "`create_pr` is not done by `run`");
    assert_eq!(on("create_pr: false\n").load().notes, [""; 0]);
    // H-69: the prompt does not mention a replaced hat.
    assert!(!prompt(&on(OWN)).contains("ralph emit"));
}

// H-20: each key of the file wins over the preset.
#[test]
fn every_key_of_the_file_wins() {
    let preset = "backend: codex\nmodel: theirs\ncompletion_keyword: THEIRS\nstarting_event: their.start\nenforce_hat_scope: true\nstall_after: 9\nmax_activations: 9\nmax_consecutive_failures: 9\nidle_timeout_secs: 9\nmax_runtime_seconds: 9\nmax_cost_usd: 9\nmax_iterations: 9\nauto: true\nlanguage: ja\nlabels: {enabled: true, prefix: theirs}\ndependency: {resolve: true}\n";
    let own = "backend: claude\nmodel: own\ncompletion_keyword: OWN\nstarting_event: own.start\nenforce_hat_scope: false\nstall_after: 1\nmax_activations: 1\nmax_consecutive_failures: 1\nidle_timeout_secs: 1\nmax_runtime_seconds: 1\nmax_cost_usd: 1\nmax_iterations: 1\nauto: false\nlanguage: en\nlabels: {enabled: false, prefix: own}\ndependency: {resolve: false}\n";
    let hats = "hats:\n  one: {name: O, triggers: [own.start, their.start], publishes: [LOOP_COMPLETE, x], instructions: i}\n";
    let alone = Project::new(&format!("{own}{hats}")).load();
    let over = Project::new(&format!("preset: p\n{own}{hats}")).file("presets/p.yml", preset).load();
    assert_eq!((over.workflow, over.wishes, over.language), (alone.workflow, alone.wishes, alone.language));
    let below = Project::new(&format!("preset: p\n{hats}")).file("presets/p.yml", preset).load();
    let there = Project::new(&format!("{preset}{hats}")).load();
    assert_eq!(
        (below.workflow, below.wishes, below.language),
        (there.workflow, there.wishes, there.language)
    );
}
