//! `copilot` (C-66).
//!
//! It reports neither tokens nor money. Ephemeral lines are only displayed, except for one that reports a
//! broken connection to the model. No other line reports that in a machine-readable form.

use saihai_model::{
    Ask, Failure, FailureClass, Json, Permission, Progress, ProviderAnswer, ProviderKind, ProviderSettings,
    VerdictServerCommand, VerdictTool,
};
use serde::Deserialize;
use serde_json::json;

use super::turn_log::{TurnLog, moment};
use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, ListenerStep, ProcessEnd, abrupt, failure,
    unique_id, verdict_server, with_persona,
};
use crate::agents::turn_log::ToolTime;
use crate::agents::turn_log::or_default;
use crate::api_error::class_of_passed_on;

pub(super) struct Copilot;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Copilot,
    program: "copilot",
    install: "npm install -g @github/copilot",
    tested: "1.0.102",
    environment: &[
        "COPILOT_GITHUB_TOKEN",
        "COPILOT_HOME",
        "COPILOT_MODEL",
        "COPILOT_OFFLINE",
        "COPILOT_PROVIDER_API_KEY",
        "COPILOT_PROVIDER_API_KEY_COMMAND",
        "COPILOT_PROVIDER_AZURE_API_VERSION",
        "COPILOT_PROVIDER_BASE_URL",
        "COPILOT_PROVIDER_BEARER_TOKEN",
        "COPILOT_PROVIDER_HEADERS",
        "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS",
        "COPILOT_PROVIDER_MODEL_ID",
        "COPILOT_PROVIDER_TRANSPORT",
        "COPILOT_PROVIDER_TYPE",
        "COPILOT_PROVIDER_WIRE_API",
        "COPILOT_PROVIDER_WIRE_MODEL",
    ],
    known_tools: &[
        "apply_patch",
        "ask_user",
        "bash",
        "create",
        "edit",
        "exit_plan_mode",
        "fetch_copilot_cli_documentation",
        "glob",
        "grep",
        "list_agents",
        "list_bash",
        "read_agent",
        "read_bash",
        "report_intent",
        "skill",
        "sql",
        "stop_bash",
        "store_memory",
        "task",
        "task_complete",
        "view",
        "web_fetch",
        "write_agent",
        "write_bash",
    ],
    max_prompt: 1_000_000,
};

const READ_ONLY: [&str; 3] = ["view", "grep", "glob"];

/// The only allowed tool if no tools are allowed. An empty list would allow all of them.
const NO_TOOL: &str = "saihai-no-tool";

impl AgentProgram for Copilot {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        let input = with_persona(ask);
        let always = ["--output-format", "json", "--no-color", "--no-ask-user", "--disable-builtin-mcps"];
        let mut arguments: Vec<String> = always.map(str::to_owned).into();
        if let Some(model) = &ask.model {
            arguments.extend(["--model".to_owned(), model.clone()]);
        }
        arguments.extend(permission(ask));
        if let Some(VerdictServerCommand { program, arguments: relay }) = verdict_server(ask) {
            let server = json!({ "type": "local", "command": program, "args": relay, "tools": ["*"] });
            let config = json!({ "mcpServers": { (VerdictTool::SERVER): server } });
            arguments.push(format!("--additional-mcp-config={config}"));
            arguments.push(format!("--allow-tool={}({})", VerdictTool::SERVER, VerdictTool::NAME));
        }
        if ask.foreign {
            arguments.push("--no-custom-instructions".to_owned());
        }
        arguments.extend(settings.args.iter().cloned());
        arguments.extend(match &ask.session {
            Some(session) => vec![format!("--resume={session}")],
            // Copilot silently resumes an existing id, so each attempt uses a new one.
            None => vec!["--session-id".to_owned(), unique_id(ask)],
        });
        let environment = vec![("COPILOT_AUTO_UPDATE".to_owned(), "false".to_owned())];
        Ok(AgentInvocation { arguments, environment, files: Vec::new(), input })
    }

    fn listener(&self, ask: &Ask, _: &ProviderSettings) -> Box<dyn AgentListener> {
        let session = ask.session.clone().unwrap_or_else(|| unique_id(ask));
        Box::new(CopilotListener {
            ask: ask.clone(),
            session,
            log: TurnLog::default(),
            is_cut_off: false,
            problem: None,
            result: None,
        })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"]
    }
}

/// Returns the arguments for a permission level (C-42).
fn permission(ask: &Ask) -> Vec<String> {
    let tools = ask.tools.as_ref().map(|tools| tools.iter().flat_map(|tool| own_names(tool)).collect());
    let mut arguments = Vec::new();
    let offered: Option<Vec<String>> = match ask.permission {
        Permission::ReadOnly => {
            let wanted =
                |tool: &String| tools.as_ref().is_none_or(|tools: &Vec<String>| tools.contains(tool));
            Some(READ_ONLY.map(str::to_owned).into_iter().filter(wanted).collect())
        }
        Permission::Edit { .. } | Permission::Full => tools,
    };
    if let Some(mut offered) = offered {
        let verdict = verdict_server(ask).map(|_| format!("{}-{}", VerdictTool::SERVER, VerdictTool::NAME));
        offered.extend(verdict);
        let offered = if offered.is_empty() { NO_TOOL.to_owned() } else { offered.join(",") };
        arguments.push(format!("--available-tools={offered}"));
    }
    let level: &[&str] = match ask.permission {
        Permission::ReadOnly => &["--deny-tool=write", "--deny-tool=shell"],
        // Otherwise a command that redirects into a file would count as a write.
        Permission::Edit { commands: false } => &["--allow-tool=write", "--deny-tool=shell"],
        Permission::Edit { commands: true } => &["--allow-tool=write", "--allow-tool=shell"],
        Permission::Full => &["--allow-all-tools"],
    };
    arguments.extend(level.iter().map(|&argument| argument.to_owned()));
    arguments
}

/// Translates a tool name of the definitions into Copilot's names.
fn own_names(tool: &str) -> Vec<String> {
    let names: &[&str] = match tool {
        "Read" | "LS" => &["view"],
        "Grep" => &["grep"],
        "Glob" => &["glob"],
        "Write" => &["create"],
        "Edit" | "MultiEdit" | "NotebookEdit" => &["edit"],
        "Bash" => &["bash", "read_bash", "list_bash", "stop_bash"],
        "Task" => &["task"],
        "WebFetch" => &["web_fetch"],
        _ => return vec![tool.to_owned()],
    };
    names.iter().map(|&name| name.to_owned()).collect()
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopilotEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    ephemeral: bool,
    #[serde(deserialize_with = "or_default")]
    timestamp: String,
    #[serde(deserialize_with = "or_default")]
    data: CopilotEventData,
    #[serde(rename = "sessionId", deserialize_with = "or_default")]
    session: Option<String>,
    #[serde(rename = "exitCode", deserialize_with = "or_default")]
    exit_code: Option<i32>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CopilotEventData {
    #[serde(deserialize_with = "or_default")]
    content: String,
    #[serde(deserialize_with = "or_default")]
    delta_content: String,
    #[serde(deserialize_with = "or_default")]
    info_type: String,
    #[serde(deserialize_with = "or_default")]
    message: String,
    #[serde(deserialize_with = "or_default")]
    tool_call_id: String,
    #[serde(deserialize_with = "or_default")]
    tool_name: String,
    arguments: Option<Json>,
    result: Option<Json>,
    #[serde(deserialize_with = "or_default")]
    error: Option<CopilotToolError>,
    #[serde(deserialize_with = "or_default")]
    error_type: String,
    #[serde(deserialize_with = "or_default")]
    status_code: Option<u16>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopilotToolError {
    code: String,
    message: String,
}

struct CopilotError {
    kind: String,
    message: String,
    status: Option<u16>,
}

struct CopilotListener {
    ask: Ask,
    /// The session it started in.
    session: String,
    log: TurnLog,
    /// The last request to the model failed on the way.
    is_cut_off: bool,
    problem: Option<CopilotError>,
    /// The exit code in its last line.
    result: Option<i32>,
}

impl AgentListener for CopilotListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(event) = serde_json::from_str::<CopilotEvent>(line) else { return ListenerStep::GoOn };
        if event.ephemeral {
            if event.kind == "model.call_final_result" {
                self.is_cut_off =
                    event.data.result.as_ref().is_some_and(|result| result == "transport_error");
            }
            show(event, tell);
            return ListenerStep::GoOn;
        }
        match event.kind.as_str() {
            "assistant.message" => {
                self.log.session.get_or_insert_with(|| self.session.clone());
                self.log.messages.begin(event.data.content);
            }
            "tool.execution_start" => {
                let CopilotEventData { tool_call_id, tool_name, arguments, .. } = event.data;
                let when = ToolTime::said(moment(&event.timestamp));
                self.log.tools.started(&tool_call_id, &tool_name, arguments, when, tell);
            }
            "tool.execution_complete" => self.tool_complete(event, tell),
            "session.error" => {
                let CopilotEventData { error_type: kind, message, status_code: status, .. } = event.data;
                self.problem = Some(CopilotError { kind, message, status });
            }
            "result" => {
                self.log.session = event.session.or(self.log.session.take());
                self.result = event.exit_code;
                return ListenerStep::Done;
            }
            _ => {}
        }
        ListenerStep::GoOn
    }

    fn is_busy(&self) -> bool {
        self.log.tools.is_open()
    }

    fn end(self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        let failed = self.failed(end);
        self.log.into_answer(&self.ask, &PROFILE, failed, end)
    }
}

fn show(event: CopilotEvent, tell: &mut dyn FnMut(Progress)) {
    match event.kind.as_str() {
        "assistant.message_delta" => tell(Progress::Text(event.data.delta_content)),
        "session.info" if event.data.info_type == "model_retry" => {
            tell(Progress::Retrying(event.data.message))
        }
        _ => {}
    }
}

impl CopilotListener {
    fn tool_complete(&mut self, event: CopilotEvent, tell: &mut dyn FnMut(Progress)) {
        let CopilotEventData { tool_call_id, result, error, .. } = event.data;
        if let Some(error) = error.as_ref().filter(|error| error.code == "denied") {
            self.log.denied += 1;
            tell(Progress::Denied(error.message.clone()));
        }
        let content = result.and_then(|mut result| result.get_mut("content").map(Json::take));
        let output = content.filter(|content| !content.is_null());
        let output = output.or(error.map(|error| Json::String(error.message)));
        self.log.tools.finished(&tool_call_id, output, ToolTime::said(moment(&event.timestamp)), tell);
    }

    /// Returns the failure that rules out a reply.
    fn failed(&self, end: &ProcessEnd) -> Option<Failure> {
        if let Some(problem) = &self.problem {
            return Some(failure(self.class(problem), &problem.message));
        }
        match self.result {
            Some(0) if !end.exit.is_fine() => Some(abrupt(&PROFILE, "failed after it had answered", end)),
            Some(0) => None,
            Some(_) => Some(abrupt(&PROFILE, "failed without a reason", end)),
            None => Some(self.unanswered(end)),
        }
    }

    /// Returns the failure of a process that exited before its turn started.
    fn unanswered(&self, end: &ProcessEnd) -> Failure {
        let complaints = &end.complaints;
        if complaints.contains("No session, task, or name matched") {
            let words = format!("copilot has no session `{}`", self.session);
            return failure(FailureClass::SessionLost, &words);
        }
        if complaints.contains("No authentication information found") {
            return failure(FailureClass::Auth, complaints);
        }
        abrupt(&PROFILE, "ended without an answer", end)
    }

    fn class(&self, problem: &CopilotError) -> FailureClass {
        match problem.kind.as_str() {
            "authentication" | "authorization" => FailureClass::Auth,
            "rate_limit" => FailureClass::RateLimited,
            "quota" => FailureClass::Quota,
            "transport_error" => FailureClass::Transient,
            _ if problem.message.contains("exceeds the model's prompt budget") => FailureClass::BadRequest,
            _ if problem.status.is_none() && self.is_cut_off => FailureClass::Transient,
            _ => class_of_passed_on(problem.status, ""),
        }
    }
}

#[cfg(test)]
mod tests;
