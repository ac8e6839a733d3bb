//! Parts of lowering that all dialects share: the language, the provider of each turn, source
//! locations, and parts of prompts.

use std::collections::HashMap;

use saihai_model::{
    Millis, PromptPart, PromptSection, ProviderName, SectionCondition, StageId, Text, Usd, ValueForm,
    Variable, tokens,
};

use crate::check::Spot;
use crate::{Area, Diagnostic, Diagnostics, Located, Location, Options, Settings, quoted};

/// Built-in provider that plays recorded or made-up replies.
const SCRIPT: &str = "script";
/// Names of TAKT's providers, with ours for the same program.
const TAKT_PROVIDERS: [(&str, &str); 3] =
    [("mock", SCRIPT), ("claude-sdk", "claude"), ("claude-terminal", "claude")];

/// Returns our name of a provider of TAKT.
pub(crate) fn provider_of_takt(name: &str) -> &str {
    TAKT_PROVIDERS.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, ours)| ours)
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ResolvedProvider {
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
pub(crate) struct ProviderResolver<'a> {
    options: &'a Options,
    settings: &'a Settings,
    unnamed: Vec<Location>,
    /// True if at least one turn uses a provider other than `script`.
    real: bool,
    pub(crate) notes: Vec<String>,
}

impl<'a> ProviderResolver<'a> {
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
    ) -> ResolvedProvider {
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
    pub(crate) fn default(&mut self, at: &Location) -> ResolvedProvider {
        let provider = self.options.provider.clone().or_else(|| self.settings.provider.clone());
        if provider.is_none() {
            self.unnamed.push(at.clone());
        }
        self.answerer(provider, None)
    }

    /// Returns true if no turn names a provider, so the run is a rehearsal with made-up replies.
    ///
    /// If only some turns name a provider, the definition is valid, but a run needs a default provider. Made-up
    /// replies between real ones would look like real work.
    pub(crate) fn rehearsal(&self, diagnostics: &mut Diagnostics) -> bool {
        if self.real && self.options.starts {
            for at in &self.unnamed {
                let message = "no provider for this turn: it names none, and no default provider is set";
                let hint = "set `provider` in the settings, pass `--provider`, or add `provider:` here";
                diagnostics.push(at.error("missing-key", message).hint(hint));
            }
        }
        !self.real && self.needs_default_provider()
    }

    /// Returns true if a turn leaves the provider to the settings, and they name none.
    pub(crate) fn needs_default_provider(&self) -> bool {
        !self.unnamed.is_empty()
    }

    fn answerer(&mut self, provider: Option<ProviderName>, model: Option<String>) -> ResolvedProvider {
        let provider = provider.unwrap_or_else(|| SCRIPT.into());
        self.real |= provider.as_str() != SCRIPT;
        let known = self.settings.provider(provider.as_str());
        ResolvedProvider {
            model: self.options.model.clone().or(model).or_else(|| known.as_ref()?.model.clone()),
            timeout: known.as_ref().and_then(|known| known.turn_timeout),
            price: known.as_ref().and_then(|known| known.price.turn),
            system_prompt: known.as_ref().and_then(|known| known.system_prompt.clone()),
            tools: known.and_then(|known| known.tools),
            provider,
        }
    }

    fn read(&self, name: &Located<String>, diagnostics: &mut Diagnostics) -> ProviderName {
        let written = name.value.as_str();
        let own = self.settings.knows_provider(written);
        let alias = TAKT_PROVIDERS.iter().find(|(theirs, _)| *theirs == written).filter(|_| !own);
        let meant = alias.map_or(written, |(_, ours)| ours);
        if !self.settings.knows_provider(meant) {
            let message = format!("no provider is named {}", quoted(written));
            let diagnostic = name.error("unknown-provider", message).label("not a provider");
            let hint = diagnostics.suggest(written, self.settings.provider_names());
            diagnostics.push(diagnostic.maybe_hint(hint));
        }
        meant.into()
    }
}

/// Source locations. Stages that lowering inserts have none.
#[derive(Debug, Default)]
pub(crate) struct Spots {
    places: HashMap<Spot, Location>,
    /// Stages that were read, with false for those with errors. Findings about those would be noise.
    sound: HashMap<StageId, bool>,
}

impl Spots {
    pub(crate) fn put(&mut self, spot: Spot, at: &Location) {
        self.places.insert(spot, at.clone());
    }

    pub(crate) fn get(&self, spot: &Spot) -> Option<&Location> {
        self.places.get(spot)
    }

    pub(crate) fn put_sound(&mut self, stage: &StageId, sound: bool) {
        self.sound.insert(stage.clone(), sound);
    }

    /// Returns true unless the reader found an error in the stage.
    pub(crate) fn is_sound(&self, stage: &StageId) -> bool {
        self.sound.get(stage).copied().unwrap_or(true)
    }
}

/// Builds a section of a prompt.
pub(crate) fn section(when: SectionCondition, body: impl IntoIterator<Item = PromptPart>) -> PromptSection {
    PromptSection { body: body.into_iter().collect(), when }
}

/// Builds a section with a fixed text only.
pub(crate) fn fixed_section(text: impl Into<Text>) -> PromptSection {
    section(SectionCondition::Always, [text_part(text)])
}

pub(crate) fn text_part(text: impl Into<Text>) -> PromptPart {
    PromptPart::Fixed(text.into())
}

pub(crate) fn value_part(variable: Variable) -> PromptPart {
    PromptPart::Value(variable, ValueForm::Plain)
}

/// Returns the tokens of the fixed texts in some sections.
pub(crate) fn fixed_tokens<'a>(sections: impl Iterator<Item = &'a PromptSection>) -> u64 {
    let texts = sections.flat_map(|section| &section.body).filter_map(|part| match part {
        PromptPart::Fixed(Text::Inline(text)) => Some(&**text),
        PromptPart::Fixed(Text::Blob { .. }) | PromptPart::Value(..) => None,
    });
    tokens(&texts.collect::<String>())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

impl Language {
    pub fn name(self) -> &'static str {
        self.pick("en", "ja")
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::English, Self::Japanese].into_iter().find(|language| language.name() == name)
    }

    pub fn pick<T>(self, english: T, japanese: T) -> T {
        match self {
            Self::English => english,
            Self::Japanese => japanese,
        }
    }

    /// Returns the language of a definition: Japanese if any of its texts contains kana.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let japanese = texts.into_iter().any(|text| text.chars().any(is_kana));
        if japanese { Self::Japanese } else { Self::English }
    }
}

/// Matches hiragana and katakana, also half-width. Excludes the middle dot, which is not only Japanese.
fn is_kana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
        || matches!(character, '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    // DESIGN section 7
    #[test]
    fn kana_anywhere_makes_a_definition_japanese() {
        let check =
            |texts: &[&str], expected| assert_eq!(Language::of(texts.iter().copied()), expected, "{texts:?}");
        check(&["plan", "実装"], Language::English);
        check(&["plan", "実装する"], Language::Japanese);
        check(&["ﾃｽﾄ"], Language::Japanese);
        check(&["中文・原因"], Language::English);
        check(&[], Language::English);
    }
}
