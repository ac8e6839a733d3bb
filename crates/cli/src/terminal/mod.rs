//! The output streams, and the text that may be written to them.

mod ruler;
pub(crate) mod streams;
pub(crate) mod style;
mod table;

pub(crate) use ruler::{cut, pad, width};
pub(crate) use saihai::{defused, visible_line, visible_text};
pub(crate) use streams::{Stream, Streams};
pub(crate) use table::Table;
