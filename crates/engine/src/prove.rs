//! Proofs that must hold before the engine follows a label.

use saihai_model::{Again, By, Json, Place, Proof, Refuted, Stage, Target};

use crate::advance::Step;
use crate::verdict::Ruling;
use crate::{Done, Run};

impl Run {
    /// Requests the next proof of a ruling, in order. A failed proof ends the search, unless it only adds a remark.
    pub(crate) fn lack_proof(&mut self, stage: &Stage, ruling: &Ruling) -> Option<Step> {
        let (index, _) = proofs(stage, ruling).find(|(index, proof)| match self.shown(*index) {
            None => true,
            Some(shown) => !shown && proof.refuted != Refuted::Remarked,
        })?;
        match self.shown(index) {
            None => Some(self.lack(Place::Proof(index), None)),
            Some(_) => None,
        }
    }

    /// Changes a ruling if one of its proofs fails.
    pub(crate) fn proved(&self, stage: &Stage, ruling: Ruling) -> Ruling {
        let mut refuted = proofs(stage, &ruling).filter(|(index, _)| self.shown(*index) == Some(false));
        let Some((index, proof)) = refuted.find(|(_, proof)| proof.refuted != Refuted::Remarked) else {
            return ruling;
        };
        let (by, labels) = (By::Result, ruling.labels.clone());
        match &proof.refuted {
            Refuted::Go(target) => Ruling { labels, ..Ruling::new(by, target.clone()) },
            Refuted::Again { at_most, exhausted } => {
                let spent = self.visit.as_ref().is_some_and(|visit| visit.refutations >= *at_most);
                if spent {
                    return Ruling { labels, ..Ruling::new(By::Limit, exhausted.clone()) };
                }
                let again = Again { note: None, at_most: None, exhausted: exhausted.clone() };
                let target = Target::Again(Box::new(again));
                let refuted = Some((index, self.found(index)));
                Ruling { labels, refuted, ..Ruling::new(by, target) }
            }
            Refuted::Remarked => ruling,
        }
    }

    /// Returns the result of a proof, once it was checked.
    fn shown(&self, index: usize) -> Option<bool> {
        let done: &Done = self.round().done(Place::Proof(index))?;
        Some(done.label.as_ref().is_some_and(|label| label.as_str() == "ok"))
    }

    /// Returns the actual result of a failed proof.
    fn found(&self, index: usize) -> String {
        let output = self.round().done(Place::Proof(index)).and_then(|done| done.output.get("output"));
        output.and_then(Json::as_str).unwrap_or_default().to_owned()
    }
}

/// Returns the proofs of a ruling, each with its index in the stage.
fn proofs<'s>(stage: &'s Stage, ruling: &Ruling) -> impl Iterator<Item = (usize, &'s Proof)> + use<'s> {
    let labels = ruling.labels.clone();
    let by_rule = ruling.rule.is_some();
    let all = stage.proofs().enumerate();
    all.filter(move |(_, proof)| by_rule && labels.iter().flatten().any(|label| *label == proof.of))
}
