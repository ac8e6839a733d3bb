//! The path from arguments to an exit code.

use std::any::Any;
use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use saihai_connect::launcher;

use crate::error::{Error, exit};
use crate::terminal::Streams;
use crate::usage;

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if let [_, first, rest @ ..] = arguments.as_slice()
        && first == launcher::ARGUMENT
    {
        return ExitCode::from(launcher::launch(rest));
    }
    ExitCode::from(guarded(Streams::of_process, || execute(&arguments)))
}

/// Runs `command` and turns a panic into exit code 70 with a bug-report message on its own streams.
fn guarded(streams: fn() -> Streams, command: impl FnOnce() -> u8) -> u8 {
    panic::set_hook(Box::new(move |panic| {
        let place = panic.location().map(|location| format!("{}:{}", location.file(), location.line()));
        confess(&mut streams(), &place.unwrap_or_default(), message(panic.payload()));
    }));
    panic::catch_unwind(AssertUnwindSafe(command)).unwrap_or(exit::BUG)
}

fn execute(arguments: &[OsString]) -> u8 {
    let mut streams = Streams::of_process();
    let done =
        usage::parse(arguments, &mut streams).and_then(|arguments| arguments.command.execute(&mut streams));
    match (done, streams.out.flush().map_err(Error::from)) {
        (Err(error), _) => error.say(&mut streams),
        // The reader of stdout is gone, but the work is done.
        (Ok(code), Ok(()) | Err(Error::ClosedPipe)) => code,
        (Ok(_), Err(error)) => error.say(&mut streams),
    }
}

/// Prints a bug report. The journal is in the same state as after a crash, so the run can be resumed.
fn confess(streams: &mut Streams, place: &str, message: &str) {
    let version = env!("CARGO_PKG_VERSION");
    streams.error(
        &format!("this is a bug in Saihai {version}, at {place}: {message}"),
        &[
            "please report it, with the line above and what you typed".to_owned(),
            "a run that was going on can be continued with `saihai resume last`".to_owned(),
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
    use crate::terminal::streams::captured;

    // K-2
    #[test]
    fn a_bug_of_ours_has_an_exit_code_of_its_own_and_says_so() {
        let nowhere = || captured::streams().0;
        assert_eq!(guarded(nowhere, || 3), 3);
        assert_eq!(guarded(nowhere, || panic!("boom")), 70);
        // Remove the hook: other tests panic intentionally.
        drop(panic::take_hook());
        let (mut streams, out, err) = captured::streams();
        confess(&mut streams, "src/x.rs:7", message(&"an index is \x1b[31mwrong"));
        assert_eq!(out.text(), "");
        insta::assert_snapshot!(err.text(), @r"
        error: this is a bug in Saihai 0.1.0, at src/x.rs:7: an index is \x1b[31mwrong
          = help: please report it, with the line above and what you typed
          = help: a run that was going on can be continued with `saihai resume last`
        ");
    }
}
