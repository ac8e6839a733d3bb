//! `claude`: Claude Code in print mode, with a stream of events (C-60).

mod output;

use saihai_model::{
    Ask, Failure, FailureClass, Json, Permission, ProviderKind, ProviderSettings, VerdictServerCommand,
    VerdictTool,
};
use serde_json::json;

use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, Login, LoginProbe, ProbeOutput, failure,
    unique_id, verdict_server,
};
use output::ClaudeListener;

#[derive(Debug)]
pub(crate) struct Claude;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Claude,
    program: "claude",
    install: "npm install -g @anthropic-ai/claude-code",
    tested: "2.1.325",
    environment: &[
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_BASE_URL",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
    ],
    known_tools: &[
        "Agent",
        "AskUserQuestion",
        "Bash",
        "BashOutput",
        // A placeholder in its requests for tools that it loads later.
        "DeferredToolPlaceholder",
        "Edit",
        "EnterPlanMode",
        "EnterWorktree",
        "ExitPlanMode",
        "ExitWorktree",
        "Glob",
        "Grep",
        "KillShell",
        "LS",
        "ListMcpResourcesTool",
        "Monitor",
        "MultiEdit",
        "NotebookEdit",
        "Read",
        "ReadMcpResourceTool",
        "Skill",
        "StructuredOutput",
        "Task",
        "TaskOutput",
        "TaskStop",
        "TodoWrite",
        "ToolSearch",
        "WebFetch",
        "WebSearch",
        "Write",
    ],
    max_prompt: 10_000_000,
};

/// Maximum schema length. The kernel limits one argument to 128 KiB, and the rest of it needs some room.
const LONGEST_SCHEMA: usize = 120 * 1024;
/// The default tools of a read-only turn.
const LOOKING: [&str; 3] = ["Read", "Grep", "Glob"];
/// Tools that a read-only turn never gets.
const WRITING: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
/// Tools that an editing turn uses without permission requests: all that do not write files. The mode allows
/// writes in the working directory, and all other writes stay denied. Reading tools are listed because the
/// mode alone allows reads in the working directory only. No pattern covers all tools of connected servers.
const UNASKED: [&str; 11] = [
    "Agent",
    "Bash",
    "Glob",
    "Grep",
    "Monitor",
    "Read",
    "Skill",
    "Task",
    "WebFetch",
    "WebSearch",
    "Workflow",
];
/// The mode without permission requests.
const BYPASSING: &str = "bypassPermissions";
/// The variable that tells Claude Code it runs in a container.
const CONTAINED: &str = "IS_SANDBOX";
/// Restricts an untrusted project to the user's settings. Project settings name hooks, which run regardless
/// of the turn's permission. This also excludes the project's memory (`CLAUDE.md`) and rules.
const OWN_SETTINGS: [&str; 2] = ["--setting-sources", "user"];
/// Name prefix of tools from connected servers.
const CONNECTED: &str = "mcp__";

impl AgentProgram for Claude {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        looks_by_own_tools(ask)?;
        let mut arguments = words(&["-p", "--output-format", "stream-json", "--verbose"]);
        let mut files = Vec::new();
        if let Some(model) = &ask.model {
            arguments.extend(words(&["--model", model]));
        }
        arguments.extend(ClaudePermissions::of(ask, settings).arguments());
        if ask.foreign {
            arguments.extend(words(&OWN_SETTINGS));
        }
        if let Some(persona) = ask.persona.as_ref().filter(|persona| !persona.trim().is_empty()) {
            let file = format!("{}/persona-{}.md", ask.scratch, unique_id(ask));
            // A resumed session would silently keep its first persona.
            arguments.extend(words(&[
                "--append-system-prompt-file",
                &file,
                "--system-prompt-snapshot",
                "off",
            ]));
            files.push((file, persona.clone()));
        }
        if let Some(VerdictServerCommand { program, arguments: relay }) = verdict_server(ask) {
            let server = json!({ "type": "stdio", "command": program, "args": relay });
            let config = json!({ "mcpServers": { (VerdictTool::SERVER): server } });
            arguments.extend(words(&["--mcp-config", &config.to_string()]));
        }
        if let Some(schema) = &ask.schema {
            arguments.extend(words(&["--json-schema", &schema_argument(&schema.to_string())?]));
        }
        if let Some(money) = ask.money {
            arguments.extend(words(&["--max-budget-usd", &format!("{:.6}", money.dollars())]));
        }
        if let Some(calls) = ask.max_calls {
            // An answer through a tool needs one more call, and so does a verdict.
            let more = [ask.schema.is_some(), verdict_server(ask).is_some()].map(u32::from);
            let calls = calls.saturating_add(more.iter().sum());
            arguments.extend(words(&["--max-turns", &calls.to_string()]));
        }
        arguments.extend(settings.args.iter().cloned());
        arguments.extend(match &ask.session {
            Some(session) => words(&["--resume", session]),
            None => words(&["--session-id", &unique_id(ask)]),
        });
        Ok(AgentInvocation { arguments, environment: environment(ask), files, input: ask.prompt.clone() })
    }

    fn limits_calls(&self) -> bool {
        true
    }

    fn refuses_root(&self, permission: Permission, settings: &ProviderSettings) -> bool {
        // Users can set this in a real container; we never set it.
        let contained =
            settings.env.contains_key(CONTAINED) || settings.env_pass.iter().any(|name| name == CONTAINED);
        permission == Permission::Full && !contained
    }

    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn AgentListener> {
        Box::new(ClaudeListener::new(ask, ClaudePermissions::of(ask, settings)))
    }

    fn login(&self) -> Option<LoginProbe> {
        Some(LoginProbe { arguments: &["auth", "status"], read: logged_in })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]
    }
}

/// Reads the output of `auth status`: its JSON, or only its exit code.
fn logged_in(said: &ProbeOutput) -> Login {
    let told: Option<Json> = serde_json::from_str(&said.output).ok();
    let told = told.and_then(|told| told.get("loggedIn")?.as_bool());
    match (told, said.code) {
        (Some(true), _) | (None, Some(0)) => Login::In,
        (Some(false), _) | (None, Some(1)) => Login::Out,
        (None, _) => Login::Unknown,
    }
}

fn environment(ask: &Ask) -> Vec<(String, String)> {
    // It retries by itself; the engine decides about further retries (C-37).
    let set = [
        ("CLAUDE_CODE_MAX_RETRIES", "2"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("CLAUDE_CODE_TMPDIR", &ask.scratch),
    ];
    set.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
}

fn schema_argument(schema: &str) -> Result<String, Failure> {
    if schema.len() <= LONGEST_SCHEMA {
        return Ok(schema.to_owned());
    }
    let message = format!("the schema is {} bytes, claude takes {LONGEST_SCHEMA}", schema.len());
    Err(failure(FailureClass::BadRequest, &message))
}

/// The agent's permission, in its own terms (C-42).
#[derive(Debug, Clone, PartialEq, Eq)]
struct ClaudePermissions {
    mode: &'static str,
    /// The tools it gets; absent for its default tools.
    tools: Option<Vec<String>>,
    /// Tools it uses without permission requests, in addition to those of its mode.
    unasked: Vec<String>,
    /// The agent must have no other tool.
    only_these: bool,
    /// The agent runs no commands, even if its mode or the user's settings allow them.
    without_commands: bool,
    /// The agent answers through a tool.
    answers_by_tool: bool,
    /// The agent has the verdict tool.
    has_verdict_tool: bool,
}

impl ClaudePermissions {
    fn of(ask: &Ask, settings: &ProviderSettings) -> Self {
        let only_these = ask.permission == Permission::ReadOnly;
        let tools = if only_these { Some(looking_tools(ask.tools.as_deref())) } else { ask.tools.clone() };
        let mode = mode(ask);
        let mut unasked = match ask.permission {
            Permission::Edit { commands: true } if !settings.accept_edits => match &tools {
                Some(tools) => without_writing(tools),
                None => words(&UNASKED),
            },
            Permission::Full if mode != BYPASSING => tools.clone().unwrap_or_default(),
            Permission::ReadOnly | Permission::Edit { .. } | Permission::Full => Vec::new(),
        };
        let without_commands = ask.permission == Permission::Edit { commands: false };
        let has_verdict_tool = verdict_server(ask).is_some();
        unasked.extend(has_verdict_tool.then(verdict_tool));
        let answers_by_tool = ask.schema.is_some();
        Self { mode, tools, unasked, only_these, without_commands, answers_by_tool, has_verdict_tool }
    }

    fn arguments(&self) -> Vec<String> {
        let mut arguments = words(&["--permission-mode", self.mode]);
        if let Some(tools) = &self.tools {
            arguments.extend(words(&["--tools", &tools.join(",")]));
        }
        if !self.unasked.is_empty() {
            arguments.extend(words(&["--allowedTools", &self.unasked.join(",")]));
        }
        if self.without_commands {
            arguments.extend(words(&["--disallowedTools", "Bash"]));
        }
        if self.leaves_servers_out() {
            // `--tools` does not restrict tools of connected servers.
            arguments.extend(words(&["--strict-mcp-config"]));
        }
        arguments
    }

    /// Returns true if the turn names tools and none of them belongs to a connected server.
    fn leaves_servers_out(&self) -> bool {
        self.tools.as_deref().is_some_and(|tools| connected(tools).is_none())
    }

    /// Returns the reason to end a process whose reported mode or tools exceed its permission.
    fn exceeded_by(&self, mode: Option<&str>, tools: &[String]) -> Option<String> {
        if let Some(mode) = mode.filter(|mode| *mode != self.mode) {
            return Some(format!("claude uses permission mode `{mode}` instead of `{}`", self.mode));
        }
        let asked = self.tools.as_deref()?;
        let is_over = |tool: &&String| {
            let is_checked = self.only_these || (self.leaves_servers_out() && tool.starts_with(CONNECTED));
            is_checked && !asked.contains(tool) && !self.is_answer(tool) && !self.is_verdict(tool)
        };
        let more = tools.iter().find(is_over)?;
        Some(format!("claude has the tool `{more}`, which this turn must not have"))
    }

    fn is_answer(&self, tool: &str) -> bool {
        self.answers_by_tool && tool == "StructuredOutput"
    }

    fn is_verdict(&self, tool: &str) -> bool {
        self.has_verdict_tool && tool == verdict_tool()
    }
}

/// Returns the name that Claude Code gives to the verdict tool.
fn verdict_tool() -> String {
    format!("{CONNECTED}{}__{}", VerdictTool::SERVER, VerdictTool::NAME)
}

/// Returns the permission mode. Bypass mode writes anywhere and uses every tool of connected servers, also
/// those the turn does not name. So only a turn with full permission that names no such tool gets it.
fn mode(ask: &Ask) -> &'static str {
    match ask.permission {
        Permission::ReadOnly => "default",
        Permission::Full if connected(ask.tools.as_deref().unwrap_or_default()).is_none() => BYPASSING,
        Permission::Edit { .. } | Permission::Full => "acceptEdits",
    }
}

/// Returns the first tool that belongs to a connected server.
fn connected(tools: &[String]) -> Option<&String> {
    tools.iter().find(|tool| tool.starts_with(CONNECTED))
}

/// Rejects a read-only turn that names a tool of a connected server. We do not know the tool's effects, and
/// the agent would only see it denied.
fn looks_by_own_tools(ask: &Ask) -> Result<(), Failure> {
    match connected(ask.tools.as_deref().unwrap_or_default()) {
        Some(tool) if ask.permission == Permission::ReadOnly => {
            let words = format!(
                "a read-only turn cannot have `{tool}`: the effect of an MCP tool is unknown; let the turn edit, and \
                 name no tool that writes"
            );
            Err(failure(FailureClass::BadRequest, &words))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the tools of a read-only turn: the named tools without those that write.
fn looking_tools(named: Option<&[String]>) -> Vec<String> {
    named.map_or_else(|| words(&LOOKING), without_writing)
}

fn without_writing(tools: &[String]) -> Vec<String> {
    tools.iter().filter(|tool| !WRITING.contains(&tool.as_str())).cloned().collect()
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests;
