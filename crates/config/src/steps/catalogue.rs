//! A catalogue of prompts becomes two steps: the first prompt once, then another one until the work is done (S-13).

use super::agent::Agent;
use super::completion::Condition;
use super::reference::Reference;
use super::registry::{Base, Registry};
use super::step::{Iterations, Leave, Step};
use super::tables;
use super::version;
use crate::{Cursor, Diagnostics, Document, Fields, Located, list_of, quoted};

/// Where prompts are, where nothing is said.
const BASE: &str = ".agent/{agentId}/prompts";
const WITH_ADAPTATION: &str = "{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md";
const WITHOUT: &str = "{c1}/{c2}/{c3}/f_{edition}.md";

/// Whether a document is a catalogue.
pub(super) fn is_one(document: &Document) -> bool {
    document.root.get("agentId").is_some()
}

/// Reads a catalogue.
pub(super) fn read(
    document: &Document,
    agent: Option<&Agent>,
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
    let catalogue = Catalogue { entries: fields.map("steps"), fields: &fields, agent };
    let steps = catalogue.steps(diagnostics);
    // Why there is none was told.
    let entry = Some(steps.first()?.id.clone());
    let written = fields.text("userPromptsBase");
    let at = written.as_ref().map_or_else(|| fields.location(), |written| written.at.clone());
    let base =
        written.map_or_else(|| BASE.to_owned(), |written| written.value).replace("{agentId}", &id.value);
    let base = Base::Project(Located::new(base, at));
    Some(Registry { base: Some(base), entry, entries: Vec::new(), steps, at: fields.location() })
}

struct Catalogue<'a, 'd> {
    fields: &'a Fields<'d>,
    entries: Vec<(Located<String>, Cursor<'d>)>,
    agent: &'a Agent,
}

impl<'d> Catalogue<'_, 'd> {
    /// The first step and the one that follows it for ever.
    fn steps(&self, diagnostics: &mut Diagnostics) -> Vec<Step> {
        let Some(first) = self.first(diagnostics) else { return Vec::new() };
        let follows = first.replacen("initial.", "continuation.", 1);
        let Some((initial, value)) = self.entry(&first) else {
            self.missing(&first, diagnostics);
            return Vec::new();
        };
        self.note_unused(&[&first, &follows], diagnostics);
        let mut steps: Vec<Step> = Vec::new();
        let once = self
            .agent
            .completion
            .as_ref()
            .and_then(|own| own.max_iterations.as_ref())
            .is_some_and(|most| most.value == 1);
        let continued = self.entry(&follows).filter(|_| follows != first);
        if continued.is_none() && !once {
            self.missing(&follows, diagnostics);
        }
        let leave = match continued {
            Some((id, _)) => Leave::Next(id.clone()),
            None => Leave::Repeat,
        };
        steps.extend(self.step(initial, value, leave, diagnostics));
        if let Some((id, value)) = continued {
            steps.extend(self.step(id, value, Leave::Repeat, diagnostics));
        }
        steps
    }

    /// The id of the first step, by the completion type.
    fn first(&self, diagnostics: &mut Diagnostics) -> Option<String> {
        let own = self.agent.completion.as_ref()?;
        let mode = match &own.condition {
            Condition::Iterations(_) => Some("iterate"),
            Condition::File { .. } => Some("issue"),
            Condition::Keyword { .. } => Some("manual"),
            Condition::Checks(_) => Some("check_budget"),
            Condition::Signal { .. } => Some("structured_signal"),
            Condition::Composite(..) => Some("composite"),
            Condition::Phase(_) => {
                let message = "a prompt for each phase is not supported";
                let hint = "write the steps with their flow, and use `{uv-phase}`";
                diagnostics.push(own.at.error("not-supported", message).hint(hint));
                return None;
            }
            Condition::Flow { .. } | Condition::Custom(_) => None,
        };
        let names: Vec<&str> = own.types.iter().copied().chain(mode).collect();
        let mapped = self.fields.map("entryStepMapping").into_iter();
        let mut mapped = mapped.filter(|(kind, _)| names.contains(&kind.value.as_str()));
        if let Some(step) = mapped.find_map(|(_, step)| step.text()) {
            return Some(step.value);
        }
        if mode.is_none() {
            let message = format!("nothing says with which prompt {} begins", quoted(own.types[0]));
            let hint = "name it in `entryStepMapping`";
            diagnostics.push(self.fields.location().error("missing-key", message).hint(hint));
        }
        mode.map(|mode| format!("initial.{mode}"))
    }

    fn entry(&self, id: &str) -> Option<(&Located<String>, &Cursor<'d>)> {
        self.entries.iter().find(|(key, _)| key.value == id).map(|(key, value)| (key, value))
    }

    fn missing(&self, id: &str, diagnostics: &mut Diagnostics) {
        let at = self.fields.any("steps").map_or_else(|| self.fields.location(), |steps| steps.location());
        let known = diagnostics.suggest(id, self.entries.iter().map(|(key, _)| key.value.as_str()));
        let message = format!("the prompt {} does not exist", quoted(id));
        let hint = known.unwrap_or_else(|| "add it, or name another one in `entryStepMapping`".to_owned());
        diagnostics.push(at.error("unknown-step", message).label("not among these").hint(hint));
    }

    fn note_unused(&self, used: &[&str], diagnostics: &mut Diagnostics) {
        let mut unused =
            self.entries.iter().filter(|(key, _)| !used.contains(&key.value.as_str())).peekable();
        let Some((first, _)) = unused.peek() else { return };
        let at = first.at.clone();
        let names = list_of(unused.map(|(key, _)| key.value.as_str()), "and");
        diagnostics.push(at.note("unused-prompt", format!("this completion type does not use {names}")));
    }

    fn step(
        &self,
        id: &Located<String>,
        value: &Cursor<'_>,
        leave: Leave,
        diagnostics: &mut Diagnostics,
    ) -> Option<Step> {
        let fields = Fields::read(value, &tables::ENTRY, diagnostics)?;
        if let Some(written) = fields.text("stepId").filter(|written| written.value != id.value) {
            let message = format!("the step {} calls itself {}", quoted(&id.value), quoted(&written.value));
            diagnostics.push(written.error("step-id", message).label("not its key").also(&id.at, "its key"));
        }
        let text = |name: &str| fields.text(name).map(|text| text.value);
        let variables = fields.texts("uvVariables").unwrap_or_default().into_iter();
        let bare = |name: String| name.strip_prefix("uv-").unwrap_or(&name).to_owned();
        Some(Step {
            id: id.clone(),
            name: text("name"),
            description: text("description"),
            prompt: self.reference(&fields, diagnostics),
            iterations: Iterations { min: 1, max: None },
            leave: Some(leave),
            output: None,
            inputs: Vec::new(),
            variables: variables.map(|name| name.map(bare)).collect(),
            custom: Vec::new(),
            gate: None,
            uses_stdin: fields.bool("usesStdin").filter(|flag| flag.value).map(|flag| flag.at),
            model: None,
            permission: None,
            tools: None,
            system_prompt: None,
        })
    }

    fn reference(&self, fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Reference> {
        if let Some(file) = fields.text("promptPath") {
            return Some(Reference { file, fallback: None, split: None });
        }
        let text = |name: &str| fields.text(name).map(|text| text.value).filter(|text| !text.is_empty());
        let of_all = |name: &str| self.fields.text(name).map(|text| text.value);
        let adaptation = text("adaptation");
        let template = match adaptation {
            Some(_) => of_all("pathTemplate").unwrap_or_else(|| WITH_ADAPTATION.to_owned()),
            None => of_all("pathTemplateNoAdaptation").unwrap_or_else(|| WITHOUT.to_owned()),
        };
        let parts = [
            ("c1", text("c1").or_else(|| of_all("c1"))),
            ("c2", text("c2")),
            ("c3", text("c3")),
            ("edition", Some(text("edition").unwrap_or_else(|| "default".to_owned()))),
            ("adaptation", adaptation),
        ];
        let mut file = template;
        for (name, value) in parts {
            let place = format!("{{{name}}}");
            match value {
                Some(value) => file = file.replace(&place, &value),
                None if file.contains(&place) => {
                    let message = format!("a prompt needs `{name}`, or `promptPath`");
                    diagnostics
                        .push(fields.location().error("prompt-ref", message).label("it is missing here"));
                    return None;
                }
                None => {}
            }
        }
        Some(Reference { file: Located::new(file, fields.location()), fallback: None, split: None })
    }
}
