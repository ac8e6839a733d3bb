//! The agent programs, one file each. Adding one is its file and its line in [`all`].

mod claude;
mod codex;
mod command;
mod copilot;
mod gemini;
mod heard;
mod messages;
mod opencode;
mod remote;

use std::path::{Path, PathBuf};

use saihai_model::ProviderKind;

use crate::agent::Agent;

pub(crate) use heard::Heard;

pub(crate) fn all() -> &'static [&'static dyn Agent] {
    &[
        &claude::Claude,
        &codex::Codex,
        &opencode::Opencode,
        &gemini::Gemini,
        &copilot::Copilot,
        &crate::acp::Acp,
        &command::Command,
    ]
}

/// The program of a kind.
pub(crate) fn of(kind: ProviderKind) -> Option<&'static dyn Agent> {
    all().iter().copied().find(|agent| agent.profile().kind == kind)
}

/// A file of a project, by its path from the root, that the program of a kind runs when it starts there, whatever it is told.
pub fn code_of_project(kind: ProviderKind, root: &Path) -> Option<PathBuf> {
    of(kind)?.code_of_project(root)
}

/// The tools that the program of a kind is known to have.
pub fn known_tools(kind: ProviderKind) -> &'static [&'static str] {
    of(kind).map_or(&[], |agent| agent.profile().known_tools)
}
