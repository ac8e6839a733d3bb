//! Tools that a provider grants to an agent, under the provider's names.

use saihai_model::ProviderKind;

/// Tools that an agent receives out of those it requests.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Granted {
    /// Provider-specific tool names; absent if the provider cannot restrict its tools.
    pub(super) tools: Option<Vec<String>>,
    /// Requested tools that the provider lacks.
    pub(super) missing: Vec<&'static str>,
    /// True if the agent requests no tools but the provider gives it some anyway.
    pub(super) is_unheld: bool,
}

impl Granted {
    /// Returns the tools that a provider grants under read-only permission.
    pub(super) fn of(kind: ProviderKind, wanted: &[&'static str], web: bool) -> Self {
        let (open, mut missing): (Vec<&str>, Vec<&str>) =
            wanted.iter().partition(|tool| web || **tool != WEB);
        let names: Vec<(&'static str, Vec<&'static str>)> = match kind {
            // These providers cannot restrict tools: read-only tools are always on. They cannot
            // reach the forge.
            ProviderKind::Codex | ProviderKind::Gemini | ProviderKind::Acp => {
                missing.extend(open.into_iter().filter(|tool| FORGE.contains(tool)));
                return Self { tools: None, missing, is_unheld: wanted.is_empty() };
            }
            ProviderKind::Claude | ProviderKind::Copilot | ProviderKind::Opencode => {
                open.into_iter().map(|tool| (tool, of_program(tool))).collect()
            }
            ProviderKind::Anthropic | ProviderKind::Openai => {
                open.into_iter().map(|tool| (tool, of_service(tool))).collect()
            }
            ProviderKind::Command | ProviderKind::Script => {
                open.into_iter().map(|tool| (tool, vec![tool])).collect()
            }
        };
        missing.extend(names.iter().filter(|(_, own)| own.is_empty()).map(|(tool, _)| *tool));
        let tools = names.into_iter().flat_map(|(_, own)| own).map(str::to_owned).collect();
        Self { tools: Some(tools), missing, is_unheld: false }
    }
}

const WEB: &str = "web_fetch";
const FORGE: [&str; 2] = ["pr_view", "issue_view"];

/// Returns the tool names of a CLI provider. Git needs a shell there, and reviewers get no shell.
fn of_program(tool: &str) -> Vec<&'static str> {
    match tool {
        "read_file" => vec!["Read"],
        "list_files" => vec!["Glob", "LS"],
        "grep" => vec!["Grep"],
        WEB => vec!["WebFetch"],
        _ => Vec::new(),
    }
}

/// Returns the tools that Saihai itself runs for an HTTP provider.
fn of_service(tool: &'static str) -> Vec<&'static str> {
    match tool {
        "read_file" | "list_files" | "grep" | "git_diff" | "git_log" | "git_show" | "git_blame"
        | "pr_view" | "issue_view" | WEB => vec![tool],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: ProviderKind, web: bool, tools: Option<&[&str]>, missing: &[&'static str]) {
        let wanted = ["read_file", "list_files", "grep", "git_diff", "web_fetch"];
        let tools = tools.map(|tools| tools.iter().map(|tool| (*tool).to_owned()).collect());
        let expected = Granted { tools, missing: missing.to_vec(), is_unheld: false };
        assert_eq!(Granted::of(kind, &wanted, web), expected, "{kind:?}");
    }

    #[test]
    fn a_provider_is_given_what_it_can_be_held_to_under_its_own_names() {
        let looking: &[&str] = &["Read", "Glob", "LS", "Grep"];
        check(ProviderKind::Claude, false, Some(looking), &["web_fetch", "git_diff"]);
        let with_web: &[&str] = &["Read", "Glob", "LS", "Grep", "WebFetch"];
        check(ProviderKind::Claude, true, Some(with_web), &["git_diff"]);
        let own: &[&str] = &["read_file", "list_files", "grep", "git_diff"];
        check(ProviderKind::Anthropic, false, Some(own), &["web_fetch"]);
        let own: &[&str] = &["read_file", "list_files", "grep", "git_diff", "web_fetch"];
        check(ProviderKind::Openai, true, Some(own), &[]);
        for kind in [ProviderKind::Codex, ProviderKind::Gemini, ProviderKind::Acp] {
            check(kind, true, None, &[]);
            let given = Granted::of(kind, &["read_file", "pr_view", "issue_view"], false);
            assert_eq!(given.missing, FORGE, "{kind:?}");
        }
    }

    // case 15
    #[test]
    fn no_tools_is_none_at_all_where_a_provider_can_be_told() {
        let none = |tools, is_unheld| Granted { tools, missing: Vec::new(), is_unheld };
        for kind in
            [ProviderKind::Claude, ProviderKind::Copilot, ProviderKind::Opencode, ProviderKind::Anthropic]
        {
            assert_eq!(Granted::of(kind, &[], false), none(Some(Vec::new()), false), "{kind:?}");
        }
        for kind in [ProviderKind::Codex, ProviderKind::Gemini, ProviderKind::Acp] {
            assert_eq!(Granted::of(kind, &[], false), none(None, true), "{kind:?}");
        }
    }
}
