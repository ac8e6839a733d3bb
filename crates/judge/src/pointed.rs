//! Finds the label in a field of the structured output.

use saihai_model::{Choice, Json, Label, Narrowed, Pointed, Reading, Unsaid};

/// Returns the label of a field, or the default for a field without a label.
pub(crate) fn label(choice: &Choice, field: &Pointed, output: Option<&Json>) -> Option<Label> {
    match (said(choice, field, output), &field.unsaid) {
        (Ok(label), _) => Some(label),
        (Err(Unclear::Nothing(_)), Some(Unsaid::Label(label))) => Some(label.clone()),
        (Err(Unclear::Nothing(_) | Unclear::Half(_)), _) => None,
    }
}

/// Reason why a field has no label.
enum Unclear {
    Nothing(String),
    /// It names a label, but its second field is missing. No default can replace it.
    Half(String),
}

/// Records a field without a label as a violation or a remark, as the definition says.
pub(crate) fn judge(choice: &Choice, field: &Pointed, reading: &mut Reading) {
    let Err(unclear) = said(choice, field, reading.output.as_ref()) else { return };
    match (unclear, &field.unsaid) {
        (Unclear::Nothing(why), Some(Unsaid::Label(label))) => {
            reading.warnings.push(format!("{why}: taken as `{label}`"));
        }
        // Report violations of the whole value first, and alone.
        (Unclear::Nothing(why) | Unclear::Half(why), Some(_)) if reading.violations.is_empty() => {
            reading.violations.push(why);
        }
        (Unclear::Nothing(_) | Unclear::Half(_), _) => {}
    }
}

/// Returns the label, or the reason why there is none.
fn said(choice: &Choice, field: &Pointed, output: Option<&Json>) -> Result<Label, Unclear> {
    let Some(output) = output else { return Err(Unclear::Nothing("no JSON object".to_owned())) };
    let value = output.pointer(&field.pointer);
    let word = value.and_then(word);
    let known = |word: &String| match field.means.is_empty() {
        true => choice.options.iter().map(|offer| &offer.label).find(|label| is_same(label, word)),
        false => field.means.get(word),
    };
    let Some(label) = word.as_ref().and_then(known) else {
        let labels = choice.options.iter().map(|offer| &offer.label);
        let known: Vec<&Label> =
            if field.means.is_empty() { labels.collect() } else { field.means.values().collect() };
        let why = none_of(&field.pointer, value, known.into_iter().map(Label::as_str));
        return Err(Unclear::Nothing(why));
    };
    match field.narrowed.iter().find(|narrowed| narrowed.label == *label) {
        Some(narrowed) => narrow(narrowed, output).map_err(Unclear::Half),
        None => Ok(label.clone()),
    }
}

fn narrow(narrowed: &Narrowed, output: &Json) -> Result<Label, String> {
    let value = output.pointer(&narrowed.pointer);
    let found = value.and_then(text).and_then(|text| narrowed.means.get(&text));
    let known = || narrowed.means.keys().map(String::as_str);
    found.cloned().ok_or_else(|| none_of(&narrowed.pointer, value, known()))
}

fn is_same(label: &Label, word: &str) -> bool {
    label.as_str().to_lowercase() == word
}

/// Formats the problem like a schema violation.
fn none_of<'a>(pointer: &str, value: Option<&Json>, known: impl Iterator<Item = &'a str>) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in known.map(|word| format!("{word:?}")) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    let known = match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => "nothing".to_owned(),
    };
    match value {
        Some(value) => {
            let value = super::read::excerpt(&value.to_string());
            format!("{pointer}: {value} is not one of {known}")
        }
        None => format!("{pointer}: it is missing, and must be one of {known}"),
    }
}

/// Converts a value into a word to compare: text trimmed and in lower case, booleans by name.
pub(crate) fn word(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.trim().to_lowercase()),
        Json::Bool(value) => Some(value.to_string()),
        Json::Null | Json::Number(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns the value as text, unchanged.
fn text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use saihai_model::{Method, Offer, Reads, Wanted};
    use serde_json::json;

    use super::*;
    use crate::{Labelled, Said};

    fn words(words: &[(&str, &str)]) -> BTreeMap<String, Label> {
        words.iter().map(|(word, label)| ((*word).to_owned(), (*label).into())).collect()
    }

    /// `next` and `continue` proceed, `jump` goes to a known step, `fork` goes by a kind.
    fn gate(unsaid: Option<Unsaid>) -> Pointed {
        let narrowed = |label: &str, pointer: &str, means: &[(&str, &str)]| Narrowed {
            label: label.into(),
            pointer: pointer.to_owned(),
            means: words(means),
        };
        Pointed {
            pointer: "/next_action/action".to_owned(),
            means: words(&[("next", "next"), ("continue", "next"), ("jump", "jump"), ("fork", "fork")]),
            narrowed: vec![
                narrowed("jump", "/to", &[("sew", "jump")]),
                narrowed("fork", "/kind", &[("bug", "fork bug"), ("true", "fork yes")]),
            ],
            unsaid,
        }
    }

    fn read(unsaid: Option<Unsaid>, value: Option<Json>) -> String {
        let options = ["next", "jump", "fork bug", "fork yes"].into_iter().enumerate();
        let options = options.map(|(number, label)| Offer { number, label: label.into() }).collect();
        let choice = Choice { options, found_by: vec![Method::Field(gate(unsaid))] };
        let reads = Reads { choice: Some(choice.clone()), ..Reads::default() };
        let said = Said { text: "prose", structured: value.as_ref() };
        let reading = crate::read(Wanted::Work(&reads), "", said);
        let label = match crate::label(&choice, &reading, None) {
            Labelled::Found(label, _) => label.to_string(),
            Labelled::Missing => "-".to_owned(),
            Labelled::Ask => "?".to_owned(),
        };
        let told = reading.violations.iter().map(|why| format!(" ! {why}"));
        let told = told.chain(reading.warnings.iter().map(|why| format!(" ~ {why}")));
        told.fold(label, |all, one| all + &one)
    }

    #[track_caller]
    fn check(value: Json, expected: &str) {
        assert_eq!(read(Some(Unsaid::Wrong), Some(value)), expected);
    }

    #[test]
    fn a_field_says_a_label_by_its_words_in_any_case() {
        check(json!({"next_action": {"action": " Next"}}), "next");
        check(json!({"next_action": {"action": "CONTINUE"}}), "next");
        let all = r#""next", "fork" or "jump""#;
        check(
            json!({"next_action": {"action": "closing"}}),
            &format!(r#"- ! /next_action/action: "closing" is not one of {all}"#),
        );
        check(json!({}), &format!("- ! /next_action/action: it is missing, and must be one of {all}"));
        assert_eq!(read(Some(Unsaid::Wrong), None), "- ! no JSON object");
    }

    #[test]
    fn another_field_says_which_of_several_it_is() {
        check(json!({"next_action": {"action": "jump"}, "to": "sew"}), "jump");
        check(
            json!({"next_action": {"action": "jump"}, "to": "Sew"}),
            r#"- ! /to: "Sew" is not one of "sew""#,
        );
        check(json!({"next_action": {"action": "fork"}, "kind": "bug"}), "fork bug");
        check(json!({"next_action": {"action": "fork"}, "kind": true}), "fork yes");
        check(
            json!({"next_action": {"action": "fork"}}),
            r#"- ! /kind: it is missing, and must be one of "bug" or "true""#,
        );
    }

    #[test]
    fn what_says_no_label_can_be_taken_as_one_and_that_is_remarked() {
        let value = Some(json!({"next_action": {"action": "stop"}}));
        assert_eq!(
            read(Some(Unsaid::Label("next".into())), value.clone()),
            r#"next ~ /next_action/action: "stop" is not one of "next", "fork" or "jump": taken as `next`"#
        );
        assert_eq!(read(Some(Unsaid::Label("next".into())), None), "next ~ no JSON object: taken as `next`");
        assert_eq!(read(None, value), "-", "a question may still be asked");
        let half = Some(json!({"next_action": {"action": "jump"}, "to": "Sew"}));
        assert_eq!(
            read(Some(Unsaid::Label("next".into())), half),
            r#"- ! /to: "Sew" is not one of "sew""#,
            "what was said stands, and is wrong"
        );
    }
}
