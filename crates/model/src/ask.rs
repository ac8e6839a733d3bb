//! What crosses the boundary to a provider, and what comes back.

use crate::{
    CallId, Failure, Json, Millis, Permission, Place, ProviderName, Purpose, StageId, ToolUse, TurnId, Usage,
    Usd,
};

/// One prompt, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// The run it belongs to.
    pub run: String,
    /// The call.
    pub call: CallId,
    /// The stage.
    pub stage: StageId,
    /// The turn it is, or is about; absent for the question of an exit.
    pub turn: Option<TurnId>,
    /// Where its result belongs: whether it is work or a question, also when it is corrected.
    pub place: Place,
    /// Why.
    pub purpose: Purpose,
    /// Which attempt.
    pub attempt: u32,
    /// The role's short name.
    pub role: Option<String>,
    /// Where the agent works.
    pub directory: String,
    /// What is said.
    pub prompt: String,
    /// For the system slot.
    pub persona: Option<String>,
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
}

/// What an agent said.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// The last message with text in it.
    pub text: String,
    /// Every message, in order.
    pub responses: Vec<String>,
    /// The structured value, where the provider has a slot for it.
    pub structured: Option<Json>,
    /// The session it can be continued in.
    pub session: Option<String>,
    /// Tokens.
    pub usage: Usage,
    /// Money.
    pub cost: Option<Usd>,
    /// Tools it used.
    pub tools_used: Vec<ToolUse>,
    /// How often it was denied something.
    pub denied: u32,
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
    /// Money likewise.
    pub cost: Option<Usd>,
    /// The session it had begun.
    pub session: Option<String>,
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self { failure, retry_after: None, usage: Usage::default(), cost: None, session: None }
    }
}

/// What a provider gives back.
pub type Answered = Result<Reply, Refusal>;

/// What can be seen of a turn while it runs. Never journaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    /// More text.
    Text(String),
    /// A tool was started.
    ToolStarted(String),
    /// A tool has ended.
    ToolFinished(String),
    /// The agent tries again by itself.
    Retrying(String),
    /// The agent was denied something.
    Denied(String),
}
