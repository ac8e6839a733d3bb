//! A structured value that holds findings, each right or wrong by itself.

use saihai_model::Json;

use super::super::excerpt;
use super::super::reply::Reply;
use super::candidate::{self, Candidate, Parsed};
use super::{Demand, Found, MISSING, cut_off, object};
use crate::review::Payload;

/// The most problems that are told: an agent corrects what it is shown and is read again.
const TOLD: usize = 20;
/// What is said of a value whose end is missing.
const CUT_OFF: &str = "the JSON object is cut off: its end is missing";
/// The longest one, in characters.
const CHARACTERS: usize = 300;

/// Finds the value: the first candidate with which nothing is wrong, else the first of which something can be kept, else
/// the first that parses.
pub(in super::super) fn read_items(
    reply: &Reply<'_>,
    structured: Option<&Json>,
    demand: Demand<'_>,
) -> Found {
    let Parsed { candidates, broken } = candidate::all(reply, structured, demand.taken);
    let read = |candidate: &Candidate<'_>| Payload::read("", demand.schema, candidate.value());
    let payloads: Vec<Payload> = candidates.iter().map(read).collect();
    let valid = payloads.iter().position(|payload| payload.problems.is_empty());
    let useful = || payloads.iter().position(|payload| !payload.is_empty());
    let chosen = valid.or_else(useful).unwrap_or(0);
    let (Some(payload), Some(candidate)) = (payloads.get(chosen), candidates.into_iter().nth(chosen)) else {
        return begun(reply, broken);
    };
    let problems = payload.problems.iter().take(TOLD);
    let mut violations: Vec<String> =
        problems.map(|problem| excerpt::head(problem, CHARACTERS).to_string()).collect();
    if payload.problems.len() > TOLD {
        violations.push("and more".to_owned());
    }
    Found { output: Some(candidate.into_value()), violations, ..Found::default() }
}

/// A value that was only begun: what is whole of it can be kept, and it has to be asked for again.
fn begun(reply: &Reply<'_>, broken: Vec<String>) -> Found {
    let output = object::cut_off(reply).and_then(cut_off::whole_part);
    let what = if output.is_some() { CUT_OFF } else { MISSING };
    let violations = std::iter::once(what.to_owned()).chain(broken).collect();
    Found { output, violations, ..Found::default() }
}
