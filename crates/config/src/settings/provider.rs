//! Provider settings.

use indexmap::IndexMap;
use saihai_model::{Millis, Price, Protocol, ProviderKind, ProviderName, ProviderSettings};

use super::values::Section;

/// Reads a provider. The caller resolves `file`, because it knows the base directory.
pub(super) fn read(kind: ProviderKind, section: &Section<'_>) -> ProviderSettings {
    let unset = ProviderSettings::new(kind);
    let text = |name| section.text(name).map(str::to_owned);
    let price = section.within("price");
    ProviderSettings {
        program: text("program"),
        args: section.texts("args").unwrap_or_default(),
        model: text("model"),
        base_url: text("base_url"),
        env_pass: section.texts("env_pass").unwrap_or_default(),
        env: variables(&section.within("env")),
        system_prompt: text("system_prompt"),
        tools: section.texts("tools"),
        accept_edits: section.text("edit_mode").is_some(),
        honours: section.texts("honours").unwrap_or_default(),
        turn_timeout: timeout(section, "turn_timeout", unset.turn_timeout),
        idle_timeout: timeout(section, "idle_timeout", unset.idle_timeout),
        max_prompt: section.whole("max_prompt"),
        fallback: text("fallback").map(ProviderName),
        price: Price {
            input: price.usd("input"),
            output: price.usd("output"),
            cached: price.usd("cached"),
            turn: price.usd("turn"),
        },
        protocol: if section.text("protocol") == Some("json") { Protocol::Json } else { Protocol::Text },
        trust: section.bool("trust").unwrap_or_default(),
        ..unset
    }
}

fn variables(section: &Section<'_>) -> IndexMap<String, String> {
    let each = section.each();
    each.filter_map(|(name, setting)| Some((name.to_owned(), setting.node.as_text()?.to_owned()))).collect()
}

/// Reads a time limit. Zero means no limit.
fn timeout(section: &Section<'_>, name: &str, unset: Option<Millis>) -> Option<Millis> {
    match section.duration(name) {
        Some(Millis(0)) => None,
        Some(length) => Some(length),
        None => unset,
    }
}
