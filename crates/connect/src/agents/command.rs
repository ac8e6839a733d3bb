//! `command`: any program that speaks plain text or JSON lines (C-70 to C-72).

use saihai_model::{
    Ask, Failure, FailureClass, Json, Millis, Passing, Progress, Protocol, ProviderAnswer, ProviderKind,
    ProviderRefusal, ProviderSettings, Reply, Usage,
};
use serde::Deserialize;
use serde_json::json;

use crate::agent::{
    AgentInvocation, AgentListener, AgentProfile, AgentProgram, ListenerStep, ProcessEnd, ProcessExit,
    abrupt, failure, fits, unique_id, with_persona,
};
use crate::agents::turn_log::{ReportedCost, ToolTime, TurnLog, or_default};
use crate::api_error::wait_of_seconds;
use crate::attempt::transcript_of;
use crate::structured::Structured;

#[derive(Debug)]
pub(crate) struct CommandAgent;

static PROFILE: AgentProfile = AgentProfile {
    kind: ProviderKind::Command,
    program: "",
    install: "name it in `program` of its table in the settings",
    tested: "",
    environment: &[],
    // We know no limit of the program, so this is the size limit of a run.
    known_tools: &[],
    max_prompt: 256 * 1024 * 1024,
};

impl AgentProgram for CommandAgent {
    fn profile(&self) -> &'static AgentProfile {
        &PROFILE
    }

    fn invocation(&self, ask: &Ask, settings: &ProviderSettings) -> Result<AgentInvocation, Failure> {
        let filled = FilledArguments::new(ask, settings);
        let environment = vec![("SAIHAI_PERMISSION".to_owned(), ask.permission.name().to_owned())];
        let FilledArguments { mut arguments, files } = filled;
        if settings.passing == Passing::Argument {
            arguments.push(as_argument(ask, settings)?);
            return Ok(AgentInvocation { arguments, environment, files, input: String::new() });
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
        Ok(AgentInvocation { arguments, environment, files, input })
    }

    /// Returns true for the JSON protocol, which reports progress. A program that only prints its reply may
    /// be silent for any time.
    fn speaks_while_working(&self, settings: &ProviderSettings) -> bool {
        settings.protocol == Protocol::Json
    }

    fn listener(&self, ask: &Ask, settings: &ProviderSettings) -> Box<dyn AgentListener> {
        match settings.protocol {
            Protocol::Text => Box::new(PlainTextListener::new(ask)),
            Protocol::Json => Box::new(JsonLinesListener {
                ask: ask.clone(),
                log: TurnLog::default(),
                cost: ReportedCost::default(),
                outcome: None,
            }),
        }
    }
}

/// Maximum length of an argument: 128 KiB with the final zero on Linux, the lowest limit of all systems.
const LONGEST_ARGUMENT: u64 = 128 * 1024 - 1;

/// Returns the prompt as an argument, for programs that cannot read it from standard input.
fn as_argument(ask: &Ask, settings: &ProviderSettings) -> Result<String, Failure> {
    let prompt = with_persona(ask);
    fits(prompt.len(), settings.max_prompt.unwrap_or(LONGEST_ARGUMENT).min(LONGEST_ARGUMENT), &ask.provider)?;
    if prompt.contains('\0') {
        let words =
            format!("the prompt contains a zero byte, which {} cannot take in an argument", ask.provider);
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
struct FilledArguments {
    arguments: Vec<String>,
    files: Vec<(String, String)>,
}

impl FilledArguments {
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
fn failed(end: &ProcessEnd) -> Option<Failure> {
    let class = match end.exit {
        ProcessExit::AfterDone | ProcessExit::Code(0) => return None,
        ProcessExit::Code(64 | 65) => FailureClass::BadRequest,
        ProcessExit::Code(69 | 75) => FailureClass::Transient,
        ProcessExit::Code(77) => FailureClass::Auth,
        ProcessExit::Code(127) => FailureClass::Missing,
        ProcessExit::Code(_) | ProcessExit::Signal(_) => FailureClass::Crashed,
    };
    Some(Failure { class, ..abrupt(&PROFILE, "failed", end) })
}

/// Maximum length of a reply; the end is kept. The transcript has all of it (C-52).
const LONGEST: usize = 4 * 1024 * 1024;

struct PlainTextListener {
    ask: Ask,
    said: String,
    left_off: usize,
}

impl PlainTextListener {
    fn new(ask: &Ask) -> Self {
        Self { ask: ask.clone(), said: String::new(), left_off: 0 }
    }

    /// Drops the oldest lines. If the last line alone is too long, keeps its end.
    fn leave_off(&mut self) {
        let surplus = self.said.len().saturating_sub(LONGEST);
        let from = (surplus..).find(|at| self.said.is_char_boundary(*at)).unwrap_or_default();
        let next = self.said[from..].find('\n').map(|at| from + at + 1);
        let from = next.filter(|next| !self.said[*next..].trim().is_empty()).unwrap_or(from);
        self.left_off += from;
        self.said.drain(..from);
    }
}

impl AgentListener for PlainTextListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        tell(Progress::Text(line.to_owned()));
        self.said.push_str(line);
        // The buffer may grow to twice the limit, so that not every line moves all of it.
        if self.said.len() > 2 * LONGEST {
            self.leave_off();
        }
        ListenerStep::GoOn
    }

    fn is_busy(&self) -> bool {
        false
    }

    fn end(mut self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        if let Some(failure) = failed(end) {
            return Err(ProviderRefusal::from(failure));
        }
        if self.said.len() > LONGEST {
            self.leave_off();
        }
        let warnings = (self.left_off > 0).then(|| {
            let length = self.left_off + self.said.len();
            let file = transcript_of(&self.ask);
            format!(
                "only the end of a reply of {length} bytes is passed on; all of it is in {}",
                file.display()
            )
        });
        let said = &self.said;
        let text = said.strip_suffix("\r\n").or_else(|| said.strip_suffix('\n')).unwrap_or(said).to_owned();
        if text.trim().is_empty() {
            return Err(ProviderRefusal::from(abrupt(&PROFILE, "ended without any reply", end)));
        }
        let structured = Structured::of(&self.ask, None, &text);
        Ok(Reply {
            responses: vec![text.clone()],
            text,
            structured: structured.value,
            structured_error: structured.error,
            warnings: warnings.into_iter().collect(),
            ..Reply::default()
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CommandEvent {
    Text {
        text: String,
    },
    Tool {
        id: Json,
        name: String,
        status: String,
        #[serde(default)]
        input: Option<Json>,
        #[serde(default)]
        output: Option<Json>,
    },
    Usage {
        #[serde(default, deserialize_with = "or_default")]
        input: Option<u64>,
        #[serde(default, deserialize_with = "or_default")]
        output: Option<u64>,
        #[serde(default, deserialize_with = "or_default")]
        cached: Option<u64>,
        #[serde(default, deserialize_with = "or_default")]
        reasoning: Option<u64>,
        #[serde(default)]
        cost_usd: ReportedCost,
    },
    Session {
        id: String,
    },
    Done {
        #[serde(default, deserialize_with = "or_default")]
        text: Option<String>,
        #[serde(default)]
        structured: Option<Json>,
    },
    Failed {
        class: String,
        #[serde(default, deserialize_with = "or_default")]
        message: String,
        #[serde(default, deserialize_with = "or_default")]
        retry_after: Option<f64>,
    },
    #[serde(other)]
    Other,
}

struct JsonLinesListener {
    ask: Ask,
    log: TurnLog,
    cost: ReportedCost,
    outcome: Option<CommandOutcome>,
}

enum CommandOutcome {
    Done { text: Option<String>, structured: Option<Json> },
    Failed { failure: Failure, retry_after: Option<Millis> },
}

impl AgentListener for JsonLinesListener {
    fn output(&mut self, line: &str, tell: &mut dyn FnMut(Progress)) -> ListenerStep {
        let Ok(event) = serde_json::from_str::<CommandEvent>(line) else { return ListenerStep::GoOn };
        match event {
            CommandEvent::Text { text } => {
                self.log.messages.go_on(&text);
                tell(Progress::Text(text));
            }
            CommandEvent::Tool { id, name, status, input, output } => {
                let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
                self.log.tools.started(&id, &name, input, ToolTime::now(), tell);
                if matches!(status.as_str(), "done" | "failed") {
                    self.log.tools.finished(&id, output, ToolTime::now(), tell);
                }
            }
            CommandEvent::Usage { input, output, cached, reasoning, cost_usd } => {
                self.log.usage = Usage { input, output, cached, reasoning, cumulative: false };
                self.log.cost = cost_usd.amount();
                self.cost = cost_usd;
            }
            CommandEvent::Session { id } => self.log.session = Some(id),
            CommandEvent::Done { text, structured } => {
                return self.ended(CommandOutcome::Done { text, structured });
            }
            CommandEvent::Failed { class, message, retry_after } => {
                let retry_after = retry_after.and_then(wait_of_seconds);
                return self
                    .ended(CommandOutcome::Failed { failure: classified(&class, &message), retry_after });
            }
            CommandEvent::Other => {}
        }
        ListenerStep::GoOn
    }

    fn is_busy(&self) -> bool {
        self.log.tools.is_open()
    }

    fn end(mut self: Box<Self>, end: &ProcessEnd) -> ProviderAnswer {
        match self.outcome.take() {
            Some(CommandOutcome::Failed { failure, retry_after }) => Err(self.refusal(failure, retry_after)),
            Some(CommandOutcome::Done { text, structured }) => match failed(end) {
                Some(failure) => Err(self.refusal(failure, None)),
                None => self.replied(text, structured, end),
            },
            None => {
                let silent = || abrupt(&PROFILE, "ended without a line `done` or `failed`", end);
                Err(self.refusal(failed(end).unwrap_or_else(silent), None))
            }
        }
    }
}

impl JsonLinesListener {
    fn ended(&mut self, outcome: CommandOutcome) -> ListenerStep {
        if self.outcome.is_some() {
            self.log
                .warnings
                .push("the command reported a second end of the turn, which was ignored".to_owned());
            return ListenerStep::GoOn;
        }
        self.outcome = Some(outcome);
        ListenerStep::Done
    }

    fn replied(mut self, text: Option<String>, structured: Option<Json>, end: &ProcessEnd) -> ProviderAnswer {
        self.log.warnings.extend(self.cost.warning());
        let nothing = || abrupt(&PROFILE, "ended without any reply", end);
        let mut reply = self.log.into_reply(&self.ask, text, structured, nothing)?;
        if reply.responses.last() != Some(&reply.text) && !reply.text.trim().is_empty() {
            reply.responses.push(reply.text.clone());
        }
        Ok(reply)
    }

    fn refusal(self, failure: Failure, retry_after: Option<Millis>) -> ProviderRefusal {
        ProviderRefusal { retry_after, ..self.log.into_refusal(failure) }
    }
}

/// Builds a failure of the named class. The message quotes a class that does not exist.
fn classified(class: &str, message: &str) -> Failure {
    let message = if message.trim().is_empty() { "the command gave no reason" } else { message };
    match FailureClass::ALL.into_iter().find(|known| known.name() == class) {
        Some(class) => failure(class, message),
        None => failure(FailureClass::Crashed, &format!("unknown class `{class}` of a failure: {message}")),
    }
}

#[cfg(test)]
mod tests;
