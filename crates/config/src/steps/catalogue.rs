//! Catalogues: registries with `agentId`, which list prompts. Without a flow, a catalogue becomes two steps.
//! The first prompt runs once, then another one repeats until the work is done (S-13). With a flow, each step
//! names its successors (S-14).

mod phased;

use super::agent::Agent;
use super::behavior::note_idle;
use super::entry_modes;
use super::gate::{self, Gate};
use super::input::Input;
use super::reference::Reference;
use super::registry::{Base, Registry};
use super::schemas::Schemas;
use super::step::{Iterations, Leave, Step};
use super::tables;
use super::validation::{Address, Known};
use super::version;
use crate::{Cursor, Diagnostics, Document, Fields, Located, Location, list_of, quoted};

const BASE: &str = ".agent/{agentId}/prompts";
const WITH_ADAPTATION: &str = "{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md";
const WITHOUT: &str = "{c1}/{c2}/{c3}/f_{edition}.md";

pub(super) fn is_one(document: &Document) -> bool {
    document.root.get("agentId").is_some()
}

pub(super) fn read(
    document: &Document,
    agent: Option<&Agent>,
    about_issue: bool,
    schemas: &mut Schemas<'_>,
    diagnostics: &mut Diagnostics,
) -> Option<Registry> {
    let fields = Fields::read(&document.cursor(), &tables::CATALOGUE, diagnostics)?;
    version::check(&fields, diagnostics);
    let agent = agent?;
    let id = fields.text("agentId")?;
    if id.value != agent.name.value {
        let message = format!("the catalogue is for the agent {}", quoted(&id.value));
        let diagnostic = id.error("agent-id", message).label("not this agent's name");
        diagnostics.push(diagnostic.also(&agent.name.at, "its name"));
    }
    if let Some(written) = fields.text("schemasBase").filter(|_| agent.schemas.is_none()) {
        schemas.move_to(&written, diagnostics);
    }
    entry_modes::check(&fields.map("entryStepMapping"), diagnostics);
    let catalogue = Catalogue { entries: fields.map("steps"), fields: &fields, agent, about_issue };
    catalogue.check_mapping(diagnostics);
    let (steps, entry) = match catalogue.has_flow() {
        true => catalogue.flow(schemas, diagnostics)?,
        false => {
            catalogue.refuse_validation(diagnostics);
            let steps = catalogue.steps(schemas, diagnostics);
            // The missing prompt is already reported.
            let entry = steps.first()?.id.clone();
            (steps, entry)
        }
    };
    let written = fields.text("userPromptsBase");
    let at = written.as_ref().map_or_else(|| fields.location(), |written| written.at.clone());
    let base =
        written.map_or_else(|| BASE.to_owned(), |written| written.value).replace("{agentId}", &id.value);
    let base = Base::Project(Located::new(base, at));
    let (entry, entries, at) = (Some(entry), Vec::new(), fields.location());
    let registry = Registry { base: Some(base), entry, entries, steps, at };
    registry.check_targets(diagnostics);
    Some(registry)
}

struct Catalogue<'a, 'd> {
    fields: &'a Fields<'d>,
    entries: Vec<(Located<String>, Cursor<'d>)>,
    agent: &'a Agent,
    /// True if the run has an issue.
    about_issue: bool,
}

/// First prompt of a run with an issue.
const OF_ISSUE: &str = "initial.issue";

/// First step of a run, and its successor in a catalogue without a flow.
struct First {
    initial: Located<String>,
    continuation: Option<Located<String>>,
}

impl<'d> Catalogue<'_, 'd> {
    /// Returns true if some step names its successors.
    fn has_flow(&self) -> bool {
        self.entries.iter().any(|(_, step)| is_gated(step))
    }

    /// Returns all steps of the flow, and the first one. It skips and reports prompts outside the flow.
    fn flow(
        &self,
        schemas: &mut Schemas<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<(Vec<Step>, Located<String>)> {
        let known = Known::of(self.fields);
        let validated = self.fields.map("validationSteps");
        let refer = |address: Address<'_, 'd>, diagnostics: &mut Diagnostics| {
            self.reference(&Components::of_retry(&address, self.fields), diagnostics)
        };
        let first = self.first(diagnostics);
        let (mut steps, mut idle, mut targets) = (Vec::new(), Vec::new(), Vec::new());
        for (id, value) in &self.entries {
            let is_first = first.as_ref().is_some_and(|first| first.initial.value == id.value);
            if !is_gated(value) && !is_first {
                continue;
            }
            let Some(fields) = Fields::read(value, &tables::ENTRY, diagnostics) else { continue };
            idle.extend(gate::idle(&fields));
            let mut leave = Gate::read(&fields, &id.value, diagnostics);
            if let Some((_, step)) = validated.iter().find(|(key, _)| key.value == id.value)
                && let Some(gate) = &mut leave
            {
                gate.validation = known.read(step, &refer, diagnostics);
            }
            let leave = leave.map(|gate| Leave::Gate(Box::new(gate)));
            let step = self.step(id, &fields, leave, schemas, diagnostics);
            targets.push(id.value.as_str());
            steps.push(step);
        }
        for (id, _) in &validated {
            check_validated(id, &steps, diagnostics);
        }
        known.check_unused(&validated, diagnostics);
        note_idle(&idle, diagnostics);
        self.note_unused(&targets, diagnostics);
        Some((steps, first?.initial))
    }

    /// Returns the first step, and the step that repeats after it.
    fn steps(&self, schemas: &mut Schemas<'_>, diagnostics: &mut Diagnostics) -> Vec<Step> {
        if let Some(prompts) = self.prompts_by_phase() {
            return self.phased(&prompts, schemas, diagnostics);
        }
        let Some(First { initial, continuation }) = self.first(diagnostics) else { return Vec::new() };
        let (first, at) = (initial.value, initial.at);
        let follows = match (continuation, first.strip_prefix("initial.")) {
            (Some(continuation), _) => continuation.value,
            (None, Some(mode)) => format!("continuation.{mode}"),
            (None, None) if self.is_asked_once() || self.entry(&first).is_none() => first.clone(),
            (None, None) => {
                let message = format!("nothing says what follows {}", quoted(&first));
                let hint = "name both prompts: `{\"initial\": …, \"continuation\": …}`";
                diagnostics
                    .push(at.error("unknown-step", message).label("not called `initial.…`").hint(hint));
                first.clone()
            }
        };
        let Some((initial, value)) = self.entry(&first) else {
            self.missing(&first, diagnostics);
            return Vec::new();
        };
        self.note_unused(&[&first, &follows], diagnostics);
        let continued = self.entry(&follows).filter(|_| follows != first);
        if self.entry(&follows).is_none() && !self.is_asked_once() {
            self.missing(&follows, diagnostics);
        }
        let leave = match continued {
            Some((id, _)) => Leave::Next(id.clone()),
            None => Leave::Repeat,
        };
        let mut steps: Vec<Step> = Vec::new();
        steps.extend(self.plain(initial, value, leave, schemas, diagnostics));
        if let Some((id, value)) = continued {
            steps.extend(self.plain(id, value, Leave::Repeat, schemas, diagnostics));
        }
        steps
    }

    /// Returns true if the run ends after the first prompt.
    fn is_asked_once(&self) -> bool {
        let most = self.agent.completion.as_ref().and_then(|own| own.max_iterations.as_ref());
        most.is_some_and(|most| most.value == 1)
    }

    /// Builds a step whose successor does not depend on the reply.
    fn plain(
        &self,
        id: &Located<String>,
        value: &Cursor<'d>,
        leave: Leave,
        schemas: &mut Schemas<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Step> {
        let fields = Fields::read(value, &tables::ENTRY, diagnostics)?;
        note_idle(&gate::idle(&fields), diagnostics);
        Some(self.step(id, &fields, Some(leave), schemas, diagnostics))
    }

    /// Returns the first step for the completion type.
    fn first(&self, diagnostics: &mut Diagnostics) -> Option<First> {
        let own = self.agent.completion.as_ref()?;
        let mode = own.condition.mode();
        if let Some(written) = self.mapped(mode) {
            if let Some(initial) = written.text() {
                return Some(First { initial, continuation: None });
            }
            let pair = Fields::read(&written, &tables::ENTRY_STEPS, diagnostics)?;
            return Some(First { initial: pair.text("initial")?, continuation: pair.text("continuation") });
        }
        if self.about_issue && !self.has_flow() && self.entry(OF_ISSUE).is_some() {
            let initial = Located::new(OF_ISSUE.to_owned(), self.fields.location());
            return Some(First { initial, continuation: None });
        }
        if let Some(initial) = self.fields.text("entryStep") {
            return Some(First { initial, continuation: None });
        }
        if mode.is_none() {
            let message = format!("nothing says with which prompt {} begins", quoted(own.types[0]));
            let hint = "name it in `entryStepMapping`";
            diagnostics.push(self.fields.location().error("missing-key", message).hint(hint));
        }
        let initial = Located::new(format!("initial.{}", mode?), self.fields.location());
        Some(First { initial, continuation: None })
    }

    /// Reports errors in the unused entries of `entryStepMapping`, and in an unused `continuation` (S-5,
    /// S-10). The code that uses the other values reports their errors.
    fn check_mapping(&self, diagnostics: &mut Diagnostics) {
        let mode = self.agent.completion.as_ref().and_then(|own| own.condition.mode());
        let held = self.mapped(mode).map(|written| written.location());
        for (_, written) in self.fields.map("entryStepMapping") {
            let holds = held.as_ref() == Some(&written.location());
            let unread: &[&str] = match (holds, self.has_flow()) {
                (false, _) => &["initial", "continuation"],
                (true, true) => &["continuation"],
                (true, false) => &[],
            };
            let named: Vec<Located<String>> = match written.text() {
                Some(initial) => Some(initial).filter(|_| !holds).into_iter().collect(),
                None => {
                    let mut found = Diagnostics::new();
                    let pair = Fields::read(&written, &tables::ENTRY_STEPS, &mut found);
                    if !holds {
                        diagnostics.append(found);
                    }
                    unread.iter().filter_map(|name| pair.as_ref()?.text(name)).collect()
                }
            };
            for name in named.iter().filter(|name| self.entry(&name.value).is_none()) {
                let known = self.entries.iter().map(|(key, _)| key.value.as_str());
                let hint = diagnostics.suggest(&name.value, known);
                let message = format!("the prompt {} does not exist", quoted(&name.value));
                let diagnostic = name.error("unknown-step", message).label("not among `steps`");
                diagnostics.push(diagnostic.hint(hint.unwrap_or_else(|| "name one of `steps`".to_owned())));
            }
        }
    }

    /// Returns the `entryStepMapping` entry for the completion type or its mode.
    fn mapped(&self, mode: Option<&str>) -> Option<Cursor<'d>> {
        let types = self.agent.completion.iter().flat_map(|own| own.types.iter().copied());
        let names: Vec<&str> = types.chain(mode).collect();
        let mut mapped = self.fields.map("entryStepMapping").into_iter();
        mapped.find(|(kind, _)| names.contains(&kind.value.as_str())).map(|(_, written)| written)
    }

    fn entry(&self, id: &str) -> Option<(&Located<String>, &Cursor<'d>)> {
        self.entries.iter().find(|(key, _)| key.value == id).map(|(key, value)| (key, value))
    }

    fn missing(&self, id: &str, diagnostics: &mut Diagnostics) {
        let at = self.fields.any("steps").map_or_else(|| self.fields.location(), |steps| steps.location());
        let known = diagnostics.suggest(id, self.entries.iter().map(|(key, _)| key.value.as_str()));
        let message = format!("the prompt {} does not exist", quoted(id));
        let by_issue = (id != OF_ISSUE && self.entry(OF_ISSUE).is_some())
            .then(|| format!("`--issue N` begins with `{OF_ISSUE}`"));
        let usual = || "add it, or name another one in `entryStepMapping`".to_owned();
        let hint = by_issue.or(known).unwrap_or_else(usual);
        diagnostics.push(at.error("unknown-step", message).label("not among these").hint(hint));
    }

    /// Notes unused prompts. It still reports their errors (S-5).
    fn note_unused(&self, used: &[&str], diagnostics: &mut Diagnostics) {
        let is_unused = |(key, _): &&(Located<String>, Cursor<'d>)| !used.contains(&key.value.as_str());
        let unused: Vec<_> = self.entries.iter().filter(is_unused).collect();
        for (id, value) in &unused {
            let Some(fields) = Fields::read(value, &tables::ENTRY, diagnostics) else { continue };
            check_step_id(id, &fields, diagnostics);
            fields.object("address", &tables::ADDRESS, diagnostics);
            fields.object("outputSchemaRef", &tables::SCHEMA_REF, diagnostics);
            if let Some(inputs) = fields.any("inputs") {
                Input::read_all(&inputs, diagnostics);
            }
        }
        let Some((first, _)) = unused.first() else { return };
        let at = first.at.clone();
        let names = list_of(unused.iter().map(|(key, _)| key.value.as_str()), "and");
        diagnostics.push(at.note("unused-prompt", format!("this completion type does not use {names}")));
    }

    /// Without a flow no reply can say `closing`, so validation would never run.
    fn refuse_validation(&self, diagnostics: &mut Diagnostics) {
        let known = Known::of(self.fields);
        let validated = self.fields.map("validationSteps");
        for (_, step) in &validated {
            Fields::read(step, &tables::VALIDATION_STEP, diagnostics);
        }
        known.check_unused(&[], diagnostics);
        if let Some((first, _)) = validated.first() {
            let message = "nothing would be validated: no step of this catalogue can say `closing`";
            let hint = "give the step that closes a `structuredGate`, or remove `validationSteps`";
            diagnostics.push(first.error("not-supported", message).label("validated in vain").hint(hint));
        }
    }

    fn step(
        &self,
        id: &Located<String>,
        fields: &Fields<'_>,
        leave: Option<Leave>,
        schemas: &mut Schemas<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Step {
        check_step_id(id, fields, diagnostics);
        let text = |name: &str| fields.text(name).map(|text| text.value);
        let variables = fields.texts("uvVariables").unwrap_or_default().into_iter();
        let bare = |name: String| name.strip_prefix("uv-").unwrap_or(&name).to_owned();
        let output = fields.any("outputSchemaRef").and_then(|output| schemas.output(&output, diagnostics));
        let output = match &leave {
            Some(Leave::Gate(gate)) => {
                output.iter().for_each(|output| gate.check_handed(output, diagnostics));
                output.map(|output| gate.shown_in(output))
            }
            Some(_) | None => output,
        };
        let inputs = fields.any("inputs").map(|inputs| Input::read_all(&inputs, diagnostics));
        Step {
            id: id.clone(),
            name: text("name"),
            description: text("description"),
            prompt: self.prompt(fields, diagnostics),
            iterations: Iterations { min: 1, max: None },
            leave,
            output,
            inputs: inputs.unwrap_or_default(),
            variables: variables.map(|name| name.map(bare)).collect(),
            custom: Vec::new(),
            gate: None,
            uses_stdin: fields.bool("usesStdin").filter(|flag| flag.value).map(|flag| flag.at),
            model: text("model"),
            permission: None,
            tools: None,
            system_prompt: None,
        }
    }

    fn prompt(&self, fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Reference> {
        if let Some(file) = fields.text("promptPath") {
            return Some(Reference { file, fallback: None, split: None });
        }
        let components = match fields.object("address", &tables::ADDRESS, diagnostics) {
            Some(address) => Components::of(&address, self.fields),
            None => Components::of(fields, self.fields),
        };
        self.reference(&components, diagnostics)
    }

    /// Builds the path of a prompt from the catalogue's templates.
    fn reference(&self, components: &Components, diagnostics: &mut Diagnostics) -> Option<Reference> {
        let of_all = |name: &str| self.fields.text(name).map(|text| text.value);
        let mut file = match components.adaptation {
            Some(_) => of_all("pathTemplate").unwrap_or_else(|| WITH_ADAPTATION.to_owned()),
            None => of_all("pathTemplateNoAdaptation").unwrap_or_else(|| WITHOUT.to_owned()),
        };
        let parts = [
            ("c1", &components.c1),
            ("c2", &components.c2),
            ("c3", &components.c3),
            ("edition", &components.edition),
            ("adaptation", &components.adaptation),
        ];
        for (name, value) in parts {
            let place = format!("{{{name}}}");
            match value {
                Some(value) => file = file.replace(&place, value),
                None if file.contains(&place) => {
                    let message = format!("a prompt needs `{name}`, or `promptPath`");
                    diagnostics.push(components.at.error("prompt-ref", message).label("it is missing here"));
                    return None;
                }
                None => {}
            }
        }
        let file = Located::new(file, components.at.clone());
        let split = components.edition.clone().map(|edition| (edition, components.adaptation.clone()));
        Some(Reference { file, fallback: None, split })
    }
}

/// Parts of a prompt's file name.
struct Components {
    c1: Option<String>,
    c2: Option<String>,
    c3: Option<String>,
    edition: Option<String>,
    adaptation: Option<String>,
    at: Location,
}

impl Components {
    fn of(fields: &Fields<'_>, catalogue: &Fields<'_>) -> Self {
        let text = |name: &str| written(fields, name);
        Self {
            c1: text("c1").or_else(|| written(catalogue, "c1")),
            c2: text("c2"),
            c3: text("c3"),
            edition: Some(text("edition").unwrap_or_else(|| "default".to_owned())),
            adaptation: text("adaptation"),
            at: fields.location(),
        }
    }

    fn of_retry(address: &Address<'_, '_>, catalogue: &Fields<'_>) -> Self {
        Self {
            c1: written(catalogue, "c1"),
            c2: written(address.step, "c2"),
            c3: written(address.step, "c3"),
            edition: written(address.pattern, "edition"),
            adaptation: written(address.pattern, "adaptation"),
            at: address.pattern.location(),
        }
    }
}

/// Returns true if a step names its successors.
fn is_gated(step: &Cursor<'_>) -> bool {
    step.get("structuredGate").is_some() || step.get("transitions").is_some()
}

/// Returns a text unless it is empty.
fn written(fields: &Fields<'_>, name: &str) -> Option<String> {
    fields.text(name).map(|text| text.value).filter(|text| !text.is_empty())
}

/// Checks that `stepId` equals the key of the step.
fn check_step_id(id: &Located<String>, fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    if let Some(written) = fields.text("stepId").filter(|written| written.value != id.value) {
        let message = format!("the step {} calls itself {}", quoted(&id.value), quoted(&written.value));
        diagnostics.push(written.error("step-id", message).label("not its key").also(&id.at, "its key"));
    }
}

/// Reports validation of a step that can never say `closing`.
fn check_validated(id: &Located<String>, steps: &[Step], diagnostics: &mut Diagnostics) {
    match steps.iter().find(|step| step.id.value == id.value) {
        Some(step) if step.gate().is_none_or(Gate::completes) => {}
        Some(_) => {
            let message = format!("the step {} never says `closing`", quoted(&id.value));
            diagnostics.push(id.error("bad-value", message).label("validated in vain"));
        }
        None => {
            let hint = diagnostics.suggest(&id.value, steps.iter().map(|step| step.id.value.as_str()));
            let message = format!("step {} does not exist", quoted(&id.value));
            let diagnostic = id.error("unknown-step", message).label("no step of the flow has this id");
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
    }
}
