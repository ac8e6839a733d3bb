//! A report as JSON.

use std::fmt::Write as _;

use saihai_judge::review::Report;
use serde::Serialize;

use crate::visible::is_hidden;

/// The JSON Schema of a report.
pub const REPORT_SCHEMA: &str = include_str!("report.schema.json");

/// One object, ended by a line break.
pub fn to_json(report: &Report) -> String {
    written(&Typed { v: 1, r#type: "review-report", report })
}

/// An object with its version and type, as all of ours (K-3).
#[derive(Serialize)]
struct Typed<'a> {
    v: u8,
    r#type: &'static str,
    #[serde(flatten)]
    report: &'a Report,
}

/// A value in the letters of JSON that no terminal and no CI service obeys. Both only occur inside of strings, where they
/// can be written otherwise.
pub(super) fn written(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("texts and numbers only");
    let mut safe = String::with_capacity(text.len() + 1);
    for letter in text.replace("##[", "#\\u0023[").chars() {
        match letter {
            '\n' => safe.push('\n'),
            hidden if is_hidden(hidden) => {
                write!(safe, "\\u{:04x}", u32::from(hidden)).expect("a String takes every write");
            }
            plain => safe.push(plain),
        }
    }
    safe.push('\n');
    safe
}
