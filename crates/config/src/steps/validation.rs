//! Validation before a closure step closes: `validationSteps` and the validators they name (S-16).

use super::reference::Reference;
use super::tables;
use crate::{Cursor, Diagnostics, Fields, Located, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Validation {
    pub(super) validators: Vec<Validator>,
    pub(super) on_failure: OnFailure,
}

/// A program that checks the work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Validator {
    pub(super) name: String,
    pub(super) command: String,
    /// True if empty output means success, instead of the exit code.
    pub(super) silent: bool,
    pub(super) retry: Option<Reference>,
    /// Variables of that prompt that hold the program's output.
    pub(super) params: Vec<String>,
}

/// Action after a failed validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// Sends the retry prompt, at most this many times.
    Retry(u32),
    Abort,
    Skip,
}

/// Default number of retry prompts.
const ATTEMPTS: u32 = 3;

/// Validators and failure patterns of a file.
pub(super) struct Known<'d> {
    validators: Vec<(Located<String>, Cursor<'d>)>,
    patterns: Vec<(Located<String>, Cursor<'d>)>,
}

/// Sources of a retry prompt's components: `c2` and `c3` from the step, edition and adaptation from the
/// pattern.
pub(super) struct Address<'f, 'd> {
    pub(super) step: &'f Fields<'d>,
    pub(super) pattern: &'f Fields<'d>,
}

impl<'d> Known<'d> {
    pub(super) fn of(registry: &Fields<'d>) -> Self {
        Self { validators: registry.map("validators"), patterns: registry.map("failurePatterns") }
    }

    /// Reads a validation step. `refer` builds the reference of a retry prompt.
    pub(super) fn read(
        &self,
        value: &Cursor<'d>,
        refer: &dyn Fn(Address<'_, 'd>, &mut Diagnostics) -> Option<Reference>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Validation> {
        let step = Fields::read(value, &tables::VALIDATION_STEP, diagnostics)?;
        if let Some(first) = step.list("preflightConditions").first() {
            let message = "what is asked before a reply is not supported";
            let hint = "put it into `postLLMConditions`, or check it before Saihai is started";
            diagnostics.push(first.error("not-supported", message).hint(hint));
        }
        let on_failure = read_on_failure(&step, diagnostics);
        let mut validators = Vec::new();
        for condition in step.list("postLLMConditions") {
            let Some(fields) = Fields::read(&condition, &tables::VALIDATION_CONDITION, diagnostics) else {
                continue;
            };
            let Some(name) = fields.text("validator") else { continue };
            let Some(found) = find(&self.validators, &name, "validator", diagnostics) else { continue };
            validators.extend(self.validator(name, found, &step, on_failure, refer, diagnostics));
        }
        Some(Validation { validators, on_failure })
    }

    /// Reads validators and patterns that no validation step uses, to report their errors.
    pub(super) fn check_unused(
        &self,
        validated: &[(Located<String>, Cursor<'d>)],
        diagnostics: &mut Diagnostics,
    ) {
        let lists = ["postLLMConditions", "validationConditions"];
        let lists = validated.iter().flat_map(|(_, step)| lists.map(|name| step.get(name)));
        let conditions: Vec<Cursor<'_>> = lists.flatten().flat_map(|list| list.items()).collect();
        let named = conditions.iter().filter_map(|condition| Some(condition.get("validator")?.text()?.value));
        let named: Vec<String> = named.collect();
        let mut patterns = Vec::new();
        for (name, value) in &self.validators {
            patterns.extend(value.get("failurePattern").and_then(|pattern| pattern.text()));
            if named.contains(&name.value) {
                continue;
            }
            let fields = Fields::read(value, &tables::VALIDATOR, diagnostics);
            if let Some(pattern) = fields.and_then(|fields| fields.text("failurePattern")) {
                find(&self.patterns, &pattern, "failure pattern", diagnostics);
            }
        }
        for (name, value) in &self.patterns {
            if patterns.iter().all(|pattern| pattern.value != name.value) {
                Fields::read(value, &tables::FAILURE_PATTERN, diagnostics);
            }
        }
    }

    fn validator(
        &self,
        name: Located<String>,
        value: &Cursor<'d>,
        step: &Fields<'d>,
        on_failure: OnFailure,
        refer: &dyn Fn(Address<'_, 'd>, &mut Diagnostics) -> Option<Reference>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Validator> {
        let fields = Fields::read(value, &tables::VALIDATOR, diagnostics)?;
        if let Some(phase) = fields.text("phase").filter(|phase| phase.value == "preflight") {
            let message = format!("{} is asked before a reply, which is not supported", quoted(&name.value));
            diagnostics.push(
                phase.error("not-supported", message).hint("write `postllm`").also(&name.at, "used here"),
            );
        }
        let pattern = fields.text("failurePattern")?;
        let pattern = find(&self.patterns, &pattern, "failure pattern", diagnostics)?;
        let pattern = Fields::read(pattern, &tables::FAILURE_PATTERN, diagnostics)?;
        let retry = match on_failure {
            OnFailure::Retry(_) => refer(Address { step, pattern: &pattern }, diagnostics),
            OnFailure::Abort | OnFailure::Skip => None,
        };
        let params = pattern.texts("params").unwrap_or_default().into_iter();
        let bare = |name: String| name.strip_prefix("uv-").unwrap_or(&name).to_owned();
        Some(Validator {
            name: name.value,
            command: fields.text("command")?.value,
            silent: fields.text("successWhen")?.value == "empty",
            retry,
            params: params.map(|param| bare(param.value)).collect(),
        })
    }
}

fn read_on_failure(step: &Fields<'_>, diagnostics: &mut Diagnostics) -> OnFailure {
    let Some(fields) = step.object("onFailure", &tables::ON_FAILURE, diagnostics) else {
        return OnFailure::Retry(ATTEMPTS);
    };
    let most = fields.count("maxAttempts");
    match fields.text("action").map(|action| action.value).as_deref() {
        Some("abort") => OnFailure::Abort,
        Some("skip") => OnFailure::Skip,
        Some(_) | None => OnFailure::Retry(most.map_or(ATTEMPTS, |most| most.value)),
    }
}

fn find<'a, 'd>(
    known: &'a [(Located<String>, Cursor<'d>)],
    name: &Located<String>,
    what: &str,
    diagnostics: &mut Diagnostics,
) -> Option<&'a Cursor<'d>> {
    let found = known.iter().find(|(key, _)| key.value == name.value);
    if found.is_none() {
        let hint = diagnostics.suggest(&name.value, known.iter().map(|(key, _)| key.value.as_str()));
        let message = format!("there is no {what} {}", quoted(&name.value));
        diagnostics.push(name.error("bad-value", message).label("named here only").maybe_hint(hint));
    }
    found.map(|(_, value)| value)
}
