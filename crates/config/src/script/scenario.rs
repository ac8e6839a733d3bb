//! TAKT mock scenarios: a list of entries, each used once. Entries for a persona take precedence
//! over general ones.

use saihai_model::{FailureClass, Millis, Script, ScriptFailure, ScriptReply};

use super::reply::{json, write};
use super::tables::ENTRY;
use crate::diagnostic::{Diagnostics, Severity, quoted};
use crate::document::Document;
use crate::fields::{Cursor, Fields};

pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Script {
    let entries = document.cursor();
    let replies = entries.items().filter_map(|one| entry(&one, diagnostics)).collect();
    Script { strict: false, lenient_roles: true, replies, ..Script::default() }
}

fn entry(cursor: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<ScriptReply> {
    let fields = fields(cursor, diagnostics)?;
    let index = cursor.path();
    let Some(content) = fields.text("content") else {
        if !fields.has("content") {
            let message = format!("the scenario entry `{index}` needs `content`");
            diagnostics.push(cursor.error("missing-key", message).label("`content` is missing here"));
        }
        return None;
    };
    let structured = fields.any("structured_output").and_then(|value| json(&value, diagnostics));
    let fail = failure(&fields, &content.value);
    let says = fail.is_none();
    Some(ScriptReply {
        origin: cursor.location().name(),
        role: fields.text("agent").map(|role| role.value),
        text: Some(content.value).filter(|_| says),
        structured: structured.filter(|_| says),
        delay: fields.number("delay_ms").map(|length| millis(length.value)),
        hang: fields.bool("wait_for_abort").is_some_and(|hang| hang.value),
        writes: fields.list("file_writes").iter().filter_map(|one| write(one, diagnostics)).collect(),
        progress: progress(&fields, diagnostics),
        fail,
        ..ScriptReply::default()
    })
}

/// Reads the fields of an entry. TAKT ignores unknown keys, so they only cause a warning.
fn fields<'d>(cursor: &Cursor<'d>, diagnostics: &mut Diagnostics) -> Option<Fields<'d>> {
    let mut found = Diagnostics::new();
    let fields = Fields::read(cursor, &ENTRY, &mut found);
    for mut diagnostic in found {
        if diagnostic.code.slug == "unknown-key" {
            diagnostic.severity = Severity::Warning;
        }
        diagnostics.push(diagnostic);
    }
    fields
}

fn failure(fields: &Fields<'_>, content: &str) -> Option<ScriptFailure> {
    let text = |name| fields.text(name).map(|text| text.value);
    let (status, error, category) = (text("status"), text("error"), text("failure_category"));
    let class = match (status.as_deref(), error.is_some()) {
        (Some("blocked"), false) => FailureClass::Refused,
        (Some("rate_limited"), _) => FailureClass::RateLimited,
        (Some("error"), _) | (_, true) => match category.as_deref() {
            Some("external_abort") => FailureClass::Cancelled,
            Some("part_timeout" | "stream_idle_timeout") => FailureClass::Transient,
            Some(_) | None => FailureClass::Crashed,
        },
        (_, false) => return None,
    };
    let message = error.unwrap_or_else(|| content.to_owned());
    Some(ScriptFailure { class, message, retry_after: None, until: None })
}

/// Returns the progress to show: the tools, then the pieces of text.
fn progress(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<String> {
    let mut progress = Vec::new();
    for event in fields.list("stream_events") {
        match event.node().get("tool").and_then(|tool| tool.as_text()) {
            Some(tool) => progress.push(format!("uses {}", quoted(tool))),
            None => {
                let message = "a stream event must be a mapping with a `tool`";
                diagnostics.push(event.error("bad-value", message).label("no tool is named"));
            }
        }
    }
    progress.extend(fields.texts("text_chunks").into_iter().flatten().map(|chunk| chunk.value));
    progress
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast saturates, and it is not negative"
)]
fn millis(length: f64) -> Millis {
    Millis(length.round() as u64)
}
