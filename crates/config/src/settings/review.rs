//! Review settings.

use indexmap::IndexMap;
use saihai_model::{Budget, Millis, ProviderName};

use super::Settings;
use super::budget::read_budget;
use super::values::{Section, Values};
use crate::diagnostic::{Diagnostics, DocumentPath, Location, Step, did_you_mean, list_of, quoted};

#[derive(Debug, Clone, PartialEq)]
pub struct ReviewSettings {
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    /// Base revision of the reviewed changes.
    pub base: Option<String>,
    /// Maximum number of agents that run in parallel.
    pub concurrency: u32,
    /// Time limit of one agent.
    pub timeout: Millis,
    /// Maximum number of model calls per agent.
    pub max_turns: u32,
    /// Lowest severity that fails a review.
    pub fail_on: String,
    /// Maximum distance from the change at which a finding still fails the review.
    pub fail_scope: String,
    /// Lowest confidence of a finding that the report keeps.
    pub min_confidence: u8,
    /// Maximum number of subject bytes per turn.
    pub max_diff_bytes: u64,
    pub max_chunks: u32,
    pub budget: Budget,
    /// Fail the review if an agent delivers no result.
    pub require_all: bool,
    /// Reuse replies to unchanged questions.
    pub cache: bool,
    pub web: bool,
    /// Allow providers that cannot enforce read-only permission.
    pub allow_unconfined: bool,
    pub agents: IndexMap<String, ReviewAgentSettings>,
    named: Vec<(ProviderName, Location)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReviewAgentSettings {
    pub enabled: bool,
    pub provider: Option<ProviderName>,
    pub model: Option<String>,
    pub timeout: Option<Millis>,
    pub max_turns: Option<u32>,
    at: Location,
}

impl Default for ReviewSettings {
    fn default() -> Self {
        Self {
            provider: None,
            model: None,
            base: None,
            concurrency: 4,
            timeout: Millis::seconds(600),
            max_turns: 30,
            fail_on: "important".to_owned(),
            fail_scope: "file".to_owned(),
            min_confidence: 0,
            max_diff_bytes: 300_000,
            max_chunks: 1,
            budget: Budget::default(),
            require_all: false,
            cache: true,
            web: false,
            allow_unconfined: false,
            agents: IndexMap::new(),
            named: Vec::new(),
        }
    }
}

impl ReviewSettings {
    pub(super) fn read(values: &Values, diagnostics: &mut Diagnostics) -> Self {
        let root = values.section(&DocumentPath::root());
        let review = root.within("review");
        let unset = Self::default();
        let mut named: Vec<(ProviderName, Location)> = provider(&review).into_iter().collect();
        let agents = agents(values, &review, &mut named);
        Self {
            provider: review.text("provider").map(ProviderName::from),
            model: review.text("model").map(str::to_owned),
            base: review.text("base").map(str::to_owned),
            concurrency: review.count("concurrency").unwrap_or(unset.concurrency),
            timeout: review.duration("timeout").unwrap_or(unset.timeout),
            max_turns: review.count("max_turns").unwrap_or(unset.max_turns),
            fail_on: review.text("fail_on").map_or(unset.fail_on, str::to_owned),
            fail_scope: review.text("fail_scope").map_or(unset.fail_scope, str::to_owned),
            min_confidence: review
                .count("min_confidence")
                .and_then(|percent| u8::try_from(percent).ok())
                .unwrap_or(unset.min_confidence),
            max_diff_bytes: review.whole("max_diff_bytes").unwrap_or(unset.max_diff_bytes),
            max_chunks: review.count("max_chunks").unwrap_or(unset.max_chunks),
            budget: read_budget(&review.within("budget"), diagnostics),
            require_all: review.bool("require_all").unwrap_or(unset.require_all),
            cache: review.bool("cache").unwrap_or(unset.cache),
            web: review.bool("web").unwrap_or(unset.web),
            allow_unconfined: review.bool("allow_unconfined").unwrap_or(unset.allow_unconfined),
            agents,
            named,
        }
    }

    pub fn disabled(&self) -> Vec<String> {
        let disabled = self.agents.iter().filter(|(_, agent)| !agent.enabled);
        disabled.map(|(name, _)| name.clone()).collect()
    }

    /// Rejects settings for agents that do not exist.
    pub fn check_agents(&self, known: &[&str]) -> Diagnostics {
        let unknown = self.agents.iter().filter(|(name, _)| !known.contains(&name.as_str()));
        let errors = unknown.map(|(name, agent)| {
            let message = format!("no review agent is named {}", quoted(name));
            let hint = did_you_mean(name, known.iter().copied())
                .unwrap_or_else(|| format!("there is {}", list_of(known.iter().copied(), "and")));
            agent.at.error("unknown-agent", message).label("has no effect").hint(hint)
        });
        errors.collect()
    }

    /// Rejects providers that do not exist.
    pub(crate) fn check_providers(&self, settings: &Settings) -> Diagnostics {
        let mut found = Diagnostics::new();
        for (name, at) in self.named.iter().filter(|(name, _)| !settings.knows_provider(name.as_str())) {
            let message = format!("no provider is named {}", quoted(name.as_str()));
            let hint = found.suggest(name.as_str(), settings.provider_names());
            found.push(at.error("unknown-provider", message).label("not a provider").maybe_hint(hint));
        }
        found
    }
}

/// Returns the provider of a section and its location.
fn provider(section: &Section<'_>) -> Option<(ProviderName, Location)> {
    let setting = section.get("provider")?;
    Some((setting.node.as_text()?.into(), setting.at.clone()))
}

fn agents(
    values: &Values,
    review: &Section<'_>,
    named: &mut Vec<(ProviderName, Location)>,
) -> IndexMap<String, ReviewAgentSettings> {
    let mut agents = IndexMap::new();
    for (key, setting) in values.iter() {
        if let [Step::Key(review_key), Step::Key(group), Step::Key(name), ..] = key.steps()
            && (&**review_key, &**group) == ("review", "agents")
            && !agents.contains_key(&**name)
        {
            let own = review.within("agents").within(name);
            named.extend(provider(&own));
            let agent = ReviewAgentSettings {
                enabled: own.bool("enabled").unwrap_or(true),
                provider: own.text("provider").map(ProviderName::from),
                model: own.text("model").map(str::to_owned),
                timeout: own.duration("timeout"),
                max_turns: own.count("max_turns"),
                at: setting.at.clone(),
            };
            agents.insert(name.to_string(), agent);
        }
    }
    agents
}
