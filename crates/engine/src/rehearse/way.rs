//! The ways a stage can be left, and what must be said for each.

use std::fmt;

use saihai_model::{By, Destination, Exit, Holds, Label, Stage, StageId, Topic, Verdict};

/// A way out of a stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// By a rule, from 0.
    Rule(usize),
    /// By what follows when a rule has said "again" as often as it may.
    Spent(usize),
    NoMatch,
    Topic(Topic),
    Word(String),
    /// Round again, because nothing was published.
    Silent,
    /// By what follows when nothing was published too often.
    SilentSpent,
    /// By the topic the engine publishes for a stage that stays silent.
    Default(Topic),
    /// Because the output stayed wrong.
    WrongOutput,
    /// Because the proof of that name does not hold.
    Refuted(String),
    /// By what follows when it has not held as often as it may.
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
    /// The condition of its rule, as a person wrote it.
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

    /// Whether this is the way a verdict went, given that it was the one tried where the verdict does not tell.
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

/// What is said in a round so that its stage is left one way.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Saying {
    /// What each turn's label is to be; of a gate or an action, its only one.
    pub(super) labels: Vec<Option<Label>>,
    /// What the exit's own question is answered.
    pub(super) answer: Option<Label>,
    /// Which event is published, or which word closes.
    pub(super) directive: Option<Directive>,
    /// The stage to be named at a pointer of the output.
    pub(super) named: Option<(String, StageId)>,
    /// The turn whose output is to be wrong.
    pub(super) wrong: Option<usize>,
    /// The proof that is not to hold.
    pub(super) refutes: Option<usize>,
    /// What the completion looks for is said too.
    pub(super) closes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Directive {
    Event(Topic),
    /// A closing word, behind the events it requires.
    Word(String, Vec<Topic>),
}

/// One way to leave a stage, and where it seems to lead.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Move {
    pub(super) way: Way,
    pub(super) saying: Saying,
    pub(super) to: To,
    pub(super) rounds: u32,
    /// It is tried round after round until the visit ends.
    pub(super) persists: bool,
    /// It counts among the exits to be taken, and is not only a way to get somewhere.
    pub(super) counts: bool,
}

/// Where a move seems to lead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum To {
    Stage(StageId),
    Completion,
    End,
}
