//! The state of a run, as input for a completion handler.

use saihai_model::{CallId, Json};
use serde_json::json;

use crate::Error;
use crate::owned::Owned;

/// Builds the object that a handler reads (S-62): input from the definition, and the iteration that just
/// ended.
pub(super) fn of(owned: &Owned, call: &CallId, input: &Json) -> Result<String, Error> {
    let (run, directory) = (owned.run(), owned.directory());
    let carry = run.carry_after_round(owned.workflow());
    let mut previous = Vec::new();
    for (_, text) in &carry.previous {
        previous.push(directory.text(text)?);
    }
    let summary = match crate::LoadedRun::read(directory)?.last_iteration()? {
        Some(last) => serde_json::to_value(last).expect("a summary has text keys only"),
        None => Json::Null,
    };
    let standing = json!({
        "agent": owned.start().definition,
        "parameters": {},
        "iteration": run.iteration(),
        "stepId": call.stage,
        "outputs": carry.outputs,
        "carry": {
            "previousResponse": previous.join("\n"),
            "accumulatedContext": carry.context,
        },
        "summary": summary,
    });
    let mut standing = standing.as_object().cloned().unwrap_or_default();
    standing.extend(input.as_object().cloned().unwrap_or_default());
    Ok(format!("{}\n", Json::Object(standing)))
}
