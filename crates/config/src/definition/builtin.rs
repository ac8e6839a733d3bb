use super::{Definition, Dialect, Origin};
use crate::{Area, Diagnostics, Document, Format, Language};

/// A built-in definition in English and Japanese.
#[derive(Debug)]
pub(crate) struct BuiltInDefinition {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    english: &'static str,
    japanese: &'static str,
    english_beside: &'static [Beside],
    japanese_beside: &'static [Beside],
}

/// An additional file of a definition: its path relative to the definition's directory, and its text.
type Beside = (&'static str, &'static str);

/// Embeds the definition `$name` from the `builtin` directory.
macro_rules! built_in {
    ($dialect:ident, $name:literal) => {
        BuiltInDefinition {
            name: $name,
            dialect: Dialect::$dialect,
            english: include_str!(concat!("builtin/", $name, ".en.yaml")),
            japanese: include_str!(concat!("builtin/", $name, ".ja.yaml")),
            english_beside: &[],
            japanese_beside: &[],
        }
    };
}

/// Embeds a step agent: a directory per language.
macro_rules! agent {
    ($name:literal, $($beside:literal),+) => {
        BuiltInDefinition {
            name: $name,
            dialect: Dialect::Steps,
            english: include_str!(concat!("builtin/", $name, ".en/agent.json")),
            japanese: include_str!(concat!("builtin/", $name, ".ja/agent.json")),
            english_beside: &[$(($beside, include_str!(concat!("builtin/", $name, ".en/", $beside)))),+],
            japanese_beside: &[$(($beside, include_str!(concat!("builtin/", $name, ".ja/", $beside)))),+],
        }
    };
}

macro_rules! piece {
    ($name:literal) => {
        built_in!(Piece, $name)
    };
}

/// Embeds hats. Hats files can also inherit from them.
macro_rules! hats {
    ($name:literal) => {
        built_in!(Hats, $name)
    };
}

/// All built-in definitions, in display order. Names are unique across dialects.
static ALL: [BuiltInDefinition; 14] = [
    piece!("default"),
    piece!("minimal"),
    piece!("test-first"),
    piece!("debug"),
    piece!("review"),
    piece!("review-fix"),
    piece!("specialists"),
    piece!("docs"),
    piece!("research"),
    hats!("simple"),
    hats!("tdd"),
    hats!("spec-driven"),
    agent!(
        "iterator",
        "steps_registry.json",
        "prompts/system.md",
        "prompts/verifier.md",
        "prompts/iterate/understand/task/f_default.md",
        "prompts/iterate/work/task/f_default.md",
        "prompts/iterate/work/check/f_default.md",
        "prompts/iterate/verify/task/f_default.md",
        "prompts/iterate/verify/check/f_default.md"
    ),
    agent!(
        "reviewer",
        "steps_registry.json",
        "prompts/system.md",
        "prompts/review/read/change/f_default.md",
        "prompts/review/examine/change/f_default.md",
        "prompts/review/examine/check/f_default.md",
        "prompts/review/decide/change/f_default.md",
        "prompts/review/decide/check/f_default.md"
    ),
];

impl BuiltInDefinition {
    pub(crate) fn all() -> &'static [Self] {
        &ALL
    }

    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|built_in| built_in.name == name)
    }

    /// Returns the built-in behind a definition, if it is one.
    pub(crate) fn of(definition: &Definition) -> Option<&'static Self> {
        let same = Self::named(&definition.name).filter(|one| one.dialect == definition.dialect);
        same.filter(|_| definition.origin == Origin::BuiltIn)
    }

    /// Returns the leading comment as a description, for dialects without a key for it.
    pub(crate) fn summary(&self, language: Language) -> Option<String> {
        let lines = self.text(language).lines().map_while(|line| line.strip_prefix("# "));
        let summary = lines.collect::<Vec<_>>().join(" ");
        (!summary.is_empty()).then_some(summary)
    }

    /// Returns the files of a step agent's directory, `agent.json` first.
    pub(crate) fn files(&self, language: Language) -> impl Iterator<Item = Beside> {
        let beside = language.pick(self.english_beside, self.japanese_beside);
        std::iter::once(("agent.json", self.text(language))).chain(beside.iter().copied())
    }

    pub(crate) fn parse(
        &self,
        language: Language,
        area: Area,
        diagnostics: &mut Diagnostics,
    ) -> Option<Document> {
        let name = format!("(built-in)/{}.yaml", self.name);
        Document::parse(self.text(language).as_bytes(), Format::Yaml, &name, area, diagnostics)
    }

    pub(crate) fn text(&self, language: Language) -> &'static str {
        language.pick(self.english, self.japanese)
    }
}

#[cfg(test)]
mod tests;
