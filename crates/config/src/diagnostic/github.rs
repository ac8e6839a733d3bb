//! Renders diagnostics as annotations of a GitHub workflow.

use super::{Diagnostic, Diagnostics, Location, Severity};

/// Writes one workflow command per line.
pub fn to_github(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(|diagnostic| format!("{}\n", command(diagnostic))).collect()
}

fn command(diagnostic: &Diagnostic) -> String {
    let word = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(Location { file, span, .. }) = &diagnostic.location {
        properties.push(format!("file={}", property(file.name())));
        if let Some(span) = span {
            let (start, end) = (file.position(span.start), file.position(span.end));
            properties.push(format!("line={},endLine={}", start.line, end.line));
            // GitHub rejects columns in an annotation that spans several lines.
            if start.line == end.line {
                properties.push(format!("col={},endColumn={}", start.column, end.column));
            }
        }
    }
    properties.push(format!("title={}", property(&diagnostic.code.to_string())));
    let mut text = diagnostic.message.clone();
    if let Some(hint) = &diagnostic.hint {
        text.push_str("\nhelp: ");
        text.push_str(hint);
    }
    format!("::{word} {}::{}", properties.join(","), data(&text))
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
