//! Gate answers in a script.

use saihai_model::{ScriptAnswer, StageId, Wants};

use super::reply::visits;
use super::tables::ANSWER;
use super::target::Names;
use crate::diagnostic::Diagnostics;
use crate::fields::{Cursor, Fields};

/// Reads one answer. If the gate is known, the answer must have the form that it expects.
pub(super) fn read(
    cursor: &Cursor<'_>,
    names: &Names<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<ScriptAnswer> {
    let fields = Fields::read(cursor, &ANSWER, diagnostics)?;
    let gate = fields.text("for")?;
    let wants = names.gate(&gate, diagnostics);
    let (answer, text) = (fields.text("answer"), fields.text("text"));
    let wrong = match wants {
        Some(Wants::YesNo) if answer.is_none() => Some("this gate takes `answer: yes` or `answer: no`"),
        Some(Wants::Text { .. }) if answer.is_some() => Some("this gate takes a `text` and no `answer`"),
        Some(Wants::Text { max_chars })
            if text.as_ref().is_some_and(|text| text.value.chars().count() > max_chars as usize) =>
        {
            Some("this text is longer than the gate takes")
        }
        None if answer.is_none() && text.is_none() => Some("an answer needs an `answer` or a `text`"),
        Some(Wants::Text { .. }) if text.as_ref().is_none_or(|text| text.value.is_empty()) => {
            Some("this gate takes a `text`")
        }
        Some(Wants::YesNo | Wants::Text { .. }) | None => None,
    };
    if let Some(wrong) = wrong {
        diagnostics.push(cursor.error("bad-value", wrong).label("cannot be given"));
    }
    let label = answer.map_or_else(|| "answered".to_owned(), |answer| answer.value);
    Some(ScriptAnswer {
        gate: StageId::from(gate.value.as_str()),
        visits: fields.any("visit").and_then(|visit| visits(&visit, diagnostics)),
        label: label.into(),
        text: text.map(|text| text.value),
    })
}
