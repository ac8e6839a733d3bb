//! Who takes which topic (H-25, H-26).

use saihai_model::{Route, StageId};

use super::hat::{DEFAULT, Hat};
use super::topic::{Precision, takes};

/// Where the turns of no hat are asked.
pub(super) const BASE: &str = "(base)";

/// All triggers in the order they are searched: exact ones, those with `*` for a segment, lone `*`; each in the order of
/// the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Routes {
    all: Vec<(Precision, Route)>,
    has_default: bool,
}

impl Routes {
    pub(super) fn of<'a>(hats: impl Iterator<Item = &'a Hat> + Clone) -> Self {
        let mut all: Vec<(Precision, Route)> = Vec::new();
        for precision in Precision::ALL {
            for hat in hats.clone() {
                let such = hat.triggers.iter().filter(|t| Precision::of(&t.value) == Some(precision));
                all.extend(such.map(|trigger| {
                    let to = StageId::from(hat.id.value.as_str());
                    (precision, Route { pattern: trigger.value.clone(), to, orphans: false })
                }));
            }
        }
        let has_default = hats.clone().any(|hat| hat.id.value == DEFAULT);
        Self { all, has_default }
    }

    /// As the workflow has them.
    pub(super) fn table(&self) -> Vec<Route> {
        self.all.iter().map(|(_, route)| route.clone()).collect()
    }

    /// The hat whose trigger takes a topic.
    pub(super) fn taker(&self, topic: &str) -> Option<&StageId> {
        self.all
            .iter()
            .map(|(_, route)| route)
            .find(|route| takes(&route.pattern, topic))
            .map(|route| &route.to)
    }

    /// The hat that takes a topic by name, or by the name of its segments (H-52).
    pub(super) fn explicit_taker(&self, topic: &str) -> Option<&StageId> {
        let explicit = self.all.iter().filter(|(precision, _)| *precision != Precision::Anything);
        explicit.map(|(_, route)| route).find(|route| takes(&route.pattern, topic)).map(|route| &route.to)
    }

    /// Where a topic goes that nobody takes (H-29).
    pub(super) fn fallback(&self) -> StageId {
        if self.has_default {
            return DEFAULT.into();
        }
        // Where a lone `*` takes everything the base prompt would never be asked.
        let anything = self.all.iter().find(|(precision, _)| *precision == Precision::Anything);
        anything.map_or_else(|| BASE.into(), |(_, route)| route.to.clone())
    }

    pub(super) fn destination(&self, topic: &str) -> StageId {
        self.taker(topic).cloned().unwrap_or_else(|| self.fallback())
    }

    /// The topics that hats take by name, each once.
    pub(super) fn exact_topics(&self) -> Vec<&str> {
        let mut topics = Vec::new();
        for (precision, route) in &self.all {
            if *precision == Precision::Exact && !topics.contains(&route.pattern.as_str()) {
                topics.push(route.pattern.as_str());
            }
        }
        topics
    }

    /// All triggers as they were written.
    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(_, route)| route.pattern.as_str())
    }
}
