//! Transitions, for programs.

use saihai::RunDirectory;
use saihai_model::{AnsweredBy, By, Destination, Json, Label, Workflow};
use saihai_view::{Evidence, Transition};
use serde::Serialize;
use serde_json::json;

use super::Names;
use crate::error::Error;
use crate::time;

#[derive(Serialize)]
pub(crate) struct TransitionObject<'a> {
    run: &'a str,
    seq: u64,
    time: String,
    stage: &'a str,
    to: &'a Destination,
    method: By,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    topic: Option<&'a str>,
    labels: &'a [Option<Label>],
    evidence: Vec<Json>,
    iteration: u32,
    visit: u32,
    round: u32,
    consecutive: u32,
}

impl<'a> TransitionObject<'a> {
    /// Creates the object with the texts of its evidence.
    pub(crate) fn new(
        directory: &'a RunDirectory,
        workflow: &Workflow,
        told: &'a Transition,
    ) -> Result<Self, Error> {
        let evidence: Result<_, Error> = told.evidence.iter().map(|one| evidence(directory, one)).collect();
        Ok(Self {
            run: directory.id(),
            seq: told.seq,
            time: time::rfc3339(told.at),
            stage: told.stage.as_str(),
            to: &told.to,
            method: told.by,
            rule: told.rule,
            condition: told.rule.and_then(|rule| Names::new(workflow).rule(&told.stage, rule)),
            topic: told.topic.as_ref().map(saihai_model::Topic::as_str),
            labels: &told.labels,
            evidence: evidence?,
            iteration: told.iteration,
            visit: told.visit,
            round: told.round,
            consecutive: told.consecutive,
        })
    }
}

fn evidence(directory: &RunDirectory, evidence: &Evidence) -> Result<Json, Error> {
    let object = match evidence {
        Evidence::Tag { turn, number, line } => {
            json!({ "kind": "tag", "turn": turn, "number": number, "line": line })
        }
        Evidence::QuotedTag { turn, number, line } => {
            json!({ "kind": "quoted_tag", "turn": turn, "number": number, "line": line })
        }
        Evidence::Question { turn, question, answer, number, value, unreadable, .. } => json!({
            "kind": "question",
            "turn": turn,
            "question": directory.text(question)?,
            "answer": directory.text(answer)?,
            "number": number,
            "value": value,
            "unreadable": unreadable.then_some(true),
        }),
        Evidence::WrongOutput { violations } => json!({ "kind": "wrong_output", "violations": violations }),
        Evidence::Published { topic, line, message, leads } => json!({
            "kind": "published",
            "topic": topic,
            "line": line,
            "message": message,
            "leads": leads,
        }),
        Evidence::EndWord { word } => json!({ "kind": "end_word", "word": word }),
        Evidence::Refused { missing } => json!({ "kind": "refused", "missing": missing }),
        Evidence::Remarked { topic, remark } => {
            json!({ "kind": "remarked", "topic": topic, "remark": remark })
        }
        Evidence::NearMiss { what } => json!({ "kind": "near_miss", "what": what }),
        Evidence::Answer { by, label, text } => {
            let by = match by {
                AnsweredBy::Person => "person",
                AnsweredBy::Auto => "auto",
                AnsweredBy::Timeout => "timeout",
                AnsweredBy::Script => "script",
            };
            json!({ "kind": "answer", "by": by, "label": label, "text": text })
        }
        Evidence::Proof { name, holds, found } => {
            json!({ "kind": "proof", "name": name, "holds": holds, "found": found })
        }
        Evidence::Monitor { monitor, count, cycle, overrode } => json!({
            "kind": "monitor",
            "monitor": monitor,
            "count": count,
            "cycle": cycle,
            "overrode": overrode,
        }),
    };
    Ok(known_only(object))
}

fn known_only(mut object: Json) -> Json {
    if let Some(fields) = object.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    object
}
