//! The spans of a run: the run, its stage visits, and the calls of each visit.
//!
//! ```text
//! invoke_workflow default            the run
//! ├─ stage plan                      a visit
//! │  ├─ invoke_agent planner         one attempt of a call
//! │  │  └─ execute_tool Read         a tool that the agent used
//! │  └─ action save_reports
//! └─ gate approve
//! ```

use saihai_model::{
    Action, Activity, CompletionReason, Destination, Ending, Failure, FailureReason, Moment, Outcome,
    ProviderKind, ProviderName, Replied, RoundPosition, Stage, Text, ToolUsed, Turn, Usage, Usd, Verdict,
    Workflow,
};
use saihai_view::{AttemptResult, AttemptView, CallView, RoundView, RunState, RunView, VisitView, asked_of};
use serde::Serialize;
use serde_json::{Value, json};

use crate::ids::attempt_path;
use crate::otlp::{AttributeList, OtlpEvent, OtlpLink, OtlpSpan, OtlpSpanKind, OtlpStatus};
use crate::{SpanId, TraceId};

#[derive(Debug, Clone, Copy)]
pub struct TelemetryRun<'a> {
    pub id: &'a str,
    pub workflow: &'a Workflow,
    pub view: &'a RunView,
    pub state: &'a RunState,
}

/// Reads a text of the run, to export its content.
pub type TextReader<'a, E> = dyn Fn(&Text) -> Result<String, E> + 'a;

/// Path of the root span.
const ROOT: &str = "run";

impl TelemetryRun<'_> {
    pub fn trace_id(&self) -> TraceId {
        TraceId::of_run(self.id, self.view.start.seed)
    }

    /// Returns the spans in the order of their starts, the root first. With `content` they contain prompts, replies,
    /// answers and messages of failures.
    pub fn spans<E>(&self, content: Option<&TextReader<'_, E>>) -> Result<Vec<OtlpSpan>, E> {
        let trace = self.trace_id();
        let root = SpanId::of_path(trace, ROOT);
        let mut projection = SpanProjection { run: *self, content, trace, root, spans: Vec::new() };
        projection.add_run()?;
        for (index, visit) in self.view.visits.iter().enumerate() {
            let left_before = visit.left.is_some_and(|left| left <= self.view.started);
            // These spans are in the trace of the original.
            if index < self.view.inherited_visits && left_before {
                continue;
            }
            projection.add_visit(visit)?;
        }
        Ok(projection.spans)
    }
}

struct SpanProjection<'a, E> {
    run: TelemetryRun<'a>,
    content: Option<&'a TextReader<'a, E>>,
    trace: TraceId,
    root: SpanId,
    spans: Vec<OtlpSpan>,
}

/// A span without its ids.
struct SpanDraft {
    name: String,
    kind: OtlpSpanKind,
    start: Moment,
    /// Absent if the span has not ended.
    end: Option<Moment>,
    attributes: AttributeList,
    status: Option<OtlpStatus>,
}

impl<'a, E> SpanProjection<'a, E> {
    /// Adds a span and returns its id. A span without an end gets the end of its `frame` and a mark.
    fn add(&mut self, path: &str, parent: Option<SpanId>, draft: SpanDraft, frame: Moment) -> SpanId {
        let span_id = SpanId::of_path(self.trace, path);
        let mut attributes = draft.attributes;
        if draft.end.is_none() {
            attributes.add("saihai.unfinished", true);
        }
        // A fork starts in the middle of a visit. What came before is in the trace of the original.
        let start = draft.start.max(self.run.view.started);
        self.spans.push(OtlpSpan {
            trace_id: self.trace,
            span_id,
            parent_span_id: parent,
            name: draft.name,
            kind: draft.kind,
            start_time_unix_nano: start.into(),
            end_time_unix_nano: draft.end.unwrap_or(frame).max(start).into(),
            attributes: attributes.0,
            events: Vec::new(),
            links: Vec::new(),
            status: draft.status,
            is_unfinished: draft.end.is_none(),
        });
        span_id
    }

    fn text(&self, text: &Text) -> Result<Option<String>, E> {
        self.content.map(|read| read(text)).transpose()
    }

    fn add_run(&mut self) -> Result<(), E> {
        let TelemetryRun { id, workflow, view, state } = self.run;
        let start = &view.start;
        let mut attributes = AttributeList::default()
            .with("gen_ai.operation.name", "invoke_workflow")
            .with("gen_ai.workflow.name", workflow.name.as_str())
            .with("saihai.run", id)
            .with("saihai.definition", start.definition.as_str())
            .with("saihai.dialect", start.dialect.as_str())
            .with("saihai.outcome", state.name())
            .with_known("saihai.reason", self.reason())
            .with("saihai.iterations", view.iterations)
            .with("saihai.turns", view.turns)
            .with_known("saihai.tokens.input", view.usage.input)
            .with_known("saihai.tokens.output", view.usage.output)
            .with_known("saihai.cost.usd", view.cost.map(Usd::dollars))
            .with_known("saihai.issue", workflow.issue.map(|issue| issue.to_string()))
            .with_known("saihai.forked_from", start.forked_from.clone());
        if start.rehearsal {
            attributes.add("saihai.rehearsal", true);
        }
        if let Some(task) = self.text(&start.task)? {
            attributes.add("gen_ai.input.messages", user_message(&task));
        }
        let failed = match state {
            RunState::Ended { ending: Ending::Failed(_) | Ending::Undelivered } => state.reason(),
            _ => None,
        };
        let status = failed.map(|_| OtlpStatus::error(state.name()));
        if status.is_some() {
            attributes.add("error.type", self.reason().unwrap_or_else(|| state.name().to_owned()));
        }
        let name = format!("invoke_workflow {}", workflow.name);
        let end = state.is_over().then_some(view.last_at);
        let draft =
            SpanDraft { name, kind: OtlpSpanKind::Internal, start: view.started, end, attributes, status };
        self.add(ROOT, None, draft, view.last_at);
        if let (Some(original), Some(span)) = (&start.forked_from, self.spans.last_mut()) {
            let trace_id = TraceId::of_run(original, start.seed);
            let span_id = SpanId::of_path(trace_id, ROOT);
            let attributes = AttributeList::default().with("saihai.run", original.as_str()).0;
            span.links.push(OtlpLink { trace_id, span_id, attributes });
        }
        Ok(())
    }

    /// Returns the reason of the run's end or wait. A sentence of an agent or a handler is content.
    fn reason(&self) -> Option<String> {
        let is_sentence = matches!(
            self.run.state,
            RunState::Ended {
                ending: Ending::Completed(CompletionReason::Stated(_))
                    | Ending::Failed(FailureReason::Verbatim(_))
            }
        );
        let reason = self.run.state.reason().filter(|_| !is_sentence || self.content.is_some());
        reason.map(str::to_owned)
    }

    fn add_visit(&mut self, visit: &'a VisitView) -> Result<(), E> {
        let exits = || visit.rounds.iter().filter_map(|round| Some((round, round.exit.as_ref()?)));
        let mut attributes = AttributeList::default()
            .with("saihai.stage", visit.stage.as_str())
            .with("saihai.visit", visit.visit)
            .with("saihai.rounds", visit.rounds.len() as u64);
        if visit.cost.turns > 0 {
            attributes.add("saihai.turns", visit.cost.turns);
            attributes.add("saihai.tokens", visit.cost.tokens);
            attributes.add("saihai.cost.usd", visit.cost.usd.dollars());
        }
        if let Some((_, exit)) = exits().next_back() {
            attributes.0.extend(verdict_attributes(&exit.verdict).0);
        }
        let draft = SpanDraft {
            name: format!("stage {}", visit.stage),
            kind: OtlpSpanKind::Internal,
            start: visit.entered,
            end: visit.left,
            attributes,
            status: None,
        };
        let path = format!("visit/{}/{}", visit.stage, visit.visit);
        let id = self.add(&path, Some(self.root), draft, self.run.view.last_at);
        if let Some(span) = self.spans.last_mut() {
            let own = exits().filter(|(_, exit)| exit.at >= self.run.view.started);
            span.events.extend(own.map(|(round, exit)| {
                OtlpEvent {
                    time_unix_nano: exit.at.into(),
                    name: "saihai.exit",
                    attributes: AttributeList::default()
                        .with("saihai.round", round.round)
                        .with("saihai.iteration", round.iteration)
                        .0
                        .into_iter()
                        .chain(verdict_attributes(&exit.verdict).0)
                        .collect(),
                }
            }));
        }
        for round in &visit.rounds {
            for call in self.run.view.calls_of(round) {
                self.add_call(id, visit, round, call)?;
            }
        }
        Ok(())
    }

    fn add_call(
        &mut self,
        parent: SpanId,
        visit: &VisitView,
        round: &RoundView,
        call: &'a CallView,
    ) -> Result<(), E> {
        let frame = visit.left.unwrap_or(self.run.view.last_at);
        if call.purpose.is_some() {
            for index in 0..call.attempts.len() {
                self.add_attempt(parent, round, call, index, frame)?;
            }
            return Ok(());
        }
        let stage = self.run.workflow.stage(&visit.stage);
        let is_gate = matches!(stage.map(|stage| &stage.does), Some(Activity::Gate(_)));
        if is_gate && matches!(call.place, RoundPosition::Main(_)) {
            self.add_gate(parent, round, call, frame);
        } else {
            self.add_action(parent, round, call, stage, frame);
        }
        Ok(())
    }

    /// Returns true if the original of a fork recorded this, so that its trace has the span.
    fn is_inherited(&self, at: Moment) -> bool {
        self.run.view.start.forked_from.is_some() && at < self.run.view.started
    }

    fn add_attempt(
        &mut self,
        parent: SpanId,
        round: &RoundView,
        call: &'a CallView,
        index: usize,
        frame: Moment,
    ) -> Result<(), E> {
        let attempt = &call.attempts[index];
        if self.is_inherited(attempt.asked) {
            return Ok(());
        }
        let asked = asked_of(self.run.workflow, call, &attempt.result);
        let turn = asked.map(|(turn, ..)| turn);
        let program = turn.and_then(|turn| turn.program.as_ref());
        let agent = agent_name(call, turn);
        let mut attributes = call_attributes(round, call).with("saihai.attempt", index as u64 + 1);
        match (program, asked) {
            (Some(program), _) => {
                attributes = attributes.with_known("process.executable.name", program.argv.first().cloned());
            }
            (None, Some((_, provider, model))) => {
                attributes = attributes
                    .with("gen_ai.operation.name", "invoke_agent")
                    .with("gen_ai.provider.name", provider_name(provider))
                    .with("gen_ai.agent.name", agent.as_str())
                    .with_known("gen_ai.request.model", model)
                    .with("saihai.provider", provider.as_str());
            }
            (None, None) => attributes.add("gen_ai.operation.name", "invoke_agent"),
        }
        let prompts = call.attempts[..=index].iter().rev();
        let prompt = prompts.filter_map(|attempt| attempt.prompt.as_ref()).next();
        if let Some(prompt) = prompt.map(|prompt| self.text(prompt)).transpose()?.flatten() {
            attributes.add("gen_ai.input.messages", user_message(&prompt));
        }
        let (end, status) = self.add_result(&mut attributes, attempt)?;
        let name = match program {
            Some(_) => format!("program {agent}"),
            None => format!("invoke_agent {agent}"),
        };
        // An attempt without a result ended when the next one started, because its process had died.
        let frame = call.attempts.get(index + 1).map_or(frame, |next| next.asked);
        let kind = OtlpSpanKind::Client;
        let draft = SpanDraft { name, kind, start: attempt.asked, end, attributes, status };
        let path = attempt_path(&call.id, index as u64 + 1);
        let id = self.add(&path, Some(parent), draft, frame);
        if let AttemptResult::Replied { at, reply, .. } = &attempt.result {
            self.add_tools(id, &path, attempt.asked, *at, reply)?;
        }
        Ok(())
    }

    /// Adds the attributes of an attempt's result. Returns its end and its status.
    fn add_result(
        &self,
        attributes: &mut AttributeList,
        attempt: &AttemptView,
    ) -> Result<(Option<Moment>, Option<OtlpStatus>), E> {
        Ok(match &attempt.result {
            AttemptResult::Open => (None, None),
            AttemptResult::Replied { at, reply, .. } => {
                add_spending(attributes, reply.session.as_deref(), &reply.usage, reply.cost);
                if let Some(exit) = reply.reading.exit {
                    attributes.add("process.exit.code", exit.code());
                }
                if reply.cached {
                    attributes.add("saihai.cached", true);
                }
                if reply.denied > 0 {
                    attributes.add("saihai.tools.denied", reply.denied);
                }
                if let Some(text) = self.text(reply.spoken.as_ref().unwrap_or(&reply.text))? {
                    attributes.add("gen_ai.output.messages", assistant_message(&text));
                }
                (Some(*at), None)
            }
            AttemptResult::Failed { at, failed, .. } => {
                add_spending(attributes, failed.session.as_deref(), &failed.usage, failed.cost);
                (Some(*at), Some(self.failure_status(attributes, &failed.failure)))
            }
        })
    }

    /// Adds the class of a failure. Its message is content: it can quote prompts and replies.
    fn failure_status(&self, attributes: &mut AttributeList, failure: &Failure) -> OtlpStatus {
        attributes.add("error.type", failure.class.name());
        if failure.by_deadline {
            attributes.add("saihai.failure.deadline", true);
        }
        if self.content.is_some() {
            attributes.add("saihai.failure.message", failure.message.as_str());
        }
        OtlpStatus::error(failure.class.name())
    }

    /// Adds the tools of a reply. Only their order and durations are recorded, so the starts are estimates.
    fn add_tools(
        &mut self,
        parent: SpanId,
        path: &str,
        asked: Moment,
        ended: Moment,
        reply: &Replied,
    ) -> Result<(), E> {
        let mut start = asked;
        for (index, tool) in reply.tools_used.iter().enumerate() {
            let end = Moment(start.0.saturating_add(tool.duration_ms)).min(ended);
            let mut attributes = AttributeList::default()
                .with("gen_ai.operation.name", "execute_tool")
                .with("gen_ai.tool.name", tool.name.as_str())
                .with("saihai.tool.duration_ms", tool.duration_ms)
                .with("saihai.start.estimated", true);
            if let Some(read) = self.content {
                let ToolUsed { input, long_input, output, long_output, .. } = tool;
                for (key, short, long) in [
                    ("gen_ai.tool.call.arguments", input, long_input),
                    ("gen_ai.tool.call.result", output, long_output),
                ] {
                    match (short, long) {
                        (_, Some(long)) => attributes.add(key, read(long)?),
                        (Some(short), None) => attributes.add(key, short.to_string()),
                        (None, None) => {}
                    }
                }
            }
            let name = format!("execute_tool {}", tool.name);
            let kind = OtlpSpanKind::Internal;
            let draft = SpanDraft { name, kind, start, end: Some(end), attributes, status: None };
            self.add(&format!("{path}/tool/{}", index + 1), Some(parent), draft, ended);
            start = end;
        }
        Ok(())
    }

    fn add_gate(&mut self, parent: SpanId, round: &RoundView, call: &CallView, frame: Moment) {
        // The engine leaves the stage with the answer, so the exit has the time of the answer.
        let exit = round.exit.as_ref().map(|exit| exit.at);
        if exit.is_some_and(|at| self.is_inherited(at)) {
            return;
        }
        let mut attributes = call_attributes(round, call);
        if let Some(answer) = &call.answer {
            attributes.add("saihai.gate.answer", answer.label.as_str());
            attributes.add("saihai.gate.answered_by", variant_name(&answer.by));
            if let Some(text) = answer.text.as_deref().filter(|_| self.content.is_some()) {
                attributes.add("saihai.gate.text", text);
            }
        }
        let draft = SpanDraft {
            name: format!("gate {}", call.id.stage),
            kind: OtlpSpanKind::Internal,
            start: call.called,
            end: exit,
            attributes,
            status: None,
        };
        self.add(&format!("call/{}", call.id), Some(parent), draft, frame);
    }

    fn add_action(
        &mut self,
        parent: SpanId,
        round: &RoundView,
        call: &CallView,
        stage: Option<&Stage>,
        frame: Moment,
    ) {
        let last = call.performed.last();
        if last.is_some_and(|performed| self.is_inherited(performed.at)) {
            return;
        }
        let action = action_name(call.place, stage);
        let mut attributes = call_attributes(round, call).with("saihai.action", action.as_str());
        let (mut end, mut status) = (last.map(|performed| performed.at), None);
        match last.map(|performed| &performed.outcome) {
            Some(Outcome::Done { label, .. }) => {
                let label = label.as_ref().map(|label| label.as_str());
                attributes = attributes.with_known("saihai.action.result", label);
            }
            Some(Outcome::Failed(failure)) => status = Some(self.failure_status(&mut attributes, failure)),
            Some(Outcome::Waiting { reason } | Outcome::Delayed { reason }) => {
                attributes.add("saihai.action.waits_for", reason.code());
                end = None;
            }
            Some(Outcome::NotYet) => end = None,
            None => {}
        }
        let name = format!("action {action}");
        let kind = OtlpSpanKind::Internal;
        let draft = SpanDraft { name, kind, start: call.called, end, attributes, status };
        self.add(&format!("call/{}", call.id), Some(parent), draft, frame);
    }
}

fn call_attributes(round: &RoundView, call: &CallView) -> AttributeList {
    AttributeList::default()
        .with("saihai.call", call.id.to_string())
        .with("saihai.stage", call.id.stage.as_str())
        .with("saihai.visit", call.id.visit)
        .with("saihai.iteration", round.iteration)
        .with_known("saihai.purpose", call.purpose.map(|purpose| variant_name(&purpose)))
}

fn verdict_attributes(verdict: &Verdict) -> AttributeList {
    let labels: Vec<String> = verdict.labels.iter().flatten().map(ToString::to_string).collect();
    let to = match &verdict.to {
        Destination::Stage(stage) => stage.as_str(),
        Destination::Again => "again",
        Destination::Complete => "complete",
        Destination::End(ending) => ending.outcome(),
    };
    AttributeList::default()
        .with("saihai.exit.method", variant_name(&verdict.by))
        .with_known("saihai.exit.rule", verdict.rule.map(|rule| rule as u64))
        .with_known("saihai.exit.topic", verdict.topic.as_ref().map(|topic| topic.as_str()))
        .with_known("saihai.exit.labels", (!labels.is_empty()).then_some(labels))
        .with("saihai.exit.to", to)
}

/// Adds session, tokens and cost. The conventions count tokens of a cache among the input, as the journal does.
fn add_spending(attributes: &mut AttributeList, session: Option<&str>, usage: &Usage, cost: Option<Usd>) {
    *attributes = std::mem::take(attributes)
        .with_known("gen_ai.conversation.id", session)
        .with_known("gen_ai.usage.input_tokens", usage.input)
        .with_known("gen_ai.usage.cache_read.input_tokens", usage.cached)
        .with_known("gen_ai.usage.output_tokens", usage.output)
        .with_known("gen_ai.usage.reasoning.output_tokens", usage.reasoning)
        .with_known("saihai.cost.usd", cost.map(Usd::dollars));
}

/// Returns the short name of a turn's role, or the name of the turn. Questions have the name of scripts.
fn agent_name(call: &CallView, turn: Option<&Turn>) -> String {
    let of_turn = |turn: &Turn| turn.role.clone().unwrap_or_else(|| turn.id.to_string());
    match call.place {
        RoundPosition::Check(_) => format!("{}#judge", turn.map_or(call.id.stage.to_string(), of_turn)),
        RoundPosition::Exit => format!("{}#judge", call.id.stage),
        _ => turn.map_or(call.id.stage.to_string(), of_turn),
    }
}

/// Returns the name that the conventions have for a provider; other providers keep the name of the settings.
pub(crate) fn provider_name(provider: &ProviderName) -> &str {
    match ProviderKind::named(provider.as_str()) {
        Some(ProviderKind::Claude | ProviderKind::Anthropic) => "anthropic",
        Some(ProviderKind::Codex | ProviderKind::Openai) => "openai",
        Some(ProviderKind::Gemini) => "gcp.gemini",
        Some(
            ProviderKind::Opencode
            | ProviderKind::Copilot
            | ProviderKind::Acp
            | ProviderKind::Command
            | ProviderKind::Script,
        )
        | None => provider.as_str(),
    }
}

fn action_name(place: RoundPosition, stage: Option<&Stage>) -> String {
    match (place, stage.map(|stage| &stage.does)) {
        (RoundPosition::Main(_), Some(Activity::Action(action))) => variant_name(&action.does),
        (RoundPosition::Report(_), _) => variant_name(&Action::SaveReports),
        (RoundPosition::Block(_), _) => "requested_by_reply".to_owned(),
        (RoundPosition::Proof(_), _) => "proof".to_owned(),
        (RoundPosition::Outside(_), _) => "completion_condition".to_owned(),
        _ => "action".to_owned(),
    }
}

/// Returns the name of an enum's variant, as journals write it.
fn variant_name(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(fields)) => fields.into_iter().next().map(|(name, _)| name).unwrap_or_default(),
        _ => String::new(),
    }
}

fn user_message(text: &str) -> String {
    json!([{"role": "user", "parts": [{"type": "text", "content": text}]}]).to_string()
}

fn assistant_message(text: &str) -> String {
    let parts = json!([{"type": "text", "content": text}]);
    json!([{"role": "assistant", "parts": parts, "finish_reason": "stop"}]).to_string()
}
