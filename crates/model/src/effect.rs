//! Effects: what the world must be asked to do. The runner performs them, and nobody else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ActionSpec, Block, CallId, Decision, Draft, Found, GateMode, Json, Millis, Moment, Permission, Place,
    ProviderName, Purpose, Text, TurnId, Usd, Wants,
};

/// Something the world must be asked to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Append the decision in the batch of its fact, before anything else is performed.
    Record(Decision),
    Ask(Box<Request>),
    Perform(Box<Performance>),
    /// Show a gate; the answer comes from outside.
    OpenGate(Box<OpenGate>),
    /// Come back at this time.
    Wake {
        at: Moment,
    },
    /// End a call; its failure (or a reply already read) is still awaited.
    Stop {
        call: CallId,
    },
}

/// What an agent is to be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub call: CallId,
    pub place: Place,
    pub purpose: Purpose,
    pub attempt: u32,
    /// The turn it is, or is about; absent for the question of an exit.
    pub turn: Option<TurnId>,
    pub title: String,
    pub role: Option<String>,
    /// What is to be rendered and sent; absent: `prompt` is sent again as it is.
    pub draft: Option<Draft>,
    /// The prompt of the attempt before.
    pub prompt: Option<Text>,
    pub persona: Option<Text>,
    pub provider: ProviderName,
    pub model: Option<String>,
    /// What the agent may do.
    pub permission: Permission,
    /// Which tools it may see.
    pub tools: Option<Vec<String>>,
    /// What a structured answer must look like.
    pub schema: Option<Json>,
    /// The session to be continued.
    pub session: Option<String>,
    /// The deadline of this attempt.
    pub timeout: Option<Millis>,
    /// The most model calls inside it.
    pub max_calls: Option<u32>,
    /// What is left of a budget in money beside what is under way.
    pub money: Option<Usd>,
}

/// An action to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    pub call: CallId,
    pub action: ActionSpec,
    pub given: Given,
    /// Its end may already have happened: ask the world first.
    pub look_up: bool,
}

/// What an action is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    Outputs(BTreeMap<String, Json>),
    /// A reply and the reports in it.
    Reports {
        text: Text,
        found: Vec<Found>,
        /// SHA-256 of what we last saved under each name, to know what an agent wrote itself.
        last: BTreeMap<String, String>,
    },
    /// The block that asked for it.
    Block(Block),
}

/// A gate to be shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenGate {
    pub call: CallId,
    pub title: String,
    pub question: Draft,
    pub wants: Wants,
    pub mode: GateMode,
}
