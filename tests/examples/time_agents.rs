//! Measures the time from the start of a Claude Code turn to its first model request: `cargo xtask time-agents`.
//!
//! It compares one process per turn with one process for all turns. The model answers immediately, so the times
//! are the program's own. ARCHITECTURE.md has the results.

use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use saihai_tests::{Answer, RealAgent, Surroundings};
use serde_json::{Value, json};

const TURNS: usize = 9;
const PROMPT: &str = "Say that you are done.";
const SESSION: &str = "0b8f7c52-2f0e-4b5e-8a49-64a4c0f3a6d5";
const ALWAYS: [&str; 8] = [
    "-p",
    "--output-format",
    "stream-json",
    "--verbose",
    "--permission-mode",
    "default",
    "--tools",
    "Read,Grep,Glob",
];

/// Durations of the parts of each turn.
#[derive(Default)]
struct Times {
    to_request: Vec<Duration>,
    to_result: Vec<Duration>,
    to_exit: Vec<Duration>,
}

fn main() -> Result<()> {
    println!("claude, {TURNS} turns of one session, in milliseconds: median (least – most)");
    let own = each_in_its_own()?;
    println!("  a process for every turn");
    own.show();
    let kept = all_in_one()?;
    println!("  one process for all turns");
    kept.show();
    Ok(())
}

/// Measures turns with one process each. Every turn except the first resumes the session.
fn each_in_its_own() -> Result<Times> {
    let here = surroundings();
    let mut times = Times::default();
    for turn in 0..TURNS {
        let session = if turn == 0 { ["--session-id", SESSION] } else { ["--resume", SESSION] };
        let begun = Instant::now();
        let (mut child, mut input, mut output) = start(&here, &session)?;
        input.write_all(PROMPT.as_bytes())?;
        drop(input);
        wait_for_request(&here, turn + 1);
        let requested = Instant::now();
        hear_the_end(&mut output)?;
        let ended = Instant::now();
        ensure!(child.wait()?.success(), "it failed");
        times.add(requested - begun, ended - requested, Some(ended.elapsed()));
    }
    Ok(times)
}

/// Measures turns in one process. The first turn does not count, because it includes the start of the process.
fn all_in_one() -> Result<Times> {
    let here = surroundings();
    let mut times = Times::default();
    let (mut child, mut input, mut output) =
        start(&here, &["--input-format", "stream-json", "--session-id", SESSION])?;
    for turn in 0..=TURNS {
        let content = json!([{"type": "text", "text": PROMPT}]);
        let begun = Instant::now();
        writeln!(input, "{}", json!({"type": "user", "message": {"role": "user", "content": content}}))?;
        wait_for_request(&here, turn + 1);
        let requested = Instant::now();
        hear_the_end(&mut output)?;
        if turn > 0 {
            times.add(requested - begun, requested.elapsed(), None);
        }
    }
    drop(input);
    ensure!(child.wait()?.success(), "it failed");
    Ok(times)
}

fn surroundings() -> Surroundings {
    Surroundings::new(RealAgent::named("claude"), |_, _| [Answer::text("done")])
}

fn start(here: &Surroundings, more: &[&str]) -> Result<(Child, ChildStdin, BufReader<ChildStdout>)> {
    let mut command = Command::new(RealAgent::programs().join("claude"));
    command.args(ALWAYS).args(more).current_dir(here.project.root()).env_clear().envs(here.variables());
    command
        .env("DISABLE_AUTOUPDATER", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let input = child.stdin.take().context("a pipe")?;
    let output = BufReader::new(child.stdout.take().context("a pipe")?);
    Ok((child, input, output))
}

fn wait_for_request(here: &Surroundings, number: usize) {
    while here.server.asked().len() < number {
        thread::sleep(Duration::from_millis(1));
    }
}

fn hear_the_end(output: &mut impl BufRead) -> Result<()> {
    let mut line = String::new();
    while output.read_line(&mut line)? > 0 {
        let event: Value = serde_json::from_str(&line).unwrap_or_default();
        if event["type"] == "result" {
            ensure!(event["is_error"] == false, "{line}");
            return Ok(());
        }
        line.clear();
    }
    anyhow::bail!("it ended without a result")
}

impl Times {
    fn add(&mut self, to_request: Duration, to_result: Duration, to_exit: Option<Duration>) {
        self.to_request.push(to_request);
        self.to_result.push(to_result);
        self.to_exit.extend(to_exit);
    }

    fn show(&self) {
        let parts = [
            ("to its request", &self.to_request),
            ("from there to the end of the turn", &self.to_result),
            ("from there to its exit", &self.to_exit),
        ];
        for (what, times) in parts {
            let mut times: Vec<u128> = times.iter().map(Duration::as_millis).collect();
            times.sort_unstable();
            if let (Some(least), Some(most)) = (times.first(), times.last()) {
                println!("    {:5} ({least} – {most})  {what}", times[times.len() / 2]);
            }
        }
    }
}
