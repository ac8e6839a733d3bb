//! What an agent says about its surroundings: sandbox, GitHub, working tree, log (S-7).

use super::tables;
use crate::{Diagnostics, Fields};

/// Checks what is said, and tells what has no effect or cannot be done.
pub(super) fn read(agent: &Fields<'_>, behavior: Option<&Fields<'_>>, diagnostics: &mut Diagnostics) {
    if let Some(behavior) = behavior {
        read_sandbox(behavior, diagnostics);
    }
    agent.object("github", &tables::GITHUB, diagnostics);
    let worktree = agent.object("worktree", &tables::WORKTREE, diagnostics);
    if let Some(on) = worktree.and_then(|fields| fields.bool("enabled")).filter(|on| on.value) {
        let message = "a working tree of a run's own is not supported yet";
        let hint = "make one with `git worktree add` and run the agent there";
        diagnostics.push(on.error("not-supported", message).hint(hint));
    }
    if agent.object("logging", &tables::LOGGING, diagnostics).is_some()
        && let Some(at) = agent.key("logging")
    {
        let message = "a run is not logged a second time yet";
        diagnostics.push(at.warning("no-effect", message).hint("`saihai log RUN` shows all that happened"));
    }
}

/// No provider can be told a sandbox by an agent's file, so a person is told that instead.
fn read_sandbox(behavior: &Fields<'_>, diagnostics: &mut Diagnostics) {
    let Some(sandbox) = behavior.object("sandboxConfig", &tables::SANDBOX, diagnostics) else { return };
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
