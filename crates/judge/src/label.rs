//! Finds the label that a reply, or an answer about it, chooses: by the verdict tool (N-1), a tag, a field, its findings
//! (P-61), an exit code (U-9) or a question.

use saihai_model::{
    AnswerForm, By, Choice, ExitCodeLabel, Json, Label, LabelField, LabelRefinement, Method,
    MissingFieldPolicy, Question, Reading, Severity, Threshold,
};

use crate::ReviewReply;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LabelOutcome {
    /// This label, found by this method.
    Found(Label, By),
    /// No label, and no question is left.
    Missing,
    /// An agent must be asked.
    Ask,
}

/// Meaning of a judging agent's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JudgeAnswer {
    Label(Label),
    Nothing,
    Unreadable,
}

/// Finds the label of a reply by the choice's methods in order. `answer` is the result of the question, once asked.
pub fn label(choice: &Choice, reading: &Reading, answer: Option<&Option<Label>>) -> LabelOutcome {
    for method in &choice.found_by {
        match method {
            Method::Tool => {
                let number = reading.verdict.as_ref().map(|verdict| verdict.number);
                if let Some(found) = number.and_then(|number| offered(choice, number)) {
                    return LabelOutcome::Found(found, By::Tool);
                }
            }
            Method::Tag | Method::NonceTag => {
                if let Some(found) = tagged(choice, reading) {
                    return LabelOutcome::Found(found, By::Tag);
                }
            }
            Method::Field(field) => {
                if let Some(found) = label_of_field(choice, field, reading.output.as_ref()) {
                    return LabelOutcome::Found(found, By::Field);
                }
            }
            Method::Findings(thresholds) => {
                if let Some(found) = label_of_findings(thresholds, reading) {
                    return LabelOutcome::Found(found, By::Findings);
                }
            }
            Method::ExitCode(labels) => {
                if let Some(found) = label_of_exit(labels, reading) {
                    return LabelOutcome::Found(found, By::ExitCode);
                }
            }
            Method::Only => {
                if let [offer] = choice.options.as_slice() {
                    return LabelOutcome::Found(offer.label.clone(), By::Only);
                }
            }
            Method::Ask(_) => {
                return match answer {
                    None => LabelOutcome::Ask,
                    Some(None) => LabelOutcome::Missing,
                    Some(Some(label)) => LabelOutcome::Found(label.clone(), By::Judge),
                };
            }
        }
    }
    LabelOutcome::Missing
}

/// Interprets the answer to a question.
pub fn answered(choice: &Choice, question: &Question, reading: &Reading) -> JudgeAnswer {
    match &question.answer {
        AnswerForm::Tag => match (&reading.tag, tagged(choice, reading)) {
            (_, Some(label)) => JudgeAnswer::Label(label),
            (None, None) if question.corrections > 0 => JudgeAnswer::Unreadable,
            (_, None) => JudgeAnswer::Nothing,
        },
        AnswerForm::Form { field, means, .. } => {
            let said = reading.output.as_ref().and_then(|output| output.get(field)).and_then(word);
            match said.and_then(|said| means.get(&said)) {
                Some(label) => JudgeAnswer::Label(label.clone()),
                None => JudgeAnswer::Unreadable,
            }
        }
    }
}

fn tagged(choice: &Choice, reading: &Reading) -> Option<Label> {
    offered(choice, reading.tag.as_ref()?.number?)
}

fn offered(choice: &Choice, number: usize) -> Option<Label> {
    choice.options.iter().find(|offer| offer.number == number).map(|offer| offer.label.clone())
}

/// Returns the label of a field, or the default for a field without a label.
fn label_of_field(choice: &Choice, field: &LabelField, output: Option<&Json>) -> Option<Label> {
    match (label_or_reason(choice, field, output), &field.unsaid) {
        (Ok(label), _) => Some(label),
        (Err(UnclearField::Nothing(_)), Some(MissingFieldPolicy::Label(label))) => Some(label.clone()),
        (Err(UnclearField::Nothing(_) | UnclearField::Half(_)), _) => None,
    }
}

/// Reason why a field has no label.
enum UnclearField {
    Nothing(String),
    /// It names a label, but its second field is missing. No default can replace it.
    Half(String),
}

/// Records a field without a label as a violation or a remark, as the definition says.
pub(crate) fn judge_field(choice: &Choice, field: &LabelField, reading: &mut Reading) {
    let Err(unclear) = label_or_reason(choice, field, reading.output.as_ref()) else { return };
    match (unclear, &field.unsaid) {
        (UnclearField::Nothing(why), Some(MissingFieldPolicy::Label(label))) => {
            reading.warnings.push(format!("{why}: taken as `{label}`"));
        }
        // Report violations of the whole value first, and alone.
        (UnclearField::Nothing(why) | UnclearField::Half(why), Some(_)) if reading.violations.is_empty() => {
            reading.violations.push(why);
        }
        (UnclearField::Nothing(_) | UnclearField::Half(_), _) => {}
    }
}

/// Returns the label, or the reason why there is none.
fn label_or_reason(
    choice: &Choice,
    field: &LabelField,
    output: Option<&Json>,
) -> Result<Label, UnclearField> {
    let Some(output) = output else { return Err(UnclearField::Nothing("no JSON object".to_owned())) };
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
        return Err(UnclearField::Nothing(why));
    };
    match field.narrowed.iter().find(|narrowed| narrowed.label == *label) {
        Some(narrowed) => narrow(narrowed, output).map_err(UnclearField::Half),
        None => Ok(label.clone()),
    }
}

fn narrow(narrowed: &LabelRefinement, output: &Json) -> Result<Label, String> {
    let value = output.pointer(&narrowed.pointer);
    let found = value.and_then(value_text).and_then(|text| narrowed.means.get(&text));
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
            let value = crate::read::excerpt(&value.to_string());
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
fn value_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Bool(_) | Json::Number(_) => Some(value.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Returns the first label whose threshold holds. A partly invalid reply may hide findings. Its readable part can prove
/// that something was found, never that nothing was.
fn label_of_findings(thresholds: &[Threshold], reading: &Reading) -> Option<Label> {
    let worst = worst(reading.output.as_ref()?);
    let whole = reading.violations.is_empty();
    let holds = |one: &&Threshold| {
        // Worse severities sort first.
        let reached = worst.is_some_and(|worst| worst <= one.severity);
        if one.reached { reached } else { whole && !reached }
    };
    thresholds.iter().find(holds).map(|one| one.label.clone())
}

/// Returns the label of the first range that contains the end of the program.
fn label_of_exit(labels: &[ExitCodeLabel], reading: &Reading) -> Option<Label> {
    let exit = reading.exit?;
    labels.iter().find(|one| one.exits.contains(exit)).map(|one| one.label.clone())
}

fn worst(output: &Json) -> Option<Severity> {
    let payload = ReviewReply::read("", &Json::Null, output);
    payload.findings.iter().map(|finding| finding.severity).min()
}

#[cfg(test)]
mod label_tests {
    use std::collections::BTreeMap;

    use saihai_model::{
        Json, Offer, OutputSchema, ProgramExit, ProgramExitRange, Prompt, QuestionSession, Tag,
    };

    use super::*;

    fn choice(found_by: Vec<Method>) -> Choice {
        let options = ["done", "stuck"];
        let options =
            options.iter().enumerate().map(|(number, label)| Offer { number, label: (*label).into() });
        Choice { options: options.collect(), found_by }
    }

    fn question(answer: AnswerForm) -> Question {
        Question {
            prompt: Prompt::default(),
            provider: None,
            model: None,
            session: QuestionSession::Fresh,
            answer,
            correction: Prompt::default(),
            corrections: 0,
            unreadable: None,
        }
    }

    fn tag(number: Option<usize>) -> Reading {
        Reading { tag: Some(Tag { number, line: 1 }), ..Reading::default() }
    }

    #[test]
    fn a_tag_wins_and_without_one_the_question_is_due() {
        let choice = choice(vec![Method::Tag, Method::Ask(Box::new(question(AnswerForm::Tag)))]);
        assert_eq!(label(&choice, &tag(Some(1)), None), LabelOutcome::Found("stuck".into(), By::Tag));
        assert_eq!(label(&choice, &Reading::default(), None), LabelOutcome::Ask);
        assert_eq!(
            label(&choice, &Reading::default(), Some(&Some("done".into()))),
            LabelOutcome::Found("done".into(), By::Judge)
        );
        assert_eq!(label(&choice, &Reading::default(), Some(&None)), LabelOutcome::Missing);
    }

    // X-6
    #[test]
    fn the_only_option_is_chosen_if_no_tag_names_it() {
        let mut choice = choice(vec![Method::Tag, Method::Only]);
        assert_eq!(label(&choice, &Reading::default(), None), LabelOutcome::Missing);
        choice.options.truncate(1);
        let only = choice.options[0].label.clone();
        assert_eq!(label(&choice, &Reading::default(), None), LabelOutcome::Found(only, By::Only));
    }

    // U-9
    #[test]
    fn an_exit_code_chooses_the_first_range_that_contains_it_unless_the_output_has_a_tag() {
        let codes = |first, last| ProgramExitRange::Codes { first, last };
        let ranges = [codes(0, Some(0)), codes(2, Some(4)), codes(3, None)];
        let labels = ranges.map(|exits| ExitCodeLabel { label: exits.to_string().into(), exits });
        let choice = choice(vec![Method::Tag, Method::ExitCode(labels.to_vec())]);
        let check = |exit, expected: Option<&str>| {
            let reading = Reading { exit: Some(exit), ..Reading::default() };
            let found = expected
                .map_or(LabelOutcome::Missing, |label| LabelOutcome::Found(label.into(), By::ExitCode));
            assert_eq!(label(&choice, &reading, None), found, "{exit}");
        };
        check(ProgramExit::Code(0), Some("exit(0)"));
        check(ProgramExit::Code(1), None);
        check(ProgramExit::Code(3), Some("exit(2..4)"));
        check(ProgramExit::Code(5), Some("exit(3..)"));
        check(ProgramExit::Signal(9), Some("exit(3..)"));
        check(ProgramExit::Timeout, Some("exit(3..)"));
        let tagged = Reading { exit: Some(ProgramExit::Code(0)), ..tag(Some(1)) };
        assert_eq!(label(&choice, &tagged, None), LabelOutcome::Found("stuck".into(), By::Tag));
    }

    #[test]
    fn an_answer_without_a_valid_tag_chooses_nothing() {
        // P-41
        let choice = choice(vec![Method::Tag]);
        let question = question(AnswerForm::Tag);
        assert_eq!(answered(&choice, &question, &tag(Some(0))), JudgeAnswer::Label("done".into()));
        assert_eq!(answered(&choice, &question, &tag(None)), JudgeAnswer::Nothing);
        assert_eq!(answered(&choice, &question, &Reading::default()), JudgeAnswer::Nothing);
    }

    #[test]
    fn a_form_is_read_by_its_field_and_never_by_substring() {
        let means: BTreeMap<_, _> =
            [("ok".to_owned(), "ok".into()), ("false".to_owned(), "ng".into())].into();
        let form = AnswerForm::Form {
            schema: OutputSchema { schema: serde_json::json!({}), required: true },
            field: "result".to_owned(),
            means,
            message: "message".to_owned(),
        };
        let question = question(form);
        let check = |value: Json, expected: JudgeAnswer| {
            let output = Some(serde_json::json!({ "result": value }));
            let reading = Reading { output, ..Reading::default() };
            assert_eq!(answered(&choice(vec![]), &question, &reading), expected);
        };
        check("OK ".into(), JudgeAnswer::Label("ok".into()));
        check(false.into(), JudgeAnswer::Label("ng".into()));
        check("it is ok".into(), JudgeAnswer::Unreadable);
        check(Json::Null, JudgeAnswer::Unreadable);
    }
}

#[cfg(test)]
mod pointed_tests {
    use std::collections::BTreeMap;

    use saihai_model::{ExpectedReply, Method, Offer, Reads};
    use serde_json::json;

    use super::LabelOutcome;
    use super::*;
    use crate::read::ReplyText;

    fn words(words: &[(&str, &str)]) -> BTreeMap<String, Label> {
        words.iter().map(|(word, label)| ((*word).to_owned(), (*label).into())).collect()
    }

    /// `next` and `continue` proceed, `jump` goes to a known step, `fork` goes by a kind.
    fn gate(unsaid: Option<MissingFieldPolicy>) -> LabelField {
        let narrowed = |label: &str, pointer: &str, means: &[(&str, &str)]| LabelRefinement {
            label: label.into(),
            pointer: pointer.to_owned(),
            means: words(means),
        };
        LabelField {
            pointer: "/next_action/action".to_owned(),
            means: words(&[("next", "next"), ("continue", "next"), ("jump", "jump"), ("fork", "fork")]),
            narrowed: vec![
                narrowed("jump", "/to", &[("sew", "jump")]),
                narrowed("fork", "/kind", &[("bug", "fork bug"), ("true", "fork yes")]),
            ],
            unsaid,
        }
    }

    fn read(unsaid: Option<MissingFieldPolicy>, value: Option<Json>) -> String {
        let options = ["next", "jump", "fork bug", "fork yes"].into_iter().enumerate();
        let options = options.map(|(number, label)| Offer { number, label: label.into() }).collect();
        let choice = Choice { options, found_by: vec![Method::Field(gate(unsaid))] };
        let reads = Reads { choice: Some(choice.clone()), ..Reads::default() };
        let said = ReplyText { text: "prose", structured: value.as_ref() };
        let reading = crate::read(ExpectedReply::Work(&reads), "", said);
        let label = match crate::label(&choice, &reading, None) {
            LabelOutcome::Found(label, _) => label.to_string(),
            LabelOutcome::Missing => "-".to_owned(),
            LabelOutcome::Ask => "?".to_owned(),
        };
        let told = reading.violations.iter().map(|why| format!(" ! {why}"));
        let told = told.chain(reading.warnings.iter().map(|why| format!(" ~ {why}")));
        told.fold(label, |all, one| all + &one)
    }

    #[track_caller]
    fn check(value: Json, expected: &str) {
        assert_eq!(read(Some(MissingFieldPolicy::Wrong), Some(value)), expected);
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
        assert_eq!(read(Some(MissingFieldPolicy::Wrong), None), "- ! no JSON object");
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
            read(Some(MissingFieldPolicy::Label("next".into())), value.clone()),
            r#"next ~ /next_action/action: "stop" is not one of "next", "fork" or "jump": taken as `next`"#
        );
        assert_eq!(
            read(Some(MissingFieldPolicy::Label("next".into())), None),
            "next ~ no JSON object: taken as `next`"
        );
        assert_eq!(read(None, value), "-", "a question may still be asked");
        let half = Some(json!({"next_action": {"action": "jump"}, "to": "Sew"}));
        assert_eq!(
            read(Some(MissingFieldPolicy::Label("next".into())), half),
            r#"- ! /to: "Sew" is not one of "sew""#,
            "what was said stands, and is wrong"
        );
    }
}

#[cfg(test)]
mod found_tests {
    use serde_json::json;

    use super::*;

    fn check(severities: &[&str], violations: &[&str], expected: Option<&str>) {
        let issues = severities.iter().map(|severity| json!({ "severity": severity, "description": "d" }));
        let reading = Reading {
            output: Some(json!({ "issues": issues.collect::<Vec<_>>() })),
            violations: violations.iter().map(|one| (*one).to_owned()).collect(),
            ..Reading::default()
        };
        let threshold = |label: &str, severity, reached| Threshold { label: label.into(), severity, reached };
        let thresholds = [
            threshold("stop", Severity::Critical, true),
            threshold("fix", Severity::Important, true),
            threshold("done", Severity::Important, false),
        ];
        let found = label_of_findings(&thresholds, &reading);
        assert_eq!(found.as_ref().map(Label::as_str), expected, "{severities:?} {violations:?}");
    }

    #[test]
    fn the_first_threshold_that_holds_of_the_worst_finding_says_the_label() {
        check(&[], &[], Some("done"));
        check(&["nitpick", "suggestion"], &[], Some("done"));
        check(&["suggestion", "Important"], &[], Some("fix"));
        check(&["important", "critical", "nitpick"], &[], Some("stop"));
    }

    #[test]
    fn what_could_not_be_read_is_never_taken_for_nothing_found() {
        check(&[], &["`overall_score` is missing"], None);
        check(&["suggestion"], &["issues/1: is not an object"], None);
        check(&["important"], &["issues/1: is not an object"], Some("fix"));
        assert_eq!(label_of_findings(&[], &Reading::default()), None);
    }
}
