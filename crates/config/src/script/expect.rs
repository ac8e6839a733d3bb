//! Expectations of a script about its run.

use saihai_model::{CallId, Expectation, ExpectedPrompt};

use super::tables::{EXPECT, PROMPT};
use crate::diagnostic::{Diagnostics, quoted};
use crate::fields::{Cursor, Fields};

/// Reads `expect`. Stage names are not checked: a missing stage shows up as a difference.
pub(super) fn read(script: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Expectation> {
    let fields = script.object("expect", &EXPECT, diagnostics)?;
    let stages = fields.texts("stages");
    Some(Expectation {
        outcome: fields.text("outcome").map(|outcome| outcome.value),
        stages: stages.map(|stages| stages.into_iter().map(|stage| stage.value.into()).collect()),
        prompts: fields.list("prompts").iter().filter_map(|one| prompt(one, diagnostics)).collect(),
    })
}

fn prompt(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ExpectedPrompt> {
    let fields = Fields::read(cursor, &PROMPT, diagnostics)?;
    let (call, sha256) = (fields.text("call")?, fields.text("sha256")?);
    let read = CallId::parse(&call.value);
    if read.is_none() {
        let message =
            format!("`call` must be written as `stage.visit.round.number`, not {}", quoted(&call.value));
        diagnostics.push(call.error("bad-value", message).label("for example `plan.1.1.1`"));
    }
    let is_digest = sha256.value.len() == 64
        && sha256.value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_digest {
        let message = "`sha256` must be 64 digits of 0 to 9 and a to f";
        diagnostics.push(sha256.error("bad-value", message).label("no such digest"));
    }
    Some(ExpectedPrompt { call: read?, sha256: sha256.value })
}
