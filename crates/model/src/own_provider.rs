//! Providers that a definition describes itself.

use serde::{Deserialize, Serialize};

use crate::{Passing, ProviderKind, ProviderName, ProviderSettings};

/// A provider that a definition describes itself. It is frozen with the workflow, because no settings know it. Settings
/// with the same name take precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProvider {
    /// Name in the turns of the workflow.
    pub name: ProviderName,
    pub speaks: OwnProtocol,
    pub argv: Vec<String>,
    /// File that names the program, unless the name alone identifies a known program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// Protocol of a definition's own provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnProtocol {
    Acp,
    /// Prompt on stdin, reply on stdout.
    Input,
    /// Prompt as the last argument, reply on stdout.
    Argument,
}

impl OwnProvider {
    /// Converts it into settings. Running it permits it to edit files and run commands. No known means holds it to
    /// less, so no turn asks it for less.
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
