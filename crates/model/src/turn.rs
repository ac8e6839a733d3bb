//! A turn: one prompt to one agent and its reply.

use serde::{Deserialize, Serialize};

use crate::{Millis, Prompt, ProviderName, Reads, SessionKey, StageId, Text, TurnId, Usd};

/// Prompt, provider and expected contents of the reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub id: TurnId,
    pub title: String,
    /// Purpose in its author's words; shown to people, never to agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Role for a provider's system slot. Empty if the prompt itself starts with the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<Text>,
    /// Short name of the role, for scripts that match by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    pub prompt: Prompt,
    pub provider: ProviderName,
    /// Model; absent: the provider's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub permission: Permission,
    /// Permission in the definition, if a ceiling lowered it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_permission: Option<Permission>,
    /// Visible tools; absent: the provider's default; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    pub session: SessionPolicy,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
    /// Deadline of all attempts, waits and corrections together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Millis>,
    /// Maximum number of model calls inside the turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_calls: Option<u32>,
    /// Estimated price until a first turn is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Usd>,
    /// Required stage outputs. If one is missing, the run fails.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<(StageId, String)>,
    /// Heading above its output in a combination of several turns.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub heading: String,
    /// Parts to extract from the reply.
    #[serde(default)]
    pub reads: Reads,
}

/// Permission level of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permission {
    ReadOnly,
    /// Change files in its working directory.
    Edit {
        /// True to also run commands there without asking.
        commands: bool,
    },
    Full,
}

impl Permission {
    /// All levels, the lowest first.
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

    /// Returns the name in settings and environment variables: `readonly`, `edit-only`, `edit`, `full`.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "readonly",
            Self::Edit { commands: false } => "edit-only",
            Self::Edit { commands: true } => "edit",
            Self::Full => "full",
        }
    }
}

/// Provider session of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionPolicy {
    Fresh,
    /// A new one, kept under this key for the turns that continue it.
    Renew(SessionKey),
    /// The last one kept under this key, or a new one if there is none.
    Continue(SessionKey),
}
