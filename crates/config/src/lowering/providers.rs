//! Who answers which turn (P-18): what was typed, else what the definition says, else the settings.

use saihai_model::{Millis, ProviderName, Usd};

use crate::{Area, Diagnostic, Diagnostics, Located, Location, Options, Settings, quoted};

/// The provider that needs no agent.
const SCRIPT: &str = "script";
/// What pieces also call it.
const MOCK: &str = "mock";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answerer {
    pub(crate) provider: ProviderName,
    /// The model, if one is named anywhere.
    pub(crate) model: Option<String>,
    /// The deadline of one attempt.
    pub(crate) timeout: Option<Millis>,
    /// What a turn costs before any was settled.
    pub(crate) price: Option<Usd>,
    /// What stands in its system slot where no role does (C-22).
    pub(crate) system_prompt: Option<String>,
    /// The tools its agents may see where none are named (C-22).
    pub(crate) tools: Option<Vec<String>>,
}

/// Finds out who answers, and remembers what is to be said about it.
#[derive(Debug)]
pub(crate) struct Providers<'a> {
    options: &'a Options,
    settings: &'a Settings,
    /// Turns for which nothing names a provider.
    unnamed: Vec<Location>,
    /// Whether some turn asks a real agent.
    real: bool,
    /// What a person should know.
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

    /// Who answers a turn of the stage `name`, which stands at `at` and names these itself.
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

    /// Who answers what belongs to no turn.
    pub(crate) fn default(&mut self, at: &Location) -> Answerer {
        let provider = self.options.provider.clone().or_else(|| self.settings.provider.clone());
        if provider.is_none() {
            self.unnamed.push(at.clone());
        }
        self.answerer(provider, None)
    }

    /// Whether nobody is asked because nothing names a provider. Where some turns name one, the others must not be
    /// answered by nobody: that would look like real work.
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
