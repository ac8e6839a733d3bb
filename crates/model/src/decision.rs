//! Decisions: what the engine concluded. Written beside the fact that caused them and compared on replay; they
//! never change state, and they hold codes and numbers, never prose.

use serde::{Deserialize, Serialize};

use crate::{CallId, Ending, Found, Hold, Label, Moment, Place, ProviderName, Purpose, StageId, Topic};

/// Something the engine concluded.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A stage was entered.
    Entered {
        /// Which.
        stage: StageId,
        /// Its visit number.
        visit: u32,
        /// How often in a row.
        consecutive: u32,
    },
    /// A round was counted.
    Round {
        /// Of the visit.
        round: u32,
        /// Of the run.
        iteration: u32,
    },
    /// A call was made.
    Called {
        /// Which.
        call: CallId,
        /// Where its result belongs.
        place: Place,
        /// Why an agent is asked; absent for gates and actions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        purpose: Option<Purpose>,
    },
    /// An output is to be corrected.
    Correct {
        /// By which call.
        call: CallId,
        /// What is wrong.
        violations: Vec<String>,
    },
    /// A call is tried again.
    Retry {
        /// Which.
        call: CallId,
        /// Its next attempt.
        attempt: u32,
        /// Not before.
        not_before: Moment,
        /// By somebody else.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<ProviderName>,
        /// Without the session it had.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        new_session: bool,
    },
    /// A fall-back was passed over: it cannot hold an agent to the permission (C-35).
    Unfit {
        /// For which call.
        call: CallId,
        /// Who.
        provider: ProviderName,
    },
    /// A call whose process died is made again.
    Repeated {
        /// Which.
        call: CallId,
        /// Its next attempt.
        attempt: u32,
    },
    /// Reports were found and will be saved.
    Reports {
        /// By which call.
        call: CallId,
        /// Which, and how each was found.
        found: Vec<Found>,
    },
    /// A monitor fired.
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
        /// Which.
        stage: StageId,
        /// How.
        verdict: Verdict,
    },
    /// A closing word was refused.
    Refused {
        /// Topics not published yet.
        missing: Vec<Topic>,
    },
    /// A published topic did not go the way its definition foresees.
    Remarked {
        /// Which.
        topic: Topic,
        /// What is remarkable about it.
        remark: Remark,
    },
    /// A stage took no more visits.
    Exhausted {
        /// Which.
        stage: StageId,
        /// What was published about it.
        topic: Topic,
        /// Who takes its place; absent where the run is held.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instead: Option<StageId>,
    },
    /// The run is held and nothing is under way.
    Parked {
        /// Why.
        hold: Hold,
    },
    /// The run is over.
    Finished {
        /// How.
        ending: Ending,
    },
}

/// What is remarkable about a published topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remark {
    /// No route takes it.
    Orphaned,
    /// Whoever published it did not declare it.
    Undeclared,
    /// The same, and therefore it leads nowhere.
    OutOfScope,
}

/// What judgment says of a round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// By which method.
    pub by: By,
    /// Each turn's label, in order; what a lone turn, gate or action said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Option<Label>>,
    /// Which rule, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<usize>,
    /// Which topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<Topic>,
    /// Where it leads.
    pub to: Destination,
}

/// By which method a verdict was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// There was only one way.
    Only,
    /// A status tag.
    Tag,
    /// A field of the output.
    Field,
    /// How bad what was found is.
    Findings,
    /// A judging agent.
    Judge,
    /// The labels of several turns.
    Aggregate,
    /// A published event or a closing word.
    Directive,
    /// A person.
    Answer,
    /// The result of an action.
    Result,
    /// A monitor.
    Monitor,
    /// The completion's own condition.
    Condition,
    /// Nothing matched.
    NoMatch,
    /// A limit of rounds.
    Limit,
    /// The output stayed wrong.
    Output,
}

/// Where a verdict leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// To a stage.
    Stage(StageId),
    /// Round again.
    Again,
    /// The work is done.
    Complete,
    /// The run ends.
    End(Ending),
}
