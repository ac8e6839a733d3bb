//! Providers that use HTTP: `anthropic`, and `openai` with all compatible servers.
//!
//! A [`ModelService`] is one provider, opened before the first turn. A [`HttpTurn`] sends the conversation
//! ([`exchange`]) and runs the tools that the model requests ([`tools`]). It repeats this until the model has
//! answered. The differences between the two APIs are pure code in [`anthropic`] and [`openai`].
//! A [`CollectorClient`] posts telemetry with the same client.
//!
//! Deliberately absent: retries, waiting and fallbacks (the engine's), and tools that write or run anything.

mod anthropic;
mod api;
pub(crate) mod client;
mod collector;
mod exchange;
mod openai;
mod session;
mod tools;
mod turn;

use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use collector::{CollectorClient, CollectorError, CollectorReceipt};
use reqwest::Url;
use saihai_model::{Ask, ProviderName, ProviderSettings};
pub(crate) use tools::WebAccess;
pub(crate) use turn::HttpTurn;

use crate::forge::ForgeViewer;
use crate::http::api::ModelApi;
use crate::http::client::is_loopback;
use crate::redact::Redactor;

/// A provider that uses HTTP. It has no state of a run: sessions are files (C-4).
#[derive(Clone)]
pub(crate) struct ModelService {
    name: ProviderName,
    api: ModelApi,
    url: Url,
    key: Option<ApiKey>,
    settings: ProviderSettings,
    redactor: Arc<Redactor>,
    /// Reads the project's repository on a forge.
    viewer: Option<ForgeViewer>,
    web: WebAccess,
    /// The server has shown that it cannot stream, in this turn or an earlier one.
    cannot_stream: Arc<AtomicBool>,
}

/// Returns the variable that holds the key of a provider that uses HTTP.
pub(crate) fn key_variable_of(settings: &ProviderSettings) -> Option<String> {
    ModelApi::of(settings.kind).map(|api| key_variable(api, settings))
}

#[derive(Clone)]
struct ApiKey {
    /// The variable it came from.
    variable: String,
    value: String,
}

impl std::fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[redacted:{}]", self.variable)
    }
}

/// The reason why a provider cannot be used, known before the first request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreachable {
    /// The key is missing, and the server is not on this machine.
    #[error("provider `{name}` has no key; set `{variable}`")]
    NoKey {
        name: ProviderName,
        /// The variable that should hold the key.
        variable: String,
    },
    /// The key contains characters that cannot be sent.
    #[error("the key in `{variable}` has characters that no key has")]
    BadKey { variable: String },
    /// The provider needs a model name.
    #[error("provider `{name}` needs a model; set `providers.{name}.model` or give `--model`")]
    NoModel { name: ProviderName },
    #[error("provider `{name}`: `{variable}` is not the address of a server: {why}")]
    BadAddress { name: ProviderName, variable: String, why: String },
}

impl Unreachable {
    /// Returns true if the settings are right and only the key is missing.
    pub fn is_missing(&self) -> bool {
        match self {
            Self::NoKey { .. } | Self::BadKey { .. } => true,
            Self::NoModel { .. } | Self::BadAddress { .. } => false,
        }
    }
}

impl ModelService {
    /// Opens the provider of these settings, if it uses HTTP.
    pub(crate) fn open(
        name: &ProviderName,
        settings: &ProviderSettings,
        environment: &[(OsString, OsString)],
        redactor: &Arc<Redactor>,
    ) -> Option<Result<Self, Unreachable>> {
        let api = ModelApi::of(settings.kind)?;
        Some(Self::of(name, api, settings, environment, redactor))
    }

    fn of(
        name: &ProviderName,
        api: ModelApi,
        settings: &ProviderSettings,
        environment: &[(OsString, OsString)],
        redactor: &Arc<Redactor>,
    ) -> Result<Self, Unreachable> {
        let value = |wanted: &str| {
            let ours = || {
                let found = environment.iter().find(|(name, _)| name == wanted);
                found.and_then(|(_, value)| value.to_str()).map(str::to_owned)
            };
            let set = settings.env.get(wanted).cloned();
            set.or_else(ours).filter(|value| !value.trim().is_empty())
        };
        let url = address(name, api, settings, value(api.base_variable()))?;
        let variable = key_variable(api, settings);
        let key = value(&variable)
            .map(|value| ApiKey { value: value.trim().to_owned(), variable: variable.clone() });
        match &key {
            None if !is_loopback(&url) => return Err(Unreachable::NoKey { name: name.clone(), variable }),
            Some(key) if !key.value.bytes().all(|byte| byte.is_ascii_graphic()) => {
                return Err(Unreachable::BadKey { variable });
            }
            Some(_) | None => {}
        }
        let (settings, redactor) = (settings.clone(), Arc::clone(redactor));
        Ok(Self {
            name: name.clone(),
            api,
            url,
            key,
            settings,
            redactor,
            viewer: None,
            web: WebAccess::Closed,
            cannot_stream: Arc::default(),
        })
    }

    /// Sets the sources that its models may read outside of the working directory.
    pub(crate) fn viewing(self, viewer: Option<ForgeViewer>, web: WebAccess) -> Self {
        Self { viewer, web, ..self }
    }

    /// Accepts an ask without sending anything.
    pub(crate) fn ask(&self, ask: Ask) -> HttpTurn {
        let mut service = self.clone();
        service.settings.idle_timeout = ask.silence.or(service.settings.idle_timeout);
        HttpTurn { ask, service }
    }

    fn is_local(&self) -> bool {
        is_loopback(&self.url)
    }

    /// Returns true if the ask itself must name the model.
    pub(crate) fn needs_a_model(&self) -> bool {
        self.settings.model.is_none() && !self.is_local()
    }

    fn model<'a>(&'a self, ask: &'a Ask) -> Option<&'a str> {
        ask.model.as_deref().or(self.settings.model.as_deref())
    }

    /// Removes secrets of any source from a text (C-55).
    fn redacted(&self, text: &str) -> String {
        self.redactor.text(text).into_owned()
    }
}

/// Returns the variable that holds the key. A custom service uses the first variable that its settings pass
/// on. So it never gets the key of another company.
fn key_variable(api: ModelApi, settings: &ProviderSettings) -> String {
    settings.env_pass.first().cloned().unwrap_or_else(|| api.key_variable().to_owned())
}

fn address(
    name: &ProviderName,
    api: ModelApi,
    settings: &ProviderSettings,
    variable: Option<String>,
) -> Result<Url, Unreachable> {
    let (text, source) = match (&settings.base_url, variable) {
        (Some(base), _) => (base.clone(), "base_url"),
        (None, Some(base)) => (base, api.base_variable()),
        (None, None) => (api.base().to_owned(), "base_url"),
    };
    let bad = |why: String| Unreachable::BadAddress { name: name.clone(), variable: source.to_owned(), why };
    let url = Url::parse(&format!("{}{}", text.trim().trim_end_matches('/'), api.path()))
        .map_err(|error| bad(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad(format!("it begins with `{}:` and not with `https:` or `http:`", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(bad("it must not contain a user name or password".to_owned()));
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
