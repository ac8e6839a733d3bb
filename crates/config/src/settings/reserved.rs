//! Agent arguments that settings cannot contain, because Saihai sets them or controls their effect.
//!
//! No other agent arguments appear outside the connection layer. These must be here, so that an
//! error points into the settings file before any connection.

use saihai_model::ProviderKind;

/// Returns the reserved arguments of a provider kind.
pub(super) fn arguments(kind: ProviderKind) -> &'static [&'static str] {
    match kind {
        ProviderKind::Claude => &CLAUDE,
        ProviderKind::Codex => &CODEX,
        ProviderKind::Opencode => &OPENCODE,
        ProviderKind::Gemini => &GEMINI,
        ProviderKind::Copilot => &COPILOT,
        ProviderKind::Command => &["--json-protocol"],
        ProviderKind::Acp | ProviderKind::Anthropic | ProviderKind::Openai | ProviderKind::Script => &[],
    }
}

const CLAUDE: [&str; 25] = [
    "-p",
    "--print",
    "--output-format",
    "--input-format",
    "--verbose",
    "--model",
    "--permission-mode",
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--tools",
    "--allowedTools",
    "--allowed-tools",
    "--disallowedTools",
    "--disallowed-tools",
    "--strict-mcp-config",
    "--append-system-prompt-file",
    "--system-prompt-snapshot",
    "--json-schema",
    "--max-budget-usd",
    "--session-id",
    "--resume",
    "-r",
    "--continue",
    "-c",
    "--fork-session",
];

const CODEX: [&str; 15] = [
    "exec",
    "resume",
    "--json",
    "--skip-git-repo-check",
    "-s",
    "--sandbox",
    "-C",
    "--cd",
    "-m",
    "--model",
    "--output-schema",
    "--full-auto",
    "--yolo",
    "--dangerously-bypass-approvals-and-sandbox",
    "--ask-for-approval",
];

const OPENCODE: [&str; 15] = [
    "run",
    "--format",
    "--title",
    "-m",
    "--model",
    "--agent",
    "--auto",
    "-s",
    "--session",
    "-c",
    "--continue",
    "--attach",
    "--interactive",
    "-i",
    "--fork",
];

const GEMINI: [&str; 21] = [
    "-o",
    "--output-format",
    "-m",
    "--model",
    "-p",
    "--prompt",
    "--approval-mode",
    "--yolo",
    "-y",
    "--session-id",
    "--resume",
    "-r",
    "--skip-trust",
    "--prompt-interactive",
    "-i",
    "--allowed-tools",
    "--policy",
    "--admin-policy",
    "--acp",
    "--experimental-acp",
    "--session-file",
];

const COPILOT: [&str; 25] = [
    "--output-format",
    "--no-color",
    "--no-ask-user",
    "--disable-builtin-mcps",
    "--model",
    "-p",
    "--prompt",
    "--session-id",
    "--resume",
    "--continue",
    "--available-tools",
    "--allow-tool",
    "--deny-tool",
    "--allow-all-tools",
    "--allow-all",
    "--yolo",
    "--allow-all-paths",
    "--allow-all-urls",
    "--excluded-tools",
    "--mode",
    "--autopilot",
    "--interactive",
    "-i",
    "--acp",
    "--connect",
];

#[cfg(test)]
mod tests {
    use super::*;

    // C-10, C-43: only the definition decides the permission of a turn.
    #[test]
    fn no_argument_that_raises_a_permission_can_be_set() {
        let check = |kind, raising: &[&str]| {
            for argument in raising {
                assert!(arguments(kind).contains(argument), "{kind:?} {argument}");
            }
        };
        check(ProviderKind::Opencode, &["--auto", "--agent", "--attach"]);
        check(ProviderKind::Gemini, &["--yolo", "-y", "--approval-mode", "--allowed-tools", "--policy"]);
        check(
            ProviderKind::Copilot,
            &["--yolo", "--allow-all", "--allow-all-paths", "--allow-tool", "--mode"],
        );
    }
}
