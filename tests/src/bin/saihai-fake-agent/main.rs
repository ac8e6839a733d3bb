//! An agent program that has no model: it answers from a script, and takes the arguments of the program by whose name
//! it is called, no others (C-84).
//!
//! What it says lies below `$HOME/.fake-agent`: `script.json` holds the answers in the order of the calls; `calls/`
//! receives what each call was given; `sessions/` holds what a session has cost so far. Nothing else steers it, so that
//! Saihai starts it exactly as it starts the real one.

mod answer;
mod arguments;
mod claude;
mod codex;
mod command;
mod home;

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use home::Home;

/// What a program printed, and with which code it ends.
#[derive(Debug, Default)]
struct Printed {
    lines: Vec<serde_json::Value>,
    complaints: String,
    code: u8,
}

impl Printed {
    /// Nothing but a complaint.
    fn complaint(words: impl Into<String>) -> Self {
        Self { lines: Vec::new(), complaints: words.into(), code: 1 }
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args();
    let called = words.next().unwrap_or_default();
    let name = Path::new(&called).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let words: Vec<String> = words.collect();
    let mut input = String::new();
    // What is not UTF-8 is no prompt of ours.
    let _ = std::io::stdin().read_to_string(&mut input);
    let home = Home::of_environment();
    let printed = match name.as_str() {
        "claude" => claude::answer(&home, &words, &input),
        "codex" => codex::answer(&home, &words, &input),
        _ => command::answer(&home, &words, &input),
    };
    let mut output = std::io::stdout().lock();
    for line in &printed.lines {
        let _ = writeln!(output, "{line}");
    }
    eprint!("{}", printed.complaints);
    ExitCode::from(printed.code)
}
