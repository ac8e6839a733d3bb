//! What is wrong with a definition or with settings, said on stderr.

use saihai_config::{Colour, Diagnostics, to_human};

use crate::error::{Error, exit};
use crate::terminal::{Stream, Streams};

/// Diagnostics as a stream shows them.
pub(crate) fn human(found: &Diagnostics, stream: &Stream) -> String {
    to_human(found, if stream.is_styled() { Colour::Always } else { Colour::Never })
}

/// Says what was found, and ends the command where that forbids to go on.
pub(crate) fn insist(found: &Diagnostics, strict: bool, streams: &mut Streams) -> Result<(), Error> {
    if !found.is_empty() {
        let text = human(found, &streams.err);
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
