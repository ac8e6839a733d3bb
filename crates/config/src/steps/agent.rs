//! Reader of `agent.json` (S-7).

use std::collections::HashMap;

use super::actions::Actions;
use super::behavior::Behavior;
use super::completion::Completion;
use super::config::Overrides;
use super::parameter::Parameter;
use super::setup::{Closure, Logging, Worktree};
use super::tables;
use super::version;
use crate::{Diagnostics, Document, Fields, Located, quoted};

#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) name: Located<String>,
    pub(super) display_name: Option<String>,
    pub(super) description: Option<String>,
    /// Declared language of the prompts.
    pub(super) language: Option<String>,
    /// File of the system prompt.
    pub(super) system_prompt: Option<Located<String>>,
    pub(super) completion: Option<Completion>,
    pub(super) tools: Vec<String>,
    /// Permission mode, in the agent's own terms.
    pub(super) permission: String,
    /// Default model of its steps.
    pub(super) model: Option<String>,
    pub(super) parameters: Vec<Parameter>,
    /// File of the step registry.
    pub(super) registry: Option<Located<String>>,
    pub(super) fallback: Option<Located<String>>,
    pub(super) schemas: Option<Located<String>>,
    pub(super) actions: Actions,
    /// Directory for an additional log of the run.
    pub(super) logging: Option<Logging>,
    /// Action of `closing` on the run's issue.
    pub(super) closure: Option<Closure>,
    /// Worktree option of a run.
    pub(super) worktree: Worktree,
}

impl Agent {
    /// Reads an agent. It reports all errors, not only the first.
    pub(super) fn read(
        document: &Document,
        overrides: &Overrides,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Fields::read(&document.cursor(), &tables::AGENT, diagnostics)?;
        version::check(&fields, diagnostics);
        let behavior = Behavior::read(&fields, diagnostics);
        let text = |name: &str| fields.text(name).map(|text| text.value);
        Some(Self {
            name: read_name(&fields, diagnostics),
            display_name: text("displayName"),
            description: text("description"),
            language: text("language"),
            system_prompt: behavior.system_prompt,
            completion: behavior.completion,
            tools: overrides.tools.clone().or(behavior.tools).unwrap_or_default(),
            permission: overrides
                .permission
                .clone()
                .or(behavior.permission)
                .unwrap_or_else(|| "plan".to_owned()),
            model: behavior.model,
            parameters: read_parameters(&fields, diagnostics),
            registry: behavior.registry,
            fallback: behavior.fallback,
            schemas: behavior.schemas,
            actions: behavior.actions,
            closure: behavior.closure,
            worktree: overrides.worktree.clone().over(behavior.worktree),
            logging: behavior.logging.map(|own| Logging {
                keep: overrides.max_files.unwrap_or(own.keep),
                brief: overrides.verbose == Some(false),
                ..own
            }),
        })
    }
}

/// Returns the path of the registry before validation.
pub(super) fn registry_path(document: &Document) -> Option<Located<String>> {
    let root = document.cursor();
    let flow = || root.get("runner")?.get("flow")?.get("prompts");
    let prompts = root.get("prompts").or_else(flow)?;
    prompts.get("registry")?.text().filter(|path| !path.value.is_empty())
}

fn read_name(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Located<String> {
    let Some(name) = fields.text("name") else { return Located::new(String::new(), fields.location()) };
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if !name.value.starts_with(|c: char| c.is_ascii_lowercase()) || !name.value.chars().all(letters) {
        let message = format!("{} cannot be the name of an agent", quoted(&name.value));
        let hint = "use small letters, digits and `-`, and begin with a letter";
        diagnostics.push(name.error("bad-value", message).hint(hint));
    }
    name
}

fn read_parameters(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Vec<Parameter> {
    let written = fields.map("parameters").into_iter();
    let parameters: Vec<Parameter> =
        written.filter_map(|(key, value)| Parameter::read(key, &value, diagnostics)).collect();
    let mut flags: HashMap<&str, &Parameter> = HashMap::new();
    for parameter in &parameters {
        if let Some(first) = flags.insert(&parameter.flag.value, parameter) {
            let message = format!(
                "{} and {} have the same flag {}",
                quoted(&first.key.value),
                quoted(&parameter.key.value),
                quoted(&parameter.flag.value)
            );
            let diagnostic = parameter.flag.error("duplicate-flag", message).label("given again");
            diagnostics.push(diagnostic.also(&first.flag.at, "first given here"));
        }
    }
    parameters
}
