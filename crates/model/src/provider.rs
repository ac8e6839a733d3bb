//! One provider, as the settings describe it.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

use crate::{Millis, Permission, ProviderName, Usage, Usd};

/// Which built-in provider a provider is like.
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
    /// The HTTP interface of Anthropic.
    Anthropic,
    /// The HTTP interface of OpenAI, and all that are like it.
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

    /// Its name in settings and definitions.
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

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// How a `command` provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The prompt on its input, the reply on its output.
    #[default]
    Text,
    Json,
}

/// How a program is given its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Passing {
    #[default]
    Input,
    /// As its last argument: for programs that take it in no other way.
    Argument,
}

/// What a provider costs where it does not say so itself.
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

    /// What a turn of so many tokens costs; absent where nothing is priced that is known of it. Where cached tokens have
    /// no price of their own they cost what the others do.
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

/// Rounded up: a sum of small turns must not come to nothing.
fn per_million(price: Usd, tokens: u64) -> Usd {
    let micros = (u128::from(price.0) * u128::from(tokens)).div_ceil(1_000_000);
    Usd(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// One provider, as the settings describe it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderSettings {
    /// Which built-in provider it is like.
    pub kind: ProviderKind,
    /// The program; absent: the kind's own.
    pub program: Option<String>,
    pub args: Vec<String>,
    /// The model where nothing else names one.
    pub model: Option<String>,
    /// Where its HTTP interface is.
    pub base_url: Option<String>,
    /// Names of variables passed on to it.
    pub env_pass: Vec<String>,
    pub env: IndexMap<String, String>,
    /// The system prompt where a definition has none.
    pub system_prompt: Option<String>,
    /// The tools where a definition names none.
    pub tools: Option<Vec<String>>,
    /// Turns that edit never bypass permissions.
    pub accept_edits: bool,
    /// The levels the program itself enforces.
    pub honours: Vec<String>,
    /// The deadline of one attempt; absent: none.
    pub turn_timeout: Option<Millis>,
    /// The longest silence; absent: any.
    pub idle_timeout: Option<Millis>,
    /// The most bytes of a prompt; absent: the kind's own limit.
    pub max_prompt: Option<u64>,
    /// Who answers when all attempts are spent.
    pub fallback: Option<ProviderName>,
    pub price: Price,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// How it is given its prompt.
    pub passing: Passing,
    pub file: Option<PathBuf>,
    /// Whether it is started in folders it does not trust.
    pub trust: bool,
}

impl ProviderSettings {
    /// A provider of which nothing but the kind is said.
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
        }
    }

    /// Whether an agent behind it can be held to a permission (C-43): by its own means, or because the settings say so.
    pub fn can_enforce(&self, permission: Permission) -> bool {
        match self.kind {
            ProviderKind::Claude
            | ProviderKind::Opencode
            | ProviderKind::Gemini
            | ProviderKind::Copilot
            | ProviderKind::Script => true,
            // It reads and writes files by commands.
            ProviderKind::Codex => permission != Permission::Edit { commands: false },
            ProviderKind::Anthropic | ProviderKind::Openai => permission == Permission::ReadOnly,
            ProviderKind::Acp => self.is_known_to_ask() || self.honours_level(permission),
            ProviderKind::Command => self.honours_level(permission),
        }
    }

    /// Whoever honours `edit` honours what is less of it.
    fn honours_level(&self, permission: Permission) -> bool {
        let honoured = |level: &str| self.honours.iter().any(|one| one == level);
        match permission {
            Permission::ReadOnly => honoured("readonly"),
            Permission::Edit { commands: false } => honoured("edit-only") || honoured("edit"),
            Permission::Edit { commands: true } => honoured("edit"),
            Permission::Full => true,
        }
    }

    /// `gemini --acp` and `copilot --acp` ask before they change anything, unless their arguments say otherwise.
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

    /// Whether it reports the tokens of a turn. An agent behind `acp` or the JSON protocol of `command` may.
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

    /// Whether it says itself what a turn has cost.
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
