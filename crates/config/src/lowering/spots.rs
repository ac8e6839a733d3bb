//! Where the stages, turns and rules of a workflow are written.

use std::collections::HashMap;

use saihai_model::StageId;

use crate::Location;
use crate::check::Spot;

/// Places by what stands there. A stage that was put in by lowering has none.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    places: HashMap<Spot, Location>,
    /// Stages about which more can be said than what was wrong when they were read.
    sound: HashMap<StageId, bool>,
}

impl Spots {
    pub(crate) fn put(&mut self, spot: Spot, at: &Location) {
        self.places.insert(spot, at.clone());
    }

    pub(crate) fn get(&self, spot: &Spot) -> Option<&Location> {
        self.places.get(spot)
    }

    /// Remembers whether a stage was read without errors.
    pub(crate) fn put_sound(&mut self, stage: &StageId, sound: bool) {
        self.sound.insert(stage.clone(), sound);
    }

    /// Whether a stage was read without errors.
    pub(crate) fn is_sound(&self, stage: &StageId) -> bool {
        self.sound.get(stage).copied().unwrap_or(true)
    }
}
