//! Keys of newer TAKT releases that need no new idea here: options of providers, quality gates, a rule file for
//! every prompt, and keys without effect, of which a note says so once per kind.

use indexmap::IndexMap;

use super::assignment::TurnAssignment;
use super::tables;
use super::texts::{Facet, PieceReader};
use crate::{Cursor, Fields, Value, ValueKind, quoted};

/// Keys that Saihai accepts and does not use, each with the movements that have it.
#[derive(Debug, Default)]
pub(super) struct IdleTaktKeys {
    movements: IndexMap<(String, &'static str), Vec<String>>,
}

impl IdleTaktKeys {
    pub(super) fn add(&mut self, key: impl Into<String>, reason: &'static str, movement: &str) {
        let movements = self.movements.entry((key.into(), reason)).or_default();
        if !movement.is_empty() && movements.last().is_none_or(|last| last != movement) {
            movements.push(movement.to_owned());
        }
    }

    /// Returns one note per key, however many movements have it.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> + '_ {
        self.movements.iter().map(|((key, reason), movements)| {
            let place = match movements.as_slice() {
                [] => String::new(),
                [one] => format!(" (in {})", quoted(one)),
                many => format!(" (in {} movements)", many.len()),
            };
            format!("{} has no effect: {reason}{place}", quoted(key))
        })
    }
}

/// Settings of the whole piece that every movement inherits.
#[derive(Debug, Default, Clone, PartialEq)]
pub(super) struct PieceDefaults {
    /// Tools of movements that name none.
    tools: Option<Vec<String>>,
    /// Text of `all_steps.rules`, for every prompt.
    pub(super) rules: Option<String>,
}

impl PieceDefaults {
    /// Reads the keys of the piece. A piece without them has no defaults.
    pub(super) fn read(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Self {
        if let Some(key) = fields.spelling("interactive_mode") {
            reader.idle.add(key, "start with `saihai run NAME TASK`", "");
        }
        let config = fields.object("piece_config", &tables::PIECE_CONFIG, &mut reader.diagnostics);
        let options = config.as_ref().and_then(|config| config.any("provider_options"));
        let all = fields.object("all_steps", &tables::ALL_STEPS, &mut reader.diagnostics);
        let rules = all.and_then(|all| all.text("rules"));
        Self {
            tools: options.and_then(|options| read_provider_options(&options, "", reader)),
            rules: rules
                .and_then(|rules| reader.resolve(Facet::Instruction, &rules))
                .map(|passage| passage.text.trim().to_owned()),
        }
    }

    /// Completes a movement with the defaults of the piece.
    pub(super) fn apply(&self, assignment: &mut TurnAssignment) {
        assignment.tools = assignment.tools.take().or_else(|| self.tools.clone());
        assignment.rules_of_all.clone_from(&self.rules);
    }
}

const IN_SETTINGS: &str = "the settings of the provider decide it";

/// Reads `provider_options`: `PROVIDER: {allowed_tools: […], …}`. Returns the tools, and notes every other option.
pub(super) fn read_provider_options(
    options: &Cursor<'_>,
    movement: &str,
    reader: &mut PieceReader<'_>,
) -> Option<Vec<String>> {
    let mut tools = None;
    options.must_be(&ValueKind::Map(&ValueKind::Any), &mut reader.diagnostics);
    for (provider, values) in options.entries() {
        if !values.must_be(&ValueKind::Map(&ValueKind::Any), &mut reader.diagnostics) {
            continue;
        }
        for (key, value) in values.entries() {
            if key.value != "allowed_tools" {
                let path = format!("provider_options.{}.{}", provider.value, key.value);
                reader.idle.add(path, IN_SETTINGS, movement);
            } else if value.must_be(&ValueKind::List(&ValueKind::Text), &mut reader.diagnostics) {
                let named = value.items().filter_map(|item| item.text()).map(|tool| tool.value);
                tools.get_or_insert_with(|| named.collect());
            }
        }
    }
    tools
}

/// Notes the keys of a movement that Saihai accepts without effect.
pub(super) fn note_idle_keys(fields: &Fields<'_>, movement: &str, reader: &mut PieceReader<'_>) {
    let idle = [
        ("tags", "choose the provider with `provider:` or in the settings"),
        ("companion", "Saihai has no advisory agent; TAKT has it off by default"),
    ];
    for (key, reason) in idle {
        if fields.has(key) && !fields.any(key).is_some_and(|value| value.is_off()) {
            reader.idle.add(key, reason, movement);
        }
    }
}

/// reads `quality_gates`. Texts become lines of the prompt; a command is refused by name.
pub(super) fn read_quality_gates(fields: &Fields<'_>, reader: &mut PieceReader<'_>) -> Vec<String> {
    let Some(value) = fields.any("quality_gates") else { return Vec::new() };
    let mut gates = Vec::new();
    for item in value.items() {
        match &item.node().value {
            Value::Text(text) => gates.push(text.trim().to_owned()),
            Value::Map(_)
                if item.get("type").is_some_and(|kind| kind.node().as_text() == Some("command")) =>
            {
                let message = "a quality gate of `type: command` is not supported";
                let hint = "add a movement with `shell:`, and rules on `exit(0)` and `exit(1..)`";
                reader.diagnostics.push(item.error("not-supported", message).hint(hint));
            }
            other => {
                let message = format!("a quality gate must be text, not {}", other.kind());
                reader.diagnostics.push(item.error("bad-type", message).label(other.kind()));
            }
        }
    }
    gates
}
