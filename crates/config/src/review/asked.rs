//! Cache key of a review agent's reply.

use saihai_model::{ProviderKind, ProviderName};
use sha2::{Digest as _, Sha256};

use super::lower::Cached;
use super::share::Shown;
use super::{AgentDefinition, OutputSchema};

/// Everything that a reply depends on.
pub(super) struct Asked<'a> {
    pub(super) agent: &'a AgentDefinition,
    pub(super) provider: &'a ProviderName,
    pub(super) kind: ProviderKind,
    pub(super) model: Option<&'a str>,
    /// Granted tools; absent if the provider cannot restrict them and the agent may use any.
    pub(super) tools: Option<&'a [String]>,
    pub(super) shown: &'a Shown<'a>,
}

/// Increase this number whenever the wording of Saihai's own prompt text changes.
const PROMPT_VERSION: &str = "1";

impl Asked<'_> {
    /// Returns the cache key, or `None` if the reply is not cached. A script provider is never
    /// cached, because its replies come from its file.
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
            // The length prefix keeps two adjacent parts from being split differently with the same
            // hash.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}
