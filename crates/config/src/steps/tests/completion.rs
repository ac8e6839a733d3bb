//! Completion of an agent's work.

use saihai_model::{Completion, Json};
use serde_json::json;

use super::Project;

fn done(kind: &str, config: Json) -> Project {
    Project::tailor()
        .agent("/behavior/completionType", json!(kind))
        .agent("/behavior/completionConfig", config)
}

/// Returns the completion of the workflow as JSON.
fn lowered(project: &Project) -> String {
    serde_json::to_string(&project.workflow().completion).unwrap()
}

// S-60
#[test]
fn each_type_lowers_into_its_condition_and_the_flow_where_that_is_honoured() {
    insta::assert_snapshot!(lowered(&done("stepMachine", json!({}))), @r#""flow""#);
    insta::assert_snapshot!(lowered(&done("iterationBudget", json!({"maxIterations": 3}))), @r#"{"first":[{"rounds":3},"flow"]}"#);
    insta::assert_snapshot!(lowered(&done("keywordSignal", json!({"completionKeyword": "DONE", "match": "line"}))), @r#"{"first":[{"keyword":{"word":"DONE","whole_line":true}},"flow"]}"#);
    insta::assert_snapshot!(lowered(&done("checkBudget", json!({"maxChecks": 2}))), @r#"{"first":[{"checks":2},"flow"]}"#);
    insta::assert_snapshot!(lowered(&done("structuredSignal", json!({"signalType": "ship", "requiredFields": ["to"]}))), @r#"{"first":[{"signal":{"kind":"ship","fields":{"to":null},"times":1}},"flow"]}"#);
    insta::assert_snapshot!(lowered(&done("structuredSignal", json!({"signalType": "ship", "requiredFields": {"ok": true}}))), @r#"{"first":[{"signal":{"kind":"ship","fields":{"ok":true},"times":1}},"flow"]}"#);
    let file = json!({"resourceType": "file", "path": "out/quote.txt", "targetState": "absent"});
    insta::assert_snapshot!(lowered(&done("externalState", file)), @r#"{"outside":{"does":{"file_state":{"path":"out/quote.txt","absent":true}},"once":"read_only"}}"#);
}

// S-60, case 33
#[test]
fn an_issue_that_is_waited_for_must_be_named_when_a_run_begins() {
    let issue = json!({"resourceType": "github-issue", "targetState": "closed"});
    let project = || done("externalState", issue.clone());
    insta::assert_snapshot!(lowered(&project()), @r#"{"outside":{"does":"issue_state","once":"read_only"}}"#);
    assert_eq!(lowered(&done("issue", json!({}))), lowered(&project()), "it is the usual state");
    insta::assert_snapshot!(project().given(&[("customer", "Sato")]).said(), @"error steps/missing-parameter agent.json:10:23 the run waits until an issue is closed, but has no issue (add `--issue N`, or give the parameter `issue`)");
    let about = project().given(&[("customer", "Sato")]);
    let about = about.options(|options| options.issue = saihai_model::IssueNumber::new(12));
    assert_eq!(about.said(), "");
    insta::assert_snapshot!(done("externalState", json!({"targetState": "open", "path": "x"})).said(), @r#"
    error steps/bad-value agent.json:7:7 an issue has no `path` (add `"resourceType": "file"`, or remove it)
    error steps/bad-value agent.json:8:22 the state of an issue can only be `closed`, not `open`
    "#);
}

// Issue 25, S-60
#[test]
fn a_run_with_an_issue_ends_when_the_issue_is_closed_whatever_the_type_says() {
    let issue = saihai_model::IssueNumber::new(12);
    for (kind, config) in [
        ("iterationBudget", json!({"maxIterations": 3})),
        ("keywordSignal", json!({"completionKeyword": "DONE"})),
        ("stepMachine", json!({})),
        ("externalState", json!({"resourceType": "file", "path": "out.txt"})),
    ] {
        let about = done(kind, config).options(|options| options.issue = issue);
        assert_eq!(lowered(&about), r#"{"outside":{"does":"issue_state","once":"read_only"}}"#, "{kind}");
    }
    let budget =
        done("iterationBudget", json!({"maxIterations": 3})).options(|options| options.issue = issue);
    assert_eq!(budget.workflow().limits.rounds, Some(3), "the budget becomes the limit");
    let mapping = json!({"iterate": "quote", "issue": "measure"});
    let mapped = done("iterationBudget", json!({"maxIterations": 3})).registry("/entryStepMapping", mapping);
    let about = mapped.options(|options| options.issue = issue);
    assert_eq!(about.workflow().entry.as_str(), "measure", "the entry of `issue` wins");
}

// S-60, case 34
#[test]
fn conditions_can_be_composed() {
    let conditions = json!([
        {"type": "keywordSignal", "config": {"completionKeyword": "DONE"}},
        {"type": "composite", "config": {"operator": "or", "conditions": [
            {"type": "checkBudget", "config": {"maxChecks": 2}},
            {"type": "stepMachine"}
        ]}}
    ]);
    let project = done("composite", json!({"operator": "and", "conditions": conditions, "maxIterations": 7}));
    insta::assert_snapshot!(lowered(&project), @r#"{"all":[{"first":[{"keyword":{"word":"DONE","whole_line":false}},"flow"]},{"any":[{"first":[{"checks":2},"flow"]},"flow"]}]}"#);
    assert_eq!(project.workflow().limits.rounds, Some(7));
    insta::assert_snapshot!(done("composite", json!({"operator": "xor", "conditions": []})).said(), @r"
    error steps/bad-value agent.json:7:21 `conditions` must be a list with at least one item, not `[]`
    error steps/bad-value agent.json:8:19 `operator` must be `and`, `or` or `first`, not `xor`
    ");
}

// S-60
#[test]
fn what_a_type_needs_and_does_not_know_is_told() {
    insta::assert_snapshot!(done("iterationBudged", json!({})).said(), @"error steps/completion-type agent.json:7:23 `iterationBudged` is not a completion type (did you mean `iterationBudget`?)");
    insta::assert_snapshot!(done("frobnicate", json!({})).said(), @"error steps/completion-type agent.json:7:23 `frobnicate` is not a completion type (there is `iterationBudget`, `keywordSignal`, `externalState`, `checkBudget`, `structuredSignal`, `phaseCompletion`, `stepMachine`, `composite` and `custom`)");
    insta::assert_snapshot!(done("keywordSignal", json!({"maxChecks": 2})).said(), @r"
    error steps/missing-key agent.json:6:25 `completionConfig` of `keywordSignal` needs `completionKeyword`
    error steps/unknown-key agent.json:7:7 unknown key `maxChecks` (`completionConfig` of `keywordSignal` has the keys `completionKeyword`, `verdictKeyword`, `match` and `maxIterations`)
    ");
    let bare = Project::tailor()
        .agent("/behavior/completionType", json!("iterationBudget"))
        .dropping("agent.json", "/behavior/completionConfig");
    insta::assert_snapshot!(bare.said(), @"error steps/missing-key agent.json:6:23 `iterationBudget` needs `maxIterations` in its configuration (add `completionConfig`)");
    insta::assert_snapshot!(done("keywordSignal", json!({"completionKeyword": " "})).said(), @"error steps/bad-value agent.json:7:28 an empty keyword would be found in every reply");
    for resource in ["github-project", "api"] {
        let said = done("externalState", json!({"resourceType": resource})).said();
        let expected = format!(
            "error steps/not-supported agent.json:7:23 the state of `{resource}` cannot be checked (use `github-issue` or `file`; for other states, write a program for `custom`)"
        );
        assert_eq!(said, expected);
    }
    insta::assert_snapshot!(done("externalState", json!({"resourceType": "file", "targetState": "gone"})).said(), @r"
    error steps/missing-key agent.json:6:25 the state of a file needs `path`
    error steps/bad-value agent.json:8:22 a file `exists` or is `absent`, not `gone`
    ");
    insta::assert_snapshot!(done("externalState", json!({"resourceType": "file", "path": "../x"})).said(), @"error steps/path-escape agent.json:7:15 `../x` leads out of the agent's working directory (write a path below it)");
    insta::assert_snapshot!(done("structuredSignal", json!({"signalType": "x", "requiredFields": 1})).said(), @r#"error steps/bad-type agent.json:7:25 `requiredFields` must be a list of text or a mapping, not a whole number (write it in quotes: `"1"`)"#);
    insta::assert_snapshot!(done("stepMachine", json!({"registryPath": "other.json", "entryStep": "quote"})).said(), @r"
    error steps/bad-value agent.json:7:20 `quote` is not `measure` (remove it)
    error steps/bad-value agent.json:8:23 `other.json` is not `steps_registry.json` (remove it)
    ");
}

// S-60
#[test]
fn older_names_are_read_with_a_note() {
    insta::assert_snapshot!(done("iterate", json!({"maxIterations": 3})).said(), @"note steps/other-name agent.json:9:23 `iterate` is another name of `iterationBudget`");
    let same = |older: &str, newer: &str, config: Json| {
        assert_eq!(lowered(&done(older, config.clone())), lowered(&done(newer, config)), "{older}");
    };
    same("iterate", "iterationBudget", json!({"maxIterations": 3}));
    same("count:iteration", "iterationBudget", json!({"maxIterations": 3}));
    same("manual", "keywordSignal", json!({"completionKeyword": "x"}));
    same("detect:graph", "stepMachine", json!({}));
    same("stepFlow", "stepMachine", json!({}));
    same("detect:keyword", "keywordSignal", json!({"completionKeyword": "x"}));
    same("issue", "externalState", json!({}));
    same("poll:state", "externalState", json!({}));
    same("count:check", "checkBudget", json!({"maxChecks": 2}));
    same("detect:structured", "structuredSignal", json!({"signalType": "x"}));
    let both = json!({"operator": "or", "conditions": [{"type": "stepMachine"}]});
    same("facilitator", "composite", both.clone());
    same("meta:composite", "composite", both);
    let phased = |kind| {
        let actions = json!({"enabled": true, "types": ["phase-advance"]});
        lowered(&done(kind, json!({})).agent("/actions", actions))
    };
    assert_eq!(phased("project"), phased("phaseCompletion"));
    let custom = |kind| {
        let mut project = done(kind, json!({"handlerPath": "h.sh"}));
        project.source.add_program(format!("{}/h.sh", super::HOME), "#!/bin/sh");
        lowered(&project)
    };
    assert_eq!(custom("meta:custom"), custom("custom"));
}

// S-60
#[test]
fn a_completion_that_can_never_come_is_an_error() {
    let unchecked = done("checkBudget", json!({"maxChecks": 2}))
        .dropping("steps_registry.json", "/steps/quote/check")
        .registry("/steps/quote/terminal", json!(true));
    insta::assert_snapshot!(unchecked.said(), @"error steps/never-complete agent.json:9:23 checks are counted, and no step has a `check`");
    insta::assert_snapshot!(done("phaseCompletion", json!({})).said(), @"error steps/never-complete agent.json:7:23 no action can lead from one phase to the next (enable `actions` with the type `phase-advance`)");
}

// S-62, case 35
#[test]
fn a_custom_handler_is_a_program_below_the_agents_directory() {
    let project = || done("custom", json!({"handlerPath": "handlers/done.sh"}));
    insta::assert_snapshot!(project().said(), @"error steps/bad-handler agent.json:7:22 `handlers/done.sh` is not a program that can run (it must be a file below the agent's directory, and executable)");
    insta::assert_snapshot!(project().file("handlers/done.sh", "#!/bin/sh").said(), @"error steps/bad-handler agent.json:7:22 `handlers/done.sh` is not a program that can run (it must be a file below the agent's directory, and executable)");
    let mut runs = project();
    runs.source.add_program(format!("{}/handlers/done.sh", super::HOME), "#!/bin/sh");
    let runs = runs.given(&[("customer", "Sato")]);
    insta::assert_snapshot!(lowered(&runs), @r#"{"first":[{"outside":{"does":{"command":{"argv":["/p/.agent/tailor/handlers/done.sh"],"timeout":60000,"input":{"agent":"tailor","parameters":{"customer":"Sato"}},"told":"by_answer"}},"once":"read_only"}},"flow"]}"#);
    insta::assert_snapshot!(done("custom", json!({"handlerPath": "/bin/true"})).said(), @"error steps/path-escape agent.json:7:22 `/bin/true` is not a relative path (write a path below the agent's own directory, with `/`)");
}

// S-63
#[test]
fn phases_follow_signals() {
    let project = done("phaseCompletion", json!({"terminalPhases": ["review"]}))
        .agent("/actions", json!({"enabled": true, "types": ["phase-advance", "complete"]}))
        .file("prompts/order/quote/text/f_default.md", "{uv-phase}");
    let workflow = project.workflow();
    let Completion::First(parts) = &workflow.completion else { panic!("{:?}", workflow.completion) };
    let kinds: Vec<&str> = parts.iter().map(kind).collect();
    assert_eq!(kinds, ["phase", "signal", "flow"]);
    assert_eq!(super::shown(&super::turn(&workflow, "quote").prompt), "<CurrentPhase>");
}

fn kind(completion: &Completion) -> &'static str {
    match completion {
        Completion::Phase(_) => "phase",
        Completion::Signal { .. } => "signal",
        Completion::Flow => "flow",
        Completion::Rounds(_)
        | Completion::Checks(_)
        | Completion::Keyword(_)
        | Completion::Outside(_)
        | Completion::All(_)
        | Completion::Any(_)
        | Completion::First(_) => "other",
    }
}

// S-28, S-29
#[test]
fn only_the_person_raises_the_hard_limit() {
    let project = done("iterationBudget", json!({"maxIterations": 500}));
    insta::assert_snapshot!(project.said(), @"warning steps/hard-limit agent.json:7:24 a run is stopped after 100 iterations, before these 500 are done (a person can raise that: `--max-iterations`, or the setting `limits.hard_iterations`)");
    let limits = project.workflow().limits;
    assert_eq!((limits.rounds, limits.hard_rounds), (Some(500), Some(100)));
    let project = project.options(|options| options.max_iterations = Some(120));
    assert_eq!(project.said(), "");
    let workflow = project.workflow();
    assert_eq!((workflow.limits.rounds, workflow.limits.hard_rounds), (Some(120), Some(120)));
    assert_eq!(lowered(&project), r#"{"first":[{"rounds":120},"flow"]}"#, "the budget is the person's too");
}

// S-67, case 37
#[test]
fn blocks_do_what_their_handlers_say() {
    let actions = |value: Json| Project::tailor().agent("/actions", value);
    let project = actions(json!({
        "enabled": true, "types": ["note", "report", "complete"], "outputFormat": "do",
        "handlers": {"report": "file", "note": "builtin:log", "complete": "completion-signal"}
    }));
    let blocks = |project: &Project| {
        serde_json::to_string(&super::turn(&project.workflow(), "measure").reads.blocks).unwrap()
    };
    insta::assert_snapshot!(blocks(&project), @r#"{"fence":"do","uses":{"note":{"do":{"does":"log","once":"read_only"}},"report":{"do":{"does":{"write_file":{"path":"output.md","append":true}},"once":"look_up_first"}},"complete":"signal"}}"#);
    assert_eq!(blocks(&actions(json!({"enabled": false, "types": ["note"]}))), "null");
    let signal = done("structuredSignal", json!({"signalType": "ship"}));
    insta::assert_snapshot!(blocks(&signal), @r#"{"fence":"action","uses":{"ship":"signal"}}"#);
    insta::assert_snapshot!(actions(json!({"types": []})).said(), @"error steps/missing-key agent.json:2:14 `actions` needs `enabled`");
    let wrong = json!({
        "enabled": true, "types": ["note"],
        "handlers": {"note": "./handler.ts", "nte": "file"}
    });
    insta::assert_snapshot!(actions(wrong).said(), @r"
    error steps/not-supported agent.json:5:15 the handler `./handler.ts` is not supported (there is `builtin:log`, `file`, `completion-signal`, `github-issue` and `github-comment`)
    error steps/bad-value agent.json:6:7 `nte` is not among `types` (did you mean `note`?)
    ");
    let issues = json!({"enabled": true, "types": ["bug", "word"],
        "handlers": {"bug": "github-issue", "word": "github-comment"}});
    insta::assert_snapshot!(actions(issues.clone()).said(), @r#"
    error steps/bad-value agent.json:5:14 the handler `github-issue` needs GitHub, which is off (add `"github": {"enabled": true}` to `agent.json`, in the later format to `integrations`)
    error steps/bad-value agent.json:6:15 the handler `github-comment` needs GitHub, which is off (add `"github": {"enabled": true}` to `agent.json`, in the later format to `integrations`)
    "#);
    let allowed = actions(issues).agent("/github", json!({"enabled": true}));
    insta::assert_snapshot!(blocks(&allowed), @r#"{"fence":"action","uses":{"bug":{"do":{"does":"open_issue","once":"look_up_first"}},"word":{"do":{"does":"comment","once":"look_up_first"}}}}"#);
    let wrong = json!({"enabled": true, "types": ["note"], "handlers": {"note": "completion-signal"}});
    insta::assert_snapshot!(actions(wrong).said(), @"error steps/bad-value agent.json:5:15 a block of type `note` does not control the completion (these types do: `project-plan`, `review-result`, `phase-advance` and `complete`)");
}

// A limit without effect is refused, and an unreachable budget is reported in every position.
#[test]
fn a_part_of_a_composite_has_no_limit_of_its_own() {
    let parts =
        |parts: Json| done("composite", json!({"operator": "or", "conditions": parts, "maxIterations": 9}));
    let keyword =
        json!([{"type": "keywordSignal", "config": {"completionKeyword": "x", "maxIterations": 5}}]);
    insta::assert_snapshot!(parts(keyword).said(), @"error steps/bad-value agent.json:11:30 a part of `composite` has no limit of its own (write `maxIterations` next to `operator`: it applies to the whole run)");
    let budget =
        json!([{"type": "iterationBudget", "config": {"maxIterations": 500}}, {"type": "stepMachine"}]);
    insta::assert_snapshot!(parts(budget).said(), @"warning steps/hard-limit agent.json:10:30 a run is stopped after 100 iterations, before these 500 are done (a person can raise that: `--max-iterations`, or the setting `limits.hard_iterations`)");
}

// S-10, S-60: the rules of `stepMachine` also apply inside a composite.
#[test]
fn a_step_machine_among_others_agrees_and_can_end() {
    let parts = json!([{"type": "stepMachine", "config": {"entryStep": "quote"}}, {"type": "checkBudget", "config": {"maxChecks": 2}}]);
    let said = done("composite", json!({"operator": "and", "conditions": parts})).said();
    assert!(said.contains("steps/bad-value") && said.contains("`quote` is not `measure`"), "{said}");
    let endless = |operator: &str| {
        let parts = json!([{"type": "stepMachine"}, {"type": "checkBudget", "config": {"maxChecks": 2}}]);
        let project = done("composite", json!({"operator": operator, "conditions": parts}));
        project.registry("/steps/quote/check/onPass", json!({"next": "measure"})).said()
    };
    assert!(endless("and").contains("workflow/no-end"), "{}", endless("and"));
    assert!(!endless("or").contains("no-end"), "{}", endless("or"));
}
