//! Scripted replies: what the `script` provider answers from.

use serde::{Deserialize, Serialize};

use crate::{Expectation, FailureClass, Json, Label, Millis, Moment, StageId, ToolUse, TurnId, Usage, Usd};

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// Whether a missing reply fails its turn and a left-over one the command.
    pub strict: bool,
    /// Whether replies that name a role win over those that do not, and an exhausted script answers something
    /// generic: the way of a foreign scenario file.
    pub lenient_roles: bool,
    pub replies: Vec<ScriptReply>,
    /// The task it was recorded with; stands where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// What is expected of a run that plays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// What is answered at gates, instead of by a person. The first that fits, as often as it fits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ScriptAnswer>,
    /// Whether it is played as if a person sat at the terminal; absent: as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// The run it was recorded from. What its replies change, they changed in the files of then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
}

/// A scripted answer at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptAnswer {
    pub gate: StageId,
    /// At which visits of it; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<Visits>,
    pub label: Label,
    /// What is said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl ScriptAnswer {
    /// Whether it is given at a visit of a gate.
    pub fn is_for(&self, gate: &StageId, visit: u32) -> bool {
        self.gate == *gate && self.visits.as_ref().is_none_or(|visits| visits.contains(visit))
    }
}

/// A scripted reply, or a scripted failure.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptReply {
    /// Where it stands in the script, for messages: `file:line:column`, or `generated`.
    pub origin: String,
    /// For whom; absent: for anyone.
    pub target: Option<Target>,
    /// For the turn of this role.
    pub role: Option<String>,
    /// At which visits of the stage; absent: any.
    pub visits: Option<Visits>,
    /// A linear-time regular expression the prompt must match.
    pub prompt: Option<String>,
    /// How often it may be used.
    pub times: Times,
    pub text: Option<String>,
    /// A structured value; alone it also fills the text.
    pub structured: Option<Json>,
    pub session: Option<String>,
    pub usage: Usage,
    pub cost: Option<Usd>,
    pub tools_used: Vec<ToolUse>,
    /// How often its model is called; absent: as often as it may be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// How long it takes, on the run's clock.
    pub delay: Option<Millis>,
    pub fail: Option<ScriptFailure>,
    /// It answers only to being stopped.
    pub hang: bool,
    pub writes: Vec<ScriptWrite>,
    pub edits: Vec<ScriptEdit>,
    pub runs: Vec<ScriptRun>,
    /// Pieces of text shown while it runs.
    pub progress: Vec<String>,
}

/// Whom a scripted reply is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub stage: StageId,
    /// Only this turn of it.
    pub turn: Option<TurnId>,
    pub judge: bool,
}

/// At which visits of a stage a reply is used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visits {
    These(Vec<u32>),
    From(u32),
}

impl Visits {
    /// Whether a visit is among them.
    pub fn contains(&self, visit: u32) -> bool {
        match self {
            Self::These(list) => list.contains(&visit),
            Self::From(first) => visit >= *first,
        }
    }
}

/// How often a scripted reply may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    Exactly(u32),
    /// As often as asked, also never.
    Always,
}

impl Default for Times {
    fn default() -> Self {
        Self::Exactly(1)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFailure {
    pub class: FailureClass,
    pub message: String,
    pub retry_after: Option<Millis>,
    pub until: Option<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptWrite {
    /// Relative to the working directory.
    pub path: String,
    pub content: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptEdit {
    /// Relative to the working directory.
    pub path: String,
    pub find: String,
    pub replace: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptRun {
    /// Its arguments, the program first; no shell.
    pub argv: Vec<String>,
    /// The exit code it must end with.
    pub exit: i32,
}
