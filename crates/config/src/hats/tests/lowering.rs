//! Lowering of hats.

use saihai_model::{
    Activity, Alarm, Ending, Exit, GateMode, Monitor, Permission, ProviderKind, ProviderSettings,
    SessionPolicy, Target, Watch,
};

use super::{Project, RING, directives, hat, stage, turn};

// H-1
#[test]
fn every_hat_is_asked_of_the_same_provider_with_the_same_model_permission_and_tools() {
    let project = Project::new(&format!("backend: {{type: claude, model: opus}}\n{RING}"));
    let workflow = project.workflow();
    let asked = |id: &str| {
        let turn = turn(&workflow, id);
        (
            turn.provider.to_string(),
            turn.model.clone(),
            turn.permission,
            turn.tools.clone(),
            turn.session.clone(),
        )
    };
    for id in ["tester", "coder", "closer", "(base)"] {
        let expected = (
            "claude".to_owned(),
            Some("opus".to_owned()),
            Permission::Edit { commands: true },
            None,
            SessionPolicy::Fresh,
        );
        assert_eq!(asked(id), expected, "{id}");
    }
    let lowered = project.options(|options| options.max_permission = Some(Permission::ReadOnly)).workflow();
    assert!(lowered.stages.values().all(|stage| stage.turns()[0].permission == Permission::ReadOnly));
    let typed = Project::new(&format!("backend: claude\nmodel: opus\n{RING}"))
        .options(|options| options.model = Some("haiku".to_owned()));
    assert_eq!(turn(&typed.workflow(), "coder").model.as_deref(), Some("haiku"));
}

// H-2: from the command line, else the file, else the settings; never from a single hat.
#[test]
fn model_and_backend_are_those_of_everybody() {
    let asked = |file: &str, change: &dyn Fn(&mut crate::Options)| {
        let project = Project::new(&format!("{file}{RING}")).settings(|settings| {
            settings.provider = Some("codex".into());
            let mut codex = ProviderSettings::new(ProviderKind::Codex);
            codex.model = Some("set".to_owned());
            settings.providers.insert("codex".into(), codex);
        });
        let workflow = project.options(|options| change(options)).workflow();
        let all = workflow.stages.values().map(|stage| &stage.turns()[0]);
        let mut all: Vec<String> =
            all.map(|turn| format!("{} {}", turn.provider, turn.model.as_deref().unwrap_or("-"))).collect();
        all.dedup();
        all.join(", ")
    };
    let nothing = |_: &mut crate::Options| {};
    let provider = |options: &mut crate::Options| options.provider = Some("opencode".into());
    let model = |options: &mut crate::Options| options.model = Some("typed".to_owned());
    assert_eq!(asked("", &nothing), "codex set");
    assert_eq!(asked("model: written\n", &nothing), "codex written");
    assert_eq!(asked("backend: claude\n", &nothing), "claude -");
    assert_eq!(asked("backend: {type: claude, model: written}\n", &nothing), "claude written");
    assert_eq!(
        asked("backend: claude\nmodel: written\n", &provider),
        "opencode -",
        "it is no model of that one"
    );
    assert_eq!(asked("backend: claude\nmodel: written\n", &model), "claude typed");
    for key in ["model", "backend", "backend_args", "provider", "weight", "priority"] {
        let own = Project::new(&hat(&format!("{key}: x"))).load();
        assert!(own.workflow.is_none() && own.diagnostics.has_errors(), "{key}");
    }
}

#[test]
fn triggers_become_the_topic_table_in_the_order_they_are_searched() {
    let hats = "hats:\n  any: {name: A, triggers: [\"*\"], publishes: [LOOP_COMPLETE], instructions: x}\n  glob: {name: G, triggers: [\"build.*\", task.start], publishes: [LOOP_COMPLETE], instructions: x}\n  exact: {name: E, triggers: [build.done], publishes: [LOOP_COMPLETE], instructions: x}\n";
    let workflow = Project::new(hats).workflow();
    let topics = workflow.topics.as_ref().unwrap();
    let routes: Vec<String> =
        topics.routes.iter().map(|route| format!("{} → {}", route.pattern, route.to)).collect();
    assert_eq!(routes, ["task.start → glob", "build.done → exact", "build.* → glob", "* → any"]);
    assert_eq!((topics.start.as_str(), workflow.entry.as_str()), ("task.start", "glob"));
    assert_eq!(topics.otherwise.as_str(), "any");
    let fallback = |hats: &str| Project::new(hats).workflow().topics.unwrap().otherwise.to_string();
    assert_eq!(fallback(RING), "(base)");
    let default = "  default: {name: D, triggers: [], publishes: [code.written], instructions: x}\n";
    assert_eq!(fallback(&format!("{RING}{default}")), "default");
    let other = Project::new(&format!("starting_event: tests.failing\n{RING}")).workflow();
    assert_eq!((other.entry.as_str(), other.topics.unwrap().start.as_str()), ("coder", "tests.failing"));
}

#[test]
fn directives_know_the_topics_the_scope_and_the_closing_word() {
    let workflow = Project::new(&format!(
        "required_events: [tests.passing]\nenforce_hat_scope: true\ncompletion_keyword: DONE\n{}",
        RING.replace("LOOP_COMPLETE", "DONE")
    ))
    .workflow();
    let closer = directives(&workflow, "closer");
    assert_eq!(closer.declared, Some(vec!["code.written".into()]), "the word is no topic");
    assert_eq!(directives(&workflow, "(base)").declared, None, "the base prompt has no scope");
    assert!(closer.enforce);
    assert_eq!(closer.words.len(), 1);
    assert_eq!((closer.words[0].word.as_str(), &closer.words[0].then), ("DONE", &Target::Complete));
    assert_eq!(closer.words[0].requires, ["tests.passing".into()]);
    let quiet = |id: &str| directives(&workflow, id).words[0].quiet;
    assert!(
        quiet("tester") && !quiet("closer") && !quiet("(base)"),
        "it counts also for who is not told of it"
    );
    let known: Vec<&str> = closer.known.iter().map(saihai_model::Topic::as_str).collect();
    assert_eq!(known, ["task.start", "code.written", "tests.failing", "tests.passing"]);
}

#[test]
fn hats_are_watched_for_silence_and_sameness_and_a_loop_without_hats_is_not() {
    let hold = |word: &str| Alarm::Hold(word.into());
    let monitors = |hats: &str| Project::new(hats).workflow().monitors;
    let expected = [
        Monitor { watches: Watch::Silent { times: 5 }, then: hold("stalled") },
        Monitor { watches: Watch::Same { times: 3 }, then: hold("stale") },
    ];
    assert_eq!(monitors(&format!("stall_after: 5\n{RING}")), expected);
    assert_eq!(monitors("preset: simple"), []);
}

#[test]
fn an_exhausted_hat_is_replaced_by_the_hat_that_names_it() {
    let limit = |hats: &str| stage(&Project::new(hats).workflow(), "tester").visits.clone();
    assert_eq!(limit(RING), None);
    let bounded = |more: &str| limit(&format!("max_activations: 2\n{RING}{more}")).unwrap();
    assert_eq!((bounded("").max, bounded("").once_instead), (2, None));
    assert_eq!(bounded("").publishes, Some("tester.exhausted".into()));
    let taken = |trigger: &str| {
        bounded(&format!(
            "  rescue: {{name: R, triggers: [\"{trigger}\"], publishes: [LOOP_COMPLETE], instructions: x}}\n"
        ))
        .once_instead
    };
    assert_eq!(taken("tester.exhausted"), Some("rescue".into()));
    assert_eq!(taken("*.exhausted"), Some("rescue".into()));
    assert_eq!(taken("*"), None, "a lone `*` does not catch it");
}

#[test]
fn limits_come_from_the_command_line_the_file_or_the_default() {
    let usual = Project::new("hats: {}").workflow();
    assert_eq!(usual.limits.rounds, Some(100));
    assert_eq!((usual.retry.transient, usual.retry.crashed), (5, 5));
    let keys =
        "max_consecutive_failures: 7\nmax_runtime_seconds: 60\nmax_cost_usd: 1.5\nidle_timeout_secs: 9\n";
    let own = Project::new(&format!("{keys}{RING}")).workflow();
    assert_eq!((own.retry.transient, own.retry.crashed), (7, 7));
    assert_eq!(own.limits.runtime, Some(saihai_model::Millis::seconds(60)));
    assert_eq!(own.limits.budget.usd, saihai_model::Usd::from_dollars(1.5));
    assert_eq!(own.limits.silence, Some(saihai_model::Millis::seconds(9)));
    // H-20: the command line wins over the file.
    let typed = Project::new(&format!("{keys}{RING}")).options(|options| {
        options.run_timeout = Some(saihai_model::Millis::seconds(5));
        options.budget.usd = saihai_model::Usd::from_dollars(9.0);
        options.max_iterations = Some(3);
    });
    let limits = typed.workflow().limits;
    assert_eq!((limits.runtime, limits.rounds), (Some(saihai_model::Millis::seconds(5)), Some(3)));
    assert_eq!(limits.budget.usd, saihai_model::Usd::from_dollars(9.0));
}

fn gates(hats: &str) -> Vec<(String, GateMode)> {
    let workflow = Project::new(hats).workflow();
    let stages = workflow.stages.iter();
    let gates = stages.filter_map(|(id, stage)| match &stage.does {
        Activity::Gate(gate) => Some((id.to_string(), gate.mode)),
        Activity::Turns { .. } | Activity::Action(_) => None,
    });
    gates.collect()
}

// The gate before a pull request is part of work on an issue, and delivery inserts it.
#[test]
fn gates_ask_where_they_are_listed_or_where_auto_is_off() {
    let person = |ids: &[&str]| ids.iter().map(|id| ((*id).to_owned(), GateMode::Person)).collect::<Vec<_>>();
    assert_eq!(gates(RING), []);
    assert_eq!(gates(&format!("auto: false\n{RING}")), person(&["gate/pre-loop", "gate/post-completion"]));
    assert_eq!(
        gates(&format!("auto: false\ngates: {{pre_loop: false}}\n{RING}")),
        person(&["gate/post-completion"])
    );
    assert_eq!(gates(&format!("gates: [after_implementation]\n{RING}")), person(&["gate/post-completion"]));
    assert_eq!(
        gates(&format!("gates: {{tests.passing: true, before-pr: true}}\n{RING}")),
        person(&["gate/tests.passing"])
    );
    assert_eq!(gates("gates: {after_plan: true}\npreset: spec-driven"), person(&["gate/plan.ready"]));
    assert_eq!(gates(&format!("gates: {{after_plan: true}}\n{RING}")), person(&["gate/pre-loop"]));
    let auto = gates(&format!("auto: true\n{RING}"));
    assert_eq!(
        auto,
        [("gate/pre-loop".to_owned(), GateMode::Auto), ("gate/post-completion".to_owned(), GateMode::Auto)]
    );
}

// Answering no at any of them ends the run as declined.
#[test]
fn a_gate_stands_before_the_hat_that_takes_its_topic() {
    let workflow =
        Project::new(&format!("gates: [pre-loop, tests.passing, post-completion]\n{RING}")).workflow();
    let yes = |id: &str| match &stage(&workflow, id).exit {
        Exit::Rules { rules, otherwise, .. } => {
            assert_eq!(rules[1].then, Target::End(Ending::Declined));
            assert_eq!(*otherwise, Target::End(Ending::Declined));
            rules[0].then.clone()
        }
        Exit::Topics { .. } => panic!("a gate has rules"),
    };
    assert_eq!(workflow.entry.as_str(), "gate/pre-loop");
    assert_eq!(yes("gate/pre-loop"), Target::Stage("tester".into()));
    let topics = workflow.topics.as_ref().unwrap();
    let routes: Vec<&str> = topics.routes.iter().map(|route| route.to.as_str()).collect();
    assert_eq!(
        routes,
        ["tester", "tester", "coder", "gate/tests.passing", "closer"],
        "before whoever takes it"
    );
    assert_eq!(yes("gate/tests.passing"), Target::Stage("closer".into()));
    assert_eq!(workflow.afterwards, Some("gate/post-completion".into()));
    assert_eq!(yes("gate/post-completion"), Target::Complete);
}

// invariant 10 of the architecture
#[test]
fn every_stage_that_is_named_exists() {
    for hats in [
        RING,
        "preset: tdd\nauto: false",
        "preset: spec-driven\ngates: [plan.ready]",
        "{}",
        &hat("triggers: [\"*\"]"),
    ] {
        let workflow = Project::new(hats).workflow();
        let topics = workflow.topics.as_ref().unwrap();
        let named = topics.routes.iter().map(|route| &route.to).chain([&topics.otherwise, &workflow.entry]);
        for id in named {
            assert!(workflow.stages.contains_key(id), "{id} in {hats}");
        }
    }
}

// N-12: all hats have the same permission, so nothing says which of them reviews.
#[test]
fn hats_have_a_breaker_only_if_the_file_has_progress() {
    let breakers = |more: &str| Project::new(&format!("{more}\n{RING}")).workflow().breakers;
    assert_eq!(breakers(""), []);
    assert_eq!(breakers("progress: off"), []);
    let stages = ["tester", "coder", "closer", "(base)"].map(Into::into).to_vec();
    let expected = saihai_model::Breaker { still: Some(5), ..saihai_model::Breaker::usual(stages) };
    assert_eq!(breakers("progress: {still: 5}"), [expected]);
}
