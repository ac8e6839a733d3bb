//! What an agent says about its surroundings: sandbox, GitHub, working tree, log (S-7).

use saihai_model::LogFormat;

use super::tables;
use crate::{Diagnostics, Fields, Located};

/// Where the log of a run is also written.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Logging {
    /// From the project root.
    pub(super) directory: Located<String>,
    /// How.
    pub(super) format: LogFormat,
    /// How many logs are kept.
    pub(super) keep: u32,
}

/// Checks what is said beside `behavior`, and tells what has no effect or cannot be done.
pub(super) fn read(agent: &Fields<'_>, diagnostics: &mut Diagnostics) {
    agent.object("github", &tables::GITHUB, diagnostics);
    read_worktree(agent, diagnostics);
}

/// The same of `runner`.
pub(super) fn read_runner(runner: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let integrations = runner.object("integrations", &tables::INTEGRATIONS, diagnostics);
    let github = integrations.and_then(|fields| fields.object("github", &tables::LATER_GITHUB, diagnostics));
    if let Some(on) = github.and_then(|fields| fields.bool("enabled")).filter(|on| on.value) {
        let message = "no run is about an issue yet, so that `closing` closes and labels none";
        diagnostics.push(on.warning("no-effect", message).label("nothing is done at GitHub"));
    }
    if let Some(execution) = runner.object("execution", &tables::EXECUTION, diagnostics) {
        read_worktree(&execution, diagnostics);
    }
}

fn read_worktree(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let worktree = fields.object("worktree", &tables::WORKTREE, diagnostics);
    if let Some(on) = worktree.and_then(|fields| fields.bool("enabled")).filter(|on| on.value) {
        let message = "a working tree of a run's own is not supported yet";
        let hint = "make one with `git worktree add` and run the agent there";
        diagnostics.push(on.error("not-supported", message).hint(hint));
    }
}

/// Where the log of a run is also written.
pub(super) fn read_logging(fields: &Fields<'_>, diagnostics: &mut Diagnostics) -> Option<Logging> {
    let fields = fields.object("logging", &tables::LOGGING, diagnostics)?;
    let format = match fields.text("format")?.value.as_str() {
        "text" => LogFormat::Text,
        _ => LogFormat::Jsonl,
    };
    let keep = fields.count("maxFiles")?.value;
    Some(Logging { directory: fields.text("directory")?, format, keep })
}

/// No provider can be told a sandbox by an agent's file, so a person is told that instead.
pub(super) fn read_sandbox(fields: &Fields<'_>, name: &str, diagnostics: &mut Diagnostics) {
    let Some(sandbox) = fields.object(name, &tables::SANDBOX, diagnostics) else { return };
    let enabled = sandbox.bool("enabled").is_none_or(|flag| flag.value);
    for (name, table) in [("network", &tables::NETWORK), ("filesystem", &tables::FILESYSTEM)] {
        if sandbox.object(name, table, diagnostics).is_none() {
            continue;
        }
        if let Some(at) = sandbox.key(name).filter(|_| enabled) {
            let message = format!("no provider can be held to `{name}` of a sandbox");
            let hint = "`permissionMode` and `allowedTools` are enforced";
            diagnostics.push(at.warning("sandbox", message).label("not enforced").hint(hint));
        }
    }
}
