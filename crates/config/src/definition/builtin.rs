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

/// The piece of that name, from the directory beside this file.
macro_rules! piece {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            dialect: Dialect::Piece,
            english: include_str!(concat!("builtin/", $name, ".en.yaml")),
            japanese: include_str!(concat!("builtin/", $name, ".ja.yaml")),
        }
    };
}

/// All of them, in the order people see. No two of any dialect have the same name.
static ALL: [BuiltIn; 8] = [
    piece!("default"),
    piece!("minimal"),
    piece!("test-first"),
    piece!("debug"),
    piece!("review"),
    piece!("review-fix"),
    piece!("docs"),
    piece!("research"),
];

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

#[cfg(test)]
mod tests;
