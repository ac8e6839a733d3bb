//! Possible positions of a structured value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saihai_model::Json;

use super::super::excerpt;
use super::super::fence::Block;
use super::super::reply::Reply;
use super::{object, unambiguous};

/// A JSON object that may be the value.
#[derive(Debug)]
pub(super) struct Candidate<'a> {
    value: Cow<'a, Json>,
    warnings: Vec<String>,
}

impl<'a> Candidate<'a> {
    pub(super) fn value(&self) -> &Json {
        &self.value
    }

    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Replaces fields that can have only one value, if they have another.
    pub(super) fn with_fixed(mut self, fixed: Option<&BTreeMap<String, Json>>) -> Self {
        for (field, only) in fixed.into_iter().flatten() {
            let Some(given) = self.value.get(field).filter(|given| *given != only) else { continue };
            let given = excerpt::head(&given.to_string(), 200);
            self.warnings.push(format!("/{field}: {given} was replaced by {only}"));
            self.value.to_mut()[field] = only.clone();
        }
        self
    }

    pub(super) fn into_value(self) -> Json {
        self.value.into_owned()
    }

    fn borrowed(value: &'a Json) -> Option<Self> {
        value.is_object().then_some(Self { value: Cow::Borrowed(value), warnings: Vec::new() })
    }

    fn owned(value: Json) -> Option<Self> {
        value.is_object().then_some(Self { value: Cow::Owned(value), warnings: Vec::new() })
    }
}

/// Candidates, and malformed ones that do not parse.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) candidates: Vec<Candidate<'a>>,
    /// Errors for the agent that must correct them.
    pub(super) broken: Vec<String>,
}

/// Objects outside fences that may be the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    Last,
    All,
}

/// Returns all candidates in search order (S-44). The order: the provider's value, fenced blocks from last to first,
/// the whole reply, the last object outside fences.
pub(super) fn all<'a>(
    reply: &Reply<'_>,
    structured: Option<&'a Json>,
    taken: &[usize],
    bare: Bare,
) -> Parsed<'a> {
    let mut parsed = Parsed::default();
    parsed.candidates.extend(structured.and_then(Candidate::borrowed));
    for block in reply.fences().blocks.iter().rev() {
        if is_json(block)
            && taken.binary_search(&block.open).is_err()
            && !reply.is_echo_in_context(block.open, block.close)
        {
            parsed.add_block(reply, block);
        }
    }
    let whole = reply.page.text().trim().trim_start_matches('\u{feff}');
    if whole.starts_with('{') {
        parsed.candidates.extend(unambiguous::parse(whole).ok().and_then(Candidate::owned));
    }
    let bare = match bare {
        Bare::Last => object::last(reply).into_iter().collect(),
        Bare::All => object::all(reply),
    };
    for text in bare {
        match unambiguous::parse(text) {
            Ok(value) => parsed.candidates.extend(Candidate::owned(value)),
            Err(error) if error.is_data() => {
                parsed.add_broken(format!("the JSON object is ambiguous: {error}"));
            }
            Err(_) => {}
        }
    }
    if parsed.candidates.is_empty() && parsed.broken.is_empty() {
        parsed.broken.extend(broken_outside(reply));
    }
    parsed
}

/// Returns the parse error of the first apparent object outside blocks.
fn broken_outside(reply: &Reply<'_>) -> Option<String> {
    let (line, text) = object::opened(reply)?;
    let error = unambiguous::parse(text).err().filter(serde_json::Error::is_syntax)?;
    let line = reply.number(line);
    Some(format!("what begins on line {line} is no JSON: {}", excerpt::head(&error.to_string(), 200)))
}

impl Parsed<'_> {
    /// Maximum number of reported parse errors: an agent corrects one block, not a hundred.
    const TOLD: usize = 3;

    fn add_block(&mut self, reply: &Reply<'_>, block: &Block<'_>) {
        let text = &reply.page.text()[reply.page.start(block.open + 1)..reply.page.start(block.close)];
        match unambiguous::parse(text) {
            Ok(value) => self.candidates.extend(Candidate::owned(value)),
            Err(error) => {
                let line = reply.number(block.open);
                let reason = excerpt::head(&error.to_string(), 200);
                let what = if error.is_data() { "is ambiguous" } else { "is no JSON" };
                self.add_broken(format!("the block that begins on line {line} {what}: {reason}"));
            }
        }
    }

    fn add_broken(&mut self, what: String) {
        if self.broken.len() < Self::TOLD {
            self.broken.push(excerpt::head(&what, 300).to_string());
        }
    }
}

/// Matches `json` in any case, with or without further words.
fn is_json(block: &Block<'_>) -> bool {
    block.info.split_whitespace().next().is_some_and(|word| word.eq_ignore_ascii_case("json"))
}
