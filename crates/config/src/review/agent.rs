//! One review agent, as its file describes it.

use saihai_model::Millis;

use super::{Applicability, OutputSchema, Phase};
use crate::Language;

/// One review agent, as its file describes it.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    pub name: String,
    /// One line for lists and reports.
    pub description: String,
    /// The model; `default` is the provider's own.
    pub model: String,
    /// What its reply must look like.
    pub output_schema: OutputSchema,
    /// Its role, sent as it stands.
    pub system_prompt: String,
    /// What it may use, as it was written.
    pub allowed_tools: Vec<String>,
    /// The single tools these names mean, each once, in a fixed order.
    pub tools: Vec<&'static str>,
    /// When in a review it is asked.
    pub phase: Phase,
    /// Which changes it is for.
    pub applicability: Applicability,
    pub timeout: Option<Millis>,
    /// The most model calls inside its one turn.
    pub max_turns: Option<u32>,
}

impl AgentDefinition {
    /// The language it is spoken to in: that of its own words.
    pub fn language(&self) -> Language {
        Language::of([self.description.as_str(), self.system_prompt.as_str()])
    }
}
