//! Agents in the words of several releases of climpt. The table in the manual lists what these files show.

use saihai_model::{Action, CommandVerdict, Json};
use serde_json::json;

use super::later::later;
use super::stage;

/// The table of releases in the manual.
const MANUAL: &str = include_str!("../../../../../docs/guides/coming-from-climpt.md");

/// Checks that the manual lists the key for the release, and returns the diagnostics of the changed agent.
#[track_caller]
fn loads(release: &str, key: &str, change: impl FnOnce(&mut Json, &mut Json)) -> String {
    let row = format!("| {release} |");
    let listed = MANUAL.lines().any(|line| line.starts_with(&row) && line.contains(&format!("`{key}`")));
    assert!(listed, "the manual does not list `{key}` for {release}");
    later().with(|later| change(&mut later.agent, &mut later.registry)).said()
}

// Issue 25
#[test]
fn agents_of_climpt_1_10_to_1_14_load() {
    let renamed = loads("1.10, 1.11", "completionSteps", |_, registry| {
        let mut steps = registry["validationSteps"].take();
        let conditions = steps["close"]["postLLMConditions"].take();
        steps["close"].as_object_mut().unwrap().remove("postLLMConditions");
        steps["close"]["completionConditions"] = conditions;
        registry.as_object_mut().unwrap().remove("validationSteps");
        registry["completionSteps"] = steps;
        let patterns = registry["failurePatterns"].take();
        registry.as_object_mut().unwrap().remove("failurePatterns");
        registry["completionPatterns"] = patterns;
    });
    assert_eq!(renamed, later().said());
    let address = loads("1.13", "address", |_, registry| {
        registry["failurePatterns"]["dirty"] = json!({"address": {"c2": "closure", "c3": "order", "edition": "failed", "adaptation": "dirty"}, "params": ["files"]});
    });
    assert_eq!(address, later().said());
    let parameter = loads("1.13", "issueParam", |agent, registry| {
        registry["entryStepMapping"] = json!({"poll:state": "initial.cut"});
        agent["runner"]["verdict"] = json!({"type": "poll:state", "config": {"issueParam": "issue"}});
    });
    assert!(!parameter.contains("error"), "{parameter}");
    let unused = loads("1.13", "validationSteps", |_, registry| {
        let step = registry["validationSteps"]["close"].clone();
        registry["validationSteps"]["sew"] = step;
    });
    assert!(!unused.contains("error") && unused.contains("never says `closing`"), "{unused}");
    let free = loads("1.14", "boundaries", |agent, _| {
        agent["runner"].as_object_mut().unwrap().remove("boundaries");
    });
    assert!(!free.contains("error") && free.contains("`runner` has no `boundaries`"), "{free}");
}

// Issue 25, S-16
#[test]
fn a_validator_may_succeed_by_printing_something() {
    assert!(MANUAL.contains("`successWhen: non-empty`"));
    let later =
        later().with(|later| later.registry["validators"]["clean"]["successWhen"] = json!("non-empty"));
    let workflow = later.project().workflow();
    let told: Vec<CommandVerdict> = stage(&workflow, "close")
        .proofs()
        .filter_map(|proof| match &proof.by.does {
            Action::Command { told, .. } => Some(*told),
            _ => None,
        })
        .collect();
    assert_eq!(told, [CommandVerdict::ByOutput, CommandVerdict::ByExitCode]);
}

// Issue 25: fixing one mistake must not reveal others that were there before.
#[test]
fn a_missing_entry_hides_no_other_error() {
    let later = later().with(|later| {
        later.registry.as_object_mut().unwrap().remove("entryStepMapping");
        later.registry["steps"]["close"]["c3"] = json!("nowhere");
    });
    let said = later.said();
    assert!(said.contains("no first prompt for") && said.contains("steps/prompt-not-found"), "{said}");
}

// Issue 25: what stays unsupported is refused by name.
#[test]
fn what_is_not_lowered_is_refused_by_name() {
    let behavior = super::Project::tailor().agent("/behavior/preCloseValidation", json!({"enabled": true}));
    assert!(behavior.said().starts_with("error steps/not-supported"), "{}", behavior.said());
    let off = super::Project::tailor().agent("/behavior/preCloseValidation", json!({"enabled": false}));
    assert_eq!(off.said(), super::Project::tailor().said());
}
