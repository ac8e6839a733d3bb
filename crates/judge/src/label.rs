//! Finds the label that a reply, or an answer about it, chooses.

use saihai_model::{AnswerForm, By, Choice, Label, Method, Question, Reading};

use crate::found;
use crate::pointed::{self, word};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Labelled {
    /// This label, found by this method.
    Found(Label, By),
    /// No label, and no question is left.
    Missing,
    /// An agent must be asked.
    Ask,
}

/// Meaning of a judging agent's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    Label(Label),
    Nothing,
    Unreadable,
}

/// Finds the label of a reply by the choice's methods in order. `answer` is the result of the question, once asked.
pub fn label(choice: &Choice, reading: &Reading, answer: Option<&Option<Label>>) -> Labelled {
    for method in &choice.found_by {
        match method {
            Method::Tag => {
                if let Some(found) = tagged(choice, reading) {
                    return Labelled::Found(found, By::Tag);
                }
            }
            Method::Field(field) => {
                if let Some(found) = pointed::label(choice, field, reading.output.as_ref()) {
                    return Labelled::Found(found, By::Field);
                }
            }
            Method::Findings(thresholds) => {
                if let Some(found) = found::label(thresholds, reading) {
                    return Labelled::Found(found, By::Findings);
                }
            }
            Method::Ask(_) => {
                return match answer {
                    None => Labelled::Ask,
                    Some(None) => Labelled::Missing,
                    Some(Some(label)) => Labelled::Found(label.clone(), By::Judge),
                };
            }
        }
    }
    Labelled::Missing
}

/// Interprets the answer to a question.
pub fn answered(choice: &Choice, question: &Question, reading: &Reading) -> Answered {
    match &question.answer {
        AnswerForm::Tag => match (&reading.tag, tagged(choice, reading)) {
            (_, Some(label)) => Answered::Label(label),
            (None, None) if question.corrections > 0 => Answered::Unreadable,
            (_, None) => Answered::Nothing,
        },
        AnswerForm::Form { field, means, .. } => {
            let said = reading.output.as_ref().and_then(|output| output.get(field)).and_then(word);
            match said.and_then(|said| means.get(&said)) {
                Some(label) => Answered::Label(label.clone()),
                None => Answered::Unreadable,
            }
        }
    }
}

fn tagged(choice: &Choice, reading: &Reading) -> Option<Label> {
    let number = reading.tag.as_ref()?.number?;
    choice.options.iter().find(|offer| offer.number == number).map(|offer| offer.label.clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use saihai_model::{Json, Offer, OutputSchema, Prompt, QuestionSession, Tag};

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
        assert_eq!(label(&choice, &tag(Some(1)), None), Labelled::Found("stuck".into(), By::Tag));
        assert_eq!(label(&choice, &Reading::default(), None), Labelled::Ask);
        assert_eq!(
            label(&choice, &Reading::default(), Some(&Some("done".into()))),
            Labelled::Found("done".into(), By::Judge)
        );
        assert_eq!(label(&choice, &Reading::default(), Some(&None)), Labelled::Missing);
    }

    #[test]
    fn an_answer_without_a_valid_tag_chooses_nothing() {
        // P-41
        let choice = choice(vec![Method::Tag]);
        let question = question(AnswerForm::Tag);
        assert_eq!(answered(&choice, &question, &tag(Some(0))), Answered::Label("done".into()));
        assert_eq!(answered(&choice, &question, &tag(None)), Answered::Nothing);
        assert_eq!(answered(&choice, &question, &Reading::default()), Answered::Nothing);
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
        let check = |value: Json, expected: Answered| {
            let output = Some(serde_json::json!({ "result": value }));
            let reading = Reading { output, ..Reading::default() };
            assert_eq!(answered(&choice(vec![]), &question, &reading), expected);
        };
        check("OK ".into(), Answered::Label("ok".into()));
        check(false.into(), Answered::Label("ng".into()));
        check("it is ok".into(), Answered::Unreadable);
        check(Json::Null, Answered::Unreadable);
    }
}
