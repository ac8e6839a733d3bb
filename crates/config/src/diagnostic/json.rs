//! Renders diagnostics as JSON lines.

use serde::{Serialize, Serializer};

use super::{Diagnostic, Diagnostics, Location};

/// Writes one object per line, each followed by a line break.
pub fn to_json(diagnostics: &Diagnostics) -> String {
    let lines = diagnostics.iter().filter_map(|diagnostic| serde_json::to_string(diagnostic).ok());
    lines.map(|line| line + "\n").collect()
}

impl Serialize for Diagnostic {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = self.location.as_ref().map(Place::new).unwrap_or_default();
        let code = self.code.to_string();
        let (label, hint) = (self.label.as_deref(), self.hint.as_deref());
        let object = Object {
            v: 1,
            r#type: "diagnostic",
            code: &code,
            severity: self.severity.name(),
            place,
            message: &self.message,
            label,
            hint,
        };
        object.serialize(serializer)
    }
}

/// Published format. New versions only add fields.
#[derive(Serialize)]
struct Object<'a> {
    v: u32,
    r#type: &'static str,
    code: &'a str,
    severity: &'static str,
    #[serde(flatten)]
    place: Place,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<&'a str>,
}

/// Lines and columns count from 1; columns count characters.
#[derive(Serialize, Default)]
struct Place {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
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
}

impl Place {
    fn new(location: &Location) -> Self {
        let position = |offset| location.file.position(offset);
        let start = location.span.map(|span| position(span.start));
        let end = location.span.map(|span| position(span.end));
        Self {
            file: Some(location.file.name().to_owned()),
            line: start.map(|start| start.line),
            column: start.map(|start| start.column),
            end_line: end.map(|end| end.line),
            end_column: end.map(|end| end.column),
            path: (!location.path.is_root()).then(|| location.path.to_string()),
        }
    }
}
