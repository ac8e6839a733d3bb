//! Runs the vendors' agent programs against a scripted API and records their output and exit codes (C-84).
//!
//! Usage: `cargo xtask record-agents [AGENT [CASE]]`. The providers' own tests then add the parsed result to
//! each transcript: `SAIHAI_TRANSCRIPTS=update cargo test -p saihai-connect transcript`. Review the difference
//! before you commit it.
//!
//! The transcripts test the providers' parsers, so they hold the programs' real output. Only ids, times and
//! paths are normalized.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result};
use regex::{Captures, Regex};
use saihai_tests::{Answer, RealAgent, Surroundings};

/// The id of a session that does not exist.
const UNKNOWN_SESSION: &str = "5f0c7a3e-6d0b-4b58-9d7e-3f6f6a3f9b11";
/// The id of a new session.
const FRESH_SESSION: &str = "0b8f7c52-2f0e-4b5e-8a49-64a4c0f3a6d5";
const PROMPT: &str = "Say that you are done.";

/// The recorded cases of each program.
const CASES: &[&str] = &[
    "plain",
    "edit",
    "denied",
    "full",
    "resume",
    "429-then-success",
    "429",
    "401",
    "500",
    "cut",
    "missing-session",
    "oversized",
    "untrusted",
];

/// The permission level of an agent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Readonly,
    Edit,
    Full,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let transcripts =
        PathBuf::from(arguments.next().context("the directory for the transcripts is missing")?);
    let (agent, case) = (arguments.next(), arguments.next());
    for one in RealAgent::all().iter().filter(|one| agent.as_deref().is_none_or(|name| name == one.name)) {
        let wanted = |name: &&&str| case.as_deref().is_none_or(|case| case == **name);
        for name in CASES.iter().filter(wanted).filter(|name| **name != "untrusted" || one.name == "gemini") {
            record(one, name, &transcripts).with_context(|| format!("{} {name}", one.name))?;
        }
    }
    Ok(())
}

enum Session {
    New,
    Resume(String),
}

fn record(agent: &'static RealAgent, case: &str, transcripts: &Path) -> Result<()> {
    let here = Surroundings::new(agent, |project, _| script(agent, case, project));
    let started = Instant::now();
    let session = match case {
        "resume" => Session::Resume(begin(agent, &here)?),
        "missing-session" => Session::Resume(unknown_session(agent)),
        _ => Session::New,
    };
    let level = match case {
        "edit" => Level::Edit,
        "full" => Level::Full,
        _ => Level::Readonly,
    };
    let prompt = if case == "oversized" { oversized(agent) } else { PROMPT.to_owned() };
    let output = run(agent, &here, &arguments(agent, &here, (case, level), &session), prompt)?;
    let normal = Normal::new(&here)?;
    let directory = transcripts.join(agent.name);
    fs::create_dir_all(&directory)?;
    let exit = output.status.code().map_or_else(|| "signal".to_owned(), |code| code.to_string());
    fs::write(directory.join(format!("{case}.txt")), normal.transcript(&exit, &output))?;
    let requests = here.server.requests();
    if let Some(place) = std::env::var_os("SAIHAI_RECORD_REQUESTS") {
        let seen: Vec<String> =
            requests.iter().map(|one| format!("{} {}\n{:#}", one.method, one.path, one.body)).collect();
        fs::write(Path::new(&place).join(format!("{}-{case}", agent.name)), seen.join("\n\n"))?;
    }
    let written = fs::read_to_string(here.project.root().join("greeting.txt")).unwrap_or_default();
    println!(
        "{:9} {case:17} exit {exit:6} {} asks, {} requests, {:5.1} s, greeting.txt {written:?}",
        agent.name,
        here.server.asked().len(),
        requests.len(),
        started.elapsed().as_secs_f64()
    );
    Ok(())
}

fn script(agent: &RealAgent, case: &str, project: &Path) -> Vec<Answer> {
    let done = Answer::text("I am done.");
    let write = || (agent.write)(&project.join("greeting.txt"), "hello");
    match case {
        "edit" | "denied" | "full" => vec![write(), done],
        "429-then-success" => vec![Answer::slow_down(1), Answer::slow_down(1), done],
        "429" => vec![Answer::slow_down(1)],
        "401" => vec![Answer::status(401)],
        "500" => vec![Answer::status(500)],
        "cut" => vec![Answer::Cut("I am nearly done.".to_owned())],
        _ => vec![done],
    }
}

/// Runs a first turn and returns the session id from its output.
fn begin(agent: &RealAgent, here: &Surroundings) -> Result<String> {
    let first = run(
        agent,
        here,
        &arguments(agent, here, ("plain", Level::Readonly), &Session::New),
        PROMPT.to_owned(),
    )?;
    let id = Regex::new(r#""(?:session_id|thread_id|sessionID|sessionId)":"([^"]+)""#)?;
    let said = String::from_utf8_lossy(&first.stdout);
    let found = id.captures(&said).with_context(|| format!("no session in {said}"))?;
    Ok(found[1].to_owned())
}

fn run(agent: &RealAgent, here: &Surroundings, arguments: &[String], prompt: String) -> Result<Output> {
    let mut child = Command::new(RealAgent::programs().join(agent.name))
        .args(arguments)
        .current_dir(here.project.root())
        .env_clear()
        .envs(here.variables())
        .env("NO_COLOR", "1")
        .env("TERM", "dumb")
        .envs(own_variables(agent).iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("it is a pipe")?;
    // A program that stops reading the prompt says so in its output, so a write error is no failure here.
    let writer = thread::spawn(move || drop(stdin.write_all(prompt.as_bytes())));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    Ok(output)
}

/// Returns the variables that the provider sets for this program.
fn own_variables(agent: &RealAgent) -> &'static [(&'static str, &'static str)] {
    match agent.name {
        "claude" => &[("CLAUDE_CODE_MAX_RETRIES", "2"), ("DISABLE_AUTOUPDATER", "1")],
        "opencode" => &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_CONFIG_CONTENT", OPENCODE_AGENTS)],
        "copilot" => &[("COPILOT_AUTO_UPDATE", "false")],
        _ => &[],
    }
}

const OPENCODE_AGENTS: &str = r#"{"agent":{"saihai-readonly":{"mode":"primary","description":"Saihai","permission":{"*":"deny","**":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow"}},"saihai-edit":{"mode":"primary","description":"Saihai","permission":{"*":"deny","**":"deny","read":"allow","grep":"allow","glob":"allow","list":"allow","edit":"allow","todowrite":"allow"}}}}"#;

fn arguments(
    agent: &RealAgent,
    here: &Surroundings,
    (case, level): (&str, Level),
    session: &Session,
) -> Vec<String> {
    let project = here.project.root().display().to_string();
    let line = match agent.name {
        "claude" => claude(level, session),
        "codex" => codex(&project, level, session),
        "opencode" => opencode(level, session),
        "gemini" => gemini(case, level, session),
        _ => copilot(level, session),
    };
    let mut arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    if let Some(model) = agent.model {
        arguments.extend(["--model".to_owned(), model.to_owned()]);
    }
    arguments
}

fn claude(level: Level, session: &Session) -> String {
    let permission = match level {
        Level::Readonly => "--permission-mode default --tools Read,Grep,Glob",
        Level::Edit => "--permission-mode acceptEdits",
        Level::Full => "--permission-mode bypassPermissions",
    };
    let session = match session {
        Session::New => format!("--session-id {FRESH_SESSION}"),
        Session::Resume(id) => format!("--resume {id}"),
    };
    format!("-p --output-format stream-json --verbose {permission} {session}")
}

fn codex(project: &str, level: Level, session: &Session) -> String {
    let permission = match level {
        Level::Readonly => "read-only",
        Level::Edit => "workspace-write",
        Level::Full => "danger-full-access",
    };
    let (resume, id) = match session {
        Session::New => ("", ""),
        Session::Resume(id) => ("resume", id.as_str()),
    };
    format!(
        "exec -s {permission} -C {project} {resume} --json --skip-git-repo-check --disable plugins {id} -"
    )
}

fn opencode(level: Level, session: &Session) -> String {
    let permission = match level {
        Level::Readonly => "--agent saihai-readonly",
        Level::Edit => "--agent saihai-edit",
        Level::Full => "--auto",
    };
    let session = match session {
        Session::New => String::new(),
        Session::Resume(id) => format!("-s {id}"),
    };
    format!("run --format json --title turn {permission} {session}")
}

fn gemini(case: &str, level: Level, session: &Session) -> String {
    let permission = match level {
        Level::Readonly => "plan",
        Level::Edit => "auto_edit",
        Level::Full => "yolo",
    };
    let session = match session {
        Session::New => format!("--session-id {FRESH_SESSION}"),
        Session::Resume(id) => format!("--resume {id}"),
    };
    let trust = if case == "untrusted" { "" } else { "--skip-trust" };
    format!("-o stream-json --approval-mode {permission} {session} {trust}")
}

fn copilot(level: Level, session: &Session) -> String {
    let permission = match level {
        Level::Readonly => "--available-tools=view,grep,glob --deny-tool=write --deny-tool=shell",
        Level::Edit => "--allow-tool=write",
        Level::Full => "--allow-all-tools",
    };
    let session = match session {
        Session::New => format!("--session-id {FRESH_SESSION}"),
        Session::Resume(id) => format!("--resume={id}"),
    };
    format!("--output-format json --no-color --no-ask-user --disable-builtin-mcps {permission} {session}")
}

fn unknown_session(agent: &RealAgent) -> String {
    let id = if agent.name == "opencode" { "ses_0000000000000000000000000" } else { UNKNOWN_SESSION };
    id.to_owned()
}

/// Returns a prompt longer than the limit of the program or of its model.
fn oversized(agent: &RealAgent) -> String {
    let bytes = match agent.name {
        "claude" => 11_000_000,
        "codex" => 1_048_577,
        "gemini" => 5_000_000,
        "copilot" => 3_000_000,
        _ => 8_000_000,
    };
    let mut prompt = "0123456789abcde\n".repeat(bytes / 16);
    prompt.push_str(&"x".repeat(bytes % 16));
    prompt
}

/// Normalizes recordings, so that two recordings of the same conversation are equal.
struct Normal {
    plain: Vec<(String, &'static str)>,
    patterns: Vec<(Regex, &'static str)>,
    ids: Regex,
}

impl Normal {
    fn new(here: &Surroundings) -> Result<Self> {
        let slug = |path: PathBuf| path.display().to_string().replace(['/', '.'], "-");
        let programs = RealAgent::programs();
        let root = here.project.root().display().to_string();
        let plain = vec![
            (root.clone(), "/project"),
            (root.trim_start_matches('/').to_owned(), "project"),
            (here.project.home().display().to_string(), "/home/agent"),
            (slug(here.project.root()), "-project"),
            (slug(here.project.home()), "-home-agent"),
            (programs.parent().unwrap_or(&programs).display().to_string(), "/programs"),
        ];
        let patterns = [
            (r"127\.0\.0\.1:\d+", "127.0.0.1:8080"),
            (r"/cc-socks-\d+/\d+\.sock", "/cc-socks-1000/1.sock"),
            (r"<current_datetime>[^<]*", "<current_datetime>2026-01-01T00:00:00.000+00:00"),
            (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "2026-01-01T00:00:00.000Z"),
            (r"\b\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-\d{3}Z", "2026-01-01T00-00-00-000Z"),
            (r#""([a-zA-Z_]*([dD]uration[a-zA-Z_]*|_ms|Ms)|time|timestamp|start|end)":[0-9.]+"#, "\"$1\":1"),
            (r"_\d{13}_(\d+)\b", "_1_$1"),
            (r"total retry wait time: [0-9.]+", "total retry wait time: 5.00"),
            // Shortens the echo of a huge prompt, which would add megabytes to the repository.
            (r"(0123456789abcde(\\n|\n))+", "0123456789abcde$2"),
        ];
        let patterns = patterns.into_iter().map(|(pattern, with)| Ok((Regex::new(pattern)?, with)));
        let ids = r"\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(ses|msg|prt)_[0-9a-zA-Z]{16,})\b";
        Ok(Self { plain, patterns: patterns.collect::<Result<_>>()?, ids: Regex::new(ids)? })
    }

    /// Formats the recording for the providers' tests, which add the parsed result themselves.
    fn transcript(&self, exit: &str, output: &Output) -> String {
        let stdout = String::from_utf8_lossy(&output.stdout);
        let line_end = if stdout.is_empty() || stdout.ends_with('\n') { "" } else { "\n" };
        let stderr = String::from_utf8_lossy(&output.stderr);
        self.text(&format!("exit {exit}\n--- stdout\n{stdout}{line_end}--- stderr\n{stderr}"))
    }

    fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (from, to) in &self.plain {
            text = text.replace(from, to);
        }
        for (pattern, with) in &self.patterns {
            text = pattern.replace_all(&text, *with).into_owned();
        }
        self.number_ids(&text)
    }

    /// Replaces ids by numbers. Different ids get different numbers.
    fn number_ids(&self, text: &str) -> String {
        let mut known: Vec<String> = Vec::new();
        let numbered = self.ids.replace_all(text, |found: &Captures<'_>| {
            let number = known.iter().position(|id| *id == found[0]).unwrap_or_else(|| {
                known.push(found[0].to_owned());
                known.len() - 1
            });
            match found.get(2) {
                Some(kind) => format!("{}_{number}", kind.as_str()),
                None => format!("00000000-0000-4000-8000-{number:012}"),
            }
        });
        numbered.into_owned()
    }
}
