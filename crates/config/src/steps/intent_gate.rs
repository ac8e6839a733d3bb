//! Gates: a reply's field selects the next step (S-15); validators run before it closes the flow (S-16).

use std::collections::BTreeMap;

use saihai_model::{
    Action, ActionSpec, Choice, CommandVerdict, ExitRule, FailureReason, Json, Label, LabelField,
    LabelRefinement, Method, Millis, MissingFieldPolicy, Offer, Once, Proof, RefutedProofPolicy,
    RuleCondition, Shaping, Target,
};
use serde_json::{Map, json};

use super::agent::IssueClosure;
use super::lower::lower_target;
use super::outputs::{OutputKey, StepOutput};
use super::prompt_files::PromptReference;
use super::registry::{AgentStep, StepRegistry, StepTarget};
use super::shape::FileSection;
use crate::{Cursor, Diagnostics, Located, Location, Value, did_you_mean, list_of, quoted};

/// Decision of a reply about the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Intent {
    Next,
    Repeat,
    Jump,
    Handoff,
    Escalate,
    Closing,
}

impl Intent {
    const ALL: [Self; 6] =
        [Self::Next, Self::Repeat, Self::Jump, Self::Handoff, Self::Escalate, Self::Closing];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.name() == name)
    }

    fn name(self) -> &'static str {
        self.words()[0]
    }

    /// Returns all words for the intent, its name first.
    fn words(self) -> &'static [&'static str] {
        match self {
            Self::Next => &["next", "continue", "pass"],
            Self::Repeat => &["repeat", "retry", "wait", "fail"],
            Self::Jump => &["jump"],
            Self::Handoff => &["handoff"],
            Self::Escalate => &["escalate"],
            Self::Closing => &["closing", "done", "finished"],
        }
    }

    /// Returns the intents of a kind of step.
    fn of_kind(kind: &str) -> Option<&'static [Self]> {
        match kind {
            "work" => Some(&[Self::Next, Self::Repeat, Self::Jump, Self::Handoff]),
            "verification" => Some(&[Self::Next, Self::Repeat, Self::Jump, Self::Escalate]),
            "closure" => Some(&[Self::Closing, Self::Repeat]),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct IntentGate {
    /// JSON pointer to the intent.
    pointer: String,
    /// Allowed intents, with the target of each.
    routes: Vec<(Intent, IntentRoute)>,
    /// Intent for a reply without a valid one; `None` makes the reply invalid.
    fallback: Option<Intent>,
    /// Outputs from deeper in the reply, each with its JSON pointer.
    pub(super) handed: Vec<(OutputKey, String)>,
    /// Programs that must succeed before the step closes.
    pub(super) validators: Vec<ClosureValidator>,
}

#[derive(Debug, Clone, PartialEq)]
enum IntentRoute {
    To(StepTarget),
    /// The value at a JSON pointer selects the target. There is at least one.
    ByField(String, Vec<(String, StepTarget)>),
}

/// A program that checks the work.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ClosureValidator {
    pub(super) name: String,
    pub(super) command: String,
    /// Meaning of the program's result.
    pub(super) success: CommandVerdict,
    pub(super) on_failure: ValidatorFailure,
    pub(super) retry: Option<PromptReference>,
    /// Variables of that prompt that hold the program's output.
    pub(super) params: Vec<String>,
}

/// Action after a failed validator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValidatorFailure {
    /// Sends the retry prompt, at most this many times.
    Retry(u32),
    Abort,
    Skip,
}

impl IntentGate {
    /// Reads the gate of a step. A missing gate is an error, because the step would have no successor.
    pub(super) fn read(step: &FileSection<'_>, id: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        let gate = step.part("structuredGate");
        if !step.has("structuredGate") {
            let message = "this step has no next step";
            let diagnostic = step.at().error("no-exit", message).label("this step is never left");
            diagnostics.push(diagnostic.hint("add `structuredGate` and `transitions`"));
        }
        if !gate.is_present() {
            return None;
        }
        let allowed = allowed_intents(step, &gate, diagnostics);
        let transitions = step.named_parts("transitions");
        check_transitions(&transitions, &allowed, diagnostics);
        let mut routes = Vec::new();
        for intent in &allowed {
            let reader = IntentRouteReader { gate: &gate, id, intent };
            let transition = transitions.iter().find(|(name, _)| name.value == intent.value.name());
            let route = reader.read(transition.map(|(_, transition)| transition), diagnostics);
            routes.extend(route.map(|route| (intent.value, route)));
        }
        let gate = Self {
            pointer: json_pointer(&gate.word("intentField")?),
            fallback: fallback_intent(&gate, &routes, diagnostics),
            routes,
            handed: read_handed(&gate, diagnostics),
            validators: Vec::new(),
        };
        gate.check_handed(diagnostics);
        Some(gate)
    }

    /// Reports a handed-on output that would replace a field which selects the next step.
    fn check_handed(&self, diagnostics: &mut Diagnostics) {
        let fields = self.routes.iter().filter_map(|(_, route)| match route {
            IntentRoute::To(StepTarget::NamedByReply(pointer)) | IntentRoute::ByField(pointer, _) => {
                Some(pointer)
            }
            IntentRoute::To(_) => None,
        });
        let deciding: Vec<&str> =
            fields.chain([&self.pointer]).filter_map(|pointer| pointer.split('/').nth(1)).collect();
        for (key, from) in &self.handed {
            let name = &key.name.value;
            if deciding.contains(&name.as_str()) && *from != json_pointer(name) {
                let message =
                    format!("the output {} would replace a field that selects the next step", quoted(name));
                let diagnostic = key.name.error("variable-collision", message).label("becomes this output");
                diagnostics.push(diagnostic.hint("pass on the object that contains it"));
            }
        }
    }

    pub(super) fn targets(&self) -> Vec<&StepTarget> {
        let targets = self.routes.iter().flat_map(|(_, route)| match route {
            IntentRoute::To(target) => vec![target],
            IntentRoute::ByField(_, targets) => targets.iter().map(|(_, target)| target).collect(),
        });
        targets.collect()
    }

    /// Returns true if a reply can name any step.
    pub(super) fn jumps(&self) -> bool {
        self.targets().into_iter().any(|target| matches!(target, StepTarget::NamedByReply(_)))
    }

    /// Returns true if this step can complete the flow.
    pub(super) fn completes(&self) -> bool {
        self.targets().contains(&&StepTarget::Complete)
    }

    /// Adds the intent to a schema that lacks it. An agent can only set fields that its prompt shows.
    pub(super) fn shown_in(&self, mut output: StepOutput) -> StepOutput {
        for (name, form) in self.intent_form().as_object().into_iter().flatten() {
            let is_known = output.keys.iter().any(|key| key.name.value == *name);
            if !is_known && output.schema.is_object() {
                output.schema["properties"][name] = schema_of(form);
            }
        }
        output
    }

    /// Returns the answer format for a step without a schema, with the allowed values in place.
    pub(super) fn form(&self) -> Json {
        let mut form = self.intent_form();
        for (_, route) in &self.routes {
            match route {
                IntentRoute::To(StepTarget::NamedByReply(pointer)) => {
                    put(&mut form, pointer, json!("the step to jump to"));
                }
                IntentRoute::ByField(pointer, targets) => {
                    let values: Vec<&str> = targets.iter().map(|(value, _)| value.as_str()).collect();
                    put(&mut form, pointer, json!(values.join("|")));
                }
                IntentRoute::To(_) => {}
            }
        }
        for (_, pointer) in &self.handed {
            if form.pointer(pointer).is_none() {
                put(&mut form, pointer, json!("…"));
            }
        }
        form
    }

    /// Returns the answer format of the intent alone.
    fn intent_form(&self) -> Json {
        let mut form = Json::Object(Map::new());
        let names: Vec<&str> = self.routes.iter().map(|(intent, _)| intent.name()).collect();
        put(&mut form, &self.pointer, json!(names.join("|")));
        form
    }

    /// Returns the labels of the gate, with their targets.
    fn labels(&self) -> Vec<(Label, &StepTarget)> {
        let labels = self.routes.iter().flat_map(|(intent, route)| match route {
            IntentRoute::To(target) => vec![(intent.name().into(), target)],
            // `closing` keeps one label for all values, so that every proof applies to it.
            IntentRoute::ByField(_, targets) if *intent == Intent::Closing => {
                vec![(intent.name().into(), &targets[0].1)]
            }
            IntentRoute::ByField(_, targets) => {
                targets.iter().map(|(value, target)| (value_label(*intent, value), target)).collect()
            }
        });
        labels.collect()
    }

    pub(super) fn choice(&self, registry: &StepRegistry) -> Choice {
        let intents = self.routes.iter().map(|(intent, _)| *intent);
        let words = intents.flat_map(|intent| intent.words().iter().map(move |word| (*word, intent)));
        let labels = self.labels().into_iter().enumerate();
        let field = LabelField {
            pointer: self.pointer.clone(),
            means: words.map(|(word, intent)| (word.to_owned(), intent.name().into())).collect(),
            narrowed: self
                .routes
                .iter()
                .filter_map(|(intent, route)| narrowed(*intent, route, registry))
                .collect(),
            unsaid: Some(match self.fallback {
                Some(intent) => MissingFieldPolicy::Label(intent.name().into()),
                None => MissingFieldPolicy::Wrong,
            }),
        };
        Choice {
            options: labels.map(|(number, (label, _))| Offer { number, label }).collect(),
            found_by: vec![Method::Field(field)],
        }
    }

    pub(super) fn rules(&self, step: &str, registry: &StepRegistry) -> Vec<ExitRule> {
        let rule = |(label, target)| ExitRule {
            when: RuleCondition::Is(label),
            then: lower_target(step, target, registry),
        };
        self.labels().into_iter().map(rule).collect()
    }
}

/// Converts an answer format to a schema. All keys are required, and all leaves are strings.
fn schema_of(form: &Json) -> Json {
    let Some(fields) = form.as_object() else { return json!({"type": "string", "description": form}) };
    let properties: Map<String, Json> =
        fields.iter().map(|(key, form)| (key.clone(), schema_of(form))).collect();
    let required: Vec<&String> = fields.keys().collect();
    json!({"type": "object", "required": required, "properties": properties})
}

/// Returns the valid intents of a step, and reports those its kind does not allow.
fn allowed_intents(
    step: &FileSection<'_>,
    gate: &FileSection<'_>,
    diagnostics: &mut Diagnostics,
) -> Vec<Located<Intent>> {
    let written = gate.texts("allowedIntents").into_iter();
    let mut allowed: Vec<Located<Intent>> =
        written.filter_map(|name| Some(Located::new(Intent::named(&name.value)?, name.at))).collect();
    if !step.has("stepKind") {
        let message = "a step with a gate needs `stepKind`";
        let hint = "write `work`, `verification` or `closure`";
        diagnostics.push(step.at().error("missing-key", message).hint(hint));
    }
    let kind = step.word("stepKind").unwrap_or_default();
    let Some(known) = Intent::of_kind(&kind) else { return allowed };
    allowed.retain(|intent| {
        let fits = known.contains(&intent.value);
        if !fits {
            let message = format!("a step of kind `{kind}` cannot say `{}`", intent.value.name());
            let names = list_of(known.iter().map(|intent| intent.name()), "and");
            diagnostics.push(intent.error("bad-value", message).hint(format!("it can say {names}")));
        }
        fits
    });
    allowed
}

/// Reports transitions for intents that are not allowed, because no reply can use them.
fn check_transitions(
    transitions: &[(Located<String>, FileSection<'_>)],
    allowed: &[Located<Intent>],
    diagnostics: &mut Diagnostics,
) {
    for (name, _) in transitions {
        if allowed.iter().any(|intent| intent.value.name() == name.value) {
            continue;
        }
        match Intent::named(&name.value) {
            Some(_) => {
                let message = format!("`{}` is not among `allowedIntents`", name.value);
                diagnostics.push(name.warning("shadowed", message).label("never followed"));
            }
            None => {
                let message = format!("{} is not an intent", quoted(&name.value));
                let hint = did_you_mean(&name.value, allowed.iter().map(|intent| intent.value.name()));
                diagnostics.push(name.error("bad-value", message).maybe_hint(hint));
            }
        }
    }
}

fn fallback_intent(
    gate: &FileSection<'_>,
    routes: &[(Intent, IntentRoute)],
    diagnostics: &mut Diagnostics,
) -> Option<Intent> {
    if gate.flag("failFast").is_none_or(|flag| flag.value) {
        return None;
    }
    let Some(written) = gate.text("fallbackIntent") else {
        if let Some(at) = gate.key("failFast").filter(|_| !gate.has("fallbackIntent")) {
            let message = "`failFast` can only be `false` with a `fallbackIntent`";
            diagnostics.push(at.error("missing-key", message).hint("add `fallbackIntent`"));
        }
        return None;
    };
    let intent = Intent::named(&written.value)?;
    if !gate.texts("allowedIntents").iter().any(|one| one.value == written.value) {
        let message = format!("`{}` is not among `allowedIntents`", written.value);
        diagnostics.push(written.error("bad-value", message).label("never allowed"));
        return None;
    }
    // An intent without a target is already reported.
    let (_, route) = routes.iter().find(|(one, _)| *one == intent)?;
    let is_fixed = !matches!(route, IntentRoute::To(StepTarget::NamedByReply(_)) | IntentRoute::ByField(..));
    if is_fixed || intent == Intent::Closing {
        return Some(intent);
    }
    let message = format!("`{}` needs a target from the reply, and such a reply has none", written.value);
    let hint = "fall back on an intent that leads to one step";
    diagnostics.push(written.error("bad-value", message).label("has no target").hint(hint));
    None
}

/// Reads the handed-on outputs, each under the last name of its path. Each needs a unique name.
fn read_handed(gate: &FileSection<'_>, diagnostics: &mut Diagnostics) -> Vec<(OutputKey, String)> {
    let mut handed: Vec<(OutputKey, String)> = Vec::new();
    for path in gate.texts("handoffFields") {
        let from = json_pointer(&path.value);
        let name = path.map(|path| path.rsplit('.').next().unwrap_or_default().to_owned());
        match handed.iter().find(|(first, _)| first.name.value == name.value) {
            Some((_, same)) if *same == from => {}
            Some((first, _)) => {
                let message = format!("the output {} would have two sources", quoted(&name.value));
                let diagnostic = name.error("variable-collision", message).label("the last name of both");
                let diagnostic = diagnostic.also(&first.name.at, "the first source");
                diagnostics
                    .push(diagnostic.hint("pass on only one of them, or the object that contains both"));
            }
            None => handed.push((OutputKey { name, certain: true }, from)),
        }
    }
    handed
}

/// Reader of the target of one intent.
struct IntentRouteReader<'a, 'd> {
    gate: &'a FileSection<'d>,
    id: &'a str,
    intent: &'a Located<Intent>,
}

impl IntentRouteReader<'_, '_> {
    fn read(&self, rule: Option<&FileSection<'_>>, diagnostics: &mut Diagnostics) -> Option<IntentRoute> {
        if let (Intent::Jump, Some(field)) = (self.intent.value, self.gate.word("targetField")) {
            return Some(IntentRoute::To(StepTarget::NamedByReply(json_pointer(&field))));
        }
        let Some(rule) = rule else { return self.default_target(diagnostics).map(IntentRoute::To) };
        if !rule.is_present() {
            return None;
        }
        match (rule.any("target"), rule.word("condition"), rule.has("targets")) {
            (Some(target), None, false) => match self.target(&target, diagnostics)? {
                StepTarget::Step(step) if step.value == self.id && self.intent.value == Intent::Repeat => {
                    Some(IntentRoute::To(StepTarget::AGAIN))
                }
                target => Some(IntentRoute::To(target)),
            },
            (None, Some(condition), true) => {
                let mut targets = Vec::new();
                for (value, target) in rule.map("targets") {
                    targets.push((value.value, self.target(&target, diagnostics)?));
                }
                if targets.is_empty() {
                    diagnostics.push(rule.at().error("bad-value", "`targets` is empty"));
                    return None;
                }
                Some(IntentRoute::ByField(json_pointer(&condition), targets))
            }
            (..) => {
                let message = "a transition has either `target`, or `condition` and `targets`";
                diagnostics.push(rule.at().error("bad-value", message).label("not one of both"));
                None
            }
        }
    }

    /// Returns the target of an intent without a transition.
    fn default_target(&self, diagnostics: &mut Diagnostics) -> Option<StepTarget> {
        match self.intent.value {
            Intent::Closing => Some(StepTarget::Complete),
            Intent::Repeat => Some(StepTarget::AGAIN),
            intent => {
                let name = intent.name();
                let message = format!("no next step for `{name}`");
                let hint = match intent {
                    Intent::Jump => "add `targetField`, or `transitions.jump`".to_owned(),
                    _ => format!("add `transitions.{name}`"),
                };
                diagnostics.push(self.intent.error("no-exit", message).label("allowed here").hint(hint));
                None
            }
        }
    }

    /// Reads a target: a step, or `null` for the end of the flow, which only `closing` may use.
    fn target(&self, target: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<StepTarget> {
        let closes = self.intent.value == Intent::Closing;
        match (&target.node().value, target.text()) {
            (Value::Null, _) if closes => return Some(StepTarget::Complete),
            (Value::Null, _) => {
                let message = format!("`{}` needs a step to go to", self.intent.value.name());
                let hint = "only `closing` ends the flow, in a step of kind `closure`";
                diagnostics.push(target.error("bad-value", message).label("no step").hint(hint));
            }
            (_, Some(_)) if closes => {
                let message = "`closing` ends the flow and leads to no step";
                diagnostics.push(target.error("bad-value", message).hint("write `null`"));
            }
            (_, Some(step)) => return Some(StepTarget::Step(step)),
            (..) => {
                let message = "a target is the id of a step, or `null`";
                diagnostics.push(target.error("bad-type", message).label(target.node().value.kind()));
            }
        }
        None
    }
}

/// Converts a dotted path to a JSON pointer.
fn json_pointer(path: &str) -> String {
    let escape = |name: &str| name.replace('~', "~0").replace('/', "~1");
    path.split('.').map(|name| format!("/{}", escape(name))).collect()
}

/// Sets a value at a JSON pointer, and creates missing objects.
fn put(root: &mut Json, pointer: &str, value: Json) {
    let mut at = root;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        if !at.is_object() {
            *at = Json::Object(Map::new());
        }
        at = &mut at[name];
    }
    *at = value;
}

/// Returns the keys of a step without effect.
pub(super) fn keys_without_effect(step: &FileSection<'_>) -> Vec<(&'static str, Location)> {
    let reference = step.any("structuredGate").and_then(|gate| gate.get("intentSchemaRef"));
    let reference = reference.map(|value| ("intentSchemaRef", value.location()));
    let priority = step.key("priority").map(|at| ("priority", at.clone()));
    reference.into_iter().chain(priority).collect()
}

/// Time limit of a validator. It is long, because test suites are slow.
const VALIDATOR_TIMEOUT: Millis = Millis(30 * 60 * 1000);

/// Returns the changes to a reply before it is used.
pub(super) fn reply_shaping(step: &AgentStep) -> Shaping {
    let Some(gate) = step.gate() else { return Shaping::default() };
    let lifted = gate.handed.iter().map(|(key, pointer)| (key.name.value.clone(), pointer.clone()));
    let fixed = [("stepId".to_owned(), Json::from(step.id.value.as_str()))].into();
    Shaping { fixed, lifted: lifted.collect() }
}

/// Returns the proofs to close a step, then the action on the issue (S-61). `written`: the validators' file.
pub(super) fn closing_proofs(step: &AgentStep, written: &str, closure: Option<&IssueClosure>) -> Vec<Proof> {
    let Some(gate) = step.gate().filter(|gate| gate.completes()) else { return Vec::new() };
    let proof = |name: &str, does, once, refuted| Proof {
        of: Intent::Closing.name().into(),
        rules: Vec::new(),
        name: name.to_owned(),
        by: ActionSpec { does, inputs: Vec::new(), once, poll: None },
        refuted,
    };
    let mut proofs = Vec::new();
    for validator in &gate.validators {
        let does = Action::Command {
            argv: ["/bin/sh", "-c", &validator.command].map(str::to_owned).to_vec(),
            timeout: VALIDATOR_TIMEOUT,
            input: Json::Null,
            told: validator.success,
            written: Some(written.to_owned()),
        };
        proofs.push(proof(&validator.name, does, Once::ReadOnly, refuted(&step.id.value, validator)));
    }
    if let Some(IssueClosure { close, add, remove }) = closure.cloned() {
        let name = if close { "issue closed" } else { "issue labelled" };
        let does = Action::CloseIssue { close, add, remove };
        proofs.push(proof(name, does, Once::SetToValue, RefutedProofPolicy::Remarked));
    }
    proofs
}

fn refuted(step: &str, validator: &ClosureValidator) -> RefutedProofPolicy {
    match validator.on_failure {
        ValidatorFailure::Retry(at_most) => RefutedProofPolicy::Again {
            at_most,
            exhausted: Target::failed(FailureReason::RetriesExhausted {
                step: step.to_owned(),
                times: at_most,
            }),
        },
        ValidatorFailure::Abort => RefutedProofPolicy::Go(Target::failed(FailureReason::ValidationFailed {
            step: step.to_owned(),
            validator: validator.name.clone(),
        })),
        ValidatorFailure::Skip => RefutedProofPolicy::Remarked,
    }
}

fn value_label(intent: Intent, value: &str) -> Label {
    match intent {
        Intent::Closing => intent.name().into(),
        _ => Label::from(format!("{} ({value})", intent.name())),
    }
}

/// Returns the second field that an intent requires, if its target depends on one.
fn narrowed(intent: Intent, route: &IntentRoute, registry: &StepRegistry) -> Option<LabelRefinement> {
    let (pointer, means): (&String, BTreeMap<String, Label>) = match route {
        IntentRoute::To(StepTarget::NamedByReply(pointer)) => {
            let steps = registry.steps.iter().map(|step| (step.id.value.clone(), intent.name().into()));
            (pointer, steps.collect())
        }
        IntentRoute::ByField(pointer, targets) => {
            let labels = targets.iter().map(|(value, _)| (value.clone(), value_label(intent, value)));
            (pointer, labels.collect())
        }
        IntentRoute::To(_) => return None,
    };
    Some(LabelRefinement { label: intent.name().into(), pointer: pointer.clone(), means })
}
