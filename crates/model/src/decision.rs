//! Decisions: what the engine concluded. Written beside the fact that caused them and compared on replay; they
//! never change state, and they hold codes and numbers, never prose.

use serde::{Deserialize, Serialize};

use crate::{CallId, Ending, Found, Hold, Label, Moment, Place, ProviderName, Purpose, StageId, Topic};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Entered {
        stage: StageId,
        visit: u32,
        /// How often in a row.
        consecutive: u32,
    },
    Round {
        round: u32,
        iteration: u32,
    },
    Called {
        call: CallId,
        place: Place,
        /// Why an agent is asked; absent for gates and actions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        purpose: Option<Purpose>,
    },
    /// An output is to be corrected.
    Correct {
        call: CallId,
        violations: Vec<String>,
    },
    /// A call is tried again.
    Retry {
        call: CallId,
        attempt: u32,
        not_before: Moment,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<ProviderName>,
        /// Without the session it had.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_session: bool,
    },
    /// A fall-back was passed over: it cannot hold an agent to the permission (C-35).
    Unfit {
        call: CallId,
        provider: ProviderName,
    },
    /// A call whose process died is made again.
    Repeated {
        call: CallId,
        attempt: u32,
    },
    /// Reports were found and will be saved.
    Reports {
        call: CallId,
        /// Which, and how each was found.
        found: Vec<Found>,
    },
    Alarm {
        /// Which, by its place in the definition.
        monitor: usize,
        /// The count that set it off.
        count: u32,
        /// What the exit would have gone by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        overrode: Option<Label>,
    },
    /// A stage was left, or goes round again.
    Exited {
        stage: StageId,
        verdict: Verdict,
    },
    /// A closing word was refused.
    Refused {
        missing: Vec<Topic>,
    },
    /// A published topic did not go the way its definition foresees.
    Remarked {
        topic: Topic,
        /// What is remarkable about it.
        remark: Remark,
    },
    /// A stage took no more visits.
    Exhausted {
        stage: StageId,
        /// What was published about it.
        topic: Topic,
        /// Who takes its place; absent where the run is held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<StageId>,
    },
    /// The run is held and nothing is under way.
    Parked {
        hold: Hold,
    },
    Finished {
        ending: Ending,
    },
}

/// What is remarkable about a published topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    Orphaned,
    /// Whoever published it did not declare it.
    Undeclared,
    /// The same, and therefore it leads nowhere.
    OutOfScope,
}

/// What judgment says of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    pub by: By,
    /// Each turn's label, in order; what a lone turn, gate or action said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Option<Label>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    pub to: Destination,
}

/// By which method a verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// There was only one way.
    Only,
    Tag,
    /// A field of the output.
    Field,
    /// How bad what was found is.
    Findings,
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    Stage(StageId),
    Again,
    Complete,
    End(Ending),
}
