//! Facts: everything from outside that a run is a fold over.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Budget, CallId, Failure, Json, Label, Meter, Millis, Moment, ProviderName, Reading, Text, TextFile,
    Usage, Usd,
};

/// A fact and when it was recorded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub at: Moment,
    pub fact: Fact,
}

/// Something that happened outside the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Started(Box<Start>),
    /// A prompt was rendered and is about to be sent.
    Asked {
        call: CallId,
        attempt: u32,
        /// The prompt; absent when it is that of the attempt before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Text>,
    },
    Replied(Box<Replied>),
    Failed(Box<CallFailed>),
    Performed {
        call: CallId,
        outcome: Outcome,
    },
    Answered(Answer),
    Woke,
    /// Another process has taken the run over: whatever was under way has died with the one before.
    Reopened,
    /// Somebody asked for the run to go on.
    Resumed(Raise),
    /// The process was asked to stop.
    Interrupted {
        /// By what: `ctrl-c`, `sigterm`, …
        by: String,
    },
    /// Something could not be written.
    StorageFailed {
        /// The call whose result could not be kept, if it was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        path: String,
        message: String,
    },
    Cancelled {
        by: String,
    },
}

/// With what a run begins. Settings are already part of the frozen workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// The definition's name as it was asked for.
    pub definition: String,
    /// The dialect it was written in, for people only.
    pub dialect: String,
    pub task: Text,
    /// Where all chance of this run comes from.
    pub seed: u64,
    /// Whether a person sat at the terminal.
    pub interactive: bool,
    /// Whether no agent was really asked.
    pub rehearsal: bool,
    /// The longest wait that is sat out instead of parking.
    pub patience: Millis,
    pub directory: String,
    /// The commit that was checked out there; before the first one, the tree that holds nothing. Absent where nobody is
    /// shown what has changed, where the directory is only made later, and without git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    pub report_directory: String,
    /// Texts that prompts can show by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub subject: BTreeMap<String, Text>,
    /// Names that delivery has frozen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Json>,
    /// The files its texts came from, where they stand in files of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<TextFile>,
    /// SHA-256 of the frozen workflow.
    pub workflow: String,
    /// The version of Saihai that began it.
    pub version: String,
    /// The run this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replied {
    pub call: CallId,
    /// Who replied; absent in journals of before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    pub text: Text,
    /// Everything that was said, where more than the final text is carried on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken: Option<Text>,
    /// The length of each message it is joined of, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<u64>,
    /// Everything that was said in its round with it, where it corrects a reply and all that is said is carried on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub so_far: Option<Text>,
    /// The session it can be continued in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_used: Vec<ToolUsed>,
    /// The session's counters after it, where the provider counts sessions (C-27).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Meter>,
    /// How often it was denied something.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u32,
    pub duration: Millis,
    /// The revision its work left behind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Nobody was asked: the same had been asked before, and the answer was kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// What was found in it.
    pub reading: Reading,
}

/// One use of a tool, as it is kept: what is short in itself, what is long as a blob (C-20).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsed {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// The same where it is long: its JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_input: Option<Text>,
    /// What it answered, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// The same where it is long: its JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_output: Option<Text>,
    #[serde(default)]
    pub duration_ms: u64,
}

impl ToolUsed {
    /// What it was given and answered is kept as a blob where its JSON is longer than this.
    pub const INLINE_LIMIT: usize = 4 * 1024;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFailed {
    pub call: CallId,
    pub failure: Failure,
    /// Who was asked; absent where nobody could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// Tokens it spent all the same.
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// The session it had begun. Never continued: what is known of it only keeps the accounts right (C-38).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The session's counters after it, where the provider counts sessions (C-27).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Meter>,
    /// What was found in what it had said by then, where something in a form is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

impl CallFailed {
    /// An attempt that failed before anything could be spent.
    pub fn new(call: CallId, failure: Failure) -> Self {
        Self {
            call,
            failure,
            provider: None,
            usage: Usage::default(),
            cost: None,
            session: None,
            metered: None,
            output: None,
        }
    }
}

/// What came of an action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done {
        /// What it says to the exit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Label>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        output: BTreeMap<String, Json>,
    },
    NotYet,
    /// Ask again later, and whoever watches is told why.
    Delayed {
        reason: String,
    },
    /// Something outside must change first.
    Waiting {
        reason: String,
    },
    /// It could not be done.
    Failed(Failure),
}

/// An answer at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub call: CallId,
    pub by: AnsweredBy,
    pub label: Label,
    /// What was said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    Person,
    Auto,
    Timeout,
    Script,
}

/// What a person changes when a run is resumed. Limits are new totals for the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raise {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    /// Time the run is driven.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Millis>,
    /// The longest wait that is sat out instead of parking.
    pub patience: Millis,
    /// Do not wait for a wake-up time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
