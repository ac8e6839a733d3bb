//! Effects: requests of the engine to the outside. Only the runner performs them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ActionSpec, Block, CallId, Decision, Draft, Found, GateMode, Json, Millis, Moment, Permission, Place,
    ProviderName, Purpose, Text, TurnId, Usd, Wants,
};

/// A request to the outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Append the decision in the batch of its fact, before any other effect.
    Record(Decision),
    Ask(Box<Request>),
    Perform(Box<Performance>),
    /// Show a gate; the answer arrives as a fact.
    OpenGate(Box<OpenGate>),
    /// Send a wake-up fact at this time.
    Wake {
        at: Moment,
    },
    /// Stop a call; its failure (or a reply already read) still arrives.
    Stop {
        call: CallId,
    },
}

/// A request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub call: CallId,
    pub place: Place,
    pub purpose: Purpose,
    pub attempt: u32,
    /// The turn it belongs to; absent for the question of an exit.
    pub turn: Option<TurnId>,
    pub title: String,
    pub role: Option<String>,
    /// Draft to render and send; if absent, `prompt` is sent again unchanged.
    pub draft: Option<Draft>,
    /// Prompt of the previous attempt.
    pub prompt: Option<Text>,
    pub persona: Option<Text>,
    pub provider: ProviderName,
    pub model: Option<String>,
    pub permission: Permission,
    /// Tools visible to the agent.
    pub tools: Option<Vec<String>>,
    /// JSON Schema of a structured answer.
    pub schema: Option<Json>,
    pub session: Option<String>,
    pub timeout: Option<Millis>,
    /// Maximum number of model calls.
    pub max_calls: Option<u32>,
    /// Money left in the budget after the reservations of running calls.
    pub money: Option<Usd>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    pub call: CallId,
    pub action: ActionSpec,
    pub given: Given,
    /// True if it may already have happened: check first.
    pub look_up: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    Outputs(BTreeMap<String, Json>),
    /// A reply and the reports in it.
    Reports {
        text: Text,
        found: Vec<Found>,
        /// SHA-256 of the version last saved under each name, to detect files that an agent wrote itself.
        last: BTreeMap<String, String>,
    },
    /// Block that requested the action.
    Block(Block),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenGate {
    pub call: CallId,
    pub title: String,
    pub question: Draft,
    pub wants: Wants,
    pub mode: GateMode,
}
