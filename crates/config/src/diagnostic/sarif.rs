//! Renders diagnostics as a SARIF 2.1.0 log for code scanning.

use std::fmt::Write as _;

use indexmap::IndexSet;
use serde::Serialize;

use super::{Code, Diagnostic, Diagnostics, Location, Severity};

/// Writes one log with one run and a final line break. A clean check is a run without results, so
/// that the scanner closes earlier alerts.
pub fn to_sarif(diagnostics: &Diagnostics) -> String {
    let codes: IndexSet<Code> = diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    let results = diagnostics.iter().map(|diagnostic| Outcome::new(diagnostic, &codes)).collect();
    let driver = Driver {
        name: "saihai",
        version: env!("CARGO_PKG_VERSION"),
        rules: codes.iter().map(|code| Rule::new(*code)).collect(),
    };
    let run = Run {
        tool: Tool { driver },
        original_uri_base_ids: Bases::default(),
        column_kind: "unicodeCodePoints",
        results,
    };
    let log =
        Log { schema: "https://json.schemastore.org/sarif-2.1.0.json", version: "2.1.0", runs: vec![run] };
    let text = serde_json::to_string_pretty(&log).expect("texts and numbers only");
    text + "\n"
}

#[derive(Serialize)]
struct Log {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: Vec<Run>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    original_uri_base_ids: Bases,
    column_kind: &'static str,
    results: Vec<Outcome>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: String,
    short_description: Message,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    rule_id: String,
    rule_index: Option<usize>,
    level: &'static str,
    message: Message,
    locations: Vec<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Place>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Place {
    physical_location: Physical,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    logical_locations: Vec<Logical>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Message>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Physical {
    artifact_location: Artifact,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    uri: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uri_base_id: Option<&'static str>,
}

/// Base of relative paths: the working directory of the command. Code scanning expects this name.
const PROJECT: &str = "%SRCROOT%";
/// Base of paths that start with `~/`.
const HOME: &str = "HOME";

/// The bases, described but not resolved, because a different machine may read the log.
#[derive(Serialize)]
struct Bases {
    #[serde(rename = "%SRCROOT%")]
    project: Base,
    #[serde(rename = "HOME")]
    home: Base,
}

#[derive(Serialize)]
struct Base {
    description: Message,
}

impl Default for Bases {
    fn default() -> Self {
        let base = |text: &str| Base { description: Message { text: text.to_owned() } };
        Self {
            project: base("the directory in which the check was called"),
            home: base("the home directory of whoever called it"),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: usize,
    start_column: usize,
    end_line: usize,
    end_column: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Logical {
    fully_qualified_name: String,
}

impl Rule {
    fn new(code: Code) -> Self {
        let text = format!("{}: {}", code.area.name(), code.slug.replace('-', " "));
        Self { id: code.to_string(), short_description: Message { text } }
    }
}

impl Outcome {
    fn new(diagnostic: &Diagnostic, codes: &IndexSet<Code>) -> Self {
        let level = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        let mut text = diagnostic.message.clone();
        if let Some(hint) = &diagnostic.hint {
            text.push_str("\nhelp: ");
            text.push_str(hint);
        }
        let label = diagnostic.label.clone();
        let locations = diagnostic.location.iter().map(|at| Place::new(at, label.clone())).collect();
        let further = diagnostic.further.iter().map(|(at, label)| Place::new(at, Some(label.clone())));
        Self {
            rule_id: diagnostic.code.to_string(),
            rule_index: codes.get_index_of(&diagnostic.code),
            level,
            message: Message { text },
            locations,
            related_locations: further.collect(),
        }
    }
}

impl Place {
    fn new(location: &Location, label: Option<String>) -> Self {
        let region = location.span.map(|span| {
            let (start, end) = (location.file.position(span.start), location.file.position(span.end));
            Region {
                start_line: start.line,
                start_column: start.column,
                end_line: end.line,
                end_column: end.column,
            }
        });
        let path = Some(&location.path).filter(|path| !path.is_root());
        Self {
            physical_location: Physical { artifact_location: Artifact::new(location.file.name()), region },
            logical_locations: path
                .map(|path| Logical { fully_qualified_name: path.to_string() })
                .into_iter()
                .collect(),
            message: label.map(|text| Message { text }),
        }
    }
}

impl Artifact {
    /// Creates a location from a display name. A relative path stays relative and names its base.
    fn new(name: &str) -> Self {
        match (name.strip_prefix("~/"), name.starts_with('/')) {
            (Some(inside), _) => Self { uri: uri(inside), uri_base_id: Some(HOME) },
            (None, true) => Self { uri: format!("file://{}", uri(name)), uri_base_id: None },
            (None, false) => Self { uri: uri(name), uri_base_id: Some(PROJECT) },
        }
    }
}

fn uri(path: &str) -> String {
    let mut uri = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte))
            }
            _ => write!(uri, "%{byte:02X}").expect("a String takes every write"),
        }
    }
    uri
}
