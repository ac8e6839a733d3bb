//! Gates: points where a person must answer before the run continues.

use serde::{Deserialize, Serialize};

use crate::{Millis, Prompt};

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gate {
    pub question: Prompt,
    pub wants: Wants,
    #[serde(default)]
    pub mode: GateMode,
    /// After this time the answer is no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Millis>,
}

/// Kind of answer that a gate accepts. The labels are `yes`, `no` and `answered`.
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
    /// Always yes, and recorded as automatic.
    Auto,
    /// A person, also under `--auto`. Only in runs of earlier versions.
    Insists,
}
