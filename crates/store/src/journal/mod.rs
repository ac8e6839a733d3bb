//! The journal: one line a record, appended in batches, verified when read.
//!
//! ```json
//! {"v":1,"seq":7,"batch":3,"left":1,"at":"2026-02-06T08:56:00.123Z","fact":{…},"sum":"9a3f01c2"}
//! ```
//!
//! `seq` counts lines from 1, `batch` counts appends, `left` the lines still to come in the same append, and `sum` is
//! the CRC-32 of the line up to `,"sum"`. One append is one write and one sync; nothing is done on the strength of a
//! record before that sync has succeeded. So a last batch that is incomplete or damaged was never acknowledged and is
//! dropped whole, while damage anywhere before it is refused.

mod line;
mod reader;
mod time;
mod writer;

pub use line::Kind;
pub use reader::{End, Raw, Reader, Torn};
pub use writer::{Failed, Journal, copy};

/// A moment as it stands in a journal.
pub fn rfc3339(at: saihai_model::Moment) -> String {
    let mut text = Vec::with_capacity(time::LENGTH);
    time::write(&mut text, at);
    String::from_utf8(text).expect("a moment is digits and signs")
}

/// The JSON Schema of one line, for whoever reads journals with other tools.
pub const JOURNAL_SCHEMA: &str = include_str!("schema.json");

#[cfg(test)]
mod tests;
