//! A provider that a definition describes itself.

use serde::{Deserialize, Serialize};

use crate::{Passing, ProviderKind, ProviderName, ProviderSettings};

/// A provider that a definition describes itself. It is frozen with the workflow, because no settings know it; settings
/// that do know its name win.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProvider {
    /// What the turns of the workflow call it.
    pub name: ProviderName,
    /// How it is spoken to.
    pub speaks: OwnProtocol,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The file that says so, where the program is not one that its name alone stands for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// How a provider of a definition's own is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnProtocol {
    /// By the Agent Client Protocol.
    Acp,
    /// The prompt on its input, the reply on its output.
    Input,
    /// The prompt as its last argument, the reply on its output.
    Argument,
}

impl OwnProvider {
    /// The same as settings would describe it. Whoever has it run says thereby that it may edit and run commands; that
    /// it can be held to less is not known, so nothing less is asked of it.
    pub fn settings(&self) -> ProviderSettings {
        let (kind, passing) = match self.speaks {
            OwnProtocol::Acp => (ProviderKind::Acp, Passing::Input),
            OwnProtocol::Input => (ProviderKind::Command, Passing::Input),
            OwnProtocol::Argument => (ProviderKind::Command, Passing::Argument),
        };
        ProviderSettings {
            program: self.argv.first().cloned(),
            args: self.argv.iter().skip(1).cloned().collect(),
            honours: vec!["edit".to_owned()],
            passing,
            ..ProviderSettings::new(kind)
        }
    }
}
