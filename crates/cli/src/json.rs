//! JSON for programs: one object per line, each with its version and type (K-3).

use std::io;

use serde::Serialize;

use crate::terminal::Stream;

/// The version of every object. New versions only add fields.
const VERSION: u8 = 1;

#[derive(Serialize)]
pub(crate) struct Typed<T> {
    v: u8,
    r#type: &'static str,
    #[serde(flatten)]
    body: T,
}

impl<T: Serialize> Typed<T> {
    pub(crate) fn new(kind: &'static str, body: T) -> Self {
        Self { v: VERSION, r#type: kind, body }
    }

    /// Writes the object on its own line and flushes it, because a reader may be waiting.
    pub(crate) fn write(&self, out: &mut Stream) -> io::Result<()> {
        // `#` occurs only in strings, where this escape is valid. GitHub's runner would treat `##[` as a command.
        let object = serde_json::to_string(self)?.replace("##[", "#\\u0023[");
        out.data(&object)?;
        out.flush()
    }
}

/// Writes one object on its own line.
pub(crate) fn line(out: &mut Stream, kind: &'static str, body: impl Serialize) -> io::Result<()> {
    Typed::new(kind, body).write(out)
}
