//! From arguments to an exit code.

use std::ffi::OsString;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use crate::error::{Error, exit};
use crate::terminal::Streams;
use crate::usage;

/// Runs the command of this process's arguments.
pub fn main() -> ExitCode {
    panic::set_hook(Box::new(confess));
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let code = panic::catch_unwind(AssertUnwindSafe(|| execute(&arguments))).unwrap_or(exit::BUG);
    ExitCode::from(code)
}

fn execute(arguments: &[OsString]) -> u8 {
    let mut streams = Streams::of_process();
    let done =
        usage::parse(arguments, &mut streams).and_then(|arguments| arguments.command.execute(&mut streams));
    match (done, streams.out.flush().map_err(Error::from)) {
        (Err(error), _) => error.say(&mut streams),
        // Nobody reads it any more; what was done is done all the same.
        (Ok(code), Ok(()) | Err(Error::ClosedPipe)) => code,
        (Ok(_), Err(error)) => error.say(&mut streams),
    }
}

/// Says plainly that the mistake is ours. The journal is as it would be after a crash, so a run can be resumed.
fn confess(panic: &panic::PanicHookInfo<'_>) {
    let place = panic.location().map(|location| format!(" at {}:{}", location.file(), location.line()));
    let payload = panic.payload();
    let message = payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = message.unwrap_or("no message");
    let mut streams = Streams::of_process();
    streams.error(
        &format!(
            "this is a bug in Saihai {}{}: {message}",
            env!("CARGO_PKG_VERSION"),
            place.unwrap_or_default()
        ),
        &[
            "please report it, with the line above and what you typed".to_owned(),
            "a run that was going on can be continued with `saihai resume last`".to_owned(),
        ],
    );
}
