//! The typed form of a piece, and checks across its parts.

use std::collections::HashSet;

use super::facet::Facet;
use super::monitor::Monitor;
use super::movement::{ENDS, Level, Movement};
use super::rule::Rule;
use super::tables;
use super::texts::Texts;
use crate::{Cursor, Diagnostics, Document, Fields, Located, Value, quoted};

const ITERATIONS: u32 = 10;

/// A piece with the texts it names.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Piece {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// Declared language: `ja` or `en`.
    pub(super) language: Option<String>,
    pub(super) max_iterations: u32,
    /// Start of a run; `None` means the first movement.
    pub(super) initial: Option<Located<String>>,
    pub(super) movements: Vec<Movement>,
    pub(super) monitors: Vec<Monitor>,
}

impl Piece {
    /// Reads a document and the files it names. It reports all errors, not only the first.
    pub(super) fn read(
        document: &Document,
        texts: &mut Texts<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(&document.cursor(), &tables::PIECE, diagnostics)?;
        for facet in Facet::ALL {
            for (name, text) in fields.map(facet.map()) {
                if let Some(text) = text.text() {
                    texts.define(facet, name, text);
                }
            }
        }
        let piece = Self {
            name: read_name(&fields, diagnostics),
            description: fields.text("description").map(|text| text.value),
            language: fields.text("language").map(|text| text.value),
            max_iterations: read_iterations(&fields, diagnostics),
            initial: fields.text("initial_movement"),
            movements: Movement::read_all(fields.list("movements"), Level::Top, texts, diagnostics),
            monitors: fields
                .list("loop_monitors")
                .iter()
                .filter_map(|item| Monitor::read(item, texts, diagnostics))
                .collect(),
        };
        piece.check_names(diagnostics);
        piece.check_monitors(diagnostics);
        texts.unused().for_each(|diagnostic| diagnostics.push(diagnostic));
        Some(piece)
    }

    /// Reports names of movements that do not exist.
    fn check_names(&self, diagnostics: &mut Diagnostics) {
        let rules = self.movements.iter().flat_map(|movement| &movement.rules);
        let judged = self.monitors.iter().flat_map(|monitor| &monitor.judge.rules);
        let nexts: Vec<&Located<String>> =
            rules.chain(judged).filter_map(|rule: &Rule| rule.next.as_ref()).collect();
        let watched = self.monitors.iter().flat_map(|monitor| &monitor.cycle);
        let starts = self.initial.iter().chain(watched);
        let names: HashSet<&str> =
            self.movements.iter().map(|movement| movement.name.value.as_str()).collect();
        for (name, ends) in nexts.into_iter().map(|name| (name, true)).chain(starts.map(|name| (name, false)))
        {
            let is_end = ends && ENDS.contains(&name.value.as_str());
            if is_end || names.contains(name.value.as_str()) {
                continue;
            }
            let known = self.movements.iter().map(|movement| movement.name.value.as_str());
            let known = known.chain(ENDS.into_iter().filter(|_| ends));
            let hint = diagnostics.suggest(&name.value, known);
            let message = format!("movement {} does not exist", quoted(&name.value));
            let diagnostic = name.error("unknown-movement", message).label("no movement has this name");
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
    }

    /// P-52: a cycle should end with the movement that fixes, not with the one that can complete.
    fn check_monitors(&self, diagnostics: &mut Diagnostics) {
        for monitor in &self.monitors {
            let Some(last) = monitor.cycle.last() else { continue };
            let movement = self.movements.iter().find(|movement| movement.name.value == last.value);
            let completes = |rule: &&Rule| rule.next.as_ref().is_some_and(|next| next.value == "COMPLETE");
            let Some(rule) = movement.and_then(|movement| movement.rules.iter().find(completes)) else {
                continue;
            };
            let message = format!("the judge would override that {} completes the run", quoted(&last.value));
            let diagnostic = last
                .warning("monitor-hides-complete", message)
                .label("the judge is asked right after this movement")
                .hint("end the cycle with the movement that fixes");
            diagnostics.push(diagnostic.also(&rule.at, "completes the run"));
        }
    }
}

fn read_name(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> String {
    let Some(name) = fields.text("name") else { return String::new() };
    if name.value.trim().is_empty() || name.value.chars().any(char::is_control) {
        diagnostics.push(name.error("bad-value", "the name of a piece must be one line that is not blank"));
    }
    name.value
}

fn read_iterations(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> u32 {
    let Some(value) = fields.any("max_iterations") else { return ITERATIONS };
    if value.node().as_text() == Some("infinite") {
        let spelling = fields.spelling("max_iterations").unwrap_or("max_iterations");
        let message = format!("`{spelling}: infinite` is not supported");
        diagnostics.push(value.error("not-supported", message).hint("the most is 100000"));
        return ITERATIONS;
    }
    if !value.must_be(&tables::ITERATIONS, diagnostics) {
        return ITERATIONS;
    }
    value.integer().and_then(|number| u32::try_from(number).ok()).unwrap_or(ITERATIONS)
}

/// Reports every `{ $param: … }` and returns their paths, where other errors do not matter (P-12).
pub(super) fn refuse_parameters(
    root: &Cursor<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<crate::DocumentPath> {
    let mut found = Vec::new();
    let mut open = vec![root.clone()];
    while let Some(value) = open.pop() {
        match &value.node().value {
            Value::Map(_) if value.get("$param").is_some() => {
                diagnostics.push(value.error("not-supported", "`$param` is not supported"));
                found.push(value.path().clone());
            }
            Value::Map(_) => open.extend(value.entries().map(|(_, value)| value)),
            Value::List(_) => open.extend(value.items()),
            Value::Null
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Date(_) => {}
        }
    }
    found
}
