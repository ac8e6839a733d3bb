//! Settings of the sandbox: reading them, trust, and contradictions (B-1).

use saihai_model::SandboxChoice;

use super::values::{SettingValues, provider_of};
use crate::diagnostic::{Diagnostics, DocumentPath};
use crate::document::Node;

/// Reads a word, or a list with a program and its arguments.
pub(super) fn sandbox_choice(node: &Node) -> Option<SandboxChoice> {
    if let Some(word) = node.as_text() {
        return SandboxChoice::named(word);
    }
    let argv = node.as_list()?.iter().filter_map(|word| word.as_text().map(str::to_owned));
    Some(SandboxChoice::Program(argv.collect()))
}

/// Returns true for the settings that apply to every provider.
pub(super) fn is_of_all_providers(key: &DocumentPath) -> bool {
    const KEYS: [&str; 5] =
        ["sandbox", "sandbox_required", "sandbox_network", "sandbox_read", "sandbox_write"];
    key.key_at(0).is_some_and(|name| KEYS.contains(&name))
}

/// Returns true if a value only takes rights from agents, so that a project needs no trust to set it.
pub(super) fn adds_sandbox(key: &DocumentPath, node: &Node) -> bool {
    match key.last_key() {
        Some("sandbox") if is_of_all_providers(key) || provider_of(key).is_some() => {
            node.as_text().is_some_and(|word| word != "off")
        }
        Some("sandbox_required") => node.as_bool() == Some(true),
        Some("sandbox_network") => node.as_text() == Some("none"),
        Some(_) | None => false,
    }
}

/// Rejects a sandbox that is required and turned off.
pub(super) fn check_sandbox(values: &SettingValues, diagnostics: &mut Diagnostics) {
    if let Some(network) = values.get(&DocumentPath::of_keys("sandbox_network"))
        && network.node.as_list().is_some()
    {
        let message = "`sandbox_network` does not support a list of hosts";
        let hint =
            "write `none` for no network, which needs `bwrap`, or wrap agents in a program of your own";
        diagnostics.push(network.at.error("not-supported", message).label("not supported").hint(hint));
    }
    let Some(required) = values.get(&DocumentPath::of_keys("sandbox_required")) else { return };
    if required.node.as_bool() != Some(true) {
        return;
    }
    for (key, setting) in values.iter() {
        let is_sandbox = key.last_key() == Some("sandbox")
            && (is_of_all_providers(key) || (provider_of(key).is_some() && key.steps().len() == 3));
        if is_sandbox && setting.node.as_text() == Some("off") {
            let message = format!("`{key}` is `off`, and `sandbox_required` is set");
            let diagnostic = setting.at.error("sandbox-off", message).label("turned off here");
            let hint = "remove one of them, or write `auto` for the strongest sandbox of the machine";
            diagnostics.push(diagnostic.also(&required.at, "required here").hint(hint));
        }
    }
}
