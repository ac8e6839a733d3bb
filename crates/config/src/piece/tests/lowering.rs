//! Lowering of each part of a piece.

use saihai_model::{
    Activity, Exit, Method, Permission, ProviderKind, ProviderName, ProviderSettings, QuestionSession,
    SessionPolicy, Stage, Target, VerdictMode, Wants,
};

use super::{CONTINUE, Project, VALUES, movement, render, stage, turn, with_rule};

/// Summarizes the activity of a stage.
pub(super) fn does(stage: &Stage) -> String {
    match &stage.does {
        Activity::Turns { turns, .. } => {
            let turns: Vec<String> = turns
                .iter()
                .map(|turn| {
                    let reports: Vec<&str> =
                        turn.reads.reports.iter().map(|report| report.file.as_str()).collect();
                    format!("{} {} {:?}", turn.id, turn.permission.name(), reports)
                })
                .collect();
            turns.join(", ")
        }
        Activity::Gate(gate) => format!("gate {:?}", gate.wants),
        Activity::Action(action) => format!("{action:?}"),
    }
}

/// Formats the rules of a stage, one line each.
pub(super) fn exits(stage: &Stage) -> Vec<String> {
    let Exit::Rules { rules, otherwise, .. } = &stage.exit else { panic!("a piece has rules") };
    let mut lines: Vec<String> =
        rules.iter().map(|rule| format!("{:?} -> {}", rule.when, target(&rule.then))).collect();
    lines.push(format!("otherwise -> {}", target(otherwise)));
    lines
}

fn target(target: &Target) -> String {
    match target {
        Target::Stage(id) => id.to_string(),
        Target::Complete => "Complete".to_owned(),
        Target::End(ending) => format!("{ending:?}"),
        Target::NamedBy { .. } | Target::ByPhase { .. } | Target::Again(_) => {
            panic!("a piece has none of these")
        }
    }
}

// P-14, C-40, case 28
#[test]
fn edit_and_permission_mode_decide_what_a_turn_may_do() {
    let check = |lines: &str, expected: &str| {
        let workflow = Project::new(&with_rule(lines)).workflow();
        assert_eq!(turn(&workflow, "m").permission.name(), expected, "{lines}");
    };
    check("edit: true", "edit");
    check("edit: true\npermission_mode: edit", "edit");
    check("edit: true\npermission_mode: full", "full");
    check("edit: false", "readonly");
    check("edit: false\npermission_mode: readonly", "readonly");
    check("model: x", "readonly");
    check("permission_mode: readonly", "readonly");
    check("required_permission_mode: edit", "edit");
    check("permission_mode: full", "full");
}

// P-14
#[test]
fn contradictory_permissions_are_refused() {
    let check = |lines: &str, expected: &str| assert_eq!(Project::new(&with_rule(lines)).said(), expected);
    check(
        "edit: true\npermission_mode: readonly",
        "error piece/permission-conflict 5:22 `edit: true` and `permission_mode: readonly` contradict each other",
    );
    check(
        "edit: false\npermission_mode: full",
        "error piece/permission-conflict 5:22 `edit: false` and `permission_mode: full` contradict each other",
    );
}

// C-43
#[test]
fn a_ceiling_lowers_what_a_turn_may_do_and_what_was_asked_is_kept() {
    let piece = with_rule("edit: true\npermission_mode: full");
    let ceiling = Permission::Edit { commands: false };
    let lowered =
        Project::new(&piece).settings(|settings| settings.max_permission = Some(ceiling)).workflow();
    let turn_of = |workflow| turn(workflow, "m").clone();
    assert_eq!(turn_of(&lowered).permission, ceiling);
    assert_eq!(turn_of(&lowered).asked_permission, Some(Permission::Full));
    // The command line wins over the settings.
    let typed = Project::new(&piece)
        .settings(|settings| settings.max_permission = Some(ceiling))
        .options(|options| options.max_permission = Some(Permission::ReadOnly))
        .workflow();
    assert_eq!(turn_of(&typed).permission, Permission::ReadOnly);
    let unlimited = Project::new(&piece).workflow();
    assert_eq!(turn_of(&unlimited).asked_permission, None);
}

/// Returns provider and model of the only turn, and the notes.
fn answerer(project: &Project) -> (String, Option<String>, Vec<String>) {
    let loaded = project.load();
    let workflow = loaded.workflow.unwrap();
    let turn = turn(&workflow, "m");
    (turn.provider.to_string(), turn.model.clone(), loaded.notes)
}

// P-18, C-11
#[test]
fn what_was_typed_wins_over_the_movement_and_that_over_the_settings() {
    let piece = with_rule("provider: codex\nmodel: big");
    let settings = |project: Project| project.settings(|settings| settings.provider = Some("claude".into()));
    let check = |project: &Project, provider: &str, model: Option<&str>, notes: &[&str]| {
        assert_eq!(
            answerer(project),
            (
                provider.to_owned(),
                model.map(str::to_owned),
                notes.iter().map(|&note| note.to_owned()).collect()
            )
        );
    };
    check(&settings(Project::new(&piece)), "codex", Some("big"), &[]);
    check(&settings(Project::new(&with_rule("edit: true"))), "claude", None, &[]);
    let typed = |provider: &str| {
        let provider = ProviderName::from(provider);
        settings(Project::new(&piece)).options(|options| options.provider = Some(provider))
    };
    // The model belongs to another provider.
    let note = "the model `big` of `m` is not used with --provider";
    check(&typed("script"), "script", None, &[note]);
    check(&typed("codex"), "codex", Some("big"), &[]);
    check(
        &typed("gemini").options(|options| options.model = Some("small".into())),
        "gemini",
        Some("small"),
        &[],
    );
    // A model without a provider belongs to the provider of the settings.
    let alone =
        || Project::new(&with_rule("model: big")).options(|options| options.provider = Some("codex".into()));
    check(&alone(), "codex", Some("big"), &[]);
    check(&settings(alone()), "codex", None, &[note]);
}

// P-18, C-75
#[test]
fn mock_is_another_name_of_script_and_unknown_providers_are_refused() {
    assert_eq!(answerer(&Project::new(&with_rule("provider: mock"))).0, "script");
    assert_eq!(
        Project::new(&with_rule("provider: cladue")).said(),
        "error piece/unknown-provider 4:15 no provider is named `cladue` (did you mean `claude`?)"
    );
    let typed =
        Project::new(&with_rule("edit: true")).options(|options| options.provider = Some("codx".into()));
    assert_eq!(
        typed.said(),
        "error provider/unknown-provider no provider is named `codx` (did you mean `codex`?)"
    );
}

// K-25
#[test]
fn without_any_provider_the_run_is_a_rehearsal_and_says_so() {
    let rehearsal = |project: Project| project.load().rehearsal;
    assert!(rehearsal(Project::new(&with_rule("edit: true"))));
    assert!(!rehearsal(Project::new(&with_rule("provider: script"))));
    assert!(!rehearsal(
        Project::new(&with_rule("edit: true")).options(|options| options.provider = Some("script".into()))
    ));
}

// K-25: a mix of rehearsed and real turns would look like real work
#[test]
fn a_piece_that_names_a_provider_for_some_turns_needs_a_default_to_run() {
    let piece = "name: t\nmovements:\n  - {name: a, provider: claude, rules: [{condition: c, next: b}]}\n  - {name: b, rules: [{condition: c, next: COMPLETE}]}\n";
    assert_eq!(
        Project::new(piece).options(|options| options.starts = true).said(),
        "error piece/missing-key 4:12 no provider for this turn: it names none, and no default provider is set (set `provider` in the settings, pass `--provider`, or add `provider:` here)"
    );
    // U-17: the definition itself is valid.
    let checked = Project::new(piece);
    assert_eq!(checked.said(), "");
    assert!(checked.load().workflow.is_some() && checked.load().needs_default_provider);
    let scripted = Project::new(&piece.replace("claude", "mock"));
    assert!(scripted.load().rehearsal);
}

fn session(project: &Project, id: &str) -> SessionPolicy {
    turn(&project.workflow(), id).session.clone()
}

const TWO: &str = "name: t
movements:
  - {name: a, agent: x.md, rules: [{condition: c, next: b}]}
  - {name: b, agent: x.md, session: continue, rules: [{condition: c, next: COMPLETE}]}
";

// P-17
#[test]
fn a_session_is_continued_by_key_and_provider() {
    let project = |piece: &str| Project::new(piece).file("/p/.takt/pieces/x.md", "X");
    assert_eq!(session(&project(&TWO.replace("session: continue, ", "")), "b"), SessionPolicy::Fresh);
    assert_eq!(session(&project(TWO), "b"), SessionPolicy::Continue("script:x.md".into()));
    // A session that another turn continues must be kept.
    assert_eq!(session(&project(TWO), "a"), SessionPolicy::Renew("script:x.md".into()));
    let keyed = TWO.replace("session: continue", "session: continue, session_key: k");
    assert_eq!(session(&project(&keyed), "b"), SessionPolicy::Continue("script:k".into()));
    assert_eq!(session(&project(&keyed), "a"), SessionPolicy::Fresh);
    let nameless = TWO.replace("agent: x.md, ", "");
    assert_eq!(session(&project(&nameless), "b"), SessionPolicy::Continue("script:b".into()));
    let settled = project(&TWO.replace("session: continue, ", ""))
        .settings(|settings| settings.default_session = CONTINUE);
    assert_eq!(session(&settled, "a"), SessionPolicy::Continue("script:x.md".into()));
}

// P-17
#[test]
fn siblings_cannot_continue_one_session() {
    let piece = movement(
        "parallel:\n- {name: a, session: continue, session_key: k, rules: [{condition: c}]}\n- {name: b, session: continue, session_key: k, rules: [{condition: c}]}\nrules: [{condition: 'all(\"c\")', next: COMPLETE}]",
    );
    assert_eq!(
        Project::new(&piece).said(),
        "error piece/session-conflict 6:14 `a` and `b` would continue one session at the same time (give each its own `session_key`, or use `session: refresh`)"
    );
}

// P-17
#[test]
fn a_session_key_that_nothing_continues_is_pointed_out() {
    assert_eq!(
        Project::new(&with_rule("session_key: k")).said(),
        "warning piece/no-effect 4:18 the session key `k` has no effect: nothing continues it (add `session: continue`)"
    );
}

// P-16
#[test]
fn tools_restrict_and_never_grant() {
    let workflow = Project::new(&with_rule("allowed_tools: [Read, Bash]")).workflow();
    assert_eq!(turn(&workflow, "m").tools, Some(vec!["Read".to_owned(), "Bash".to_owned()]));
    assert_eq!(turn(&Project::new(&with_rule("edit: true")).workflow(), "m").tools, None);
    assert_eq!(turn(&Project::new(&with_rule("allowed_tools: []")).workflow(), "m").tools, Some(Vec::new()));
    assert_eq!(
        Project::new(&with_rule("allowed_tools: [Read, Write]")).said(),
        "warning piece/no-effect 4:27 `Write` has no effect in a read-only movement (add `edit: true`, or remove it)"
    );
    assert_eq!(Project::new(&with_rule("edit: true\nallowed_tools: [Write]")).said(), "");
}

// P-41, P-59
#[test]
fn a_turn_is_judged_by_its_tag_and_then_by_one_question_in_a_fresh_session() {
    let methods = |project: &Project| turn(&project.workflow(), "m").reads.choice.clone().unwrap().found_by;
    let rules = "rules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT}]";
    let project = Project::new(&movement(&format!("provider: codex\nmodel: big\n{rules}")));
    let methods_of = methods(&project);
    let [Method::Tool, Method::Tag, Method::Ask(question)] = methods_of.as_slice() else {
        panic!("{methods_of:?}")
    };
    assert_eq!((&question.provider, &question.model), (&None, &None));
    assert_eq!((question.session, question.corrections), (QuestionSession::Fresh, 0));
    let without = project.settings(|settings| settings.judge_fallback = false);
    assert_eq!(methods(&without), [Method::Tool, Method::Tag]);
}

// N-1, N-2: the movement's own key, else its provider's, else the project's
#[test]
fn a_verdict_comes_through_the_channels_that_the_nearest_setting_allows() {
    let methods = |provider: &str, own: &str, project: VerdictMode, of_provider: Option<VerdictMode>| {
        let rules = "rules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT}]";
        let piece = movement(&format!("provider: {provider}\n{own}{rules}"));
        let project = Project::new(&piece).settings(|settings| {
            let kind = ProviderKind::named(provider).unwrap();
            let own = ProviderSettings { verdict: of_provider, ..ProviderSettings::new(kind) };
            settings.providers.insert(provider.into(), own);
            settings.verdict = project;
            settings.judge_fallback = false;
        });
        turn(&project.workflow(), "m").reads.choice.clone().unwrap().found_by
    };
    let (auto, plain, nonce) = (VerdictMode::Auto, VerdictMode::Plain, VerdictMode::Nonce);
    for provider in ["claude", "codex", "opencode", "copilot", "acp", "anthropic", "openai"] {
        assert_eq!(methods(provider, "", auto, None), [Method::Tool, Method::Tag], "{provider}");
    }
    assert_eq!(methods("gemini", "", auto, None), [Method::Tag]);
    assert_eq!(methods("command", "", auto, None), [Method::Tag]);
    assert_eq!(methods("script", "verdict: verified\n", nonce, None), [Method::Tag]);
    assert_eq!(methods("claude", "", auto, Some(plain)), [Method::Tag]);
    assert_eq!(methods("claude", "verdict: auto\n", plain, Some(plain)), [Method::Tool, Method::Tag]);
    assert_eq!(methods("claude", "", nonce, None), [Method::Tool, Method::NonceTag]);
    assert_eq!(methods("command", "", nonce, None), [Method::NonceTag]);
    assert_eq!(methods("claude", "verdict: verified\n", plain, None), [Method::Tool]);
    let asks = Project::new(&movement(
        "provider: claude\nverdict: verified\nrules: [{condition: done, next: COMPLETE}, {condition: stuck, next: ABORT}]",
    ));
    assert_eq!(turn(&asks.workflow(), "m").reads.choice.clone().unwrap().found_by, [Method::Tool]);
    let unable = Project::new(&movement(
        "provider: command\nverdict: verified\nrules: [{condition: a, next: COMPLETE}, {condition: b, next: ABORT}]",
    ));
    assert_eq!(
        unable.said(),
        "error piece/unverifiable 3:11 the verdict of `m` cannot be verified: provider `command` has no verdict tool \
         (use another provider, or set `verdict` to `auto`)"
    );
    let parent = Project::new(&movement(
        "parallel:\n  - name: a\n    verdict: plain\n    rules: [{condition: x}, {condition: y}]\nrules: [{condition: 'all(\"x\")', next: COMPLETE}, {condition: 'any(\"y\")', next: ABORT}]",
    ));
    let parent = parent.settings(|settings| settings.provider = Some("claude".into()));
    let found_by = turn(&parent.workflow(), "m").reads.choice.clone().unwrap().found_by;
    assert!(!found_by.contains(&Method::Tool), "{found_by:?}");
}

//
#[test]
fn a_sole_rule_is_taken_without_a_tag_unless_it_asks() {
    let methods =
        |piece: &str| turn(&Project::new(piece).workflow(), "m").reads.choice.clone().unwrap().found_by;
    assert_eq!(methods(&with_rule("edit: true")), [Method::Tag, Method::Only]);
    let asking = methods(&movement("rules: [{condition: 'ai(\"done\")', next: COMPLETE}]"));
    assert!(matches!(asking.as_slice(), [Method::Tag, Method::Ask(_)]), "{asking:?}");
    let hidden = "rules: [{condition: a, next: ABORT}, {condition: b, next: ABORT, interactive_only: true}]";
    assert!(matches!(methods(&movement(hidden)).as_slice(), [Method::Tag, Method::Ask(_)]));
}

const PARENT: &str = "parallel:
- {name: a, provider: codex, rules: [{condition: ok}, {condition: ng}]}
- {name: b, provider: codex, rules: [{condition: ok}]}
rules:
- {condition: 'all(\"ok\")', next: COMPLETE}
- {condition: something else, next: ABORT}";

// P-43
#[test]
fn the_question_of_a_parent_goes_to_the_run_s_own_provider() {
    let project =
        Project::new(&movement(PARENT)).settings(|settings| settings.provider = Some("claude".into()));
    let workflow = project.workflow();
    let choice = stage(&workflow, "m").exit.question().unwrap();
    assert_eq!(choice.question().unwrap().provider, Some("claude".into()));
    let offered: Vec<(usize, &str)> =
        choice.options.iter().map(|offer| (offer.number, offer.label.as_str())).collect();
    assert_eq!(offered, [(1, "something else")]);
    assert_eq!(
        project.said(),
        "warning workflow/extra-call 9:19 this rule of movement `m` is decided by one more question to a judging agent (`all(…)` and `any(…)` need none)"
    );
}

// P-59
#[test]
fn without_judging_questions_a_plain_condition_on_a_parent_is_an_error() {
    let project = Project::new(&movement(PARENT)).settings(|settings| {
        settings.provider = Some("claude".into());
        settings.judge_fallback = false;
    });
    assert_eq!(
        project.said(),
        "error workflow/dead-rule 9:19 this rule can never match: its question is never asked, because `judge_fallback` is off (use `all(…)` or `any(…)`, or set `judge_fallback = true`)"
    );
}

// P-33, P-32
#[test]
fn the_outputs_of_sub_movements_are_joined_under_their_names() {
    let project = Project::new(&movement(PARENT)).settings(|settings| {
        settings.provider = Some("claude".into());
        settings.limits.concurrency = Some(2);
    });
    let workflow = project.workflow();
    let Activity::Turns { turns, at_once, between, .. } = &stage(&workflow, "m").does else { panic!() };
    let headings: Vec<&str> = turns.iter().map(|turn| turn.heading.as_str()).collect();
    assert_eq!(headings, ["## a\n", "## b\n"]);
    assert_eq!((between.as_str(), *at_once), ("\n\n---\n\n", Some(2)));
}

// P-46
#[test]
fn a_rule_that_needs_a_person_leads_through_a_gate() {
    let piece = movement(
        "rules:\n- {condition: done, next: COMPLETE}\n- {condition: unclear, next: m, requires_user_input: true}\n- {condition: wrong, next: ABORT, requires_user_input: true}",
    );
    let workflow = Project::new(&piece).workflow();
    assert_eq!(
        workflow.stages.keys().map(|id| id.as_str()).collect::<Vec<_>>(),
        ["m", "m/input[1]", "m/input[2]"]
    );
    assert_eq!(exits(stage(&workflow, "m"))[1], "Is(Label(\"unclear\")) -> m/input[1]");
    assert_eq!(exits(stage(&workflow, "m/input[1]"))[0], "Is(Label(\"answered\")) -> m");
    assert_eq!(exits(stage(&workflow, "m/input[2]"))[0], "Is(Label(\"answered\")) -> Failed(Abort)");
    let Activity::Gate(gate) = &stage(&workflow, "m/input[1]").does else { panic!() };
    assert_eq!(gate.wants, Wants::Text { max_chars: 10_000 });
    let asked = super::render(&gate.question, &[("Previous", "Which one?")]);
    assert_eq!(asked, "Movement `m` needs your input: unclear\n\nWhich one?\n");
}

// P-47
#[test]
fn a_movement_without_a_rule_for_this_run_is_refused() {
    let piece = movement("rules: [{condition: ask, next: COMPLETE, interactive_only: true}]");
    assert_eq!(
        Project::new(&piece).said(),
        "error piece/no-rules-left 3:11 movement `m` has no rule left in this run (its rules are all `interactive_only`, and no person can be asked)"
    );
    assert_eq!(Project::new(&piece).options(|options| options.interactive = true).said(), "");
}

// P-47
#[test]
fn an_aggregate_for_interactive_runs_never_holds_in_others() {
    let piece = movement(
        "parallel: [{name: a, rules: [{condition: ok}]}]\nrules:\n- {condition: 'any(\"ok\")', next: m, interactive_only: true}\n- {condition: 'all(\"ok\")', next: COMPLETE}",
    );
    let rules = exits(stage(&Project::new(&piece).workflow(), "m"));
    assert_eq!(rules[0], "Any([]) -> m");
    assert_eq!(rules[1], "All([Label(\"ok\")]) -> Complete");
}

// P-50, K-36
#[test]
fn the_iteration_limit_is_what_was_typed_else_what_the_piece_says_else_ten() {
    let rounds = |project: Project| project.workflow().limits.rounds;
    let piece = with_rule("edit: true");
    assert_eq!(rounds(Project::new(&piece)), Some(10));
    assert_eq!(rounds(Project::new(&format!("max_steps: 7\n{piece}"))), Some(7));
    let typed = Project::new(&format!("max_iterations: 7\n{piece}"))
        .options(|options| options.max_iterations = Some(3));
    assert_eq!(rounds(typed), Some(3));
}

// P-51, P-52
#[test]
fn two_monitors_of_one_cycle_have_a_judge_each() {
    let monitor = "{cycle: [m], threshold: 2, judge: {provider: codex, model: big, rules: [{condition: c, next: ABORT}]}}";
    let piece = format!(
        "{}\nloop_monitors: [{monitor}, {monitor}]",
        movement("rules: [{condition: again, next: m}, {condition: no, next: ABORT}]")
    );
    let project = Project::new(&piece).settings(|settings| settings.provider = Some("claude".into()));
    let workflow = project.workflow();
    assert_eq!(
        workflow.stages.keys().map(|id| id.as_str()).collect::<Vec<_>>(),
        ["m", "judge(m)", "judge(m) 2"]
    );
    let judge = turn(&workflow, "judge(m)");
    assert_eq!((judge.provider.as_str(), judge.model.as_deref()), ("codex", Some("big")));
    assert_eq!((judge.permission, judge.session.clone()), (Permission::ReadOnly, SessionPolicy::Fresh));
    assert_eq!(judge.title, "judge(m) - t");
}

// P-13
#[test]
fn a_turn_is_known_by_its_movement_and_piece_and_by_its_role() {
    let title = |lines: &str| {
        let project = Project::new(&with_rule(lines)).file("/p/.takt/agents/coder.md", "X");
        let workflow = project.workflow();
        (turn(&workflow, "m").title.clone(), turn(&workflow, "m").role.clone().unwrap())
    };
    assert_eq!(title("edit: true"), ("m - t".to_owned(), "m".to_owned()));
    assert_eq!(title("agent: ../agents/coder.md").1, "coder");
    assert_eq!(title("agent: ../agents/coder.md\nagent_name: Ada").1, "Ada");
}

// P-10: `description` of a movement and of a sub-movement is for people, not for agents.
#[test]
fn what_a_movement_is_for_is_kept_for_people_and_told_to_no_agent() {
    let piece = movement(
        "description: Both sides at once\nparallel:\n  - {name: a, description: Looks for holes, rules: [{condition: ok}]}\n  - {name: b, rules: [{condition: ok}]}\nrules: [{condition: 'all(\"ok\")', next: COMPLETE}]",
    );
    let workflow = Project::new(&piece).workflow();
    let both = stage(&workflow, "m");
    assert_eq!(both.description.as_deref(), Some("Both sides at once"));
    let of_turns: Vec<Option<&str>> = both.turns().iter().map(|turn| turn.description.as_deref()).collect();
    assert_eq!(of_turns, [Some("Looks for holes"), None]);
    let asked: String = both.turns().iter().map(|turn| render(&turn.prompt, &VALUES)).collect();
    assert!(!asked.contains("Looks for holes") && !asked.contains("Both sides"), "{asked}");
}
