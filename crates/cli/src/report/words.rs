//! Records as text for people.

use saihai_model::{Entry, FailureClass, Hold, Moment, ProviderName, Record};

use super::Names;
use super::{decision_words, fact_words};
use crate::terminal::{Stream, style};
use crate::time;

/// The importance of a line to a person who watches a run. `log` shows all lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Weight {
    Detail,
    Step,
    Head,
    /// A warning for the user.
    Warning,
}

/// One line about a record, without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) weight: Weight,
    pub(crate) text: String,
}

impl Line {
    pub(crate) fn detail(text: impl Into<String>) -> Self {
        Self { weight: Weight::Detail, text: text.into() }
    }

    pub(crate) fn step(text: impl Into<String>) -> Self {
        Self { weight: Weight::Step, text: text.into() }
    }

    pub(crate) fn head(text: impl Into<String>) -> Self {
        Self { weight: Weight::Head, text: text.into() }
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { weight: Weight::Warning, text: text.into() }
    }

    /// Formats the line for a stream.
    pub(crate) fn painted(&self, stream: &Stream) -> String {
        match self.weight {
            Weight::Head => stream.paint(style::STRONG, &self.text),
            Weight::Warning => format!("{}: {}", stream.paint(style::WARNING, "warning"), self.text),
            Weight::Step => self.text.clone(),
            Weight::Detail => stream.paint(style::QUIET, &self.text),
        }
    }
}

/// Describes a record, the main line first.
pub(crate) fn words(record: &Record, names: &Names<'_>) -> Vec<Line> {
    match &record.entry {
        Entry::Fact(fact) => fact_words::of(fact, record.at, names),
        Entry::Decision(decision) => decision_words::of(decision, record.at, names),
    }
}

/// Explains why a run waits. The text follows "parked: ".
pub(crate) fn hold_words(hold: &Hold, now: Moment) -> String {
    parked_words(hold, None, now)
}

/// Does the same for a known provider.
pub(crate) fn parked_words(hold: &Hold, provider: Option<&ProviderName>, now: Moment) -> String {
    let blamed = |why: &str| match provider {
        Some(provider) => format!("{why}, {provider}"),
        None => why.to_owned(),
    };
    match hold {
        Hold::Person(call) => format!("waiting for a person at `{}`", call.stage),
        Hold::Outside(call, reason) => format!("waiting at `{}`: {reason}", call.stage),
        Hold::Until(at, class) => {
            let why = if *class == FailureClass::Quota { "quota" } else { class.name() };
            format!("waiting until {} ({})", time::local_until(*at, now), blamed(why))
        }
        Hold::Provider(call, class) => {
            format!("a provider could not serve `{}` ({})", call.stage, blamed(class.name()))
        }
        Hold::Limit(word) => format!("limit `{word}` reached"),
        Hold::Budget => "the budget is spent".to_owned(),
        Hold::Storage(what) => format!("storage: {what}"),
        Hold::Interrupted => "interrupted".to_owned(),
        Hold::Cancelling => "being cancelled".to_owned(),
    }
}
