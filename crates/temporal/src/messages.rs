//! Everything that travels between a submission, the workflow of a run, and the workers. All of it is part of recorded
//! histories: a field is only ever added, with a default.

use std::collections::{BTreeMap, VecDeque};

use saihai::CallHistory;
use saihai_engine::Run;
use saihai_git::WorkRevision;
use saihai_model::{Effect, Fact, Label, Millis, Moment, PersonNote, Raise, ScriptAnswer, Start};
use serde::{Deserialize, Serialize};

/// Input of the workflow of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunInput {
    pub(crate) run: String,
    /// The address that workers fetch from.
    pub(crate) repository: String,
    /// The frozen workflow as JSON. The workflow code reads no file.
    pub(crate) workflow: String,
    pub(crate) start: Box<Start>,
    /// The commit to begin with.
    pub(crate) base: String,
    /// Answers that the script gives to gates.
    pub(crate) answers: Vec<ScriptAnswer>,
    pub(crate) auto: bool,
    pub(crate) scripted: bool,
    pub(crate) queues: Queues,
    /// A worker without a sign of life for this long is lost.
    pub(crate) lost_after: Millis,
    /// Events after which the run continues in a new history. Temporal warns at 10,240 and ends at 51,200.
    pub(crate) longest_history: u32,
    /// The state to continue with, if this is not the beginning.
    #[serde(default)]
    pub(crate) continued: Option<Box<ContinuedRun>>,
    /// Runs that wait for the same branch.
    #[serde(default)]
    pub(crate) waiting: VecDeque<RunInput>,
}

/// The names of the queues that workers of one engine version serve. A run keeps those of its start, so it finishes on
/// a compatible version (D-12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Queues {
    pub(crate) head: String,
    pub(crate) version: String,
}

impl Queues {
    pub(crate) fn of_this_version(head: &str) -> Self {
        Self { head: head.to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
    }

    /// The queue of workflows, and of effects that are short.
    pub(crate) fn control(&self) -> String {
        format!("{}-{}-control", self.head, self.version)
    }

    /// The queue of agents and commands.
    pub(crate) fn agents(&self) -> String {
        format!("{}-{}-agents", self.head, self.version)
    }

    /// The queue of one host, for agents that continue a session there.
    pub(crate) fn host(&self, host: &str) -> String {
        format!("{}-{}-host-{host}", self.head, self.version)
    }
}

/// The state of a run when its history became long.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContinuedRun {
    pub(crate) run: Run,
    pub(crate) history: CallHistory,
    pub(crate) revision: WorkRevision,
    pub(crate) hosts: BTreeMap<String, String>,
    /// Effects that have not started.
    pub(crate) due: VecDeque<Effect>,
    pub(crate) wake: Option<Moment>,
    /// True if a worker was lost since the last claim of the work.
    pub(crate) doubtful: bool,
    /// Signals that were not folded yet.
    pub(crate) signals: VecDeque<RunSignal>,
}

/// Input of an activity: one effect.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallInput {
    pub(crate) run: String,
    pub(crate) repository: String,
    pub(crate) revision: WorkRevision,
    /// True if the work must be claimed first: another machine may still hold it.
    pub(crate) claims: bool,
    /// True if the call can change files.
    pub(crate) edits: bool,
    pub(crate) effect: Effect,
    pub(crate) state: Run,
    pub(crate) history: CallHistory,
    pub(crate) lost_after: Millis,
}

/// Result of an activity. Texts are hashes, or short.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallReport {
    pub(crate) facts: Vec<Fact>,
    pub(crate) revision: WorkRevision,
    pub(crate) host: String,
}

/// A sign of life of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct CallPulse {
    pub(crate) host: String,
    pub(crate) revision: String,
    pub(crate) seconds: u64,
}

/// A message to the workflow of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum RunSignal {
    /// The answer to the open gate.
    Answer {
        label: Label,
        text: Option<String>,
    },
    Cancel {
        by: String,
    },
    Tell(PersonNote),
    Withdraw(u32),
    Resume(Raise),
    /// A request for this run. Another run of the same branch ignores it.
    To {
        run: String,
        request: Box<RunSignal>,
    },
    /// A worker came back with the result of an activity that counted as lost.
    Spooled {
        activity: String,
        report: Box<CallReport>,
    },
    /// A run for the same branch, to begin after this one.
    Enqueue(Box<RunInput>),
}

/// Result of the workflow of a run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RunEnd {
    pub(crate) run: String,
    pub(crate) outcome: String,
    /// The value of the ref with the work.
    pub(crate) revision: String,
}

/// Key of the memo with the id of the run that holds a branch.
pub(crate) const MEMO_RUN: &str = "run";
