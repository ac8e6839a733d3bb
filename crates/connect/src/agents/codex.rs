//! `codex`: Codex in exec mode, with a stream of events (C-61).

use std::sync::LazyLock;

use jiff::civil::{DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};
use regex::Regex;
use saihai_model::{
    Ask, Failure, FailureClass, Json, Meter, Millis, Moment, Permission, Progress, ProviderAnswer,
    ProviderKind, ProviderRefusal, ProviderSettings, Usage, VerdictServerCommand, VerdictTool,
};
use serde::Deserialize;
use serde_json::json;

use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, ListenerStep, Login, LoginProbe, ProbeOutput,
    ProcessEnd, abrupt, failure, unique_id, verdict_server, with_persona,
};
use crate::agents::turn_log::{ToolTime, TurnLog, or_default, share_of_turn};
use crate::api_error::{class_of_status, wait_of_seconds};
use crate::structured::is_closed;

#[derive(Debug)]
pub(crate) struct Codex;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Codex,
    program: "codex",
    install: "npm install -g @openai/codex",
    tested: "0.166.0",
    environment: &["OPENAI_API_KEY", "CODEX_HOME"],
    // It counts characters, see below. A character has at most four bytes.
    known_tools: &[
        "apply_patch",
        "clock.sleep",
        "collaboration.followup_task",
        "collaboration.interrupt_agent",
        "collaboration.list_agents",
        "collaboration.send_message",
        "collaboration.spawn_agent",
        "collaboration.wait_agent",
        "create_goal",
        "exec_command",
        "functions.exec",
        "functions.request_user_input",
        "functions.request_user_input_async",
        "functions.wait",
        "get_goal",
        "list_mcp_resource_templates",
        "list_mcp_resources",
        "multi_agent_v1.close_agent",
        "multi_agent_v1.resume_agent",
        "multi_agent_v1.send_input",
        "multi_agent_v1.spawn_agent",
        "multi_agent_v1.wait_agent",
        "read_mcp_resource",
        "request_user_input",
        "shell_command",
        "tool_search",
        "update_goal",
        "update_plan",
        "view_image",
        "web_search",
        "write_stdin",
        // Names in its reports.
        "command_execution",
        "file_change",
    ],
    max_prompt: 4 * LONGEST_PROMPT as u64,
};

/// Maximum prompt length in characters.
const LONGEST_PROMPT: usize = 1_048_576;

impl AgentProgram for Codex {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        // Its option for instructions is not used: a resumed thread keeps its first instructions (C-23).
        let input = with_persona(ask);
        let characters = input.chars().count();
        if characters > LONGEST_PROMPT {
            let message = format!("prompt is {characters} characters, codex takes {LONGEST_PROMPT}");
            return Err(failure(FailureClass::BadRequest, &message));
        }
        if ask.permission == (Permission::Edit { commands: false }) {
            let words = "codex cannot enforce `edit-only`: it reads and writes files by commands; allow commands \
                         with `edit`, or use another provider";
            return Err(failure(FailureClass::BadRequest, words));
        }
        let (options, files) = options(ask, settings);
        let place = ["-s", level(ask.permission), "-C", &ask.directory].map(str::to_owned);
        let fixed = ["--json", "--skip-git-repo-check", "--disable", "plugins"].map(str::to_owned);
        let mut arguments = vec!["exec".to_owned()];
        match &ask.session {
            // Directory and permission go before `resume`, everything else after it.
            Some(thread) => {
                arguments.extend(place);
                arguments.push("resume".to_owned());
                arguments.extend(fixed);
                arguments.extend(options);
                arguments.push(thread.clone());
            }
            None => {
                arguments.extend(fixed);
                arguments.extend(place);
                arguments.extend(options);
            }
        }
        arguments.push("-".to_owned());
        Ok(AgentInvocation { arguments, environment: Vec::new(), files, input })
    }

    fn listener(&self, ask: &Ask, _settings: &ProviderSettings) -> Box<dyn AgentListener> {
        Box::new(CodexListener { ask: ask.clone(), log: TurnLog::default(), outcome: None })
    }

    fn login(&self) -> Option<LoginProbe> {
        Some(LoginProbe { arguments: &["login", "status"], read: logged_in })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["OPENAI_API_KEY"]
    }
}

/// Reads the exit code of `login status`.
fn logged_in(said: &ProbeOutput) -> Login {
    match said.code {
        Some(0) => Login::In,
        Some(1) => Login::Out,
        Some(_) | None => Login::Unknown,
    }
}

/// Returns the sandbox that enforces a permission (C-42). Commands of an editing turn run inside it too.
fn level(permission: Permission) -> &'static str {
    match permission {
        Permission::ReadOnly => "read-only",
        Permission::Edit { .. } => "workspace-write",
        Permission::Full => "danger-full-access",
    }
}

type Files = Vec<(String, String)>;

fn options(ask: &Ask, settings: &ProviderSettings) -> (Vec<String>, Files) {
    let (mut options, mut files) = (Vec::new(), Vec::new());
    if let Some(model) = &ask.model {
        options.extend(["-m".to_owned(), model.clone()]);
    }
    // The API rejects any other schema. We check the reply in either case.
    if let Some(schema) = ask.schema.as_ref().filter(|schema| is_strict(schema)) {
        let file = format!("{}/schema-{}.json", ask.scratch, unique_id(ask));
        options.extend(["--output-schema".to_owned(), file.clone()]);
        files.push((file, schema.to_string()));
    }
    if let Some(VerdictServerCommand { program, arguments }) = verdict_server(ask) {
        let server = VerdictTool::SERVER;
        // JSON texts and lists are TOML too.
        for (key, value) in [("command", json!(program)), ("args", json!(arguments))] {
            options.extend(["-c".to_owned(), format!("mcp_servers.{server}.{key}={value}")]);
        }
    }
    if ask.foreign {
        options.extend(foreign(&ask.directory));
    }
    options.extend(settings.args.iter().cloned());
    (options, files)
}

/// Returns the arguments for an untrusted project. Codex starts the MCP servers of a project that the user
/// trusts, also in its worktrees. It reads `AGENTS.md` even without trust. The path is a quoted key, because
/// a dotted key would split at the dots of the path.
fn foreign(directory: &str) -> [String; 4] {
    let trust = format!("projects={{{}={{trust_level=\"untrusted\"}}}}", Json::from(directory));
    ["-c".to_owned(), "project_doc_max_bytes=0".to_owned(), "-c".to_owned(), trust]
}

/// Returns true if the API accepts a schema: every object is closed and requires all its properties.
fn is_strict(schema: &Json) -> bool {
    schema.get("type") == Some(&Json::from("object")) && is_closed(schema)
}

struct CodexListener {
    ask: Ask,
    log: TurnLog,
    outcome: Option<CodexOutcome>,
}

enum CodexOutcome {
    /// The turn is complete; the usage covers the whole thread.
    Completed(Option<Usage>),
    /// The turn failed with this message.
    Failed(String),
}

impl AgentListener for CodexListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(event) = serde_json::from_str::<CodexEvent>(line) else { return ListenerStep::GoOn };
        match event {
            CodexEvent::ThreadStarted { thread_id } => self.log.session = thread_id,
            CodexEvent::ItemStarted { item } => self.started(item, tell),
            CodexEvent::ItemCompleted { item } => self.completed(item, tell),
            CodexEvent::TurnCompleted { usage } => {
                return self.ended(CodexOutcome::Completed(usage.map(|counted| counted.usage())));
            }
            CodexEvent::TurnFailed { error } => return self.ended(CodexOutcome::Failed(error.message)),
            // Only a failure of the turn is fatal. Codex may recover from other errors.
            CodexEvent::Error { message } => tell(Progress::Retrying(message)),
            CodexEvent::Other => {}
        }
        ListenerStep::GoOn
    }

    fn is_busy(&self) -> bool {
        self.log.tools.is_open()
    }

    fn end(mut self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        let refusal = match self.outcome.take() {
            Some(CodexOutcome::Completed(counted)) => return self.replied(counted, end),
            Some(CodexOutcome::Failed(message)) => refusal(&message, &Zoned::now()),
            // Errors at the start appear on standard error only.
            None if class_of_message(&end.complaints).is_some() => refusal(&end.complaints, &Zoned::now()),
            None => abrupt(&PROFILE, "ended without an end of the turn", end).into(),
        };
        Err(ProviderRefusal { retry_after: refusal.retry_after, ..self.log.into_refusal(refusal.failure) })
    }
}

impl CodexListener {
    fn started(&mut self, item: Json, tell: &mut dyn FnMut(Progress)) {
        if let CodexItem::Tool(tool) = CodexItem::of(item) {
            self.log.tools.started(&tool.id, &tool.name, tool.input, ToolTime::now(), tell);
        }
    }

    fn completed(&mut self, item: Json, tell: &mut dyn FnMut(Progress)) {
        match CodexItem::of(item) {
            CodexItem::Message(text) if !text.trim().is_empty() => {
                tell(Progress::Text(text.clone()));
                self.log.messages.begin(text);
            }
            CodexItem::Tool(tool) => {
                // Codex reports some tools only at their end.
                self.log.tools.started(&tool.id, &tool.name, tool.input, ToolTime::now(), tell);
                if tool.declined {
                    self.log.denied = self.log.denied.saturating_add(1);
                    tell(Progress::Denied(tool.name));
                }
                self.log.tools.finished(&tool.id, tool.output, ToolTime::now(), tell);
            }
            CodexItem::Message(_) | CodexItem::Other => {}
        }
    }

    fn ended(&mut self, outcome: CodexOutcome) -> ListenerStep {
        if self.outcome.is_some() {
            self.log.warnings.push("codex reported a second end of the turn, which was ignored".to_owned());
            return ListenerStep::GoOn;
        }
        self.outcome = Some(outcome);
        ListenerStep::Done
    }

    fn replied(mut self, counted: Option<Usage>, end: &ProcessEnd) -> ProviderAnswer {
        self.log.metered = counted.map(|usage| Meter { usage, cost: None });
        let turn = self.log.metered.as_ref().map(|counted| share_of_turn(&self.ask, counted));
        self.log.usage = turn.map(|turn| turn.usage).unwrap_or_default();
        if !end.exit.is_fine() {
            return Err(self.log.into_refusal(abrupt(&PROFILE, "did not end well after its reply", end)));
        }
        self.log.into_reply(&self.ask, None, None, || abrupt(&PROFILE, "ended without any reply", end))
    }
}

/// Interprets an error message: its class and the time of the next attempt.
fn refusal(message: &str, now: &Zoned) -> ProviderRefusal {
    let class = class_of_message(message).unwrap_or(FailureClass::Crashed);
    let waits = matches!(class, FailureClass::RateLimited | FailureClass::Quota | FailureClass::Transient);
    let until = retry_time(message, now).filter(|_| waits);
    let retry_after: Option<Millis> = wait_in_seconds(message).filter(|_| waits).and_then(wait_of_seconds);
    ProviderRefusal { retry_after, ..ProviderRefusal::from(Failure { until, ..failure(class, message) }) }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type")]
enum CodexEvent {
    #[serde(rename = "thread.started")]
    ThreadStarted {
        #[serde(default, deserialize_with = "or_default")]
        thread_id: Option<String>,
    },
    #[serde(rename = "item.started")]
    ItemStarted { item: Json },
    #[serde(rename = "item.completed")]
    ItemCompleted { item: Json },
    #[serde(rename = "turn.completed")]
    TurnCompleted {
        #[serde(default, deserialize_with = "or_default")]
        usage: Option<CodexTokens>,
    },
    #[serde(rename = "turn.failed")]
    TurnFailed {
        #[serde(default, deserialize_with = "or_default")]
        error: CodexError,
    },
    #[serde(rename = "error")]
    Error {
        #[serde(default, deserialize_with = "or_default")]
        message: String,
    },
    #[serde(other)]
    Other,
}

#[derive(Debug, Default, Deserialize)]
struct CodexError {
    #[serde(default, deserialize_with = "or_default")]
    message: String,
}

/// Token counts of the whole thread.
#[derive(Debug, Default, Deserialize)]
struct CodexTokens {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    cached_input_tokens: Option<u64>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    reasoning_output_tokens: Option<u64>,
}

impl CodexTokens {
    fn usage(&self) -> Usage {
        Usage {
            input: self.input_tokens,
            output: self.output_tokens,
            cached: self.cached_input_tokens,
            reasoning: self.reasoning_output_tokens,
            cumulative: false,
        }
    }
}

/// A message or an action of the agent.
enum CodexItem {
    Message(String),
    Tool(CodexTool),
    /// Thoughts, plans and non-fatal errors.
    Other,
}

struct CodexTool {
    id: String,
    name: String,
    input: Option<Json>,
    output: Option<Json>,
    /// The tool needed an approval that no one could give.
    declined: bool,
}

impl CodexItem {
    fn of(item: Json) -> Self {
        let text = |name: &str| item.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
        let field = |name: &str| item.get(name).filter(|value| !value.is_null()).cloned();
        let (name, input, output) = match text("type").as_str() {
            "agent_message" => return Self::Message(text("text")),
            kind @ "command_execution" => (kind.to_owned(), field("command"), field("aggregated_output")),
            kind @ "file_change" => (kind.to_owned(), field("changes"), None),
            kind @ "web_search" => (kind.to_owned(), field("query"), None),
            "mcp_tool_call" => {
                let name = format!("{}.{}", text("server"), text("tool"));
                (name, field("arguments"), field("result").or_else(|| field("error")))
            }
            _ => return Self::Other,
        };
        Self::Tool(CodexTool { id: text("id"), name, input, output, declined: text("status") == "declined" })
    }
}

/// Known sentences or parts of sentences. The first match counts.
const SENTENCES: [(&str, FailureClass); 15] = [
    ("no rollout found for thread id", FailureClass::SessionLost),
    ("Missing environment variable", FailureClass::Auth),
    ("Quota exceeded", FailureClass::Quota),
    ("hit your usage limit", FailureClass::Quota),
    ("insufficient_quota", FailureClass::Quota),
    ("rate limit exceeded", FailureClass::RateLimited),
    ("ran out of room in the model's context window", FailureClass::BadRequest),
    ("input_too_large", FailureClass::BadRequest),
    ("invalid_request_error", FailureClass::BadRequest),
    ("unexpected argument", FailureClass::BadRequest),
    ("content_filter", FailureClass::Refused),
    ("high demand", FailureClass::Transient),
    ("at capacity", FailureClass::Transient),
    ("stream disconnected", FailureClass::Transient),
    ("error sending request", FailureClass::Transient),
];

fn class_of_message(message: &str) -> Option<FailureClass> {
    static STATUS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:unexpected status|last status:) (\d{3})").expect("the expression is a constant")
    });
    static NO_MODEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)\bmodel\b.*(?:does not exist|is not supported)")
            .expect("the expression is a constant")
    });
    let sentence = SENTENCES.iter().find(|(part, _)| message.contains(part)).map(|(_, class)| *class);
    let status = || STATUS.captures(message)?.get(1)?.as_str().parse().ok().map(class_of_status);
    sentence.or_else(status).or_else(|| {
        let is_refused = is_body(message) || NO_MODEL.is_match(message);
        is_refused.then_some(FailureClass::BadRequest)
    })
}

/// Returns true if a message is only a response body. Codex reports status 400 this way, without the number.
fn is_body(message: &str) -> bool {
    serde_json::from_str::<Json>(message).is_ok_and(|body| body.is_object())
}

/// Reads the wait in a message: `try again in 11.054s`.
fn wait_in_seconds(message: &str) -> Option<f64> {
    static WAIT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"try again in (\d+(?:\.\d+)?) ?(ms|s|seconds?)\b").expect("the expression is a constant")
    });
    let found = WAIT.captures(message)?;
    let number: f64 = found.get(1)?.as_str().parse().ok()?;
    Some(if found.get(2)?.as_str() == "ms" { number / 1000.0 } else { number })
}

/// The limit ends at some point within the named minute.
const MINUTE: SignedDuration = SignedDuration::from_mins(1);

/// Maximum age of a time of day that means now. An older time of day means tomorrow.
const JUST_PAST: SignedDuration = SignedDuration::from_hours(1);

/// Returns when to try again: `try again at Jan 15th, 2027 8:00 AM`, or only a time of day, in local time.
///
/// Codex cuts off the seconds. The result is the end of that minute: earlier the limit may still apply.
fn retry_time(message: &str, now: &Zoned) -> Option<Moment> {
    static DAY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"try again at (?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}):(\d{2})[ \u{202f}]([AP]M)",
        )
        .expect("the expression is a constant")
    });
    let found = DAY.captures(message)?;
    let number = |index: usize| found.get(index)?.as_str().parse::<i16>().ok();
    let half = if found.get(6)?.as_str() == "PM" { 12 } else { 0 };
    let hour = i8::try_from(number(4)? % 12 + half).ok()?;
    let time = Time::new(hour, i8::try_from(number(5)?).ok()?, 0, 0).ok()?;
    let moment = match found.get(1) {
        Some(month) => {
            let day =
                jiff::civil::Date::new(number(3)?, month_of(month.as_str())?, i8::try_from(number(2)?).ok()?);
            timestamp_of(day.ok()?.to_datetime(time), now.time_zone())?.checked_add(MINUTE).ok()?
        }
        None => next_time_of_day(time, now)?,
    };
    u64::try_from(moment.as_millisecond()).ok().map(Moment)
}

/// Returns the next end of the named minute. A minute that has just passed means now, so the result is one
/// minute from now. Without a time in the future the engine would wait for an hour.
fn next_time_of_day(time: Time, now: &Zoned) -> Option<Timestamp> {
    let just_past = now.timestamp().checked_sub(JUST_PAST).ok()?;
    // Around midnight, a time that has just passed belongs to yesterday.
    let days = [-1, 0, 1].into_iter().filter_map(|days: i64| now.date().checked_add(days.days()).ok());
    let mut moments =
        days.filter_map(|day| timestamp_of(day.to_datetime(time), now.time_zone())?.checked_add(MINUTE).ok());
    let moment = moments.find(|moment| *moment > just_past)?;
    Some(if moment > now.timestamp() { moment } else { now.timestamp().checked_add(MINUTE).ok()? })
}

fn timestamp_of(date: DateTime, zone: &TimeZone) -> Option<Timestamp> {
    zone.to_timestamp(date).ok()
}

fn month_of(name: &str) -> Option<i8> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let index = MONTHS.iter().position(|month| *month == name)?;
    i8::try_from(index + 1).ok()
}

#[cfg(test)]
mod tests;
