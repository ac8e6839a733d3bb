//! One object of a list in a reply.

use saihai_model::Json;
use serde_json::Map;

use super::super::{Finding, Severity};
use super::Payload;

/// One object of a list in a reply, and its position.
#[derive(Debug)]
pub(super) struct Item<'a> {
    at: String,
    object: &'a Map<String, Json>,
}

/// Place of a finding, as far as it is understandable.
#[derive(Debug, Default)]
pub(super) struct Place {
    file: Option<String>,
    lines: Option<(u32, Option<u32>)>,
    /// Original text, if not all of it was understandable.
    claimed: Option<String>,
}

impl Place {
    pub(super) fn put(self, finding: Finding) -> Finding {
        let (start_line, end_line) = match self.lines {
            Some((start, end)) => (Some(start), Some(end.unwrap_or(start))),
            None => (None, None),
        };
        Finding { file: self.file, start_line, end_line, claimed: self.claimed, ..finding }
    }
}

impl<'a> Item<'a> {
    pub(super) fn new(at: String, object: &'a Map<String, Json>) -> Self {
        Self { at, object }
    }

    pub(super) fn at(&self) -> &str {
        &self.at
    }

    pub(super) fn object(&self) -> &'a Map<String, Json> {
        self.object
    }

    fn get(&self, name: &str) -> Option<&'a Json> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn wrong(&self, name: &str, what: &str, payload: &mut Payload) {
        let slash = if self.at.is_empty() { "" } else { "/" };
        payload.problems.push(format!("{}{slash}{name}: {what}", self.at));
    }

    pub(super) fn text(&self, name: &str, payload: &mut Payload) -> Option<String> {
        match self.get(name) {
            Some(Json::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Some(Json::String(_)) => {
                self.wrong(name, "is empty", payload);
                None
            }
            Some(_) => {
                self.wrong(name, "is no text", payload);
                None
            }
            None => {
                self.wrong(name, "is missing", payload);
                None
            }
        }
    }

    /// Reads an optional text. An empty one counts as absent.
    pub(super) fn optional_text(&self, name: &str, payload: &mut Payload) -> Option<String> {
        let value = self.get(name)?;
        if !value.is_string() {
            self.wrong(name, "is no text", payload);
        }
        value.as_str().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn severity(&self, name: &str, payload: &mut Payload) -> Option<Severity> {
        let Some(value) = self.get(name) else {
            self.wrong(name, "is missing", payload);
            return None;
        };
        let severity = value.as_str().and_then(Severity::named);
        if severity.is_none() {
            self.wrong(name, &no_severity(value), payload);
        }
        severity
    }

    /// Reads a number from 0 to 10.
    pub(super) fn score(&self, name: &str, payload: &mut Payload) -> Option<f64> {
        let Some(value) = self.get(name) else {
            self.wrong(name, "is missing", payload);
            return None;
        };
        let score = value.as_f64().filter(|score| (0.0..=10.0).contains(score));
        if score.is_none() {
            self.wrong(name, &format!("{} is no number from 0 to 10", shown(value)), payload);
        }
        score
    }

    pub(super) fn confidence(&self, payload: &mut Payload) -> Option<u8> {
        let value = self.get("confidence")?;
        let confidence = integer(value).filter(|percent| *percent <= 100);
        if confidence.is_none() {
            self.wrong("confidence", &format!("{} is no whole number from 0 to 100", shown(value)), payload);
        }
        confidence.and_then(|percent| u8::try_from(percent).ok())
    }

    /// Reads `location: {file_path, line_number, end_line?}`. An invalid place does not invalidate the finding.
    pub(super) fn place(&self, payload: &mut Payload) -> Place {
        let Some(value) = self.get("location") else { return Place::default() };
        let Some(object) = value.as_object() else {
            self.wrong("location", "is no object", payload);
            return Place { claimed: Some(shown(value)), ..Place::default() };
        };
        let location = Item::new(format!("{}/location", self.at), object);
        location.note_extra(&["file_path", "line_number", "end_line"], payload);
        if location.get("line_number").is_none() {
            location.wrong("line_number", "is missing", payload);
        }
        location.flat_place(payload)
    }

    /// Reads `file_path` and `line_number?` from the item itself.
    pub(super) fn flat_place(&self, payload: &mut Payload) -> Place {
        let Some(file) = self.text("file_path", payload) else { return Place::default() };
        let Some(start) = self.line("line_number", 1, payload) else {
            let claimed = self.get("line_number").map(|line| format!("{file}:{}", shown(line)));
            return Place { file: Some(file), lines: None, claimed };
        };
        let end = self.line("end_line", start, payload);
        let unread = self.get("end_line").filter(|_| end.is_none());
        let claimed = unread.map(|end| format!("{file}:{start}-{}", shown(end)));
        Place { file: Some(file), lines: Some((start, end)), claimed }
    }

    fn line(&self, name: &str, least: u32, payload: &mut Payload) -> Option<u32> {
        let value = self.get(name)?;
        let line = integer(value).filter(|line| *line >= least);
        if line.is_none() {
            self.wrong(name, &format!("{} is no line number from {least} on", shown(value)), payload);
        }
        line
    }

    /// Adds a note for unknown properties.
    pub(super) fn note_extra(&self, known: &[&str], payload: &mut Payload) {
        for name in self.object.keys().filter(|name| !known.contains(&name.as_str())) {
            let list = self.at.split('/').next().unwrap_or_default();
            payload.note(format!("`{name}` in `{list}` was not asked for and is ignored"));
        }
    }
}

pub(super) fn no_severity(value: &Json) -> String {
    let names = Severity::ALL.map(|severity| format!("`{}`", severity.name()));
    format!("{} is none of {}", shown(value), names.join(", "))
}

/// Parses an integer, also in the form `5.0`: JSON Schema makes no difference between `5` and `5.0`.
fn integer(value: &Json) -> Option<u32> {
    let written = value.as_u64().and_then(|number| u32::try_from(number).ok());
    let with_point = || value.as_f64().filter(|number| number.fract() == 0.0)?.to_string().parse().ok();
    written.or_else(with_point)
}

/// Formats a value in a few words.
fn shown(value: &Json) -> String {
    cut(value, 60)
}

/// Formats a value, cut after this many characters.
pub(super) fn cut(value: &Json, most: usize) -> String {
    let text = value.to_string();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
