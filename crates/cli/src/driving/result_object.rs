//! The result object of `--json`.

use std::borrow::Cow;
use std::collections::BTreeSet;

use saihai::project::UnmatchedTurn;
use saihai_model::{By, Label, ProviderName, Usage, Usd};
use serde::Serialize;

use super::Conclusion;
use super::unexpected::UnexpectedObject;
use crate::report::SpendingObject;
use crate::time;

#[derive(Serialize)]
pub(crate) struct ResultObject<'a> {
    run: &'a str,
    definition: &'a str,
    dialect: &'a str,
    outcome: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    exit: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmatched: Vec<UnmatchedObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decided: Option<Decided<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    differences: &'a [UnexpectedObject],
    iterations: u32,
    turns: u64,
    usage: &'a Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_lacks: Option<&'a BTreeSet<ProviderName>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<SpendingObject>,
    reports: Vec<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    rehearsal: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resume: Option<String>,
}

/// A reply that no rule matched (P-44).
#[derive(Serialize)]
struct UnmatchedObject<'a> {
    turn: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    matched: Option<&'a str>,
    tail: &'a str,
}

impl<'a> UnmatchedObject<'a> {
    fn new(unmatched: &'a UnmatchedTurn) -> Self {
        let matched = unmatched.label.as_ref().map(Label::as_str);
        Self { turn: unmatched.turn.as_str(), matched, tail: &unmatched.tail }
    }
}

/// The reason for the last transition (P-45).
#[derive(Serialize)]
struct Decided<'a> {
    stage: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<&'a str>,
    method: By,
}

impl Conclusion {
    pub(crate) fn object(&self) -> ResultObject<'_> {
        let outcome = &self.outcome;
        ResultObject {
            run: &outcome.run,
            definition: &outcome.definition,
            dialect: &outcome.dialect,
            outcome: &outcome.outcome,
            reason: outcome.reason.as_deref(),
            exit: outcome.exit,
            error: self.error(),
            unmatched: outcome.unmatched.iter().map(UnmatchedObject::new).collect(),
            decided: self.last.as_ref().map(|last| Decided {
                stage: &last.stage,
                rule: last.rule,
                condition: last.condition.as_deref(),
                method: last.by,
            }),
            differences: self.unexpected.list(),
            iterations: outcome.iterations,
            turns: outcome.turns,
            usage: &outcome.usage,
            cost_usd: outcome.cost.map(Usd::dollars),
            cost_lacks: outcome.cost.and(Some(&outcome.unpriced)).filter(|lacks| !lacks.is_empty()),
            budget: self.spending.as_ref().and_then(SpendingObject::of),
            reports: self.reports.iter().map(|path| path.to_string_lossy()).collect(),
            output: outcome.output.as_deref(),
            rehearsal: outcome.rehearsal,
            until: outcome.until.map(time::rfc3339),
            answer: self.answer_command(),
            resume: self.resume_command(),
        }
    }
}
