//! Catalogues: registries that only list prompts.

use serde_json::{Value as Json, json};

use super::{Project, shown, turn};

/// Builds an agent with a changed catalogue. `initial.iterate` and `continuation.iterate` have prompts.
fn catalogue(change: impl FnOnce(&mut Json)) -> Project {
    let mut catalogue = json!({
        "agentId": "tailor", "version": "1.0.0", "c1": "steps",
        "steps": {
            "initial.iterate": {"stepId": "initial.iterate", "c2": "initial", "c3": "iterate", "uvVariables": ["customer"]},
            "continuation.iterate": {"c2": "continuation", "c3": "iterate", "fallbackKey": "x"}
        }
    });
    change(&mut catalogue);
    Project::tailor()
        .agent("/behavior/completionType", json!("iterationBudget"))
        .agent("/behavior/completionConfig", json!({"maxIterations": 3}))
        .file("steps_registry.json", serde_json::to_string_pretty(&catalogue).unwrap())
        .file("prompts/steps/initial/iterate/f_default.md", "Begin for {uv-customer}.")
        .file(
            "prompts/steps/continuation/iterate/f_default.md",
            "Go on: {uv-iteration} of {uv-max_iterations}.",
        )
}

// S-13, case 40
#[test]
fn a_catalogue_is_one_prompt_and_then_another_until_the_work_is_done() {
    let project = catalogue(|_| {});
    assert_eq!(project.said(), "");
    let workflow = project.workflow();
    assert_eq!(workflow.entry.as_str(), "initial.iterate");
    let ids: Vec<&str> = workflow.stages.keys().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["initial.iterate", "continuation.iterate"]);
    let exits: Vec<String> =
        workflow.stages.values().map(|stage| serde_json::to_string(&stage.exit).unwrap()).collect();
    insta::assert_snapshot!(exits.join("\n"), @r#"
    {"rules":{"rules":[{"when":"always","then":{"stage":"continuation.iterate"}}],"otherwise":{"end":{"failed":"step_failed initial.iterate"}}}}
    {"rules":{"rules":[{"when":"always","then":{"again":{"exhausted":{"end":{"failed":"step_failed continuation.iterate"}}}}}],"otherwise":{"end":{"failed":"step_failed continuation.iterate"}}}}
    "#);
    assert!(shown(&turn(&workflow, "initial.iterate").prompt).starts_with("Begin for (the customer)."));
    assert_eq!(
        shown(&turn(&workflow, "continuation.iterate").prompt),
        "Go on: <Iteration> of <MaxIterations>."
    );
}

// S-13
#[test]
fn templates_name_the_files_of_a_catalogue() {
    let project = catalogue(|catalogue| {
        catalogue["userPromptsBase"] = json!(".agent/{agentId}/own");
        catalogue["pathTemplate"] = json!("{c2}-{c3}-{edition}-{adaptation}.txt");
        catalogue["steps"]["initial.iterate"]["adaptation"] = json!("polite");
        catalogue["steps"]["continuation.iterate"]["promptPath"] = json!("on.md");
    });
    let project = project
        .file("own/initial-iterate-default-polite.txt", "Please, {uv-customer}.")
        .file("own/on.md", "On.");
    assert_eq!(project.said(), "");
    assert!(
        shown(&turn(&project.workflow(), "initial.iterate").prompt).starts_with("Please, (the customer).")
    );
}

// S-13
#[test]
fn what_is_wrong_with_a_catalogue_is_told() {
    insta::assert_snapshot!(catalogue(|catalogue| catalogue["agentId"] = json!("seamstress")).said(), @"
    error steps/agent-id steps_registry.json:2:14 the catalogue is for the agent `seamstress`
    error steps/prompt-not-found steps_registry.json:5:29 no prompt was found; tried `…/seamstress/prompts/steps/continuation/iterate/f_default.md` (an empty file counts as missing)
    error steps/prompt-not-found steps_registry.json:10:24 no prompt was found; tried `.agent/seamstress/prompts/steps/initial/iterate/f_default.md` (an empty file counts as missing)
    ");
    let misnamed =
        catalogue(|catalogue| catalogue["steps"]["initial.iterate"]["stepId"] = json!("initial.issue"));
    insta::assert_snapshot!(misnamed.said(), @"error steps/step-id steps_registry.json:13:17 the step `initial.iterate` has the id `initial.issue`");
    let keyword = catalogue(|_| {})
        .agent("/behavior/completionType", json!("keywordSignal"))
        .agent("/behavior/completionConfig", json!({"completionKeyword": "DONE"}));
    insta::assert_snapshot!(keyword.said(), @"error steps/unknown-step steps_registry.json:4:12 the prompt `initial.manual` does not exist (add it, or name another one in `entryStepMapping`)");
    let alone = catalogue(|catalogue| {
        catalogue["steps"].as_object_mut().unwrap().remove("continuation.iterate");
    });
    insta::assert_snapshot!(alone.said(), @"error steps/unknown-step steps_registry.json:4:12 the prompt `continuation.iterate` does not exist (add it, or name another one in `entryStepMapping`)");
    let once = alone.agent("/behavior/completionConfig", json!({"maxIterations": 1}));
    assert_eq!(once.said(), "");
    let flow = catalogue(|_| {}).agent("/behavior/completionType", json!("stepMachine"));
    insta::assert_snapshot!(flow.said(), @"error steps/missing-key steps_registry.json:1:1 no first prompt for `stepMachine` (name it in `entryStepMapping`)");
    let phases = catalogue(|_| {})
        .agent("/behavior/completionType", json!("phaseCompletion"))
        .agent("/behavior/completionConfig", json!({"terminalPhases": ["review"]}))
        .agent("/actions", json!({"enabled": true, "types": ["phase-advance"]}));
    insta::assert_snapshot!(phases.said(), @r"
    error steps/unknown-step steps_registry.json:4:12 the prompt `initial.project.preparation` does not exist (add it, or name another one in `entryStepMapping`)
    error steps/unknown-step steps_registry.json:4:12 the prompt `continuation.project.preparation` does not exist (add it, or name another one in `entryStepMapping`)
    error steps/unknown-step steps_registry.json:4:12 the prompt `initial.project.processing` does not exist (add it, or name another one in `entryStepMapping`)
    error steps/unknown-step steps_registry.json:4:12 the prompt `continuation.project.processing` does not exist (add it, or name another one in `entryStepMapping`)
    ");
    let unnamed = catalogue(|catalogue| {
        catalogue["steps"]["initial.iterate"].as_object_mut().unwrap().remove("c2");
    });
    insta::assert_snapshot!(unnamed.said(), @"error steps/prompt-ref steps_registry.json:10:24 a prompt needs `c2`, or `promptPath`");
}

// S-13, S-63
#[test]
fn each_phase_has_prompts_of_its_own() {
    let phases = catalogue(|catalogue| {
        catalogue["steps"] = json!({});
        for phase in ["preparation", "processing", "review", "again"] {
            for (part, name) in [("initial", "Begin"), ("continuation", "Go on with")] {
                let id = format!("{part}.project.{phase}");
                catalogue["steps"][&id] = json!({"promptPath": format!("{name} {phase}.md")});
            }
        }
    });
    let phases = phases
        .agent("/behavior/completionType", json!("project"))
        .agent("/behavior/completionConfig", json!({}))
        .agent("/actions", json!({"enabled": true, "types": ["phase-advance", "review-result"]}));
    let prompts = ["preparation", "processing", "review", "again"].into_iter();
    let phases = prompts.fold(phases, |project, phase| {
        let project = project.file(&format!("prompts/Begin {phase}.md"), "x");
        project.file(&format!("prompts/Go on with {phase}.md"), "x")
    });
    insta::assert_snapshot!(phases.said(), @"note steps/other-name agent.json:14:23 `project` is another name of `phaseCompletion`");
    let workflow = phases.workflow();
    assert_eq!(workflow.entry.as_str(), "initial.project.preparation");
    let exits = workflow.stages.iter().map(|(id, stage)| {
        let saihai_model::Exit::Rules { rules, .. } = &stage.exit else { panic!("{id}") };
        let saihai_model::Target::ByPhase { stages } = &rules[0].then else { panic!("{id}") };
        let to: Vec<String> = stages.iter().map(|(phase, id)| format!("{phase}: {id}")).collect();
        format!("{id} => {}", to.join(", "))
    });
    insta::assert_snapshot!(exits.collect::<Vec<_>>().join("\n"), @r"
    initial.project.preparation => again: initial.project.again, preparation: continuation.project.preparation, processing: initial.project.processing, review: initial.project.review
    continuation.project.preparation => again: initial.project.again, preparation: continuation.project.preparation, processing: initial.project.processing, review: initial.project.review
    initial.project.processing => again: initial.project.again, preparation: initial.project.preparation, processing: continuation.project.processing, review: initial.project.review
    continuation.project.processing => again: initial.project.again, preparation: initial.project.preparation, processing: continuation.project.processing, review: initial.project.review
    initial.project.review => again: initial.project.again, preparation: initial.project.preparation, processing: initial.project.processing, review: continuation.project.review
    continuation.project.review => again: initial.project.again, preparation: initial.project.preparation, processing: initial.project.processing, review: continuation.project.review
    initial.project.again => again: continuation.project.again, preparation: initial.project.preparation, processing: initial.project.processing, review: initial.project.review
    continuation.project.again => again: continuation.project.again, preparation: initial.project.preparation, processing: initial.project.processing, review: initial.project.review
    ");
    let mapped = catalogue(|catalogue| catalogue["entryStepMapping"] = json!({"project": "initial.iterate"}))
        .agent("/behavior/completionType", json!("project"))
        .agent("/behavior/completionConfig", json!({}))
        .agent("/actions", json!({"enabled": true, "types": ["phase-advance"]}));
    assert_eq!(mapped.workflow().entry.as_str(), "initial.iterate", "a mapping wins");
}

#[test]
fn every_completion_type_begins_with_the_prompts_of_its_mode() {
    let file = json!({"resourceType": "file", "path": "x", "targetState": "exists"});
    let keyword = json!({"completionKeyword": "DONE"});
    let both = json!({"operator": "or", "conditions": [{"type": "keywordSignal", "config": keyword}]});
    let modes = [
        ("iterationBudget", json!({"maxIterations": 3}), "iterate"),
        ("externalState", file, "issue"),
        ("keywordSignal", keyword.clone(), "manual"),
        ("structuredSignal", json!({"signalType": "done"}), "structured_signal"),
        ("composite", both, "composite"),
    ];
    let of = |kind: &str, config: &Json, mode: &str| {
        let project = catalogue(|catalogue| {
            catalogue["steps"] = json!({
                format!("initial.{mode}"): {"c2": "initial", "c3": "iterate"},
                format!("continuation.{mode}"): {"c2": "continuation", "c3": "iterate"},
            });
        });
        project
            .agent("/behavior/completionType", json!(kind))
            .agent("/behavior/completionConfig", config.clone())
    };
    for (kind, config, mode) in &modes {
        let workflow = of(kind, config, mode).workflow();
        let stages: Vec<&str> = workflow.stages.keys().map(|id| id.as_str()).collect();
        assert_eq!(workflow.entry.as_str(), format!("initial.{mode}"), "{kind}");
        assert_eq!(stages, [format!("initial.{mode}"), format!("continuation.{mode}")], "{kind}");
    }
    // The mode is valid, but a catalogue without a flow has no checks to count.
    insta::assert_snapshot!(of("checkBudget", &json!({"maxChecks": 2}), "check_budget").said(), @"error steps/never-complete agent.json:9:23 checks are counted, and no step has a `check`");
    let custom = of("custom", &json!({"handlerPath": "done.sh"}), "iterate").file("done.sh", "#!/bin/sh\n");
    insta::assert_snapshot!(custom.said(), @"
    error steps/bad-handler agent.json:7:22 `done.sh` is not a program that can run (it must be a file below the agent's directory, and executable)
    error steps/missing-key steps_registry.json:1:1 no first prompt for `custom` (name it in `entryStepMapping`)
    ");
    let mapped = |kind: &str, config: &Json| {
        let mut project =
            catalogue(|catalogue| catalogue["entryStepMapping"] = json!({kind: "initial.iterate"}))
                .agent("/behavior/completionType", json!(kind))
                .agent("/behavior/completionConfig", config.clone());
        project.source.add_program(format!("{}/done.sh", super::HOME), "#!/bin/sh");
        project
    };
    let custom = mapped("custom", &json!({"handlerPath": "done.sh"})).workflow();
    let stages: Vec<&str> = custom.stages.keys().map(|id| id.as_str()).collect();
    assert_eq!(stages, ["initial.iterate", "continuation.iterate"]);
    // The prompt is valid, but without a flow no step completes the run.
    insta::assert_snapshot!(mapped("stepMachine", &json!({})).said(), @r#"error workflow/no-end steps_registry.json:13:5 no path leads from step `initial.iterate` to an end of the flow (let a step be `"terminal": true`, or a check `"complete": true`)"#);
}

// S-13
#[test]
fn prompts_of_other_modes_are_noted_and_can_be_chosen() {
    let project = catalogue(|catalogue| {
        catalogue["steps"]["initial.issue"] = json!({"c2": "initial", "c3": "iterate"});
        catalogue["steps"]["continuation.issue"] = json!({"c2": "continuation", "c3": "iterate"});
    });
    insta::assert_snapshot!(project.said(), @"note steps/unused-prompt steps_registry.json:5:5 this completion type does not use `continuation.issue` and `initial.issue`");
    let about = project.options(|options| options.issue = saihai_model::IssueNumber::new(7));
    assert_eq!(about.workflow().entry.as_str(), "initial.issue", "`--issue` chooses it");
    let only = catalogue(|catalogue| {
        let steps = catalogue["steps"].as_object_mut().unwrap();
        steps.clear();
        steps.insert("initial.issue".to_owned(), json!({"c2": "initial", "c3": "iterate"}));
    });
    insta::assert_snapshot!(only.said(), @"error steps/unknown-step steps_registry.json:4:12 the prompt `initial.iterate` does not exist (`--issue N` begins with `initial.issue`)");
    let mapped = catalogue(|catalogue| {
        catalogue["steps"]["initial.issue"] = json!({"c2": "initial", "c3": "iterate"});
        catalogue["steps"]["continuation.issue"] = json!({"c2": "continuation", "c3": "iterate"});
        catalogue["entryStepMapping"] = json!({"iterate": "initial.issue"});
    });
    assert_eq!(mapped.workflow().entry.as_str(), "initial.issue");
}

// Unused prompts are listed, and their errors reported.
#[test]
fn an_entry_that_no_mode_uses_is_read_all_the_same() {
    let said = |entry: Json| catalogue(|catalogue| catalogue["steps"]["initial.issue"] = entry).said();
    insta::assert_snapshot!(said(json!({"c2": "x", "c3": "y"})), @"note steps/unused-prompt steps_registry.json:10:5 this completion type does not use `initial.issue`");
    insta::assert_snapshot!(said(json!(5)), @r#"
    note steps/unused-prompt steps_registry.json:10:5 this completion type does not use `initial.issue`
    error steps/bad-type steps_registry.json:10:22 `["initial.issue"]` must be a mapping, not a whole number
    "#);
    insta::assert_snapshot!(said(json!({"stepId": "initial.isue", "address": {"c4": "x"}})), @r"
    note steps/unused-prompt steps_registry.json:10:5 this completion type does not use `initial.issue`
    error steps/unknown-key steps_registry.json:12:9 unknown key `c4` (`address` has the keys `c1`, `c2`, `c3`, `edition` and `adaptation`)
    error steps/step-id steps_registry.json:14:17 the step `initial.issue` has the id `initial.isue`
    ");
}

// Without a flow no step closes.
#[test]
fn validators_of_a_catalogue_without_a_flow_are_refused() {
    let said = |change: fn(&mut Json)| catalogue(change).said();
    insta::assert_snapshot!(said(|catalogue| catalogue["validationSteps"] = json!({"close": {"stepIdd": "close"}})), @r"
    error steps/not-supported steps_registry.json:20:5 nothing would be validated: no step of this catalogue can say `closing` (give the step that closes a `structuredGate`, or remove `validationSteps`)
    error steps/unknown-key steps_registry.json:21:7 unknown key `stepIdd` (did you mean `stepId`?)
    ");
    insta::assert_snapshot!(said(|catalogue| catalogue["validators"] = json!({"clean": {"type": "command"}})), @r"
    error steps/missing-key steps_registry.json:20:14 a validator needs `command`
    error steps/missing-key steps_registry.json:20:14 a validator needs `successWhen`
    error steps/missing-key steps_registry.json:20:14 a validator needs `failurePattern`
    ");
}

// A mapping names both prompts, or one that starts with `initial.`.
#[test]
fn what_follows_a_mapped_prompt_is_said_or_follows_from_its_name() {
    let mapped = |mapping: Json| {
        catalogue(|catalogue| {
            catalogue["steps"]["begin"] =
                json!({"promptPath": "steps/initial/iterate/f_default.md", "uvVariables": ["customer"]});
            catalogue["entryStepMapping"] = mapping;
        })
    };
    insta::assert_snapshot!(mapped(json!({"iterationBudget": "begin"})).said(), @r#"
    error steps/unknown-step steps_registry.json:5:24 no next prompt after `begin` (name both prompts: `{"initial": …, "continuation": …}`)
    note steps/unused-prompt steps_registry.json:14:5 this completion type does not use `continuation.iterate` and `initial.iterate`
    "#);
    let once =
        mapped(json!({"iterate": "begin"})).agent("/behavior/completionConfig/maxIterations", json!(1));
    assert!(!once.load().diagnostics.has_errors(), "nothing follows: {}", once.said());
    let both =
        mapped(json!({"iterate": {"initial": "begin", "continuation": "continuation.iterate"}})).workflow();
    let ids: Vec<&str> = both.stages.keys().map(|id| id.as_str()).collect();
    assert_eq!((both.entry.as_str(), ids), ("begin", vec!["begin", "continuation.iterate"]));
    insta::assert_snapshot!(mapped(json!({"iterat": "begin"})).said(), @r"
    error steps/unknown-key steps_registry.json:5:5 `iterat` is neither a completion type nor a mode (did you mean `iterate`?)
    note steps/unused-prompt steps_registry.json:8:5 this completion type does not use `begin`
    ");
}

#[test]
fn two_entries_that_share_a_file_by_different_splits_are_warned_of() {
    let project = catalogue(|catalogue| {
        let steps = &mut catalogue["steps"];
        steps["initial.iterate"] = json!({"c2": "x", "c3": "y", "edition": "a_b"});
        steps["continuation.iterate"] = json!({"c2": "x", "c3": "y", "edition": "a", "adaptation": "b"});
    });
    insta::assert_snapshot!(project.file("prompts/steps/x/y/f_a_b.md", "Sew.").said(), @"warning steps/shared-prompt steps_registry.json:5:29 two references mean the file `steps/x/y/f_a_b.md`");
}

// S-5, S-10: entries for other completion types are checked too.
#[test]
fn every_entry_of_the_mapping_is_looked_at() {
    let mapped = |mapping: Json| catalogue(|catalogue| catalogue["entryStepMapping"] = mapping).said();
    insta::assert_snapshot!(mapped(json!({"manual": {"initail": "x"}, "issue": "nowhere", "project": {"initial": "initial.iterate", "continuation": "on"}})), @"
    error steps/unknown-step steps_registry.json:5:14 the prompt `nowhere` does not exist (name one of `steps`)
    error steps/unknown-key steps_registry.json:7:7 unknown key `initail` (did you mean `initial`?)
    error steps/unknown-step steps_registry.json:10:23 the prompt `on` does not exist (name one of `steps`)
    ");
    assert_eq!(mapped(json!({"manual": "initial.iterate"})), "");
    let unused = catalogue(|catalogue| {
        catalogue["steps"]["initial.manual"] =
            json!({"c2": "initial", "c3": "iterate", "inputs": {"x": {"frm": "a.b"}}});
    });
    assert!(unused.said().contains("steps/unknown-key"), "{}", unused.said());
}
