//! Properties that hold for every agent.

use proptest::prelude::*;
use serde_json::json;

use super::Project;

proptest! {
    // No input panics, and a workflow exists only without errors (S-20).
    #[test]
    fn any_text_is_read_or_refused(agent in ".{0,200}", registry in ".{0,200}", prompt in ".{0,100}") {
        let project = Project::tailor()
            .file("agent.json", agent)
            .file("steps_registry.json", registry.clone());
        let loaded = project.load();
        prop_assert!(loaded.workflow.is_none() && loaded.diagnostics.has_errors());
        let loaded = Project::tailor().file("steps_registry.json", registry).load();
        prop_assert_eq!(loaded.workflow.is_none(), loaded.diagnostics.has_errors());
        let loaded = Project::tailor().file("prompts/order/quote/text/f_default.md", prompt).load();
        prop_assert_eq!(loaded.workflow.is_none(), loaded.diagnostics.has_errors());
    }

    // The reader uses or refuses any value at any position.
    #[test]
    fn any_value_at_any_place_is_read_or_refused(place in 0..PLACES.len(), value in 0..7_usize) {
        let values = [json!(null), json!(true), json!(0), json!("x"), json!([]), json!({}), json!({"x": {"y": [1]}})];
        let (file, pointer) = PLACES[place];
        let project = match file {
            "agent" => Project::tailor().agent(pointer, values[value].clone()),
            _ => Project::tailor().registry(pointer, values[value].clone()),
        };
        let loaded = project.load();
        prop_assert_eq!(loaded.workflow.is_none(), loaded.diagnostics.has_errors());
    }

    // S-47: any value is sent unchanged.
    #[test]
    fn a_value_is_sent_as_it_is(value in ".{0,60}") {
        let project = Project::tailor()
            .file("prompts/order/quote/text/f_default.md", "<{uv-customer}>")
            .given(&[("customer", &value)]);
        let workflow = project.workflow();
        prop_assert_eq!(super::shown(&super::turn(&workflow, "quote").prompt), format!("<{value}>"));
    }
}

const PLACES: [(&str, &str); 24] = [
    ("agent", "/behavior"),
    ("agent", "/behavior/completionConfig"),
    ("agent", "/behavior/completionType"),
    ("agent", "/behavior/sandboxConfig"),
    ("agent", "/behavior/systemPromptPath"),
    ("agent", "/parameters"),
    ("agent", "/parameters/customer"),
    ("agent", "/parameters/customer/default"),
    ("agent", "/prompts"),
    ("agent", "/prompts/registry"),
    ("agent", "/actions"),
    ("agent", "/logging"),
    ("registry", "/basePath"),
    ("registry", "/steps"),
    ("registry", "/editions"),
    ("registry", "/entryStepMapping"),
    ("registry", "/steps/measure"),
    ("registry", "/steps/measure/prompt"),
    ("registry", "/steps/measure/outputSchema"),
    ("registry", "/steps/measure/outputSchema/height"),
    ("registry", "/steps/quote/inputs"),
    ("registry", "/steps/quote/check"),
    ("registry", "/steps/quote/check/onFail"),
    ("registry", "/steps/quote/customVariables"),
];
