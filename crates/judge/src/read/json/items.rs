//! Structured values that hold findings, each valid or invalid by itself.

use saihai_model::Json;

use super::super::excerpt;
use super::super::reply::Reply;
use super::candidate::{self, Bare, Candidate, Parsed};
use super::{Demand, Found, MISSING, MOST, cut_off, object};
use crate::review::Payload;

/// Maximum number of reported problems: an agent corrects the visible ones, and its next reply is checked again.
const TOLD: usize = 20;
/// Message for a truncated value.
const CUT_OFF: &str = "the JSON object is cut off: its end is missing";
/// Message for an ambiguous reply: the agent may have quoted a text it read.
const SEVERAL: &str = "several different JSON objects fit the schema: give exactly one";
/// Maximum length of a problem, in characters.
const CHARACTERS: usize = 300;
/// Maximum length of the quoted end of a truncated value, in characters.
const LAST_WORDS: usize = 200;

/// Finds the value. The order of preference:
/// - the provider's structured value
/// - the candidate without problems; of several different ones the one with most findings, until a correction
/// - the first candidate of which something can be kept
/// - the first candidate that parses
pub(in super::super) fn read_items(
    reply: &Reply<'_>,
    structured: Option<&Json>,
    demand: Demand<'_>,
) -> Found {
    let Parsed { candidates, broken } = candidate::all(reply, structured, demand.taken, Bare::All);
    let read = |candidate: &Candidate<'_>| Payload::read("", demand.schema, candidate.value());
    let payloads: Vec<Payload> = candidates.iter().map(read).collect();
    let mut valid =
        (0..payloads.len()).filter(|index| payloads[*index].problems.is_empty()).collect::<Vec<_>>();
    if structured.is_some() && valid.first() == Some(&0) {
        valid.truncate(1);
    }
    let differ = valid.iter().any(|index| candidates[*index].value() != candidates[valid[0]].value());
    let richest = valid.iter().copied().rev().max_by_key(|index| payloads[*index].findings.len());
    let first = |holds: fn(&Payload) -> bool| payloads.iter().position(holds);
    let useful = || first(Payload::has_items).or_else(|| first(|payload| !payload.is_empty()));
    let chosen = richest.or_else(useful).unwrap_or(0);
    let (Some(payload), Some(candidate)) = (payloads.get(chosen), candidates.into_iter().nth(chosen)) else {
        return begun(reply, broken);
    };
    let problems = payload.problems.iter().take(TOLD);
    let mut violations: Vec<String> =
        problems.map(|problem| excerpt::head(problem, CHARACTERS).to_string()).collect();
    if payload.problems.len() > TOLD {
        violations.push("and more".to_owned());
    }
    violations.extend(differ.then(|| SEVERAL.to_owned()));
    let mut output = candidate.into_value();
    violations.extend(fit(&mut output));
    Found { output: Some(output), violations, ..Found::default() }
}

/// Drops the last items of a value that is too large to pass on, and returns a message.
fn fit(output: &mut Json) -> Option<String> {
    let whole = output.to_string().len();
    let mut bytes = whole;
    let lists = output.as_object_mut().into_iter().flatten().filter_map(|(_, value)| value.as_array_mut());
    for list in lists {
        while bytes > MOST
            && let Some(item) = list.pop()
        {
            bytes = bytes.saturating_sub(item.to_string().len() + 1);
        }
    }
    (whole > MOST).then(|| format!("the JSON object has {whole} bytes; at most {MOST} are taken"))
}

/// Handles a truncated value: keeps the complete part and asks for the value again.
fn begun(reply: &Reply<'_>, broken: Vec<String>) -> Found {
    let Some(text) = object::cut_off(reply) else {
        let violations = std::iter::once(MISSING.to_owned()).chain(broken).collect();
        return Found { violations, ..Found::default() };
    };
    let what = format!("{CUT_OFF}, behind {}", Json::from(tail(text)));
    let violations = std::iter::once(what).chain(broken).collect();
    Found { output: cut_off::whole_part(text), violations, ..Found::default() }
}

/// Returns the last words of a text. The text after the last complete item is lost, and a person may still want to read
/// it.
fn tail(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.char_indices().rev().nth(LAST_WORDS - 1).map_or(0, |(at, _)| at);
    &text[start..]
}
