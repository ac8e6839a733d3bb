//! Steps of an agent, and the reader of `steps_registry.json` in the native shape (S-8, S-37, S-39).

use indexmap::IndexMap;
use saihai_model::Json;

use super::agent::check_version;
use super::completion::check_entry_modes;
use super::intent_gate::IntentGate;
use super::outputs::{OutputKey, StepOutput};
use super::parameters::without_prefix;
use super::prompt_files::{PromptReference, unfit};
use super::shape::{FileSection, checked};
use super::tables;
use super::variables::StepInput;
use crate::{Diagnostics, Document, Located, Location, list_of, quoted};

/// Steps of an agent. A catalogue is read into the same registry as a native file.
#[derive(Debug, Clone)]
pub(super) struct StepRegistry {
    pub(super) base: Option<PromptBase>,
    pub(super) entry: Option<Located<String>>,
    /// Entry steps by completion type.
    pub(super) entries: Vec<(Located<String>, Located<String>)>,
    pub(super) steps: Vec<AgentStep>,
    pub(super) at: Location,
}

/// Directory of all prompts, relative to the agent's directory or to the project root.
#[derive(Debug, Clone)]
pub(super) enum PromptBase {
    Agent(Located<String>),
    Project(Located<String>),
}

#[derive(Debug, Clone)]
pub(super) struct AgentStep {
    pub(super) id: Located<String>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) prompt: Option<PromptReference>,
    /// Minimum and maximum number of turns in one visit.
    pub(super) iterations: (u32, Option<u32>),
    /// `None` if the exit has errors.
    pub(super) exit: Option<StepExit>,
    pub(super) output: Option<StepOutput>,
    pub(super) inputs: Vec<StepInput>,
    /// Declared variables of its prompt, without `uv-`.
    pub(super) variables: Vec<Located<String>>,
    pub(super) custom: Vec<CustomVariable>,
    /// Question for a person before the step.
    pub(super) gate: Option<String>,
    /// Location of the key that says the step uses the task.
    pub(super) uses_stdin: Option<Location>,
    pub(super) model: Option<String>,
    /// Permission mode, in the agent's own terms.
    pub(super) permission: Option<String>,
    pub(super) tools: Option<Vec<String>>,
    /// File of its own system prompt.
    pub(super) system_prompt: Option<Located<String>>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepExit {
    Always(StepTarget),
    /// The answer to a question about the reply selects the target.
    Check(Box<StepCheck>),
    /// A field of the reply selects the target.
    Intent(Box<IntentGate>),
    /// The current phase of the work selects the target.
    Phase(Vec<(&'static str, StepTarget)>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum StepTarget {
    /// The end of the flow.
    Complete,
    Step(Located<String>),
    /// The same step, up to `at_most` times per visit. Then the run goes to `exhausted`, or fails without it.
    Again {
        at_most: Option<u32>,
        exhausted: Option<Located<String>>,
    },
    /// The step that the reply names at a JSON pointer.
    NamedByReply(String),
}

/// A question about a reply.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepCheck {
    pub(super) prompt: Option<PromptReference>,
    /// Answer format that the prompt shows.
    pub(super) form: Json,
    pub(super) pass: Option<StepTarget>,
    pub(super) fail: Option<StepTarget>,
    /// Steps in keys without effect. They must still exist.
    hidden: Vec<Located<String>>,
}

/// A variable without the `uv-` prefix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CustomVariable {
    pub(super) name: Located<String>,
    pub(super) source: String,
    pub(super) required: bool,
}

impl StepRegistry {
    /// Reads a native registry. It reports all errors, not only the first.
    pub(super) fn read(document: &Document, diagnostics: &mut Diagnostics) -> Option<Self> {
        let file = checked(document, &tables::REGISTRY, diagnostics)?;
        check_version(&file, diagnostics);
        check_entry_modes(&file.map("entryStepMapping"), diagnostics);
        let editions = texts(&file, "editions");
        for (_, to) in &editions {
            if let Some(why) = unfit(&to.value) {
                let diagnostic = to.error("prompt-ref", format!("an edition {why}"));
                diagnostics.push(diagnostic.label("not allowed in a file name"));
            }
        }
        let editions = editions.into_iter().map(|(from, to)| (from.value, to.value)).collect();
        if let Some(at) = file.any("steps").filter(|steps| steps.entries().next().is_none()) {
            diagnostics.push(at.error("bad-value", "a registry needs at least one step"));
        }
        let steps = file.named_parts("steps").into_iter().filter(|(_, step)| step.is_present());
        let registry = Self {
            base: file.text("basePath").map(PromptBase::Agent),
            entry: file.text("entryStep"),
            entries: texts(&file, "entryStepMapping"),
            steps: steps.map(|(id, step)| AgentStep::read(id, &step, &editions, diagnostics)).collect(),
            at: file.at().clone(),
        };
        registry.check_targets(diagnostics);
        Some(registry)
    }

    pub(super) fn step(&self, id: &str) -> Option<&AgentStep> {
        self.steps.iter().find(|step| step.id.value == id)
    }

    /// Returns the entry step for a completion type, by any of its names.
    pub(super) fn entry(&self, types: &[&str], diagnostics: &mut Diagnostics) -> Option<Located<String>> {
        let named = |name: &&str| self.entries.iter().find(|(kind, _)| kind.value == *name);
        let mapped = types.iter().find_map(named);
        let entry = mapped.map(|(_, step)| step).or(self.entry.as_ref());
        if entry.is_none() {
            let message = "no first step for a run";
            let hint = "add `entryStep`, or name this completion type in `entryStepMapping`";
            diagnostics
                .push(self.at.error("missing-key", message).label("`entryStep` is missing here").hint(hint));
        }
        entry.cloned()
    }

    /// Reports a step that does not exist.
    pub(super) fn unknown_step(&self, name: &Located<String>, diagnostics: &mut Diagnostics) {
        let known = self.steps.iter().map(|step| step.id.value.as_str());
        let hint = diagnostics.suggest(&name.value, known);
        let message = format!("step {} does not exist", quoted(&name.value));
        diagnostics.push(name.error("unknown-step", message).label("no step has this id").maybe_hint(hint));
    }

    /// Reports every named step that does not exist (S-10).
    pub(super) fn check_targets(&self, diagnostics: &mut Diagnostics) {
        let entries = self.entry.iter().chain(self.entries.iter().map(|(_, step)| step));
        let hidden = self.steps.iter().filter_map(AgentStep::check).flat_map(|check| &check.hidden);
        let named = entries.chain(self.steps.iter().flat_map(AgentStep::named_steps)).chain(hidden);
        for name in named.filter(|name| self.step(&name.value).is_none()) {
            self.unknown_step(name, diagnostics);
        }
    }
}

impl AgentStep {
    fn read(
        id: Located<String>,
        step: &FileSection<'_>,
        editions: &IndexMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        check_id(&id, diagnostics);
        let schema = step.any("outputSchema");
        let prompt = step.part("prompt").present();
        Self {
            prompt: prompt.and_then(|prompt| PromptReference::read(&prompt, editions, diagnostics)),
            iterations: read_iterations(&step.part("iterations"), diagnostics),
            exit: read_exit(step, editions, diagnostics),
            output: schema.and_then(|schema| StepOutput::read(&schema, &id.value, diagnostics)),
            custom: read_custom(step, diagnostics),
            gate: read_gate(step, diagnostics),
            permission: step.word("permissionMode"),
            tools: step.words("allowedTools"),
            system_prompt: step.text("systemPromptPath"),
            ..Self::common(id, step, ("id", "variables"), diagnostics)
        }
    }

    /// Reads what a step of a catalogue has too. `keys` are the names of its id and its variables there.
    pub(super) fn common(
        id: Located<String>,
        step: &FileSection<'_>,
        keys: (&str, &str),
        diagnostics: &mut Diagnostics,
    ) -> Self {
        check_own_id(&id, step, keys.0, diagnostics);
        let inputs = step.any("inputs").map(|inputs| StepInput::read_all(&inputs, diagnostics));
        let variables = step.texts(keys.1).into_iter().map(|name| name.map(without_prefix));
        Self {
            name: step.word("name"),
            description: step.word("description"),
            prompt: None,
            iterations: (1, None),
            exit: None,
            output: None,
            inputs: inputs.unwrap_or_default(),
            variables: variables.collect(),
            custom: Vec::new(),
            gate: None,
            uses_stdin: step.flag("usesStdin").filter(|flag| flag.value).map(|flag| flag.at),
            model: step.word("model"),
            permission: None,
            tools: None,
            system_prompt: None,
            id,
        }
    }

    pub(super) fn check(&self) -> Option<&StepCheck> {
        if let Some(StepExit::Check(check)) = &self.exit { Some(check) } else { None }
    }

    /// Returns its gate, if its replies select the next step.
    pub(super) fn gate(&self) -> Option<&IntentGate> {
        if let Some(StepExit::Intent(gate)) = &self.exit { Some(gate) } else { None }
    }

    /// Returns true if the step requires a task.
    pub(super) fn needs_task(&self) -> bool {
        let from_task = |custom: &CustomVariable| custom.required && custom.source == "stdin";
        self.uses_stdin.is_some() || self.custom.iter().any(from_task)
    }

    /// Returns the known keys of its output. With `handoffFields`, a step passes on nothing else.
    pub(super) fn keys(&self) -> Vec<&OutputKey> {
        match self.gate().filter(|gate| !gate.handed.is_empty()) {
            Some(gate) => gate.handed.iter().map(|(key, _)| key).collect(),
            None => self.output.iter().flat_map(|output| &output.keys).collect(),
        }
    }

    pub(super) fn targets(&self) -> Vec<&StepTarget> {
        match &self.exit {
            Some(StepExit::Always(target)) => vec![target],
            Some(StepExit::Check(check)) => check.pass.iter().chain(&check.fail).collect(),
            Some(StepExit::Intent(gate)) => gate.targets(),
            Some(StepExit::Phase(steps)) => steps.iter().map(|(_, target)| target).collect(),
            None => Vec::new(),
        }
    }

    /// Returns every step it names, with locations.
    pub(super) fn named_steps(&self) -> impl Iterator<Item = &Located<String>> {
        self.targets().into_iter().filter_map(StepTarget::step)
    }
}

impl StepTarget {
    pub(super) const AGAIN: Self = Self::Again { at_most: None, exhausted: None };

    /// Returns the step it names.
    pub(super) fn step(&self) -> Option<&Located<String>> {
        match self {
            Self::Step(step) => Some(step),
            Self::Again { exhausted, .. } => exhausted.as_ref(),
            Self::Complete | Self::NamedByReply(_) => None,
        }
    }
}

fn check_id(id: &Located<String>, diagnostics: &mut Diagnostics) {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
    if id.value.starts_with(['_', '.', '-']) || id.value.is_empty() || !id.value.chars().all(letters) {
        let message = format!("{} cannot be the id of a step", quoted(&id.value));
        let hint = "use lower-case letters, digits, `_`, `.` and `-`, and start with a letter or digit";
        diagnostics.push(id.error("step-id", message).hint(hint));
    }
}

/// Reports a step whose own id differs from its key.
pub(super) fn check_own_id(
    id: &Located<String>,
    step: &FileSection<'_>,
    key: &str,
    diagnostics: &mut Diagnostics,
) {
    if let Some(written) = step.text(key).filter(|written| written.value != id.value) {
        let message = format!("the step {} has the id {}", quoted(&id.value), quoted(&written.value));
        diagnostics.push(written.error("step-id", message).label("not its key").also(&id.at, "its key"));
    }
}

fn read_iterations(iterations: &FileSection<'_>, diagnostics: &mut Diagnostics) -> (u32, Option<u32>) {
    let min = iterations.count("min").map_or(1, |count| count.value);
    let max = iterations.count("max");
    if let Some(max) = max.as_ref().filter(|max| max.value < min) {
        let message = format!("`max` must be at least `min`, which is {min}");
        diagnostics.push(max.error("bad-value", message).label("less than `min`"));
    }
    (min, max.map(|max| max.value))
}

fn read_exit(
    step: &FileSection<'_>,
    editions: &IndexMap<String, String>,
    diagnostics: &mut Diagnostics,
) -> Option<StepExit> {
    if let Some(flag) = step.flag("terminal").filter(|flag| !flag.value) {
        let message = "`terminal` can only be `true`";
        diagnostics.push(flag.error("bad-value", message).hint("remove it"));
    }
    if step.has("check") {
        for name in ["next", "terminal"] {
            if let Some(at) = step.key(name) {
                let message = format!("a step with a `check` has no `{name}`");
                let hint = "set the next steps in `onPass` and `onFail`";
                diagnostics.push(at.error("bad-value", message).hint(hint));
            }
        }
        let check = step.part("check").present()?;
        return Some(StepExit::Check(Box::new(read_check(&check, editions, diagnostics))));
    }
    match (step.text("next"), step.key("terminal")) {
        (Some(_), Some(terminal)) => {
            let message = "a step has either `next` or `terminal`, not both";
            diagnostics.push(terminal.error("bad-value", message).hint("remove one of them"));
            None
        }
        (Some(next), None) => Some(StepExit::Always(StepTarget::Step(next))),
        (None, Some(_)) => Some(StepExit::Always(StepTarget::Complete)),
        (None, None) => {
            if !step.has("next") {
                let message = "this step has no next step";
                let diagnostic = step.at().error("no-exit", message).label("this step is never left");
                diagnostics.push(diagnostic.hint("add `check`, `next` or `\"terminal\": true`"));
            }
            None
        }
    }
}

fn read_check(
    check: &FileSection<'_>,
    editions: &IndexMap<String, String>,
    diagnostics: &mut Diagnostics,
) -> StepCheck {
    check_answer_form(check, diagnostics);
    let mut hidden = Vec::new();
    let mut transition = |name: &str| {
        let transition = check.part(name).present()?;
        let target = read_transition(&transition, diagnostics)?;
        let named = ["next", "fallback", "onExhausted"].into_iter().filter_map(|name| transition.text(name));
        hidden.extend(named.filter(|named| target.step().is_none_or(|step| step.at != named.at)));
        Some(target)
    };
    let (pass, fail) = (transition("onPass"), transition("onFail"));
    let prompt = check.part("prompt").present();
    StepCheck {
        prompt: prompt.and_then(|prompt| PromptReference::read(&prompt, editions, diagnostics)),
        form: check.any("responseFormat").map(|form| form.node().to_json()).unwrap_or_default(),
        pass,
        fail,
        hidden,
    }
}

fn check_answer_form(check: &FileSection<'_>, diagnostics: &mut Diagnostics) {
    let Some(form) = check.any("responseFormat") else { return };
    if form.get("result").is_none() {
        let message = "`responseFormat` needs `result`";
        diagnostics.push(form.error("missing-key", message).hint("write `\"result\": \"ok|ng\"`"));
    }
    for (name, words) in
        [("result", &["ok|ng", "pass|fail", "boolean"][..]), ("message", &["string", "optional"])]
    {
        let Some(value) = form.get(name) else { continue };
        let written = value.node().as_text().unwrap_or_default();
        if !words.contains(&written) {
            let known = list_of(words.iter().copied(), "or");
            let message = format!("`{name}` of an answer must be {known}, not {}", quoted(written));
            diagnostics.push(value.error("bad-value", message).label("not one of them"));
        }
    }
}

/// Number of retries if the file names none.
const RETRIES: u32 = 3;

/// Reads a transition after a check. It warns about keys that a stronger key hides (S-9, S-39).
fn read_transition(transition: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<StepTarget> {
    let retry = transition.is_on("retry");
    for name in ["maxRetries", "onExhausted"].into_iter().filter(|_| !retry) {
        if let Some(at) = transition.key(name) {
            let message = format!("`{name}` needs `retry`");
            diagnostics.push(at.error("bad-value", message).hint("add `\"retry\": true`, or remove it"));
        }
    }
    let effective = [
        transition.is_on("complete").then_some("complete"),
        transition.has("next").then_some("next"),
        transition.has("fallback").then_some("fallback"),
        retry.then_some("retry"),
    ];
    let mut effective = effective.into_iter().flatten();
    let Some(strongest) = effective.next() else {
        let message = format!("{} says nothing", quoted(&transition.at().path.tail()));
        let diagnostic =
            transition.at().error("empty-transition", message).label("nothing in it has an effect");
        diagnostics.push(diagnostic.hint("add one of `complete`, `next`, `fallback` and `retry`"));
        return None;
    };
    for hidden in effective {
        let Some(at) = transition.key(hidden) else { continue };
        let message = format!("`{hidden}` has no effect with `{strongest}`");
        let hint = match (strongest, hidden) {
            ("fallback" | "next", "retry") => {
                "keep `retry` and name the step in `onExhausted`, or remove `retry`".to_owned()
            }
            _ => format!("remove `{hidden}`"),
        };
        diagnostics.push(at.warning("shadowed", message).label("never followed").hint(hint));
    }
    match strongest {
        "complete" => Some(StepTarget::Complete),
        "next" | "fallback" => transition.text(strongest).map(StepTarget::Step),
        _ => Some(StepTarget::Again {
            at_most: Some(transition.count("maxRetries").map_or(RETRIES, |count| count.value)),
            exhausted: transition.text("onExhausted"),
        }),
    }
}

fn read_custom(step: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Vec<CustomVariable> {
    let mut custom = Vec::new();
    for variable in step.parts("customVariables") {
        let (Some(name), Some(source)) = (variable.text("name"), variable.text("source")) else { continue };
        if source.value == "computed" {
            let message = "computed variables are not supported";
            let hint = "compute the value first and pass it as a parameter";
            diagnostics.push(source.error("not-supported", message).hint(hint));
            continue;
        }
        custom.push(CustomVariable { name, source: source.value, required: variable.is_on("required") });
    }
    custom
}

fn read_gate(step: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<String> {
    let gate = step.text("gate")?;
    if gate.value.trim().is_empty() {
        diagnostics.push(gate.error("bad-value", "the question of a gate is empty"));
        return None;
    }
    Some(gate.value)
}

fn texts(file: &FileSection<'_>, name: &str) -> Vec<(Located<String>, Located<String>)> {
    file.map(name).into_iter().filter_map(|(key, value)| Some((key, value.text()?))).collect()
}
