//! Gates as questions of the protocol, which the client asks its user (`mcp.gates = "elicitation"`).

use rmcp::model::{ElicitResult, ElicitationAction, InputRequests, InputResponses};
use saihai::{GateAnswer, RunDirectory};
use saihai_model::Wants;
use serde_json::{Value, json};

use super::run_status::{RunGate, RunStatus};
use crate::error::CommandError;
use crate::project::Project;
use crate::watching::steering;

/// Returns the form for an open gate, under the id of its call.
pub(super) fn gate_requests(status: &RunStatus) -> InputRequests {
    let request = |gate: &RunGate| {
        let request = serde_json::from_value(form(gate)).ok()?;
        Some((gate.call.to_string(), request))
    };
    status.gate().and_then(request).into_iter().collect()
}

fn form(gate: &RunGate) -> Value {
    let properties = match gate.wants {
        Wants::YesNo => json!({
            "answer": {"type": "string", "enum": ["yes", "no"], "title": "Answer"},
            "text": {"type": "string", "title": "Note to the agents"},
        }),
        Wants::Text { max_chars } => {
            json!({"answer": {"type": "string", "title": "Answer", "minLength": 1, "maxLength": max_chars}})
        }
    };
    json!({
        "method": "elicitation/create",
        "params": {
            "mode": "form",
            "message": gate.question,
            "requestedSchema": {"type": "object", "properties": properties, "required": ["answer"]},
        },
    })
}

/// Answers the open gate with what the user of the client said, and continues the run. A user who declines to answer
/// leaves the gate open.
pub(super) fn answer_gate(
    project: &Project,
    run: &RunDirectory,
    responses: &InputResponses,
) -> Result<(), CommandError> {
    project.insist_on_person("only a person can answer a gate")?;
    let status = RunStatus::read(run)?;
    let Some(gate) = status.gate() else {
        return Err(CommandError::usage(format!("run `{}` asks nothing", run.id())));
    };
    let response = responses.get(&gate.call.to_string()).ok_or_else(|| {
        CommandError::usage(format!("the open question of run `{}` is `{}`", run.id(), gate.call))
    })?;
    let malformed =
        || CommandError::usage("the response is no result of `elicitation/create` with its `answer`");
    let response: ElicitResult = serde_json::from_value(response.clone()).map_err(|_| malformed())?;
    if response.action != ElicitationAction::Accept {
        return Ok(());
    }
    let content = response.content.unwrap_or_default();
    let answer = content["answer"].as_str().ok_or_else(malformed)?;
    let text = content["text"].as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
    let answer = match (gate.wants, answer) {
        (Wants::YesNo, "yes") => GateAnswer::Yes(text),
        (Wants::YesNo, "no") => GateAnswer::No(text),
        (Wants::YesNo, _) => return Err(malformed()),
        (Wants::Text { .. }, answer) => GateAnswer::Text(answer.to_owned()),
    };
    steering::answer_gate(run, &gate.call, answer)?;
    if run.owner().is_none() {
        steering::resume(project, run, &[])?;
    }
    Ok(())
}
