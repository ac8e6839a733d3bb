//! A turn: one prompt to one agent and its reply.

use serde::{Deserialize, Serialize};

use crate::{Millis, Prompt, ProviderName, Reads, SessionKey, StageId, Text, TurnId, Usd};

/// What a turn asks, of whom, and what is looked for in the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// Its name within the stage.
    pub id: TurnId,
    pub title: String,
    /// What it is for, in its author's words; shown to people, never to agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The role for a provider's system slot. Empty where the prompt itself begins with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Text>,
    /// The role's short name, for scripts that answer by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub prompt: Prompt,
    pub provider: ProviderName,
    /// With which model; absent is the provider's own default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the agent may do.
    pub permission: Permission,
    /// What the definition asked for, where a ceiling lowered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_permission: Option<Permission>,
    /// The tools it may see; absent is the provider's default, empty is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    pub session: SessionPolicy,
    /// The deadline of one attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// The deadline of all attempts, waits and corrections together: then it is over, and nobody waits for longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Millis>,
    /// The most model calls inside the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// What a turn costs before any has been settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Usd>,
    /// Outputs of stages without which it is not asked: where one is missing the run fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<(StageId, String)>,
    /// Stands above its output where outputs of several turns are combined.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// What is looked for in the reply.
    #[serde(default)]
    pub reads: Reads,
}

/// What an agent may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    ReadOnly,
    /// Change files in its working directory.
    Edit {
        /// And run commands there unasked.
        commands: bool,
    },
    Full,
}

impl Permission {
    /// All of them, the smallest first.
    pub const ALL: [Self; 4] =
        [Self::ReadOnly, Self::Edit { commands: false }, Self::Edit { commands: true }, Self::Full];

    #[must_use]
    pub fn at_most(self, ceiling: Self) -> Self {
        if self.rank() <= ceiling.rank() { self } else { ceiling }
    }

    fn rank(self) -> u8 {
        match self {
            Self::ReadOnly => 0,
            Self::Edit { commands: false } => 1,
            Self::Edit { commands: true } => 2,
            Self::Full => 3,
        }
    }

    /// The level's word in settings and environments: `readonly`, `edit-only`, `edit`, `full`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readonly",
            Self::Edit { commands: false } => "edit-only",
            Self::Edit { commands: true } => "edit",
            Self::Full => "full",
        }
    }
}

/// In which provider session a turn is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPolicy {
    Fresh,
    /// A new one, kept under this key for the turns that continue it.
    Renew(SessionKey),
    /// The last one kept under this key, or a new one if there is none.
    Continue(SessionKey),
}
