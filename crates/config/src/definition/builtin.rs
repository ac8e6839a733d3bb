//! Definitions that come with Saihai.

use super::{Definition, Dialect, Origin};
use crate::Language;

/// A definition that comes with Saihai, in both languages.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    pub(crate) name: &'static str,
    /// What it is written in.
    pub(crate) dialect: Dialect,
    english: &'static str,
    japanese: &'static str,
    english_beside: &'static [Beside],
    japanese_beside: &'static [Beside],
}

/// A file that a definition of several files needs: its path below the definition's directory, and its text.
type Beside = (&'static str, &'static str);

/// The definition of that name, from the directory beside this file.
macro_rules! built_in {
    ($dialect:ident, $name:literal) => {
        BuiltIn {
            name: $name,
            dialect: Dialect::$dialect,
            english: include_str!(concat!("builtin/", $name, ".en.yaml")),
            japanese: include_str!(concat!("builtin/", $name, ".ja.yaml")),
            english_beside: &[],
            japanese_beside: &[],
        }
    };
}

/// A step agent: the directory of that name, in both languages.
macro_rules! agent {
    ($name:literal, $($beside:literal),+) => {
        BuiltIn {
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

/// Hats, which are also what hats files stand on.
macro_rules! hats {
    ($name:literal) => {
        built_in!(Hats, $name)
    };
}

/// All of them, in the order people see. No two of any dialect have the same name.
static ALL: [BuiltIn; 14] = [
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

impl BuiltIn {
    pub(crate) fn all() -> &'static [Self] {
        &ALL
    }

    /// The one of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|built_in| built_in.name == name)
    }

    /// The one a definition is.
    pub(crate) fn of(definition: &Definition) -> Option<&'static Self> {
        let same = Self::named(&definition.name).filter(|one| one.dialect == definition.dialect);
        same.filter(|_| definition.origin == Origin::BuiltIn)
    }

    /// What it is for, where its dialect has no key for that: the comment it begins with.
    pub(crate) fn summary(&self, language: Language) -> Option<String> {
        let lines = self.text(language).lines().map_while(|line| line.strip_prefix("# "));
        let summary = lines.collect::<Vec<_>>().join(" ");
        (!summary.is_empty()).then_some(summary)
    }

    /// The files of its directory, the first one being its text, where it is a directory.
    pub(crate) fn files(&self, language: Language) -> impl Iterator<Item = Beside> {
        let beside = match language {
            Language::English => self.english_beside,
            Language::Japanese => self.japanese_beside,
        };
        std::iter::once(("agent.json", self.text(language))).chain(beside.iter().copied())
    }

    pub(crate) fn text(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Japanese => self.japanese,
        }
    }
}

#[cfg(test)]
mod tests;
