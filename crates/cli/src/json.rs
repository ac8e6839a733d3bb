//! JSON for programs: one object a line, each with its version and type (K-3).

use std::io;

use serde::Serialize;

use crate::terminal::Stream;

/// The version of every object. Fields are only ever added.
const VERSION: u8 = 1;

/// An object with its version and type.
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

    /// Writes it on a line of its own, at once: a reader may be waiting for it.
    pub(crate) fn write(&self, out: &mut Stream) -> io::Result<()> {
        // A `#` stands only in texts, where it may be written so. GitHub's runner would look for a command behind `##[`.
        let object = serde_json::to_string(self)?.replace("##[", "#\\u0023[");
        out.data(&object)?;
        out.flush()
    }
}

/// Writes one object on a line of its own.
pub(crate) fn line(out: &mut Stream, kind: &'static str, body: impl Serialize) -> io::Result<()> {
    Typed::new(kind, body).write(out)
}
