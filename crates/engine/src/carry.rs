//! Values that pass from round to round. Written when a round ends; only prompts and actions read them.

use std::collections::BTreeMap;

use saihai_model::{Block, Draft, Json, Published, StageId, Text};
use serde::{Deserialize, Serialize};

use crate::Done;

/// Values that pass from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Carry {
    pub task: Text,
    /// Outputs of the previous stage, each with its heading.
    pub previous: Vec<(String, Text)>,
    pub between: String,
    /// Event that led to this stage.
    pub event: Option<Published>,
    pub source: Option<StageId>,
    /// Note for the next round.
    pub note: Option<Draft>,
    /// Index of the failed proof of the previous round, and the actual result.
    #[serde(default)]
    pub refuted: Option<(usize, String)>,
    /// Message of the last check.
    pub check_message: Option<String>,
    pub inputs: Vec<String>,
    /// Outputs by stage and key.
    pub outputs: BTreeMap<StageId, BTreeMap<String, Json>>,
    /// Facts about earlier rounds other than their replies, such as the tools they used.
    pub context: BTreeMap<String, Json>,
    /// Number of repeats of the watched cycle.
    pub cycles: u32,
    /// Named texts given at the start.
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
            refuted: None,
            check_message: None,
            inputs: Vec::new(),
            outputs: BTreeMap::new(),
            context: BTreeMap::new(),
            cycles: 0,
            subject: BTreeMap::new(),
        }
    }
}

impl Carry {
    /// Appends the tools and blocks of a round, in order and with repeats. Other entries stay.
    pub(crate) fn note_round(&mut self, tools: &[String], blocks: &[Block]) {
        let actions = blocks.iter().take(Done::TOOLS).map(|block| Json::from(block.kind.as_str()));
        let tools = tools.iter().map(|tool| Json::from(tool.as_str()));
        self.context.insert("lastToolsUsed".to_owned(), tools.collect());
        self.context.insert("lastActions".to_owned(), actions.collect());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // S-54, case 32
    #[test]
    fn what_a_round_used_joins_what_is_known_and_the_old_value_stays_as_it_was() {
        let old = Carry { context: [("x".to_owned(), json!(1))].into(), ..Carry::default() };
        let mut carry = old.clone();
        carry.note_round(&["Read", "Bash", "Read"].map(str::to_owned), &[]);
        assert_eq!(
            json!(carry.context),
            json!({"x": 1, "lastToolsUsed": ["Read", "Bash", "Read"], "lastActions": []})
        );
        assert_eq!(json!(old.context), json!({"x": 1}));
        let block = Block { kind: "note".to_owned(), value: json!({"type": "note"}) };
        carry.note_round(&[], &[block.clone(), block]);
        assert_eq!(
            json!(carry.context),
            json!({"x": 1, "lastToolsUsed": [], "lastActions": ["note", "note"]})
        );
    }
}
