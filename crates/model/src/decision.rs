//! Decisions: the engine's conclusions. The journal stores them next to the fact that caused them, and replay compares
//! them. They never change state. They hold codes and numbers, never prose.

use serde::{Deserialize, Serialize};

use crate::{
    CallId, Ending, Hold, Label, Moment, ProviderName, Purpose, ReportLocation, RoundPosition, StageId,
    StallConsequence, StallEvidence, Topic,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Entered {
        stage: StageId,
        visit: u32,
        /// Number of entries in a row.
        consecutive: u32,
    },
    Round {
        round: u32,
        iteration: u32,
    },
    Called {
        call: CallId,
        place: RoundPosition,
        /// Purpose of a call to an agent; absent for gates and actions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        purpose: Option<Purpose>,
    },
    /// An output needs a correction.
    Correct {
        call: CallId,
        violations: Vec<String>,
    },
    /// The engine retries a call.
    Retry {
        call: CallId,
        attempt: u32,
        not_before: Moment,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<ProviderName>,
        /// True to drop its session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_session: bool,
    },
    /// A fallback provider was skipped: it cannot enforce the permission (C-35).
    Unfit {
        call: CallId,
        provider: ProviderName,
    },
    /// The prompt of a call shows notes of a person.
    Noted {
        call: CallId,
        /// Numbers of the notes in the run, from 1.
        notes: Vec<u32>,
    },
    /// A call whose process died is repeated.
    Repeated {
        call: CallId,
        attempt: u32,
    },
    /// Reports were found and will be saved.
    Reports {
        call: CallId,
        /// The reports and the clue for each.
        found: Vec<ReportLocation>,
    },
    Alarm {
        /// Index of the monitor in the definition.
        monitor: usize,
        count: u32,
        /// Label that the exit would have used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overrode: Option<Label>,
    },
    /// A stage was left or repeats.
    Exited {
        stage: StageId,
        verdict: Verdict,
    },
    /// A closing word was refused.
    Refused {
        missing: Vec<Topic>,
    },
    /// A published topic did not follow its definition.
    Remarked {
        topic: Topic,
        remark: Remark,
    },
    /// A stage reached its visit limit.
    Exhausted {
        stage: StageId,
        topic: Topic,
        /// Substitute stage; absent if the run is held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<StageId>,
    },
    /// A cycle makes no progress.
    Stalled {
        evidence: StallEvidence,
        then: StallConsequence,
    },
    /// The run is held and no call is running.
    Parked {
        hold: Hold,
    },
    Finished {
        ending: Ending,
    },
}

/// Deviation of a published topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    Orphaned,
    /// The publisher did not declare it.
    Undeclared,
    /// The publisher did not declare it, so it leads nowhere.
    OutOfScope,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub by: By,
    /// Label of each turn in order, or of the only turn, gate or action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Option<Label>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    pub to: Destination,
}

/// Method that reached a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// There was only one exit.
    Only,
    /// A call of the verdict tool.
    Tool,
    Tag,
    /// A field of the output.
    Field,
    /// The severity of the findings.
    Findings,
    /// The exit code of a program.
    ExitCode,
    Judge,
    /// The labels of several turns.
    Aggregate,
    /// A published event or a closing word.
    Directive,
    Answer,
    /// The result of an action.
    Result,
    Monitor,
    Condition,
    NoMatch,
    Limit,
    Output,
    /// A rule about a stalled cycle.
    Stalled,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    Stage(StageId),
    Again,
    Complete,
    End(Ending),
}
