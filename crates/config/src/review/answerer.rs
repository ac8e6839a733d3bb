//! Provider and model of a review agent (R-15, R-16).

use saihai_model::ProviderName;

use super::AgentDefinition;
use crate::{Settings, quoted};

/// Model name that selects the provider's default model.
const DEFAULT: &str = "default";
/// The name hachimoku uses for the `claude` provider.
const CLAUDECODE: &str = "claudecode";

/// Provider and model from the command line.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Typed<'a> {
    pub(super) provider: Option<&'a ProviderName>,
    pub(super) model: Option<&'a str>,
}

/// Provider and model that a review agent uses.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answerer {
    /// Provider name; absent if no source names one.
    pub(super) provider: Option<ProviderName>,
    /// Model name; absent means the provider's default model.
    pub(super) model: Option<String>,
    /// Warning to show to the person.
    pub(super) note: Option<String>,
}

impl Answerer {
    pub(super) fn of(agent: &AgentDefinition, typed: Typed<'_>, settings: &Settings) -> Self {
        let review = &settings.review;
        let own = review.agents.get(&agent.name);
        // Listed from highest to lowest priority. A model such as `claude:opus` also names its
        // provider.
        let said = [
            (typed.provider, typed.model),
            (own.and_then(|own| own.provider.as_ref()), own.and_then(|own| own.model.as_deref())),
            (review.provider.as_ref(), review.model.as_deref()),
            (None, Some(agent.model.as_str())),
        ];
        let used = said.iter().position(|(_, model)| model.is_some());
        let model = used.and_then(|used| said[used].1).unwrap_or(&agent.model);
        let model = Model::read(model, settings);
        let meant = |at: usize| model.provider.clone().filter(|_| used == Some(at));
        let chosen =
            said.iter().enumerate().find_map(|(at, (provider, _))| provider.cloned().or_else(|| meant(at)));
        let provider = chosen.or_else(|| settings.provider.clone());
        match (&model.provider, &provider) {
            (Some(meant), Some(used)) if meant != used => {
                let note = format!(
                    "the model {} of `{}` is not used with the provider `{used}`",
                    quoted(model.written),
                    agent.name
                );
                let usual = settings.model_of(used);
                Self { provider, model: usual, note: Some(note) }
            }
            (_, used) => {
                let usual = || used.as_ref().and_then(|used| settings.model_of(used));
                let model = model.name.map(str::to_owned).or_else(usual);
                Self { provider, model, note: None }
            }
        }
    }
}

/// A model name split into provider and model.
struct Model<'a> {
    written: &'a str,
    /// Prefix before the colon, if it is a known provider; `llama3:8b` has none.
    provider: Option<ProviderName>,
    /// Name to pass to the provider; absent means its default model.
    name: Option<&'a str>,
}

impl<'a> Model<'a> {
    fn read(written: &'a str, settings: &Settings) -> Self {
        let split = written.split_once(':').and_then(|(before, rest)| {
            let provider = if before == CLAUDECODE { "claude" } else { before };
            settings.knows_provider(provider).then(|| (ProviderName::from(provider), rest))
        });
        let (provider, name) = match split {
            Some((provider, rest)) => (Some(provider), rest),
            None => (None, written),
        };
        let name = Some(name).filter(|name| *name != DEFAULT && !name.is_empty());
        Self { written, provider, name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::{LoadResult, load};
    use crate::{Language, MemorySource, Places, SettingsFrom, Variables};

    /// Checks the provider, the model and the note for an agent with this model.
    fn check(model: &str, settings: &str, typed: (Option<&str>, Option<&str>), expected: &str) {
        let text = format!(
            "name = \"a\"\ndescription = \"d\"\nmodel = \"{model}\"\noutput_schema = \"scored_issues\"\n\
             system_prompt = \"p\"\n"
        );
        let source = MemorySource::new([
            ("/p/.saihai/agents/a.toml", text.as_str()),
            ("/p/.saihai/config.toml", settings),
        ]);
        let places = Places { current: "/p".into(), root: "/p".into(), user: None, home: None };
        let LoadResult { agents, .. } = load(&source, &places, Language::English).expect("agents");
        let agent = agents.iter().find(|agent| agent.definition.name == "a").expect("the agent");
        let mut found = crate::Diagnostics::new();
        let from = SettingsFrom {
            root: &places.root,
            user: None,
            current: &places.current,
            variables: &Variables::new([]),
            flags: &[],
            trust_project: true,
        };
        let settings = Settings::load(&source, &from, &mut found);
        assert!(!found.has_errors(), "{found:?}");
        let provider = typed.0.map(ProviderName::from);
        let typed = Typed { provider: provider.as_ref(), model: typed.1 };
        let Answerer { provider, model, note } = Answerer::of(&agent.definition, typed, &settings);
        let provider = provider.map_or("nobody".to_owned(), |name| name.to_string());
        let note = if note.is_some() { ", noted" } else { "" };
        assert_eq!(format!("{provider} {}{note}", model.as_deref().unwrap_or("-")), expected);
    }

    // R-15, case 45
    #[test]
    fn what_was_typed_goes_before_the_agents_settings_those_of_reviews_and_the_file() {
        let all = "provider = \"claude\"\n[review]\nmodel = \"r\"\n[review.agents.a]\nmodel = \"o\"\n";
        check("m", "provider = \"claude\"\n", (None, None), "claude m");
        check("m", "provider = \"claude\"\n[review]\nmodel = \"r\"\n", (None, None), "claude r");
        check("m", all, (None, None), "claude o");
        check("m", all, (None, Some("t")), "claude t");
        check("default", "provider = \"claude\"\n", (None, None), "claude -");
        check("default", "", (None, None), "nobody -");
        let usual = "provider = \"claude\"\n[providers.claude]\nmodel = \"usual\"\n";
        check("default", usual, (None, None), "claude usual");
    }

    // R-16
    #[test]
    fn a_model_names_its_provider_only_by_a_name_that_one_has() {
        check("codex:gpt", "provider = \"claude\"\n", (None, None), "codex gpt");
        check("claudecode:opus", "", (None, None), "claude opus");
        check("llama3:8b", "provider = \"openai\"\n", (None, None), "openai llama3:8b");
        check("codex:gpt", "", (Some("claude"), None), "claude -, noted");
        check("codex:gpt", "[review]\nprovider = \"claude\"\n", (None, None), "claude -, noted");
        check("codex:gpt", "[review.agents.a]\nprovider = \"codex\"\n", (None, None), "codex gpt");
        check("m", "[review.agents.a]\nprovider = \"gemini\"\n", (Some("claude"), None), "claude m");
        // R-15: the command line overrides a setting, even if only the model names the provider.
        let set = "[review]\nprovider = \"claude\"\n";
        check("m", set, (None, Some("codex:gpt")), "codex gpt");
        check("m", set, (Some("claude"), Some("codex:gpt")), "claude -, noted");
        check("codex:gpt", "provider = \"claude\"\n", (None, Some("t")), "claude t");
        check("m", &format!("{set}[review.agents.a]\nmodel = \"codex:gpt\"\n"), (None, None), "codex gpt");
    }
}
