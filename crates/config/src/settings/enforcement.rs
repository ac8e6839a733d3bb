//! Whether providers can hold agents to what a workflow lets them do (C-43).

use saihai_model::{Permission, ProviderKind, ProviderName, ProviderSettings, Stage, Turn, Workflow};

use super::Settings;
use crate::diagnostic::{Area, Diagnostic, Diagnostics};

impl Settings {
    /// Refuses providers that cannot hold an agent to what a turn may do at most, and warns of tools that they cannot
    /// keep from it.
    pub fn check_enforcement(&self, workflow: &Workflow) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        let mut said: Vec<(&ProviderName, Permission)> = Vec::new();
        for turn in workflow.stages.values().flat_map(Stage::turns) {
            let Some(provider) = self.provider(turn.provider.as_str()) else { continue };
            let asked = (&turn.provider, turn.permission);
            if !provider.can_enforce(turn.permission) && !said.contains(&asked) {
                said.push(asked);
                diagnostics.push(cannot_enforce(turn, &provider));
            }
            if !restricts_tools(provider.kind) && turn.tools.is_some() {
                diagnostics.push(unrestricted(turn));
            }
        }
        diagnostics
    }

    /// What a provider cannot hold an agent to.
    pub(super) fn unfit(&self, name: &ProviderName) -> Vec<(ProviderName, Permission)> {
        let Some(provider) = self.provider(name.as_str()) else { return Vec::new() };
        let levels = Permission::ALL.into_iter().filter(|level| !provider.can_enforce(*level));
        levels.map(|level| (name.clone(), level)).collect()
    }
}

fn cannot_enforce(turn: &Turn, provider: &ProviderSettings) -> Diagnostic {
    let (name, level) = (&turn.provider, turn.permission.name());
    let message =
        format!("provider `{name}` cannot hold an agent to `{level}`, which `{}` asks for", turn.id);
    let hint = match provider.kind {
        ProviderKind::Anthropic | ProviderKind::Openai => {
            "an API only looks at files: ask another provider, or let the turn only look".to_owned()
        }
        ProviderKind::Claude
        | ProviderKind::Codex
        | ProviderKind::Opencode
        | ProviderKind::Gemini
        | ProviderKind::Copilot
        | ProviderKind::Script
        | ProviderKind::Acp
        | ProviderKind::Command => {
            format!("if the program itself keeps to it, say so in `[providers.{name}] honours`")
        }
    };
    Diagnostic::error(Area::Provider.code("cannot-enforce"), message).hint(hint)
}

fn unrestricted(turn: &Turn) -> Diagnostic {
    let message =
        format!("`{}` names tools, and provider `{}` cannot keep others from it", turn.id, turn.provider);
    Diagnostic::warning(Area::Provider.code("tools-not-restricted"), message)
        .hint("what it may do is held by its permission alone")
}

/// Whether an agent can be shown some tools and not others.
fn restricts_tools(kind: ProviderKind) -> bool {
    match kind {
        ProviderKind::Codex | ProviderKind::Gemini | ProviderKind::Acp => false,
        ProviderKind::Claude
        | ProviderKind::Opencode
        | ProviderKind::Copilot
        | ProviderKind::Command
        | ProviderKind::Anthropic
        | ProviderKind::Openai
        | ProviderKind::Script => true,
    }
}
