use saihai_model::Millis;

use super::{Applicability, OutputSchema, Phase};
use crate::Language;

/// A review agent as its file describes it.
#[derive(Debug, Clone)]
pub struct AgentDefinition {
    pub name: String,
    /// One-line summary for lists and reports.
    pub description: String,
    /// Model name; `default` means the provider's default model.
    pub model: String,
    pub output_schema: OutputSchema,
    pub system_prompt: String,
    /// Allowed tool names, exactly as the file writes them.
    pub allowed_tools: Vec<String>,
    /// Resolved tools, without duplicates and in a fixed order.
    pub tools: Vec<&'static str>,
    pub phase: Phase,
    pub applicability: Applicability,
    pub timeout: Option<Millis>,
    /// Maximum number of model calls in the agent's single turn.
    pub max_turns: Option<u32>,
}

impl AgentDefinition {
    /// Returns the language of the agent's own text; prompts use the same language.
    pub fn language(&self) -> Language {
        Language::of([self.description.as_str(), self.system_prompt.as_str()])
    }
}
