//! Renders a report as JSON.

use std::fmt::Write as _;

use saihai_judge::review::Report;
use serde::Serialize;

use crate::visible::is_hidden;

pub const REPORT_SCHEMA: &str = include_str!("report.schema.json");

/// Renders one object, ended by a line break.
pub fn to_json(report: &Report) -> String {
    written(&Typed { v: 1, r#type: "review-report", report })
}

/// An object with version and type, as in all our output (K-3).
#[derive(Serialize)]
struct Typed<'a> {
    v: u8,
    r#type: &'static str,
    #[serde(flatten)]
    report: &'a Report,
}

/// Serializes a value without sequences that a terminal or a CI service obeys. They occur only inside
/// strings, where JSON allows another spelling.
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
