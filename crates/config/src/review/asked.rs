//! What is asked of whom, as a name under which the answer can be kept.

use saihai_model::{ProviderKind, ProviderName};
use sha2::{Digest as _, Sha256};

use super::lower::Cached;
use super::share::Shown;
use super::{AgentDefinition, OutputSchema};

/// Everything an answer depends on.
pub(super) struct Asked<'a> {
    pub(super) agent: &'a AgentDefinition,
    pub(super) provider: &'a ProviderName,
    pub(super) kind: ProviderKind,
    pub(super) model: Option<&'a str>,
    /// Those it is given; absent where a provider cannot be told, and the agent may use what it likes.
    pub(super) tools: Option<&'a [String]>,
    pub(super) shown: &'a Shown<'a>,
}

/// Goes up whenever what agents are told beside their texts changes.
const PROMPT_VERSION: &str = "1";

impl Asked<'_> {
    /// The name under which the answer is kept; none where it is not. A script answers by its file and not by what it is
    /// asked.
    pub(super) fn name(&self, cached: &Cached) -> Option<String> {
        let sees = self.tools.is_none_or(|tools| !tools.is_empty());
        let tree = match cached {
            Cached::Never => return None,
            Cached::Blind if sees => return None,
            Cached::Blind => "",
            Cached::Seeing(tree) if sees => tree.as_str(),
            Cached::Seeing(_) => "",
        };
        if self.kind == ProviderKind::Script {
            return None;
        }
        let schema = OutputSchema::json(self.agent.output_schema).to_string();
        let limit = self.agent.max_turns.map(|calls| calls.to_string()).unwrap_or_default();
        let tools = self.tools.map(|tools| tools.join(",")).unwrap_or_default();
        let parts = [
            PROMPT_VERSION,
            &self.agent.name,
            &self.agent.description,
            &limit,
            &self.agent.system_prompt,
            &schema,
            self.provider.as_str(),
            self.model.unwrap_or_default(),
            &tools,
            &self.shown.text,
            tree,
        ];
        let mut hash = Sha256::new();
        for part in parts {
            // With its length before it, no part can end as another begins.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
