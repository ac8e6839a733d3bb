//! The structured value in a reply.

mod candidate;
mod cut_off;
mod items;
mod object;
mod schema;
mod unambiguous;

#[cfg(test)]
mod tests;

use saihai_model::{Json, Reading, Shaping};

use self::candidate::{Bare, Candidate, Parsed};
use self::schema::Schema;
use super::reply::Reply;
pub(super) use items::read_items;

/// Message for a missing value.
const MISSING: &str = "no JSON object";

/// Maximum size of a value in bytes: it passes from round to round, and the journal stores it each time.
const MOST: usize = 256 * 1024;

/// Requirements for a structured value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demand<'a> {
    pub(super) schema: &'a Json,
    pub(super) required: bool,
    /// Opening lines of blocks that have another purpose, in order.
    pub(super) taken: &'a [usize],
    /// Changes to make before any use.
    pub(super) shaping: Option<&'a Shaping>,
}

/// A structured value and its violations.
#[derive(Debug, Default)]
pub(super) struct Found {
    output: Option<Json>,
    violations: Vec<String>,
    warnings: Vec<String>,
}

impl Found {
    pub(super) fn put_into(self, reading: &mut Reading) {
        reading.output = self.output;
        reading.violations = self.violations;
        if let Some(bytes) =
            reading.output.as_ref().map(|value| value.to_string().len()).filter(|bytes| *bytes > MOST)
        {
            reading.output = None;
            reading.violations = vec![format!("the JSON object has {bytes} bytes; at most {MOST} are taken")];
        }
        reading.warnings.extend(self.warnings);
    }
}

/// Finds the value (S-44): the first candidate that parses and satisfies the schema, else the first that parses.
pub(super) fn read(reply: &Reply<'_>, structured: Option<&Json>, demand: Demand<'_>) -> Found {
    let Parsed { candidates, broken } = candidate::all(reply, structured, demand.taken, Bare::Last);
    let fixed = demand.shaping.map(|shaping| &shaping.fixed);
    let candidates: Vec<_> = candidates.into_iter().map(|one| one.with_fixed(fixed)).collect();
    let schema = match Schema::new(demand.schema) {
        Ok(schema) => schema,
        Err(unusable) => {
            let output = candidates.into_iter().next().map(Candidate::into_value);
            return Found { output, violations: vec![unusable], warnings: Vec::new() };
        }
    };
    let mut valid = candidates.iter().filter(|candidate| schema.accepts(candidate.value()));
    let Some(first) = valid.next() else {
        return invalid(candidates, &schema, broken, demand.required);
    };
    let differs = valid.any(|other| other.value() != first.value());
    let warnings =
        differs.then_some("several different JSON objects fit the schema: the first choice was taken");
    let warnings = first.warnings().iter().cloned().chain(warnings.map(str::to_owned)).collect();
    let (output, violations) = lift(schema.with_defaults(first.value().clone()), demand.shaping);
    Found { output: Some(output), violations, warnings }
}

/// Copies nested values to additional top-level keys. A missing value stays missing. A different value at such a key is
/// a violation, because neither may hide the other (S-11).
fn lift(value: Json, shaping: Option<&Shaping>) -> (Json, Vec<String>) {
    let (mut lifted, mut violations) = (value.clone(), Vec::new());
    for (key, pointer) in shaping.iter().flat_map(|shaping| &shaping.lifted) {
        let Some(found) = value.pointer(pointer) else { continue };
        match value.get(key) {
            Some(own) if own != found => {
                violations
                    .push(format!("`{key}` stands at `/{key}` and, with another value, at `{pointer}`"));
            }
            Some(_) | None => lifted[key] = found.clone(),
        }
    }
    (lifted, violations)
}

fn invalid(candidates: Vec<Candidate<'_>>, schema: &Schema, broken: Vec<String>, required: bool) -> Found {
    match candidates.into_iter().next() {
        Some(first) => {
            let warnings = first.warnings().to_vec();
            let output = first.into_value();
            Found { violations: schema.violations(&output), output: Some(output), warnings }
        }
        None if required => {
            let violations = std::iter::once(MISSING.to_owned()).chain(broken).collect();
            Found { violations, ..Found::default() }
        }
        None => Found { warnings: broken, ..Found::default() },
    }
}
