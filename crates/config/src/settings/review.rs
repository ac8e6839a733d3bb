//! What the settings say of reviews.

use indexmap::IndexMap;

use super::values::Values;
use crate::diagnostic::{Diagnostics, DocumentPath, Location, Step, did_you_mean, list_of, quoted};

/// What the settings say of reviews.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReviewSettings {
    /// The revision changes are compared with.
    pub base: Option<String>,
    /// Single agents, by name.
    pub agents: IndexMap<String, ReviewAgentSettings>,
}

/// What the settings say of one review agent.
#[derive(Debug, Clone, PartialEq)]
pub struct ReviewAgentSettings {
    /// Whether it reviews.
    pub enabled: bool,
    at: Location,
}

impl ReviewSettings {
    pub(super) fn read(values: &Values) -> Self {
        let root = values.section(&DocumentPath::root());
        let review = root.within("review");
        let mut agents = IndexMap::new();
        for (key, setting) in values.iter() {
            if let [Step::Key(review), Step::Key(group), Step::Key(name), _] = key.steps()
                && (&**review, &**group) == ("review", "agents")
                && !agents.contains_key(&**name)
            {
                let section = root.within("review").within("agents").within(name);
                let enabled = section.bool("enabled").unwrap_or(true);
                agents.insert(name.to_string(), ReviewAgentSettings { enabled, at: setting.at.clone() });
            }
        }
        Self { base: review.text("base").map(str::to_owned), agents }
    }

    /// The agents that are not to review.
    pub fn disabled(&self) -> Vec<String> {
        let disabled = self.agents.iter().filter(|(_, agent)| !agent.enabled);
        disabled.map(|(name, _)| name.clone()).collect()
    }

    /// Refuses settings of agents that do not exist.
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
}
