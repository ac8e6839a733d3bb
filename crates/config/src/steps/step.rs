//! Reader of a step (S-8).

use indexmap::IndexMap;

use super::check::Check;
use super::gate::Gate;
use super::input::Input;
use super::output::{Key, Output};
use super::reference::Reference;
use super::tables;
use crate::{Cursor, Diagnostics, Fields, Located, Location, quoted};

#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) id: Located<String>,
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) prompt: Option<Reference>,
    pub(super) iterations: Iterations,
    /// Exit of the step; `None` if it has errors.
    pub(super) leave: Option<Leave>,
    pub(super) output: Option<Output>,
    pub(super) inputs: Vec<Input>,
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

/// Number of turns in one visit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Iterations {
    pub(super) min: u32,
    pub(super) max: Option<u32>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Leave {
    Check(Box<Check>),
    Next(Located<String>),
    Terminal,
    /// Repeats until the work is done.
    Repeat,
    Gate(Box<Gate>),
    /// The step of the current phase.
    Phase(Vec<(&'static str, Located<String>)>),
}

/// A variable without the `uv-` prefix.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CustomVariable {
    pub(super) name: Located<String>,
    pub(super) source: String,
    pub(super) required: bool,
}

impl Step {
    pub(super) fn read(
        id: Located<String>,
        value: &Cursor<'_>,
        editions: &IndexMap<String, String>,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(value, &tables::STEP, diagnostics)?;
        check_id(&id, &fields, diagnostics);
        let text = |name: &str| fields.text(name).map(|text| text.value);
        let uses_stdin = fields.bool("usesStdin").filter(|flag| flag.value).map(|flag| flag.at);
        let tools = fields.texts("allowedTools");
        let inputs = fields.any("inputs").map(|inputs| Input::read_all(&inputs, diagnostics));
        Some(Self {
            name: text("name"),
            description: text("description"),
            prompt: fields.any("prompt").and_then(|prompt| Reference::read(&prompt, editions, diagnostics)),
            iterations: read_iterations(&fields, diagnostics),
            leave: read_leave(&fields, editions, diagnostics),
            output: fields
                .any("outputSchema")
                .and_then(|schema| Output::read(&schema, &id.value, diagnostics)),
            inputs: inputs.unwrap_or_default(),
            variables: read_variables(&fields),
            custom: read_custom(&fields, diagnostics),
            gate: read_gate(&fields, diagnostics),
            uses_stdin,
            model: text("model"),
            permission: text("permissionMode"),
            tools: tools.map(|tools| tools.into_iter().map(|tool| tool.value).collect()),
            system_prompt: fields.text("systemPromptPath"),
            id,
        })
    }

    pub(super) fn check(&self) -> Option<&Check> {
        match &self.leave {
            Some(Leave::Check(check)) => Some(check),
            Some(Leave::Next(_) | Leave::Terminal | Leave::Repeat | Leave::Gate(_) | Leave::Phase(_))
            | None => None,
        }
    }

    /// Returns its gate, if its replies select the next step.
    pub(super) fn gate(&self) -> Option<&Gate> {
        match &self.leave {
            Some(Leave::Gate(gate)) => Some(gate),
            Some(Leave::Next(_) | Leave::Terminal | Leave::Repeat | Leave::Check(_) | Leave::Phase(_))
            | None => None,
        }
    }

    /// Returns true if the step requires a task.
    pub(super) fn needs_task(&self) -> bool {
        let from_task = |custom: &CustomVariable| custom.required && custom.source == "stdin";
        self.uses_stdin.is_some() || self.custom.iter().any(from_task)
    }

    /// Returns the known keys of its output.
    pub(super) fn keys(&self) -> Vec<&Key> {
        let mut keys: Vec<&Key> = self.output.iter().flat_map(|output| &output.keys).collect();
        for (key, _) in self.gate().into_iter().flat_map(|gate| &gate.handed) {
            if keys.iter().all(|known| known.name.value != key.name.value) {
                keys.push(key);
            }
        }
        keys
    }

    /// Returns every step it names, with locations.
    pub(super) fn targets(&self) -> Vec<&Located<String>> {
        match &self.leave {
            Some(Leave::Check(check)) => {
                let ways = check.pass.iter().chain(&check.fail);
                ways.filter_map(|way| way.steps()).collect()
            }
            Some(Leave::Next(next)) => vec![next],
            Some(Leave::Gate(gate)) => gate.targets(),
            Some(Leave::Phase(steps)) => steps.iter().map(|(_, step)| step).collect(),
            Some(Leave::Terminal | Leave::Repeat) | None => Vec::new(),
        }
    }
}

fn check_id(id: &Located<String>, fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '.' | '-');
    if id.value.starts_with(['_', '.', '-']) || id.value.is_empty() || !id.value.chars().all(letters) {
        let message = format!("{} cannot be the id of a step", quoted(&id.value));
        let hint = "use small letters, digits, `_`, `.` and `-`, and begin with a letter or digit";
        diagnostics.push(id.error("step-id", message).hint(hint));
    }
    if let Some(written) = fields.text("id").filter(|written| written.value != id.value) {
        let message = format!("the step {} calls itself {}", quoted(&id.value), quoted(&written.value));
        diagnostics.push(written.error("step-id", message).label("not its key").also(&id.at, "its key"));
    }
}

fn read_iterations(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Iterations {
    let usual = Iterations { min: 1, max: None };
    let Some(fields) = fields.object("iterations", &tables::ITERATIONS, diagnostics) else { return usual };
    let min = fields.count("min").map_or(1, |count| count.value);
    let max = fields.count("max");
    if let Some(max) = max.as_ref().filter(|max| max.value < min) {
        let message = format!("`max` must be at least `min`, which is {min}");
        diagnostics.push(max.error("bad-value", message).label("less than `min`"));
    }
    Iterations { min, max: max.map(|max| max.value) }
}

fn read_leave(
    fields: &Fields<'_>,
    editions: &IndexMap<String, String>,
    diagnostics: &mut Diagnostics,
) -> Option<Leave> {
    if let Some(flag) = fields.bool("terminal").filter(|flag| !flag.value) {
        let message = "`terminal` can only be `true`";
        diagnostics.push(flag.error("bad-value", message).hint("remove it"));
    }
    if fields.has("check") {
        for name in ["next", "terminal"] {
            if let Some(at) = fields.key(name) {
                let message = format!("a step with a `check` has no `{name}`");
                let hint = "say what follows in `onPass` and `onFail`";
                diagnostics.push(at.error("bad-value", message).hint(hint));
            }
        }
        let check = Check::read(&fields.any("check")?, editions, diagnostics)?;
        return Some(Leave::Check(Box::new(check)));
    }
    match (fields.text("next"), fields.key("terminal")) {
        (Some(_), Some(terminal)) => {
            let message = "a step has either `next` or `terminal`, not both";
            diagnostics.push(terminal.error("bad-value", message).hint("remove one of them"));
            None
        }
        (Some(next), None) => Some(Leave::Next(next)),
        (None, Some(_)) => Some(Leave::Terminal),
        (None, None) => {
            if !fields.has("next") {
                let message = "nothing says what follows this step";
                let diagnostic = fields.location().error("no-exit", message).label("this step is never left");
                diagnostics.push(diagnostic.hint("add `check`, `next` or `\"terminal\": true`"));
            }
            None
        }
    }
}

fn read_variables(fields: &Fields<'_>) -> Vec<Located<String>> {
    let written = fields.texts("variables").unwrap_or_default().into_iter();
    let bare = written.map(|name| name.map(|name| name.strip_prefix("uv-").unwrap_or(&name).to_owned()));
    bare.collect()
}

fn read_custom(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<CustomVariable> {
    let mut custom = Vec::new();
    for item in fields.list("customVariables") {
        let Some(fields) = Fields::read(&item, &tables::CUSTOM_VARIABLE, diagnostics) else { continue };
        let (Some(name), Some(source)) = (fields.text("name"), fields.text("source")) else { continue };
        if source.value == "computed" {
            let message = "a variable that is computed is not supported";
            let hint = "compute it before and give it as a parameter";
            diagnostics.push(source.error("not-supported", message).hint(hint));
            continue;
        }
        let required = fields.bool("required").is_some_and(|flag| flag.value);
        custom.push(CustomVariable { name, source: source.value, required });
    }
    custom
}

fn read_gate(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<String> {
    let gate = fields.text("gate")?;
    if gate.value.trim().is_empty() {
        diagnostics.push(gate.error("bad-value", "the question of a gate is empty"));
        return None;
    }
    Some(gate.value)
}
