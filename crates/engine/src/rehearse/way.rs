//! Exits of a stage, and the replies that lead to each.

use std::fmt;

use saihai_model::{By, Destination, Exit, Holds, Label, Stage, StageId, Topic, Verdict};

/// An exit of a stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Rule(usize),
    /// The follow-up of a rule that has said "again" as often as allowed.
    Spent(usize),
    NoMatch,
    Topic(Topic),
    Word(String),
    /// A repeat, because the round published nothing.
    Silent,
    /// The follow-up after too many silent rounds.
    SilentSpent,
    /// The topic that the engine publishes for a stage that stays silent.
    Default(Topic),
    /// The exit for an output that stays invalid.
    WrongOutput,
    /// The exit for a failed proof of this name.
    Refuted(String),
    /// The follow-up of a proof that has failed as often as allowed.
    RefutedSpent(String),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule {rule}"),
            Self::Spent(rule) => write!(f, "rule {rule}, when it is exhausted"),
            Self::NoMatch => f.write_str("no rule matches"),
            Self::Topic(topic) => write!(f, "topic `{topic}`"),
            Self::Word(word) => write!(f, "closing word `{word}`"),
            Self::Silent => f.write_str("nothing published"),
            Self::SilentSpent => f.write_str("nothing published, when that is exhausted"),
            Self::Default(topic) => write!(f, "nothing published, default `{topic}`"),
            Self::WrongOutput => f.write_str("the output stays wrong"),
            Self::Refuted(name) => write!(f, "`{name}` fails"),
            Self::RefutedSpent(name) => write!(f, "`{name}` fails, when that is exhausted"),
        }
    }
}

impl Way {
    /// Returns the condition of its rule, as written in the definition.
    pub(super) fn condition(&self, stage: &Stage) -> Option<String> {
        let (Self::Rule(index) | Self::Spent(index), Exit::Rules { rules, .. }) = (self, &stage.exit) else {
            return None;
        };
        let join = |labels: &[Label]| labels.iter().map(Label::as_str).collect::<Vec<_>>().join(", ");
        match &rules.get(*index)?.when {
            Holds::Always => None,
            Holds::Is(label) | Holds::Answered(label) => Some(label.to_string()),
            Holds::All(labels) => Some(format!("all({})", join(labels))),
            Holds::Any(labels) => Some(format!("any({})", join(labels))),
        }
    }

    /// Returns true if a verdict took this exit. `tried` decides if the verdict alone does not tell.
    pub(super) fn is_taken(&self, verdict: &Verdict, tried: bool) -> bool {
        let by_rule = |rule: usize| verdict.rule == Some(rule) && verdict.by != By::Monitor;
        let again = verdict.to == Destination::Again;
        match self {
            Self::Rule(rule) => by_rule(*rule) && verdict.by != By::Limit,
            Self::Spent(rule) => by_rule(*rule) && verdict.by == By::Limit,
            Self::NoMatch => verdict.by == By::NoMatch,
            Self::Topic(topic) => verdict.topic.as_ref() == Some(topic) && verdict.by == By::Directive,
            Self::Default(topic) => tried && verdict.topic.as_ref() == Some(topic),
            Self::Word(_) => tried && verdict.topic.is_none() && !again && verdict.by == By::Directive,
            Self::Silent => verdict.topic.is_none() && again && verdict.by == By::Directive,
            Self::SilentSpent => tried && verdict.topic.is_none() && verdict.by == By::Limit,
            Self::WrongOutput => verdict.by == By::Output,
            Self::Refuted(_) => tried && verdict.by == By::Result,
            Self::RefutedSpent(_) => tried && verdict.by == By::Limit && verdict.rule.is_none(),
        }
    }
}

/// Replies of a round that make its stage take one exit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Saying {
    /// Label of each turn; a gate or an action has only one.
    pub(super) labels: Vec<Option<Label>>,
    /// Answer to the exit's own question.
    pub(super) answer: Option<Label>,
    /// Event to publish, or closing word.
    pub(super) directive: Option<Directive>,
    /// JSON pointer of the output, and the stage to name there.
    pub(super) named: Option<(String, StageId)>,
    /// Turn whose output is invalid.
    pub(super) wrong: Option<usize>,
    pub(super) refutes: Option<usize>,
    /// True to add everything that the completion looks for.
    pub(super) closes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Directive {
    Event(Topic),
    /// A closing word, after the events it requires.
    Word(String, Vec<Topic>),
}

/// An exit of a stage and its expected destination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Move {
    pub(super) way: Way,
    pub(super) saying: Saying,
    pub(super) to: To,
    pub(super) rounds: u32,
    /// True to repeat it every round until the visit ends.
    pub(super) persists: bool,
    /// True if it is an exit to take, not only a step on a path.
    pub(super) counts: bool,
}

/// Expected destination of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum To {
    Stage(StageId),
    Completion,
    End,
}
