//! `opencode` (C-64).
//!
//! We write each level into agents of our own, because nothing else restricts it. Its `plan` agent still runs
//! commands, and a project's `opencode.json` overrides its permission variable. If it does not know an agent,
//! it uses its most powerful one and reports that on standard error only. So a check before the first turn
//! looks for our agents, and that message ends a turn immediately.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use saihai_model::{
    Ask, Failure, FailureClass, Json, Millis, Moment, Permission, Progress, ProviderAnswer, ProviderKind,
    ProviderSettings, Usage, VerdictServerCommand, VerdictTool,
};
use serde::Deserialize;
use serde_json::json;

use super::turn_log::TurnLog;
use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, ListenerStep, Login, LoginProbe, ProbeOutput,
    ProcessEnd, StartupCheck, abrupt, failure, verdict_server, with_persona,
};
use crate::agents::turn_log::{ReportedCost, ToolTime, or_default, sum_of_counts};
use crate::api_error::{class_of_passed_on, http_date, retry_after};

pub(super) struct Opencode;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Opencode,
    program: "opencode",
    install: "npm install -g opencode-ai",
    tested: "1.18.33",
    environment: &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"],
    known_tools: &[
        "apply_patch",
        "bash",
        "codesearch",
        "edit",
        "glob",
        "grep",
        // The name in its reports for a call that it cannot parse.
        "invalid",
        "list",
        "lsp",
        "plan_enter",
        "plan_exit",
        "question",
        "read",
        "skill",
        "task",
        "todoread",
        "todowrite",
        "webfetch",
        "websearch",
        "write",
    ],
    max_prompt: 1_000_000,
};

const READ_ONLY: [&str; 4] = ["read", "grep", "glob", "list"];
const EDIT: [&str; 2] = ["edit", "todowrite"];

impl AgentProgram for Opencode {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        let input = with_persona(ask);
        let mut arguments: Vec<String> = ["run", "--format", "json", "--title"].map(str::to_owned).into();
        arguments.push(format!("{} {}", ask.run, ask.call));
        if let Some(model) = &ask.model {
            arguments.extend(["-m".to_owned(), model.clone()]);
        }
        match agent_of(ask) {
            Some((name, _)) => arguments.extend(["--agent".to_owned(), name.to_owned()]),
            None => arguments.push("--auto".to_owned()),
        }
        arguments.extend(settings.args.iter().cloned());
        if let Some(session) = &ask.session {
            arguments.extend(["-s".to_owned(), session.clone()]);
        }
        let environment = environment(ask, verdict_server(ask));
        Ok(AgentInvocation { arguments, environment, files: Vec::new(), input })
    }

    fn probe(&self, ask: &Ask, _: &ProviderSettings) -> Option<StartupCheck> {
        let (name, _) = agent_of(ask)?;
        Some(StartupCheck {
            arguments: vec!["agent".to_owned(), "list".to_owned()],
            environment: environment(ask, None),
            expected: format!("{name} (primary)"),
            otherwise: format!(
                "`opencode agent list` does not show `{name} (primary)`, so nothing would enforce the permission; use \
                 a version of opencode that reads OPENCODE_CONFIG_CONTENT"
            ),
        })
    }

    fn listener(&self, ask: &Ask, _: &ProviderSettings) -> Box<dyn AgentListener> {
        Box::new(OpencodeListener {
            ask: ask.clone(),
            log: TurnLog::default(),
            message: None,
            is_in_step: false,
            finish: None,
            cost: ReportedCost::default(),
            trouble: None,
            refusal: None,
        })
    }

    fn code_of_project(&self, root: &Path) -> Option<PathBuf> {
        project_code(root)
    }

    fn login(&self) -> Option<LoginProbe> {
        Some(LoginProbe { arguments: &["auth", "list"], read: logged_in })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY"]
    }
}

/// Reads the number of credentials from `auth list`.
fn logged_in(said: &ProbeOutput) -> Login {
    let words: Vec<&str> = said.output.split_whitespace().collect();
    let count = words.windows(2).find_map(|pair| match pair {
        [number, "credential" | "credentials"] => number.parse::<u32>().ok(),
        _ => None,
    });
    match count {
        Some(0) => Login::Out,
        Some(_) => Login::In,
        None => Login::Unknown,
    }
}

fn environment(ask: &Ask, server: Option<&VerdictServerCommand>) -> Vec<(String, String)> {
    let agents = agent_of(ask).map(|(name, permission)| {
        json!({ name: { "mode": "primary", "description": "Saihai", "permission": permission } })
    });
    let mut config = json!({ "agent": agents.unwrap_or_else(|| json!({})) });
    if let Some(VerdictServerCommand { program, arguments }) = server {
        let command: Vec<&String> = std::iter::once(program).chain(arguments).collect();
        let server = json!({ "type": "local", "command": command, "enabled": true });
        config["mcp"] = json!({ (VerdictTool::SERVER): server });
    }
    let config = config.to_string();
    // The project's MCP servers are commands, which OpenCode starts regardless of the turn's permission.
    let foreign = ask.foreign.then_some(("OPENCODE_DISABLE_PROJECT_CONFIG", "1"));
    // Only its log says that the API refused a request and that it waits.
    let log = [("OPENCODE_PRINT_LOGS", "1"), ("OPENCODE_LOG_LEVEL", "ERROR")];
    let set = [("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_CONFIG_CONTENT", &config)];
    set.into_iter()
        .chain(log)
        .chain(foreign)
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Returns the agent that restricts a turn to its level and its tools; none for full permission (C-42).
fn agent_of(ask: &Ask) -> Option<(&'static str, Json)> {
    let (name, level): (_, Vec<&str>) = match ask.permission {
        Permission::ReadOnly => ("saihai-readonly", READ_ONLY.into()),
        Permission::Edit { commands } => {
            let commands = commands.then_some("bash");
            ("saihai-edit", READ_ONLY.into_iter().chain(EDIT).chain(commands).collect())
        }
        Permission::Full => {
            let tools = ask.tools.as_ref()?.iter().map(|tool| own_name(tool));
            let tools = tools.chain(["external_directory".to_owned()]).chain(verdict_tool(ask));
            return Some(("saihai-full", allowing(tools)));
        }
    };
    let is_wanted = |tool: &&str| {
        let Some(tools) = &ask.tools else { return true };
        tools.iter().any(|wanted| own_name(wanted) == *tool)
    };
    let tools = level.into_iter().filter(is_wanted).map(str::to_owned);
    Some((name, allowing(tools.chain(verdict_tool(ask)))))
}

/// Returns the name that OpenCode gives to the verdict tool, if the turn has it.
fn verdict_tool(ask: &Ask) -> Option<String> {
    ask.verdict.as_ref().map(|_| format!("{}_{}", VerdictTool::SERVER, VerdictTool::NAME))
}

/// Returns rules that deny everything else. Order matters: the last matching rule wins. If the project has an
/// agent of the same name, its rules are merged with ours. A common rule then keeps the project's position,
/// and a permission after the project's own `*` would win. So a second rule, which only we have, denies
/// everything again.
fn allowing(tools: impl Iterator<Item = String>) -> Json {
    let mut rules = BTreeMap::from(["*", "**"].map(|all| (all.to_owned(), "deny")));
    rules.extend(tools.map(|tool| (tool, "allow")));
    json!(rules)
}

/// Translates a tool name of the definitions into OpenCode's name.
fn own_name(tool: &str) -> String {
    match tool {
        "LS" => "list".to_owned(),
        "Write" | "MultiEdit" | "NotebookEdit" => "edit".to_owned(),
        _ => tool.to_lowercase(),
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodeEvent {
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "sessionID", deserialize_with = "or_default")]
    session: Option<String>,
    #[serde(deserialize_with = "or_default")]
    part: OpencodePart,
    #[serde(deserialize_with = "or_default")]
    error: OpencodeError,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodePart {
    #[serde(rename = "messageID", deserialize_with = "or_default")]
    message: Option<String>,
    #[serde(deserialize_with = "or_default")]
    text: String,
    #[serde(deserialize_with = "or_default")]
    tool: String,
    #[serde(rename = "callID", deserialize_with = "or_default")]
    call: String,
    #[serde(deserialize_with = "or_default")]
    state: OpencodeToolState,
    #[serde(deserialize_with = "or_default")]
    reason: String,
    #[serde(deserialize_with = "or_default")]
    tokens: Option<OpencodeTokens>,
    cost: ReportedCost,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodeToolState {
    input: Option<Json>,
    output: Option<Json>,
    #[serde(deserialize_with = "or_default")]
    error: Option<String>,
    #[serde(deserialize_with = "or_default")]
    time: OpencodeTimes,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodeTimes {
    start: Option<u64>,
    end: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodeTokens {
    input: Option<u64>,
    output: Option<u64>,
    reasoning: Option<u64>,
    #[serde(deserialize_with = "or_default")]
    cache: OpencodeCacheTokens,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpencodeCacheTokens {
    read: Option<u64>,
    write: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct OpencodeError {
    name: String,
    #[serde(deserialize_with = "or_default")]
    data: OpencodeErrorData,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct OpencodeErrorData {
    #[serde(deserialize_with = "or_default")]
    message: String,
    #[serde(deserialize_with = "or_default")]
    status_code: Option<u16>,
    #[serde(deserialize_with = "or_default")]
    is_retryable: bool,
    #[serde(deserialize_with = "or_default")]
    response_headers: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    response_body: String,
}

struct OpencodeListener {
    ask: Ask,
    log: TurnLog,
    /// Id of the message that the last text belongs to.
    message: Option<String>,
    /// OpenCode announces steps, not tools: a tool may run inside a step.
    is_in_step: bool,
    /// The reason for the end of the last step.
    finish: Option<String>,
    cost: ReportedCost,
    trouble: Option<OpencodeError>,
    /// The last error of the model's API, if OpenCode is going to retry.
    refusal: Option<String>,
}

impl AgentListener for OpencodeListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(event) = serde_json::from_str::<OpencodeEvent>(line) else { return ListenerStep::GoOn };
        self.refusal = None;
        if event.session.is_some() {
            self.log.session = event.session;
        }
        match event.kind.as_str() {
            "step_start" => self.is_in_step = true,
            "text" => self.text(event.part, tell),
            "tool_use" => self.tool(event.part, tell),
            "step_finish" => return self.finished(event.part),
            "error" => self.trouble = Some(event.error),
            _ => {}
        }
        ListenerStep::GoOn
    }

    fn complaint(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        if let Some(words) = stream_error(line) {
            tell(Progress::Retrying(words.to_owned()));
            self.refusal = Some(words.to_owned());
        }
        match fell_back(line) {
            Some(failure) => ListenerStep::Abort(failure),
            None => ListenerStep::GoOn,
        }
    }

    fn pause(&self) -> Option<Millis> {
        self.refusal.as_ref().map(|_| LONGEST_PAUSE)
    }

    fn is_busy(&self) -> bool {
        self.is_in_step
    }

    fn end(mut self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        self.log.cost = self.cost.amount();
        self.log.warnings.extend(self.cost.warning());
        // The two streams race: a turn may end before the warning arrives, and is still invalid.
        if let Some(failure) = fell_back(&end.complaints) {
            return Err(self.log.into_refusal(failure));
        }
        if let Some(problem) = &self.trouble {
            let (failure, retry_after) = classify(problem);
            let mut refusal = self.log.into_refusal(failure);
            refusal.retry_after = retry_after;
            return Err(refusal);
        }
        let end = &ProcessEnd { complaints: without_log(&end.complaints), ..end.clone() };
        let failed = self.failed(end);
        self.log.into_answer(&self.ask, &PROFILE, failed, end)
    }
}

/// Returns a failure if OpenCode did not know our restricting agent and used another one.
fn fell_back(complaints: &str) -> Option<Failure> {
    let words = "opencode does not know the agent that enforces the permission and fell back to its default agent, \
        which may do anything; Saihai stopped it";
    let fell_back = complaints.contains("Falling back to default agent");
    fell_back.then(|| failure(FailureClass::BadRequest, words))
}

impl OpencodeListener {
    fn text(&mut self, part: OpencodePart, tell: &mut dyn FnMut(Progress)) {
        tell(Progress::Text(part.text.clone()));
        if self.message == part.message {
            self.log.messages.go_on(&part.text);
        } else {
            self.log.messages.begin(part.text);
        }
        self.message = part.message;
    }

    /// Records a tool call. OpenCode reports a tool at its end, with its own times.
    fn tool(&mut self, part: OpencodePart, tell: &mut dyn FnMut(Progress)) {
        let OpencodeToolState { input, output, error, time } = part.state;
        let at = |millis: Option<u64>| ToolTime::said(millis.map(Moment));
        self.log.tools.started(&part.call, &part.tool, input, at(time.start), tell);
        if error.as_deref().is_some_and(is_denial) {
            self.log.denied += 1;
            tell(Progress::Denied(part.tool));
        }
        self.log.tools.finished(&part.call, output.or(error.map(Json::String)), at(time.end), tell);
    }

    fn finished(&mut self, part: OpencodePart) -> ListenerStep {
        self.is_in_step = false;
        if let Some(tokens) = part.tokens {
            let usage = &mut self.log.usage;
            // OpenCode excludes the cache from input and thoughts from output.
            let input = [tokens.input, tokens.cache.read, tokens.cache.write];
            *usage = Usage {
                input: input.into_iter().fold(usage.input, sum_of_counts),
                output: sum_of_counts(sum_of_counts(usage.output, tokens.output), tokens.reasoning),
                cached: sum_of_counts(usage.cached, tokens.cache.read),
                reasoning: sum_of_counts(usage.reasoning, tokens.reasoning),
                cumulative: false,
            };
        }
        self.cost = std::mem::take(&mut self.cost).and(part.cost);
        let is_over = part.reason == "stop";
        self.finish = Some(part.reason);
        if is_over { ListenerStep::Done } else { ListenerStep::GoOn }
    }

    /// Returns the failure that rules out a reply.
    fn failed(&self, end: &ProcessEnd) -> Option<Failure> {
        let words = &end.complaints;
        match self.finish.as_deref() {
            Some("stop") if !end.exit.is_fine() => {
                Some(abrupt(&PROFILE, "failed after it had answered", end))
            }
            Some("stop") => None,
            Some(_) | None if self.refusal.is_some() && !end.exit.is_fine() => {
                let refusal = self.refusal.as_deref().unwrap_or_default();
                let words = format!("opencode waits for its provider without output: {refusal}");
                Some(failure(FailureClass::RateLimited, &words))
            }
            Some("tool-calls") if end.exit.is_fine() => {
                let refused = words.lines().find(|line| line.contains("auto-rejecting")).map(plain);
                let refused =
                    refused.unwrap_or_else(|| "opencode stopped after a tool it may not use".to_owned());
                Some(failure(FailureClass::Refused, &refused))
            }
            Some("length") if end.exit.is_fine() => {
                let cut = "the answer was cut off at the model's limit of output tokens";
                Some(failure(FailureClass::BadRequest, cut))
            }
            Some("content-filter") => {
                Some(failure(FailureClass::Refused, "the answer was held back by a filter"))
            }
            Some(_) | None if words.contains("Session not found") => {
                let session = self.ask.session.as_deref().unwrap_or_default();
                Some(failure(FailureClass::SessionLost, &format!("opencode has no session `{session}`")))
            }
            Some(_) | None => Some(abrupt(&PROFILE, "ended without an answer", end)),
        }
    }
}

/// Returns true if a tool's error is OpenCode's text for a denied tool.
fn is_denial(error: &str) -> bool {
    error.contains("rejected permission") || error.contains("a rule which prevents you from using")
}

fn classify(problem: &OpencodeError) -> (Failure, Option<saihai_model::Millis>) {
    let OpencodeError { name, data } = problem;
    let words = if data.message.is_empty() { name } else { &data.message };
    let named = match name.as_str() {
        "ProviderAuthError" => Some(FailureClass::Auth),
        "ContentFilterError" => Some(FailureClass::Refused),
        "MessageOutputLengthError" | "ContextOverflowError" => Some(FailureClass::BadRequest),
        // A broken connection has no status, and OpenCode has used up its own retries.
        "APIError" if data.is_retryable => Some(FailureClass::Transient),
        _ => None,
    };
    if let (Some(class), None) = (named, data.status_code) {
        return (failure(class, words), None);
    }
    let header = |name: &str| data.response_headers.get(name).map(String::as_str);
    // Both dates are the server's, so our clock does not matter.
    let wait = header("retry-after").and_then(|wait| retry_after(wait, header("date").and_then(http_date)));
    (failure(class_of_passed_on(data.status_code, &data.response_body), words), wait)
}

/// Removes terminal colours from a line.
fn plain(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('m').map_or(part, |(_, rest)| rest));
    }
    text.trim_start_matches(['!', ' ']).trim_end().to_owned()
}

/// Maximum silence during a retry. OpenCode waits at most 40 s unless its provider asks for more. Then it
/// would sleep for hours without output. The remaining time is for the start of the answer.
const LONGEST_PAUSE: Millis = Millis::seconds(120);

/// Returns the error of a refused request. Requests for a title do not matter.
fn stream_error(line: &str) -> Option<&str> {
    let (_, rest) = is_log(line).then(|| line.split_once("message=\"stream error\" "))??;
    let (about, error) = rest.split_once("error.error=")?;
    let words = error.trim().trim_matches('"');
    about.contains("small=false").then(|| words.strip_prefix("AI_APICallError: ").unwrap_or(words))
}

/// Returns standard error without the log, which contains irrelevant errors.
fn without_log(complaints: &str) -> String {
    complaints.split_inclusive('\n').filter(|line| !is_log(line)).collect()
}

fn is_log(line: &str) -> bool {
    line.starts_with("timestamp=")
}

const PLUGINS: [&str; 2] = [".opencode/plugin", ".opencode/plugins"];
const SETTINGS: [&str; 4] =
    ["opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"];

/// Larger settings files are not searched and count as naming a plugin.
const LARGEST: u64 = 1024 * 1024;

/// Returns the path of the first such file, from the root.
fn project_code(root: &Path) -> Option<PathBuf> {
    let plugin = PLUGINS.iter().find_map(|directory| plugin(root, Path::new(directory)));
    plugin.or_else(|| SETTINGS.iter().map(PathBuf::from).find(|file| names_plugins(&root.join(file))))
}

fn plugin(root: &Path, directory: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(root.join(directory)).ok()?.flatten();
    let mut names: Vec<_> = entries.map(|entry| directory.join(entry.file_name())).collect();
    names.sort();
    let is_code = |file: &PathBuf| {
        file.extension().is_some_and(|end| end == OsStr::new("js") || end == OsStr::new("ts"))
    };
    names.into_iter().find(is_code)
}

/// Returns true if settings may name a plugin. They may contain comments, so this searches the text instead
/// of parsing it. An escaped letter counts too: only an attempt to hide something needs one.
fn names_plugins(file: &Path) -> bool {
    let Ok(metadata) = fs::metadata(file) else { return false };
    if !metadata.is_file() || metadata.len() > LARGEST {
        return true;
    }
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(LARGEST).read_to_end(&mut text));
    let has = |word: &str| text.windows(word.len()).any(|window| window == word.as_bytes());
    read.is_err() || has("plugin") || has("\\u")
}

#[cfg(test)]
mod tests;
