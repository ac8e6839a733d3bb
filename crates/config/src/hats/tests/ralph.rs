//! Files of ralph (section 7 of the dialect).

use saihai_model::{Ending, Exit, Millis, OwnProtocol, OwnProvider, ProviderKind, ProviderSettings, Target};

use super::{Project, directives, listed, places, stage, turn};
use crate::{MemorySource, find};

const HAT: &str =
    "hats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n";

fn check(collection: &str, expected: &[&str]) {
    let said = Project::named("ralph.yml", collection).said();
    let short = |line: &str| line.split(' ').take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(said.lines().map(short).collect::<Vec<_>>(), expected, "{collection}\n{said}");
}

// H-65
#[test]
fn a_collection_is_known_by_its_name_or_its_keys_and_needs_less_than_orch() {
    let bare = "hats:\n  z: {name: Z, triggers: [task.start, task.resume], publishes: [b.c]}\n  a: {name: A, triggers: [b.c], publishes: [LOOP_COMPLETE]}\n";
    check(bare, &[]);
    let ids =
        |project: &Project| project.workflow().stages.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(ids(&Project::named("ralph.yml", bare)), ["z", "a", "(base)"], "in the order of the file");
    assert_eq!(ids(&Project::new(&format!("event_loop: {{}}\n{bare}"))), ["z", "a", "(base)"]);
    assert!(Project::new(bare).said().contains("hats/missing-key"), "orch.yml needs instructions");
}

// The tests of finding definitions cover which files are hats.
#[test]
fn a_file_with_one_key_of_ralph_is_read_by_its_rules_and_any_other_by_those_of_orch() {
    let bare = "hats:\n  a: {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE]}\n";
    for key in ["event_loop: {}", "cli: {}", "core: {}"] {
        for file in ["orch.yml", "orch.yaml", ".orch.yml", "mine.yml"] {
            assert_eq!(Project::named(file, &format!("{key}\n{bare}")).said(), "", "{file} with {key}");
        }
    }
    assert!(Project::named("mine.yml", bare).said().contains("hats/missing-key"), "a hat of orch needs more");
    assert_eq!(Project::named("ralph.yml", bare).said(), "", "its name is enough");
    let orch = format!("max_iterations: 3\n{HAT}");
    assert_eq!(Project::named("mine.yml", &orch).said(), "");
    assert!(Project::named("ralph.yml", &orch).said().contains("`event_loop: {max_iterations: …}`"));
}

// H-66
#[test]
fn keys_of_the_event_loop_are_those_of_orch() {
    let keys = "event_loop: {completion_promise: DONE, cancellation_promise: STOP, max_iterations: 7, starting_event: go, required_events: [x.y], max_runtime_seconds: 60, max_cost_usd: 2, max_consecutive_failures: 3, enforce_hat_scope: true, idle_timeout_secs: 9, prompt: Do it.}\n";
    let hats = "hats:\n  a: {name: A, description: Does it., triggers: [go], publishes: [DONE], instructions: Work., extra_instructions: [More., Even more.], timeout: 30, max_activations: 4}\n";
    let project =
        Project::named("ralph.yml", &format!("{keys}core: {{guardrails: [Be careful., Test it.]}}\n{hats}"));
    let loaded = project.load();
    assert_eq!(listed(&loaded.diagnostics), "");
    assert_eq!(loaded.task.as_deref(), Some("Do it."));
    let workflow = loaded.workflow.unwrap();
    assert_eq!(
        (workflow.limits.rounds, workflow.limits.runtime, workflow.limits.silence),
        (Some(7), Some(Millis::seconds(60)), Some(Millis::seconds(9)))
    );
    assert_eq!((workflow.retry.transient, workflow.retry.crashed, workflow.retry.together), (3, 3, true));
    assert_eq!(workflow.limits.budget.usd, saihai_model::Usd::from_dollars(2.0));
    assert_eq!(workflow.entry.as_str(), "a");
    let said = directives(&workflow, "a");
    assert!(said.enforce);
    assert_eq!((said.words[0].word.as_str(), said.words[0].requires.len()), ("DONE", 1));
    assert_eq!((said.words[1].word.as_str(), &said.words[1].then), ("STOP", &Target::End(Ending::Cancelled)));
    let stage = stage(&workflow, "a");
    assert_eq!(stage.description.as_deref(), Some("Does it."));
    assert_eq!(stage.visits.as_ref().unwrap().max, 4);
    assert_eq!(turn(&workflow, "a").timeout, Some(Millis::seconds(30)));
    let prompt = format!("{:?}", turn(&workflow, "a").prompt);
    assert!(prompt.contains("- Be careful.\\n- Test it.\\n\\n"), "{prompt}");
    assert!(prompt.contains("Work.\\n\\nMore.\\n\\nEven more."), "{prompt}");
}

// H-66
#[test]
fn the_task_stands_in_the_file_or_in_another_and_not_in_both() {
    let project = |keys: &str| Project::named("ralph.yml", &format!("event_loop: {{{keys}}}\n{HAT}"));
    let file = project("prompt_file: PROMPT.md").file("PROMPT.md", "Sort.\n");
    assert_eq!(file.load().task.as_deref(), Some("Sort.\n"));
    check(
        &format!("event_loop: {{prompt: a, prompt_file: b}}\n{HAT}"),
        &["error hats/alias-conflict event_loop.prompt_file"],
    );
    check(
        &format!("event_loop: {{prompt_file: b}}\n{HAT}"),
        &["warning hats/missing-file event_loop.prompt_file"],
    );
}

// H-66
#[test]
fn what_is_said_about_topics_reaches_the_prompts() {
    let events = "events:\n  b.c: {description: it is built, on_publish: say what, on_trigger: look first}\nhats:\n  a: {name: A, triggers: [task.start], publishes: [b.c]}\n  b: {name: B, triggers: [b.c], publishes: [LOOP_COMPLETE]}\n";
    let workflow = Project::named("ralph.yml", events).workflow();
    let prompt = |id: &str| format!("{:?}", turn(&workflow, id).prompt);
    assert!(prompt("a").contains("- `b.c`: it is built\\n- `b.c`: say what"), "{}", prompt("a"));
    assert!(prompt("b").contains("- `b.c`: look first"), "{}", prompt("b"));
    assert!(!prompt("a").contains("look first"));
}

#[test]
fn a_default_topic_is_published_by_the_engine() {
    let hats = |topic: &str| {
        format!(
            "hats:\n  a: {{name: A, triggers: [task.start, a.done], publishes: [a.done], default_publishes: {topic}}}\nevent_loop: {{}}\n"
        )
    };
    let workflow = Project::new(&hats("a.done")).workflow();
    let Exit::Topics { default, .. } = &stage(&workflow, "a").exit else { panic!("hats leave by topics") };
    assert_eq!(default.as_ref().unwrap().as_str(), "a.done");
    // Issue 25: the promise may be the default; the engine then completes the run.
    let workflow = Project::new(&hats("LOOP_COMPLETE")).workflow();
    let Exit::Topics { default, .. } = &stage(&workflow, "a").exit else { panic!("hats leave by topics") };
    assert_eq!(default.as_ref().unwrap().as_str(), "LOOP_COMPLETE");
}

// Issue 25
#[test]
fn a_hat_of_ralph_may_name_its_provider() {
    let file = "hats:\n  a: {name: A, triggers: [task.start], publishes: [b.go], backend: codex}\n  \
                b: {name: B, triggers: [b.go], backend: {type: gemini}}\n  \
                c: {name: C, triggers: [c.go], publishes: [LOOP_COMPLETE]}\ncli: {backend: claude}\n";
    let workflow = Project::named("ralph.yml", file).workflow();
    let provider = |id: &str| stage(&workflow, id).turns()[0].provider.as_str().to_owned();
    assert_eq!(["a", "b", "c"].map(provider), ["codex", "gemini", "claude"]);
    let refused = file.replace("{type: gemini}", "{type: gemini, args: [x]}");
    assert!(
        Project::named("ralph.yml", &refused)
            .said()
            .starts_with("error hats/not-supported hats.b.backend.args")
    );
}

// Issue 25
#[test]
fn private_keys_hold_anchors() {
    let file = "_common: &common Build it.\nx-topics: &topics [task.start]\n\
                hats:\n  a: {name: A, triggers: *topics, publishes: [LOOP_COMPLETE], instructions: *common}\ncore: {}\n";
    assert_eq!(Project::named("ralph.yml", file).said(), "");
    assert_eq!(Project::new(&file.replace("core: {}\n", "")).said(), "");
}

/// Returns the first line of the diagnostics of `check` and of `run`.
fn backend(cli: &str) -> (String, String) {
    let project = || Project::named("ralph.yml", &format!("cli: {{{cli}}}\n{HAT}"));
    (project().said(), project().options(|options| options.starts = true).said())
}

// H-68: by name, by protocol, by a command, by the settings, or not at all
#[test]
fn a_backend_is_a_provider_or_a_program_or_left_to_the_settings_or_refused() {
    let workflow = |cli: &str| {
        let project = Project::named("ralph.yml", &format!("cli: {{{cli}}}\n{HAT}"));
        project.options(|options| options.starts = true).workflow()
    };
    for name in ["claude", "codex", "opencode", "gemini", "copilot"] {
        let workflow = workflow(&format!("backend: {name}"));
        assert_eq!((turn(&workflow, "a").provider.as_str(), &workflow.provider), (name, &None));
    }
    let own = |cli: &str| {
        let workflow = workflow(cli);
        let own = workflow.provider.clone().expect("it is described");
        assert_eq!(turn(&workflow, "a").provider, own.name, "whoever is described is asked");
        own
    };
    let described = |name: &str, speaks: OwnProtocol, argv: &[&str], written: Option<&str>| OwnProvider {
        name: name.into(),
        speaks,
        argv: argv.iter().map(|word| (*word).to_owned()).collect(),
        written: written.map(str::to_owned),
    };
    let acp = described("kiro-acp", OwnProtocol::Acp, &["kiro-cli", "acp"], None);
    assert_eq!(own("backend: kiro-acp"), acp);
    let custom = |speaks, argv: &[&str]| described("custom", speaks, argv, Some("/p/ralph.yml"));
    assert_eq!(own("backend: custom, command: mine"), custom(OwnProtocol::Argument, &["mine"]));
    assert_eq!(
        own("backend: custom, command: mine, args: [run, -v], prompt_mode: arg, prompt_flag: -p"),
        custom(OwnProtocol::Argument, &["mine", "run", "-v", "-p"])
    );
    assert_eq!(
        own("backend: custom, command: /opt/mine, prompt_mode: stdin, prompt_flag: -p"),
        custom(OwnProtocol::Input, &["/opt/mine"])
    );
    let (checked, run) = backend("backend: auto");
    assert_eq!((checked.as_str(), run.as_str()), ("", ""));
    // A warning for commands that only inspect, an error for a run.
    for name in ["kiro", "amp", "pi", "roo", "forge"] {
        let (checked, run) = backend(&format!("backend: {name}"));
        assert!(checked.starts_with("warning hats/unserved-backend cli.backend"), "{checked}");
        assert!(run.starts_with("error hats/unserved-backend cli.backend"), "{run}");
        let collection = format!("cli: {{backend: {name}}}\n{HAT}");
        let asked = Project::named("ralph.yml", &collection).options(|options| {
            (options.provider, options.starts) = (Some("claude".into()), true);
        });
        assert!(asked.said().starts_with("warning hats/unserved-backend"), "{}", asked.said());
        assert_eq!(turn(&asked.workflow(), "a").provider.as_str(), "claude");
    }
    let (unknown, _) = backend("backend: cluade");
    assert!(unknown.contains("hats/unknown-provider") && unknown.contains("`claude`"), "{unknown}");
}

#[test]
fn a_program_of_ones_own_must_be_named_and_is_described_in_one_place() {
    insta::assert_snapshot!(backend("backend: custom").0, @"error hats/missing-key cli.backend 1:16 `cli.backend: custom` needs `cli.command`, the program to be asked (such as `command: my-agent`)");
    insta::assert_snapshot!(backend("backend: custom, command: ./mine").0, @"error hats/bad-value cli.command 1:33 `cli.command` must be the name of a program or an absolute path, not `./mine` (programs in the working directory of an agent are not trusted)");
    assert!(backend("backend: custom, command: mine, prompt_mode: file").0.contains("hats/bad-value"));
    assert!(backend("backend: custom, command: mine, args: -v").0.contains("hats/bad-type"));
    let collection = format!("cli: {{backend: custom, command: mine, args: [-v]}}\n{HAT}");
    let described = Project::named("ralph.yml", &collection).settings(|settings| {
        let provider = ProviderSettings::new(ProviderKind::Command);
        settings.providers.insert("custom".into(), provider);
    });
    let workflow = described.workflow();
    assert_eq!((turn(&workflow, "a").provider.as_str(), &workflow.provider), ("custom", &None));
    let said = described.said();
    for key in ["command", "args"] {
        assert!(said.contains(&format!("warning hats/no-effect cli.{key}")), "{said}");
    }
    // Another provider is selected, so the file's description is dropped.
    let other =
        Project::named("ralph.yml", &collection).options(|options| options.provider = Some("claude".into()));
    assert_eq!(other.workflow().provider, None);
}

// H-70
#[test]
fn what_changes_nothing_is_warned_of_key_by_key() {
    for key in ["adapters", "tui", "memories", "tasks", "skills", "features", "backpressure"] {
        check(&format!("{key}: {{}}\n{HAT}"), &[&format!("warning hats/no-effect {key}")]);
    }
    for key in [
        "checkpoint_interval",
        "cooldown_delay_seconds",
        "context_window_tokens",
        "mutation_score_warn_threshold",
    ] {
        check(
            &format!("event_loop: {{{key}: 5}}\n{HAT}"),
            &[&format!("warning hats/no-effect event_loop.{key}")],
        );
    }
    for key in [
        "idle_timeout_secs: 5",
        "pty_mode: true",
        "pty_interactive: true",
        "prompt_mode: arg",
        "prompt_flag: -p",
    ] {
        let name = key.split(':').next().unwrap();
        check(&format!("cli: {{{key}}}\n{HAT}"), &[&format!("warning hats/no-effect cli.{name}")]);
    }
    check(
        &format!("core: {{scratchpad: a, specs_dir: b}}\n{HAT}"),
        &["warning hats/no-effect core.scratchpad", "warning hats/no-effect core.specs_dir"],
    );
    for off in [
        "hooks: {enabled: false}",
        "RObot: {enabled: false}",
        "event_loop: {persistent: false}",
        "cli: {default_mode: autonomous}",
        "event_loop: {starting_hat: null}",
        "cli: {backend: claude, args: []}",
    ] {
        let said = Project::named("ralph.yml", &format!("{off}\n{HAT}")).said();
        assert!(said.starts_with("warning hats/no-effect"), "{off}: {said}");
    }
    let one = HAT.replace("instructions: x", "instructions: x, concurrency: 1, scratchpad: y");
    check(&one, &["warning hats/no-effect hats.a.concurrency", "warning hats/no-effect hats.a.scratchpad"]);
    let off = HAT
        .replace("instructions: x", "instructions: x, disallowed_tools: [], aggregate: null, import: null");
    let idle =
        ["disallowed_tools", "aggregate", "import"].map(|key| format!("warning hats/no-effect hats.a.{key}"));
    check(&off, &[&idle[0], &idle[1], &idle[2]]);
}

// H-71
#[test]
fn what_would_be_a_broken_promise_is_refused_by_name() {
    let hat = |key: &str| HAT.replace("instructions: x", &format!("instructions: x, {key}"));
    for key in ["backend_args", "args", "model"] {
        check(&hat(&format!("{key}: x")), &[&format!("error hats/removed-key hats.a.{key}")]);
    }
    for key in ["aggregate", "disallowed_tools", "import"] {
        check(&hat(&format!("{key}: [x]")), &[&format!("error hats/not-supported hats.a.{key}")]);
    }
    check(&hat("concurrency: 3"), &["error hats/not-supported hats.a.concurrency"]);
    for on in [
        "hooks: {enabled: true}",
        "RObot: {enabled: true}",
        "event_loop: {persistent: true}",
        "event_loop: {starting_hat: a}",
        "cli: {default_mode: interactive}",
        "cli: {backend: claude, args: [x]}",
    ] {
        let said = Project::named("ralph.yml", &format!("{on}\n{HAT}")).said();
        assert!(said.starts_with("error hats/not-supported"), "{on}: {said}");
    }
    for (flat, nested) in [
        ("agent: claude", "`cli: {backend: NAME}`"),
        ("agent_priority: [claude]", "`cli: {backend: NAME}`"),
        ("prompt_file: P.md", "`event_loop: {prompt_file: …}`"),
        ("completion_promise: X", "`event_loop: {completion_promise: …}`"),
        ("max_iterations: 3", "`event_loop: {max_iterations: …}`"),
        ("max_runtime: 3", "`event_loop: {max_runtime_seconds: …}`"),
        ("max_cost: 3", "`event_loop: {max_cost_usd: …}`"),
    ] {
        let said = Project::named("ralph.yml", &format!("{flat}\n{HAT}")).said();
        assert!(said.starts_with("error hats/not-supported") && said.contains(nested), "{said}");
    }
    check(
        &format!("event_loop: {{max_iteratons: 1}}\n{HAT}"),
        &["error hats/unknown-key event_loop.max_iteratons"],
    );
    // Finding a definition refuses collections in TOML and addresses.
    let source = MemorySource::new([("/p/hats.toml", "[hats.a]\nname = 'A'\n")]);
    for asked in ["hats.toml", "https://example.com/hats.yml"] {
        assert!(find(&source, &places(), asked).is_err(), "{asked}");
    }
}

// H-16, H-66: like the completion keyword, the cancellation word is never routed.
#[test]
fn the_cancellation_word_is_no_topic() {
    let file = |keys: &str| {
        format!(
            "event_loop: {{cancellation_promise: STOP}}\nhats:\n  a: {{name: A, {keys}, instructions: 中止}}\n"
        )
    };
    let said = |keys: &str| Project::named("ralph.yml", &file(keys)).said();
    assert_eq!(said("triggers: [task.start], publishes: [LOOP_COMPLETE, STOP]"), "");
    assert!(
        said("triggers: [task.start, STOP], publishes: [LOOP_COMPLETE]").contains("hats/keyword-trigger")
    );
    let workflow =
        Project::named("ralph.yml", &file("triggers: [task.start], publishes: [built, STOP]")).workflow();
    let prompt = format!("{:?}", turn(&workflow, "a").prompt);
    assert!(prompt.contains("built") && !prompt.contains("STOP"), "{prompt}");
    assert!(
        workflow.words["inside_sentence"].contains("LOOP_COMPLETE または STOP")
            || workflow.words["inside_sentence"].contains("LOOP_COMPLETE or STOP")
    );
}

// H-66
#[test]
fn a_task_in_a_home_directory_is_reported_if_it_is_missing() {
    let said = Project::named("ralph.yml", &format!("event_loop: {{prompt_file: ~/P.md}}\n{HAT}")).said();
    assert!(said.starts_with("warning hats/missing-file") && said.contains("home"), "{said}");
}

// H-57, H-52: a gate also applies if the engine publishes its topic.
#[test]
fn a_gate_stands_before_the_substitute_of_an_exhausted_hat() {
    let hats = "gates: [a.exhausted]\nmax_activations: 1\nhats:\n  a: {name: A, triggers: [task.start], publishes: [a.exhausted, LOOP_COMPLETE], instructions: x}\n  b: {name: B, triggers: [a.exhausted], publishes: [LOOP_COMPLETE], instructions: x}\n";
    let workflow = Project::new(hats).workflow();
    let limit = stage(&workflow, "a").visits.clone().unwrap();
    assert_eq!(limit.once_instead.as_ref().map(|id| id.as_str()), Some("gate/a.exhausted"));
}
