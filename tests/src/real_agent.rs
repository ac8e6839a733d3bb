//! An agent program as its vendor ships it: how it is pointed at our API server, and how its model would have it write
//! a file (C-85). One row each, in [`RealAgent::all`].

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use saihai_model::ProviderKind;
use serde_json::{Value, json};

use crate::{Answer, ApiServer, Project};

/// The variable that names the directory with the programs. It is set by `cargo xtask` inside the namespace, so its
/// absence means that nothing keeps an agent from the real network.
const PROGRAMS: &str = "SAIHAI_REAL_AGENTS";

#[derive(Debug)]
pub struct RealAgent {
    /// The name of the program and of our provider.
    pub name: &'static str,
    pub kind: ProviderKind,
    /// What it is told by variables, beside `HOME` and `PATH`, given the server's address.
    pub environment: fn(&str) -> Vec<(&'static str, String)>,
    /// What it is told by files in its home, given the server's address: where, and what.
    pub files: fn(&str) -> Vec<(&'static str, String)>,
    /// Which model our settings name, where the program must be told.
    pub model: Option<&'static str>,
    /// What our settings say of it beside the model: lines of its table.
    pub settings: &'static str,
    /// Whether it says what a turn took, in tokens.
    pub tells_usage: bool,
    /// How its model asks for a file to be written.
    pub write: fn(&Path, &str) -> Answer,
    /// Whether a turn that may edit may also run commands there; otherwise only one with every permission may.
    pub runs_while_editing: bool,
    /// Whether it can be kept from commands in a turn that may edit.
    pub holds_edit_only: bool,
    /// How its model asks for a command to be run by a shell.
    pub run: fn(&str) -> Answer,
    /// What a project may say so that turns there may do more: files, and what is in them.
    pub generous: &'static [(&'static str, &'static str)],
    /// Where it looks for instructions in a project, and is kept from them in a review. Empty where it cannot be.
    pub instructions: &'static [&'static str],
    /// Where in its home a user's MCP servers are named, and what is there with one more that `node` runs.
    pub mcp_servers: (&'static str, WithMcpServer),
    /// The calls by which its model uses the tool of that server to write a file.
    pub use_mcp_tool: fn(&Path) -> Vec<Answer>,
    /// Whether its model does not hear of that tool where it must not use it; otherwise the call is denied.
    pub hides_mcp_tools: bool,
    /// Tools that its model is not even offered in a turn that may only read.
    pub withheld: &'static [&'static str],
}

/// Adds a server to the settings that exist: how it is run, and its script.
type WithMcpServer = fn(existing: &str, node: &str, script: &str) -> String;

/// Where one agent works: a home and a project of its own, and the server it talks to.
#[derive(Debug)]
pub struct Surroundings {
    agent: &'static RealAgent,
    pub project: Project,
    pub server: ApiServer,
}

impl Surroundings {
    /// A new home and a new project, prepared for an agent; the script of the server may name the project and the
    /// server's own address.
    pub fn new<S: IntoIterator<Item = Answer>>(
        agent: &'static RealAgent,
        script: impl FnOnce(&Path, SocketAddr) -> S,
    ) -> Self {
        // Not `/tmp`, where codex holds back and says so.
        let project = Project::below(Path::new("/var/tmp"), RealAgent::programs().join("saihai"));
        let server = ApiServer::start(|address| script(&project.root(), address));
        let surroundings = Self { agent, project, server };
        surroundings.furnish();
        surroundings
    }

    /// Makes the home as it was before the agent ever ran.
    pub fn forget_everything(&self) {
        fs::remove_dir_all(self.project.home()).expect("the home goes");
        fs::create_dir(self.project.home()).expect("a new home");
        self.furnish();
    }

    /// Connects an MCP server to the agent, as its user would.
    pub fn connect_mcp_server(&self, script: &str) {
        let home = self.project.home();
        let place = home.join("mcp_server.mjs");
        fs::write(&place, script).expect("the server");
        let (path, with) = self.agent.mcp_servers;
        let path = home.join(path);
        let existing = fs::read_to_string(&path).unwrap_or_default();
        let node = RealAgent::programs().join("node");
        fs::create_dir_all(path.parent().expect("it is below the home")).expect("its directory");
        let text = with(&existing, &node.display().to_string(), &place.display().to_string());
        fs::write(path, text).expect("its settings");
    }

    fn furnish(&self) {
        fs::create_dir_all(self.scratch()).expect("a directory for what it leaves behind");
        for (path, content) in (self.agent.files)(&self.server.url()) {
            let path = self.project.home().join(path);
            fs::create_dir_all(path.parent().expect("it is below the home")).expect("its directory");
            fs::write(path, content).expect("a file of the home");
        }
    }

    /// Where it puts what is for the moment, and goes with the rest: they leave libraries, sockets and reports there.
    fn scratch(&self) -> PathBuf {
        self.project.home().with_file_name("tmp")
    }

    /// Every variable the agent has.
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

    /// The one of a name.
    pub fn named(name: &str) -> &'static RealAgent {
        let found = Self::all().iter().find(|agent| agent.name == name);
        found.unwrap_or_else(|| panic!("there is no agent `{name}`"))
    }

    /// The directory with the programs.
    pub fn programs() -> PathBuf {
        let Some(directory) = env::var_os(PROGRAMS) else {
            panic!("not run: agents are only run without a network, by `cargo xtask test --real-agents`");
        };
        PathBuf::from(directory)
    }
}

/// Settings in JSON with one server more.
fn with_server(existing: &str, key: &str, server: Value) -> String {
    let mut settings: Value = serde_json::from_str(existing).unwrap_or_else(|_| json!({}));
    settings[key]["notes"] = server;
    settings.to_string()
}

/// The key they are all given.
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
        // It is told of such tools by their names alone, and looks up how to call one.
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
        // A model whose tools codex does not know is offered a shell and nothing else to write with.
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
        let config = json!({"provider": {"x": provider}, "autoupdate": false});
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
        // The agent has our name, should it be known.
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
            // Otherwise it believes the model to take far less than we send; of one it knows it believes nothing else.
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
