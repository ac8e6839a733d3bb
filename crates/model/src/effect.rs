//! Requests to the outside: asks, actions and gates.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, Millis, Moment, ProviderName, Purpose, RoundPosition, StageId, TurnId};
use crate::money::{ToolUse, Usage, Usd};
use crate::reading::{ReplyBlock, ReportLocation};
use crate::workflow::{GateMode, Permission, Wants};

use crate::{
    Decision, Draft, Failure, Json, ProgramCommand, ProgramExit, Text, VerdictTool, VerdictToolResult,
};

/// A request to the outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Append the decision in the batch of its fact, before any other effect.
    Record(Decision),
    Ask(Box<Request>),
    Perform(Box<Performance>),
    /// Show a gate; the answer arrives as a fact.
    OpenGate(Box<OpenGate>),
    /// Send a wake-up fact at this time.
    Wake {
        at: Moment,
    },
    /// Stop a call; its failure (or a reply already read) still arrives.
    Stop {
        call: CallId,
    },
}

/// A request to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    pub call: CallId,
    pub place: RoundPosition,
    pub purpose: Purpose,
    pub attempt: u32,
    /// The turn it belongs to; absent for the question of an exit.
    pub turn: Option<TurnId>,
    pub title: String,
    pub role: Option<String>,
    /// Draft to render and send; if absent, `prompt` is sent again unchanged.
    pub draft: Option<Draft>,
    /// Prompt of the previous attempt.
    pub prompt: Option<Text>,
    pub persona: Option<Text>,
    pub provider: ProviderName,
    /// Program to run instead of asking the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<ProgramCommand>>,
    pub model: Option<String>,
    pub permission: Permission,
    /// Tools visible to the agent.
    pub tools: Option<Vec<String>>,
    /// JSON Schema of a structured answer.
    pub schema: Option<Json>,
    pub session: Option<String>,
    pub timeout: Option<Millis>,
    /// Maximum number of model calls.
    pub max_calls: Option<u32>,
    /// Money left in the budget after the reservations of running calls.
    pub money: Option<Usd>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Performance {
    pub call: CallId,
    pub action: ActionSpec,
    pub given: ActionInput,
    /// True if it may already have happened: check first.
    pub look_up: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionInput {
    Outputs(BTreeMap<String, Json>),
    /// A reply and the reports in it.
    Reports {
        text: Text,
        found: Vec<ReportLocation>,
        /// SHA-256 of the version last saved under each name, to detect files that an agent wrote itself.
        last: BTreeMap<String, String>,
    },
    /// Block that requested the action.
    Block(ReplyBlock),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenGate {
    pub call: CallId,
    pub title: String,
    pub question: Draft,
    pub wants: Wants,
    pub mode: GateMode,
}

/// An action, its inputs and its repeat policy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ActionSpec {
    pub does: Action,
    /// Stage outputs that it receives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<(StageId, String)>,
    /// Policy for an action whose result is unknown.
    pub once: Once,
    /// Repeats the action while its result is "not yet".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
}

/// Policy for an action whose result is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Once {
    ReadOnly,
    /// It sets something to a value: repeat it.
    SetToValue,
    /// Check first if it has already happened.
    LookUpFirst,
}

/// Polling policy of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Poll {
    pub every: Millis,
    pub at_most: Millis,
    /// Reason for the hold after a timeout; if absent, the action ends with the label `timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Run a program; the labels are those of [`CommandVerdict`].
    Command {
        argv: Vec<String>,
        timeout: Millis,
        /// Extra input, next to the state of the run, for a completion command.
        #[serde(default, skip_serializing_if = "Json::is_null")]
        input: Json,
        #[serde(default)]
        told: CommandVerdict,
        /// File that names the program, if the program is not a file of the definition.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        written: Option<String>,
    },
    /// Check the issue; labels `reached`, `open`.
    IssueState,
    /// Check a file below the working directory; labels `reached`, `open`.
    FileState {
        path: String,
        /// True to wait until the file is gone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        absent: bool,
    },
    /// Save the reports found in a reply.
    SaveReports,
    /// Write the `content` of a block into a file below the working directory.
    WriteFile {
        /// Path, if the block has no `filename`.
        path: String,
        /// True to append, if the block has no `mode`.
        append: bool,
    },
    Log,
    OpenIssue,
    Comment,
    /// Mark the issue as done: close it, or only change its labels. Label `ok`.
    CloseIssue {
        close: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        add: Vec<String>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        remove: Vec<String>,
    },
    Worktree,
    Finalize,
    Push,
    PullRequest,
    Checks,
    Merge,
    /// Remove files and branches that are no longer needed.
    CleanUp,
    /// Fold the findings into one report.
    ReviewReport {
        settings: Json,
    },
}

/// Interpretation of a program's result.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandVerdict {
    /// `ok` for the exit code 0, else `failed`.
    #[default]
    ByExitCode,
    /// `ok` if it prints nothing, else `failed`.
    BySilence,
    /// `ok` if it prints something, else `failed`.
    ByOutput,
    /// `reached` or `open`, from the printed object `{"complete": …, "reason": …}`; otherwise `broken`.
    ByAnswer,
}

impl Action {
    /// Returns true if it accesses an issue.
    pub fn is_about_issue(&self) -> bool {
        matches!(self, Self::IssueState | Self::OpenIssue | Self::Comment | Self::CloseIssue { .. })
    }

    /// Returns true if it checks a state that may hold before any work is done.
    pub fn is_state(&self) -> bool {
        matches!(self, Self::IssueState | Self::FileState { .. })
    }
}

/// A prompt, ready to send.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    pub run: String,
    pub call: CallId,
    pub stage: StageId,
    /// The turn it belongs to; absent for the question of an exit.
    pub turn: Option<TurnId>,
    /// Place of its result. Tells work from questions, also in a correction.
    pub place: RoundPosition,
    pub purpose: Purpose,
    pub attempt: u32,
    pub role: Option<String>,
    pub directory: String,
    /// True if the directory may contain files of a stranger. The agent program then ignores settings and instructions
    /// that it finds there, as far as Saihai can make it.
    pub foreign: bool,
    /// True if the run is a rehearsal: no program runs.
    pub rehearsal: bool,
    pub prompt: String,
    pub persona: Option<String>,
    pub provider: ProviderName,
    /// Program to run instead of asking the provider.
    pub program: Option<Box<ProgramCommand>>,
    pub model: Option<String>,
    pub permission: Permission,
    /// Tools visible to the agent.
    pub tools: Option<Vec<String>>,
    /// JSON Schema of a structured answer.
    pub schema: Option<Json>,
    /// Verdict tool to offer, if the label can come from it.
    pub verdict: Option<VerdictTool>,
    pub session: Option<String>,
    pub timeout: Option<Millis>,
    /// Maximum silence of the agent; absent means the provider's setting.
    pub silence: Option<Millis>,
    /// Maximum number of model calls.
    pub max_calls: Option<u32>,
    /// Money left in the budget, for providers that can enforce it themselves.
    pub money: Option<Usd>,
    /// Last known counters of the session (C-27).
    pub metered: Option<Meter>,
    /// Directory of the run for the provider's files: texts that arguments name, and raw output.
    pub scratch: String,
    /// Trace context of the attempt, for agents that write spans of their own.
    pub traceparent: Option<String>,
}

/// Counters that a provider keeps for a whole session instead of a turn, as last reported. Absent if it counts turns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Meter {
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// Last message that contains text.
    pub text: String,
    pub responses: Vec<String>,
    /// Structured value that matches the schema, if the provider supports structured output.
    pub structured: Option<Json>,
    /// Reason why an expected structured value is missing.
    pub structured_error: Option<String>,
    /// Result of the verdict tool, if the ask has one.
    pub verdict: Option<VerdictToolResult>,
    /// End of the program, if a program did the turn.
    pub exit: Option<ProgramExit>,
    /// Session in which to continue.
    pub session: Option<String>,
    pub usage: Usage,
    pub cost: Option<Usd>,
    pub tools_used: Vec<ToolUse>,
    /// Number of denied tool uses.
    pub denied: u32,
    /// Session counters after the turn, if the provider counts sessions.
    pub metered: Option<Meter>,
    /// Warnings for a person, such as a lost part or a second end.
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ProviderRefusal {
    /// Failure; a caller with a clock fills in `until`.
    pub failure: Failure,
    /// Delay before the next attempt, if the provider gave one.
    pub retry_after: Option<Millis>,
    /// Tokens spent despite the failure.
    pub usage: Usage,
    pub cost: Option<Usd>,
    /// Session that it had started.
    pub session: Option<String>,
    /// Session counters after the turn, if the provider counts sessions.
    pub metered: Option<Meter>,
    /// Text since the last tool use, before the failure.
    pub said: Option<String>,
}

impl From<Failure> for ProviderRefusal {
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

/// Result of a request to a provider.
pub type ProviderAnswer = Result<Reply, ProviderRefusal>;

/// Progress of a running turn. Never journaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Progress {
    Text(String),
    ToolStarted(String),
    ToolFinished(String),
    /// The agent retries by itself.
    Retrying(String),
    /// A tool use of the agent was denied.
    Denied(String),
}
