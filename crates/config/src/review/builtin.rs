//! Built-in review agents and copies of them.

use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::AgentDefinition;
use super::python::Room;
use super::read::read;
use crate::diagnostic::{Area, Diagnostics};
use crate::document::{Document, Format};
use crate::{Language, NewFile};

/// A built-in agent in both languages.
#[derive(Debug)]
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    english: &'static str,
    japanese: &'static str,
}

macro_rules! agent {
    ($name:literal) => {
        BuiltIn {
            name: $name,
            english: include_str!(concat!("builtin/", $name, ".en.toml")),
            japanese: include_str!(concat!("builtin/", $name, ".ja.toml")),
        }
    };
}

static ALL: [BuiltIn; 6] = [
    agent!("code-reviewer"),
    agent!("code-simplifier"),
    agent!("comment-analyzer"),
    agent!("pr-test-analyzer"),
    agent!("silent-failure-hunter"),
    agent!("type-design-analyzer"),
];

/// Prefix of the first line of a copy.
const MARK: &str = "# saihai-builtin: ";

/// Returns all built-in agents, sorted by name.
pub(super) fn all() -> &'static [BuiltIn] {
    &ALL
}

/// Returns an editable copy of every built-in agent for a project.
pub fn copies(root: &Path, language: Language) -> Vec<NewFile> {
    let file = |one: &BuiltIn| NewFile {
        path: root.join(".saihai/agents").join(format!("{}.toml", one.name)),
        text: one.copy(language),
    };
    ALL.iter().map(file).collect()
}

impl BuiltIn {
    pub(super) fn text(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.english,
            Language::Japanese => self.japanese,
        }
    }

    /// Returns the text of a copy, with a first line that names the original.
    pub(super) fn copy(&self, language: Language) -> String {
        let text = self.text(language);
        format!("{MARK}{} sha256={}\n{text}", self.name, digest(text))
    }

    pub(super) fn definition(&self, language: Language) -> AgentDefinition {
        let mut found = Diagnostics::new();
        let text = self.text(language).as_bytes();
        let document = Document::parse(text, Format::Toml, self.name, Area::Review, &mut found);
        let agent = document.and_then(|document| read(&document, &mut Room::default(), &mut found));
        agent.expect("a test reads every agent that comes with Saihai in both languages").definition
    }
}

/// returns the built-in agent if the file is an unedited copy of it. A marked file with a
/// different agent name is not a copy: treating it as one would silently drop that agent.
pub(super) fn unedited(bytes: &[u8]) -> Option<&'static BuiltIn> {
    let text = std::str::from_utf8(bytes).ok()?.replace("\r\n", "\n");
    let (first, rest) = text.split_once('\n')?;
    let (name, hash) = first.strip_prefix(MARK)?.split_once(" sha256=")?;
    let built_in = ALL.iter().find(|built_in| built_in.name == name)?;
    let named = toml::from_str::<toml::Table>(rest).ok()?;
    let is_named = named.get("name").and_then(toml::Value::as_str) == Some(name);
    (is_named && hash == digest(rest)).then_some(built_in)
}

fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
