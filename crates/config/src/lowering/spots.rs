//! Source locations of the stages, turns and rules of a workflow.

use std::collections::HashMap;

use saihai_model::StageId;

use crate::Location;
use crate::check::Spot;

/// Source locations. Stages that lowering inserts have none.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    places: HashMap<Spot, Location>,
    /// Stages that were read, with false for those with errors. Findings about those would be noise.
    sound: HashMap<StageId, bool>,
}

impl Spots {
    pub(crate) fn put(&mut self, spot: Spot, at: &Location) {
        self.places.insert(spot, at.clone());
    }

    pub(crate) fn get(&self, spot: &Spot) -> Option<&Location> {
        self.places.get(spot)
    }

    pub(crate) fn put_sound(&mut self, stage: &StageId, sound: bool) {
        self.sound.insert(stage.clone(), sound);
    }

    /// Returns true unless the reader found an error in the stage.
    pub(crate) fn is_sound(&self, stage: &StageId) -> bool {
        self.sound.get(stage).copied().unwrap_or(true)
    }
}
