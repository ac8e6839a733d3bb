//! Redaction of secrets from everything that is stored and shown (C-55).

use std::collections::HashMap;
use std::sync::Arc;

use saihai_config::{Unsound, ValidatedDefinition};
use saihai_connect::{Connections, Redaction, Redactor};
use saihai_model::{
    Answer, CallId, Fact, Failure, FrozenJson, Json, Outcome, OutsideReason, PersonNote, Progress,
    ProviderRefusal, Reply, VerdictToolResult, slug,
};

use crate::RunSpec;

/// Redacts secrets from everything that crosses our boundary: the input of a run, prompts and replies.
/// Reports, carried texts and messages derive from these, so they contain none either.
#[derive(Debug, Clone)]
pub(crate) struct SecretRedactor(Arc<Redactor>);

impl Default for SecretRedactor {
    /// Redacts only strings in the shape of a key.
    fn default() -> Self {
        Self(Arc::new(Redactor::new([])))
    }
}

impl SecretRedactor {
    /// Uses the redactor that also cleans the output of agents.
    pub(crate) fn of(connections: &Connections) -> Self {
        Self(Arc::new(connections.redactor()))
    }

    pub(crate) fn text(&self, text: String) -> String {
        match self.0.text(&text) {
            std::borrow::Cow::Borrowed(_) => text,
            std::borrow::Cow::Owned(clean) => clean,
        }
    }

    /// Redacts a fact with text from a person. Replies of agents are clean before they become facts.
    pub(crate) fn fact(&self, fact: Fact) -> Fact {
        match fact {
            Fact::Answered(answer) => {
                let text = answer.text.map(|text| self.text(text));
                Fact::Answered(Answer { text, ..answer })
            }
            Fact::Told(note) => {
                let text = self.text(note.text);
                Fact::Told(PersonNote { text, ..note })
            }
            Fact::Started(_)
            | Fact::Asked { .. }
            | Fact::Replied(_)
            | Fact::Failed(_)
            | Fact::Performed { .. }
            | Fact::Woke
            | Fact::Reopened
            | Fact::Resumed(_)
            | Fact::Interrupted { .. }
            | Fact::StorageFailed { .. }
            | Fact::Cancelled { .. }
            | Fact::FilesCounted(_)
            | Fact::Withdrawn { .. }
            | Fact::Lent(_) => fact,
        }
    }

    pub(crate) fn outcome(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Done { label, mut output } => {
                for value in output.values_mut() {
                    if let Json::String(text) = value {
                        *text = self.text(std::mem::take(text));
                    }
                }
                Outcome::Done { label, output }
            }
            Outcome::Waiting { reason } => Outcome::Waiting { reason: self.outside_reason(reason) },
            Outcome::Failed(failure) => {
                let message = self.text(failure.message);
                Outcome::Failed(Failure { message, ..failure })
            }
            Outcome::NotYet => Outcome::NotYet,
            Outcome::Delayed { reason } => Outcome::Delayed { reason: self.outside_reason(reason) },
        }
    }

    /// Redacts every text of a reason. Redaction changes no key, so the result has the same shape.
    fn outside_reason(&self, reason: OutsideReason) -> OutsideReason {
        let mut json = serde_json::to_value(&reason).unwrap_or_default();
        self.0.json(&mut json);
        serde_json::from_value(json).unwrap_or_else(|_| OutsideReason::Text(reason.code().to_owned()))
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        let mut clean = Vec::with_capacity(bytes.len());
        let mut stream = self.0.stream();
        stream.push(bytes, &mut clean);
        stream.finish(&mut clean);
        clean
    }

    /// Redacts the input of a run: its task, which names the run, and the texts of workflow and script.
    pub(crate) fn spec(&self, spec: RunSpec) -> Result<RunSpec, Unsound> {
        let task = self.text(spec.task.clone());
        let name = if task == spec.task { spec.slug } else { slug(&task) };
        // Redaction may change the name of a stage in one place and not in another.
        let workflow = ValidatedDefinition::validate(self.all_texts(spec.workflow.into_workflow()))?;
        let mut subject = spec.subject;
        subject.values_mut().for_each(|value| self.0.json(value));
        Ok(RunSpec {
            workflow,
            subject,
            script: spec.script.map(|script| self.all_texts(script)),
            slug: name,
            task,
            ..spec
        })
    }

    pub(crate) fn reply(&self, reply: &mut Reply) {
        reply.text = self.text(std::mem::take(&mut reply.text));
        let texts = reply.responses.iter_mut().chain(&mut reply.warnings).chain(&mut reply.structured_error);
        texts.for_each(|text| *text = self.text(std::mem::take(text)));
        if let Some(VerdictToolResult::Reported(verdict)) = &mut reply.verdict {
            let texts = verdict.findings.iter_mut().chain([&mut verdict.reason]);
            texts.for_each(|text| *text = self.text(std::mem::take(text)));
        }
        let values =
            reply.tools_used.iter_mut().flat_map(|tool| tool.input.iter_mut().chain(&mut tool.output));
        values.chain(&mut reply.structured).for_each(|value| self.0.json(value));
    }

    pub(crate) fn refusal(&self, refusal: &mut ProviderRefusal) {
        let message = &mut refusal.failure.message;
        *message = self.text(std::mem::take(message));
        let stderr = refusal.failure.stderr.take();
        refusal.failure.stderr = stderr.map(|text| self.text(text.into()).into());
        refusal.said = refusal.said.take().map(|text| self.text(text));
    }

    /// Redacts every text of a value.
    fn all_texts<T: FrozenJson>(&self, value: T) -> T {
        let Ok(json) = serde_json::from_slice::<Json>(&value.to_json()) else { return value };
        let mut clean = json.clone();
        self.0.json(&mut clean);
        if clean == json {
            return value;
        }
        T::from_json(clean.to_string().as_bytes()).unwrap_or(value)
    }
}

/// The progress of turns under way, redacted even when a secret is split across pieces.
#[derive(Debug)]
pub(crate) struct ProgressRedactor {
    secrets: SecretRedactor,
    texts: HashMap<CallId, Redaction>,
}

impl ProgressRedactor {
    pub(crate) fn new(secrets: SecretRedactor) -> Self {
        Self { secrets, texts: HashMap::new() }
    }

    /// Returns the text that is safe to show now. It holds text back that may be the start of a secret.
    pub(crate) fn take(&mut self, call: &CallId, progress: Progress) -> Option<Progress> {
        let clean = |text| self.secrets.text(text);
        match progress {
            Progress::Text(text) => {
                let stream = self.texts.entry(call.clone()).or_insert_with(|| self.secrets.0.stream());
                let mut shown = Vec::new();
                stream.push(text.as_bytes(), &mut shown);
                let shown = String::from_utf8_lossy(&shown).into_owned();
                (!shown.is_empty()).then_some(Progress::Text(shown))
            }
            Progress::ToolStarted(tool) => Some(Progress::ToolStarted(clean(tool))),
            Progress::ToolFinished(tool) => Some(Progress::ToolFinished(clean(tool))),
            Progress::Retrying(why) => Some(Progress::Retrying(clean(why))),
            Progress::Denied(what) => Some(Progress::Denied(clean(what))),
        }
    }

    /// Forgets a finished turn. Its reply contains the text that was held back.
    pub(crate) fn end(&mut self, call: &CallId) {
        self.texts.remove(call);
    }
}
