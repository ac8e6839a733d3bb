//! `gemini` (C-65).
//!
//! Its approval modes do not restrict the agent. In plan mode the model has `exit_plan_mode`, which approves
//! itself in a run without a person, and then everything is allowed. So we write a policy file that denies
//! every tool a level does not name. It has priority over settings and the user's policies.
//!
//! The exit code is the HTTP status of the model's API, reduced to one byte. Gemini retries for minutes and
//! reports that on standard error only. After the fourth retry we end it, and the engine decides.

use saihai_model::{
    Ask, Failure, FailureClass, Json, Permission, Progress, ProviderAnswer, ProviderKind, ProviderSettings,
    Usage,
};
use serde::Deserialize;

use super::turn_log::{TurnLog, moment};
use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, ListenerStep, ProcessEnd, ProcessExit,
    abrupt, failure, unique_id, with_persona,
};
use crate::agents::turn_log::ToolTime;
use crate::agents::turn_log::or_default;
use crate::api_error::{class_of_passed_on, class_of_status, wait_of_seconds};

pub(super) struct Gemini;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Gemini,
    program: "gemini",
    install: "npm install -g @google/gemini-cli",
    tested: "0.61.0",
    environment: &[
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_CLOUD_PROJECT",
        "GOOGLE_CLOUD_LOCATION",
        "GOOGLE_GENAI_USE_VERTEXAI",
        "GOOGLE_APPLICATION_CREDENTIALS",
    ],
    known_tools: &KNOWN_TOOLS,
    max_prompt: 8_388_608,
};

const KNOWN_TOOLS: [&str; 27] = [
    "activate_skill",
    "ask_user",
    "complete_task",
    "enter_plan_mode",
    "exit_plan_mode",
    "get_internal_docs",
    "glob",
    "google_web_search",
    "grep_search",
    "invoke_agent",
    "list_directory",
    "list_mcp_resources",
    "read_file",
    "read_many_files",
    "read_mcp_resource",
    "replace",
    "run_shell_command",
    "tracker_add_dependency",
    "tracker_create_task",
    "tracker_get_task",
    "tracker_list_tasks",
    "tracker_update_task",
    "tracker_visualize",
    "update_topic",
    "web_fetch",
    "write_file",
    "write_todos",
];
const READING: [&str; 5] = ["glob", "grep_search", "list_directory", "read_file", "read_many_files"];
/// Additional tools of an editing turn.
const EDITING: [&str; 5] = ["replace", "write_file", "write_todos", "google_web_search", "web_fetch"];

/// Maximum number of Gemini's own retries.
const ATTEMPTS: u32 = 4;

impl AgentProgram for Gemini {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        let input = with_persona(ask);
        let mut arguments = vec!["-o".to_owned(), "stream-json".to_owned()];
        if let Some(model) = &ask.model {
            arguments.extend(["-m".to_owned(), model.clone()]);
        }
        let (mode, tools) = match ask.permission {
            Permission::ReadOnly => ("plan", Some(READING.to_vec())),
            Permission::Edit { .. } => ("auto_edit", Some([READING, EDITING].concat())),
            Permission::Full => ("yolo", None),
        };
        arguments.extend(["--approval-mode".to_owned(), mode.to_owned()]);
        let mut files = Vec::new();
        if let Some(tools) = tools {
            let file = policy_file(ask)?;
            arguments.extend(["--policy".to_owned(), file.clone()]);
            files.push((file, policy(&tools)));
        }
        if settings.trust {
            arguments.push("--skip-trust".to_owned());
        }
        arguments.extend(settings.args.iter().cloned());
        arguments.extend(match &ask.session {
            Some(session) => ["--resume".to_owned(), session.clone()],
            None => ["--session-id".to_owned(), unique_id(ask)],
        });
        Ok(AgentInvocation { arguments, environment: Vec::new(), files, input })
    }

    fn listener(&self, ask: &Ask, _: &ProviderSettings) -> Box<dyn AgentListener> {
        Box::new(GeminiListener {
            ask: ask.clone(),
            log: TurnLog::default(),
            is_message_over: true,
            problem: None,
            is_looping: false,
            result: None,
            is_echo_cut: false,
        })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"]
    }
}

fn policy_file(ask: &Ask) -> Result<String, Failure> {
    let file = format!("{}/policy-{}.toml", ask.scratch, unique_id(ask));
    // Gemini would look for two files, find none, and run without a policy.
    if file.contains(',') {
        let words = format!(
            "gemini cannot enforce `{}` here: it splits the path `{}` at the comma; use a directory without a comma",
            ask.permission.name(),
            ask.scratch
        );
        return Err(failure(FailureClass::BadRequest, &words));
    }
    Ok(file)
}

/// Returns a policy that denies all but these tools, also those of MCP servers. 999 is the highest priority.
fn policy(tools: &[&str]) -> String {
    format!(
        "[[rule]]\ntoolName = {}\ndecision = \"allow\"\npriority = 999\n\n\
         [[rule]]\ntoolName = \"*\"\ndecision = \"deny\"\npriority = 998\n\
         denyMessage = \"This turn must not use this tool.\"\n",
        Json::from(tools)
    )
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    timestamp: String,
    #[serde(deserialize_with = "or_default")]
    session_id: Option<String>,
    #[serde(deserialize_with = "or_default")]
    role: String,
    #[serde(deserialize_with = "or_default")]
    content: String,
    #[serde(deserialize_with = "or_default")]
    tool_name: String,
    #[serde(deserialize_with = "or_default")]
    tool_id: String,
    parameters: Option<Json>,
    output: Option<Json>,
    #[serde(deserialize_with = "or_default")]
    severity: String,
    #[serde(deserialize_with = "or_default")]
    message: String,
    #[serde(deserialize_with = "or_default")]
    status: String,
    #[serde(deserialize_with = "or_default")]
    error: Option<GeminiError>,
    #[serde(deserialize_with = "or_default")]
    stats: GeminiStats,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct GeminiError {
    #[serde(rename = "type", deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GeminiStats {
    total_tokens: Option<u64>,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cached: Option<u64>,
}

impl GeminiStats {
    fn usage(&self) -> Usage {
        let output = self.output_tokens.unwrap_or(0);
        // Only the total includes thoughts: the output tokens count the answer alone.
        let written =
            self.total_tokens.zip(self.input_tokens).map(|(total, input)| total.saturating_sub(input));
        let thoughts = written.map(|written| written.saturating_sub(output));
        Usage {
            input: self.input_tokens,
            output: written.map(|written| written.max(output)).or(self.output_tokens),
            cached: self.cached,
            reasoning: thoughts,
            cumulative: false,
        }
    }
}

/// The contents of its last line.
#[derive(Debug)]
struct GeminiResult {
    is_success: bool,
    error: Option<GeminiError>,
    /// The model got at least one request.
    was_asked: bool,
}

struct GeminiListener {
    ask: Ask,
    log: TurnLog,
    /// The next text starts a new message.
    is_message_over: bool,
    /// The last error before its last line.
    problem: Option<String>,
    /// Gemini stopped the turn because its model repeated itself. Its last line still says `success`.
    is_looping: bool,
    result: Option<GeminiResult>,
    /// Gemini exited while it was printing the prompt back.
    is_echo_cut: bool,
}

impl AgentListener for GeminiListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(event) = serde_json::from_str::<GeminiEvent>(line) else {
            self.is_echo_cut = line.starts_with(r#"{"type":"message""#);
            return ListenerStep::GoOn;
        };
        match event.kind.as_str() {
            "init" => self.log.session = event.session_id,
            "message" if event.role == "assistant" => self.text(event.content, tell),
            "tool_use" => {
                self.is_message_over = true;
                let when = ToolTime::said(moment(&event.timestamp));
                self.log.tools.started(&event.tool_id, &event.tool_name, event.parameters, when, tell);
            }
            "tool_result" => self.tool_result(event, tell),
            "error" if event.message.starts_with("Loop detected") => self.is_looping = true,
            "error" if event.severity == "error" => self.problem = Some(event.message),
            "result" => return self.result(event),
            _ => {}
        }
        ListenerStep::GoOn
    }

    fn complaint(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        if line.starts_with("Approval mode overridden") {
            return ListenerStep::Abort(untrusted());
        }
        if line.contains("Policy file error in") && line.contains(&unique_id(&self.ask)) {
            let words = format!(
                "gemini rejected the policy that enforces `{}`; Saihai was tested with version {}",
                self.ask.permission.name(),
                PROFILE.tested
            );
            return ListenerStep::Abort(failure(FailureClass::BadRequest, &words));
        }
        let Some((attempt, status)) = attempt_failed(line) else { return ListenerStep::GoOn };
        let words = line.split("_ApiError").next().unwrap_or(line).trim();
        tell(Progress::Retrying(words.to_owned()));
        if attempt < ATTEMPTS {
            return ListenerStep::GoOn;
        }
        let class = status.map_or(FailureClass::Transient, class_of_status);
        ListenerStep::Abort(failure(class, words))
    }

    fn is_busy(&self) -> bool {
        self.log.tools.is_open()
    }

    fn end(self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        let failed = self.failed(end);
        let retry_after = failed.as_ref().and_then(|_| self.retry_delay(end));
        self.log.into_answer(&self.ask, &PROFILE, failed, end).map_err(|mut refusal| {
            refusal.retry_after = retry_after;
            refusal
        })
    }
}

impl GeminiListener {
    fn text(&mut self, text: String, tell: &mut dyn FnMut(Progress)) {
        tell(Progress::Text(text.clone()));
        if self.is_message_over {
            self.log.messages.begin(text);
        } else {
            self.log.messages.go_on(&text);
        }
        self.is_message_over = false;
    }

    fn tool_result(&mut self, event: GeminiEvent, tell: &mut dyn FnMut(Progress)) {
        self.is_message_over = true;
        if event.error.as_ref().is_some_and(|error| error.kind == "policy_violation") {
            self.log.denied += 1;
            tell(Progress::Denied(event.tool_id.split("__").next().unwrap_or_default().to_owned()));
        }
        let output = event.output.or_else(|| event.error.map(|error| Json::String(error.message)));
        self.log.tools.finished(&event.tool_id, output, ToolTime::said(moment(&event.timestamp)), tell);
    }

    fn result(&mut self, event: GeminiEvent) -> ListenerStep {
        let was_asked = event.stats.input_tokens.is_some_and(|tokens| tokens > 0);
        // Gemini prints zeros if it counted nothing.
        if was_asked {
            self.log.usage = event.stats.usage();
        }
        let is_success = event.status == "success";
        self.result = Some(GeminiResult { is_success, error: event.error, was_asked });
        ListenerStep::Done
    }

    /// Returns the failure that rules out a reply.
    fn failed(&self, end: &ProcessEnd) -> Option<Failure> {
        match &self.result {
            Some(GeminiResult { is_success: false, error, .. }) => Some(self.told(error.as_ref(), end)),
            Some(_) if !end.exit.is_fine() => Some(abrupt(&PROFILE, "failed after it had answered", end)),
            Some(_) if self.is_looping => {
                let words = "gemini stopped the turn: its model repeats itself (Loop detected)";
                Some(failure(FailureClass::Crashed, words))
            }
            Some(GeminiResult { was_asked: false, .. }) => {
                let words = "gemini ended without asking its model: the prompt is too long for the model, or is \
                    only a command of gemini";
                Some(failure(FailureClass::BadRequest, words))
            }
            Some(_) => None,
            None => Some(self.unanswered(end)),
        }
    }

    /// Returns the failure that Gemini reported itself.
    fn told(&self, error: Option<&GeminiError>, end: &ProcessEnd) -> Failure {
        let words = error.map(|error| &error.message).or(self.problem.as_ref());
        let Some(words) = words else { return abrupt(&PROFILE, "failed without a reason", end) };
        let body = api_error(words);
        let status = body.as_ref().and_then(|body| body["error"]["code"].as_u64());
        let status = status.and_then(|status| u16::try_from(status).ok()).or(status_of(end.exit));
        let text = body.as_ref().map(ToString::to_string).unwrap_or_default();
        let message = body.as_ref().and_then(|body| body["error"]["message"].as_str()).unwrap_or(words);
        let class = match status {
            _ if is_quota(&end.complaints) => FailureClass::Quota,
            _ if end.complaints.contains("ModelNotFoundError") => FailureClass::BadRequest,
            Some(_) => class_of_passed_on(status, &text),
            None if TRANSIENT.iter().any(|mark| words.contains(mark)) => FailureClass::Transient,
            None => FailureClass::Crashed,
        };
        failure(class, message)
    }

    /// Returns the failure of a process that exited before its turn started.
    fn unanswered(&self, end: &ProcessEnd) -> Failure {
        let complaints = &end.complaints;
        let is_too_old = |line: &str| line.starts_with("Unknown argument") && line.contains(" policy");
        if complaints.lines().any(is_too_old) {
            let words = format!(
                "this version of gemini is too old: it has no `--policy`, which enforces `{}`; install \
                 version {} or newer: {}",
                self.ask.permission.name(),
                PROFILE.tested,
                PROFILE.install
            );
            return failure(FailureClass::BadRequest, &words);
        }
        match end.exit {
            ProcessExit::Code(41) => {
                failure(FailureClass::Auth, &format!("gemini has no way to log in: {complaints}"))
            }
            ProcessExit::Code(42) if complaints.contains("Error resuming session") => {
                let session = self.ask.session.as_deref().unwrap_or_default();
                failure(
                    FailureClass::SessionLost,
                    &format!("gemini has no session `{session}` in this directory"),
                )
            }
            ProcessExit::Code(52) => failure(FailureClass::BadRequest, complaints),
            ProcessExit::Code(55) => untrusted(),
            // Gemini exits without flushing its output.
            ProcessExit::Code(0) if self.is_echo_cut => {
                let what = "ended before it printed its answer, which is lost; this happens if a prompt is too long \
                    for the model, or if the model answers a long prompt at once";
                abrupt(&PROFILE, what, end)
            }
            exit @ (ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::AfterDone) => {
                match status_of(exit) {
                    Some(status) => failure(class_of_status(status), complaints),
                    None => abrupt(&PROFILE, "ended without an answer", end),
                }
            }
        }
    }

    /// Returns the wait that the model's API asks for.
    fn retry_delay(&self, end: &ProcessEnd) -> Option<saihai_model::Millis> {
        let words = &self.result.as_ref()?.error.as_ref()?.message;
        if is_quota(&end.complaints) {
            let (_, delay) = end.complaints.split_once("retryDelayMs: ")?;
            let delay = delay.split(|c: char| !c.is_ascii_digit() && c != '.').next()?;
            return wait_of_seconds(delay.parse::<f64>().ok()? / 1000.0);
        }
        let details = api_error(words)?["error"]["details"].as_array()?.clone();
        let delay = details.iter().find_map(|detail| detail["retryDelay"].as_str())?.to_owned();
        wait_of_seconds(delay.trim_end_matches('s').parse().ok()?)
    }
}

/// Returns true if the quota is used up, by the name of the error. Gemini prints the same name for a model
/// without capacity, which is not the user's quota.
fn is_quota(complaints: &str) -> bool {
    complaints.contains("TerminalQuotaError") && !complaints.to_ascii_lowercase().contains("capacity")
}

/// Messages about a broken stream, which has no status.
const TRANSIENT: [&str; 3] =
    ["[API Error: terminated]", "stream ended without a finish reason", "returned an empty response"];

fn untrusted() -> Failure {
    let words = "gemini does not trust this folder, so it would not enforce the permission; trust the folder in \
        gemini, or set `trust = true` for this provider";
    failure(FailureClass::BadRequest, words)
}

/// Reads the number and the status from `Attempt 2 failed with status 503. …` or `Attempt 2 failed. …`.
fn attempt_failed(line: &str) -> Option<(u32, Option<u16>)> {
    let (attempt, rest) = line.strip_prefix("Attempt ")?.split_once(" failed")?;
    let status = rest.strip_prefix(" with status ").map(|rest| rest.split(|c: char| !c.is_ascii_digit()));
    Some((attempt.parse().ok()?, status.and_then(|mut digits| digits.next()?.parse().ok())))
}

/// Returns the JSON inside `[API Error: …]`.
fn api_error(words: &str) -> Option<Json> {
    let inner = words.strip_prefix("[API Error: ")?;
    let mut values = serde_json::Deserializer::from_str(inner).into_iter();
    values.next()?.ok().filter(Json::is_object)
}

/// Returns the status whose lower byte is the exit code: 400 becomes 144, 511 becomes 255.
fn status_of(exit: ProcessExit) -> Option<u16> {
    match exit {
        ProcessExit::Code(code @ 144..=255) => u16::try_from(code + 256).ok(),
        ProcessExit::Code(_) | ProcessExit::Signal(_) | ProcessExit::AfterDone => None,
    }
}

#[cfg(test)]
mod tests;
