//! Runs a small piece on one of the programs.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use saihai_tests::{Answer, Invocation, RealAgent, Request, Surroundings};
use serde_json::Value;

/// An agent may need a minute for its own retries. A busy machine may need as long to start it.
const PATIENCE: Duration = Duration::from_secs(300);

/// Surroundings with settings and a piece.
pub(crate) struct Scene {
    pub(crate) here: Surroundings,
}

impl Scene {
    pub(crate) fn new<S: IntoIterator<Item = Answer>>(
        agent: &'static RealAgent,
        piece: &str,
        script: impl FnOnce(&Path, SocketAddr) -> S,
    ) -> Self {
        let here = Surroundings::new(agent, script);
        here.project.write(".takt/pieces/it.yaml", piece);
        let model = agent.model.map(|model| format!("model = \"{model}\"\n")).unwrap_or_default();
        // Saihai makes one attempt, because the agents retry by themselves.
        let settings = format!(
            "provider = \"{0}\"\n[retry]\ntransient = 1\nrate_limited = 1\ncrashed = 1\n[providers.{0}]\n{model}{1}\n",
            agent.name, agent.settings
        );
        let scene = Self { here };
        scene.write_settings(&settings);
        scene
    }

    /// Writes the user's settings file, which needs no trust.
    fn write_settings(&self, settings: &str) {
        let directory = self.here.project.home().join(".config/saihai");
        fs::create_dir_all(&directory).expect("a directory for settings");
        fs::write(directory.join("config.toml"), settings).expect("settings");
    }

    /// Switches the program to the Agent Client Protocol, with the settings from the manual.
    pub(crate) fn through_acp(self, agent: &RealAgent) -> Self {
        let model = agent.model.expect("a model");
        self.through_acp_with(agent, &["--acp", "--model", model])
    }

    /// The same, with these arguments.
    pub(crate) fn through_acp_with(self, agent: &RealAgent, arguments: &[&str]) -> Self {
        // OpenCode does not ask before it acts.
        let honours = if agent.name == "opencode" { "honours = [\"readonly\"]\n" } else { "" };
        let variables: Vec<&str> = (agent.environment)("").into_iter().map(|(name, _)| name).collect();
        self.write_settings(&format!(
            "provider = \"mine\"\n[retry]\ntransient = 1\nrate_limited = 1\ncrashed = 1\n[providers.mine]\nkind = \"acp\"\n\
             program = \"{}\"\nargs = {arguments:?}\nenv_pass = {variables:?}\n{honours}",
            agent.name
        ));
        self
    }

    /// Adds a line to the agent's table in the settings.
    pub(crate) fn set(&self, line: &str) {
        let file = self.here.project.home().join(".config/saihai/config.toml");
        let settings = fs::read_to_string(file).expect("settings");
        self.write_settings(&format!("{settings}{line}\n"));
    }

    /// Adds a line to the settings of all agents.
    pub(crate) fn set_for_all(&self, line: &str) {
        let file = self.here.project.home().join(".config/saihai/config.toml");
        let settings = fs::read_to_string(file).expect("settings");
        self.write_settings(&format!("{line}\n{settings}"));
    }

    /// Passes a variable of Saihai's environment on to the agent.
    pub(crate) fn pass_on(&self, variable: &str) {
        self.set(&format!("env_pass = [\"{variable}\"]"));
    }

    /// Resets the agent's home to its state before the first run, and keeps the settings.
    pub(crate) fn forget_sessions(&self) {
        let file = self.here.project.home().join(".config/saihai/config.toml");
        let settings = fs::read_to_string(file).expect("settings");
        self.here.forget_everything();
        self.write_settings(&settings);
    }

    /// Prepares a call of Saihai with the agent's environment.
    pub(crate) fn saihai(&self, arguments: &[&str]) -> Invocation {
        let mut call = self.here.project.saihai(arguments).patience(PATIENCE);
        for (name, value) in self.here.variables() {
            call = call.env(name, value);
        }
        call
    }

    /// Makes the project a repository, with all files in one commit on `main`.
    pub(crate) fn begin_repository(&self) {
        let who = ["-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "commit.gpgSign=false"];
        let steps: [&[&str]; 3] = [
            &["init", "--quiet", "--initial-branch=main"],
            &["add", "--all"],
            &["commit", "--quiet", "-m", "all"],
        ];
        for step in steps {
            let git = Command::new("git").args(who).args(step).current_dir(self.here.project.root()).status();
            assert!(git.expect("git").success(), "git {step:?}");
        }
    }

    pub(crate) fn run(&self) -> Invocation {
        self.run_with(&[])
    }

    /// Prepares a call that runs the piece, with extra arguments.
    pub(crate) fn run_with(&self, arguments: &[&str]) -> Invocation {
        self.saihai(&[&["run", "it", TASK, "--json"], arguments].concat())
    }

    /// Returns all text in a request to the model.
    pub(crate) fn told(&self, ask: usize) -> String {
        let mut said = Vec::new();
        texts(&self.asked(ask).body, &mut said);
        said.join("\n")
    }

    /// Returns the names of the tools in a request to the model.
    pub(crate) fn offered(&self, ask: usize) -> Vec<String> {
        self.offers(ask).into_iter().map(|offer| offer.name).collect()
    }

    /// Returns the tools in a request to the model.
    pub(crate) fn offers(&self, ask: usize) -> Vec<ToolOffer> {
        let mut offers = Vec::new();
        let body = self.asked(ask).body;
        collect_offers(&body["tools"], "", &mut offers);
        collect_offers(&body["input"][0]["tools"], "", &mut offers);
        offers
    }

    fn asked(&self, ask: usize) -> Request {
        let asked = self.here.server.asked();
        let count = asked.len();
        asked.into_iter().nth(ask).unwrap_or_else(|| panic!("it was asked only {count} times"))
    }
}

/// A tool in a request to the model.
#[derive(Debug, Clone)]
pub(crate) struct ToolOffer {
    /// Name with the prefix `namespace.` if there is one; for a tool that the vendor's server runs, its type.
    pub(crate) name: String,
    /// JSON Schema of the arguments; `None` for free text.
    pub(crate) schema: Option<Value>,
}

/// Reads a list of tools in the format of any vendor.
fn collect_offers(tools: &Value, namespace: &str, into: &mut Vec<ToolOffer>) {
    for tool in tools.as_array().into_iter().flatten() {
        let inner = if tool["function"].is_object() { &tool["function"] } else { tool };
        let name = inner["name"].as_str();
        if tool["tools"].is_array() {
            collect_offers(&tool["tools"], &format!("{}.", name.unwrap_or_default()), into);
        } else if let Some(name) = name.or(tool["type"].as_str()) {
            let schemas = ["parameters", "input_schema", "parametersJsonSchema"];
            let schema = schemas.into_iter().map(|key| &inner[key]).find(|schema| schema.is_object());
            into.push(ToolOffer { name: format!("{namespace}{name}"), schema: schema.cloned() });
        }
        collect_offers(&tool["functionDeclarations"], "", into);
    }
}

/// The task, with bytes that careless quoting would change.
pub(crate) const TASK: &str = "Say \"done\" — 終わったら $(touch x) `y` \\n";

/// Collects every text in a value, in order.
fn texts(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| texts(value, into)),
        Value::Object(fields) => fields.values().for_each(|value| texts(value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
