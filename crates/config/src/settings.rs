//! Settings: defaults for every run that a definition or a flag can override.
//!
//! Each layer overrides the previous one: defaults, user file, project file, `SAIHAI_…` variables,
//! flags. Layers merge key by key, and each value keeps its origin.

mod enforcement;
mod load;
mod providers;
mod pyproject;
mod review;
mod sandbox;
mod tables;
mod takt;
mod trust;
mod values;
mod work;

use std::borrow::Cow;
use std::path::PathBuf;

use indexmap::IndexMap;
use saihai_model::{
    Budget, Millis, OwnProvider, Permission, ProviderKind, ProviderName, ProviderSettings, Retry,
    SandboxSettings, Usd, VerdictMode,
};

pub use self::load::{BadBudget, SettingFlag, SettingsFrom, Variables, parse_budget, project_root};
pub(crate) use self::pyproject::keys_without_effect;
pub use self::pyproject::{PYPROJECT, names_hachimoku};
pub use self::review::{ReviewAgentSettings, ReviewSettings};
pub use self::tables::{BUILT_IN_PROVIDERS, SETTINGS};
pub use self::trust::{TRUST_FILE, Trust, TrustRequest};
pub use self::values::{ListedSetting, SettingOrigin};
use self::values::{Setting, SettingValues, provider_of, settings_table};
pub use self::work::{CleanUp, Comments, ForgeKind, WorkGate, WorkSettings};
use crate::diagnostic::{Area, Diagnostic, Diagnostics, list_of};
use crate::lowering::Language;

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub provider: Option<ProviderName>,
    pub language: Language,
    pub strict: bool,
    /// Upper bound of the permission of any turn.
    pub max_permission: Option<Permission>,
    pub reports_dir: PathBuf,
    /// Session of a movement without a `session` key.
    pub default_session: SessionDefault,
    /// Ask a judge if a reply has no status tag.
    pub judge_fallback: bool,
    /// Way in which agents report verdicts.
    pub verdict: VerdictMode,
    /// Commands that show if the work is right.
    pub checks: CheckCommands,
    /// Program that hears of gates and ends of runs, with its arguments.
    pub notify: Vec<String>,
    /// Send runs to an OpenTelemetry collector while they run.
    pub otel: bool,
    /// Answers to the gates of runs that an MCP client started.
    pub mcp_gates: McpGateAnswers,
    pub sandbox: SandboxSettings,
    pub limits: LimitSettings,
    pub budget: Budget,
    /// Longest wait that Saihai performs without being asked to.
    pub short_wait: Millis,
    pub providers: IndexMap<ProviderName, ProviderSettings>,
    pub review: ReviewSettings,
    pub work: WorkSettings,
    retry: Retry,
    values: SettingValues,
    untrusted: Vec<Setting>,
}

settings_table! {
    pub struct LimitSettings = LIMITS("`limits`") {
        hard_iterations: u32 = Integer { min: 1, max: 100_000 }, default "100",
            "maximum iterations of a step agent";
        run_timeout: Option<Millis> = Duration { zero: false },
            "maximum active run time; also ends running turns";
        concurrency: Option<u32> = Integer { min: 1, max: 1024 },
            "maximum number of turns of one stage in parallel";
    }
}

/// Commands that show if the work is right.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CheckCommands {
    /// Shell lines, in order.
    pub commands: Vec<String>,
    /// The project's settings file, if it sets them. A run then needs trust in it.
    pub written: Option<String>,
}

impl CheckCommands {
    /// Joins the commands into one shell line that stops at the first failure.
    pub fn line(&self) -> String {
        match self.commands.as_slice() {
            [only] => only.clone(),
            several => {
                // A comment at the end of a line must not hide the bracket.
                let end = |line: &str| if line.contains('#') { "\n" } else { "" };
                let apart: Vec<String> =
                    several.iter().map(|line| format!("({line}{})", end(line))).collect();
                apart.join(" && ")
            }
        }
    }
}

/// Session of a movement without a `session` key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SessionDefault {
    #[default]
    Refresh,
    /// Continue the last session with the same key.
    Continue,
}

/// Answers to the gates of runs that an MCP client started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum McpGateAnswers {
    /// A person, by a command or at the page.
    #[default]
    Person,
    /// Also the client, which asks its user by an elicitation.
    Elicitation,
}

/// Part of the settings that a command uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use<'a> {
    Provider(&'a str),
    Work,
    Distributed,
    Notify,
    Mcp,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            provider: None,
            language: Language::default(),
            strict: false,
            max_permission: None,
            reports_dir: PathBuf::from(".saihai/reports"),
            default_session: SessionDefault::default(),
            judge_fallback: true,
            verdict: VerdictMode::default(),
            checks: CheckCommands::default(),
            notify: Vec::new(),
            otel: false,
            mcp_gates: McpGateAnswers::default(),
            sandbox: SandboxSettings::default(),
            limits: LimitSettings::default(),
            budget: Budget::default(),
            short_wait: Retry::SHORT_WAIT,
            providers: IndexMap::new(),
            review: ReviewSettings::default(),
            work: WorkSettings::default(),
            retry: Retry::default(),
            values: SettingValues::default(),
            untrusted: Vec::new(),
        }
    }
}

impl Settings {
    /// Returns the retry policy, including every provider's fallback.
    pub fn retry(&self) -> Retry {
        let fallback = self.providers.iter().filter_map(|(name, provider)| {
            provider.fallback.as_ref().map(|fallback| (name.clone(), fallback.clone()))
        });
        let fallback: Vec<(ProviderName, ProviderName)> = fallback.collect();
        let unfit = fallback.iter().flat_map(|(_, to)| self.unfit(to));
        Retry { unfit: unfit.collect(), fallback, ..self.retry.clone() }
    }

    /// Adds a definition's own provider. Settings for the same name take precedence.
    pub fn describing(&self, own: Option<&OwnProvider>) -> Cow<'_, Self> {
        match own.filter(|own| !self.providers.contains_key(&own.name)) {
            Some(own) => {
                let mut settings = self.clone();
                settings.providers.insert(own.name.clone(), own.settings());
                Cow::Owned(settings)
            }
            None => Cow::Borrowed(self),
        }
    }

    pub fn knows_provider(&self, name: &str) -> bool {
        self.provider_names().any(|known| known == name)
    }

    /// Returns the built-in and the configured providers.
    pub fn provider_names(&self) -> impl Iterator<Item = &str> {
        let described = self.providers.keys().map(ProviderName::as_str);
        BUILT_IN_PROVIDERS.into_iter().chain(described.filter(|name| !BUILT_IN_PROVIDERS.contains(name)))
    }

    /// Returns a configured or built-in provider, or `None` if the name is unknown.
    pub fn provider(&self, name: &str) -> Option<ProviderSettings> {
        let described = self.providers.get(name).cloned();
        described.or_else(|| ProviderKind::named(name).map(ProviderSettings::new))
    }

    /// Returns a provider and its fallbacks, in the order in which they answer.
    pub(crate) fn with_fallbacks(&self, name: &ProviderName) -> Vec<ProviderName> {
        let mut all = vec![name.clone()];
        let fallback = |name: &ProviderName| self.provider(name.as_str())?.fallback;
        while let Some(next) = all.last().and_then(fallback).filter(|next| !all.contains(next)) {
            all.push(next);
        }
        all
    }

    /// Returns the default model of a provider.
    pub fn model_of(&self, provider: &ProviderName) -> Option<String> {
        self.provider(provider.as_str())?.model
    }

    /// Returns the assumed cost of a turn until an actual cost is known.
    pub fn price_of(&self, provider: &ProviderName) -> Option<Usd> {
        self.provider(provider.as_str())?.price.turn
    }

    /// Returns the script file from the settings.
    pub fn script_file(&self) -> Option<PathBuf> {
        self.provider("script")?.file
    }

    /// Rejects a budget in dollars or tokens for providers that do not report them.
    pub fn check_budget<'a>(
        &self,
        budget: &Budget,
        providers: impl IntoIterator<Item = &'a ProviderName>,
    ) -> Diagnostics {
        let mut diagnostics = Diagnostics::new();
        for name in providers {
            let Some(provider) = self.provider(name.as_str()) else { continue };
            if budget.usd.is_some() && !provider.reports_cost() && provider.price.is_unset() {
                let message = format!(
                    "a budget in `usd` is not possible: `{name}` does not report the cost of its turns"
                );
                let others = if provider.reports_tokens() {
                    "`tokens`, `turns` or `minutes`"
                } else {
                    "`turns` or `minutes`"
                };
                let hint = format!("set `[providers.{name}] price`, or give the budget in {others}");
                diagnostics.push(Diagnostic::error(Area::Provider.code("no-price"), message).hint(hint));
            }
            if budget.tokens.is_some() && !provider.reports_tokens() {
                let message = format!(
                    "a budget in `tokens` is not possible: `{name}` does not report the tokens of its turns"
                );
                let hint = "give the budget in `turns` or `minutes`";
                diagnostics.push(Diagnostic::error(Area::Provider.code("no-tokens"), message).hint(hint));
            }
        }
        diagnostics
    }

    /// Rejects the use of untrusted project settings. Unused settings are not checked.
    pub fn check_trust(&self, uses: &[Use<'_>]) -> Diagnostics {
        let used: Vec<&Setting> = self
            .untrusted
            .iter()
            .filter(|setting| uses.iter().any(|one| self.concerns(*one, setting)))
            .collect();
        let Some((first, others)) = used.split_first() else { return Diagnostics::new() };
        let keys: Vec<String> = used.iter().map(|setting| setting.at.path.to_string()).collect();
        let file = first.at.file.name();
        let keys = list_of(keys.iter().map(String::as_str), "and");
        let message =
            format!("`{file}` is not trusted, and {keys} can run programs or send secrets elsewhere");
        let hint = "review the file, then run `saihai trust`; `--trust-project` trusts it for one call";
        let mut diagnostic = first.at.error("untrusted", message).label("needs trust").hint(hint);
        for other in others {
            diagnostic = diagnostic.also(&other.at, "needs trust");
        }
        Diagnostics::from_iter([diagnostic])
    }

    /// Returns true if a setting affects a use. Using a provider also uses its fallbacks.
    fn concerns(&self, used: Use<'_>, setting: &Setting) -> bool {
        let path = &setting.at.path;
        match used {
            Use::Notify => path.key_at(0) == Some("notify"),
            Use::Mcp => path.key_at(0) == Some("mcp"),
            Use::Work => path.key_at(0) == Some("work"),
            Use::Distributed => path.key_at(0) == Some("distributed"),
            Use::Provider(name) => {
                let reached = self.with_fallbacks(&name.into());
                sandbox::is_of_all_providers(path)
                    || provider_of(path)
                        .is_some_and(|provider| reached.iter().any(|name| name.as_str() == provider))
            }
        }
    }
}

#[cfg(test)]
mod tests;
