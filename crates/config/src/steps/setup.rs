//! What an agent says about its surroundings: sandbox, GitHub, working tree, log (S-7).

use super::tables;
use crate::{Diagnostics, Fields};

/// Checks what is said beside `behavior`, and tells what has no effect or cannot be done.
pub(super) fn read(agent: &Fields<'_>, diagnostics: &mut Diagnostics) {
    agent.object("github", &tables::GITHUB, diagnostics);
    read_worktree(agent, diagnostics);
    read_logging(agent, diagnostics);
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
    read_logging(runner, diagnostics);
}

fn read_worktree(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let worktree = fields.object("worktree", &tables::WORKTREE, diagnostics);
    if let Some(on) = worktree.and_then(|fields| fields.bool("enabled")).filter(|on| on.value) {
        let message = "a working tree of a run's own is not supported yet";
        let hint = "make one with `git worktree add` and run the agent there";
        diagnostics.push(on.error("not-supported", message).hint(hint));
    }
}

fn read_logging(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    if fields.object("logging", &tables::LOGGING, diagnostics).is_some()
        && let Some(at) = fields.key("logging")
    {
        let message = "a run is not logged a second time yet";
        diagnostics.push(at.warning("no-effect", message).hint("`saihai log RUN` shows all that happened"));
    }
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
