//! Reader of `steps_registry.json`: the steps and their order.

use indexmap::IndexMap;

use super::entry_modes;
use super::reference;
use super::step::Step;
use super::tables;
use super::version;
use crate::{Cursor, Diagnostics, Document, Fields, Located, Location, quoted};

#[derive(Debug, Clone)]
pub(super) struct Registry {
    pub(super) base: Option<Base>,
    pub(super) entry: Option<Located<String>>,
    /// Entry steps by completion type.
    pub(super) entries: Vec<(Located<String>, Located<String>)>,
    pub(super) steps: Vec<Step>,
    pub(super) at: Location,
}

#[derive(Debug, Clone)]
pub(super) enum Base {
    Agent(Located<String>),
    Project(Located<String>),
}

impl Registry {
    /// Reads a registry. It reports all errors, not only the first.
    pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Option<Self> {
        let fields = Fields::read(&document.cursor(), &tables::REGISTRY, diagnostics)?;
        version::check(&fields, diagnostics);
        let editions: IndexMap<String, String> =
            texts(&fields, "editions").into_iter().map(|(from, to)| (from.value, to.value)).collect();
        entry_modes::check(&fields.map("entryStepMapping"), diagnostics);
        for (_, to) in texts(&fields, "editions") {
            if let Some(why) = reference::unfit(&to.value) {
                let diagnostic = to.error("prompt-ref", format!("an edition {why}"));
                diagnostics.push(diagnostic.label("no part of a file's name"));
            }
        }
        let written = fields.map("steps");
        if written.is_empty() && fields.is_right("steps") {
            let at: Option<Cursor<'_>> = fields.any("steps");
            let message = "a registry needs at least one step";
            diagnostics.push(at.map_or(fields.location(), |at| at.location()).error("bad-value", message));
        }
        let steps = written.into_iter();
        let steps = steps.filter_map(|(id, step)| Step::read(id, &step, &editions, diagnostics)).collect();
        let registry = Self {
            base: fields.text("basePath").map(Base::Agent),
            entry: fields.text("entryStep"),
            entries: texts(&fields, "entryStepMapping"),
            steps,
            at: fields.location(),
        };
        registry.check_targets(diagnostics);
        Some(registry)
    }

    pub(super) fn step(&self, id: &str) -> Option<&Step> {
        self.steps.iter().find(|step| step.id.value == id)
    }

    /// Returns the entry step for a completion type, by any of its names.
    pub(super) fn entry(&self, types: &[&str], diagnostics: &mut Diagnostics) -> Option<Located<String>> {
        let mapped = self.entries.iter().find(|(kind, _)| types.contains(&kind.value.as_str()));
        let entry = mapped.map(|(_, step)| step).or(self.entry.as_ref());
        if entry.is_none() {
            let message = "nothing says where a run begins";
            let hint = "add `entryStep`, or name this completion type in `entryStepMapping`";
            diagnostics
                .push(self.at.error("missing-key", message).label("`entryStep` is missing here").hint(hint));
        }
        entry.cloned()
    }

    /// Reports a step that does not exist.
    pub(super) fn unknown_step(&self, name: &Located<String>, diagnostics: &mut Diagnostics) {
        let known = self.steps.iter().map(|step| step.id.value.as_str());
        let hint = diagnostics.suggest(&name.value, known);
        let message = format!("step {} does not exist", quoted(&name.value));
        diagnostics.push(name.error("unknown-step", message).label("no step has this id").maybe_hint(hint));
    }

    /// Reports every named step that does not exist (S-10).
    pub(super) fn check_targets(&self, diagnostics: &mut Diagnostics) {
        let entries = self.entry.iter().chain(self.entries.iter().map(|(_, step)| step));
        let hidden = self.steps.iter().filter_map(Step::check).flat_map(|check| &check.hidden);
        let named = entries.chain(self.steps.iter().flat_map(Step::targets)).chain(hidden);
        for name in named.filter(|name| self.step(&name.value).is_none()) {
            self.unknown_step(name, diagnostics);
        }
    }
}

fn texts(fields: &Fields<'_>, name: &str) -> Vec<(Located<String>, Located<String>)> {
    fields.map(name).into_iter().filter_map(|(key, value)| Some((key, value.text()?))).collect()
}
