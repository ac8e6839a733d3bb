//! Gates: the next step comes from a field of the reply, with `structuredGate` and `transitions` (S-15).

use serde_json::{Map, Value as Json, json};

use super::intent::{Intent, StepKind};
use super::output::{Key, Output};
use super::tables;
use super::validation::Validation;
use crate::{Cursor, Diagnostics, Fields, Located, Location, Value, did_you_mean, list_of, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gate {
    /// JSON pointer to the intent.
    pub(super) pointer: String,
    /// Allowed intents, with the target of each.
    pub(super) ways: Vec<(Intent, Way)>,
    /// Intent for a reply without a valid one; `None` makes the reply invalid.
    pub(super) fallback: Option<Intent>,
    /// Outputs from deeper in the reply, each with its JSON pointer.
    pub(super) handed: Vec<(Key, String)>,
    /// Validation before the step closes.
    pub(super) validation: Option<Validation>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Way {
    Complete,
    Again,
    Step(Located<String>),
    /// The step that the reply names at a JSON pointer.
    Named(String),
    /// A step selected by the value at a JSON pointer; `None` completes the flow.
    By(String, Vec<(String, Option<Located<String>>)>),
}

impl Gate {
    /// Reads the gate of a step. A missing gate is an error, because the step would have no successor.
    pub(super) fn read(step: &Fields<'_>, id: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        let gate = step.object("structuredGate", &tables::STRUCTURED_GATE, diagnostics);
        let Some(gate) = gate else {
            if !step.has("structuredGate") {
                let message = "nothing says what follows this step";
                let diagnostic = step.location().error("no-exit", message).label("this step is never left");
                diagnostics.push(diagnostic.hint("add `structuredGate` and `transitions`"));
            }
            return None;
        };
        let allowed = allowed(step, &gate, diagnostics);
        let transitions = step.map("transitions");
        check_transitions(&transitions, &allowed, diagnostics);
        let mut ways = Vec::new();
        for intent in &allowed {
            let reader = WayReader { gate: &gate, id, intent };
            let written = transitions.iter().find(|(name, _)| name.value == intent.value.name());
            let way = reader.read(written.map(|(_, rule)| rule), diagnostics);
            ways.extend(way.map(|way| (intent.value, way)));
        }
        Some(Self {
            pointer: pointer(&gate.text("intentField")?.value),
            fallback: fallback(&gate, &ways, diagnostics),
            ways,
            handed: read_handed(&gate, diagnostics),
            validation: None,
        })
    }

    /// Reports a handed-on output that hides a schema key of the same name.
    pub(super) fn check_handed(&self, output: &Output, diagnostics: &mut Diagnostics) {
        for (key, from) in &self.handed {
            let name = &key.name.value;
            let own = output.keys.iter().find(|own| own.name.value == *name);
            if let Some(own) = own.filter(|_| *from != pointer(name)) {
                let message = format!("the output {} would have two sources", quoted(name));
                let diagnostic = key.name.error("variable-collision", message).label("is handed on as that");
                let diagnostic = diagnostic.also(&own.name.at, "has a key of that name");
                diagnostics.push(diagnostic.hint("hand on the key itself, or rename one of them"));
            }
        }
    }

    /// Returns every step it names, with locations.
    pub(super) fn targets(&self) -> Vec<&Located<String>> {
        let mut targets = Vec::new();
        for (_, way) in &self.ways {
            match way {
                Way::Step(step) => targets.push(step),
                Way::By(_, by) => targets.extend(by.iter().filter_map(|(_, step)| step.as_ref())),
                Way::Complete | Way::Again | Way::Named(_) => {}
            }
        }
        targets
    }

    /// Returns true if a reply can name any step.
    pub(super) fn jumps(&self) -> bool {
        self.ways.iter().any(|(_, way)| matches!(way, Way::Named(_)))
    }

    /// Returns true if this step can complete the flow.
    pub(super) fn completes(&self) -> bool {
        self.ways.iter().any(|(_, way)| match way {
            Way::Complete => true,
            Way::By(_, by) => by.iter().any(|(_, step)| step.is_none()),
            Way::Again | Way::Step(_) | Way::Named(_) => false,
        })
    }

    /// Adds the intent to a schema that lacks it. An agent can only set fields that its prompt shows.
    pub(super) fn shown_in(&self, mut output: Output) -> Output {
        let mut form = Json::Object(Map::new());
        let words: Vec<&str> = self.ways.iter().map(|(intent, _)| intent.name()).collect();
        put(&mut form, &self.pointer, json!(words.join("|")));
        for (name, form) in form.as_object().into_iter().flatten() {
            let is_known = output.keys.iter().any(|key| key.name.value == *name);
            if !is_known && output.schema.is_object() {
                output.schema["properties"][name] = schema_of(form);
            }
        }
        output
    }

    /// Returns the answer format for a step without a schema, with the allowed values in place.
    pub(super) fn form(&self) -> Json {
        let mut form = Json::Object(Map::new());
        let words: Vec<&str> = self.ways.iter().map(|(intent, _)| intent.name()).collect();
        put(&mut form, &self.pointer, json!(words.join("|")));
        for (_, way) in &self.ways {
            match way {
                Way::Named(pointer) => put(&mut form, pointer, json!("the step to jump to")),
                Way::By(pointer, by) => {
                    let values: Vec<&str> = by.iter().map(|(value, _)| value.as_str()).collect();
                    put(&mut form, pointer, json!(values.join("|")));
                }
                Way::Complete | Way::Again | Way::Step(_) => {}
            }
        }
        for (_, pointer) in &self.handed {
            if form.pointer(pointer).is_none() {
                put(&mut form, pointer, json!("…"));
            }
        }
        form
    }
}

/// Converts an answer format to a schema. All keys are required, and all leaves are strings.
fn schema_of(form: &Json) -> Json {
    match form {
        Json::Object(fields) => {
            let properties: Map<String, Json> =
                fields.iter().map(|(key, form)| (key.clone(), schema_of(form))).collect();
            let required: Vec<&String> = fields.keys().collect();
            json!({"type": "object", "required": required, "properties": properties})
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
            json!({"type": "string", "description": form})
        }
    }
}

/// Returns the valid intents of a step, and reports those its kind does not allow.
fn allowed(step: &Fields<'_>, gate: &Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<Located<Intent>> {
    let written = gate.texts("allowedIntents").unwrap_or_default().into_iter();
    let mut allowed: Vec<Located<Intent>> =
        written.filter_map(|name| Some(Located::new(Intent::named(&name.value)?, name.at))).collect();
    let Some(kind) = step.text("stepKind") else {
        if !step.has("stepKind") {
            let message = "a step with a gate needs `stepKind`";
            let hint = "write `work`, `verification` or `closure`";
            diagnostics.push(step.location().error("missing-key", message).hint(hint));
        }
        return allowed;
    };
    let Some(known) = StepKind::named(&kind.value).map(StepKind::intents) else { return allowed };
    allowed.retain(|intent| {
        let fits = known.contains(&intent.value);
        if !fits {
            let message = format!("a step of kind `{}` cannot say `{}`", kind.value, intent.value.name());
            let names = list_of(known.iter().map(|intent| intent.name()), "and");
            diagnostics.push(intent.error("bad-value", message).hint(format!("it can say {names}")));
        }
        fits
    });
    allowed
}

/// Reports transitions for intents that are not allowed, because no reply can use them.
fn check_transitions(
    transitions: &[(Located<String>, Cursor<'_>)],
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
                let message = format!("{} is no intent", quoted(&name.value));
                let hint = did_you_mean(&name.value, allowed.iter().map(|intent| intent.value.name()));
                diagnostics.push(name.error("bad-value", message).maybe_hint(hint));
            }
        }
    }
}

fn fallback(gate: &Fields<'_>, ways: &[(Intent, Way)], diagnostics: &mut Diagnostics) -> Option<Intent> {
    if gate.bool("failFast").is_none_or(|flag| flag.value) {
        return None;
    }
    let Some(written) = gate.text("fallbackIntent") else {
        if let Some(at) = gate.key("failFast").filter(|_| !gate.has("fallbackIntent")) {
            let message = "`failFast` can only be `false` where `fallbackIntent` says what then holds";
            diagnostics.push(at.error("missing-key", message).hint("add `fallbackIntent`"));
        }
        return None;
    };
    let intent = Intent::named(&written.value)?;
    let allowed = gate.texts("allowedIntents").unwrap_or_default();
    if !allowed.iter().any(|one| Intent::named(&one.value) == Some(intent)) {
        let message = format!("`{}` is not among `allowedIntents`", written.value);
        diagnostics.push(written.error("bad-value", message).label("never allowed"));
        return None;
    }
    // An intent without a target is already reported.
    let (_, way) = ways.iter().find(|(one, _)| *one == intent)?;
    match way {
        Way::Complete | Way::Again | Way::Step(_) => Some(intent),
        Way::By(..) if intent == Intent::Closing => Some(intent),
        Way::Named(_) | Way::By(..) => {
            let message =
                format!("`{}` leads where the reply says, and this one says nothing", written.value);
            let hint = "fall back on an intent that leads to one step";
            diagnostics.push(written.error("bad-value", message).label("leads nowhere by itself").hint(hint));
            None
        }
    }
}

/// Reads the handed-on outputs. Each needs a unique name.
fn read_handed(gate: &Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<(Key, String)> {
    let mut handed: Vec<(Key, String)> = Vec::new();
    for path in gate.texts("handoffFields").unwrap_or_default() {
        let (key, from) = handed_on(path);
        match handed.iter().find(|(first, _)| first.name.value == key.name.value) {
            Some((_, same)) if *same == from => {}
            Some((first, _)) => {
                let message = format!("the output {} would have two sources", quoted(&key.name.value));
                let diagnostic = key.name.error("variable-collision", message).label("the last name of both");
                let diagnostic = diagnostic.also(&first.name.at, "the first source");
                diagnostics.push(diagnostic.hint("hand on only one of them, or what holds both"));
            }
            None => handed.push((key, from)),
        }
    }
    handed
}

/// Reader of the target of one intent.
struct WayReader<'a, 'd> {
    gate: &'a Fields<'d>,
    id: &'a str,
    intent: &'a Located<Intent>,
}

impl WayReader<'_, '_> {
    fn read(&self, rule: Option<&Cursor<'_>>, diagnostics: &mut Diagnostics) -> Option<Way> {
        let named = self.gate.text("targetField").map(|field| Way::Named(pointer(&field.value)));
        if let (Intent::Jump, Some(named)) = (self.intent.value, named) {
            return Some(named);
        }
        let Some(rule) = rule else { return self.usual(diagnostics) };
        let fields = Fields::read(rule, &tables::TRANSITION_RULE, diagnostics)?;
        match (fields.any("target"), fields.text("condition"), fields.has("targets")) {
            (Some(target), None, false) => self.target(&target, diagnostics).map(|step| match step {
                Some(step) if step.value == self.id && self.intent.value == Intent::Repeat => Way::Again,
                Some(step) => Way::Step(step),
                None => Way::Complete,
            }),
            (None, Some(condition), true) => {
                let mut by = Vec::new();
                for (value, target) in fields.map("targets") {
                    by.push((value.value, self.target(&target, diagnostics)?));
                }
                if by.is_empty() {
                    diagnostics.push(rule.error("bad-value", "`targets` is empty"));
                    return None;
                }
                Some(Way::By(pointer(&condition.value), by))
            }
            (..) => {
                let message = "a transition has either `target`, or `condition` and `targets`";
                diagnostics.push(rule.error("bad-value", message).label("not one of both"));
                None
            }
        }
    }

    /// Returns the default target of an intent without a transition.
    fn usual(&self, diagnostics: &mut Diagnostics) -> Option<Way> {
        match self.intent.value {
            Intent::Closing => Some(Way::Complete),
            Intent::Repeat => Some(Way::Again),
            Intent::Next | Intent::Jump | Intent::Handoff | Intent::Escalate => {
                let name = self.intent.value.name();
                let message = format!("nothing says where `{name}` leads");
                let hint = match self.intent.value {
                    Intent::Jump => "add `targetField`, or `transitions.jump`".to_owned(),
                    Intent::Next | Intent::Handoff | Intent::Escalate | Intent::Repeat | Intent::Closing => {
                        format!("add `transitions.{name}`")
                    }
                };
                diagnostics.push(self.intent.error("no-exit", message).label("allowed here").hint(hint));
                None
            }
        }
    }

    /// Reads a target: a step, or `null` for the end of the flow, which only `closing` may use. Returns
    /// `None` on an error.
    fn target(&self, target: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Option<Located<String>>> {
        let closes = self.intent.value == Intent::Closing;
        match (&target.node().value, target.text()) {
            (Value::Null, _) if closes => Some(None),
            (Value::Null, _) => {
                let message = format!("`{}` needs a step to go to", self.intent.value.name());
                let hint = "only `closing` ends the flow, in a step of kind `closure`";
                diagnostics.push(target.error("bad-value", message).label("no step").hint(hint));
                None
            }
            (_, Some(_)) if closes => {
                let message = "`closing` ends the flow and leads to no step";
                diagnostics.push(target.error("bad-value", message).hint("write `null`"));
                None
            }
            (_, Some(step)) => Some(Some(step)),
            (..) => {
                let message = "a target is the id of a step, or `null`";
                diagnostics.push(target.error("bad-type", message).label(target.node().value.kind()));
                None
            }
        }
    }
}

/// Returns a handed-on output. Its key is the last name of its path.
fn handed_on(path: Located<String>) -> (Key, String) {
    let pointer = pointer(&path.value);
    let key = path.map(|path| path.rsplit('.').next().unwrap_or_default().to_owned());
    (Key { name: key, certain: true }, pointer)
}

/// Converts a dotted path to a JSON pointer.
pub(super) fn pointer(path: &str) -> String {
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
pub(super) fn idle(step: &Fields<'_>) -> Vec<(&'static str, Location)> {
    let reference = step.any("structuredGate").and_then(|gate| gate.get("intentSchemaRef"));
    let reference = reference.map(|value| ("intentSchemaRef", value.location()));
    let priority = step.key("priority").map(|at| ("priority", at.clone()));
    reference.into_iter().chain(priority).collect()
}
