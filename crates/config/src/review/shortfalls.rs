//! Requested tools that providers lack.

use indexmap::IndexMap;
use saihai_model::ProviderName;

use super::granted::Granted;
use crate::diagnostic::list_of;

/// Requested tools that providers lack. Each provider gets one warning, however many agents ask.
#[derive(Debug, Default)]
pub(super) struct Shortfalls {
    missing: IndexMap<ProviderName, Vec<&'static str>>,
    /// Providers that always enable some tools, even if an agent requests none.
    unheld: Vec<ProviderName>,
}

impl Shortfalls {
    /// Adds the shortfall of one agent.
    pub(super) fn add(&mut self, provider: &ProviderName, granted: &Granted) {
        for tool in &granted.missing {
            let tools = self.missing.entry(provider.clone()).or_default();
            if !tools.contains(tool) {
                tools.push(tool);
            }
        }
        if granted.is_unheld && !self.unheld.contains(provider) {
            self.unheld.push(provider.clone());
        }
    }

    /// Returns the warnings. `web` is true if agents may use web tools.
    pub(super) fn warnings(&self, web: bool) -> Vec<String> {
        let missing = self.missing.iter().map(|(provider, tools)| {
            let names = list_of(tools.iter().copied(), "and");
            let hint = if tools.contains(&"web_fetch") && !web {
                "; `web_fetch` needs `web = true` in `[review]`"
            } else {
                ""
            };
            format!("agents review without {names}: `{provider}` cannot give them to who only looks{hint}")
        });
        let unheld = self.unheld.iter().map(|provider| {
            format!("`{provider}` cannot be kept from looking: agents that ask for no tools have its own")
        });
        missing.chain(unheld).collect()
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::ProviderKind;

    use super::*;

    fn warnings(asked: &[(&str, ProviderKind, &[&'static str])], web: bool) -> String {
        let mut shortfalls = Shortfalls::default();
        for (name, kind, tools) in asked {
            shortfalls.add(&ProviderName::from(*name), &Granted::of(*kind, tools, web));
        }
        shortfalls.warnings(web).join("\n")
    }

    // One warning for each provider
    #[test]
    fn what_a_provider_cannot_give_is_said_once() {
        let asked: &[(&str, ProviderKind, &[&'static str])] = &[
            ("claude", ProviderKind::Claude, &["read_file", "git_diff"]),
            ("claude", ProviderKind::Claude, &["git_diff", "git_log", "web_fetch"]),
            ("mine", ProviderKind::Anthropic, &["git_diff", "pr_view", "web_fetch"]),
        ];
        insta::assert_snapshot!(warnings(asked, false), @"
        agents review without `git_diff`, `web_fetch` and `git_log`: `claude` cannot give them to who only looks; `web_fetch` needs `web = true` in `[review]`
        agents review without `web_fetch`: `mine` cannot give them to who only looks; `web_fetch` needs `web = true` in `[review]`
        ");
        assert_eq!(warnings(&asked[2..], true), "", "services are given all there is");
    }

    #[test]
    fn who_cannot_be_kept_from_looking_is_named() {
        let asked: &[(&str, ProviderKind, &[&'static str])] = &[
            ("codex", ProviderKind::Codex, &[]),
            ("codex", ProviderKind::Codex, &[]),
            ("gemini", ProviderKind::Gemini, &["read_file"]),
            ("claude", ProviderKind::Claude, &[]),
        ];
        insta::assert_snapshot!(warnings(asked, false), @"`codex` cannot be kept from looking: agents that ask for no tools have its own");
    }
}
