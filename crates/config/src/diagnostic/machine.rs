//! Renders diagnostics for programs: JSON, annotations of a GitHub workflow, and SARIF 2.1.0.

use std::fmt::Write as _;

use indexmap::IndexSet;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

use super::{Diagnostic, DiagnosticCode, Diagnostics, Location, Severity};

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let at = self.location.as_ref();
        let position = |offset| at.map(|at| at.file.position(offset));
        let span = at.and_then(|at| at.span);
        let (start, end) =
            (span.and_then(|span| position(span.start)), span.and_then(|span| position(span.end)));
        let line = DiagnosticLine {
            v: 1,
            r#type: "diagnostic",
            code: self.code.to_string(),
            severity: self.severity.name(),
            file: at.map(|at| at.file.name()),
            line: start.map(|start| start.line),
            column: start.map(|start| start.column),
            end_line: end.map(|end| end.line),
            end_column: end.map(|end| end.column),
            path: at.filter(|at| !at.path.is_root()).map(|at| at.path.to_string()),
            message: &self.message,
            label: self.label.as_deref(),
            hint: self.hint.as_deref(),
        };
        line.serialize(serializer)
    }
}

/// Published format. New versions only add fields. Lines and columns count from 1; columns count characters.
#[derive(Serialize)]
struct DiagnosticLine<'a> {
    v: u32,
    r#type: &'static str,
    code: String,
    severity: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Returns the message with the hint below it.
fn message_with_hint(diagnostic: &Diagnostic) -> String {
    match &diagnostic.hint {
        Some(hint) => format!("{}\nhelp: {hint}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

/// Writes one command of a GitHub workflow per line.
pub fn to_github(diagnostics: &Diagnostics) -> String {
    diagnostics.iter().map(|diagnostic| format!("{}\n", github_command(diagnostic))).collect()
}

fn github_command(diagnostic: &Diagnostic) -> String {
    let word = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| data(text).replace(':', "%3A").replace(',', "%2C");
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
    format!("::{word} {}::{}", properties.join(","), data(&message_with_hint(diagnostic)))
}

/// Base of relative paths in a SARIF log. Code scanning expects this name.
const PROJECT: &str = "%SRCROOT%";
/// Base of paths that start with `~/`.
const HOME: &str = "HOME";

/// Writes one log with one run and a final line break. A clean check is a run without results, so that the
/// scanner closes earlier alerts.
pub fn to_sarif(diagnostics: &Diagnostics) -> String {
    let codes: IndexSet<DiagnosticCode> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    let rule = |code: &DiagnosticCode| {
        let about = format!("{}: {}", code.area.name(), code.slug.replace('-', " "));
        json!({"id": code.to_string(), "shortDescription": {"text": about}})
    };
    let run = json!({
        "tool": {"driver": {
            "name": "saihai",
            "version": env!("CARGO_PKG_VERSION"),
            "rules": codes.iter().map(rule).collect::<Vec<Json>>(),
        }},
        // The bases are described but not resolved, because a different machine may read the log.
        "originalUriBaseIds": {
            PROJECT: {"description": {"text": "the directory in which the check was called"}},
            HOME: {"description": {"text": "the home directory of the user who called it"}},
        },
        "columnKind": "unicodeCodePoints",
        "results": diagnostics.iter().map(|one| sarif_result(one, &codes)).collect::<Vec<Json>>(),
    });
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    });
    format!("{log:#}\n")
}

fn sarif_result(diagnostic: &Diagnostic, codes: &IndexSet<DiagnosticCode>) -> Json {
    let locations: Vec<Json> =
        diagnostic.location.iter().map(|at| sarif_location(at, diagnostic.label.as_deref())).collect();
    let further: Vec<Json> =
        diagnostic.further.iter().map(|(at, label)| sarif_location(at, Some(label))).collect();
    let mut result = json!({
        "ruleId": diagnostic.code.to_string(),
        "ruleIndex": codes.get_index_of(&diagnostic.code),
        "level": diagnostic.severity.name(),
        "message": {"text": message_with_hint(diagnostic)},
        "locations": locations,
    });
    if !further.is_empty() {
        result["relatedLocations"] = further.into();
    }
    result
}

fn sarif_location(at: &Location, label: Option<&str>) -> Json {
    let mut location = json!({"physicalLocation": {"artifactLocation": sarif_artifact(at.file.name())}});
    if let Some(span) = at.span {
        let (start, end) = (at.file.position(span.start), at.file.position(span.end));
        location["physicalLocation"]["region"] = json!({
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
        });
    }
    if !at.path.is_root() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": at.path.to_string()}]);
    }
    if let Some(label) = label {
        location["message"] = json!({"text": label});
    }
    location
}

/// Returns the location of a display name. A relative path stays relative and names its base.
fn sarif_artifact(name: &str) -> Json {
    match (name.strip_prefix("~/"), name.starts_with('/')) {
        (Some(inside), _) => json!({"uri": percent_encoded(inside), "uriBaseId": HOME}),
        (None, true) => json!({"uri": format!("file://{}", percent_encoded(name))}),
        (None, false) => json!({"uri": percent_encoded(name), "uriBaseId": PROJECT}),
    }
}

fn percent_encoded(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => write!(uri, "%{byte:02X}").expect("a String takes every write"),
        }
    }
    uri
}
