//! Splits an agent's reply into findings and assessments.
//!
//! The six forms of a reply share only the property `issues`, and no property changes its meaning between forms. So the
//! reader accepts every property in any form, and a reply with more than its form loses nothing.

mod item;

use saihai_model::Json;
use serde_json::Map;

use super::{Assessment, Finding, Kind, Severity};
use item::Item;

/// The parts of an agent's reply.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payload {
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

impl Payload {
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

    /// Returns true if at least one list item was kept. A score or a risk is not an item: it says nothing about other
    /// refused parts.
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
            payload.problems.push("the reply is no object".to_owned());
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
                    self.keep(place.put(finding(agent, Kind::CoverageGap, severity, message)));
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
            None => self.problems.push(format!("risk_level: {}", item::no_severity(value))),
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
                self.findings.push(finding(agent, Kind::Dimension, Severity::Suggestion, message));
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
                    self.keep(place.put(finding(agent, Kind::Improvement, severity, message)));
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
        let item = Item::new(String::new(), object);
        if object.get("overall_score").is_some_and(|score| !score.is_null())
            && let Some(score) = item.score("overall_score", self)
        {
            let assessment = assessment(agent, "overall_score");
            self.assessments.push(Assessment { score: Some(score), ..assessment });
        }
    }

    fn issue(&mut self, agent: &str, item: &Item<'_>, bucket: Option<Severity>, category: Option<&str>) {
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
                let issue = finding(agent, Kind::Issue, severity, message);
                self.keep(place.put(Finding { suggestion, category, confidence, ..issue }));
            }
            (_, _) => self.refuse_item(item),
        }
    }

    fn keep(&mut self, finding: Finding) {
        self.findings.push(finding);
        self.items += 1;
    }

    fn refuse_item(&mut self, item: &Item<'_>) {
        self.refuse(&Json::Object(item.object().clone()));
    }

    fn refuse(&mut self, value: &Json) {
        let words = item::cut(value, WORDS);
        if !self.refused.contains(&words) {
            self.refused.push(words);
        }
    }

    /// Returns the objects of an optional list. The schema decides if the list is required.
    fn items<'a>(&mut self, object: &'a Map<String, Json>, name: &str) -> Vec<Item<'a>> {
        match object.get(name) {
            None | Some(Json::Null) => Vec::new(),
            Some(value) => self.items_of(value, name),
        }
    }

    /// Returns the objects of a required list.
    fn demanded<'a>(&mut self, object: &'a Map<String, Json>, name: &str, within: &str) -> Vec<Item<'a>> {
        let at = format!("{within}/{name}");
        match object.get(name) {
            None => {
                self.problems.push(format!("{at}: is missing"));
                Vec::new()
            }
            Some(value) => self.items_of(value, &at),
        }
    }

    fn items_of<'a>(&mut self, value: &'a Json, at: &str) -> Vec<Item<'a>> {
        let Some(values) = value.as_array() else {
            self.problems.push(format!("{at}: is no list"));
            if !value.is_null() {
                self.refuse(value);
            }
            return Vec::new();
        };
        let mut items = Vec::new();
        for (index, value) in values.iter().enumerate() {
            match value.as_object() {
                Some(object) => items.push(Item::new(format!("{at}/{index}"), object)),
                None => {
                    self.problems.push(format!("{at}/{index}: is no object"));
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

/// Returns true if two items from different lists are the same: they say the same of the same place. Their lists do not
/// matter.
fn same(one: &Finding, other: &Finding) -> bool {
    let own = |finding: &Finding| Finding { severity: Severity::Nitpick, category: None, ..finding.clone() };
    own(one) == own(other)
}

fn finding(agent: &str, kind: Kind, severity: Severity, message: String) -> Finding {
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
