//! Keys of newer TAKT releases that need no new idea here: options of providers, quality gates, a rule file for
//! every prompt, and keys without effect, of which a note says so once per kind.

use indexmap::IndexMap;

use saihai_model::Permission;

use super::assignment::{ProviderReference, TurnAssignment};
use super::capabilities::{Capabilities, ProviderTools};
use super::command_gate::CommandGate;
use super::tables;
use super::texts::{Facet, PieceReader};
use crate::{Fields, Value, quoted};

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
    /// Provider and model of movements that name none.
    provider: ProviderReference,
    /// Tools by provider that movements may replace.
    tools: ProviderTools,
    /// True if the piece names the preset `edit`.
    edits: bool,
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
        let provider = config.as_ref().map(|config| ProviderReference::read(config, &mut reader.diagnostics));
        let capabilities = Capabilities::read(fields, reader);
        let options = options.map(|options| reader.provider_options(&options, ""));
        Self {
            provider: provider.unwrap_or_default(),
            edits: capabilities.as_ref().is_some_and(|capabilities| capabilities.edits),
            tools: ProviderTools::merged([capabilities.map(|capabilities| capabilities.tools), options]),
            rules: all.and_then(|all| read_rules_of_all(&all, reader)),
        }
    }

    /// Completes a movement with the defaults of the piece.
    pub(super) fn apply(&self, assignment: &mut TurnAssignment) {
        if assignment.provider.is_none() && assignment.reviewer.is_none() {
            assignment.provider.clone_from(&self.provider.provider);
            assignment.model = assignment.model.take().or_else(|| self.provider.model.clone());
        }
        let own = std::mem::take(&mut assignment.provider_tools);
        assignment.provider_tools = ProviderTools::merged([Some(self.tools.clone()), Some(own)]);
        if self.edits && assignment.permission_is_usual {
            assignment.permission = Permission::Edit { commands: true };
        }
        assignment.rules_of_all.clone_from(&self.rules);
    }
}

/// reads `all_steps.rules`: a text or a file, or a list of files in a folder `rules` next to the workflow.
fn read_rules_of_all(all: &Fields<'_>, reader: &mut PieceReader<'_>) -> Option<String> {
    let value = all.any("rules")?;
    if value.node().as_list().is_none() {
        let passage = reader.resolve(Facet::Instruction, &value.text()?)?;
        return Some(passage.text.trim().to_owned());
    }
    let texts = value.items().filter_map(|item| {
        let name = item.text().or_else(|| item.get("ref")?.text());
        let Some(name) = name else {
            let message = "a rule of `all_steps` must be a name or `{ref: NAME}`";
            reader.diagnostics.push(item.error("bad-type", message));
            return None;
        };
        let passage = reader.rule_of_all(&name)?;
        Some(passage.text.trim().to_owned())
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n\n"))
}

pub(super) const IN_SETTINGS: &str = "the settings of the provider decide it";

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

/// reads `quality_gates`. Texts become lines of the prompt, commands run after the work.
pub(super) fn read_quality_gates(
    fields: &Fields<'_>,
    reader: &mut PieceReader<'_>,
) -> (Vec<String>, Vec<CommandGate>) {
    let (mut gates, mut commands) = (Vec::new(), Vec::new());
    let Some(value) = fields.any("quality_gates") else { return (gates, commands) };
    for item in value.items() {
        match &item.node().value {
            Value::Text(text) => gates.push(text.trim().to_owned()),
            Value::Map(_)
                if item.get("type").is_some_and(|kind| kind.node().as_text() == Some("command")) =>
            {
                commands.extend(CommandGate::read(&item, reader));
            }
            other => {
                let message =
                    format!("a quality gate must be text or `{{type: command}}`, not {}", other.kind());
                reader.diagnostics.push(item.error("bad-type", message).label(other.kind()));
            }
        }
    }
    (gates, commands)
}
