//! The exits of a stage, and the completion of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{Label, StageId, Topic};
use crate::reads::{Choice, Keyword};

use crate::{ActionSpec, Ending, FailureReason, Json, Prompt, StallKind};

/// Method that chooses the next stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The first rule that holds.
    Rules {
        rules: Vec<ExitRule>,
        /// Choice over the combined output, asked when a rule needs its answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Choice>,
        otherwise: Target,
    },
    Topics {
        silent: Again,
        /// Topic that the engine publishes if the round after a reminder is silent too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<Topic>,
    },
}

impl Exit {
    /// Returns the question of the exit itself.
    pub fn question(&self) -> Option<&Choice> {
        match self {
            Self::Rules { question, .. } => question.as_ref(),
            Self::Topics { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ExitRule {
    pub when: RuleCondition,
    pub then: Target,
}

/// A condition over the labels of a stage's turns, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleCondition {
    Always,
    /// The only turn (or gate, or action) has this label.
    Is(Label),
    /// The answer to the exit's own question has this label.
    Answered(Label),
    /// One label: every turn has it. Several: turn *i* has label *i*.
    All(Vec<Label>),
    /// Some turn has one of these labels. An empty list marks a rule that is not offered in this run; it never holds.
    Any(Vec<Label>),
    /// The round would stay in a cycle that one of these detectors calls stalled.
    Stalled(Vec<StallKind>),
}

impl RuleCondition {
    /// Returns a condition about a stalled cycle as a definition writes it; empty for others.
    pub fn stalled_text(&self) -> String {
        let Self::Stalled(kinds) = self else { return String::new() };
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
        format!("stalled({})", kinds.join(", "))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Stage(StageId),
    /// To the stage named at a JSON pointer of the output.
    NamedBy {
        pointer: String,
    },
    /// To the stage of the current phase of the completion. If that is this stage, to its next round.
    ByPhase {
        stages: BTreeMap<String, StageId>,
    },
    /// The same stage, next round of the same visit.
    Again(Box<Again>),
    Complete,
    End(Ending),
}

impl Target {
    /// Returns a target that ends the run in failure for this reason.
    pub fn failed(reason: impl Into<FailureReason>) -> Self {
        Self::End(Ending::Failed(reason.into()))
    }
}

/// A repeat of the same stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// Note for the next round. It must not include the previous note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Prompt>,
    /// Maximum number of repeats in one visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
    pub exhausted: Target,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topics {
    pub start: Topic,
    pub routes: Vec<Route>,
    pub otherwise: StageId,
    /// True to treat topics without a stage as orphans, even if no stage takes any topic.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expected: bool,
}

impl Topics {
    /// Returns true if a topic without a stage deserves a remark. If no stage takes any topic, none is missing.
    pub fn has_orphans(&self) -> bool {
        self.expected || !self.routes.is_empty()
    }
}

/// A pattern and the stage that takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// A topic, or one with `*` for whole segments, or a lone `*`.
    pub pattern: String,
    pub to: StageId,
    /// True if no stage takes it: the topic only passes this stage on the way to the fallback.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub orphans: bool,
}

/// Condition for finished work, evaluated at the end of every round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Completion {
    /// An exit led to *complete*.
    Flow,
    Rounds(u32),
    Checks(u32),
    /// A word in a reply.
    Keyword(Keyword),
    /// A number of blocks of a kind with these fields (`None`: present).
    Signal {
        kind: String,
        fields: BTreeMap<String, Option<Json>>,
        times: u32,
        /// Block field whose text becomes the reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    Phase(Phases),
    /// An action whose label is `reached`. An action that checks a state also runs before the first turn.
    Outside(ActionSpec),
    All(Vec<Completion>),
    Any(Vec<Completion>),
    /// The first that holds, in order.
    First(Vec<Completion>),
}

impl Completion {
    /// Returns its outside conditions in reading order.
    pub fn actions(&self) -> Vec<&ActionSpec> {
        match self {
            Self::Outside(action) => vec![action],
            Self::All(parts) | Self::Any(parts) | Self::First(parts) => {
                parts.iter().flat_map(Self::actions).collect()
            }
            Self::Flow
            | Self::Rounds(_)
            | Self::Checks(_)
            | Self::Keyword(_)
            | Self::Signal { .. }
            | Self::Phase(_) => Vec::new(),
        }
    }
}

/// A state machine that blocks in replies drive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    pub start: String,
    /// Transitions; the first one that matches a block applies.
    pub steps: Vec<PhaseStep>,
    /// Phases in which the work is done.
    pub terminal: Vec<String>,
}

/// Transition from one phase to the next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseStep {
    pub from: String,
    /// Required `type` of the block.
    pub kind: String,
    /// Required fields of the block (`None`: present).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, Option<Json>>,
    /// Condition on the last block of another `type`, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<LastBlock>,
    pub to: String,
}

/// Condition on the last block of a kind, at any earlier time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LastBlock {
    pub kind: String,
    pub fields: BTreeMap<String, Option<Json>>,
}
