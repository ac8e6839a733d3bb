//! A point where a person must answer before the run goes on.

use serde::{Deserialize, Serialize};

use crate::{Millis, Prompt};

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub question: Prompt,
    pub wants: Wants,
    #[serde(default)]
    pub mode: GateMode,
    /// When this much time has passed the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

/// What answer a gate takes. The labels are `yes`, `no` and `answered`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// Yes or no, with or without a text.
    YesNo,
    Text {
        max_chars: u32,
    },
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateMode {
    #[default]
    Person,
    /// Yes, always; recorded as such.
    Auto,
    /// A person, also under `--auto`: only in runs that an earlier version began.
    Insists,
}
