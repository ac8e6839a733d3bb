//! Facts: all outside input of a run. A run is the fold over its facts.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    Budget, CallId, Cost, Failure, Json, Label, Meter, Millis, Moment, OutsideReason, ProviderName, Reading,
    StageId, Text, TextFile, TreeFact, Usage, Usd,
};

/// A fact and the time of its record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub at: Moment,
    pub fact: Fact,
}

/// An event outside the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    Started(Box<Start>),
    /// A prompt was rendered and is about to be sent.
    Asked {
        call: CallId,
        attempt: u32,
        /// Prompt; absent if it equals that of the previous attempt.
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
    /// Another process took over the run. All calls of the previous process are dead.
    Reopened,
    /// A person resumed the run.
    Resumed(Raise),
    /// The process received a stop request.
    Interrupted {
        by: String,
    },
    StorageFailed {
        /// Call whose result could not be saved, if any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        path: String,
        message: String,
    },
    Cancelled {
        by: String,
    },
    /// A person has a note for the agents.
    Told(PersonNote),
    /// The driver stopped and compared the files of the run with those at its start. Changes nothing.
    FilesCounted(FileChangeCounts),
    /// A person took a note back that no prompt had shown yet.
    Withdrawn {
        /// Number of the note in the run, from 1.
        note: u32,
    },
    /// An agent of the run started another run, whose budget comes out of this one's.
    Lent(BudgetLoan),
}

/// The budget of a run that an agent of another run started. It counts as spent there, from the start and as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetLoan {
    /// Id of the run that may spend it.
    pub run: String,
    pub cost: Cost,
}

/// Files that differ from the start of a run, and their lines, as git counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileChangeCounts {
    pub files: u64,
    pub added: u64,
    pub removed: u64,
}

/// A person's words to the agents of a run. The next prompt of its stage shows them. They change no rule, permission or
/// budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonNote {
    /// Heading above the words in the prompt, in their language.
    pub heading: String,
    pub text: String,
    /// Stage whose prompt shows them; absent: the next prompt of any stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<StageId>,
    /// True to stop the stage's running turns and ask them again with the words.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
}

impl PersonNote {
    /// Maximum length of the words, in characters.
    pub const MOST_CHARACTERS: usize = 10_000;
}

/// Start values of a run. The frozen workflow already includes the settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Start {
    /// Name of the definition as requested.
    pub definition: String,
    /// Dialect of the definition, for people only.
    pub dialect: String,
    pub task: Text,
    /// Seed for the run's random number generator.
    pub seed: u64,
    /// True if a person sat at the terminal.
    pub interactive: bool,
    /// True if no real agent was asked.
    pub rehearsal: bool,
    /// Longest wait before the run parks instead.
    pub patience: Millis,
    pub directory: String,
    /// Commit checked out there, or the empty tree before the first commit. Absent if the directory is created later,
    /// in rehearsals, and without git. Older versions recorded it only if a prompt shows changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Files with uncommitted changes at the start (the first of many), which `diff` does not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncommitted: Vec<String>,
    pub report_directory: String,
    /// Texts that prompts can show by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub subject: BTreeMap<String, Text>,
    /// Names frozen by the delivery.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Json>,
    /// Source files of its texts, if they are in files of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub texts: Vec<TextFile>,
    /// SHA-256 of the frozen workflow.
    pub workflow: String,
    /// Version of Saihai that started the run.
    pub version: String,
    /// Run that this one was forked from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
    #[serde(default, skip_serializing_if = "RunOrigin::is_plain")]
    pub origin: RunOrigin,
}

/// The agent behind the start of a run, if there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunOrigin {
    /// Random id of the request to `saihai mcp` that started the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_request: Option<String>,
    /// Turn of another run in which the run was started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentTurn>,
}

impl RunOrigin {
    /// Returns true for a run that a person or a script started by its command.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A turn whose agent started another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParentTurn {
    pub run: String,
    pub call: String,
    /// Directory of the parent run, which may belong to another worktree.
    pub directory: String,
}

/// The first own fact of a forked run is an interruption by this name. Earlier records belong to the original.
pub const FORKED: &str = "fork";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Replied {
    pub call: CallId,
    /// Provider that replied; absent in older journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    pub text: Text,
    /// All messages, if more than the final text is carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoken: Option<Text>,
    /// Length of each message in `spoken`, in bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<u64>,
    /// All messages of the round so far, if this reply is a correction and all messages are carried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub so_far: Option<Text>,
    /// Session in which to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools_used: Vec<ToolUsed>,
    /// Session counters after the turn, if the provider counts sessions (C-27).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Meter>,
    /// Number of denied tool uses.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub denied: u32,
    pub duration: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// True if the reply came from the cache.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cached: bool,
    /// Files after the turn, if a breaker compares them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeFact>,
    pub reading: Reading,
}

/// A recorded tool use: short values inline, long ones as blobs (C-20).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolUsed {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// Input as JSON, if it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_input: Option<Text>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Output as JSON, if it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_output: Option<Text>,
    #[serde(default)]
    pub duration_ms: u64,
}

impl ToolUsed {
    /// Inputs and outputs whose JSON is longer than this become blobs.
    pub const INLINE_LIMIT: usize = 4 * 1024;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallFailed {
    pub call: CallId,
    pub failure: Failure,
    /// Provider that was asked; absent if none could be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// Tokens spent despite the failure.
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Usd>,
    /// Session that it had started. Never continued; it only keeps the accounts right (C-38).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Session counters after the turn, if the provider counts sessions (C-27).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metered: Option<Meter>,
    /// Output found in the text before the failure, if the turn asks for structured output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

impl CallFailed {
    /// Creates a failed attempt without any cost.
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

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Label>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        output: BTreeMap<String, Json>,
    },
    NotYet,
    /// Ask again later; the reason is shown as progress.
    Delayed {
        reason: OutsideReason,
    },
    /// Something outside must change first.
    Waiting {
        reason: OutsideReason,
    },
    Failed(Failure),
}

/// An answer at a gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    pub call: CallId,
    pub by: AnsweredBy,
    pub label: Label,
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

/// Changes by a person who resumes a run. Limits are new totals for the whole run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Raise {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u32>,
    #[serde(default, skip_serializing_if = "Budget::is_unlimited")]
    pub budget: Budget,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Millis>,
    /// Longest wait before the run parks instead.
    pub patience: Millis,
    /// True to skip the wait for a wake-up time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub now: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
