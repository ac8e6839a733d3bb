//! Prompts, permissions and completion of an agent: from `behavior` and related keys, or from `runner` (S-7,
//! S-14).

use super::actions::Actions;
use super::completion::Completion;
use super::setup::{self, Closure, Logging, Worktree};
use super::tables;
use crate::{Diagnostics, Fields, Located, Location, list_of};

/// Settings that both forms of an agent share.
#[derive(Debug, Clone, Default)]
pub(super) struct Behavior {
    /// File of the system prompt.
    pub(super) system_prompt: Option<Located<String>>,
    pub(super) completion: Option<Completion>,
    pub(super) tools: Option<Vec<String>>,
    /// Permission mode, in the agent's own terms.
    pub(super) permission: Option<String>,
    /// File of the step registry.
    pub(super) registry: Option<Located<String>>,
    pub(super) fallback: Option<Located<String>>,
    pub(super) schemas: Option<Located<String>>,
    /// Default model of its steps.
    pub(super) model: Option<String>,
    pub(super) actions: Actions,
    /// Directory for an additional log of the run.
    pub(super) logging: Option<Logging>,
    /// Action of `closing` on the run's issue.
    pub(super) closure: Option<Closure>,
    /// Worktree option of a run.
    pub(super) worktree: Worktree,
}

/// Keys that accompany `behavior`. With `runner` they belong inside it.
const NEIGHBOURS: [&str; 6] = ["behavior", "prompts", "actions", "github", "worktree", "logging"];

impl Behavior {
    /// Reads either form of an agent.
    pub(super) fn read(agent: &Fields<'_>, diagnostics: &mut Diagnostics) -> Self {
        let Some(runner) = agent.key("runner") else { return of_behavior(agent, diagnostics) };
        for name in NEIGHBOURS {
            if let Some(at) = agent.key(name) {
                let message = format!("an agent has either `{name}` or `runner`, not both");
                let diagnostic = runner.error("mixed-shapes", message).label("of the later format");
                diagnostics.push(diagnostic.also(at, "of the earlier one"));
            }
        }
        let runner = agent.object("runner", &tables::RUNNER, diagnostics);
        runner.map(|runner| of_runner(&runner, diagnostics)).unwrap_or_default()
    }
}

fn of_behavior(agent: &Fields<'_>, diagnostics: &mut Diagnostics) -> Behavior {
    for name in ["behavior", "prompts"] {
        if !agent.has(name) {
            let message = format!("an agent needs `{name}`");
            let label = format!("`{name}` is missing here");
            diagnostics.push(agent.location().error("missing-key", message).label(label));
        }
    }
    let behavior = agent.object("behavior", &tables::BEHAVIOR, diagnostics);
    let prompts = agent.object("prompts", &tables::PROMPTS, diagnostics);
    let actions = Actions::read(agent, setup::read(agent, diagnostics), diagnostics);
    let told = Behavior {
        registry: prompts.as_ref().and_then(|prompts| prompts.text("registry")),
        fallback: prompts.as_ref().and_then(|prompts| prompts.text("fallbackDir")),
        actions,
        logging: setup::read_logging(agent, diagnostics),
        worktree: Worktree::read(agent, &tables::WORKTREE, diagnostics),
        ..Behavior::default()
    };
    let Some(behavior) = behavior else { return told };
    setup::read_sandbox(&behavior, "sandboxConfig", diagnostics);
    let config = behavior.any("completionConfig");
    Behavior {
        system_prompt: behavior.text("systemPromptPath"),
        completion: behavior
            .text("completionType")
            .and_then(|name| Completion::read(&name, config.as_ref(), diagnostics)),
        tools: tools(&behavior),
        permission: behavior.text("permissionMode").map(|mode| mode.value),
        ..told
    }
}

fn of_runner(runner: &Fields<'_>, diagnostics: &mut Diagnostics) -> Behavior {
    let flow = runner.object("flow", &tables::FLOW, diagnostics);
    let verdict = runner.object("verdict", &tables::VERDICT, diagnostics);
    let boundaries = runner.object("boundaries", &tables::BOUNDARIES, diagnostics);
    let part = |name, table, diagnostics: &mut _| flow.as_ref()?.object(name, table, diagnostics);
    let prompts: Option<Fields<'_>> = part("prompts", &tables::PROMPTS, diagnostics);
    let schemas: Option<Fields<'_>> = part("schemas", &tables::SCHEMAS, diagnostics);
    let mut idle: Vec<(&str, Location)> = Vec::new();
    for (fields, name) in
        [(&flow, "askUserAutoResponse"), (&schemas, "inspection"), (&boundaries, "askUserAutoResponse")]
    {
        idle.extend(fields.as_ref().and_then(|fields| Some((name, fields.key(name)?.clone()))));
    }
    note_idle(&idle, diagnostics);
    let (github, closure) = setup::read_runner(runner, diagnostics);
    let actions = Actions::read(runner, github, diagnostics);
    let execution = runner.object("execution", &tables::EXECUTION, diagnostics);
    let worktree = execution.map(|fields| Worktree::read(&fields, &tables::WORKTREE, diagnostics));
    if let Some(boundaries) = &boundaries {
        setup::read_sandbox(boundaries, "sandbox", diagnostics);
    }
    let kind = verdict.as_ref().and_then(|verdict| verdict.text("type"));
    let config = verdict.as_ref().and_then(|verdict| verdict.any("config"));
    Behavior {
        system_prompt: flow.as_ref().and_then(|flow| flow.text("systemPromptPath")),
        completion: kind.and_then(|kind| Completion::read(&kind, config.as_ref(), diagnostics)),
        tools: boundaries.as_ref().and_then(tools),
        permission: boundaries.and_then(|fields| fields.text("permissionMode")).map(|mode| mode.value),
        registry: prompts.as_ref().and_then(|prompts| prompts.text("registry")),
        fallback: prompts.as_ref().and_then(|prompts| prompts.text("fallbackDir")),
        schemas: schemas.and_then(|schemas| schemas.text("base")),
        model: flow.and_then(|flow| flow.text("defaultModel")).map(|model| model.value),
        actions,
        logging: setup::read_logging(runner, diagnostics),
        closure,
        worktree: worktree.unwrap_or_default(),
    }
}

fn tools(fields: &Fields<'_>) -> Option<Vec<String>> {
    let tools = fields.texts("allowedTools")?;
    Some(tools.into_iter().map(|tool| tool.value).collect())
}

/// Adds one note for all keys without effect in a file (S-17).
pub(super) fn note_idle(idle: &[(&str, Location)], diagnostics: &mut Diagnostics) {
    let Some((_, first)) = idle.first() else { return };
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in idle {
        if !names.contains(name) {
            names.push(name);
        }
    }
    let verb = if names.len() == 1 { "has" } else { "have" };
    let message = format!("{} {verb} no effect here", list_of(names, "and"));
    diagnostics.push(first.note("no-effect", message));
}
