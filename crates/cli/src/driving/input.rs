//! Input of a person: lines typed at a gate, and signals to stop.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{io, thread};

use rustix::termios::{QueueSelector, tcflush};
use saihai::GateAnswer;
use saihai_model::{CallId, ExitStatus, Label, Wants};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use crate::terminal::{visible_line, visible_text};

pub(super) struct TerminalGate {
    pub(super) call: CallId,
    pub(super) title: String,
    pub(super) question: String,
    pub(super) wants: Wants,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct TypedAnswer {
    pub(super) label: Label,
    pub(super) text: Option<String>,
}

impl TerminalGate {
    /// Formats the question, which ends with the input prompt.
    pub(super) fn ask(&self) -> String {
        let mut text = format!("? {}\n", visible_line(&self.title));
        for line in visible_text(self.question.trim()).lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str(self.ask_again());
        text
    }

    /// Returns the input prompt for a repeated question.
    pub(super) fn ask_again(&self) -> &'static str {
        match self.wants {
            Wants::YesNo => "  yes or no, with an optional text (Ctrl-D keeps it open): ",
            Wants::Text { .. } => "  your answer in one line (Ctrl-D keeps it open): ",
        }
    }

    /// Parses the typed line, or explains why it is not an answer.
    pub(super) fn understand(&self, line: &str) -> Result<TypedAnswer, String> {
        let (label, text) = match parse_answer(self.wants, line)? {
            GateAnswer::Yes(text) => ("yes", text),
            GateAnswer::No(text) => ("no", text),
            GateAnswer::Text(text) => ("answered", Some(text)),
        };
        Ok(TypedAnswer { label: label.into(), text })
    }
}

/// Parses a line that a person typed at a gate, or explains why it is not an answer.
pub(crate) fn parse_answer(wants: Wants, line: &str) -> Result<GateAnswer, String> {
    let line = line.trim();
    match wants {
        Wants::Text { max_chars } => {
            let length = line.chars().count();
            match u32::try_from(length) {
                Ok(0) => Err("an answer needs at least one character".to_owned()),
                Ok(count) if count <= max_chars => Ok(GateAnswer::Text(line.to_owned())),
                Ok(_) | Err(_) => {
                    Err(format!("an answer has at most {max_chars} characters; this one has {length}"))
                }
            }
        }
        Wants::YesNo => {
            let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            let text = Some(rest.trim().to_owned()).filter(|text| !text.is_empty());
            match word.to_lowercase().as_str() {
                "y" | "yes" => Ok(GateAnswer::Yes(text)),
                "n" | "no" => Ok(GateAnswer::No(text)),
                _ => Err("the answer is `yes` or `no`".to_owned()),
            }
        }
    }
}

/// A line, or the end of the input.
pub(crate) enum TypedLine {
    Line(String),
    End,
}

/// Reads stdin on its own thread, because a blocking read cannot be cancelled. It ends with its receiver.
pub(crate) struct Keyboard {
    lines: mpsc::UnboundedReceiver<TypedLine>,
}

impl Keyboard {
    /// Opens a keyboard for the next question. Discards earlier input from a terminal: the person had not seen the
    /// question. Input from a pipe is kept, because it was written for the question.
    pub(crate) fn before_asking(keyboard: &mut Option<Self>) {
        if io::stdin().is_terminal() {
            // If this fails, the person still sees which input was used as the answer.
            tcflush(io::stdin(), QueueSelector::IFlush).unwrap_or(());
            let is_over = keyboard.as_mut().is_some_and(Self::forget);
            keyboard.take_if(|_| is_over);
        }
        if keyboard.is_none() {
            *keyboard = Self::open().ok();
        }
    }

    /// Discards the lines read so far. Returns true at the end of the input.
    fn forget(&mut self) -> bool {
        loop {
            match self.lines.try_recv() {
                Ok(TypedLine::Line(_)) => {}
                Ok(TypedLine::End) | Err(TryRecvError::Disconnected) => return true,
                Err(TryRecvError::Empty) => return false,
            }
        }
    }

    fn open() -> io::Result<Self> {
        let (tell, lines) = mpsc::unbounded_channel();
        thread::Builder::new().name("keyboard".to_owned()).spawn(move || {
            loop {
                let mut line = String::new();
                let typed = match io::stdin().read_line(&mut line) {
                    Ok(1..) => TypedLine::Line(line),
                    // Input that is not UTF-8 cannot be an answer either.
                    Ok(0) | Err(_) => TypedLine::End,
                };
                let over = matches!(typed, TypedLine::End);
                if tell.send(typed).is_err() || over {
                    return;
                }
            }
        })?;
        Ok(Self { lines })
    }

    pub(crate) async fn next(&mut self) -> TypedLine {
        self.lines.recv().await.unwrap_or(TypedLine::End)
    }
}

/// A guard for the time before work starts. While it exists, a signal ends the process at once. Reading many issues
/// takes a while, and no other code handles signals then.
pub(crate) struct StartupSignals(Arc<AtomicBool>);

impl StartupSignals {
    pub(crate) fn listen() -> io::Result<Self> {
        let begun = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&begun);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mut signals = {
            let _entered = runtime.enter();
            Signals::listen()?
        };
        std::thread::Builder::new().name("unbegun".to_owned()).spawn(move || {
            runtime.block_on(signals.next());
            if !seen.load(Ordering::Relaxed) {
                io::stderr().write_all(b"stopped before anything started\n").unwrap_or(());
                std::process::exit(i32::from(ExitStatus::Interrupted.code()));
            }
        })?;
        Ok(Self(begun))
    }
}

impl Drop for StartupSignals {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The signals that stop a run.
pub(crate) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(crate) fn listen() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Returns the next signal by its name in the journal.
    pub(crate) async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.interrupt.recv() => "ctrl-c",
            _ = self.terminate.recv() => "sigterm",
            _ = self.hang_up.recv() => "sighup",
        }
    }
}

#[cfg(test)]
mod gate_tests {
    use super::*;

    fn gate(wants: Wants) -> TerminalGate {
        let call = CallId { stage: "repair/input[1]".into(), visit: 1, round: 1, n: 1 };
        TerminalGate {
            call,
            title: "repair".into(),
            question: "仕様の確認が必要\n\x1b[31mwhich?".into(),
            wants,
        }
    }

    #[track_caller]
    fn check(wants: Wants, typed: &str, expected: Result<(&str, Option<&str>), &str>) {
        let understood = gate(wants).understand(typed);
        let understood = understood.as_ref().map(|answer| (answer.label.as_str(), answer.text.as_deref()));
        assert_eq!(understood.map_err(String::as_str), expected);
    }

    // P-46
    #[test]
    fn a_text_is_taken_within_its_length_and_refused_beyond() {
        let wants = Wants::Text { max_chars: 5 };
        check(wants, "はい、左\n", Ok(("answered", Some("はい、左"))));
        check(wants, "  \n", Err("an answer needs at least one character"));
        check(wants, "長すぎる答え", Err("an answer has at most 5 characters; this one has 6"));
    }

    #[test]
    fn yes_and_no_can_be_short_and_carry_a_text() {
        check(Wants::YesNo, "y", Ok(("yes", None)));
        check(Wants::YesNo, "NO  not on friday\n", Ok(("no", Some("not on friday"))));
        check(Wants::YesNo, "maybe", Err("the answer is `yes` or `no`"));
        check(Wants::YesNo, "", Err("the answer is `yes` or `no`"));
    }

    // T-85
    #[test]
    fn the_question_of_an_agent_cannot_steer_the_terminal() {
        insta::assert_snapshot!(gate(Wants::YesNo).ask(), @r"
        ? repair
          仕様の確認が必要
          \x1b[31mwhich?
          yes or no, with an optional text (Ctrl-D keeps it open):
        ");
    }
}
