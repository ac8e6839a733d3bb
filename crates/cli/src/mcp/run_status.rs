//! How a run is, for an agent: as the answer of a tool, and as a task of the protocol.

use rmcp::model::{DetailedTask, InputRequests, JsonObject, Task, TaskPayload, TaskStatus};
use saihai::RunDirectory;
use saihai_model::{CallId, Ending, Wants};
use saihai_view::RunState;
use serde_json::{Value, json};

use super::paging::shortened;
use crate::commands::runs::ShownRun;
use crate::error::CommandError;
use crate::quantities;
use crate::terminal::Streams;
use crate::watching::{RunStanding, SeenRun};

/// Bytes of the last output in a status. `read` returns it whole.
const OUTPUT_BYTES: usize = 4_000;

/// Suggested time between two looks at a task.
const POLL_MILLIS: u64 = 3_000;

/// A run and what it waits for.
pub(super) struct RunStatus {
    shown: ShownRun,
    gate: Option<RunGate>,
}

/// The question of an open gate.
pub(super) struct RunGate {
    pub(super) call: CallId,
    pub(super) question: String,
    pub(super) wants: Wants,
}

impl RunStatus {
    pub(super) fn read(directory: &RunDirectory) -> Result<Self, CommandError> {
        let shown = ShownRun::read(directory, &mut Streams::silent())?;
        let is_open = shown.run.view.open_gate(&shown.run.workflow).is_some() && !shown.run.state.is_over();
        // The gate may have closed since.
        let gate = is_open.then(|| saihai::open_gate(directory).ok()).flatten();
        let gate = gate.map(|(call, question, wants)| RunGate { call, question, wants });
        Ok(Self { shown, gate })
    }

    pub(super) fn gate(&self) -> Option<&RunGate> {
        self.gate.as_ref()
    }

    /// Returns the state as the protocol names it. A run that stopped for a person, a limit or a provider needs input,
    /// because only a person continues it.
    pub(super) fn state(&self) -> TaskStatus {
        match &self.shown.run.state {
            RunState::Running { .. } if self.gate.is_none() => TaskStatus::Working,
            RunState::Ended { ending: Ending::Cancelled } => TaskStatus::Cancelled,
            RunState::Ended { .. } => TaskStatus::Completed,
            RunState::Running { .. } | RunState::Ready | RunState::Interrupted | RunState::Parked { .. } => {
                TaskStatus::InputRequired
            }
        }
    }

    /// Returns true if the run ended without success.
    pub(super) fn has_failed(&self) -> bool {
        matches!(&self.shown.run.state, RunState::Ended { ending } if !matches!(ending, Ending::Completed(_)))
    }

    /// Describes the run: what `saihai show --json` prints, and what it waits for.
    pub(super) fn object(&self) -> Value {
        let run = &self.shown.run;
        let mut object = json!(self.shown.object());
        if let Some(fields) = object.as_object_mut() {
            // They repeat the result for other readers.
            fields.remove("loop");
            fields.remove("prompts");
        }
        if let Some(output) =
            object["result"]["output"].as_str().and_then(|text| shortened(text, OUTPUT_BYTES))
        {
            object["result"]["output"] = output.into();
        }
        object["run"] = run.directory.id().into();
        object["state"] = match self.has_failed() {
            // `failed` or `declined`, which the protocol does not tell apart from success.
            true => object["result"]["outcome"].clone(),
            false => json!(self.state()),
        };
        object["words"] = self.words().into();
        let why = self.shown.conclusion.why();
        if !why.is_empty() {
            object["why"] = why.into();
        }
        if self.state() == TaskStatus::InputRequired {
            object["input_required"] = self.input_required();
        }
        object
    }

    /// Says what a person has to do.
    fn input_required(&self) -> Value {
        let mut input = json!({
            "who": "a person",
            "commands": self.shown.conclusion.next_commands(),
            "page": "saihai serve --open",
        });
        if let Some(gate) = &self.gate {
            input["stage"] = gate.call.stage.to_string().into();
            input["question"] = gate.question.as_str().into();
            input["answer"] = match gate.wants {
                Wants::YesNo => "yes or no",
                Wants::Text { .. } => "a text",
            }
            .into();
        }
        input
    }

    fn words(&self) -> String {
        let run = &self.shown.run;
        let seen = SeenRun {
            directory: &run.directory,
            view: &run.view,
            state: &run.state,
            workflow: Some(&run.workflow),
            now: quantities::now(),
        };
        RunStanding::of(&seen).words
    }

    /// Describes the run as a task. Its id is that of the run, so it outlives every server.
    pub(super) fn task(&self) -> Task {
        let view = &self.shown.run.view;
        let (created, updated) = (quantities::rfc3339(view.started), quantities::rfc3339(view.last_at));
        let task = Task::new(self.shown.run.directory.id(), self.state(), created, updated);
        let mut message = self.words();
        if self.state() == TaskStatus::InputRequired {
            let commands = self.shown.conclusion.next_commands();
            let commands: Vec<String> = commands.iter().map(|command| format!("`{command}`")).collect();
            if let Some(gate) = &self.gate {
                message.push_str(&format!("; a person is asked: {}", gate.question));
            }
            if !commands.is_empty() {
                message.push_str(&format!("; a person continues with {}", commands.join(" or ")));
            }
        }
        task.with_status_message(message).with_poll_interval_ms(POLL_MILLIS)
    }

    /// Describes the run as a task with its result, or with the requests that a client may answer.
    pub(super) fn detailed_task(&self, result: JsonObject, input_requests: InputRequests) -> DetailedTask {
        let payload = match self.state() {
            TaskStatus::Completed => TaskPayload::Completed { result },
            TaskStatus::Cancelled => TaskPayload::Cancelled,
            TaskStatus::InputRequired => TaskPayload::InputRequired { input_requests },
            _ => TaskPayload::Working,
        };
        DetailedTask::new(self.task(), payload)
    }
}
