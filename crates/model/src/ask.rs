//! What crosses the boundary to a provider, and what comes back.

use serde::{Deserialize, Serialize};

use crate::{
    CallId, Failure, Json, Millis, Permission, Place, ProviderName, Purpose, StageId, ToolUse, TurnId, Usage,
    Usd,
};

/// One prompt, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The run it belongs to.
    pub run: String,
    pub call: CallId,
    pub stage: StageId,
    /// The turn it is, or is about; absent for the question of an exit.
    pub turn: Option<TurnId>,
    /// Where its result belongs: whether it is work or a question, also when it is corrected.
    pub place: Place,
    pub purpose: Purpose,
    pub attempt: u32,
    pub role: Option<String>,
    pub directory: String,
    /// Whether what lies there may be a stranger's: then an agent program goes by nothing it would find there by itself,
    /// neither settings nor instructions, as far as it can be kept from them.
    pub foreign: bool,
    pub prompt: String,
    pub persona: Option<String>,
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
    /// How long the agent may say nothing; absent is as its provider is set.
    pub silence: Option<Millis>,
    /// The most model calls inside it.
    pub max_calls: Option<u32>,
    /// What is left of a budget in money, for providers that can keep to it themselves.
    pub money: Option<Usd>,
    /// What the provider had counted for the session when it was last heard of (C-27).
    pub metered: Option<Meter>,
    /// A directory of the run where the provider may put files: texts that are named in arguments, what was said raw.
    pub scratch: String,
}

/// What a provider counts over a whole session instead of for a turn, as it was last reported. Absent where it counts
/// turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The last message with text in it.
    pub text: String,
    pub responses: Vec<String>,
    /// The structured value, where the provider has a slot for it and it is what the schema asks for.
    pub structured: Option<Json>,
    /// Where there should be one and is not: why.
    pub structured_error: Option<String>,
    /// The session it can be continued in.
    pub session: Option<String>,
    pub usage: Usage,
    pub cost: Option<Usd>,
    pub tools_used: Vec<ToolUse>,
    /// How often it was denied something.
    pub denied: u32,
    /// The session's counters after it, where the provider counts sessions.
    pub metered: Option<Meter>,
    /// What a person should know of it: a lost part, a second end.
    pub warnings: Vec<String>,
}

/// An attempt that came to nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct Refusal {
    /// How it failed; `until` is filled in by whoever has a clock.
    pub failure: Failure,
    /// How long to wait before asking again, if the provider said so.
    pub retry_after: Option<Millis>,
    /// Tokens it spent all the same.
    pub usage: Usage,
    pub cost: Option<Usd>,
    /// The session it had begun.
    pub session: Option<String>,
    /// The session's counters after it, where the provider counts sessions.
    pub metered: Option<Meter>,
    /// What was said before it failed, since the last tool.
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

/// What a provider gives back.
pub type Answered = Result<Reply, Refusal>;

/// What can be seen of a turn while it runs. Never journaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Text(String),
    ToolStarted(String),
    ToolFinished(String),
    /// The agent tries again by itself.
    Retrying(String),
    /// The agent was denied something.
    Denied(String),
}
