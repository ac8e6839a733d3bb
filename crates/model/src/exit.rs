//! How a stage is left.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Choice, Ending, Label, Prompt, StageId, Topic};

/// How a stage decides what follows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// The first rule that holds.
    Rules {
        rules: Vec<Rule>,
        /// Asked when a rule needs its answer: a choice over the combined output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Choice>,
        otherwise: Target,
    },
    /// The topic that was published.
    Topics {
        silent: Again,
        /// Published by the engine after a reminded round that was silent too.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<Topic>,
    },
}

impl Exit {
    /// The question of the exit itself.
    pub fn question(&self) -> Option<&Choice> {
        match self {
            Self::Rules { question, .. } => question.as_ref(),
            Self::Topics { .. } => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    pub when: Holds,
    pub then: Target,
}

/// A condition over the labels of a stage's turns, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Holds {
    Always,
    /// The only turn (or gate, or action) has this label.
    Is(Label),
    /// The exit's own question was answered with this label.
    Answered(Label),
    /// One label: every turn has it. Several: turn *i* has label *i*.
    All(Vec<Label>),
    /// Some turn has one of these. None at all: a rule that is not offered in this run and never holds.
    Any(Vec<Label>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    Stage(StageId),
    /// To the stage named at a JSON pointer of the output.
    NamedBy {
        pointer: String,
    },
    /// To the stage of the phase the completion has come to; where that is this one, its next round.
    ByPhase {
        stages: BTreeMap<String, StageId>,
    },
    /// The same stage, next round of the same visit.
    Again(Box<Again>),
    Complete,
    End(Ending),
}

impl Target {
    /// The run ends in failure, for this reason.
    pub fn failed(reason: &str) -> Self {
        Self::End(Ending::Failed(reason.to_owned()))
    }
}

/// The same stage once more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Again {
    /// What the next round is told. It must not show the note itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Prompt>,
    /// So often in one visit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<u32>,
    pub exhausted: Target,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topics {
    pub start: Topic,
    /// In the order they are searched.
    pub routes: Vec<Route>,
    pub otherwise: StageId,
    /// Whether one that nobody takes is an orphan even where nobody takes any.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expected: bool,
}

impl Topics {
    /// Whether a topic that nobody takes is worth a word. Where nobody takes anything, nothing can be missed.
    pub fn has_orphans(&self) -> bool {
        self.expected || !self.routes.is_empty()
    }
}

/// A pattern and who takes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// A topic, or one with `*` for whole segments, or a lone `*`.
    pub pattern: String,
    pub to: StageId,
    /// Nobody takes it: it only passes this stage on its way to where such topics go.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub orphans: bool,
}
