//! Texts that do harm if a program interprets them. C-24, C-43, C-50.

use serde_json::{Value, json};

use super::one_request::{Stage, block_on, told};
use super::personality::{ACP, ALL, Name, OWN, with_each};

const HOSTILE: [&str; 5] = ["$(touch x)", "`touch x`", "; touch x", "a\ntouch x\n", "| touch x; \"'\\"];

fn with_model(name: Name, model: &str) -> Stage {
    let mut stage = Stage::new(name, &json!({"text": "done"}));
    stage.settings.model = Some(model.to_owned());
    if name == OWN {
        stage.settings.args = vec!["--model".to_owned(), "{model}".to_owned()];
    }
    stage
}

/// Extracts the prompt from a call's input.
fn prompt(name: Name, input: &str) -> String {
    let json = || serde_json::from_str::<Value>(input).expect("JSON");
    match name {
        ACP => json().as_str().expect("a text").to_owned(),
        OWN => json()["prompt"].as_str().expect("a text").to_owned(),
        _ => input.to_owned(),
    }
}

// Connections case 33
#[test]
fn c50_nothing_in_a_prompt_or_a_model_is_ever_executed_by_any_program() {
    let cases: Vec<_> = HOSTILE.into_iter().flat_map(|text| ALL.map(|name| (text, name))).collect();
    with_each(&cases, |case @ (text, name)| {
        let stage = with_model(name, text);
        let whole = format!("--help\n{text}");
        let (answer, call) = block_on(stage.answer(&whole));
        assert_eq!(told(&answer), "replied: done", "{case:?}");
        assert_eq!(prompt(name, call.input()), whole, "{case:?}");
        let model = call.after("--model").or(call.after("-m"));
        // The Agent Client Protocol has no field for a model.
        assert_eq!(model.as_deref(), Some(*text).filter(|_| *name != ACP), "{case:?}");
        assert!(!stage.project().root().join("x").exists(), "{case:?}");
    });
}

// C-43: otherwise a definition could give itself every permission: `model: --auto`.
#[test]
fn a_model_that_looks_like_an_argument_reaches_no_program() {
    with_each(&ALL, |name| {
        let stage = with_model(name, "--auto");
        let (answer, calls) = block_on(stage.answer_and_then("x", async || {}));
        assert_eq!(
            told(&answer),
            "bad_request: the model `--auto` starts with `-` and could be read as an argument",
            "{name}"
        );
        assert!(calls.is_empty(), "{name}");
    });
}
