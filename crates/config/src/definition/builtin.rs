//! Definitions that come with Saihai.

use super::Dialect;
use crate::Language;

/// A definition that comes with Saihai, in both languages.
#[derive(Debug)]
pub(crate) struct BuiltIn {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it is written in.
    pub(crate) dialect: Dialect,
    english: &'static str,
    japanese: &'static str,
}

/// All of them. No two of any dialect have the same name.
static ALL: [BuiltIn; 1] = [BuiltIn {
    name: "minimal",
    dialect: Dialect::Piece,
    english: include_str!("minimal.en.yaml"),
    japanese: include_str!("minimal.ja.yaml"),
}];

impl BuiltIn {
    /// All of them.
    pub(crate) fn all() -> &'static [Self] {
        &ALL
    }

    /// The one of that name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|built_in| built_in.name == name)
    }

    /// Its text.
    pub(crate) fn text(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Japanese => self.japanese,
        }
    }
}
