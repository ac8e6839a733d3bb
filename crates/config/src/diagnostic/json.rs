//! Diagnostics as JSON, one object a line.

use serde_json::{Map, Value, json};

use super::{Diagnostic, Diagnostics, DocumentPath, Location};

/// One object a line, each ended by a line break.
pub fn to_json(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(|diagnostic| format!("{}\n", object(diagnostic))).collect()
}

fn object(diagnostic: &Diagnostic) -> Value {
    let mut object = Map::new();
    let mut set = |key: &str, value: Value| object.insert(key.to_owned(), value);
    set("v", json!(1));
    set("type", json!("diagnostic"));
    set("code", json!(diagnostic.code.to_string()));
    set("severity", json!(diagnostic.severity.name()));
    if let Some(Location { file, span, path }) = &diagnostic.location {
        set("file", json!(file.name()));
        if let Some(span) = span {
            let (start, end) = (file.position(span.start), file.position(span.end));
            set("line", json!(start.line));
            set("column", json!(start.column));
            set("end_line", json!(end.line));
            set("end_column", json!(end.column));
        }
        if *path != DocumentPath::root() {
            set("path", json!(path.to_string()));
        }
    }
    set("message", json!(diagnostic.message));
    if let Some(label) = &diagnostic.label {
        set("label", json!(label));
    }
    if let Some(hint) = &diagnostic.hint {
        set("hint", json!(hint));
    }
    Value::Object(object)
}
