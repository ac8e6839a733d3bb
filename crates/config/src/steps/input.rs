//! Inputs of a step from the outputs of others (S-41).

use saihai_model::Json;

use super::parameter::is_name;
use crate::{Cursor, Diagnostics, Kind, Located, Location, did_you_mean, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Input {
    pub(super) step: String,
    pub(super) key: String,
    pub(super) alias: Option<String>,
    pub(super) missing: Missing,
    pub(super) at: Location,
}

/// Behavior for a missing input.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Missing {
    /// The run fails before the turn.
    Fails,
    Default(Json),
    Skipped,
}

const KEYS: [&str; 4] = ["from", "required", "default", "onMissing"];

impl Input {
    /// Reads all inputs, in any of the three forms.
    pub(super) fn read_all(value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Vec<Self> {
        if !value.must_be(&Kind::Map(&Kind::Any), diagnostics) {
            return Vec::new();
        }
        if value.get("from_step").is_some() || value.get("from_steps").is_some() {
            return read_wrapper(value, diagnostics);
        }
        let entries = value.entries();
        entries.filter_map(|(name, entry)| Self::read(&name, &entry, diagnostics)).collect()
    }

    fn read(name: &Located<String>, entry: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Self> {
        if let Some(flag) = entry.node().as_bool() {
            if !flag {
                let message = format!("{} must be `true` or a mapping", quoted(&name.value));
                diagnostics.push(entry.error("bad-value", message).hint("remove it where it is not used"));
                return None;
            }
            let (step, key) = split(name, diagnostics)?;
            return Some(Self { step, key, alias: None, missing: Missing::Fails, at: name.at.clone() });
        }
        if !entry.must_be(&Kind::Map(&Kind::Any), diagnostics) {
            return None;
        }
        for (key, _) in entry.entries().filter(|(key, _)| !KEYS.contains(&key.value.as_str())) {
            let message = format!("unknown key {}", quoted(&key.value));
            let diagnostic = key.error("unknown-key", message).label("not a key of an input");
            diagnostics.push(diagnostic.maybe_hint(did_you_mean(&key.value, KEYS)));
        }
        let missing = read_missing(entry, diagnostics);
        let Some(from) = entry.get("from") else {
            let (step, key) = split(name, diagnostics)?;
            return Some(Self { step, key, alias: None, missing, at: name.at.clone() });
        };
        if !from.must_be(&Kind::Text, diagnostics) {
            return None;
        }
        let alias = name.value.strip_prefix("uv-").unwrap_or(&name.value).to_owned();
        if !is_name(&alias) {
            let message = format!("{} cannot be the name of a variable", quoted(&name.value));
            diagnostics.push(name.error("bad-value", message).hint("use letters, digits, `_` and `-`"));
        }
        let (step, key) = split(&from.text()?, diagnostics)?;
        Some(Self { step, key, alias: Some(alias), missing, at: from.location() })
    }
}

/// Reads `{from_step, variables}` or `{from_steps, variables}`: each variable of each step.
fn read_wrapper(value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Vec<Input> {
    const WRAPPER: [&str; 3] = ["from_step", "from_steps", "variables"];
    for (key, _) in value.entries().filter(|(key, _)| !WRAPPER.contains(&key.value.as_str())) {
        let message = format!("unknown key {}", quoted(&key.value));
        let diagnostic = key.error("unknown-key", message).label("not a key of inputs from a step");
        diagnostics.push(diagnostic.maybe_hint(did_you_mean(&key.value, WRAPPER)));
    }
    let mut steps: Vec<String> = Vec::new();
    if let Some(step) = value.get("from_step").filter(|step| step.must_be(&Kind::Text, diagnostics)) {
        steps.extend(step.text().map(|step| step.value));
    }
    let listed = value.get("from_steps").filter(|list| list.must_be(&Kind::List(&Kind::Text), diagnostics));
    steps.extend(listed.iter().flat_map(Cursor::items).filter_map(|item| Some(item.text()?.value)));
    let Some(variables) = value.get("variables") else {
        let message = "inputs from a step need `variables`";
        diagnostics.push(value.error("missing-key", message).label("`variables` is missing here"));
        return Vec::new();
    };
    if !variables.must_be(&Kind::List(&Kind::Text), diagnostics) {
        return Vec::new();
    }
    let mut inputs = Vec::new();
    for variable in variables.items().filter_map(|item| item.text()) {
        let named = |step: &str, key: &str| Input {
            step: step.to_owned(),
            key: key.to_owned(),
            alias: None,
            missing: Missing::Fails,
            at: variable.at.clone(),
        };
        let bare = variable.value.strip_prefix("uv-").unwrap_or(&variable.value);
        match bare.rsplit_once('.') {
            Some((step, key)) => inputs.push(named(step, key)),
            None => inputs.extend(steps.iter().map(|step| named(step, bare))),
        }
    }
    inputs
}

/// Splits `step.key` at the last dot.
fn split(written: &Located<String>, diagnostics: &mut Diagnostics) -> Option<(String, String)> {
    let parts = written.value.rsplit_once('.').filter(|(step, key)| !step.is_empty() && !key.is_empty());
    if parts.is_none() {
        let message = format!("{} names no output of a step", quoted(&written.value));
        let diagnostic = written.error("bad-value", message).label("there is no dot in it");
        diagnostics.push(diagnostic.hint("write `STEP.KEY`, such as `measure.height`"));
    }
    parts.map(|(step, key)| (step.to_owned(), key.to_owned()))
}

fn read_missing(entry: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Missing {
    let default = entry.get("default").map(|default| default.node().to_json());
    let required = entry.get("required").filter(|flag| flag.must_be(&Kind::Bool, diagnostics));
    let required = required.and_then(|flag| flag.node().as_bool()).unwrap_or(true);
    let words = Kind::OneOf(&["error", "default", "skip"]);
    let said = entry.get("onMissing").filter(|word| word.must_be(&words, diagnostics));
    match (said.as_ref().and_then(|word| word.node().as_text()), default) {
        (Some("error"), _) => Missing::Fails,
        (Some("skip"), _) => Missing::Skipped,
        (Some("default"), None) => {
            let message = "`\"onMissing\": \"default\"` needs a `default`";
            diagnostics.push(entry.error("missing-key", message).label("`default` is missing here"));
            Missing::Skipped
        }
        (_, Some(default)) => Missing::Default(default),
        (_, None) if required => Missing::Fails,
        (_, None) => Missing::Skipped,
    }
}
