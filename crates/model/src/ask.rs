//! Requests to a provider, and its replies.

use serde::{Deserialize, Serialize};

use crate::{
    CallId, Failure, Json, Millis, Permission, Place, ProviderName, Purpose, StageId, ToolUse, TurnId, Usage,
    Usd,
};

/// A prompt, ready to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub run: String,
    pub call: CallId,
    pub stage: StageId,
    /// The turn it belongs to; absent for the question of an exit.
    pub turn: Option<TurnId>,
    /// Place of its result. Tells work from questions, also in a correction.
    pub place: Place,
    pub purpose: Purpose,
    pub attempt: u32,
    pub role: Option<String>,
    pub directory: String,
    /// True if the directory may contain files of a stranger. The agent program then ignores settings and instructions
    /// that it finds there, as far as Saihai can make it.
    pub foreign: bool,
    pub prompt: String,
    pub persona: Option<String>,
    pub provider: ProviderName,
    pub model: Option<String>,
    pub permission: Permission,
    /// Tools visible to the agent.
    pub tools: Option<Vec<String>>,
    /// JSON Schema of a structured answer.
    pub schema: Option<Json>,
    pub session: Option<String>,
    pub timeout: Option<Millis>,
    /// Maximum silence of the agent; absent means the provider's setting.
    pub silence: Option<Millis>,
    /// Maximum number of model calls.
    pub max_calls: Option<u32>,
    /// Money left in the budget, for providers that can enforce it themselves.
    pub money: Option<Usd>,
    /// Last known counters of the session (C-27).
    pub metered: Option<Meter>,
    /// Directory of the run for the provider's files: texts that arguments name, and raw output.
    pub scratch: String,
}

/// Counters that a provider keeps for a whole session instead of a turn, as last reported. Absent if it counts turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Last message that contains text.
    pub text: String,
    pub responses: Vec<String>,
    /// Structured value that matches the schema, if the provider supports structured output.
    pub structured: Option<Json>,
    /// Reason why an expected structured value is missing.
    pub structured_error: Option<String>,
    /// Session in which to continue.
    pub session: Option<String>,
    pub usage: Usage,
    pub cost: Option<Usd>,
    pub tools_used: Vec<ToolUse>,
    /// Number of denied tool uses.
    pub denied: u32,
    /// Session counters after the turn, if the provider counts sessions.
    pub metered: Option<Meter>,
    /// Warnings for a person, such as a lost part or a second end.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// Failure; a caller with a clock fills in `until`.
    pub failure: Failure,
    /// Delay before the next attempt, if the provider gave one.
    pub retry_after: Option<Millis>,
    /// Tokens spent despite the failure.
    pub usage: Usage,
    pub cost: Option<Usd>,
    /// Session that it had started.
    pub session: Option<String>,
    /// Session counters after the turn, if the provider counts sessions.
    pub metered: Option<Meter>,
    /// Text since the last tool use, before the failure.
    pub said: Option<String>,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            retry_after: None,
            usage: Usage::default(),
            cost: None,
            session: None,
            metered: None,
            said: None,
        }
    }
}

/// Result of a request to a provider.
pub type Answered = Result<Reply, Refusal>;

/// Progress of a running turn. Never journaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Text(String),
    ToolStarted(String),
    ToolFinished(String),
    /// The agent retries by itself.
    Retrying(String),
    /// A tool use of the agent was denied.
    Denied(String),
}
