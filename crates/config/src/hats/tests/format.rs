//! The format of hats files, and diagnostics of invalid ones.

use super::{Project, RING, hat, listed};

fn check(hats: &str, expected: &str) {
    assert_eq!(Project::new(hats).said(), expected, "{hats}");
}

#[track_caller]
fn begins(hats: &str, expected: &str) {
    let loaded = Project::new(hats).load();
    let said = listed(&loaded.diagnostics);
    assert!(said.starts_with(expected), "{hats}\n{said}");
    if expected.starts_with("error") {
        assert_eq!(loaded.workflow, None);
    }
}

// H-10, HC-4
#[test]
fn everything_wrong_with_hats_is_said_at_once_with_its_place() {
    let hats = "hats:\n  a: {name: A, triggers: [], publishes: [], instructions: x}\n  b: {name: \"\", triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n  c: {name: C, triggers: [a.b], trigers: [x], publishes: [LOOP_COMPLETE], instructions: x}\n";
    insta::assert_snapshot!(Project::new(hats).said(), @r"
    error hats/bad-value hats.a.triggers 2:26 `hats.a.triggers` must not be empty (only the hat `default` may have none: it is reached when no trigger matches)
    error hats/bad-value hats.b.name 3:13 `hats.b.name` must not be blank (write its display name, such as `🧪 Tester`)
    error hats/unknown-key hats.c.trigers 4:33 unknown key `hats.c.trigers` (did you mean `triggers`?)
    ");
    insta::assert_snapshot!(Project::new("hats: {a: {}, b: null}").said(), @r"
    error hats/missing-key hats.a 1:11 `hats.a` needs `name` (`name`: display name)
    error hats/missing-key hats.a 1:11 `hats.a` needs `triggers` (`triggers`: topics that activate it; `*` matches one whole segment, a lone `*` every topic; may be empty for `default` only)
    error hats/missing-key hats.a 1:11 `hats.a` needs `publishes` (`publishes`: topics it may publish)
    error hats/missing-key hats.a 1:11 `hats.a` needs `instructions` (`instructions`: instructions for the agent in this role)
    error hats/bad-type hats.b 1:18 `hats.b` must be a mapping, but nothing is given (write a mapping, or remove the key)
    ");
}

// H-11, HC-5
#[test]
fn model_backend_and_weight_of_a_hat_are_refused_by_name() {
    for (key, flag) in
        [("model", "model"), ("backend", "provider"), ("backend_args", "provider"), ("provider", "provider")]
    {
        let said = Project::new(&hat(&format!("{key}: x"))).said();
        assert!(said.starts_with(&format!("error hats/removed-key hats.tester.{key} ")), "{said}");
        assert!(said.contains("all hats share one model and one backend"), "{said}");
        assert!(said.ends_with(&format!("at the top of the file, or use `--{flag}`")), "{said}");
    }
    for key in ["weight", "priority"] {
        let said = Project::new(&hat(&format!("{key}: 3"))).said();
        assert!(
            said.contains("hats/removed-key") && said.contains("the order in the file decides"),
            "{said}"
        );
    }
}

// H-12
#[test]
fn only_the_default_hat_needs_no_trigger() {
    let default = "  default: {name: D, triggers: [], publishes: [LOOP_COMPLETE], instructions: x}\n";
    check(&format!("{}{default}", hat("")), "");
    begins(&hat("triggers: []"), "error hats/bad-value hats.tester.triggers ");
    begins(
        &default.replace("default:", "other:").replacen("  ", "hats:\n  ", 1),
        "error hats/bad-value hats.other.triggers ",
    );
}

#[test]
fn an_id_is_of_any_script_without_blanks_slashes_and_brackets() {
    let named = |id: &str| {
        format!(
            "hats: {{\"{id}\": {{name: N, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}}}}"
        )
    };
    for id in ["試験🧪", "a.b-c_d", "x"] {
        check(&named(id), "");
    }
    for id in ["a b", "a/b", "a\\\\b", "(base)", "a)", &"x".repeat(65), "", "a\\tb"] {
        let said = Project::new(&named(id)).said();
        assert!(
            said.contains("hats/bad-value") && said.contains("cannot be the id of a hat"),
            "{id}: {said}"
        );
    }
}

// H-14, H-15, HC-7
#[test]
fn triggers_are_patterns_and_publishes_are_topics() {
    for wrong in ["bu*", "**", "a..b", "a|b", "a b"] {
        begins(
            &hat(&format!("triggers: [task.start, \"{wrong}\"]")),
            "error hats/bad-pattern hats.tester.triggers[1]",
        );
        begins(
            &hat(&format!("publishes: [LOOP_COMPLETE, \"{wrong}\"]")),
            "error hats/bad-topic hats.tester.publishes[1]",
        );
    }
    begins(&hat("publishes: [\"build.*\"]"), "error hats/bad-topic");
    check(&hat("triggers: [task.start, \"build.*\", \"*.failed\", \"*\"]"), "");
    begins(&hat("triggers: task.start"), "error hats/bad-type hats.tester.triggers");
    begins(&hat("publishes: done"), "error hats/bad-type hats.tester.publishes");
}

// H-16
#[test]
fn the_keyword_triggers_nothing_and_may_be_published() {
    begins(
        &hat("triggers: [task.start, LOOP_COMPLETE]"),
        "error hats/keyword-trigger hats.tester.triggers[1]",
    );
    begins(
        &format!("starting_event: LOOP_COMPLETE\n{}", hat("")),
        "error hats/keyword-trigger starting_event",
    );
    // With another keyword, the default keyword is an ordinary topic.
    let other = hat("triggers: [task.start, LOOP_COMPLETE]\npublishes: [DONE]");
    check(&format!("completion_keyword: DONE\n{other}"), "");
}

#[test]
fn a_number_out_of_its_range_or_no_number_is_an_error() {
    let keys = [
        "max_iterations",
        "stall_after",
        "max_activations",
        "max_consecutive_failures",
        "idle_timeout_secs",
        "max_runtime_seconds",
    ];
    for value in ["0", "-1", "1.5", "\"abc\"", "true", "[]"] {
        for key in keys {
            begins(&format!("{key}: {value}\n{}", hat("")), "error hats/bad-");
        }
    }
    begins("max_cost_usd: 0", "error hats/bad-value max_cost_usd");
}

// H-18
#[test]
fn keys_of_the_public_tool_work_or_have_no_effect_or_are_refused_and_never_silently() {
    let session = "session: {manager: auto, prefix: orch, capture_interval: 500}\n";
    insta::assert_snapshot!(Project::new(&format!("{session}{}", hat(""))).said(), @r"
    warning hats/no-effect session.manager 1:11 `session.manager` has no effect here (remove it)
    warning hats/no-effect session.prefix 1:26 `session.prefix` has no effect here (remove it)
    warning hats/no-effect session.capture_interval 1:40 `session.capture_interval` has no effect here (remove it)
    ");
    insta::assert_snapshot!(Project::new("session: {manager: tmux}").said(), @"error hats/not-supported session.manager 1:20 `session.manager: tmux` is not supported (runs are followed with `saihai log -f` or the dashboard; remove the key)");
    begins("session: {manager: zellij}", "error hats/not-supported session.manager ");
    begins("session: {manager: screen}", "error hats/bad-value session.manager ");
    insta::assert_snapshot!(Project::new("session: {manager: native, native: {}}").said(), @r"
    warning hats/no-effect session.manager 1:11 `session.manager` has no effect here (remove it)
    warning hats/no-effect session.native 1:28 `session.native` has no effect here (remove it)
    ");
    assert!(
        Project::new("tmux: {}").said().contains("runs are followed with `saihai log -f` or the dashboard")
    );
    for key in ["tmux", "quality", "auto_issue", "memories", "tasks", "backends"] {
        begins(&format!("{key}: {{}}"), &format!("error hats/not-supported {key} "));
    }
    insta::assert_snapshot!(Project::new("max_iteratons: 3").said(), @"error hats/unknown-key max_iteratons 1:1 unknown key `max_iteratons` (did you mean `max_iterations`?)");
    insta::assert_snapshot!(Project::new("version: 3\nstate: {use_scratchpad: true, scratchpad_path: x}").said(), @r"
    warning hats/no-effect version 1:1 `version` has no effect here (remove it)
    warning hats/no-effect state.use_scratchpad 2:9 `state.use_scratchpad` has no effect here (remove it)
    warning hats/no-effect state.scratchpad_path 2:31 `state.scratchpad_path` has no effect here (remove it)
    ");
}

// I-9
#[test]
fn keys_about_issues_are_read_and_the_run_says_that_it_does_not_deliver() {
    let keys = "create_pr: true\nworktree: {enabled: true, base_dir: .worktrees, copy_files: [.env]}\nlabels: {enabled: true, prefix: orch}\ndependency: {resolve: true}\nstate: {use_github_labels: true, label_prefix: orch}\n";
    let loaded = Project::new(&format!("{keys}{}", hat(""))).load();
    assert_eq!(listed(&loaded.diagnostics), "");
    let note = "`create_pr`, `labels` and `dependency` only apply to work on an issue: `saihai run` delivers nothing";
    assert_eq!(loaded.notes, [note]);
    let wishes = &loaded.wishes;
    assert_eq!((wishes.worktree, wishes.worktree_root.as_deref()), (Some(true), Some(".worktrees")));
    assert_eq!(wishes.copy_files.as_deref(), Some(&[".env".to_owned()][..]));
}

// H-19, HC-28
#[test]
fn the_keyword_is_one_word_and_two_places_of_a_key_must_agree() {
    for word in ["", " ", "ALL DONE", "完了"] {
        begins(&format!("completion_keyword: \"{word}\""), "error hats/bad-value completion_keyword");
    }
    check(
        "max_iterations: 5\nloop: {max_iterations: 5, completion_promise: DONE}\ncompletion_keyword: DONE",
        "",
    );
    insta::assert_snapshot!(Project::new("max_iterations: 5\nloop: {max_iterations: 6}").said(), @"error hats/alias-conflict loop.max_iterations 2:24 `max_iterations` and `loop.max_iterations` set the same key to different values (keep one of them)");
    begins("model: a\nbackend: {type: claude, model: b}", "error hats/alias-conflict");
    begins("labels: {prefix: a}\nstate: {label_prefix: b}", "error hats/alias-conflict");
}

// H-9
#[test]
fn broken_empty_doubled_and_merged_files_are_errors() {
    begins("", "error hats/bad-type");
    begins("hats: [broken", "error hats/syntax");
    begins("hats: {}\n---\nhats: {}\n", "error hats/syntax");
    begins("hats: {}\nhats: {}\n", "error hats/duplicate-key");
    let one = hat("");
    begins(&format!("{one}{}", one.trim_start_matches("hats:\n")), "error hats/duplicate-key");
    let merged = "hats:\n  a: &a {name: A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: x}\n  b: {<<: *a}\n";
    assert!(Project::new(merged).said().contains("<<"), "{}", Project::new(merged).said());
    check(
        "hats: {a: {name: &n A, triggers: [task.start], publishes: [LOOP_COMPLETE], instructions: *n}}",
        "",
    );
}

#[test]
fn an_unknown_provider_is_never_replaced_by_another() {
    insta::assert_snapshot!(Project::new(&format!("backend: cluade\n{}", hat(""))).said(), @"error hats/unknown-provider backend 1:10 no provider is named `cluade` (did you mean `claude`?)");
    let flag = Project::new(&hat("")).options(|options| options.provider = Some("cluade".into()));
    assert!(flag.said().starts_with("error provider/unknown-provider"), "{}", flag.said());
}

// Errors in gates, and the position of an alias.
#[test]
fn a_gate_at_which_nobody_would_be_asked_is_an_error() {
    insta::assert_snapshot!(Project::new(&format!("gates: [tests.faling, LOOP_COMPLETE, nothing]\n{RING}")).said(), @r"
    error hats/unreachable-gate gates[0] 1:9 no hat publishes `tests.faling`, so this gate would never open (did you mean `tests.failing`?)
    error hats/unreachable-gate gates[1] 1:23 `LOOP_COMPLETE` ends the run and is never routed (the gate before the end is `post-completion`)
    error hats/unreachable-gate gates[2] 1:38 no hat publishes `nothing`, so this gate would never open (gates are `pre-loop`, `post-completion` and `before-pr` and topics)
    ");
    insta::assert_snapshot!(Project::new(&format!("gates: [after_plan]\n{}", hat(""))).said(), @"note hats/gate-alias gates[0] 1:9 `after_plan` means the gate `pre-loop`: no hat publishes `plan.ready`");
    insta::assert_snapshot!(Project::new("gates: {after_plan: true}\npreset: spec-driven").said(), @"note hats/gate-alias gates.after_plan 1:9 `after_plan` means the gate `plan.ready`: some hat publishes `plan.ready`");
    begins(&format!("gates: {{pre-loop: true, pre_loop: false}}\n{}", hat("")), "error hats/alias-conflict");
}

// H-19: the alternative spelling of a key works on its own.
#[test]
fn every_alias_of_a_key_is_that_key() {
    let looping = "loop: {max_iterations: 5, completion_promise: DONE, idle_timeout_secs: 7}\n";
    let workflow = Project::new(&format!("{looping}{}", hat("publishes: [DONE]"))).workflow();
    let word = &super::directives(&workflow, "tester").words[0].word;
    assert_eq!((workflow.limits.rounds, word.as_str()), (Some(5), "DONE"));
    assert_eq!(workflow.limits.silence, Some(saihai_model::Millis::seconds(7)));
    let state = "state: {use_github_labels: true, label_prefix: mine}\n";
    let wishes = Project::new(&format!("{state}{}", hat(""))).load().wishes;
    assert_eq!((wishes.labels, wishes.label_prefix.as_deref()), (Some(true), Some("mine")));
}

// H-17: the key, the value and the allowed range.
#[test]
fn a_number_that_does_not_fit_is_named_with_what_would() {
    for (value, said) in [
        ("0", "`max_iterations` must be at least 1, not `0`"),
        ("-1", "`max_iterations` must be at least 1, not `-1`"),
        (
            "1.5",
            "`max_iterations` must be a whole number, not a number: `1.5` (write a whole number, at least 1)",
        ),
        (
            "abc",
            "`max_iterations` must be a whole number, not text: `abc` (write a whole number, at least 1)",
        ),
        ("5000000000", "`max_iterations` must be at most 4294967295, not `5000000000`"),
    ] {
        let found = Project::new(&format!("max_iterations: {value}\n{}", hat(""))).said();
        assert!(found.ends_with(said), "{found}");
    }
}

// H-7: these file names always mean hats, regardless of their content.
#[test]
fn a_file_is_of_hats_by_its_name() {
    for name in ["orch.yml", "orch.yaml", ".orch.yml", "ralph.yml"] {
        let source = crate::MemorySource::new([(format!("/p/{name}").as_str(), "movements: []\n")]);
        let found = crate::find(&source, &super::places(), &format!("./{name}")).expect("it is there");
        assert_eq!(found.dialect, crate::Dialect::Hats, "{name}");
    }
}

// H-19
#[test]
fn two_places_of_one_key_agree() {
    begins("labels: {enabled: true}\nstate: {use_github_labels: false}", "error hats/alias-conflict");
    begins("idle_timeout_secs: 5\nloop: {idle_timeout_secs: 6}", "error hats/alias-conflict");
}

// H-63: every kind of error has a hint.
#[test]
fn every_error_says_what_to_do() {
    for wrong in [
        "hats: {b: null}",
        "hats: {b: 3}",
        "auto: maybe",
        "hats: []",
        "auto_issue: true",
        "max_iterations: abc",
        "max_cost_usd: x",
        "completion_keyword: [a]",
        "hats:\n  a: {name: A}\n  a: {name: B}",
        "event_loop: {}\ncli: {backend: custom}",
        "event_loop: {}\nhats:\n  a: {name: A, triggers: [task.start], aggregate: {x: 1}}",
        "event_loop: {}\nhats:\n  a: {name: A, triggers: [task.start], concurrency: 3}",
    ] {
        let loaded = Project::new(wrong).load();
        let mut errors =
            loaded.diagnostics.iter().filter(|one| one.severity == crate::Severity::Error).peekable();
        assert!(errors.peek().is_some(), "{wrong}");
        for error in errors {
            assert!(error.hint.is_some(), "{wrong}: {}", error.message);
        }
    }
}
