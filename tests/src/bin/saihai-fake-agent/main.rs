//! An agent program that has no model: it answers from a script, takes the arguments of the program by whose name it is
//! called, no others, and does wrong what the script says (C-84).
//!
//! What it says lies below `$HOME/.fake-agent`: `script.json` holds the answers in the order of the calls; `calls/`
//! receives what each call was given; `sessions/` holds what a session has cost so far. Nothing else steers it, so that
//! Saihai starts it exactly as it starts the real one.

mod acp;
mod answer;
mod arguments;
mod claude;
mod codex;
mod command;
mod copilot;
mod fault;
mod gemini;
mod home;
mod lingering;
mod opencode;
mod voice;

use std::path::Path;
use std::process::ExitCode;

use fault::Fault;
use home::Home;

/// What a program printed, and with which code it ends.
#[derive(Debug, Default)]
struct Printed {
    lines: Vec<serde_json::Value>,
    complaints: String,
    code: u8,
}

impl Printed {
    fn complaint(words: impl Into<String>) -> Self {
        Self { lines: Vec::new(), complaints: words.into(), code: 1 }
    }
}

fn main() -> anyhow::Result<ExitCode> {
    let mut words = std::env::args();
    let called = words.next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words: Vec<String> = words.collect();
    if let Some(how) = lingering::asked(&words) {
        return lingering::stay(how);
    }
    let home = Home::of_environment();
    if name == "opencode" && opencode::is_question(&words) {
        println!("{}", opencode::agents());
        return Ok(ExitCode::SUCCESS);
    }
    let fault = home.next_fault();
    match fault {
        Some(Fault::IgnoresTerm) => lingering::turn_deaf()?,
        Some(Fault::NeverReads) => lingering::for_ever(),
        _ => {}
    }
    if acp::is_meant(&name, &words) {
        let (printed, fault) = acp::answer(&home, &words)?;
        return voice::say(&printed, fault);
    }
    let input = voice::hear(fault)?;
    let answer = match name.as_str() {
        "claude" => claude::answer,
        "codex" => codex::answer,
        "opencode" => opencode::answer,
        "gemini" => gemini::answer,
        "copilot" => copilot::answer,
        _ => command::answer,
    };
    voice::say(&answer(&home, &words, &input), fault)
}
