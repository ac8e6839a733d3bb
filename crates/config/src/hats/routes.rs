//! Routing of topics to hats (H-25, H-26).

use saihai_model::{Route, StageId};

use super::hat::{DEFAULT, Hat};
use super::topic::{Precision, takes};

/// Stage for turns without a hat.
pub(super) const BASE: &str = "(base)";

/// All triggers in search order: exact topics, then patterns with `*` segments, then a lone `*`. Within each
/// group, the order of the file decides.
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

    pub(super) fn table(&self) -> Vec<Route> {
        self.all.iter().map(|(_, route)| route.clone()).collect()
    }

    /// Returns the hat whose trigger matches a topic.
    pub(super) fn taker(&self, topic: &str) -> Option<&StageId> {
        self.all
            .iter()
            .map(|(_, route)| route)
            .find(|route| takes(&route.pattern, topic))
            .map(|route| &route.to)
    }

    /// Returns the hat that matches a topic by anything but a lone `*` (H-52).
    pub(super) fn explicit_taker(&self, topic: &str) -> Option<&StageId> {
        let explicit = self.all.iter().filter(|(precision, _)| *precision != Precision::Anything);
        explicit.map(|(_, route)| route).find(|route| takes(&route.pattern, topic)).map(|route| &route.to)
    }

    /// Returns the stage for topics that no trigger matches (H-29).
    pub(super) fn fallback(&self) -> StageId {
        if self.has_default {
            return DEFAULT.into();
        }
        // A lone `*` matches every topic, so no turn would ever use the base prompt.
        let anything = self.all.iter().find(|(precision, _)| *precision == Precision::Anything);
        anything.map_or_else(|| BASE.into(), |(_, route)| route.to.clone())
    }

    pub(super) fn destination(&self, topic: &str) -> StageId {
        self.taker(topic).cloned().unwrap_or_else(|| self.fallback())
    }

    /// Returns the topics with an exact trigger, without duplicates.
    pub(super) fn exact_topics(&self) -> Vec<&str> {
        let mut topics = Vec::new();
        for (precision, route) in &self.all {
            if *precision == Precision::Exact && !topics.contains(&route.pattern.as_str()) {
                topics.push(route.pattern.as_str());
            }
        }
        topics
    }

    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(_, route)| route.pattern.as_str())
    }
}
