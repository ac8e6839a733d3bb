//! Catalogues: registries with `agentId`, which list prompts. They become the same steps as a native registry.
//! Without a flow, the first prompt runs once, then another one repeats until the work is done (S-13). With a
//! flow, each step names its successors (S-14), and validators run before it closes (S-16).

use saihai_model::CommandVerdict;

use super::agent::{StepAgent, check_version, note_idle};
use super::completion::{CompletionCondition, PHASES, check_entry_modes};
use super::intent_gate::{ClosureValidator, IntentGate, ValidatorFailure, keys_without_effect};
use super::outputs::SchemaFiles;
use super::parameters::without_prefix;
use super::prompt_files::PromptReference;
use super::registry::{AgentStep, PromptBase, StepExit, StepRegistry, StepTarget, check_own_id};
use super::shape::{FileSection, checked};
use super::tables;
use super::variables::StepInput;
use crate::{Diagnostics, Document, Located, Location, list_of, quoted};

const PROMPTS_BASE: &str = ".agent/{agentId}/prompts";
const WITH_ADAPTATION: &str = "{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md";
const WITHOUT_ADAPTATION: &str = "{c1}/{c2}/{c3}/f_{edition}.md";

/// First prompt of a run with an issue.
const OF_ISSUE: &str = "initial.issue";

/// Number of retry prompts if the file names none.
const ATTEMPTS: u32 = 3;

pub(super) fn is_catalogue(document: &Document) -> bool {
    document.root.get("agentId").is_some()
}

/// Reads a catalogue. `about_issue` is true if the run has an issue.
pub(super) fn read_catalogue(
    document: &Document,
    agent: Option<&StepAgent>,
    about_issue: bool,
    schemas: &mut SchemaFiles<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<StepRegistry> {
    let file = checked(document, &tables::CATALOGUE, diagnostics)?;
    check_version(&file, diagnostics);
    let agent = agent?;
    let id = file.text("agentId")?;
    if id.value != agent.name.value {
        let message = format!("the catalogue is for the agent {}", quoted(&id.value));
        let diagnostic = id.error("agent-id", message).label("not this agent's name");
        diagnostics.push(diagnostic.also(&agent.name.at, "its name"));
    }
    if let Some(written) = file.text("schemasBase").filter(|_| agent.schemas.is_none()) {
        schemas.move_to(&written, diagnostics);
    }
    check_entry_modes(&file.map("entryStepMapping"), diagnostics);
    let entries = file.named_parts("steps");
    let is_flow = entries.iter().any(|(_, step)| is_gated(step));
    let (validators, patterns) = (file.named_parts("validators"), file.named_parts("failurePatterns"));
    let mut catalogue =
        PromptCatalogue { file: &file, entries, validators, patterns, is_flow, agent, about_issue, schemas };
    catalogue.check_mapping(diagnostics);
    catalogue.check_validators(diagnostics);
    let (steps, entry) = match is_flow {
        true => catalogue.flow(diagnostics),
        false => {
            let steps = catalogue.steps(diagnostics);
            let entry = steps.first().map(|step| step.id.clone());
            (steps, entry)
        }
    };
    let written = file.text("userPromptsBase");
    let base = written.unwrap_or_else(|| Located::new(PROMPTS_BASE.to_owned(), file.at().clone()));
    let base = base.map(|base| base.replace("{agentId}", &id.value));
    let (base, at) = (Some(PromptBase::Project(base)), file.at().clone());
    let registry = StepRegistry { base, entry, entries: Vec::new(), steps, at };
    registry.check_targets(diagnostics);
    Some(registry)
}

struct PromptCatalogue<'a, 's, 'd> {
    file: &'a FileSection<'d>,
    entries: Vec<(Located<String>, FileSection<'d>)>,
    validators: Vec<(Located<String>, FileSection<'d>)>,
    /// Failure patterns of the validators.
    patterns: Vec<(Located<String>, FileSection<'d>)>,
    /// True if some step names its successors.
    is_flow: bool,
    agent: &'a StepAgent,
    about_issue: bool,
    schemas: &'a mut SchemaFiles<'s>,
}

/// First step of a run, and its successor in a catalogue without a flow.
struct FirstPrompts {
    initial: Option<Located<String>>,
    continuation: Option<Located<String>>,
}

impl PromptCatalogue<'_, '_, '_> {
    /// Returns all steps of the flow, and the first one. It skips and reports prompts outside the flow.
    fn flow(&mut self, diagnostics: &mut Diagnostics) -> (Vec<AgentStep>, Option<Located<String>>) {
        let first = self.first(diagnostics).and_then(|first| first.initial);
        let validated = self.file.named_parts("validationSteps");
        let (mut steps, mut idle) = (Vec::new(), Vec::new());
        for (id, value) in self.entries.clone() {
            let is_first = first.as_ref().is_some_and(|first| first.value == id.value);
            if !value.is_present() || !is_gated(&value) && !is_first {
                continue;
            }
            idle.extend(keys_without_effect(&value));
            let mut gate = IntentGate::read(&value, &id.value, diagnostics);
            let validation = validated.iter().find(|(key, _)| key.value == id.value);
            if let (Some(gate), Some((_, validation))) = (&mut gate, validation) {
                gate.validators = self.validators(validation, diagnostics);
            }
            let exit = gate.map(|gate| StepExit::Intent(Box::new(gate)));
            steps.push(self.step(&id, &value, exit, diagnostics));
        }
        for (id, _) in &validated {
            check_validated(id, &steps, diagnostics);
        }
        note_idle(idle.into_iter(), diagnostics);
        let used: Vec<&str> = steps.iter().map(|step| step.id.value.as_str()).collect();
        self.note_unused(&used, diagnostics);
        (steps, first)
    }

    /// Returns the first step, and the step that repeats after it.
    fn steps(&mut self, diagnostics: &mut Diagnostics) -> Vec<AgentStep> {
        if let Some(phases) = self.phases() {
            return self.steps_by_phase(&phases, diagnostics);
        }
        let Some(FirstPrompts { initial: Some(initial), continuation }) = self.first(diagnostics) else {
            return Vec::new();
        };
        let (first, at) = (initial.value, initial.at);
        let follows = match (continuation, first.strip_prefix("initial.")) {
            (Some(continuation), _) => continuation.value,
            (None, Some(mode)) => format!("continuation.{mode}"),
            (None, None) if self.is_asked_once() || self.entry(&first).is_none() => first.clone(),
            (None, None) => {
                let message = format!("no next prompt after {}", quoted(&first));
                let hint = "name both prompts: `{\"initial\": …, \"continuation\": …}`";
                diagnostics
                    .push(at.error("unknown-step", message).label("not called `initial.…`").hint(hint));
                first.clone()
            }
        };
        if self.entry(&first).is_none() {
            self.missing(&first, diagnostics);
            return Vec::new();
        }
        self.note_unused(&[&first, &follows], diagnostics);
        let continued = self.entry(&follows).map(|(id, _)| id.clone()).filter(|_| follows != first);
        if self.entry(&follows).is_none() && !self.is_asked_once() {
            self.missing(&follows, diagnostics);
        }
        let target = continued.clone().map_or(StepTarget::AGAIN, StepTarget::Step);
        let mut steps: Vec<AgentStep> = Vec::new();
        steps.extend(self.plain_step(&first, StepExit::Always(target), diagnostics));
        if continued.is_some() {
            steps.extend(self.plain_step(&follows, StepExit::Always(StepTarget::AGAIN), diagnostics));
        }
        steps
    }

    /// Returns the phases before a terminal one, if prompts per phase are used: `initial.project.PHASE` once,
    /// then `continuation.project.PHASE` until the next phase. Returns `None` if another key selects the first
    /// prompt.
    fn phases(&self) -> Option<Vec<&'static str>> {
        let own = self.agent.completion.as_ref()?;
        let CompletionCondition::Phase(terminal) = &own.condition else { return None };
        let by_issue = self.about_issue && self.entry(OF_ISSUE).is_some();
        if by_issue || self.mapped(None).is_some() || self.file.has("entryStep") {
            return None;
        }
        Some(PHASES.into_iter().take_while(|phase| !terminal.iter().any(|one| one == phase)).collect())
    }

    /// Builds two steps per phase. After each of them, the current phase selects the next step.
    fn steps_by_phase(&mut self, phases: &[&'static str], diagnostics: &mut Diagnostics) -> Vec<AgentStep> {
        let (initial, continuation) = (
            |phase: &str| format!("initial.project.{phase}"),
            |phase: &str| format!("continuation.project.{phase}"),
        );
        let mut used = Vec::new();
        let mut steps = Vec::new();
        for phase in phases {
            let (first, then) = (initial(phase), continuation(phase));
            if self.entry(&first).is_none() {
                self.missing(&first, diagnostics);
            }
            if self.entry(&then).is_none() && !self.is_asked_once() {
                self.missing(&then, diagnostics);
            }
            // Its own phase leads to the continuation, another one to the first prompt of that phase.
            let target = |other: &&'static str| {
                let on = self.entry(&continuation(other)).filter(|_| other == phase);
                let (id, _) = on.or_else(|| self.entry(&initial(other)))?;
                Some((*other, StepTarget::Step(id.clone())))
            };
            let exit = StepExit::Phase(phases.iter().filter_map(target).collect());
            for id in [first, then] {
                steps.extend(self.plain_step(&id, exit.clone(), diagnostics));
                used.push(id);
            }
        }
        if used.iter().any(|id| self.entry(id).is_some()) {
            self.note_unused(&used.iter().map(String::as_str).collect::<Vec<_>>(), diagnostics);
        }
        steps
    }

    /// Returns true if the run ends after the first prompt.
    fn is_asked_once(&self) -> bool {
        let most = self.agent.completion.as_ref().and_then(|own| own.max_iterations.as_ref());
        most.is_some_and(|most| most.value == 1)
    }

    /// Returns the first step for the completion type.
    fn first(&self, diagnostics: &mut Diagnostics) -> Option<FirstPrompts> {
        let own = self.agent.completion.as_ref()?;
        let mode = own.condition.mode();
        if let Some((_, mapped)) = self.mapped(mode) {
            return Some(mapped);
        }
        let at = self.file.at();
        let initial = if self.about_issue && !self.is_flow && self.entry(OF_ISSUE).is_some() {
            Located::new(OF_ISSUE.to_owned(), at.clone())
        } else if let Some(initial) = self.file.text("entryStep") {
            initial
        } else if let Some(mode) = mode {
            Located::new(format!("initial.{mode}"), at.clone())
        } else {
            let message = format!("no first prompt for {}", quoted(own.types[0]));
            diagnostics.push(at.error("missing-key", message).hint("name it in `entryStepMapping`"));
            return None;
        };
        Some(FirstPrompts { initial: Some(initial), continuation: None })
    }

    /// Returns the entries of `entryStepMapping`. Each is one prompt, or the first and the following one.
    fn mapping(&self) -> Vec<(Located<String>, FirstPrompts)> {
        let texts = self.file.map("entryStepMapping").into_iter().map(|(_, value)| value.text());
        let pairs = self.file.named_parts("entryStepMapping").into_iter().zip(texts);
        let first = |((kind, pair), text): ((_, FileSection<'_>), Option<_>)| {
            let continuation = pair.text("continuation");
            (kind, FirstPrompts { initial: text.or_else(|| pair.text("initial")), continuation })
        };
        pairs.map(first).collect()
    }

    /// Returns the `entryStepMapping` entry for the completion type or its mode.
    fn mapped(&self, mode: Option<&str>) -> Option<(Location, FirstPrompts)> {
        let types = self.agent.completion.iter().flat_map(|own| own.types.iter().copied());
        let names: Vec<&str> = types.chain(mode).collect();
        let mut mapping = self.mapping().into_iter();
        let (kind, first) = mapping.find(|(kind, _)| names.contains(&kind.value.as_str()))?;
        Some((kind.at, first))
    }

    /// Reports missing prompts in the unused entries of `entryStepMapping`, and an unused `continuation` (S-5,
    /// S-10). The code that uses the other names reports theirs.
    fn check_mapping(&self, diagnostics: &mut Diagnostics) {
        let mode = self.agent.completion.as_ref().and_then(|own| own.condition.mode());
        let used = self.mapped(mode).map(|(at, _)| at);
        for (kind, FirstPrompts { initial, continuation }) in self.mapping() {
            let is_used = used.as_ref() == Some(&kind.at);
            let initial = initial.filter(|_| !is_used);
            let continuation = continuation.filter(|_| !is_used || self.is_flow);
            for name in initial.iter().chain(&continuation).filter(|name| self.entry(&name.value).is_none()) {
                let hint = diagnostics.suggest(&name.value, self.ids());
                let message = format!("the prompt {} does not exist", quoted(&name.value));
                let diagnostic = name.error("unknown-step", message).label("not among `steps`");
                diagnostics.push(diagnostic.hint(hint.unwrap_or_else(|| "name one of `steps`".to_owned())));
            }
        }
    }

    fn entry(&self, id: &str) -> Option<&(Located<String>, FileSection<'_>)> {
        self.entries.iter().find(|(key, _)| key.value == id)
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|(key, _)| key.value.as_str())
    }

    fn missing(&self, id: &str, diagnostics: &mut Diagnostics) {
        let at = self.file.any("steps").map_or_else(|| self.file.at().clone(), |steps| steps.location());
        let known = diagnostics.suggest(id, self.ids());
        let message = format!("the prompt {} does not exist", quoted(id));
        let by_issue = (id != OF_ISSUE && self.entry(OF_ISSUE).is_some())
            .then(|| format!("`--issue N` begins with `{OF_ISSUE}`"));
        let usual = || "add it, or name another one in `entryStepMapping`".to_owned();
        let hint = by_issue.or(known).unwrap_or_else(usual);
        diagnostics.push(at.error("unknown-step", message).label("not among these").hint(hint));
    }

    /// Notes unused prompts. It still reports their errors (S-5).
    fn note_unused(&self, used: &[&str], diagnostics: &mut Diagnostics) {
        let unused = self.entries.iter().filter(|(key, _)| !used.contains(&key.value.as_str()));
        let unused: Vec<_> = unused.collect();
        for (id, step) in &unused {
            check_own_id(id, step, "stepId", diagnostics);
            if let Some(inputs) = step.any("inputs") {
                StepInput::read_all(&inputs, diagnostics);
            }
        }
        let Some((first, _)) = unused.first() else { return };
        let names = list_of(unused.iter().map(|(key, _)| key.value.as_str()), "and");
        let message = format!("this completion type does not use {names}");
        diagnostics.push(first.at.note("unused-prompt", message));
    }

    /// Builds a step whose successor does not depend on the reply.
    fn plain_step(&mut self, id: &str, exit: StepExit, diagnostics: &mut Diagnostics) -> Option<AgentStep> {
        let (id, step) =
            self.entries.iter().find(|(key, step)| key.value == id && step.is_present())?.clone();
        note_idle(keys_without_effect(&step).into_iter(), diagnostics);
        Some(self.step(&id, &step, Some(exit), diagnostics))
    }

    fn step(
        &mut self,
        id: &Located<String>,
        step: &FileSection<'_>,
        exit: Option<StepExit>,
        diagnostics: &mut Diagnostics,
    ) -> AgentStep {
        let output = self.schemas.output(&step.part("outputSchemaRef"), diagnostics);
        let output = match (output, &exit) {
            (Some(output), Some(StepExit::Intent(gate))) => Some(gate.shown_in(output)),
            (output, _) => output,
        };
        AgentStep {
            prompt: self.prompt(step, diagnostics),
            exit,
            output,
            ..AgentStep::common(id.clone(), step, ("stepId", "uvVariables"), diagnostics)
        }
    }

    fn prompt(&self, step: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Option<PromptReference> {
        if let Some(file) = step.text("promptPath") {
            return Some(PromptReference { file, fallback: None, split: None });
        }
        let address = step.part("address").present();
        let address = address.as_ref().unwrap_or(step);
        let edition = written(address, "edition").unwrap_or_else(|| "default".to_owned());
        let parts = [written(address, "c1"), written(address, "c2"), written(address, "c3")];
        self.reference(parts, Some(edition), written(address, "adaptation"), address.at(), diagnostics)
    }

    /// Builds the path of a prompt from the catalogue's templates.
    fn reference(
        &self,
        [c1, c2, c3]: [Option<String>; 3],
        edition: Option<String>,
        adaptation: Option<String>,
        at: &Location,
        diagnostics: &mut Diagnostics,
    ) -> Option<PromptReference> {
        let (template, usual) = match adaptation {
            Some(_) => ("pathTemplate", WITH_ADAPTATION),
            None => ("pathTemplateNoAdaptation", WITHOUT_ADAPTATION),
        };
        let mut file = self.file.word(template).unwrap_or_else(|| usual.to_owned());
        let c1 = c1.or_else(|| written(self.file, "c1"));
        let parts =
            [("c1", &c1), ("c2", &c2), ("c3", &c3), ("edition", &edition), ("adaptation", &adaptation)];
        for (name, value) in parts {
            let placeholder = format!("{{{name}}}");
            match value {
                Some(value) => file = file.replace(&placeholder, value),
                None if file.contains(&placeholder) => {
                    let message = format!("a prompt needs `{name}`, or `promptPath`");
                    diagnostics.push(at.error("prompt-ref", message).label("it is missing here"));
                    return None;
                }
                None => {}
            }
        }
        let split = edition.map(|edition| (edition, adaptation));
        Some(PromptReference { file: Located::new(file, at.clone()), fallback: None, split })
    }

    /// Reports validators without a failure pattern. Without a flow no reply can say `closing`, so validation
    /// would never run.
    fn check_validators(&self, diagnostics: &mut Diagnostics) {
        for (_, validator) in &self.validators {
            if let Some(pattern) = validator.text("failurePattern") {
                find_named(&self.patterns, &pattern, "failure pattern", diagnostics);
            }
        }
        let validated = self.file.map("validationSteps");
        if let Some((first, _)) = validated.first().filter(|_| !self.is_flow) {
            let message = "nothing would be validated: no step of this catalogue can say `closing`";
            let hint = "give the step that closes a `structuredGate`, or remove `validationSteps`";
            diagnostics.push(first.error("not-supported", message).label("never validated").hint(hint));
        }
    }

    /// Reads the validators of a step.
    fn validators(&self, step: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Vec<ClosureValidator> {
        if let Some(first) = step.list("preflightConditions").first() {
            let message = "conditions before a reply are not supported";
            let hint = "move them to `postLLMConditions`, or check them before you start Saihai";
            diagnostics.push(first.error("not-supported", message).hint(hint));
        }
        let conditions = step.parts("postLLMConditions").into_iter();
        let mut validators = Vec::new();
        for name in conditions.filter_map(|condition| condition.text("validator")) {
            let Some(validator) = find_named(&self.validators, &name, "validator", diagnostics) else {
                continue;
            };
            if let Some(phase) = validator.text("phase").filter(|phase| phase.value == "preflight") {
                let message = format!("{} runs before a reply, which is not supported", quoted(&name.value));
                let diagnostic = phase.error("not-supported", message).hint("write `postllm`");
                diagnostics.push(diagnostic.also(&name.at, "used here"));
            }
            validators.extend(self.validator(name.value, validator, step, diagnostics));
        }
        validators
    }

    fn validator(
        &self,
        name: String,
        validator: &FileSection<'_>,
        step: &FileSection<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<ClosureValidator> {
        let pattern = validator.word("failurePattern")?;
        let (_, pattern) = self.patterns.iter().find(|(key, _)| key.value == pattern)?;
        let failure = step.part("onFailure");
        let on_failure = match failure.word("action").as_deref() {
            Some("abort") => ValidatorFailure::Abort,
            Some("skip") => ValidatorFailure::Skip,
            _ => ValidatorFailure::Retry(failure.count("maxAttempts").map_or(ATTEMPTS, |most| most.value)),
        };
        let address = pattern.part("address").present();
        let address = address.as_ref().unwrap_or(pattern);
        let own = |name: &str| written(&pattern.part("address"), name).or_else(|| written(step, name));
        let parts = [written(&pattern.part("address"), "c1"), own("c2"), own("c3")];
        let edition = written(address, "edition").or_else(|| Some("default".to_owned()));
        let adaptation = written(address, "adaptation");
        let sends_prompt = matches!(on_failure, ValidatorFailure::Retry(_)) && pattern.is_present();
        let retry =
            sends_prompt.then(|| self.reference(parts, edition, adaptation, pattern.at(), diagnostics));
        let params = pattern.words("params").unwrap_or_default().into_iter();
        Some(ClosureValidator {
            name,
            command: validator.word("command")?,
            success: match validator.word("successWhen")?.as_str() {
                "empty" => CommandVerdict::BySilence,
                "non-empty" => CommandVerdict::ByOutput,
                _ => CommandVerdict::ByExitCode,
            },
            on_failure,
            retry: retry.flatten(),
            params: params.map(without_prefix).collect(),
        })
    }
}

/// Returns true if a step names its successors.
fn is_gated(step: &FileSection<'_>) -> bool {
    step.has("structuredGate") || step.has("transitions")
}

/// Returns a text unless it is empty.
fn written(section: &FileSection<'_>, name: &str) -> Option<String> {
    section.word(name).filter(|text| !text.is_empty())
}

/// Reports validation of a step that can never say `closing`.
fn check_validated(id: &Located<String>, steps: &[AgentStep], diagnostics: &mut Diagnostics) {
    match steps.iter().find(|step| step.id.value == id.value) {
        Some(step) if step.gate().is_none_or(IntentGate::completes) => {}
        Some(_) => {
            let message = format!("the step {} never says `closing`", quoted(&id.value));
            diagnostics.push(id.warning("shadowed", message).label("never validated"));
        }
        None => {
            let hint = diagnostics.suggest(&id.value, steps.iter().map(|step| step.id.value.as_str()));
            let message = format!("step {} does not exist", quoted(&id.value));
            let diagnostic = id.error("unknown-step", message).label("no step of the flow has this id");
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
    }
}

fn find_named<'a, 'd>(
    known: &'a [(Located<String>, FileSection<'d>)],
    name: &Located<String>,
    kind: &str,
    diagnostics: &mut Diagnostics,
) -> Option<&'a FileSection<'d>> {
    let found = known.iter().find(|(key, _)| key.value == name.value);
    if found.is_none() {
        let hint = diagnostics.suggest(&name.value, known.iter().map(|(key, _)| key.value.as_str()));
        let message = format!("there is no {kind} {}", quoted(&name.value));
        diagnostics.push(name.error("bad-value", message).label("named here only").maybe_hint(hint));
    }
    found.map(|(_, section)| section)
}
