//! Movements: one agent, or several in parallel.

use std::collections::HashMap;

use saihai_model::Permission;

use super::assignment::Assignment;
use super::report::refuse_duplicates;
use super::rule::{Owner, Rule};
use super::tables;
use super::texts::Texts;
use crate::{Cursor, Diagnostics, Fields, Located, Severity, Value, quoted};

const LONGEST_NAME: usize = 80;

/// Targets that end the run. Movements cannot have these names.
pub(super) const ENDS: [&str; 2] = ["COMPLETE", "ABORT"];

/// A movement with the texts it names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Movement {
    pub(super) name: Located<String>,
    pub(super) description: Option<String>,
    pub(super) work: Work,
    pub(super) rules: Vec<Rule>,
    /// False if the movement has errors. Findings about it would then be noise.
    pub(super) sound: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Work {
    One(Box<Assignment>),
    Parallel(Vec<Movement>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Top,
    Sub,
}

impl Movement {
    /// Reads a list of movements. It reports and skips those without a name.
    pub(super) fn read_all<'d>(
        items: impl IntoIterator<Item = Cursor<'d>>,
        level: Level,
        texts: &mut Texts<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Self> {
        let items = items.into_iter();
        let movements: Vec<Self> =
            items.filter_map(|item| Self::read(&item, level, texts, diagnostics)).collect();
        let mut seen: HashMap<&str, &Located<String>> = HashMap::new();
        for Self { name, .. } in &movements {
            if let Some(first) = seen.insert(&name.value, name) {
                let message = format!("two movements are named {}", quoted(&name.value));
                let diagnostic = name.error("duplicate-name", message).label("given again");
                diagnostics.push(diagnostic.also(&first.at, "first given here"));
            }
        }
        movements
    }

    /// Returns the assignments for later completion.
    pub(super) fn assignments_mut(&mut self) -> Vec<(&Located<String>, &mut Assignment)> {
        match &mut self.work {
            Work::One(assignment) => vec![(&self.name, assignment.as_mut())],
            Work::Parallel(subs) => subs.iter_mut().flat_map(Self::assignments_mut).collect(),
        }
    }

    /// Returns its assignments: its own, or those of its sub-movements.
    pub(super) fn assignments(&self) -> Vec<(&Self, &Assignment)> {
        match &self.work {
            Work::One(assignment) => vec![(self, assignment.as_ref())],
            Work::Parallel(subs) => subs.iter().flat_map(Self::assignments).collect(),
        }
    }

    fn read(
        item: &Cursor<'_>,
        level: Level,
        texts: &mut Texts<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let before = diagnostics.len();
        let fields = Fields::read(item, &tables::MOVEMENT, diagnostics)?;
        let name = read_name(&fields, diagnostics);
        let shown = name.as_ref().map_or("", |name| name.value.as_str());
        let owner = match (level, fields.has("parallel"), fields.has("reviewer")) {
            (Level::Sub, _, true) => Owner::SubReviewer,
            (Level::Sub, _, false) => Owner::SubMovement,
            (Level::Top, true, _) => Owner::Parallel,
            (Level::Top, false, true) => Owner::Reviewer,
            (Level::Top, false, false) => Owner::Movement,
        };
        let work = if fields.has("parallel") {
            Work::Parallel(read_parallel(&fields, level, texts, diagnostics))
        } else {
            refuse_beside_reviewer(&fields, diagnostics);
            Work::One(Box::new(Assignment::read(&fields, shown, texts, diagnostics)))
        };
        let rules = fields.list("rules");
        if level == Level::Top && rules.is_empty() && (!fields.has("rules") || fields.is_right("rules")) {
            let message = format!("movement {} has no rules, so nothing can follow it", quoted(shown));
            let place = fields.key("rules").cloned().unwrap_or_else(|| fields.location());
            diagnostics.push(place.error("missing-rules", message).hint("add at least one rule"));
        }
        let rules = Rule::read_all(&rules, owner, diagnostics);
        let description = fields.text("description").map(|text| text.value);
        Some(Self { name: name?, description, work, rules, sound: is_sound_since(diagnostics, before) })
    }
}

/// Returns true unless an error follows the first `before` diagnostics.
fn is_sound_since(diagnostics: &Diagnostics, before: usize) -> bool {
    let mut since = diagnostics.iter().skip(before);
    diagnostics.left_off() == 0 && !since.any(|diagnostic| diagnostic.severity == Severity::Error)
}

fn read_name(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Located<String>> {
    let name = fields.text("name")?;
    let wrong = if name.value.trim().is_empty() {
        Some("must not be blank".to_owned())
    } else if ENDS.contains(&name.value.as_str()) {
        Some("is reserved for the end of a run".to_owned())
    } else if name.value.contains('/') || name.value.chars().any(char::is_control) {
        Some("must not contain `/` or control characters".to_owned())
    } else if name.value.chars().count() > LONGEST_NAME {
        Some(format!("must not be longer than {LONGEST_NAME} characters"))
    } else {
        None
    };
    if let Some(wrong) = wrong {
        diagnostics.push(name.error("bad-value", format!("the name {} {wrong}", quoted(&name.value))));
    }
    Some(name)
}

/// P-61: a review agent brings its own role, tools and prompt, so the movement must not set them.
fn refuse_beside_reviewer(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    if !fields.has("reviewer") {
        return;
    }
    for key in fields.keys().filter(|key| !tables::REVIEWER_KEYS.contains(key)) {
        let place = fields.key(key).cloned().unwrap_or_else(|| fields.location());
        let spelling = fields.spelling(key).unwrap_or(key);
        let message =
            format!("`{spelling}` has no effect on a movement with `reviewer`: the review agent decides it");
        diagnostics.push(place.error("no-effect", message).hint("remove it"));
    }
}

fn read_parallel(
    fields: &Fields<'_>,
    level: Level,
    texts: &mut Texts<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Movement> {
    let Some(value) = fields.any("parallel") else { return Vec::new() };
    if level == Level::Sub {
        let message = "a sub-movement cannot have `parallel` itself";
        diagnostics.push(value.error("bad-value", message).hint("make it a movement of its own"));
        return Vec::new();
    }
    for key in fields.keys().filter(|key| !tables::PARALLEL_KEYS.contains(key)) {
        let place = fields.key(key).cloned().unwrap_or_else(|| fields.location());
        let spelling = fields.spelling(key).unwrap_or(key);
        let message =
            format!("`{spelling}` has no effect on a movement with `parallel`: it asks no agent itself");
        diagnostics.push(place.error("no-effect", message).hint("put it into the sub-movements"));
    }
    match &value.node().value {
        Value::Map(_) => {
            diagnostics.push(value.error("not-supported", "`parallel` as a mapping is not supported"));
            return Vec::new();
        }
        Value::List(items) if items.is_empty() => {
            diagnostics.push(value.error("bad-value", "`parallel` must have at least one sub-movement"));
            return Vec::new();
        }
        Value::List(_) => {}
        Value::Null
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::Date(_) => {
            let kind = value.node().value.kind();
            let message = format!("`parallel` must be a list of sub-movements, not {kind}");
            diagnostics.push(value.error("bad-type", message).label(kind));
            return Vec::new();
        }
    }
    let subs = Movement::read_all(value.items(), Level::Sub, texts, diagnostics);
    let reports = subs.iter().flat_map(Movement::assignments).flat_map(|(_, work)| &work.reports);
    refuse_duplicates(reports, diagnostics);
    warn_of_parallel_edits(&subs, diagnostics);
    subs
}

fn warn_of_parallel_edits(subs: &[Movement], diagnostics: &mut Diagnostics) {
    let editing: Vec<&Located<String>> = subs
        .iter()
        .flat_map(Movement::assignments)
        .filter(|(_, work)| work.permission != Permission::ReadOnly)
        .map(|(movement, _)| &movement.name)
        .collect();
    if let [first, second, ..] = editing.as_slice() {
        let message = format!(
            "{} and {} may change files at the same time",
            quoted(&first.value),
            quoted(&second.value)
        );
        let diagnostic = second.warning("parallel-edits", message);
        diagnostics.push(diagnostic.also(&first.at, "may change files too"));
    }
}
