//! Any agent that speaks the Agent Client Protocol (C-67): JSON-RPC 2.0, one line per message.
//!
//! Nothing restricts such an agent except its own requests for permission. So a level below `full` needs an
//! agent that is known to ask, or a setting that says so (C-45). The level then decides each request.
//!
//! A process serves one session. It stays after a successful turn, for the next one. After a failed turn, a
//! dead process or a resumed run, a new process loads the session. If the agent cannot load it, the session
//! is lost, and the engine recovers (C-29).

mod message;

use saihai_model::{
    Ask, Failure, FailureClass, Json, Meter, Progress, ProviderAnswer, ProviderKind, ProviderSettings, Usage,
};
use serde_json::Value;

use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, IdleAgentFacts, ListenerStep, ProcessEnd,
    abrupt, failure, fits,
};
use crate::agents::turn_log::TurnLog;
use crate::agents::turn_log::{ReportedCost, ToolTime, share_of_turn, sum_of_usage};
use crate::api_error::class_of_status;
use message::{
    AcpError, AcpMessage, AcpPermissionRequest, AcpUpdate, FIRST_PROMPT, INITIALIZE, SESSION, status_in,
};

pub(crate) struct Acp;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Acp,
    program: "",
    install: "",
    tested: "protocol 1",
    environment: &[],
    known_tools: &[],
    max_prompt: 10_000_000,
};

impl AgentProgram for Acp {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        // The first input is only the handshake, so the prompt's size is checked here.
        let most = settings.max_prompt.unwrap_or(PROFILE.max_prompt);
        fits(message::prompt_text(ask).len(), most, &ask.provider)?;
        if !settings.can_enforce(ask.permission) {
            let (level, provider) = (ask.permission.name(), &ask.provider);
            let words = format!(
                "the agent of `{provider}` is not known to enforce `{level}`; if it asks before it acts, set \
                 `honours` in its settings"
            );
            return Err(failure(FailureClass::BadRequest, &words));
        }
        let arguments = settings.args.clone();
        Ok(AgentInvocation { arguments, input: message::initialize(), ..AgentInvocation::default() })
    }

    fn listener(&self, ask: &Ask, _: &ProviderSettings) -> Box<dyn AgentListener> {
        Box::new(AcpClient::new(ask.clone()))
    }

    fn going_on(&self, ask: &Ask, known: &IdleAgentFacts) -> Option<(String, Box<dyn AgentListener>)> {
        let client = AcpClient::going_on(ask.clone(), known)?;
        Some((client.prompt(), Box::new(client)))
    }
}

/// Number of times we ask an agent to continue after it stopped over a refused tool.
const CONTINUATIONS: u32 = 3;

/// The name that Copilot CLI reports in its answer to `initialize`.
const COPILOT: &str = "Copilot";

/// The request that the agent has not answered yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcpStage {
    Greeting,
    Opening,
    Prompting,
    Over,
}

struct AcpClient {
    ask: Ask,
    stage: AcpStage,
    log: TurnLog,
    /// The next text starts a new message.
    is_message_over: bool,
    /// Id of the message that the last text belongs to, if the agent sends ids.
    message: Option<String>,
    /// Kinds of the announced tools, by tool id.
    kinds: Vec<(String, String)>,
    /// The last line of the program itself since the last text or tool call of its model.
    notice: Option<String>,
    /// The tool that was refused since the last text or tool call of the model.
    refused: Option<String>,
    continuations: u32,
    /// The agent's name, and the number of prompts its process had before this one.
    known: IdleAgentFacts,
    counted: Meter,
    /// The last reported cost of the session.
    cost: ReportedCost,
    result: Option<Result<String, Failure>>,
}

impl AcpClient {
    fn new(ask: Ask) -> Self {
        Self {
            ask,
            stage: AcpStage::Greeting,
            log: TurnLog::default(),
            is_message_over: true,
            message: None,
            kinds: Vec::new(),
            notice: None,
            refused: None,
            continuations: 0,
            known: IdleAgentFacts { name: String::new(), prompts: 0 },
            counted: Meter::default(),
            cost: ReportedCost::default(),
            result: None,
        }
    }

    /// Returns a client for a process that already has the ask's session open.
    fn going_on(ask: Ask, known: &IdleAgentFacts) -> Option<Self> {
        let log = TurnLog { session: Some(ask.session.clone()?), ..TurnLog::default() };
        Some(Self { stage: AcpStage::Prompting, log, known: known.clone(), ..Self::new(ask) })
    }

    fn prompt(&self) -> String {
        let session = self.log.session.as_deref().unwrap_or_default();
        message::prompt(&message::prompt_text(&self.ask), session, self.number())
    }

    /// Returns the id of the prompt request. A process never gets the same id twice.
    fn number(&self) -> u64 {
        FIRST_PROMPT + self.known.prompts
    }
}

impl AgentListener for AcpClient {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(incoming) = serde_json::from_str::<AcpMessage>(line) else { return ListenerStep::GoOn };
        match (incoming.method.as_deref(), &incoming.id) {
            (Some("session/request_permission"), Some(id)) => {
                ListenerStep::Say(message::answer(id, &self.permit(incoming.params, tell)))
            }
            (Some(method), Some(id)) => ListenerStep::Say(message::unknown_method(id, method)),
            (Some("session/update"), None) => {
                let update = incoming.params.get("update").cloned().unwrap_or_default();
                // A loaded session replays its history, which is not news.
                if let (AcpStage::Prompting, Ok(update)) = (self.stage, serde_json::from_value(update)) {
                    self.update(update, tell);
                }
                ListenerStep::GoOn
            }
            (Some(_), None) | (None, None) => ListenerStep::GoOn,
            (None, Some(id)) => match (self.stage, id.as_u64()) {
                (AcpStage::Greeting, Some(INITIALIZE)) => self.greeted(incoming),
                (AcpStage::Opening, Some(SESSION)) => self.opened(incoming),
                (AcpStage::Prompting, Some(number)) if number == self.number() => self.answered(incoming),
                (AcpStage::Greeting | AcpStage::Opening | AcpStage::Prompting | AcpStage::Over, _) => {
                    ListenerStep::GoOn
                }
            },
        }
    }

    fn is_spoken_with(&self) -> bool {
        true
    }

    fn farewell(&mut self) -> Option<String> {
        let session = self.log.session.as_ref().filter(|_| self.stage == AcpStage::Prompting)?;
        Some(message::cancel(session))
    }

    /// Keeps the process only after a successful turn. After any other end its state is unknown.
    fn stays(&self) -> Option<IdleAgentFacts> {
        let is_well =
            matches!(&self.result, Some(Ok(reason)) if reason == "end_turn") && !self.log.is_empty();
        let IdleAgentFacts { name, prompts } = self.known.clone();
        is_well.then_some(IdleAgentFacts { name, prompts: prompts + 1 })
    }

    fn is_busy(&self) -> bool {
        self.log.tools.is_open()
    }

    /// Returns the answer. The agent outlives the turn, so its exit code after an answer means nothing.
    fn end(mut self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        self.settle();
        let failed = match self.result.take() {
            None => Some(abrupt(&PROFILE, "ended without an answer", end)),
            Some(Err(failure)) => Some(failure),
            Some(Ok(reason)) => stopped(&reason),
        };
        self.log.into_answer(&self.ask, &PROFILE, failed, end)
    }
}

impl AcpClient {
    fn greeted(&mut self, incoming: AcpMessage) -> ListenerStep {
        if let Some(problem) = incoming.error {
            return self.failed(classify(&problem));
        }
        let name = incoming.result["agentInfo"]["name"].as_str().unwrap_or_default();
        name.clone_into(&mut self.known.name);
        let loads = incoming.result["agentCapabilities"]["loadSession"].as_bool() == Some(true);
        if let (Some(session), false) = (&self.ask.session, loads) {
            let words = format!("the agent cannot continue the session `{session}` in a new process");
            return ListenerStep::Abort(failure(FailureClass::SessionLost, &words));
        }
        self.stage = AcpStage::Opening;
        ListenerStep::Say(message::session(&self.ask))
    }

    fn opened(&mut self, incoming: AcpMessage) -> ListenerStep {
        match (incoming.error, &self.ask.session) {
            (Some(problem), Some(session)) if classify(&problem).class == FailureClass::Crashed => {
                let words = format!("the agent could not load the session `{session}`: {}", words(&problem));
                return self.failed(failure(FailureClass::SessionLost, &words));
            }
            (Some(problem), Some(_) | None) => return self.failed(classify(&problem)),
            (None, Some(session)) => self.log.session = Some(session.clone()),
            (None, None) => {
                self.log.session = incoming.result["sessionId"].as_str().map(str::to_owned);
            }
        }
        if self.log.session.is_none() {
            return self.failed(failure(FailureClass::Crashed, "the agent opened a session without an id"));
        }
        self.stage = AcpStage::Prompting;
        ListenerStep::Say(self.prompt())
    }

    fn answered(&mut self, incoming: AcpMessage) -> ListenerStep {
        if let Some(problem) = incoming.error {
            return self.failed(classify(&problem));
        }
        let counted = usage(&incoming.result);
        if let Some(usage) = &counted {
            let is_first = self.continuations == 0 || self.counts_sessions();
            self.counted.usage =
                if is_first { usage.clone() } else { sum_of_usage(&self.counted.usage, usage) };
        }
        let reason = incoming.result["stopReason"].as_str().unwrap_or_default();
        if reason == "end_turn" {
            let notice = self.notice.take();
            let failed =
                notice.as_deref().and_then(|notice| message::notice_failure(notice, counted.is_some()));
            if let Some(failure) = failed {
                return self.failed(failure);
            }
            if let Some(tool) = self.refused.take() {
                return self.continue_without(&tool);
            }
            if let (Some(notice), None) = (notice, self.log.messages.last()) {
                self.log.messages.begin(notice);
            }
        }
        self.result = Some(Ok(reason.to_owned()));
        self.stage = AcpStage::Over;
        ListenerStep::Done
    }

    /// Asks the agent to continue without the refused tool. Some agents end the turn at a refusal, and their
    /// model never learns of it.
    fn continue_without(&mut self, tool: &str) -> ListenerStep {
        if self.continuations == CONTINUATIONS {
            let words = format!("the agent stopped each time Saihai refused a tool, last `{tool}`");
            return self.failed(failure(FailureClass::BadRequest, &words));
        }
        self.continuations += 1;
        self.known.prompts += 1;
        self.is_message_over = true;
        let words = format!(
            "`{tool}` is not allowed in this turn. Continue without it, and finish the task as you were asked to."
        );
        let session = self.log.session.as_deref().unwrap_or_default();
        ListenerStep::Say(message::prompt(&words, session, self.number()))
    }

    fn failed(&mut self, failure: Failure) -> ListenerStep {
        self.result = Some(Err(failure));
        self.stage = AcpStage::Over;
        ListenerStep::Done
    }

    fn update(&mut self, mut update: AcpUpdate, tell: &mut dyn FnMut(Progress)) {
        match update.session_update.as_str() {
            "agent_message_chunk" => self.text(&update, tell),
            "tool_call" => {
                self.is_message_over = true;
                (self.notice, self.refused) = (None, None);
                let (id, input) = (&update.tool_call_id, update.raw_input.take());
                if let Some(kind) = update.kind.take() {
                    self.kinds.push((id.clone(), kind));
                }
                self.log.tools.started(id, &update.title, input, ToolTime::now(), tell);
                self.finish_tool(update, tell);
            }
            "tool_call_update" => self.finish_tool(update, tell),
            "usage_update" => {
                let told = update.cost.filter(|cost| cost.currency == "USD").map(|cost| cost.amount);
                if let Some(told) = told.filter(|told| *told != ReportedCost::Nothing) {
                    self.cost = told;
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, update: &AcpUpdate, tell: &mut dyn FnMut(Progress)) {
        let Some(text) = update.content["text"].as_str() else { return };
        if self.known.name == COPILOT && message::is_notice(text) {
            self.notice = Some(text.to_owned());
            self.is_message_over = true;
            if text.contains("Retrying") {
                tell(Progress::Retrying(text.to_owned()));
            }
            return;
        }
        (self.notice, self.refused) = (None, None);
        tell(Progress::Text(text.to_owned()));
        let is_same = !self.is_message_over && self.message == update.message_id;
        if is_same {
            self.log.messages.go_on(text);
        } else {
            self.log.messages.begin(text.to_owned());
        }
        self.message.clone_from(&update.message_id);
        self.is_message_over = false;
    }

    fn finish_tool(&mut self, update: AcpUpdate, tell: &mut dyn FnMut(Progress)) {
        if matches!(update.status.as_str(), "completed" | "failed") {
            let output = update.raw_output.or(Some(update.content).filter(|content| !content.is_null()));
            self.log.tools.finished(&update.tool_call_id, output, ToolTime::now(), tell);
        }
    }

    /// Answers a permission request. For some agents this is the only report of a refused tool.
    fn permit(&mut self, params: Value, tell: &mut dyn FnMut(Progress)) -> Json {
        self.is_message_over = true;
        let request: AcpPermissionRequest = serde_json::from_value(params).unwrap_or_default();
        let told = self.kinds.iter().find(|(id, _)| *id == request.tool_call.tool_call_id);
        let kind = request.tool_call.kind.as_deref().or(told.map(|(_, kind)| kind.as_str()));
        let kind = kind.unwrap_or_default();
        let is_verdict = self.ask.verdict.is_some() && message::is_verdict(kind, &request.tool_call.title);
        let is_allowed = is_verdict || message::covers(self.ask.permission, kind);
        if !is_allowed {
            self.log.denied += 1;
            self.refused = Some(request.tool_call.title.clone());
            tell(Progress::Denied(request.tool_call.title));
        }
        message::permission_outcome(&request.options, is_allowed)
    }

    /// Returns true for Copilot, which counts the tokens of a session, not of a turn.
    fn counts_sessions(&self) -> bool {
        self.known.name == COPILOT
    }

    /// Computes this turn's share of the counters (C-27). Costs always count for the session.
    fn settle(&mut self) {
        let counts_sessions = self.counts_sessions();
        self.counted.cost = self.cost.amount();
        self.log.warnings.extend(self.cost.warning());
        let Meter { usage, cost } = share_of_turn(&self.ask, &self.counted);
        self.log.cost = cost;
        self.log.usage = if counts_sessions { usage } else { self.counted.usage.clone() };
        let counted = Meter {
            usage: if counts_sessions { self.counted.usage.clone() } else { Usage::default() },
            cost: self.counted.cost,
        };
        self.log.metered = Some(counted).filter(|counted| *counted != Meter::default());
    }
}

/// Returns the failure that a stop reason means, if it means one.
fn stopped(reason: &str) -> Option<Failure> {
    let (class, words) = match reason {
        "end_turn" => return None,
        "cancelled" => (FailureClass::Cancelled, "the agent cancelled the turn"),
        "refusal" => (FailureClass::Refused, "the agent's model refused"),
        "max_tokens" => (FailureClass::BadRequest, "the answer was cut off at the model's limit of tokens"),
        "max_turn_requests" => {
            (FailureClass::BadRequest, "the agent reached its own limit of requests to its model")
        }
        other => return Some(failure(FailureClass::Crashed, &format!("the agent stopped: `{other}`"))),
    };
    Some(failure(class, words))
}

/// Returns the message of an error, with the details in its data.
fn words(problem: &AcpError) -> String {
    let data = &problem.data;
    let texts = [data, &data["details"], &data["message"], &data["error"], &data["error"]["message"]];
    let details = match texts.into_iter().find_map(Json::as_str) {
        Some(text) => text.to_owned(),
        None if data.is_null() => String::new(),
        None => data.to_string(),
    };
    match (problem.message.as_str(), details.as_str()) {
        (message, details) if details.is_empty() || message.contains(details) => message.to_owned(),
        ("", details) => details.to_owned(),
        (message, details) => format!("{message}: {details}"),
    }
}

/// Classifies an error. Agents put an HTTP status into the JSON-RPC code, the data or the text.
fn classify(problem: &AcpError) -> Failure {
    let words = words(problem);
    let said = words.to_lowercase();
    let data = &problem.data;
    let numbers = ["status", "statusCode", "code"].iter().flat_map(|key| [&data[*key], &data["error"][*key]]);
    let codes = [Some(problem.code)].into_iter().chain(numbers.map(Json::as_i64)).flatten();
    let statuses = codes.filter_map(|code| u16::try_from(code).ok());
    let status = statuses.into_iter().find(|status| (400..600).contains(status)).or(status_in(&words));
    let class = match status {
        Some(status) => class_of_status(status),
        None if ["auth", "api key", "api_key", "bad key"].iter().any(|mark| said.contains(mark)) => {
            FailureClass::Auth
        }
        None => FailureClass::Crashed,
    };
    failure(class, &words)
}

/// Reads token counts from either of the two places that agents use.
fn usage(result: &Json) -> Option<Usage> {
    let usage = &result["usage"];
    let quota = &result["_meta"]["quota"]["token_count"];
    let found = Usage {
        input: usage["inputTokens"].as_u64().or(quota["input_tokens"].as_u64()),
        output: usage["outputTokens"].as_u64().or(quota["output_tokens"].as_u64()),
        cached: usage["cachedReadTokens"].as_u64(),
        reasoning: usage["thoughtTokens"].as_u64(),
        cumulative: false,
    };
    Some(found).filter(|found| *found != Usage::default())
}

#[cfg(test)]
mod tests;
