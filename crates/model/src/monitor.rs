//! What is watched for while a run goes on.

use serde::{Deserialize, Serialize};

use crate::{StageId, Target};

/// A watch and its alarm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    pub watches: Watch,
    pub then: Alarm,
}

/// What happens on an alarm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alarm {
    /// The run goes there, whatever the exit would have said.
    Go(Target),
    /// The run is held, under this word.
    Hold(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// The history ends with these stages, so many times in a row.
    Cycle { stages: Vec<StageId>, times: u32 },
    /// So many rounds in a row published nothing.
    Silent { times: u32 },
    /// One stage, the same topic, message and text, so many times in a row.
    Same { times: u32 },
    /// One stage that led to itself more often than this in a row.
    SelfEntries { times: u32 },
}
