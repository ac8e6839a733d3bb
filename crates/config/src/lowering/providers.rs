//! The provider of each turn (P-18): the command line first, then the definition, then the settings.

use saihai_model::{Millis, ProviderName, Usd};

use crate::{Area, Diagnostic, Diagnostics, Located, Location, Options, Settings, quoted};

/// Built-in provider that plays recorded or made-up replies.
const SCRIPT: &str = "script";
/// Alias of `script` in pieces.
const MOCK: &str = "mock";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answerer {
    pub(crate) provider: ProviderName,
    /// Model from the command line, the definition or the settings.
    pub(crate) model: Option<String>,
    pub(crate) timeout: Option<Millis>,
    /// Estimated price of a turn, used before the real cost is known.
    pub(crate) price: Option<Usd>,
    /// System prompt for turns without a persona (C-22).
    pub(crate) system_prompt: Option<String>,
    /// Tools for turns that do not list their own (C-22).
    pub(crate) tools: Option<Vec<String>>,
}

/// Resolves the provider of each turn and collects notes about the choice.
#[derive(Debug)]
pub(crate) struct Providers<'a> {
    options: &'a Options,
    settings: &'a Settings,
    unnamed: Vec<Location>,
    /// True if at least one turn uses a provider other than `script`.
    real: bool,
    pub(crate) notes: Vec<String>,
}

impl<'a> Providers<'a> {
    pub(crate) fn new(options: &'a Options, settings: &'a Settings, diagnostics: &mut Diagnostics) -> Self {
        let providers = Self { options, settings, unnamed: Vec::new(), real: false, notes: Vec::new() };
        if let Some(name) = options.provider.as_ref().filter(|name| !settings.knows_provider(name.as_str())) {
            let message = format!("no provider is named {}", quoted(name.as_str()));
            let diagnostic = Diagnostic::error(Area::Provider.code("unknown-provider"), message);
            let hint = diagnostics.suggest(name.as_str(), settings.provider_names());
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
        providers
    }

    /// Returns the provider for the stage `name` at `at`. `provider` and `model` are the stage's own keys.
    pub(crate) fn resolve(
        &mut self,
        name: &str,
        at: &Location,
        provider: Option<&Located<String>>,
        model: Option<&str>,
        diagnostics: &mut Diagnostics,
    ) -> Answerer {
        let own = provider.map(|name| self.read(name, diagnostics));
        let usual = own.or_else(|| self.settings.provider.clone());
        let replaced = match (&self.options.provider, &usual) {
            (Some(typed), Some(usual)) => typed != usual,
            (Some(_), None) | (None, _) => false,
        };
        if let (true, Some(model), None) = (replaced, model, &self.options.model) {
            self.notes.push(format!("the model {} of `{name}` is not used with --provider", quoted(model)));
        }
        let own_model = model.filter(|_| !replaced).map(str::to_owned);
        let provider = self.options.provider.clone().or(usual);
        if provider.is_none() {
            self.unnamed.push(at.clone());
        }
        self.answerer(provider, own_model)
    }

    /// Returns the provider for calls that belong to no turn.
    pub(crate) fn default(&mut self, at: &Location) -> Answerer {
        let provider = self.options.provider.clone().or_else(|| self.settings.provider.clone());
        if provider.is_none() {
            self.unnamed.push(at.clone());
        }
        self.answerer(provider, None)
    }

    /// Returns true if no turn names a provider, so the run is a rehearsal with made-up replies.
    ///
    /// If only some turns name a provider, it reports the others. Made-up replies between real ones would
    /// look like real work.
    pub(crate) fn rehearsal(&self, diagnostics: &mut Diagnostics) -> bool {
        if self.real {
            for at in &self.unnamed {
                let message = "nothing says which provider answers here, and other turns ask a real one";
                let hint = "add `provider:`, set `provider` in the settings, or use --provider";
                diagnostics.push(at.error("missing-key", message).hint(hint));
            }
        }
        !self.real && !self.unnamed.is_empty()
    }

    fn answerer(&mut self, provider: Option<ProviderName>, model: Option<String>) -> Answerer {
        let provider = provider.unwrap_or_else(|| SCRIPT.into());
        self.real |= provider.as_str() != SCRIPT;
        Answerer {
            model: self.options.model.clone().or(model).or_else(|| self.settings.model_of(&provider)),
            timeout: self.settings.turn_timeout_of(&provider),
            price: self.settings.price_of(&provider),
            system_prompt: self.settings.system_prompt_of(&provider),
            tools: self.settings.tools_of(&provider),
            provider,
        }
    }

    fn read(&self, name: &Located<String>, diagnostics: &mut Diagnostics) -> ProviderName {
        let written = name.value.as_str();
        let meant = if written == MOCK { SCRIPT } else { written };
        if !self.settings.knows_provider(meant) {
            let message = format!("no provider is named {}", quoted(written));
            let diagnostic = name.error("unknown-provider", message).label("not a provider");
            let hint = diagnostics.suggest(written, self.settings.provider_names());
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
        meant.into()
    }
}
