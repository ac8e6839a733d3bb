//! The task of a run, from its arguments or stdin (K-12).

use std::io::Read as _;

use crate::error::Error;

/// Replaces the task if no real work is done.
pub(crate) const PLACEHOLDER: &str = "(the task)";

/// Limit for an endless input; no real task is this long.
const MOST_BYTES: u64 = 16 << 20;

/// Reads the task from the arguments or from stdin. Returns nothing if there is none.
pub(crate) fn read(given: Option<String>) -> Result<Option<String>, Error> {
    let task = match given.as_deref() {
        Some("-") => Some(from_stdin("the task")?),
        Some(_) | None => given,
    };
    Ok(task.filter(|task| !task.trim().is_empty()))
}

/// Reads stdin as text, without the trailing newline that a shell adds.
pub(crate) fn from_stdin(what: &str) -> Result<String, Error> {
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MOST_BYTES + 1).read_to_string(&mut text);
    read.map_err(|error| Error::usage(format!("cannot read {what} from stdin: {error}")))?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Error::usage(format!("{what} on stdin is longer than {MOST_BYTES} bytes")));
    }
    if text.ends_with('\n') {
        text.pop();
    }
    Ok(text)
}
