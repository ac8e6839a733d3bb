//! Scripted replies for the `script` provider.

use serde::{Deserialize, Serialize};

use crate::{Expectation, FailureClass, Json, Label, Millis, Moment, StageId, ToolUse, TurnId, Usage, Usd};

#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
pub struct Script {
    /// True if a missing reply fails its turn, and an unused one fails the command.
    pub strict: bool,
    /// True for a foreign scenario file: replies with a role take precedence, and an exhausted script gives a generic
    /// reply.
    pub lenient_roles: bool,
    pub replies: Vec<ScriptReply>,
    /// Task of the recorded run; the default task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Expectation about a run that plays the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expect: Option<Expectation>,
    /// Answers at gates, in place of a person. The first match applies, any number of times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<ScriptAnswer>,
    /// True to play it as if a person sat at the terminal; absent: keep the actual state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactive: Option<bool>,
    /// Id of the recorded run. Its replies changed the files of that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<String>,
}

/// A scripted answer at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptAnswer {
    pub gate: StageId,
    /// Visits that it applies to; absent: any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<Visits>,
    pub label: Label,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl ScriptAnswer {
    /// Returns true if it applies to a visit of a gate.
    pub fn is_for(&self, gate: &StageId, visit: u32) -> bool {
        self.gate == *gate && self.visits.as_ref().is_none_or(|visits| visits.contains(visit))
    }
}

/// A scripted reply or failure.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ScriptReply {
    /// Position in the script, for messages: `file:line:column`, or `generated`.
    pub origin: String,
    /// Stage or turn that it is for; absent: any.
    pub target: Option<Target>,
    /// Role of the turn that it is for.
    pub role: Option<String>,
    /// Visits of the stage that it applies to; absent: any.
    pub visits: Option<Visits>,
    /// Linear-time regular expression that the prompt must match.
    pub prompt: Option<String>,
    pub times: Times,
    pub text: Option<String>,
    /// Structured value; alone it also fills the text.
    pub structured: Option<Json>,
    pub session: Option<String>,
    pub usage: Usage,
    pub cost: Option<Usd>,
    pub tools_used: Vec<ToolUse>,
    /// Number of model calls; absent: the maximum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u32>,
    /// Duration on the run's clock.
    pub delay: Option<Millis>,
    pub fail: Option<ScriptFailure>,
    /// True to reply only when stopped.
    pub hang: bool,
    pub writes: Vec<ScriptWrite>,
    pub edits: Vec<ScriptEdit>,
    pub runs: Vec<ScriptRun>,
    /// Pieces of text shown while it runs.
    pub progress: Vec<String>,
}

/// Stage or turn that a scripted reply is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    pub stage: StageId,
    /// Only this turn of the stage.
    pub turn: Option<TurnId>,
    pub judge: bool,
}

/// Visits of a stage that a reply applies to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visits {
    These(Vec<u32>),
    From(u32),
}

impl Visits {
    pub fn contains(&self, visit: u32) -> bool {
        match self {
            Self::These(list) => list.contains(&visit),
            Self::From(first) => visit >= *first,
        }
    }
}

/// Number of uses of a scripted reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Times {
    Exactly(u32),
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
    /// Arguments, the program first; no shell.
    pub argv: Vec<String>,
    pub exit: i32,
}
