//! Checks: a question about a reply whose answer selects the next step (S-37).

use indexmap::IndexMap;
use saihai_model::Json;

use super::reference::Reference;
use super::tables;
use super::transition::Transition;
use crate::{Cursor, Diagnostics, Fields, Located, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Check {
    pub(super) prompt: Option<Reference>,
    /// Answer format that the prompt shows.
    pub(super) form: Json,
    pub(super) pass: Option<Transition>,
    pub(super) fail: Option<Transition>,
    /// Steps that other keys hide.
    pub(super) hidden: Vec<Located<String>>,
}

const RESULTS: [&str; 3] = ["ok|ng", "pass|fail", "boolean"];
const MESSAGES: [&str; 2] = ["string", "optional"];

impl Check {
    pub(super) fn read(
        value: &Cursor<'_>,
        editions: &IndexMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(value, &tables::CHECK, diagnostics)?;
        read_form(&fields, diagnostics);
        let mut transition = |name| Transition::read(&fields.any(name)?, diagnostics);
        let (pass, fail) = (transition("onPass"), transition("onFail"));
        let hidden = |name, way: &Option<Transition>| Some(way.as_ref()?.hidden(&fields.any(name)?));
        let hidden = [hidden("onPass", &pass), hidden("onFail", &fail)].into_iter().flatten().flatten();
        Some(Self {
            prompt: fields.any("prompt").and_then(|prompt| Reference::read(&prompt, editions, diagnostics)),
            form: fields.any("responseFormat").map(|form| form.node().to_json()).unwrap_or_default(),
            pass,
            fail,
            hidden: hidden.collect(),
        })
    }
}

fn read_form(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let Some(form) = fields.any("responseFormat") else { return };
    if form.get("result").is_none() {
        let message = "`responseFormat` needs `result`";
        diagnostics.push(form.error("missing-key", message).hint("write `\"result\": \"ok|ng\"`"));
    }
    for (name, words) in [("result", &RESULTS[..]), ("message", &MESSAGES[..])] {
        let Some(value) = form.get(name) else { continue };
        let written = value.node().as_text().unwrap_or_default();
        if !words.contains(&written) {
            let known = crate::list_of(words.iter().copied(), "or");
            let message = format!("`{name}` of an answer must be {known}, not {}", quoted(written));
            diagnostics.push(value.error("bad-value", message).label("not one of them"));
        }
    }
}
