//! Monitors: conditions that the engine watches for during a run.

use serde::{Deserialize, Serialize};

use crate::{StageId, Target};

/// A watched condition and its alarm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Monitor {
    pub watches: Watch,
    pub then: Alarm,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alarm {
    /// Redirect the run there, regardless of the exit.
    Go(Target),
    /// Hold the run with this reason.
    Hold(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// The history ends with these stages, `times` times in a row.
    Cycle { stages: Vec<StageId>, times: u32 },
    /// This many rounds in a row published nothing.
    Silent { times: u32 },
    /// One stage repeated the same topic, message and text this many times in a row.
    Same { times: u32 },
    /// One stage led to itself more often than this in a row.
    SelfEntries { times: u32 },
}
