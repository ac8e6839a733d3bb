//! `codex`: Codex in exec mode, with a stream of events (C-61).

mod event;
mod failures;
mod listener;

use saihai_model::{Ask, Failure, FailureClass, Json, Permission, ProviderKind, ProviderSettings};

use crate::agent::{
    Agent, Invocation, Listener, Login, LoginProbe, Probed, Profile, failure, unique_id, with_persona,
};
use listener::Ears;

#[derive(Debug)]
pub(crate) struct Codex;

static PROFILE: Profile = Profile {
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

impl Agent for Codex {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<Invocation, Failure> {
        // Its option for instructions is not used: a resumed thread keeps its first instructions (C-23).
        let input = with_persona(ask);
        let characters = input.chars().count();
        if characters > LONGEST_PROMPT {
            let message = format!("prompt is {characters} characters, codex takes {LONGEST_PROMPT}");
            return Err(failure(FailureClass::BadRequest, &message));
        }
        if ask.permission == (Permission::Edit { commands: false }) {
            let words = "codex cannot be held to `edit-only`: it reads and writes files by commands; allow commands \
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
        Ok(Invocation { arguments, environment: Vec::new(), files, input })
    }

    fn listener(&self, ask: &Ask, _settings: &ProviderSettings) -> Box<dyn Listener> {
        Box::new(Ears::new(ask))
    }

    fn login(&self) -> Option<LoginProbe> {
        Some(LoginProbe { arguments: &["login", "status"], read: logged_in })
    }

    fn keys(&self) -> &'static [&'static str] {
        &["OPENAI_API_KEY"]
    }
}

/// Reads the exit code of `login status`.
fn logged_in(said: &Probed) -> Login {
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
    schema.get("type") == Some(&Json::from("object")) && every_object_is_closed(schema)
}

fn every_object_is_closed(schema: &Json) -> bool {
    match schema {
        Json::Object(keys) => {
            let closed = match keys.get("properties").and_then(Json::as_object) {
                Some(properties) => {
                    let required = keys.get("required").and_then(Json::as_array);
                    let is_required = |name: &String| {
                        required.is_some_and(|all| all.iter().any(|one| one.as_str() == Some(name)))
                    };
                    keys.get("additionalProperties") == Some(&Json::Bool(false))
                        && properties.keys().all(is_required)
                }
                None => keys.get("type") != Some(&Json::from("object")),
            };
            closed && keys.values().all(every_object_is_closed)
        }
        Json::Array(items) => items.iter().all(every_object_is_closed),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}

#[cfg(test)]
mod tests;
