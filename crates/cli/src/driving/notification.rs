//! Notices for a person who looks elsewhere: bell, desktop notification, and the `notify` program (U-12).

use std::io::Write as _;
use std::process::{Command, Stdio};

use saihai::LoadedRun;
use saihai_model::CallId;
use serde::Serialize;

use crate::driving::conclusion::state_words;
use crate::terminal::{Streams, TypedObject, visible_line};

/// An event for the program of the setting `notify`.
#[derive(Serialize)]
struct NotificationObject<'a> {
    run: &'a str,
    definition: &'a str,
    /// `gate` or `end`.
    event: &'static str,
    /// `completed`, `failed`, `parked` and so on.
    state: &'a str,
    message: &'a str,
    directory: &'a str,
}

/// Announces that a gate waits for a person.
pub(super) fn notify_gate(
    run: &str,
    call: &CallId,
    start: Option<&saihai_model::Start>,
    streams: &mut Streams,
) {
    let message = format!("waiting for you at {}", visible_line(call.stage.as_str()));
    ring(&message, streams);
    let (definition, directory) =
        start.map_or(("", ""), |start| (start.definition.as_str(), start.directory.as_str()));
    let state = "parked";
    tell_program(
        &NotificationObject { run, definition, event: "gate", state, message: &message, directory },
        streams,
    );
}

/// Announces that a run has ended or stopped.
pub(super) fn notify_end(run: &LoadedRun, json: bool, streams: &mut Streams) {
    let start = &run.view.start;
    let message = format!("{}: {}", visible_line(&start.definition), state_words(&run.state));
    if !json {
        ring(&message, streams);
    }
    let object = NotificationObject {
        run: run.directory.id(),
        definition: &start.definition,
        event: "end",
        state: run.state.name(),
        message: &message,
        directory: &start.directory,
    };
    tell_program(&object, streams);
}

/// Rings the bell and asks the terminal for a desktop notification. Terminals that know neither sequence ignore them.
fn ring(message: &str, streams: &mut Streams) {
    if streams.err.can_redraw() {
        let message: String = message.chars().filter(|c| !c.is_control() && *c != ';').collect();
        streams
            .err
            .send(&format!("\x07\x1b]9;Saihai: {message}\x1b\\\x1b]777;notify;Saihai;{message}\x1b\\"));
    }
}

/// Starts the program of the setting `notify` with the event on its stdin. A failure is a warning: the run matters
/// more. The program is not waited for.
fn tell_program(object: &NotificationObject<'_>, streams: &mut Streams) {
    let Some((program, arguments)) = streams.notify.split_first() else { return };
    let started = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let written = started.and_then(|mut child| {
        let text = serde_json::to_string(&TypedObject::new("notification", object))?;
        let stdin = child.stdin.take();
        stdin.map_or(Ok(()), |mut stdin| stdin.write_all(format!("{text}\n").as_bytes()))
    });
    if let Err(error) = written {
        let program = program.clone();
        streams.warning(&format!("the setting `notify` cannot start `{program}`: {error}"));
    }
}
