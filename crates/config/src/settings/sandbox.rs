//! Settings of the sandbox: reading them, trust, and contradictions (B-1).

use saihai_model::{SandboxChoice, SandboxHost, SandboxNetwork};

use super::values::{SettingValues, provider_of};
use crate::diagnostic::{Diagnostics, DocumentPath, quoted};
use crate::document::Node;

/// Reads a word, or a list with a program and its arguments.
pub(super) fn sandbox_choice(node: &Node) -> Option<SandboxChoice> {
    if let Some(word) = node.as_text() {
        return SandboxChoice::named(word);
    }
    let argv = node.as_list()?.iter().filter_map(|word| word.as_text().map(str::to_owned));
    Some(SandboxChoice::Program(argv.collect()))
}

/// Reads a word, or a list of hosts. [`check_sandbox`] reports hosts that cannot be read.
pub(super) fn sandbox_network(node: &Node) -> SandboxNetwork {
    if let Some(hosts) = node.as_list() {
        let texts = hosts.iter().filter_map(Node::as_text);
        return SandboxNetwork::Hosts(texts.filter_map(SandboxHost::parse).collect());
    }
    if node.as_text() == Some("none") { SandboxNetwork::Closed } else { SandboxNetwork::Open }
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
        Some("sandbox_network") => node.as_text() != Some("open"),
        Some(_) | None => false,
    }
}

/// Rejects hosts that cannot be read, and a sandbox that is required and turned off.
pub(super) fn check_sandbox(values: &SettingValues, diagnostics: &mut Diagnostics) {
    if let Some(network) = values.get(&DocumentPath::of_keys("sandbox_network")) {
        let hosts = network.node.as_list().into_iter().flatten().filter_map(Node::as_text);
        for host in hosts.filter(|host| SandboxHost::parse(host).is_none()) {
            let message = format!("`sandbox_network` must list hosts with their ports, not {}", quoted(host));
            let hint = "write `api.example.com:443`, or `*.example.com:443` for all names below it";
            diagnostics
                .push(network.at.error("bad-value", message).label("not a host with a port").hint(hint));
        }
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
