//! Hats as data, from one file or from a file and its preset.

use indexmap::IndexMap;
use saihai_model::{Millis, OwnProvider};

use super::hat::Hat;
use crate::Located;
use crate::delivery::Wishes;

const KEYWORD: &str = "LOOP_COMPLETE";
/// Default topic that starts a run.
const START: &str = "task.start";
const ITERATIONS: u32 = 100;
const STALL_AFTER: u32 = 3;
const FAILURES: u32 = 5;

/// Content of a hats file. Missing keys are `None`, so that a preset can supply them (H-20).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Written {
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
    pub(super) flow: Flow,
    pub(super) bounds: Bounds,
    pub(super) gates: Gates,
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
pub(super) struct Flow {
    pub(super) starting_event: Option<Located<String>>,
    pub(super) keyword: Option<Located<String>>,
    pub(super) cancellation: Option<Located<String>>,
    pub(super) required_events: Option<Vec<Located<String>>>,
    pub(super) enforce_scope: Option<bool>,
    pub(super) stall_after: Option<u32>,
    pub(super) max_activations: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) max_iterations: Option<u32>,
    pub(super) failures: Option<u32>,
    pub(super) idle: Option<Millis>,
    pub(super) runtime: Option<Millis>,
    pub(super) cost_usd: Option<f64>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gates {
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

impl Gates {
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

impl Written {
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
        Self {
            backend: self.backend.or(below.backend),
            model: self.model.or(below.model),
            base_prompt: self.base_prompt.or(below.base_prompt),
            language: self.language.or(below.language),
            flow: self.flow.over(below.flow),
            bounds: self.bounds.over(below.bounds),
            gates: self.gates.over(below.gates),
            wishes: self.wishes.over(below.wishes),
            task: self.task.or(below.task),
            ..self
        }
    }
}

impl Flow {
    fn over(self, below: Self) -> Self {
        Self {
            starting_event: self.starting_event.or(below.starting_event),
            keyword: self.keyword.or(below.keyword),
            cancellation: self.cancellation.or(below.cancellation),
            required_events: self.required_events.or(below.required_events),
            enforce_scope: self.enforce_scope.or(below.enforce_scope),
            stall_after: self.stall_after.or(below.stall_after),
            max_activations: self.max_activations.or(below.max_activations),
        }
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

impl Bounds {
    fn over(self, below: Self) -> Self {
        Self {
            max_iterations: self.max_iterations.or(below.max_iterations),
            failures: self.failures.or(below.failures),
            idle: self.idle.or(below.idle),
            runtime: self.runtime.or(below.runtime),
            cost_usd: self.cost_usd.or(below.cost_usd),
        }
    }

    pub(super) fn iterations(&self) -> u32 {
        self.max_iterations.unwrap_or(ITERATIONS)
    }

    /// Returns the number of consecutive failed attempts that stops a run.
    pub(super) fn failures(&self) -> u32 {
        self.failures.unwrap_or(FAILURES)
    }
}
