//! Diagnostics of definitions and settings, printed on stderr.

use saihai_config::{Colour, Diagnostic, Diagnostics, Severity, to_human};

use crate::error::{Error, exit};
use crate::terminal::{Stream, Streams};

/// Formats diagnostics for a stream, with colour if the stream supports it.
pub(crate) fn human(found: &Diagnostics, stream: &Stream) -> String {
    to_human(found, if stream.is_styled() { Colour::Always } else { Colour::Never })
}

/// Prints the diagnostics and ends the command if they include errors. Notes appear only in `check`: repeating them
/// at every run would be noise.
pub(crate) fn insist(found: &Diagnostics, strict: bool, streams: &mut Streams) -> Result<(), Error> {
    let matters = |diagnostic: &&Diagnostic| diagnostic.severity < Severity::Note;
    let said: Diagnostics = found.iter().filter(matters).cloned().collect();
    if !said.is_empty() {
        let text = human(&said, &streams.err);
        streams.err.send(&text);
    }
    if !found.forbids(strict) {
        return Ok(());
    }
    if !found.has_errors() {
        streams.error(
            "warnings count as errors here",
            &["`--strict` or the setting `strict` says so".to_owned()],
        );
    }
    Err(Error::Said(exit::USAGE))
}
