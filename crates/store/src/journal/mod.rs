//! The journal: one line per record, appended in batches, verified when read.
//!
//! ```json
//! {"v":1,"seq":7,"batch":3,"left":1,"at":"2026-02-06T08:56:00.123Z","fact":{…},"sum":"9a3f01c2"}
//! ```
//!
//! `seq` counts lines from 1, `batch` counts appends, and `left` counts the lines left in the same append. `sum` is the
//! CRC-32 of the line up to `,"sum"`. One append is one write and one sync. Saihai acts on a record only after that
//! sync has succeeded. An incomplete or damaged last batch was therefore never acknowledged, and the reader drops it
//! whole. The reader refuses damage anywhere before it.

mod line;
mod reader;
mod time;
mod writer;

pub use line::RecordKind;

pub use reader::{JournalEnd, JournalReader, RawRecord, TornBatch};
pub use writer::{Journal, JournalWriteError, copy};

/// Formats a moment as in a journal.
pub fn rfc3339(at: saihai_model::Moment) -> String {
    let mut text = Vec::with_capacity(time::LENGTH);
    time::write(&mut text, at);
    String::from_utf8(text).expect("a moment is digits and signs")
}

/// JSON Schema of one line, for other tools that read journals.
pub const JOURNAL_SCHEMA: &str = include_str!("schema.json");

#[cfg(test)]
mod tests;
