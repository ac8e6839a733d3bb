//! Splits an agent's reply into findings and assessments.
//!
//! The six forms of a reply share only the property `issues`, and no property changes its meaning between forms. So the
//! reader accepts every property in any form, and a reply with more than its form loses nothing.

pub(crate) mod marks;

use saihai_model::{Json, Severity};
use serde::{Deserialize, Serialize};
use serde_json::Map;

/// The parts of an agent's reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReviewReply {
    /// Findings in the order of the reply.
    pub findings: Vec<Finding>,
    /// Assessments of the whole subject.
    pub assessments: Vec<Assessment>,
    /// Problems of the reply, for the agent to correct. The affected parts were left out, at least partly.
    pub problems: Vec<String>,
    /// Texts of items that were left out completely, each cut if long: a person may still understand them.
    pub refused: Vec<String>,
    /// Ignored parts that were not requested.
    pub notes: Vec<String>,
    /// Number of list items that were kept.
    items: usize,
}

/// Maximum length of a refused item's text, in characters.
const WORDS: usize = 500;

/// A score below this becomes a finding.
const LOW: f64 = 5.0;

/// Lists by severity, in reading order.
const BUCKETS: [(&str, Severity); 4] = [
    ("critical_issues", Severity::Critical),
    ("important_issues", Severity::Important),
    ("suggestion_issues", Severity::Suggestion),
    ("nitpick_issues", Severity::Nitpick),
];

/// All properties with a meaning.
const KNOWN: [&str; 11] = [
    "critical_issues",
    "important_issues",
    "suggestion_issues",
    "nitpick_issues",
    "coverage_gaps",
    "risk_level",
    "dimensions",
    "categories",
    "suggestions",
    "issues",
    "overall_score",
];

impl ReviewReply {
    /// Splits a reply. Uses only the required properties of the top-level `schema`. Checks everything else item by
    /// item, so that each valid item is kept.
    pub fn read(agent: &str, schema: &Json, value: &Json) -> Self {
        let outer = Self::of(agent, schema, value);
        if outer.problems.is_empty() {
            return outer;
        }
        let Some(inner) = only_member(value).map(|inner| Self::of(agent, schema, inner)) else {
            return outer;
        };
        // An agent may wrap its answer into one more object. If both readings have problems, use the one that keeps
        // something.
        if inner.problems.is_empty() || (outer.is_empty() && !inner.is_empty()) { inner } else { outer }
    }

    /// Returns true if a list item was kept. A score or a risk says nothing about other refused parts.
    pub fn has_items(&self) -> bool {
        self.items > 0
    }

    pub fn is_empty(&self) -> bool {
        self.findings.is_empty() && self.assessments.is_empty()
    }

    /// Adds the parts that only the previous reply had: of two partly invalid replies, neither replaces the other.
    #[must_use]
    pub fn and_before(mut self, before: Self) -> Self {
        let own = self.findings.clone();
        let lost = before.findings.into_iter().filter(|old| !own.iter().any(|new| same(old, new)));
        self.findings.extend(lost);
        let own: Vec<String> = self.assessments.iter().map(|one| one.name.clone()).collect();
        self.assessments.extend(before.assessments.into_iter().filter(|old| !own.contains(&old.name)));
        for (own, before) in [
            (&mut self.problems, before.problems),
            (&mut self.refused, before.refused),
            (&mut self.notes, before.notes),
        ] {
            let more: Vec<String> = before.into_iter().filter(|one| !own.contains(one)).collect();
            own.extend(more);
        }
        self.items += before.items;
        self
    }

    fn of(agent: &str, schema: &Json, value: &Json) -> Self {
        let mut payload = Self::default();
        let Some(object) = value.as_object() else {
            payload.problems.push("the reply is not an object".to_owned());
            payload.refuse(value);
            return payload;
        };
        payload.missing(schema, object);
        payload.buckets(agent, object);
        payload.gaps(agent, object);
        payload.risk(agent, object);
        payload.dimensions(agent, object);
        payload.categories(agent, object);
        payload.improvements(agent, object);
        payload.issues(agent, object);
        payload.overall(agent, object);
        for (name, value) in object.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())) {
            payload.note(format!("`{name}` was not asked for and is ignored"));
            // A reply of another form may hold its findings there.
            if !payload.problems.is_empty() && (value.is_array() || value.is_object()) {
                payload.refuse(&serde_json::json!({ name: value }));
            }
        }
        payload
    }

    fn missing(&mut self, schema: &Json, object: &Map<String, Json>) {
        let required = schema.get("required").and_then(Json::as_array).into_iter().flatten();
        for name in required.filter_map(Json::as_str) {
            // No schema has a nullable property at the top level.
            match object.get(name) {
                None => self.problems.push(format!("`{name}` is missing")),
                Some(Json::Null) => self.problems.push(format!("`{name}` is null")),
                Some(_) => {}
            }
        }
    }

    fn buckets(&mut self, agent: &str, object: &Map<String, Json>) {
        for (name, severity) in BUCKETS {
            for item in self.items(object, name) {
                // The list of an item decides its severity, regardless of the item's own.
                self.issue(agent, &item, Some(severity), None);
            }
        }
    }

    fn gaps(&mut self, agent: &str, object: &Map<String, Json>) {
        for item in self.items(object, "coverage_gaps") {
            let (severity, message) = (item.severity("priority", self), item.text("description", self));
            let place = item.flat_place(self);
            item.note_extra(&["file_path", "line_number", "description", "priority"], self);
            match (severity, message) {
                (Some(severity), Some(message)) => {
                    self.keep(place.put(finding(agent, FindingKind::CoverageGap, severity, message)));
                }
                (_, _) => self.refuse_item(&item),
            }
        }
    }

    fn risk(&mut self, agent: &str, object: &Map<String, Json>) {
        let Some(value) = object.get("risk_level").filter(|value| !value.is_null()) else { return };
        match value.as_str().and_then(Severity::named) {
            Some(level) => {
                let assessment = assessment(agent, "risk_level");
                self.assessments.push(Assessment { level: Some(level), ..assessment });
            }
            None => self.problems.push(format!("risk_level: {}", no_severity(value))),
        }
    }

    fn dimensions(&mut self, agent: &str, object: &Map<String, Json>) {
        for item in self.items(object, "dimensions") {
            let (name, score) = (item.text("name", self), item.score("score", self));
            let description = item.text("description", self);
            item.note_extra(&["name", "score", "description"], self);
            let (Some(name), Some(score)) = (name, score) else {
                self.refuse_item(&item);
                continue;
            };
            self.items += 1;
            if score < LOW {
                let message = match &description {
                    Some(description) => format!("{name}: {description}"),
                    None => name.clone(),
                };
                self.findings.push(finding(agent, FindingKind::Dimension, Severity::Suggestion, message));
            }
            let assessment = assessment(agent, &name);
            self.assessments.push(Assessment { score: Some(score), description, ..assessment });
        }
    }

    /// Reads a list of named lists, or a map of them.
    fn categories(&mut self, agent: &str, object: &Map<String, Json>) {
        if let Some(map) = object.get("categories").and_then(Json::as_object) {
            for name in map.keys() {
                for item in self.demanded(map, name, "categories") {
                    self.issue(agent, &item, None, Some(name));
                }
            }
            return;
        }
        for category in self.items(object, "categories") {
            let name = category.text("name", self);
            category.note_extra(&["name", "issues"], self);
            for item in self.demanded(category.object(), "issues", category.at()) {
                self.issue(agent, &item, None, name.as_deref());
            }
        }
    }

    fn improvements(&mut self, agent: &str, object: &Map<String, Json>) {
        for item in self.items(object, "suggestions") {
            let (title, description) = (item.text("title", self), item.text("description", self));
            let (severity, place) = (item.severity("priority", self), item.place(self));
            item.note_extra(&["title", "description", "priority", "location"], self);
            let message = match (title, description) {
                (Some(title), Some(description)) => Some(format!("{title}: {description}")),
                (title, description) => title.or(description),
            };
            match (severity, message) {
                (Some(severity), Some(message)) => {
                    self.keep(place.put(finding(agent, FindingKind::Improvement, severity, message)));
                }
                (_, _) => self.refuse_item(&item),
            }
        }
    }

    fn issues(&mut self, agent: &str, object: &Map<String, Json>) {
        let elsewhere = self.findings.clone();
        for item in self.items(object, "issues") {
            let before = self.findings.len();
            self.issue(agent, &item, None, None);
            let repeated =
                self.findings[before..].iter().any(|new| elsewhere.iter().any(|old| same(old, new)));
            if repeated {
                self.findings.truncate(before);
            }
        }
    }

    fn overall(&mut self, agent: &str, object: &Map<String, Json>) {
        let item = ReplyItem::new(String::new(), object);
        if object.get("overall_score").is_some_and(|score| !score.is_null())
            && let Some(score) = item.score("overall_score", self)
        {
            let assessment = assessment(agent, "overall_score");
            self.assessments.push(Assessment { score: Some(score), ..assessment });
        }
    }

    fn issue(&mut self, agent: &str, item: &ReplyItem<'_>, bucket: Option<Severity>, category: Option<&str>) {
        let severity = bucket.or_else(|| item.severity("severity", self));
        let message = item.text("description", self);
        let place = item.place(self);
        let own = item.optional_text("category", self);
        let category = match (category, own) {
            (Some(name), Some(own)) if name != own => Some(format!("{name}/{own}")),
            (Some(name), _) => Some(name.to_owned()),
            (None, own) => own,
        };
        let suggestion = item.optional_text("suggestion", self);
        let confidence = item.confidence(self);
        let known =
            ["severity", "description", "location", "suggestion", "category", "confidence", "agent_name"];
        item.note_extra(&known, self);
        match (severity, message) {
            (Some(severity), Some(message)) => {
                let issue = finding(agent, FindingKind::Issue, severity, message);
                self.keep(place.put(Finding { suggestion, category, confidence, ..issue }));
            }
            (_, _) => self.refuse_item(item),
        }
    }

    fn keep(&mut self, finding: Finding) {
        self.findings.push(finding);
        self.items += 1;
    }

    fn refuse_item(&mut self, item: &ReplyItem<'_>) {
        self.refuse(&Json::Object(item.object().clone()));
    }

    fn refuse(&mut self, value: &Json) {
        let words = cut(value, WORDS);
        if !self.refused.contains(&words) {
            self.refused.push(words);
        }
    }

    /// Returns the objects of an optional list. The schema decides if the list is required.
    fn items<'a>(&mut self, object: &'a Map<String, Json>, name: &str) -> Vec<ReplyItem<'a>> {
        match object.get(name) {
            None | Some(Json::Null) => Vec::new(),
            Some(value) => self.items_of(value, name),
        }
    }

    /// Returns the objects of a required list.
    fn demanded<'a>(
        &mut self,
        object: &'a Map<String, Json>,
        name: &str,
        within: &str,
    ) -> Vec<ReplyItem<'a>> {
        let at = format!("{within}/{name}");
        match object.get(name) {
            None => {
                self.problems.push(format!("{at}: is missing"));
                Vec::new()
            }
            Some(value) => self.items_of(value, &at),
        }
    }

    fn items_of<'a>(&mut self, value: &'a Json, at: &str) -> Vec<ReplyItem<'a>> {
        let Some(values) = value.as_array() else {
            self.problems.push(format!("{at}: is not a list"));
            if !value.is_null() {
                self.refuse(value);
            }
            return Vec::new();
        };
        let mut items = Vec::new();
        for (index, value) in values.iter().enumerate() {
            match value.as_object() {
                Some(object) => items.push(ReplyItem::new(format!("{at}/{index}"), object)),
                None => {
                    self.problems.push(format!("{at}/{index}: is not an object"));
                    self.refuse(value);
                }
            }
        }
        items
    }

    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Unwraps an object with one member. The value must be an object too, and the member's name must be unknown.
fn only_member(value: &Json) -> Option<&Json> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let (name, inner) = object.iter().next()?;
    Some(inner).filter(|inner| inner.is_object() && !KNOWN.contains(&name.as_str()))
}

/// Returns true if items from different lists are the same: they say the same of the same place.
fn same(one: &Finding, other: &Finding) -> bool {
    let own = |finding: &Finding| Finding { severity: Severity::Nitpick, category: None, ..finding.clone() };
    own(one) == own(other)
}

fn finding(agent: &str, kind: FindingKind, severity: Severity, message: String) -> Finding {
    Finding {
        file: None,
        start_line: None,
        end_line: None,
        agent: agent.to_owned(),
        severity,
        kind,
        message,
        suggestion: None,
        category: None,
        confidence: None,
        claimed: None,
    }
}

fn assessment(agent: &str, name: &str) -> Assessment {
    Assessment { agent: agent.to_owned(), name: name.to_owned(), score: None, level: None, description: None }
}

/// One object of a list in a reply, and its position.
#[derive(Debug)]
struct ReplyItem<'a> {
    at: String,
    object: &'a Map<String, Json>,
}

/// The understandable part of a finding's place.
#[derive(Debug, Default)]
struct ReplyLocation {
    file: Option<String>,
    lines: Option<(u32, Option<u32>)>,
    /// Original text, if not all of it was understandable.
    claimed: Option<String>,
}

impl ReplyLocation {
    pub(crate) fn put(self, finding: Finding) -> Finding {
        let (start_line, end_line) = match self.lines {
            Some((start, end)) => (Some(start), Some(end.unwrap_or(start))),
            None => (None, None),
        };
        Finding { file: self.file, start_line, end_line, claimed: self.claimed, ..finding }
    }
}

impl<'a> ReplyItem<'a> {
    pub(crate) fn new(at: String, object: &'a Map<String, Json>) -> Self {
        Self { at, object }
    }

    pub(crate) fn at(&self) -> &str {
        &self.at
    }

    pub(crate) fn object(&self) -> &'a Map<String, Json> {
        self.object
    }

    fn get(&self, name: &str) -> Option<&'a Json> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn wrong(&self, name: &str, what: &str, payload: &mut ReviewReply) {
        let slash = if self.at.is_empty() { "" } else { "/" };
        payload.problems.push(format!("{}{slash}{name}: {what}", self.at));
    }

    pub(crate) fn text(&self, name: &str, payload: &mut ReviewReply) -> Option<String> {
        match self.get(name) {
            Some(Json::String(text)) if !text.trim().is_empty() => Some(text.trim().to_owned()),
            Some(Json::String(_)) => {
                self.wrong(name, "is empty", payload);
                None
            }
            Some(_) => {
                self.wrong(name, "is not text", payload);
                None
            }
            None => {
                self.wrong(name, "is missing", payload);
                None
            }
        }
    }

    /// Reads an optional text. An empty one counts as absent.
    pub(crate) fn optional_text(&self, name: &str, payload: &mut ReviewReply) -> Option<String> {
        let value = self.get(name)?;
        if !value.is_string() {
            self.wrong(name, "is not text", payload);
        }
        value.as_str().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    pub(crate) fn severity(&self, name: &str, payload: &mut ReviewReply) -> Option<Severity> {
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
    pub(crate) fn score(&self, name: &str, payload: &mut ReviewReply) -> Option<f64> {
        let Some(value) = self.get(name) else {
            self.wrong(name, "is missing", payload);
            return None;
        };
        let score = value.as_f64().filter(|score| (0.0..=10.0).contains(score));
        if score.is_none() {
            self.wrong(name, &format!("{} is not a number from 0 to 10", shown(value)), payload);
        }
        score
    }

    pub(crate) fn confidence(&self, payload: &mut ReviewReply) -> Option<u8> {
        let value = self.get("confidence")?;
        let confidence = integer(value).filter(|percent| *percent <= 100);
        if confidence.is_none() {
            self.wrong(
                "confidence",
                &format!("{} is not a whole number from 0 to 100", shown(value)),
                payload,
            );
        }
        confidence.and_then(|percent| u8::try_from(percent).ok())
    }

    /// Reads `location: {file_path, line_number, end_line?}`. An invalid place does not invalidate the finding.
    pub(crate) fn place(&self, payload: &mut ReviewReply) -> ReplyLocation {
        let Some(value) = self.get("location") else { return ReplyLocation::default() };
        let Some(object) = value.as_object() else {
            self.wrong("location", "is not an object", payload);
            return ReplyLocation { claimed: Some(shown(value)), ..ReplyLocation::default() };
        };
        let location = ReplyItem::new(format!("{}/location", self.at), object);
        location.note_extra(&["file_path", "line_number", "end_line"], payload);
        if location.get("line_number").is_none() {
            location.wrong("line_number", "is missing", payload);
        }
        location.flat_place(payload)
    }

    /// Reads `file_path` and `line_number?` from the item itself.
    pub(crate) fn flat_place(&self, payload: &mut ReviewReply) -> ReplyLocation {
        let Some(file) = self.text("file_path", payload) else { return ReplyLocation::default() };
        let Some(start) = self.line("line_number", 1, payload) else {
            let claimed = self.get("line_number").map(|line| format!("{file}:{}", shown(line)));
            return ReplyLocation { file: Some(file), lines: None, claimed };
        };
        let end = self.line("end_line", start, payload);
        let unread = self.get("end_line").filter(|_| end.is_none());
        let claimed = unread.map(|end| format!("{file}:{start}-{}", shown(end)));
        ReplyLocation { file: Some(file), lines: Some((start, end)), claimed }
    }

    fn line(&self, name: &str, least: u32, payload: &mut ReviewReply) -> Option<u32> {
        let value = self.get(name)?;
        let line = integer(value).filter(|line| *line >= least);
        if line.is_none() {
            self.wrong(name, &format!("{} is not a line number from {least} on", shown(value)), payload);
        }
        line
    }

    /// Adds a note for unknown properties.
    pub(crate) fn note_extra(&self, known: &[&str], payload: &mut ReviewReply) {
        for name in self.object.keys().filter(|name| !known.contains(&name.as_str())) {
            let list = self.at.split('/').next().unwrap_or_default();
            payload.note(format!("`{name}` in `{list}` was not asked for and is ignored"));
        }
    }
}

pub(crate) fn no_severity(value: &Json) -> String {
    let names = Severity::ALL.map(|severity| format!("`{}`", severity.name()));
    format!("{} is not one of {}", shown(value), names.join(", "))
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
pub(crate) fn cut(value: &Json, most: usize) -> String {
    let text = value.to_string();
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// A finding of an agent, in its own words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// File as the agent named it or, once verified, from the project's root.
    pub file: Option<String>,
    /// First line, from 1. None without a file.
    pub start_line: Option<u32>,
    pub end_line: Option<u32>,
    pub agent: String,
    pub severity: Severity,
    pub kind: FindingKind,
    pub message: String,
    pub suggestion: Option<String>,
    pub category: Option<String>,
    /// The agent's confidence, in percent.
    pub confidence: Option<u8>,
    /// Place that the agent named, if it could not be verified.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingKind {
    Issue,
    CoverageGap,
    Improvement,
    Dimension,
}

impl Finding {
    /// Returns its first and last line, if it has a place.
    pub fn lines(&self) -> Option<(u32, u32)> {
        let start = self.start_line.filter(|_| self.file.is_some())?;
        Some((start, self.end_line.unwrap_or(start).max(start)))
    }

    /// Formats its place for people: `src/a.rs`, `src/a.rs:3`, `src/a.rs:3-5`.
    pub fn place(&self) -> Option<String> {
        let file = self.file.as_deref()?;
        Some(match self.lines() {
            None => file.to_owned(),
            Some((start, end)) if start == end => format!("{file}:{start}"),
            Some((start, end)) => format!("{file}:{start}-{end}"),
        })
    }

    /// Removes its place, and keeps the claimed one.
    pub fn unplace(&mut self) {
        let place = self.place();
        self.claimed = self.claimed.take().or(place);
        (self.file, self.start_line, self.end_line) = (None, None, None);
    }
}

impl FindingKind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::CoverageGap => "coverage_gap",
            Self::Improvement => "improvement",
            Self::Dimension => "dimension",
        }
    }
}

/// Assessment of the whole subject, or of one aspect: a score or a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    pub agent: String,
    pub name: String,
    /// From 0 to 10; higher is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<Severity>,
    pub description: Option<String>,
}

#[cfg(test)]
mod tests;
