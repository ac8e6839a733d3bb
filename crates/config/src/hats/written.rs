//! Hats as they were written, in one file or in a file on a preset.

use indexmap::IndexMap;
use saihai_model::{Millis, OwnProvider};

use super::hat::Hat;
use crate::Located;
use crate::delivery::Wishes;

/// The word that completes a run, where nothing else is said.
const KEYWORD: &str = "LOOP_COMPLETE";
/// The topic a run begins with, where nothing else is said.
const START: &str = "task.start";
/// The most turns, where nothing else is said.
const ITERATIONS: u32 = 100;
/// So many silent replies in a row stop a run, where nothing else is said.
const STALL_AFTER: u32 = 3;
/// So many failed attempts in a row stop a run, where nothing else is said.
const FAILURES: u32 = 5;

/// Everything that can be written about hats. What is not said is absent, so that a preset can say it (H-20).
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Written {
    /// The hats by id, the first in the file first.
    pub(super) hats: IndexMap<String, Hat>,
    pub(super) backend: Option<Located<String>>,
    /// That one, where the file describes it itself.
    pub(super) own_provider: Option<OwnProvider>,
    pub(super) model: Option<Located<String>>,
    pub(super) preset: Option<Located<String>>,
    /// The head of every prompt.
    pub(super) base_prompt: Option<String>,
    /// The language it says it is written in: `ja` or `en`.
    pub(super) language: Option<String>,
    /// How events lead from hat to hat.
    pub(super) flow: Flow,
    /// How far a run may go.
    pub(super) bounds: Bounds,
    /// Where a person is asked.
    pub(super) gates: Gates,
    /// Keys that say how the work on an issue is handed over, and whether they ask for something.
    pub(super) delivery: IndexMap<&'static str, bool>,
    /// What they say, in full.
    pub(super) wishes: Wishes,
    /// The task, where the command line gives none.
    pub(super) task: Option<String>,
    /// What is said about topics, by topic.
    pub(super) topics: IndexMap<String, TopicTexts>,
}

/// How events lead from hat to hat, and when the work is done.
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

/// How far a run may go.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) max_iterations: Option<u32>,
    pub(super) failures: Option<u32>,
    pub(super) idle: Option<Millis>,
    pub(super) runtime: Option<Millis>,
    pub(super) cost_usd: Option<f64>,
}

/// Where a person is asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Gates {
    pub(super) auto: Option<bool>,
    /// Whether there is anything called `gates`, be it empty.
    pub(super) given: bool,
    /// Each gate as it was written, and whether it asks.
    pub(super) named: IndexMap<String, Located<bool>>,
    /// Whether they were written as a list: those below are then replaced and not added to.
    pub(super) is_list: bool,
    /// The same of the preset. Kept apart, because one gate has several names and which of them mean the same is known
    /// only with all hats in view.
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

    /// Whether anything was said about gates.
    pub(super) fn are_said(&self) -> bool {
        self.auto.is_some() || self.given
    }
}

/// What is said about a topic.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TopicTexts {
    /// What it means, and what whoever publishes it should know.
    pub(super) publishing: Vec<String>,
    /// What whoever is activated by it should know.
    pub(super) triggered: Option<String>,
}

impl Written {
    /// This above that: what is said here wins, what is not said comes from below. Hats of one id are never mixed.
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

    /// The word that completes a run.
    pub(super) fn keyword(&self) -> &str {
        self.keyword.as_ref().map_or(KEYWORD, |word| &word.value)
    }

    /// Whether a word ends a run, in one way or the other, and is never routed.
    pub(super) fn closes(&self, word: &str) -> bool {
        word == self.keyword() || self.cancellation.as_ref().is_some_and(|own| own.value == word)
    }

    /// The topic a run begins with.
    pub(super) fn start(&self) -> &str {
        self.starting_event.as_ref().map_or(START, |topic| &topic.value)
    }

    /// After so many silent replies in a row a run stops.
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

    /// After so many failed attempts in a row a run stops.
    pub(super) fn failures(&self) -> u32 {
        self.failures.unwrap_or(FAILURES)
    }
}
