//! Review agents as turns of other definitions (P-61).

use saihai_model::{
    Changes, Checked, Form, Json, Output, OutputSchema, Part, Prompt, ProviderKind, ProviderName, Reads,
    Section, Spoken, StillWrong, Turn, Variable, When, tokens,
};

use super::AgentDefinition;
use super::answerer::{Answerer, Typed};
use super::granted::Granted;
use super::lower::all_take_schema;
use super::speech::Words;
use crate::{Language, Settings};

/// A review agent that another definition calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reviewer<'a> {
    pub(crate) definition: &'a AgentDefinition,
    pub(crate) settings: &'a Settings,
    /// Language of the calling definition, used to pass on the findings.
    pub(crate) language: Language,
}

/// Provider and model, as far as the agent and the review settings name them.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) provider: Option<ProviderName>,
    pub(crate) model: Option<String>,
    /// Warning to show to the person.
    pub(crate) note: Option<String>,
}

impl Reviewer<'_> {
    /// Returns provider and model, given those that the calling definition names.
    pub(crate) fn named(&self, provider: Option<&ProviderName>, model: Option<&str>) -> Named {
        let Answerer { provider, model, note } =
            Answerer::of(self.definition, Typed { provider, model }, self.settings);
        Named { provider, model, note }
    }

    /// Returns the agent's turn and the tools it lacks. `turn` supplies the provider and everything
    /// else the agent does not define.
    pub(crate) fn turn(&self, turn: Turn) -> (Turn, Vec<&'static str>) {
        let (definition, settings) = (self.definition, self.settings);
        let kind = self.kind(&turn.provider);
        let granted = Granted::of(kind, &definition.tools, settings.review.web);
        let schema = definition.output_schema.json();
        let in_words = Some(&schema).filter(|_| !all_take_schema(&turn.provider, settings));
        let words = Words::of(definition.language());
        let own = settings.review.agents.get(&definition.name);
        let changed = Part::Value(Variable::Changes(self.changes()), Form::Plain);
        let mut sections = vec![Section { body: vec![changed], when: When::Always }];
        sections.extend(in_words.map(|schema| words.demand(schema)));
        let output = output(words.correction(in_words), schema.clone());
        let carry = Spoken::Findings { language: self.language.name().to_owned() };
        let max_calls = own.and_then(|own| own.max_turns).or(definition.max_turns);
        let turn = Turn {
            persona: Some(definition.system_prompt.as_str().into()),
            role: Some(definition.name.clone()),
            prompt: Prompt { sections, ..Prompt::default() },
            tools: granted.tools,
            timeout: own.and_then(|own| own.timeout).or(definition.timeout).or(turn.timeout),
            max_calls: Some(max_calls.unwrap_or(settings.review.max_turns)),
            reads: Reads { output: Some(output), carry, ..turn.reads },
            ..turn
        };
        (turn, granted.missing)
    }

    /// Returns the tokens of the prompt that Saihai adds.
    pub(crate) fn added_tokens(&self, provider: &ProviderName) -> u64 {
        let schema = self.definition.output_schema.json();
        let in_words = Some(&schema).filter(|_| !all_take_schema(provider, self.settings));
        tokens(&Words::of(self.definition.language()).own(in_words))
    }

    fn kind(&self, provider: &ProviderName) -> ProviderKind {
        let described = self.settings.provider(provider.as_str());
        described.map_or(ProviderKind::Script, |provider| provider.kind)
    }

    fn changes(&self) -> Changes {
        let Settings { review, work, .. } = self.settings;
        Changes {
            base: review.base.clone().or_else(|| work.base.clone()),
            remote: work.remote.clone(),
            excluded: self.definition.applicability.exclude_patterns().map(str::to_owned).collect(),
            most: review.max_diff_bytes,
            language: self.definition.language().name().to_owned(),
        }
    }
}

/// Returns the reply contract of an agent. Valid parts of a partly invalid reply are kept.
pub(super) fn output(correction: Prompt, schema: Json) -> Output {
    Output {
        schema: OutputSchema { schema, required: true },
        corrections: 1,
        correction,
        still_wrong: StillWrong::KeepValidItems,
        checked: Checked::ByItem,
        shaping: Default::default(),
        kept_as: None,
        names: None,
    }
}
