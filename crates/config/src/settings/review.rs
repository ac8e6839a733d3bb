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
        provider: Option<ProviderName> = Text, "who reviews; by default `provider`";
        model: Option<String> = Text, "with which model";
        base: Option<String> = Text, "the revision changes are compared with";
        concurrency: u32 = Integer { min: 1, max: 64 }, default "4",
            "how many agents review at the same time";
        timeout: Millis = DEADLINE, default "\"600s\"", "the deadline of one agent";
        max_turns: u32 = CALLS, default "30", "model calls of one agent";
        fail_on: FailOn = OneOf(&["critical", "important", "suggestion", "nitpick", "never"]), default "\"important\"",
            "the least severity that fails the review";
        fail_scope: FailScope = OneOf(&["added", "context", "file", "all"]), default "\"file\"",
            "how near to a change a finding must be to fail the review";
        min_confidence: u8 = Integer { min: 0, max: 100 }, default "0",
            "findings less certain are left out";
        max_diff_bytes: u64 = Integer { min: 10_000, max: i64::MAX }, default "300000",
            "a larger change is split";
        max_chunks: u32 = Integer { min: 1, max: 100 }, default "1",
            "into how many parts a change is split at most";
        budget: Budget = Object(&BUDGET), "budget for a review";
        require_all: bool = Bool, default "false", "whether every agent must answer";
        cache: bool = Bool, default "true", "whether answers to an unchanged question are used again";
        web: bool = Bool, default "false", "whether agents may look things up on the web";
        allow_unconfined: bool = Bool, default "false",
            "whether agents that cannot be kept from writing may review";
        agents: IndexMap<String, ReviewAgentSettings> = Map(&Object(&REVIEW_AGENT)),
            "settings of single agents, by name";
    }
    hidden named: NamedProviders;
}

settings_table! {
    pub struct ReviewAgentSettings = REVIEW_AGENT("a review agent's settings") {
        enabled: bool = Bool, else true, "whether it reviews";
        provider: Option<ProviderName> = Text, "who answers for it";
        model: Option<String> = Text, "with which model";
        timeout: Option<Millis> = DEADLINE, "its deadline";
        max_turns: Option<u32> = CALLS, "its model calls";
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
        let disabled = self.agents.iter().filter(|(_, agent)| !agent.enabled);
        disabled.map(|(name, _)| name.clone()).collect()
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
