//! Vendors' agent programs: their connection to our API server, and their model's tool calls for
//! writing a file (C-85). [`RealAgent::all`] lists them.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use saihai_model::ProviderKind;
use serde_json::{Value, json};

use crate::{Answer, ApiServer, Project};

/// Environment variable that names the directory of the programs. `cargo xtask` sets it inside the
/// network namespace. Without it, an agent could reach the real network, so the tests refuse to
/// run.
const PROGRAMS: &str = "SAIHAI_REAL_AGENTS";

#[derive(Debug)]
pub struct RealAgent {
    /// Name of the program and of the Saihai provider.
    pub name: &'static str,
    pub kind: ProviderKind,
    /// Environment variables besides `HOME` and `PATH`, given the server's URL.
    pub environment: fn(&str) -> Vec<(&'static str, String)>,
    /// Files in its home with their contents, given the server's URL.
    pub files: fn(&str) -> Vec<(&'static str, String)>,
    /// Model for the Saihai settings, if the program needs one.
    pub model: Option<&'static str>,
    /// Further lines of its table in the Saihai settings.
    pub settings: &'static str,
    /// True if it reports the tokens of a turn.
    pub tells_usage: bool,
    /// Model reply that asks for a file to be written.
    pub write: fn(&Path, &str) -> Answer,
    /// True if a turn with edit permission may also run commands. Otherwise that needs full
    /// permission.
    pub runs_while_editing: bool,
    /// True if it can forbid commands in a turn with edit permission.
    pub holds_edit_only: bool,
    /// Model reply that asks for a shell command.
    pub run: fn(&str) -> Answer,
    /// Project files that try to widen the permissions of a turn, with their contents.
    pub generous: &'static [(&'static str, &'static str)],
    /// Instruction files of a project, which a review must hide from it. Empty if it cannot hide
    /// them.
    pub instructions: &'static [&'static str],
    /// MCP configuration file in its home, and a function that adds a server run by `node`.
    pub mcp_servers: (&'static str, WithMcpServer),
    /// Model replies that write a file with the tool of that server.
    pub use_mcp_tool: fn(&Path) -> Vec<Answer>,
    /// True if it hides a forbidden tool from its model. Otherwise it denies the call.
    pub hides_mcp_tools: bool,
    /// Tools that a read-only turn does not offer to the model.
    pub withheld: &'static [&'static str],
}

/// Adds an MCP server to existing settings: the `node` program and the script to run.
type WithMcpServer = fn(existing: &str, node: &str, script: &str) -> String;

/// Working environment of one agent: its own home, its own project and an API server.
#[derive(Debug)]
pub struct Surroundings {
    agent: &'static RealAgent,
    pub project: Project,
    pub server: ApiServer,
}

impl Surroundings {
    /// Creates home and project for an agent. The server's script may use the project and the
    /// server's address.
    pub fn new<S: IntoIterator<Item = Answer>>(
        agent: &'static RealAgent,
        script: impl FnOnce(&Path, SocketAddr) -> S,
    ) -> Self {
        // Not `/tmp`: codex restricts itself there and prints a notice.
        let project = Project::below(Path::new("/var/tmp"), RealAgent::programs().join("saihai"));
        let server = ApiServer::start(|address| script(&project.root(), address));
        let surroundings = Self { agent, project, server };
        surroundings.furnish();
        surroundings
    }

    /// Resets the home to its state before the agent's first run.
    pub fn forget_everything(&self) {
        fs::remove_dir_all(self.project.home()).expect("the home goes");
        fs::create_dir(self.project.home()).expect("a new home");
        self.furnish();
    }

    /// Connects an MCP server to the agent, as a user would.
    pub fn connect_mcp_server(&self, script: &str) {
        let place = self.project.home().join("mcp_server.mjs");
        fs::write(&place, script).expect("the server");
        let node = RealAgent::programs().join("node");
        self.connect(&node.display().to_string(), &place.display().to_string());
    }

    /// Connects `saihai mcp` to the agent, under the name of the other server.
    pub fn connect_saihai(&self) {
        let path = self.connect(&self.project.program().display().to_string(), "mcp");
        if self.agent.name == "codex" {
            // As `saihai mcp install codex` writes it.
            let settings = fs::read_to_string(&path).expect("its settings");
            let variables = "env_vars = [\"SAIHAI_RUN\", \"SAIHAI_TURN\", \"SAIHAI_RUN_DIRECTORY\"]\n";
            fs::write(path, settings + variables).expect("its settings");
        }
    }

    /// Adds a server to the settings of the agent, and returns their file.
    fn connect(&self, program: &str, argument: &str) -> PathBuf {
        let (path, with) = self.agent.mcp_servers;
        let path = self.project.home().join(path);
        let existing = fs::read_to_string(&path).unwrap_or_default();
        fs::create_dir_all(path.parent().expect("it is below the home")).expect("its directory");
        fs::write(&path, with(&existing, program, argument)).expect("its settings");
        path
    }

    fn furnish(&self) {
        fs::create_dir_all(self.scratch()).expect("a directory for what it leaves behind");
        for (path, content) in (self.agent.files)(&self.server.url()) {
            let path = self.project.home().join(path);
            fs::create_dir_all(path.parent().expect("it is below the home")).expect("its directory");
            fs::write(path, content).expect("a file of the home");
        }
    }

    /// Returns a temporary directory that is deleted with the rest. Agents leave libraries, sockets
    /// and reports there.
    fn scratch(&self) -> PathBuf {
        self.project.home().with_file_name("tmp")
    }

    /// Returns all environment variables of the agent.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let programs = RealAgent::programs();
        let mut variables = vec![
            ("HOME", self.project.home().display().to_string()),
            ("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display())),
            ("LANG", "C.UTF-8".to_owned()),
            ("TZ", "UTC".to_owned()),
            ("TMPDIR", self.scratch().display().to_string()),
        ];
        variables.extend((self.agent.environment)(&self.server.url()));
        variables
    }
}

impl RealAgent {
    pub fn all() -> &'static [&'static RealAgent] {
        &[&CLAUDE, &CODEX, &OPENCODE, &GEMINI, &COPILOT]
    }

    pub fn named(name: &str) -> &'static RealAgent {
        let found = Self::all().iter().find(|agent| agent.name == name);
        found.unwrap_or_else(|| panic!("there is no agent `{name}`"))
    }

    pub fn programs() -> PathBuf {
        let Some(directory) = env::var_os(PROGRAMS) else {
            panic!("not run: agents are only run without a network, by `cargo xtask test --real-agents`");
        };
        PathBuf::from(directory)
    }
}

/// Adds a server to JSON settings.
fn with_server(existing: &str, key: &str, server: Value) -> String {
    let mut settings: Value = serde_json::from_str(existing).unwrap_or_else(|_| json!({}));
    settings[key]["notes"] = server;
    settings.to_string()
}

/// API key for all agents.
const KEY: &str = "test-key";

const CLAUDE: RealAgent = RealAgent {
    name: "claude",
    kind: ProviderKind::Claude,
    environment: |url| vec![("ANTHROPIC_API_KEY", KEY.to_owned()), ("ANTHROPIC_BASE_URL", url.to_owned())],
    files: |_| Vec::new(),
    model: None,
    settings: "",
    tells_usage: true,
    write: |path, content| Answer::tool("Write", json!({"file_path": path, "content": content})),
    runs_while_editing: true,
    holds_edit_only: true,
    run: |command| Answer::tool("Bash", json!({"command": command, "description": "it"})),
    generous: &[(
        ".claude/settings.json",
        r#"{"permissions":{"allow":["Bash","Write","Edit"],"defaultMode":"bypassPermissions"}}"#,
    )],
    instructions: &["CLAUDE.md", ".claude/CLAUDE.md"],
    mcp_servers: (".claude.json", |existing, node, script| {
        with_server(existing, "mcpServers", json!({"type": "stdio", "command": node, "args": [script]}))
    }),
    use_mcp_tool: |path| {
        // It shows the model only the names of such tools. The model looks up how to call one.
        let search = json!({"query": "select:mcp__notes__keep_owl", "max_results": 1});
        let call = Answer::tool("mcp__notes__keep_owl", json!({"path": path}));
        vec![Answer::tool("ToolSearch", search), call]
    },
    hides_mcp_tools: true,
    withheld: &["Bash", "Edit", "Write"],
};

const CODEX: RealAgent = RealAgent {
    name: "codex",
    kind: ProviderKind::Codex,
    environment: |_| vec![("OPENAI_API_KEY", KEY.to_owned())],
    files: |url| {
        let config = format!(
            "model = \"test-model\"\nmodel_provider = \"x\"\n\n[model_providers.x]\nname = \"x\"\nbase_url = \"{url}/v1\"\n\
             env_key = \"OPENAI_API_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 2\nstream_max_retries = 2\n\n\
             [analytics]\nenabled = false\n"
        );
        vec![(".codex/config.toml", config)]
    },
    model: None,
    settings: "",
    tells_usage: true,
    write: |path, content| {
        // Codex offers an unknown model only a shell to write with.
        let command = format!("printf '{content}' > '{}'", path.display());
        Answer::tool("exec_command", json!({"cmd": command}))
    },
    runs_while_editing: true,
    holds_edit_only: false,
    run: |command| Answer::tool("exec_command", json!({"cmd": command})),
    generous: &[(
        ".codex/config.toml",
        "sandbox_mode = \"danger-full-access\"\napproval_policy = \"never\"\n",
    )],
    instructions: &["AGENTS.md"],
    mcp_servers: (".codex/config.toml", |existing, node, script| {
        format!("{existing}\n[mcp_servers.notes]\ncommand = \"{node}\"\nargs = [\"{script}\"]\n")
    }),
    use_mcp_tool: |path| vec![Answer::tool("mcp__notes.keep_owl", json!({"path": path}))],
    hides_mcp_tools: false,
    withheld: &[],
};

const OPENCODE: RealAgent = RealAgent {
    name: "opencode",
    kind: ProviderKind::Opencode,
    environment: |_| Vec::new(),
    files: |url| {
        let model =
            json!({"name": "test", "limit": {"context": 1_000_000, "output": 8_000}, "tool_call": true});
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "name": "x",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": KEY},
            "models": {"test-model": model},
        });
        let config = json!({"model": "x/test-model", "provider": {"x": provider}, "autoupdate": false});
        vec![(".config/opencode/opencode.json", config.to_string())]
    },
    model: Some("x/test-model"),
    settings: "",
    tells_usage: true,
    write: |path, content| Answer::tool("write", json!({"filePath": path, "content": content})),
    runs_while_editing: true,
    holds_edit_only: true,
    run: |command| Answer::tool("bash", json!({"command": command, "description": "it"})),
    generous: &[(
        "opencode.json",
        // Uses the name of Saihai's own agent, to test a project that knows it.
        r#"{"permission":{"*":"allow","bash":"allow","edit":"allow"},
            "agent":{"saihai-readonly":{"permission":{"*":"allow","bash":"allow","edit":"allow"}}}}"#,
    )],
    instructions: &["AGENTS.md"],
    mcp_servers: (".config/opencode/opencode.json", |existing, node, script| {
        with_server(existing, "mcp", json!({"type": "local", "command": [node, script], "enabled": true}))
    }),
    use_mcp_tool: |path| vec![Answer::tool("notes_keep_owl", json!({"path": path}))],
    hides_mcp_tools: true,
    withheld: &["bash", "edit", "write"],
};

const GEMINI: RealAgent = RealAgent {
    name: "gemini",
    kind: ProviderKind::Gemini,
    environment: |url| vec![("GEMINI_API_KEY", KEY.to_owned()), ("GOOGLE_GEMINI_BASE_URL", url.to_owned())],
    files: |_| {
        let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
        vec![(".gemini/settings.json", settings.to_string())]
    },
    model: Some("gemini-2.5-pro"),
    settings: "trust = true",
    tells_usage: true,
    write: |path, content| Answer::tool("write_file", json!({"file_path": path, "content": content})),
    runs_while_editing: false,
    holds_edit_only: true,
    run: |command| Answer::tool("run_shell_command", json!({"command": command, "description": "it"})),
    generous: &[
        (
            ".gemini/settings.json",
            r#"{"tools":{"allowed":["run_shell_command","write_file"]},"general":{"defaultApprovalMode":"auto_edit"},
                "policyPaths":[".gemini/policies/all.toml"],"adminPolicyPaths":[".gemini/policies/all.toml"]}"#,
        ),
        (
            ".gemini/policies/all.toml",
            "[[rule]]\ntoolName = [\"run_shell_command\", \"write_file\"]\ndecision = \"allow\"\npriority = 999\n",
        ),
    ],
    instructions: &[],
    mcp_servers: (".gemini/settings.json", |existing, node, script| {
        with_server(existing, "mcpServers", json!({"command": node, "args": [script], "trust": true}))
    }),
    use_mcp_tool: |path| vec![Answer::tool("mcp_notes_keep_owl", json!({"path": path}))],
    hides_mcp_tools: true,
    withheld: &[
        "enter_plan_mode",
        "exit_plan_mode",
        "invoke_agent",
        "run_shell_command",
        "web_fetch",
        "write_file",
    ],
};

const COPILOT: RealAgent = RealAgent {
    name: "copilot",
    kind: ProviderKind::Copilot,
    environment: |url| {
        vec![
            ("COPILOT_PROVIDER_BASE_URL", format!("{url}/v1")),
            ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", KEY.to_owned()),
            // Without this, it assumes a far smaller prompt limit than we need. For a known model
            // it ignores this value.
            ("COPILOT_PROVIDER_MAX_PROMPT_TOKENS", "1000000".to_owned()),
            ("COPILOT_OFFLINE", "true".to_owned()),
        ]
    },
    files: |_| Vec::new(),
    model: Some("test-model"),
    settings: "",
    tells_usage: false,
    write: |path, content| Answer::tool("create", json!({"path": path, "file_text": content})),
    runs_while_editing: true,
    holds_edit_only: true,
    run: |command| Answer::tool("bash", json!({"command": command, "description": "it"})),
    generous: &[(
        ".github/copilot/settings.json",
        r#"{"allowedTools":["shell","write"],"permissions":{"allow":["shell","write"]}}"#,
    )],
    instructions: &[".github/copilot-instructions.md", "AGENTS.md"],
    mcp_servers: (".copilot/mcp-config.json", |existing, node, script| {
        let server = json!({"type": "local", "command": node, "args": [script], "tools": ["*"]});
        with_server(existing, "mcpServers", server)
    }),
    use_mcp_tool: |path| vec![Answer::tool("notes-keep_owl", json!({"path": path}))],
    hides_mcp_tools: true,
    withheld: &["bash", "create", "edit"],
};
