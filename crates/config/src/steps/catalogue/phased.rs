//! Catalogues with prompts per phase (S-13): `initial.project.PHASE` once, then `continuation.project.PHASE`
//! until the next phase.

use super::{Catalogue, OF_ISSUE};
use crate::steps::completion::Condition;
use crate::steps::done::PHASES;
use crate::steps::schemas::Schemas;
use crate::steps::step::{Leave, Step};
use crate::{Diagnostics, Located};

pub(super) struct OfPhase {
    phase: &'static str,
    initial: String,
    continuation: String,
}

impl Catalogue<'_, '_> {
    /// Returns the prompts of each phase before a terminal one. Returns `None` if another key selects the
    /// first prompt.
    pub(super) fn prompts_by_phase(&self) -> Option<Vec<OfPhase>> {
        let own = self.agent.completion.as_ref()?;
        let Condition::Phase(terminal) = &own.condition else { return None };
        let by_issue = self.about_issue && self.entry(OF_ISSUE).is_some();
        if by_issue || self.mapped(None).is_some() || self.fields.has("entryStep") {
            return None;
        }
        let worked_in = PHASES.into_iter().take_while(|phase| !terminal.iter().any(|one| one == phase));
        let of_phase = |phase: &'static str| OfPhase {
            phase,
            initial: format!("initial.project.{phase}"),
            continuation: format!("continuation.project.{phase}"),
        };
        Some(worked_in.map(of_phase).collect())
    }

    /// Builds two steps per phase. After each of them, the current phase selects the next step.
    pub(super) fn phased(
        &self,
        prompts: &[OfPhase],
        schemas: &mut Schemas<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Step> {
        let mut used = Vec::new();
        let mut steps = Vec::new();
        for OfPhase { phase, initial, continuation } in prompts {
            used.extend([initial.as_str(), continuation.as_str()]);
            let (first, then) = (self.entry(initial), self.entry(continuation));
            if first.is_none() {
                self.missing(initial, diagnostics);
            }
            if then.is_none() && !self.is_asked_once() {
                self.missing(continuation, diagnostics);
            }
            for (id, value) in first.into_iter().chain(then) {
                let leave = self.leave(phase, prompts);
                steps.extend(self.plain(id, value, leave, schemas, diagnostics));
            }
        }
        if used.iter().any(|id| self.entry(id).is_some()) {
            self.note_unused(&used, diagnostics);
        }
        steps
    }

    /// Returns the exit of a phase's step: its continuation, or the first prompt of another phase.
    fn leave(&self, phase: &str, prompts: &[OfPhase]) -> Leave {
        let target = |other: &OfPhase| {
            let on = self.entry(&other.continuation).filter(|_| other.phase == phase);
            let (id, _) = on.or_else(|| self.entry(&other.initial))?;
            Some((other.phase, Located::new(id.value.clone(), id.at.clone())))
        };
        Leave::Phase(prompts.iter().filter_map(target).collect())
    }
}
