//! Checks that providers can enforce the permissions of a workflow (C-43).

use saihai_model::{
    Action, Activity, Choice, Permission, ProviderKind, ProviderName, ProviderSettings, Stage, Turn, Workflow,
};

use super::Settings;
use crate::diagnostic::{Area, Diagnostic, Diagnostics};

impl Settings {
    /// Rejects providers that cannot enforce a turn's permission. Warns about tools they cannot disable.
    pub fn check_enforcement(&self, workflow: &Workflow) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        let mut said: Vec<(&ProviderName, Permission)> = Vec::new();
        let is_review = workflow.stages.values().any(is_report_of_review);
        for asked in workflow.stages.values().flat_map(asked) {
            let Some(provider) = self.provider(asked.provider.as_str()) else { continue };
            let level = (asked.provider, asked.permission);
            if !provider.can_enforce(asked.permission) && !said.contains(&level) {
                said.push(level);
                let refusal = cannot_enforce(&asked, &provider, is_review);
                diagnostics.push(refusal);
            }
        }
        for turn in workflow.stages.values().flat_map(Stage::turns) {
            let Some(provider) = self.provider(turn.provider.as_str()) else { continue };
            if !restricts_tools(provider.kind) && turn.tools.is_some() {
                diagnostics.push(unrestricted(turn));
            }
            if provider.kind == ProviderKind::Claude && turn.permission == Permission::ReadOnly {
                let tools = turn.tools.iter().flatten();
                diagnostics
                    .extend(tools.filter(|tool| tool.starts_with("mcp__")).map(|tool| unknown(turn, tool)));
            }
            if provider.kind == ProviderKind::Gemini
                && turn.permission == (Permission::Edit { commands: true })
            {
                diagnostics.push(no_commands(turn));
            }
        }
        diagnostics
    }

    /// Returns the permissions that a provider cannot enforce.
    pub(super) fn unfit(&self, name: &ProviderName) -> Vec<(ProviderName, Permission)> {
        let Some(provider) = self.provider(name.as_str()) else { return Vec::new() };
        let levels = Permission::ALL.into_iter().filter(|level| !provider.can_enforce(*level));
        levels.map(|level| (name.clone(), level)).collect()
    }
}

/// A requirement on a provider.
struct PermissionNeed<'a> {
    provider: &'a ProviderName,
    permission: Permission,
    /// Display name of the part that needs it.
    by: String,
}

/// Returns the requirements of a stage: its turns, and the read-only questions about them.
fn asked(stage: &Stage) -> Vec<PermissionNeed<'_>> {
    let mut all = Vec::new();
    for turn in stage.agent_turns() {
        let by = format!("`{}`", turn.id);
        all.push(PermissionNeed { provider: &turn.provider, permission: turn.permission, by });
        all.extend(turn.reads.choice.as_ref().and_then(|choice| judged(choice, turn)));
    }
    let first = stage.agent_turns().chain(stage.turns()).next();
    all.extend(stage.exit.question().zip(first).and_then(|(choice, turn)| judged(choice, turn)));
    all
}

fn judged<'a>(choice: &'a Choice, turn: &'a Turn) -> Option<PermissionNeed<'a>> {
    let provider = choice.question()?.provider.as_ref().unwrap_or(&turn.provider);
    Some(PermissionNeed {
        provider,
        permission: Permission::ReadOnly,
        by: format!("a question about `{}`", turn.id),
    })
}

/// Detects a review by its report stage. Other workflows have none.
fn is_report_of_review(stage: &Stage) -> bool {
    matches!(&stage.does, Activity::Action(spec) if matches!(spec.does, Action::ReviewReport { .. }))
}

fn cannot_enforce(asked: &PermissionNeed<'_>, provider: &ProviderSettings, is_review: bool) -> Diagnostic {
    let (name, level, by) = (asked.provider, asked.permission.name(), &asked.by);
    let message = format!("provider `{name}` cannot enforce `{level}`, which {by} requires");
    let hint = match provider.kind {
        ProviderKind::Anthropic | ProviderKind::Openai => {
            "an API can only read files: use another provider, or make the turn read-only".to_owned()
        }
        ProviderKind::Codex => {
            "Codex reads and writes files by commands: allow them with `edit`, which keeps them in its sandbox, or use \
             another provider"
                .to_owned()
        }
        ProviderKind::Claude
        | ProviderKind::Opencode
        | ProviderKind::Gemini
        | ProviderKind::Copilot
        | ProviderKind::Script
        | ProviderKind::Acp
        | ProviderKind::Command => {
            let all_the_same = if is_review {
                "; to allow it anyway, set `allow_unconfined = true` in `[review]`"
            } else {
                ""
            };
            format!("if the program enforces it itself, set `[providers.{name}] honours`{all_the_same}")
        }
    };
    Diagnostic::error(Area::Provider.code("cannot-enforce"), message).hint(hint)
}

fn unrestricted(turn: &Turn) -> Diagnostic {
    let message =
        format!("`{}` names tools, but provider `{}` cannot withhold other tools", turn.id, turn.provider);
    Diagnostic::warning(Area::Provider.code("tools-not-restricted"), message)
        .hint("only its permission limits it")
}

/// Rejects an MCP tool that a read-only turn would offer and then deny.
fn unknown(turn: &Turn, tool: &str) -> Diagnostic {
    let message = format!("`{}` is read-only and names `{tool}`, a tool of an MCP server", turn.id);
    Diagnostic::error(Area::Provider.code("mcp-tool-in-read-only"), message)
        .hint("the effect of such a tool is unknown: let the turn edit, and name no other tools that write")
}

fn no_commands(turn: &Turn) -> Diagnostic {
    let message = format!(
        "`{}` may run commands, but provider `{}` cannot run commands in this mode",
        turn.id, turn.provider
    );
    Diagnostic::warning(Area::Provider.code("no-commands"), message)
        .hint("it edits files, but cannot build or test: use another provider, or `permission_mode: full`")
}

/// Returns true if the provider can show an agent some tools and hide others.
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
