//! The agent programs, one file each. A new program needs its file and a line in [`all`].

mod acp;
mod claude;
mod codex;
mod command;
mod copilot;
mod gemini;
mod opencode;
pub(crate) mod turn_log;

use std::path::{Path, PathBuf};

use saihai_model::ProviderKind;

use crate::agent::AgentProgram;

pub(crate) fn all() -> &'static [&'static dyn AgentProgram] {
    &[
        &claude::Claude,
        &codex::Codex,
        &opencode::Opencode,
        &gemini::Gemini,
        &copilot::Copilot,
        &acp::Acp,
        &command::CommandAgent,
    ]
}

pub(crate) fn of(kind: ProviderKind) -> Option<&'static dyn AgentProgram> {
    all().iter().copied().find(|agent| agent.profile().kind == kind)
}

/// Finds a project file that the program always executes at start. Returns its path from the root.
pub fn code_of_project(kind: ProviderKind, root: &Path) -> Option<PathBuf> {
    of(kind)?.code_of_project(root)
}

pub fn known_tools(kind: ProviderKind) -> &'static [&'static str] {
    of(kind).map_or(&[], |agent| agent.profile().known_tools)
}
