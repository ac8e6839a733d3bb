//! Targets of script replies.

use saihai_model::{Activity, ScriptTarget, Stage, StageId, TurnId, Wants, Workflow};

use crate::diagnostic::{Diagnostics, Located, quoted};

/// Suffix for the judge questions of a stage.
const JUDGE: &str = "#judge";

/// Stages and turns of the workflow, if it is known.
pub(super) struct Names<'a>(Option<&'a Workflow>);

impl<'a> Names<'a> {
    pub(super) fn new(workflow: Option<&'a Workflow>) -> Self {
        Self(workflow)
    }

    /// Parses `stage` or `stage/turn`, with an optional `#judge`.
    pub(super) fn target(
        &self,
        written: &Located<String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<ScriptTarget> {
        let (name, judge) = match written.value.strip_suffix(JUDGE) {
            Some(name) => (name, true),
            None => (written.value.as_str(), false),
        };
        let found = match self.0 {
            Some(workflow) => find(workflow, name),
            None => split(name),
        };
        let Some((stage, turn)) = found else {
            self.report(name, written, diagnostics);
            return None;
        };
        Some(ScriptTarget { stage, turn, judge })
    }

    /// Returns the answer form of the named gate, or `None` without a workflow. Reports a name that
    /// is not a gate.
    pub(super) fn gate(&self, written: &Located<String>, diagnostics: &mut Diagnostics) -> Option<Wants> {
        let gates = |(id, stage): (&'a StageId, &'a Stage)| match &stage.does {
            Activity::Gate(gate) => Some((id.as_str(), gate.wants)),
            Activity::Turns { .. } | Activity::Action(_) => None,
        };
        let known: Vec<(&str, Wants)> = self.0?.stages.iter().filter_map(gates).collect();
        let found = known.iter().find(|(name, _)| *name == written.value).map(|(_, wants)| *wants);
        if found.is_none() {
            let message = format!("no gate is named {}", quoted(&written.value));
            let hint = diagnostics.suggest(&written.value, known.iter().map(|(name, _)| *name));
            let none = (known.is_empty()).then(|| "this definition has no gates".to_owned());
            diagnostics.push(
                written
                    .error("unknown-stage", message)
                    .label("nobody is asked here")
                    .maybe_hint(hint.or(none)),
            );
        }
        found
    }

    fn report(&self, name: &str, written: &Located<String>, diagnostics: &mut Diagnostics) {
        let Some(workflow) = self.0 else {
            let message =
                format!("`for` must name a stage, or a stage and a turn, not {}", quoted(&written.value));
            diagnostics.push(written.error("bad-value", message).label("write `stage` or `stage/turn`"));
            return;
        };
        let known = all(workflow);
        let message = format!("no stage or turn is named {}", quoted(name));
        let hint = diagnostics.suggest(name, known.iter().map(String::as_str));
        diagnostics.push(
            written.error("unknown-stage", message).label("nobody is asked by this name").maybe_hint(hint),
        );
    }
}

/// Finds stage and turn by name. Stage names may contain a `/`, so the existing names decide.
fn find(workflow: &Workflow, name: &str) -> Option<(StageId, Option<TurnId>)> {
    if workflow.stages.contains_key(name) {
        return Some((StageId::from(name), None));
    }
    name.match_indices('/').find_map(|(slash, _)| {
        let (stage, turn) = (&name[..slash], &name[slash + 1..]);
        let turns = workflow.stages.get(stage)?.turns();
        let exists = turns.iter().any(|one| one.id.as_str() == turn);
        exists.then(|| (StageId::from(stage), Some(TurnId::from(turn))))
    })
}

fn split(name: &str) -> Option<(StageId, Option<TurnId>)> {
    let (stage, turn) = match name.split_once('/') {
        Some((stage, turn)) => (stage, Some(turn)),
        None => (name, None),
    };
    let right = !stage.is_empty() && turn.is_none_or(|turn| !turn.is_empty());
    right.then(|| (StageId::from(stage), turn.map(TurnId::from)))
}

/// Returns every valid target: all stages, and the turns of stages with several turns.
fn all(workflow: &Workflow) -> Vec<String> {
    let mut names = Vec::new();
    for (id, stage) in &workflow.stages {
        names.push(id.to_string());
        if stage.turns().len() > 1 {
            names.extend(stage.turns().iter().map(|turn| format!("{id}/{}", turn.id)));
        }
    }
    names
}
