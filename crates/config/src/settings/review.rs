//! Review settings.

use indexmap::IndexMap;
use saihai_model::{Budget, Millis, ProviderName};

use super::Settings;
use super::tables::BUDGET;
use super::values::{SettingType, SettingsSection, setting_types, settings_table};
use crate::diagnostic::{Diagnostics, Location, did_you_mean, list_of, quoted};
use crate::fields::ValueKind;
use crate::review::{FailOn, FailScope};

/// The bounds check rejects zero, with a message that names the bounds.
const DEADLINE: ValueKind = ValueKind::Duration { zero: true };
const CALLS: ValueKind = ValueKind::Integer { min: 1, max: 1000 };

settings_table! {
    pub struct ReviewSettings = REVIEW("`review`") {
        provider: Option<ProviderName> = Text, "provider of the review agents; default: `provider`";
        model: Option<String> = Text, "model of the review agents";
        base: Option<String> = Text, "revision to compare changes with";
        concurrency: u32 = Integer { min: 1, max: 64 }, default "4",
            "maximum number of agents in parallel";
        timeout: Millis = DEADLINE, default "\"600s\"", "timeout of one agent";
        max_turns: u32 = CALLS, default "30", "maximum model calls of one agent";
        fail_on: FailOn = OneOf(&["critical", "important", "suggestion", "nitpick", "never"]), default "\"important\"",
            "minimum severity that fails the review";
        fail_scope: FailScope = OneOf(&["added", "context", "file", "all"]), default "\"file\"",
            "maximum distance from a change at which a finding fails the review";
        min_confidence: u8 = Integer { min: 0, max: 100 }, default "0",
            "minimum confidence of a finding; others are omitted";
        max_diff_bytes: u64 = Integer { min: 10_000, max: i64::MAX }, default "300000",
            "maximum size of a change; larger ones are split";
        max_chunks: u32 = Integer { min: 1, max: 100 }, default "1",
            "maximum number of parts of a split change";
        budget: Budget = Object(&BUDGET), "budget for a review";
        require_all: bool = Bool, default "false", "require an answer from every agent";
        cache: bool = Bool, default "true", "reuse answers to unchanged questions";
        web: bool = Bool, default "false", "let agents access the web";
        allow_unconfined: bool = Bool, default "false",
            "allow agents that cannot be kept from writing";
        agents: IndexMap<String, ReviewAgentSettings> = Map(&Object(&REVIEW_AGENT)),
            "settings of single agents by name";
    }
    hidden named: NamedProviders;
}

settings_table! {
    pub struct ReviewAgentSettings = REVIEW_AGENT("a review agent's settings") {
        enabled: Option<bool> = Bool, "use this agent; `true` also adds a built-in agent that is off by default";
        provider: Option<ProviderName> = Text, "provider of this agent";
        model: Option<String> = Text, "model of this agent";
        timeout: Option<Millis> = DEADLINE, "timeout of this agent";
        max_turns: Option<u32> = CALLS, "maximum model calls of this agent";
    }
    hidden at: Option<Location>;
}

setting_types! {
    FailOn: |node| FailOn::named(node.as_text()?);
    FailScope: |node| FailScope::named(node.as_text()?);
}

impl SettingType for ReviewAgentSettings {
    fn of(section: &SettingsSection<'_>, name: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        Some(Self::read(&section.within(name), diagnostics))
    }
}

/// Location of the first key of a section.
impl SettingType for Option<Location> {
    fn of(section: &SettingsSection<'_>, _: &str, _: &mut Diagnostics) -> Option<Self> {
        Some(section.all().next().map(|(_, setting)| setting.at.clone()))
    }
}

/// Providers that the review settings name, with their locations.
#[derive(Debug, Clone, PartialEq)]
struct NamedProviders(Vec<(ProviderName, Location)>);

impl SettingType for NamedProviders {
    fn of(section: &SettingsSection<'_>, _: &str, _: &mut Diagnostics) -> Option<Self> {
        let named = section.all().filter(|(key, _)| key.last_key() == Some("provider"));
        let named =
            named.filter_map(|(_, setting)| Some((setting.node.as_text()?.into(), setting.at.clone())));
        Some(Self(named.collect()))
    }
}

impl ReviewSettings {
    pub fn disabled(&self) -> Vec<String> {
        self.with_enabled(false)
    }

    /// Returns the agents that the settings enable by name.
    pub fn enabled(&self) -> Vec<String> {
        self.with_enabled(true)
    }

    fn with_enabled(&self, wanted: bool) -> Vec<String> {
        let agents = self.agents.iter().filter(|(_, agent)| agent.enabled == Some(wanted));
        agents.map(|(name, _)| name.clone()).collect()
    }

    /// Rejects settings for agents that do not exist.
    pub fn check_agents(&self, known: &[&str]) -> Diagnostics {
        let unknown = self.agents.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let errors = unknown.filter_map(|(name, agent)| {
            let message = format!("no review agent is named {}", quoted(name));
            let hint = did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| format!("there is {}", list_of(known.iter().copied(), "and")));
            Some(agent.at.as_ref()?.error("unknown-agent", message).label("has no effect").hint(hint))
        });
        errors.collect()
    }

    /// Rejects providers that do not exist.
    pub fn check_providers(&self, settings: &Settings) -> Diagnostics {
        let mut found = Diagnostics::new();
        for (name, at) in self.named.0.iter().filter(|(name, _)| !settings.knows_provider(name.as_str())) {
            let message = format!("no provider is named {}", quoted(name.as_str()));
            let hint = found.suggest(name.as_str(), settings.provider_names());
            found.push(at.error("unknown-provider", message).label("not a provider").maybe_hint(hint));
        }
        found
    }
}
