//! Hats as data, from one file or from a file and its preset: settings, topics with their patterns, and routes.

use indexmap::IndexMap;
use saihai_model::{
    DirectiveExtraction, Millis, OwnProvider, Route, StageId, is_topic_connector, is_topic_letter,
};

use super::read::{DEFAULT, Hat};
use crate::Located;
use crate::breaker::ProgressSetting;
use crate::delivery::Wishes;

const KEYWORD: &str = "LOOP_COMPLETE";
/// Default topic that starts a run.
const START: &str = "task.start";
const ITERATIONS: u32 = 100;
const STALL_AFTER: u32 = 3;
const FAILURES: u32 = 5;

/// Takes each field from the first value, or from the second where the first has none.
macro_rules! or_below {
    ($first:ident, $below:ident, $($field:ident),+ $(; ..$rest:ident)?) => {
        Self { $($field: $first.$field.or($below.$field),)+ $(..$rest)? }
    };
}

/// Content of a hats file. Missing keys are `None`, so that a preset can supply them (H-20).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HatsFile {
    /// Hats by id, in the order of the file.
    pub(super) hats: IndexMap<String, Hat>,
    pub(super) backend: Option<Located<String>>,
    /// The backend's description, if the file contains one.
    pub(super) own_provider: Option<OwnProvider>,
    pub(super) model: Option<Located<String>>,
    pub(super) preset: Option<Located<String>>,
    /// Text at the start of every prompt.
    pub(super) base_prompt: Option<String>,
    /// Declared language: `ja` or `en`.
    pub(super) language: Option<String>,
    pub(super) flow: HatFlow,
    pub(super) bounds: HatBounds,
    pub(super) gates: HatGates,
    /// Keys about work on an issue. True if the key enables something.
    pub(super) delivery: IndexMap<&'static str, bool>,
    /// Full values of those keys.
    pub(super) wishes: Wishes,
    /// Default task if the command line gives none.
    pub(super) task: Option<String>,
    pub(super) topics: IndexMap<String, TopicTexts>,
}

/// Rules for routing and for the end of the work.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HatFlow {
    pub(super) starting_event: Option<Located<String>>,
    pub(super) keyword: Option<Located<String>>,
    pub(super) cancellation: Option<Located<String>>,
    pub(super) required_events: Option<Vec<Located<String>>>,
    pub(super) enforce_scope: Option<bool>,
    pub(super) extraction: Option<DirectiveExtraction>,
    pub(super) stall_after: Option<u32>,
    pub(super) max_activations: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HatBounds {
    pub(super) max_iterations: Option<u32>,
    pub(super) failures: Option<u32>,
    pub(super) idle: Option<Millis>,
    pub(super) runtime: Option<Millis>,
    pub(super) cost_usd: Option<f64>,
    pub(super) progress: Option<ProgressSetting>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct HatGates {
    pub(super) auto: Option<bool>,
    /// True if the key `gates` is present, even if empty.
    pub(super) given: bool,
    /// Gates by their written names, with true for active ones.
    pub(super) named: IndexMap<String, Located<bool>>,
    /// True if `gates` is a list. A list replaces the preset's gates instead of extending them.
    pub(super) is_list: bool,
    /// Gates of the preset. They stay separate, because a gate has several names. Only with all hats is it
    /// clear which names mean the same gate.
    pub(super) below: IndexMap<String, Located<bool>>,
}

impl HatGates {
    fn over(self, below: Self) -> Self {
        let merged = !self.is_list && (!below.is_list || self.named.is_empty());
        Self {
            auto: self.auto.or(below.auto),
            given: self.given || below.given,
            below: if merged { below.named } else { IndexMap::new() },
            ..self
        }
    }

    /// Returns true if the file says anything about gates.
    pub(super) fn are_said(&self) -> bool {
        self.auto.is_some() || self.given
    }
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TopicTexts {
    /// Its description, and advice for the hat that publishes it.
    pub(super) publishing: Vec<String>,
    /// Advice for the hat that it activates.
    pub(super) triggered: Option<String>,
}

impl HatsFile {
    /// Merges with the preset `below`; values in `self` win. Two hats with the same id are never mixed.
    pub(super) fn over(mut self, below: Self) -> Self {
        for (id, hat) in below.hats {
            self.hats.entry(id).or_insert(hat);
        }
        for (topic, texts) in below.topics {
            self.topics.entry(topic).or_insert(texts);
        }
        for (key, asks) in below.delivery {
            self.delivery.entry(key).or_insert(asks);
        }
        self.flow = self.flow.over(below.flow);
        self.bounds = self.bounds.over(below.bounds);
        self.gates = self.gates.over(below.gates);
        self.wishes = self.wishes.over(below.wishes);
        or_below!(self, below, backend, model, base_prompt, language, task; ..self)
    }
}

impl HatFlow {
    fn over(self, below: Self) -> Self {
        or_below!(
            self,
            below,
            starting_event,
            keyword,
            cancellation,
            required_events,
            enforce_scope,
            extraction,
            stall_after,
            max_activations
        )
    }

    pub(super) fn keyword(&self) -> &str {
        self.keyword.as_ref().map_or(KEYWORD, |word| &word.value)
    }

    /// Returns true for a word that ends a run, which is never routed.
    pub(super) fn closes(&self, word: &str) -> bool {
        word == self.keyword() || self.cancellation.as_ref().is_some_and(|own| own.value == word)
    }

    pub(super) fn start(&self) -> &str {
        self.starting_event.as_ref().map_or(START, |topic| &topic.value)
    }

    /// Returns the number of consecutive silent replies that stops a run.
    pub(super) fn stall_after(&self) -> u32 {
        self.stall_after.unwrap_or(STALL_AFTER)
    }
}

impl HatBounds {
    fn over(self, below: Self) -> Self {
        or_below!(self, below, max_iterations, failures, idle, runtime, cost_usd, progress)
    }

    pub(super) fn iterations(&self) -> u32 {
        self.max_iterations.unwrap_or(ITERATIONS)
    }

    /// Returns the number of consecutive failed attempts that stops a run.
    pub(super) fn failures(&self) -> u32 {
        self.failures.unwrap_or(FAILURES)
    }
}

/// Stage for turns without a hat.
pub(super) const BASE: &str = "(base)";

/// All triggers in search order: exact topics, then patterns with `*` segments, then a lone `*`. Within each
/// group, the order of the file decides.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TopicRoutes {
    all: Vec<(TopicPrecision, Route)>,
    has_default: bool,
}

impl TopicRoutes {
    pub(super) fn of<'a>(hats: impl Iterator<Item = &'a Hat> + Clone) -> Self {
        let mut all: Vec<(TopicPrecision, Route)> = Vec::new();
        for precision in TopicPrecision::ALL {
            for hat in hats.clone() {
                let such = hat.triggers.iter().filter(|t| TopicPrecision::of(&t.value) == Some(precision));
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
        let explicit = self.all.iter().filter(|(precision, _)| *precision != TopicPrecision::Anything);
        explicit.map(|(_, route)| route).find(|route| takes(&route.pattern, topic)).map(|route| &route.to)
    }

    /// Returns the stage for topics that no trigger matches (H-29).
    pub(super) fn fallback(&self) -> StageId {
        if self.has_default {
            return DEFAULT.into();
        }
        // A lone `*` matches every topic, so no turn would ever use the base prompt.
        let anything = self.all.iter().find(|(precision, _)| *precision == TopicPrecision::Anything);
        anything.map_or_else(|| BASE.into(), |(_, route)| route.to.clone())
    }

    pub(super) fn destination(&self, topic: &str) -> StageId {
        self.taker(topic).cloned().unwrap_or_else(|| self.fallback())
    }

    /// Returns the topics with an exact trigger, without duplicates.
    pub(super) fn exact_topics(&self) -> Vec<&str> {
        let mut topics = Vec::new();
        for (precision, route) in &self.all {
            if *precision == TopicPrecision::Exact && !topics.contains(&route.pattern.as_str()) {
                topics.push(route.pattern.as_str());
            }
        }
        topics
    }

    pub(super) fn patterns(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(_, route)| route.pattern.as_str())
    }
}

/// Maximum length of a topic, in characters.
const LONGEST: usize = 128;

/// Precision of a pattern. Patterns are searched in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TopicPrecision {
    Exact,
    /// With `*` for whole segments.
    Segments,
    Anything,
}

impl TopicPrecision {
    /// All precisions, in search order.
    pub(super) const ALL: [Self; 3] = [Self::Exact, Self::Segments, Self::Anything];

    /// Returns the precision of a pattern, or `None` if it is not a valid pattern.
    pub(super) fn of(pattern: &str) -> Option<Self> {
        if pattern == "*" {
            return Some(Self::Anything);
        }
        let right = |segment: &str| segment == "*" || is_segment(segment);
        if !pattern.split('.').all(right) || pattern.chars().nth(LONGEST).is_some() {
            return None;
        }
        Some(if pattern.contains('*') { Self::Segments } else { Self::Exact })
    }
}

pub(super) fn is_topic(text: &str) -> bool {
    TopicPrecision::of(text) == Some(TopicPrecision::Exact)
}

/// Returns true if a pattern matches a topic.
pub(super) fn takes(pattern: &str, topic: &str) -> bool {
    pattern == "*" || same_shape(pattern, topic, |wanted, given| wanted == "*" || wanted == given)
}

/// Returns true if some topic matches both patterns. Neither may be a lone `*`.
pub(super) fn overlap(one: &str, other: &str) -> bool {
    same_shape(one, other, |one, other| one == "*" || other == "*" || one == other)
}

fn same_shape(one: &str, other: &str, agree: impl Fn(&str, &str) -> bool) -> bool {
    one.split('.').count() == other.split('.').count()
        && one.split('.').zip(other.split('.')).all(|(one, other)| agree(one, other))
}

/// A segment has letters of any script and single or repeated connectors between them.
fn is_segment(text: &str) -> bool {
    let ends = |character: Option<char>| character.is_some_and(is_topic_letter);
    ends(text.chars().next())
        && ends(text.chars().next_back())
        && text.chars().all(|character| is_topic_letter(character) || is_topic_connector(character))
        && !text.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    // H-14
    #[test]
    fn a_topic_is_letters_joined_by_connectors() {
        let longest = "x".repeat(128);
        for topic in [
            "tests.failing",
            "topic_name",
            "a-b_c.1.x--y",
            "LOOP_COMPLETE",
            "テスト.失敗",
            "build:done",
            "review/done",
            &longest,
        ] {
            assert!(is_topic(topic), "{topic}");
        }
        let too_long = "x".repeat(129);
        for text in [
            "", "a..b", ".a", "a.", "_a", "a-", "a b", "a/", "http://x", "a|b", "<a>", "build.*", "*",
            &too_long,
        ] {
            assert!(!is_topic(text), "{text}");
        }
    }

    // H-15, HC-7
    #[test]
    fn a_star_stands_for_whole_segments_or_alone() {
        for (pattern, expected) in [
            ("build.done", Some(TopicPrecision::Exact)),
            ("build.*", Some(TopicPrecision::Segments)),
            ("*.failed", Some(TopicPrecision::Segments)),
            ("*.*", Some(TopicPrecision::Segments)),
            ("*", Some(TopicPrecision::Anything)),
            ("bu*", None),
            ("**", None),
            ("a.**", None),
            ("", None),
        ] {
            assert_eq!(TopicPrecision::of(pattern), expected, "{pattern}");
        }
    }

    // H-26, H-27, HC-7
    #[test]
    fn a_pattern_takes_topics_of_its_own_length_and_case() {
        assert!(takes("build.*", "build.done"));
        assert!(takes("*", "a.b.c"));
        assert!(takes("tests", "tests"));
        for topic in ["build", "build.x.y", "Build.done"] {
            assert!(!takes("build.*", topic), "{topic}");
        }
        assert!(!takes("tests", "tests.failing"));
    }

    #[test]
    fn patterns_overlap_where_one_topic_is_taken_by_both() {
        assert!(overlap("build.*", "*.done"));
        assert!(overlap("build.*", "build.done"));
        assert!(!overlap("build.*", "test.*"));
        assert!(!overlap("build.*", "build.x.*"));
    }
}
