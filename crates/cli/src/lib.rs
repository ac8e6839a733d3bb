//! The `saihai` command line program.
//!
//! It is the layer between a person and the driver: it parses arguments, prints text and JSON, and returns exit
//! codes. It makes no decisions about runs; those belong to the engine.
//!
//! Each command is one file under `commands`. It reads its arguments, calls `config` and the driver, and prints the
//! result. `report` derives all output about a run from its records. So a live, resumed or finished run reads the
//! same.
//!
//! stdout is for data and stderr for everything else; `terminal::Streams` owns both. External text, such as a reply
//! or a file name, passes through `terminal::visible` before a person sees it. So none of its control characters
//! reach a terminal.
//!
//! Deliberately absent: a runtime for commands that need none (`--version` starts nothing), global state, and
//! `println!`, which panics on a closed pipe.

mod arguments;
mod checkout;
mod commands;
mod completion;
mod definitions;
mod driving;
mod error;
mod graph;
mod issue_actions;
mod issue_tracker;
mod known_projects;
mod mcp;
mod page;
mod project;
mod quantities;
mod reason_words;
mod report;
mod run_origin;
mod run_result;
mod server_runs;
mod terminal;
mod top;
mod watching;

use std::any::Any;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use saihai_connect::{launcher, relay};
use saihai_model::ExitStatus;

use crate::error::CommandError;
use crate::terminal::Streams;

pub use server_runs::{
    OnBusy, PulledState, ServerFailure, ServerPlace, ServerRequest, ServerRuns, ServerTicket, Submission,
    SubmitOutcome, WorkerSpec,
};

/// Runs the command of this process's arguments, with runs on a server.
pub fn main_with_server(server: &'static dyn ServerRuns) -> ExitCode {
    server_runs::install(server);
    main()
}

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let [_, first, rest @ ..] = arguments.as_slice()
        && first == launcher::ARGUMENT
    {
        return ExitCode::from(launcher::launch(rest));
    }
    if let [_, first, rest @ ..] = arguments.as_slice()
        && first == relay::ARGUMENT
    {
        return ExitCode::from(relay::relay(rest));
    }
    if let Some(completed) = completion::answer_shell(&arguments) {
        return completed.map_or_else(|error| error.exit(), |()| ExitCode::SUCCESS);
    }
    ExitCode::from(guarded(Streams::of_process, || execute(&arguments)).code())
}

/// Runs `command` and turns a panic into exit code 70 with a bug-report message on its own streams.
fn guarded(streams: fn() -> Streams, command: impl FnOnce() -> ExitStatus) -> ExitStatus {
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|location| format!("{}:{}", location.file(), location.line()));
        confess(&mut streams(), &place.unwrap_or_default(), message(panic.payload()));
    }));
    panic::catch_unwind(AssertUnwindSafe(command)).unwrap_or(ExitStatus::Bug)
}

fn execute(arguments: &[OsString]) -> ExitStatus {
    let mut streams = Streams::of_process();
    streams.set_color(arguments::EarlyFlags::of(arguments).color);
    let done = arguments::parse(arguments, &mut streams).and_then(|arguments| {
        arguments.global.apply(&mut streams)?;
        arguments.command.execute(&mut streams)
    });
    match (done, streams.out.flush().map_err(CommandError::from)) {
        (Err(error), _) => error.say(&mut streams),
        // The reader of stdout is gone, but the work is done.
        (Ok(code), Ok(()) | Err(CommandError::ClosedPipe)) => code,
        (Ok(_), Err(error)) => error.say(&mut streams),
    }
}

/// Prints a bug report. The journal is in the same state as after a crash, so the run can be resumed.
fn confess(streams: &mut Streams, place: &str, message: &str) {
    let version = env!("CARGO_PKG_VERSION");
    streams.error(
        &format!("this is a bug in Saihai {version}, at {place}: {message}"),
        &[
            "please report it, with the line above and the command you typed".to_owned(),
            "`saihai resume` continues an active run".to_owned(),
        ],
    );
}

fn message(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::captured;

    // K-2
    #[test]
    fn a_bug_of_ours_has_an_exit_code_of_its_own_and_says_so() {
        let nowhere = || captured::streams().0;
        assert_eq!(guarded(nowhere, || ExitStatus::Interrupted), ExitStatus::Interrupted);
        assert_eq!(guarded(nowhere, || panic!("boom")).code(), 70);
        // Remove the hook: other tests panic intentionally.
        drop(panic::take_hook());
        let (mut streams, out, err) = captured::streams();
        confess(&mut streams, "src/x.rs:7", message(&"an index is \x1b[31mwrong"));
        assert_eq!(out.text(), "");
        insta::assert_snapshot!(err.text(), @r"
        error: this is a bug in Saihai 0.1.0, at src/x.rs:7: an index is \x1b[31mwrong
          = help: please report it, with the line above and the command you typed
          = help: `saihai resume` continues an active run
        ");
    }
}
