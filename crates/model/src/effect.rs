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
    /// Ask an agent.
    Ask(Box<Request>),
    /// Do something outside.
    Perform(Box<Performance>),
    /// Show a gate; the answer comes from outside.
    OpenGate(Box<OpenGate>),
    /// Come back at this time.
    Wake {
        /// When.
        at: Moment,
    },
    /// End a call; its failure (or a reply already read) is still awaited.
    Stop {
        /// Which.
        call: CallId,
    },
}

/// What an agent is to be asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The call.
    pub call: CallId,
    /// Where its result belongs.
    pub place: Place,
    /// Why.
    pub purpose: Purpose,
    /// Which attempt.
    pub attempt: u32,
    /// The turn it is, or is about; absent for the question of an exit.
    pub turn: Option<TurnId>,
    /// The title for people.
    pub title: String,
    /// The role's short name.
    pub role: Option<String>,
    /// What is to be rendered and sent; absent: `prompt` is sent again as it is.
    pub draft: Option<Draft>,
    /// The prompt of the attempt before.
    pub prompt: Option<Text>,
    /// For the system slot.
    pub persona: Option<Text>,
    /// Who answers.
    pub provider: ProviderName,
    /// With which model.
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
    /// The call.
    pub call: CallId,
    /// What.
    pub action: ActionSpec,
    /// What it is given.
    pub given: Given,
    /// Its end may already have happened: ask the world first.
    pub look_up: bool,
}

/// What an action is given.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Given {
    /// Outputs of stages.
    Outputs(BTreeMap<String, Json>),
    /// A reply and the reports in it.
    Reports {
        /// The reply.
        text: Text,
        /// Where each stands.
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
    /// The call.
    pub call: CallId,
    /// The title for people.
    pub title: String,
    /// What is asked.
    pub question: Draft,
    /// What answer it takes.
    pub wants: Wants,
    /// Who answers.
    pub mode: GateMode,
}
