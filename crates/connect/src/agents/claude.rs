//! `claude`: Claude Code, in print mode with a stream of events (C-60).

mod event;
mod listener;
#[cfg(test)]
mod machine;

use saihai_model::{Ask, Failure, FailureClass, Json, Permission, ProviderKind, ProviderSettings};

use crate::agent::{Agent, Invocation, Listener, Login, LoginProbe, Probed, Profile, failure, unique_id};
use listener::Ears;

#[derive(Debug)]
pub(crate) struct Claude;

static PROFILE: Profile = Profile {
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
        // A slot of its requests for tools that it would load later.
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

/// What the kernel takes as one argument is 128 KiB; some of it is left for the rest.
const LONGEST_SCHEMA: usize = 120 * 1024;
/// What a turn that only looks is given where nothing names its tools.
const LOOKING: [&str; 3] = ["Read", "Grep", "Glob"];
/// What a turn that only looks is never given.
const WRITING: [&str; 4] = ["Write", "Edit", "MultiEdit", "NotebookEdit"];
/// What a turn that edits uses without being asked: everything that does not write files, since files of its directory are
/// a matter of the mode, and all others stay as they are. Its mode lets it read in its directory only. There is no word for
/// all tools of connected servers.
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
/// The mode in which nobody is asked.
const BYPASSING: &str = "bypassPermissions";
/// The variable by which it believes to be in a container.
const CONTAINED: &str = "IS_SANDBOX";
/// Whose settings it goes by where the project's may be a stranger's: they name hooks, which it runs whatever a turn may do.
/// With the project's settings, the project's memory (`CLAUDE.md`) and rules stay out.
const OWN_SETTINGS: [&str; 2] = ["--setting-sources", "user"];
/// How tools of servers that the user has connected are called.
const CONNECTED: &str = "mcp__";

impl Agent for Claude {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<Invocation, Failure> {
        looks_by_own_tools(ask)?;
        let mut arguments = words(&["-p", "--output-format", "stream-json", "--verbose"]);
        let mut files = Vec::new();
        if let Some(model) = &ask.model {
            arguments.extend(words(&["--model", model]));
        }
        arguments.extend(Allowed::of(ask, settings).arguments());
        if ask.foreign {
            arguments.extend(words(&OWN_SETTINGS));
        }
        if let Some(persona) = ask.persona.as_ref().filter(|persona| !persona.trim().is_empty()) {
            let file = format!("{}/persona-{}.md", ask.scratch, unique_id(ask));
            // A resumed session would silently keep the persona it began with.
            arguments.extend(words(&[
                "--append-system-prompt-file",
                &file,
                "--system-prompt-snapshot",
                "off",
            ]));
            files.push((file, persona.clone()));
        }
        if let Some(schema) = &ask.schema {
            arguments.extend(words(&["--json-schema", &schema_argument(&schema.to_string())?]));
        }
        if let Some(money) = ask.money {
            arguments.extend(words(&["--max-budget-usd", &format!("{:.6}", money.dollars())]));
        }
        if let Some(calls) = ask.max_calls {
            // Where it answers through a tool, saying so is one more.
            let calls = calls.saturating_add(u32::from(ask.schema.is_some()));
            arguments.extend(words(&["--max-turns", &calls.to_string()]));
        }
        arguments.extend(settings.args.iter().cloned());
        arguments.extend(match &ask.session {
            Some(session) => words(&["--resume", session]),
            None => words(&["--session-id", &unique_id(ask)]),
        });
        Ok(Invocation { arguments, environment: environment(ask), files, input: ask.prompt.clone() })
    }

    fn limits_calls(&self) -> bool {
        true
    }

    fn refuses_root(&self, permission: Permission, settings: &ProviderSettings) -> bool {
        // Whoever works in a real container can say so; we never do.
        let contained =
            settings.env.contains_key(CONTAINED) || settings.env_pass.iter().any(|name| name == CONTAINED);
        permission == Permission::Full && !contained
    }

    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn Listener> {
        Box::new(Ears::new(ask, Allowed::of(ask, settings)))
    }

    fn login(&self) -> Option<LoginProbe> {
        Some(LoginProbe { arguments: &["auth", "status"], read: logged_in })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"]
    }
}

/// What `auth status` says, in JSON or by its exit code alone.
fn logged_in(said: &Probed) -> Login {
    let told: Option<Json> = serde_json::from_str(&said.output).ok();
    let told = told.and_then(|told| told.get("loggedIn")?.as_bool());
    match (told, said.code) {
        (Some(true), _) | (None, Some(0)) => Login::In,
        (Some(false), _) | (None, Some(1)) => Login::Out,
        (None, _) => Login::Unknown,
    }
}

fn environment(ask: &Ask) -> Vec<(String, String)> {
    // It tries again by itself; how often we ask again is decided elsewhere (C-37).
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

/// What the agent may do, in its own words (C-42).
#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    mode: &'static str,
    /// The tools it is given; absent: its usual ones.
    tools: Option<Vec<String>>,
    /// The tools that it uses without asking, beyond those of its mode.
    unasked: Vec<String>,
    /// It must have no tool beyond these.
    only_these: bool,
    /// It runs no command, not even those that its mode or its user's settings let through.
    without_commands: bool,
    /// Its answer is given through a tool of its own.
    answers_by_tool: bool,
}

impl Allowed {
    fn of(ask: &Ask, settings: &ProviderSettings) -> Self {
        let only_these = ask.permission == Permission::ReadOnly;
        let tools = if only_these { Some(looking_tools(ask.tools.as_deref())) } else { ask.tools.clone() };
        let mode = mode(ask);
        let unasked = match ask.permission {
            Permission::Edit { commands: true } if !settings.accept_edits => match &tools {
                Some(tools) => without_writing(tools),
                None => words(&UNASKED),
            },
            Permission::Full if mode != BYPASSING => tools.clone().unwrap_or_default(),
            Permission::ReadOnly | Permission::Edit { .. } | Permission::Full => Vec::new(),
        };
        let without_commands = ask.permission == Permission::Edit { commands: false };
        Self { mode, tools, unasked, only_these, without_commands, answers_by_tool: ask.schema.is_some() }
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
            // Tools of connected servers are outside of `--tools`.
            arguments.extend(words(&["--strict-mcp-config"]));
        }
        arguments
    }

    /// No server is connected where tools are named and none of them is a server's.
    fn leaves_servers_out(&self) -> bool {
        self.tools.as_deref().is_some_and(|tools| connected(tools).is_none())
    }

    /// Why a process that says it works like this must be ended, if so.
    fn exceeded_by(&self, mode: Option<&str>, tools: &[String]) -> Option<String> {
        if let Some(mode) = mode.filter(|mode| *mode != self.mode) {
            return Some(format!(
                "claude works in permission mode `{mode}`, not `{}` as it was asked to",
                self.mode
            ));
        }
        let asked = self.tools.as_deref()?;
        let is_over = |tool: &&String| {
            let is_checked = self.only_these || (self.leaves_servers_out() && tool.starts_with(CONNECTED));
            is_checked && !asked.contains(tool) && !self.is_answer(tool)
        };
        let more = tools.iter().find(is_over)?;
        Some(format!("claude has the tool `{more}`, which this turn must not have"))
    }

    fn is_answer(&self, tool: &str) -> bool {
        self.answers_by_tool && tool == "StructuredOutput"
    }
}

/// Where permissions are bypassed, it writes anywhere and uses every tool of a connected server, also those that a turn
/// does not name. So only a turn that may do everything bypasses them, and only if it names no such tool.
fn mode(ask: &Ask) -> &'static str {
    match ask.permission {
        Permission::ReadOnly => "default",
        Permission::Full if connected(ask.tools.as_deref().unwrap_or_default()).is_none() => BYPASSING,
        Permission::Edit { .. } | Permission::Full => "acceptEdits",
    }
}

/// The first of these tools that a connected server has.
fn connected(tools: &[String]) -> Option<&String> {
    tools.iter().find(|tool| tool.starts_with(CONNECTED))
}

/// Refuses a turn that only looks and names a tool of a connected server: nobody knows what it does, and it would be
/// offered only to be denied.
fn looks_by_own_tools(ask: &Ask) -> Result<(), Failure> {
    match connected(ask.tools.as_deref().unwrap_or_default()) {
        Some(tool) if ask.permission == Permission::ReadOnly => {
            let words = format!(
                "a read-only turn cannot have `{tool}`: what a tool of an MCP server does is not known; let the turn \
                 edit, and name no tool that writes"
            );
            Err(failure(FailureClass::BadRequest, &words))
        }
        Some(_) | None => Ok(()),
    }
}

/// The tools of a turn that only looks: what was named, without what writes.
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
