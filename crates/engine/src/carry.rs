//! What passes from round to round: written when a round ends, read only by prompts and actions.

use std::collections::BTreeMap;

use saihai_model::{Draft, Json, Published, StageId, Text};
use serde::{Deserialize, Serialize};

/// What passes from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carry {
    /// The task.
    pub task: Text,
    /// The outputs of the stage before, each with what stands above it.
    pub previous: Vec<(String, Text)>,
    /// What stands between them.
    pub between: String,
    /// The event that led here.
    pub event: Option<Published>,
    /// Who published it.
    pub source: Option<StageId>,
    /// What the next round is told.
    pub note: Option<Draft>,
    /// What the last check said.
    pub check_message: Option<String>,
    /// What people have added.
    pub inputs: Vec<String>,
    /// Outputs by stage and key.
    pub outputs: BTreeMap<StageId, BTreeMap<String, Json>>,
    /// How often the watched cycle has repeated.
    pub cycles: u32,
    /// Texts named at the start.
    pub subject: BTreeMap<String, Text>,
}

impl Default for Carry {
    fn default() -> Self {
        Self {
            task: Text::Inline(String::new()),
            previous: Vec::new(),
            between: String::new(),
            event: None,
            source: None,
            note: None,
            check_message: None,
            inputs: Vec::new(),
            outputs: BTreeMap::new(),
            cycles: 0,
            subject: BTreeMap::new(),
        }
    }
}
