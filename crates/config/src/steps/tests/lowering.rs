//! Lowering of steps.

use saihai_model::{Exit, SessionPolicy, Workflow};
use serde_json::json;

use super::{Project, stage, turn};

fn exit(workflow: &Workflow, id: &str) -> String {
    let Exit::Rules { rules, otherwise, .. } = &stage(workflow, id).exit else { panic!("not by rules") };
    let rules = rules.iter().map(|rule| {
        let (when, then) =
            (serde_json::to_string(&rule.when).unwrap(), serde_json::to_string(&rule.then).unwrap());
        format!("{when} => {then}")
    });
    let otherwise = format!("otherwise => {}", serde_json::to_string(otherwise).unwrap());
    rules.chain([otherwise]).collect::<Vec<_>>().join("\n")
}

// S-39
#[test]
fn checks_and_transitions_become_exits() {
    let workflow = Project::tailor().workflow();
    insta::assert_snapshot!(exit(&workflow, "measure"), @r#"
    "always" => {"stage":"quote"}
    otherwise => {"end":{"failed":"step_failed measure"}}
    "#);
    insta::assert_snapshot!(exit(&workflow, "quote"), @r#"
    {"is":"ok"} => "complete"
    {"is":"ng"} => {"again":{"at_most":2,"exhausted":{"stage":"measure"}}}
    otherwise => {"end":{"failed":"step_failed quote"}}
    "#);
    let usual = Project::tailor().registry("/steps/quote/check/onFail", json!({"retry": true}));
    insta::assert_snapshot!(exit(&usual.workflow(), "quote"), @r#"
    {"is":"ok"} => "complete"
    {"is":"ng"} => {"again":{"at_most":3,"exhausted":{"end":{"failed":"retries_exhausted quote 3"}}}}
    otherwise => {"end":{"failed":"step_failed quote"}}
    "#);
    let priority = json!({"complete": false, "fallback": "measure", "retry": true});
    let fallback = Project::tailor().registry("/steps/quote/check/onFail", priority);
    insta::assert_snapshot!(exit(&fallback.workflow(), "quote"), @r#"
    {"is":"ok"} => "complete"
    {"is":"ng"} => {"stage":"measure"}
    otherwise => {"end":{"failed":"step_failed quote"}}
    "#);
}

// S-36, S-46
#[test]
fn rounds_and_corrections_end_in_the_failure_of_the_step() {
    let project = Project::tailor().registry("/steps/measure/iterations", json!({"min": 2, "max": 4}));
    let workflow = project.workflow();
    insta::assert_snapshot!(serde_json::to_string(&stage(&workflow, "measure").rounds).unwrap(), @r#"{"min":2,"max":4,"too_many":{"end":{"failed":"step_failed measure"}}}"#);
    let output = |id: &str| {
        serde_json::to_string(&turn(&workflow, id).reads.output.as_ref().unwrap().still_wrong).unwrap()
    };
    insta::assert_snapshot!(output("measure"), @r#"{"go":{"end":{"failed":"step_failed measure"}}}"#);
    assert_eq!(output("quote"), r#""keep_valid_items""#, "what has no schema cannot be wrong");
    let checked =
        Project::tailor().registry("/steps/quote/outputSchema", json!({"price": {"type": "number"}}));
    let workflow = checked.workflow();
    let output = turn(&workflow, "quote").reads.output.as_ref().unwrap();
    insta::assert_snapshot!(serde_json::to_string(&output.still_wrong).unwrap(), @r#"{"go":{"again":{"at_most":2,"exhausted":{"stage":"measure"}}}}"#);
    assert_eq!(output.corrections, 1);
}

// S-57
#[test]
fn all_steps_of_an_agent_share_one_session() {
    let workflow = Project::tailor().workflow();
    let session = SessionPolicy::Continue(saihai_model::SessionKey::from("script:tailor"));
    assert_eq!(
        (&turn(&workflow, "measure").session, &turn(&workflow, "quote").session),
        (&session, &session)
    );
}

// S-73
#[test]
fn a_gate_stands_before_every_way_into_its_step() {
    let project = Project::tailor()
        .registry("/steps/measure/gate", json!("Is the customer there?"))
        .file("prompts/order/measure/text/f_default.md", "Measure. {uv-answer}");
    let workflow = project.workflow();
    assert_eq!(workflow.entry.as_str(), "measure/gate");
    insta::assert_snapshot!(exit(&workflow, "measure/gate"), @r#"
    {"is":"yes"} => {"stage":"measure"}
    otherwise => {"end":"declined"}
    "#);
    insta::assert_snapshot!(exit(&workflow, "quote"), @r#"
    {"is":"ok"} => "complete"
    {"is":"ng"} => {"again":{"at_most":2,"exhausted":{"stage":"measure/gate"}}}
    otherwise => {"end":{"failed":"step_failed quote"}}
    "#);
    assert!(super::shown(&turn(&workflow, "measure").prompt).starts_with("Measure. <measure/gate.answer>"));
}

#[test]
fn a_check_is_asked_in_the_same_session_and_read_by_its_result() {
    let workflow = Project::tailor().workflow();
    let question = turn(&workflow, "quote").reads.choice.as_ref().unwrap().question().unwrap();
    insta::assert_snapshot!(serde_json::to_string(&question.answer).unwrap(), @r#"{"form":{"schema":{"schema":{"required":["result"],"type":"object"},"required":true},"field":"result","means":{"fail":"ng","false":"ng","ng":"ng","ok":"ok","pass":"ok","true":"ok"},"message":"message"}}"#);
    assert_eq!((question.corrections, question.unreadable.clone()), (1, Some("ng".into())));
    assert_eq!(question.session, saihai_model::QuestionSession::Same);
}

#[test]
fn an_input_is_needed_or_has_a_default_or_is_left_out() {
    let inputs = |value| {
        let project = Project::tailor().registry("/steps/quote/inputs", json!({"measure.height": value}));
        let workflow = project.workflow();
        let quote = turn(&workflow, "quote");
        let value = quote.prompt.sections[1]
            .body
            .iter()
            .find(|part| matches!(part, saihai_model::PromptPart::Value(..)));
        format!("{:?} {}", quote.needs, serde_json::to_string(&value).unwrap())
    };
    insta::assert_snapshot!(inputs(json!(true)), @r#"[(StageId("measure"), "height")] {"value":[{"output":{"stage":"measure","key":"height"}},"plain"]}"#);
    insta::assert_snapshot!(inputs(json!({"default": {"cm": 170}})), @r#"[] {"value":[{"output":{"stage":"measure","key":"height","otherwise":{"inline":"{\"cm\":170}"}}},"plain"]}"#);
    insta::assert_snapshot!(inputs(json!({"onMissing": "skip"})), @r#"[] {"value":[{"output":{"stage":"measure","key":"height"}},"plain"]}"#);
    insta::assert_snapshot!(inputs(json!({"required": false})), @r#"[] {"value":[{"output":{"stage":"measure","key":"height"}},"plain"]}"#);
}

// N-12
#[test]
fn steps_that_edit_and_steps_that_read_have_a_breaker_unless_the_agent_says_otherwise() {
    let agent = || {
        let edits = Project::tailor().registry("/steps/measure/permissionMode", json!("acceptEdits"));
        let priority = json!({"complete": false, "fallback": "measure", "retry": true});
        edits.registry("/steps/quote/check/onFail", priority)
    };
    let stages = vec!["measure".into(), "quote".into()];
    assert_eq!(agent().workflow().breakers, [saihai_model::Breaker::usual(stages.clone())]);
    assert_eq!(agent().agent("/progress", json!("off")).workflow().breakers, []);
    let given = agent().agent("/progress", json!({"still": 6})).workflow().breakers;
    let expected = saihai_model::Breaker { still: Some(6), ..saihai_model::Breaker::usual(stages) };
    assert_eq!(given, [expected]);
}
