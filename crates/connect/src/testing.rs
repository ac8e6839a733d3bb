//! Shared test helpers for agents: an ask, and the output of a program passed through its listener.

pub(crate) mod loopback_server;

use std::fmt::Write as _;
use std::path::PathBuf;

use saihai_model::{
    Ask, CallId, Failure, Permission, Progress, ProviderAnswer, ProviderSettings, Purpose, RoundPosition,
    ToolUse, Usage,
};

use crate::agent::{AgentProgram, ListenerStep, ProcessEnd, ProcessExit};

pub(crate) fn ask() -> Ask {
    Ask {
        run: "20260101-000000-x".into(),
        call: CallId { stage: "plan".into(), visit: 1, round: 1, n: 1 },
        stage: "plan".into(),
        turn: Some("plan".into()),
        place: RoundPosition::Main(0),
        purpose: Purpose::Work,
        attempt: 1,
        role: None,
        directory: "/project".into(),
        foreign: false,
        rehearsal: false,
        program: None,
        prompt: "do it".into(),
        persona: None,
        provider: "p".into(),
        model: None,
        permission: Permission::ReadOnly,
        tools: None,
        schema: None,
        verdict: None,
        session: None,
        timeout: None,
        silence: None,
        max_calls: None,
        money: None,
        metered: None,
        scratch: "/run/scratch".into(),
        traceparent: None,
    }
}

/// The output of a program, and its exit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said<'a> {
    pub(crate) output: &'a str,
    pub(crate) complaints: &'a str,
    pub(crate) code: i32,
}

impl<'a> Said<'a> {
    /// Parses a recorded transcript: `exit CODE`, then both outputs, then the outcome.
    pub(crate) fn read(transcript: &'a str) -> (Self, &'a str) {
        let (code, rest) = transcript.split_once("\n--- stdout\n").unwrap();
        let (output, rest) = rest.split_once("--- stderr\n").unwrap();
        let (complaints, outcome) = rest.split_once("--- outcome\n").unwrap_or((rest, ""));
        let code = code.strip_prefix("exit ").unwrap().parse().unwrap();
        (Self { output, complaints, code }, outcome)
    }
}

/// Returns a recorded transcript of an agent's program.
pub(crate) fn transcript(agent: &dyn AgentProgram, name: &str) -> String {
    std::fs::read_to_string(beside(agent, "transcripts").join(format!("{name}.txt"))).unwrap()
}

/// Returns a directory of the agent's recordings.
fn beside(agent: &dyn AgentProgram, directory: &str) -> PathBuf {
    let name = agent.profile().kind.name();
    PathBuf::from(format!("{}/src/agents/{name}/{directory}", env!("CARGO_MANIFEST_DIR")))
}

/// Compares the outcome of every transcript of an agent with the recorded one. `adjust` sets the ask of each
/// transcript. `SAIHAI_TRANSCRIPTS=update` records the outcomes instead.
pub(crate) fn check_transcripts(agent: &dyn AgentProgram, adjust: impl Fn(&str, &mut Ask)) {
    check_all(agent, "transcripts", adjust);
}

/// Checks the conversations that are recorded with every agent (`cargo xtask record-agents`).
pub(crate) fn check_recorded(agent: &dyn AgentProgram) {
    check_all(agent, "recorded", |case, ask| match case {
        "edit" => ask.permission = Permission::Edit { commands: false },
        "full" => ask.permission = Permission::Full,
        "resume" | "missing-session" => ask.session = Some("old".into()),
        _ => {}
    });
}

fn check_all(agent: &dyn AgentProgram, directory: &str, adjust: impl Fn(&str, &mut Ask)) {
    let update = std::env::var_os("SAIHAI_TRANSCRIPTS").is_some_and(|value| value == "update");
    let entries = std::fs::read_dir(beside(agent, directory)).unwrap();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "nothing is in `{directory}`");
    let settings = ProviderSettings::new(agent.profile().kind);
    let mut wrong = String::new();
    for file in files {
        let transcript = std::fs::read_to_string(&file).unwrap();
        let name = file.file_stem().unwrap().to_string_lossy();
        let mut ask = ask();
        adjust(&name, &mut ask);
        let (said, expected) = Said::read(&transcript);
        let came = undated(&shown(&hear(agent, &ask, &settings, &said).answer));
        if update {
            let (recorded, _) = transcript.split_once("--- outcome\n").unwrap_or((&transcript, ""));
            std::fs::write(&file, format!("{recorded}--- outcome\n{came}\n")).unwrap();
        } else if came != expected.trim_end() {
            writeln!(wrong, "== {name}\n{came}\n-- expected\n{expected}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Removes times. Some programs do not date their output, so our own times appear; others use our clock.
fn undated(outcome: &str) -> String {
    let own = regex::Regex::new(r"(?m)(^until:|→ .* in) \d+").unwrap();
    own.replace_all(outcome, "$1 [..]").into_owned()
}

/// The answer, and the progress on the way.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) answer: ProviderAnswer,
    pub(crate) progress: Vec<Progress>,
    /// The reason for an immediate end, in which case there is no answer.
    pub(crate) aborted: Option<Failure>,
}

/// Passes a program's output through its listener, line by line.
pub(crate) fn hear(
    agent: &dyn AgentProgram,
    ask: &Ask,
    settings: &ProviderSettings,
    said: &Said<'_>,
) -> Heard {
    let mut listener = agent.listener(ask, settings);
    let mut progress = Vec::new();
    let mut tell = |one| progress.push(one);
    let mut aborted = None;
    for line in said.output.split_inclusive('\n') {
        if let ListenerStep::Abort(failure) = listener.output(line, &mut tell) {
            aborted = aborted.or(Some(failure));
        }
    }
    for line in said.complaints.split_inclusive('\n') {
        if let ListenerStep::Abort(failure) = listener.complaint(line, &mut tell) {
            aborted = aborted.or(Some(failure));
        }
    }
    let end = ProcessEnd { exit: ProcessExit::Code(said.code), complaints: said.complaints.to_owned() };
    let answer = match &aborted {
        Some(failure) => Err(failure.clone().into()),
        None => listener.end(&end),
    };
    Heard { answer, progress, aborted }
}

/// Summarizes an answer for snapshots, without its absent parts.
pub(crate) fn shown(answer: &ProviderAnswer) -> String {
    let mut text = String::new();
    match answer {
        Ok(reply) => {
            line(&mut text, "replied", Some(&format!("{:?}", reply.text)));
            let responses = (reply.responses.len() > 1).then(|| format!("{:?}", reply.responses));
            line(&mut text, "responses", responses.as_deref());
            line(&mut text, "structured", reply.structured.as_ref().map(ToString::to_string).as_deref());
            line(&mut text, "structured_error", reply.structured_error.as_deref());
            spent(&mut text, &reply.usage, reply.cost.map(|cost| cost.to_string()), reply.session.as_deref());
            for tool in &reply.tools_used {
                line(&mut text, "tool", Some(&tool_shown(tool)));
            }
            line(&mut text, "denied", (reply.denied > 0).then(|| reply.denied.to_string()).as_deref());
            for warning in &reply.warnings {
                line(&mut text, "warning", Some(warning));
            }
        }
        Err(refusal) => {
            let failure = &refusal.failure;
            line(&mut text, failure.class.name(), Some(&failure.message));
            line(&mut text, "until", failure.until.map(|until| until.0.to_string()).as_deref());
            let wait = refusal.retry_after.map(|wait| format!("{} ms", wait.0));
            line(&mut text, "retry_after", wait.as_deref());
            let cost = refusal.cost.map(|cost| cost.to_string());
            spent(&mut text, &refusal.usage, cost, refusal.session.as_deref());
        }
    }
    text.trim_end().to_owned()
}

fn tool_shown(tool: &ToolUse) -> String {
    let json = |value: &Option<saihai_model::Json>| value.as_ref().map_or("-".into(), ToString::to_string);
    format!("{} {} → {} in {} ms", tool.name, json(&tool.input), json(&tool.output), tool.duration_ms)
}

fn spent(text: &mut String, usage: &Usage, cost: Option<String>, session: Option<&str>) {
    let counted = serde_json::to_string(usage).unwrap();
    line(text, "usage", (*usage != Usage::default()).then_some(counted.as_str()));
    line(text, "cost", cost.as_deref());
    line(text, "session", session);
}

fn line(text: &mut String, name: &str, value: Option<&str>) {
    if let Some(value) = value {
        writeln!(text, "{name}: {value}").unwrap();
    }
}
