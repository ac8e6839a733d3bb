//! `command`: any program that speaks plain text or JSON lines (C-70 to C-72).

mod json;
mod text;

use saihai_model::{Ask, Failure, FailureClass, Passing, Protocol, ProviderKind, ProviderSettings};
use serde_json::json;

use crate::agent::{
    Agent, End, Exit, Invocation, Listener, Profile, abrupt, failure, fits, unique_id, with_persona,
};

#[derive(Debug)]
pub(crate) struct Command;

static PROFILE: Profile = Profile {
    kind: ProviderKind::Command,
    program: "",
    install: "name it in `program` of its table in the settings",
    tested: "",
    environment: &[],
    // We know no limit of the program, so this is the size limit of a run.
    known_tools: &[],
    max_prompt: 256 * 1024 * 1024,
};

impl Agent for Command {
    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<Invocation, Failure> {
        let filled = Filled::new(ask, settings);
        let environment = vec![("SAIHAI_PERMISSION".to_owned(), ask.permission.name().to_owned())];
        let Filled { mut arguments, files } = filled;
        if settings.passing == Passing::Argument {
            arguments.push(as_argument(ask, settings)?);
            return Ok(Invocation { arguments, environment, files, input: String::new() });
        }
        let input = match settings.protocol {
            // A program that reads the role from a file must not get it twice.
            Protocol::Text if uses(settings, "{persona_file}") => ask.prompt.clone(),
            Protocol::Text => with_persona(ask),
            Protocol::Json => {
                arguments.push("--json-protocol".to_owned());
                asked(ask)
            }
        };
        Ok(Invocation { arguments, environment, files, input })
    }

    /// Returns true for the JSON protocol, which reports progress. A program that only prints its reply may
    /// be silent for any time.
    fn speaks_while_working(&self, settings: &ProviderSettings) -> bool {
        settings.protocol == Protocol::Json
    }

    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn Listener> {
        match settings.protocol {
            Protocol::Text => Box::new(text::Ears::new(ask)),
            Protocol::Json => Box::new(json::Ears::new(ask)),
        }
    }
}

/// Maximum length of an argument: 128 KiB on Linux including the final zero, which is the lowest limit of all
/// systems.
const LONGEST_ARGUMENT: u64 = 128 * 1024 - 1;

/// Returns the prompt as an argument, for programs that cannot read it from standard input.
fn as_argument(ask: &Ask, settings: &ProviderSettings) -> Result<String, Failure> {
    let prompt = with_persona(ask);
    fits(prompt.len(), settings.max_prompt.unwrap_or(LONGEST_ARGUMENT).min(LONGEST_ARGUMENT), &ask.provider)?;
    if prompt.contains('\0') {
        let words = format!("the prompt holds a zero byte, and {} takes it as an argument", ask.provider);
        return Err(failure(FailureClass::BadRequest, &words));
    }
    Ok(prompt)
}

/// Returns the line that a program of the JSON protocol reads.
fn asked(ask: &Ask) -> String {
    let line = json!({
        "v": 1,
        "type": "ask",
        "prompt": ask.prompt,
        "persona": ask.persona,
        "model": ask.model,
        "permission": ask.permission.name(),
        "tools": ask.tools,
        "schema": ask.schema,
        "session": ask.session,
        "cwd": ask.directory,
    });
    format!("{line}\n")
}

fn uses(settings: &ProviderSettings, placeholder: &str) -> bool {
    settings.args.iter().any(|argument| argument.contains(placeholder))
}

/// Arguments with their placeholders filled.
struct Filled {
    arguments: Vec<String>,
    files: Vec<(String, String)>,
}

impl Filled {
    fn new(ask: &Ask, settings: &ProviderSettings) -> Self {
        let id = unique_id(ask);
        let persona = ask.persona.clone().filter(|persona| !persona.trim().is_empty());
        let schema = ask.schema.as_ref().map(ToString::to_string);
        let file = |content: &Option<String>, name: &str| {
            content.as_ref().map(|_| format!("{}/{name}", ask.scratch)).unwrap_or_default()
        };
        let persona_file = file(&persona, &format!("persona-{id}.md"));
        let schema_file = file(&schema, &format!("schema-{id}.json"));
        let values = [
            ("{model}", ask.model.clone().unwrap_or_default()),
            ("{session}", ask.session.clone().unwrap_or_default()),
            ("{cwd}", ask.directory.clone()),
            ("{permission}", ask.permission.name().to_owned()),
            ("{persona_file}", persona_file.clone()),
            ("{schema_file}", schema_file.clone()),
        ];
        let wanted = |placeholder, path: String, content: Option<String>| {
            content.filter(|_| uses(settings, placeholder)).map(|content| (path, content))
        };
        let files =
            [wanted("{persona_file}", persona_file, persona), wanted("{schema_file}", schema_file, schema)];
        Self { arguments: fill(&settings.args, &values), files: files.into_iter().flatten().collect() }
    }
}

/// Fills the placeholders. An argument with an empty value is dropped, together with the flag directly before
/// it. `--flag={x}` counts as both.
fn fill(arguments: &[String], values: &[(&str, String)]) -> Vec<String> {
    let mut filled: Vec<String> = Vec::new();
    for argument in arguments {
        let empty = values.iter().any(|(name, value)| value.is_empty() && argument.contains(name));
        if !empty {
            filled.push(replace_all(argument, values));
        } else if !argument.starts_with('-') && filled.last().is_some_and(|before| before.starts_with('-')) {
            filled.pop();
        }
    }
    filled
}

/// Fills all placeholders in one pass, so a value that looks like a placeholder is not filled.
fn replace_all(argument: &str, values: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = argument;
    loop {
        let next = values.iter().filter_map(|(name, value)| Some((rest.find(name)?, *name, value))).min();
        let Some((at, name, value)) = next else { break };
        text.push_str(&rest[..at]);
        text.push_str(value);
        rest = &rest[at + name.len()..];
    }
    text + rest
}

/// Returns the failure for an exit, or `None` for success (C-71).
fn failed(end: &End) -> Option<Failure> {
    let class = match end.exit {
        Exit::AfterDone | Exit::Code(0) => return None,
        Exit::Code(64 | 65) => FailureClass::BadRequest,
        Exit::Code(69 | 75) => FailureClass::Transient,
        Exit::Code(77) => FailureClass::Auth,
        Exit::Code(127) => FailureClass::Missing,
        Exit::Code(_) | Exit::Signal(_) => FailureClass::Crashed,
    };
    Some(Failure { class, ..abrupt(&PROFILE, "failed", end) })
}

#[cfg(test)]
mod tests;
