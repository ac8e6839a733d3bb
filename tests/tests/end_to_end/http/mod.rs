//! Providers over HTTP, with a scripted server on the loopback (C-80 – C-83).

mod conversations;
mod trouble;

use std::fs;

use saihai_tests::{Answer, ApiServer, Project};

use crate::support::PROGRAM;

/// A key that may appear only in its own header.
const KEY: &str = "sk-of-the-test-0123456789";

/// A server, and a project with user settings that make it the provider.
struct World {
    server: ApiServer,
    project: Project,
    /// Name of the variable with the key.
    key: &'static str,
}

impl World {
    /// Creates a project with a piece. The provider is `openai` or `anthropic`.
    fn new(provider: &str, definition: &str, answers: impl IntoIterator<Item = Answer>) -> Self {
        let server = ApiServer::start(|_| answers);
        let project = Project::new(PROGRAM);
        project.write(".takt/pieces/it.yaml", definition);
        let base = if provider == "openai" { format!("{}/v1", server.url()) } else { server.url() };
        let settings = project.home().join(".config/saihai");
        fs::create_dir_all(&settings).expect("a place for settings");
        let text = format!(
            "provider = \"{provider}\"\n[providers.{provider}]\nmodel = \"test-model\"\nbase_url = \"{base}\"\n\
             price = {{ input = 3.0, output = 15.0 }}\n"
        );
        fs::write(settings.join("config.toml"), text).expect("settings");
        let key = if provider == "openai" { "OPENAI_API_KEY" } else { "ANTHROPIC_API_KEY" };
        Self { server, project, key }
    }

    fn run(&self) -> saihai_tests::Outcome {
        self.saihai().run()
    }

    fn saihai(&self) -> saihai_tests::Invocation {
        self.project.saihai(["run", "it", "The task.", "--json"]).env(self.key, KEY)
    }
}
