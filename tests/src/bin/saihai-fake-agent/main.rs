//! An agent program without a model (C-84). It answers from a script and accepts exactly the
//! arguments of the program whose name it bears. The script can also demand faults.
//!
//! Its state lies below `$HOME/.fake-agent`. `script.json` holds the answers in call order,
//! `claims/` counts the calls, `calls/` records their input, and `sessions/` holds the cost of each session. Nothing
//! else controls it, so Saihai starts it exactly like the real program.

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
mod verdicts;
mod voice;

use std::path::Path;
use std::process::ExitCode;

use fault::Fault;
use home::Home;

/// Output of the program and its exit code.
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
