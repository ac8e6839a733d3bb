//! Providers: programs and services that answer prompts.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::ids::{Millis, ProviderName};
use crate::money::{Usage, Usd};
use crate::sandbox::SandboxChoice;

use crate::{Permission, VerdictMode};

/// Built-in provider that a provider is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProviderKind {
    Claude,
    Codex,
    Opencode,
    Gemini,
    Copilot,
    /// Any agent that speaks the Agent Client Protocol.
    Acp,
    Command,
    /// The HTTP API of Anthropic.
    Anthropic,
    /// The HTTP API of OpenAI, and compatible ones.
    Openai,
    Script,
}

impl ProviderKind {
    pub const ALL: [Self; 10] = [
        Self::Claude,
        Self::Codex,
        Self::Opencode,
        Self::Gemini,
        Self::Copilot,
        Self::Acp,
        Self::Command,
        Self::Anthropic,
        Self::Openai,
        Self::Script,
    ];

    /// Returns the name in settings and definitions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Copilot => "copilot",
            Self::Acp => "acp",
            Self::Command => "command",
            Self::Anthropic => "anthropic",
            Self::Openai => "openai",
            Self::Script => "script",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// Protocol of a `command` provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// Prompt on stdin, reply on stdout.
    #[default]
    Text,
    Json,
}

/// Method that passes the prompt to a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passing {
    #[default]
    Input,
    /// As the last argument, for programs that accept it in no other way.
    Argument,
}

/// Prices of a provider that does not report its cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    pub input: Option<Usd>,
    pub output: Option<Usd>,
    /// Per million input tokens served from a cache.
    pub cached: Option<Usd>,
    pub turn: Option<Usd>,
}

impl Price {
    pub fn is_unset(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the cost of a turn; absent if no price applies to its known tokens. Cached tokens without a price of
    /// their own cost as much as the others.
    pub fn cost(&self, usage: &Usage) -> Option<Usd> {
        let cached = usage
            .cached
            .filter(|_| self.cached.is_some())
            .map(|cached| cached.min(usage.input.unwrap_or(cached)));
        let fresh = usage.input.map(|input| input.saturating_sub(cached.unwrap_or(0)));
        let tokens = [(self.input, fresh), (self.cached, cached), (self.output, usage.output)];
        let parts = tokens.into_iter().filter_map(|(price, tokens)| Some(per_million(price?, tokens?)));
        parts.chain(self.turn).reduce(|sum, part| Usd(sum.0.saturating_add(part.0)))
    }
}

/// Rounds up: a sum of small turns must not come to zero.
fn per_million(price: Usd, tokens: u64) -> Usd {
    let micros = (u128::from(price.0) * u128::from(tokens)).div_ceil(1_000_000);
    Usd(u64::try_from(micros).unwrap_or(u64::MAX))
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    pub kind: ProviderKind,
    /// Program; absent: the kind's own.
    pub program: Option<String>,
    pub args: Vec<String>,
    pub model: Option<String>,
    /// Base URL of its HTTP API.
    pub base_url: Option<String>,
    /// Names of environment variables to pass on.
    pub env_pass: Vec<String>,
    pub env: IndexMap<String, String>,
    pub system_prompt: Option<String>,
    pub tools: Option<Vec<String>>,
    /// True if turns that edit never bypass permissions.
    pub accept_edits: bool,
    /// Permission levels that the program itself enforces.
    pub honours: Vec<String>,
    /// Deadline of one attempt; absent: none.
    pub turn_timeout: Option<Millis>,
    pub idle_timeout: Option<Millis>,
    /// Maximum prompt size in bytes; absent: the kind's own limit.
    pub max_prompt: Option<u64>,
    /// Provider that takes over when all attempts have failed.
    pub fallback: Option<ProviderName>,
    pub price: Price,
    pub protocol: Protocol,
    pub passing: Passing,
    pub file: Option<PathBuf>,
    /// True to start it in folders that it does not trust.
    pub trust: bool,
    /// Its own sandbox; absent: that of all providers.
    pub sandbox: Option<SandboxChoice>,
    /// Its own way of verdicts; absent: that of the project.
    pub verdict: Option<VerdictMode>,
}

impl ProviderSettings {
    /// Creates default settings for a kind.
    pub fn new(kind: ProviderKind) -> Self {
        Self {
            kind,
            program: None,
            args: Vec::new(),
            model: None,
            base_url: None,
            env_pass: Vec::new(),
            env: IndexMap::new(),
            system_prompt: None,
            tools: None,
            accept_edits: false,
            honours: Vec::new(),
            turn_timeout: Some(Millis::seconds(60 * 60)),
            idle_timeout: Some(Millis::seconds(15 * 60)),
            max_prompt: None,
            fallback: None,
            price: Price::default(),
            protocol: Protocol::Text,
            passing: Passing::Input,
            file: None,
            trust: false,
            sandbox: None,
            verdict: None,
        }
    }

    /// Returns true if its agents can get the verdict tool (N-1).
    pub fn has_verdict_tool(&self) -> bool {
        match self.kind {
            ProviderKind::Claude
            | ProviderKind::Codex
            | ProviderKind::Opencode
            | ProviderKind::Copilot
            | ProviderKind::Acp
            | ProviderKind::Anthropic
            | ProviderKind::Openai => true,
            // Gemini takes servers only from its own files, or through the Agent Client Protocol.
            ProviderKind::Gemini | ProviderKind::Command | ProviderKind::Script => false,
        }
    }

    /// Returns true if its agent can be held to a permission, by itself or by the settings (C-43).
    pub fn can_enforce(&self, permission: Permission) -> bool {
        match self.kind {
            ProviderKind::Claude
            | ProviderKind::Opencode
            | ProviderKind::Gemini
            | ProviderKind::Copilot
            | ProviderKind::Script => true,
            // Codex reads and writes files with commands.
            ProviderKind::Codex => permission != Permission::Edit { commands: false },
            ProviderKind::Anthropic | ProviderKind::Openai => permission == Permission::ReadOnly,
            ProviderKind::Acp => self.is_known_to_ask() || self.honours_level(permission),
            ProviderKind::Command => self.honours_level(permission),
        }
    }

    /// A provider that honours `edit` also honours lower levels.
    fn honours_level(&self, permission: Permission) -> bool {
        let honoured = |level: &str| self.honours.iter().any(|one| one == level);
        match permission {
            Permission::ReadOnly => honoured("readonly"),
            Permission::Edit { commands: false } => honoured("edit-only") || honoured("edit"),
            Permission::Edit { commands: true } => honoured("edit"),
            Permission::Full => true,
        }
    }

    /// `gemini --acp` and `copilot --acp` ask before they change anything, unless their arguments disable that.
    /// `opencode acp` does not (C-45).
    fn is_known_to_ask(&self) -> bool {
        let program = self.program.as_deref().and_then(|program| Path::new(program).file_name()?.to_str());
        let flags = || self.args.iter().map(|arg| arg.split_once('=').map_or(arg.as_str(), |(flag, _)| flag));
        let raises = |flag: &str| {
            ["-y", "--yolo", "--approval-mode", "--allowed-tools", "--policy", "--autopilot", "--mode"]
                .contains(&flag)
                || flag.starts_with("--allow-")
        };
        matches!(program, Some("gemini" | "copilot"))
            && flags().any(|flag| flag == "--acp")
            && !flags().any(raises)
    }

    /// Returns true if it reports a turn's tokens. Agents of `acp` and the JSON protocol of `command` may.
    pub fn reports_tokens(&self) -> bool {
        match self.kind {
            ProviderKind::Copilot => false,
            ProviderKind::Command => self.protocol == Protocol::Json,
            ProviderKind::Claude
            | ProviderKind::Codex
            | ProviderKind::Opencode
            | ProviderKind::Gemini
            | ProviderKind::Acp
            | ProviderKind::Anthropic
            | ProviderKind::Openai
            | ProviderKind::Script => true,
        }
    }

    /// Returns true if it reports the cost of a turn.
    pub fn reports_cost(&self) -> bool {
        match self.kind {
            ProviderKind::Claude | ProviderKind::Opencode | ProviderKind::Acp | ProviderKind::Script => true,
            ProviderKind::Command => self.protocol == Protocol::Json,
            ProviderKind::Codex
            | ProviderKind::Gemini
            | ProviderKind::Copilot
            | ProviderKind::Anthropic
            | ProviderKind::Openai => false,
        }
    }
}

/// A provider that a definition describes itself. It is frozen with the workflow, because no settings know it. Settings
/// with the same name take precedence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnProvider {
    /// Name in the turns of the workflow.
    pub name: ProviderName,
    pub speaks: OwnProtocol,
    pub argv: Vec<String>,
    /// File that names the program, unless the name alone identifies a known program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// Protocol of a definition's own provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwnProtocol {
    Acp,
    /// Prompt on stdin, reply on stdout.
    Input,
    /// Prompt as the last argument, reply on stdout.
    Argument,
}

impl OwnProvider {
    /// Converts it into settings. Running it permits it to edit files and run commands. No known means holds it to
    /// less, so no turn asks it for less.
    pub fn settings(&self) -> ProviderSettings {
        let (kind, passing) = match self.speaks {
            OwnProtocol::Acp => (ProviderKind::Acp, Passing::Input),
            OwnProtocol::Input => (ProviderKind::Command, Passing::Input),
            OwnProtocol::Argument => (ProviderKind::Command, Passing::Argument),
        };
        ProviderSettings {
            program: self.argv.first().cloned(),
            args: self.argv.iter().skip(1).cloned().collect(),
            honours: vec!["edit".to_owned()],
            passing,
            ..ProviderSettings::new(kind)
        }
    }
}
