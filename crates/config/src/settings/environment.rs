//! The environment of a command, as data.

use std::path::{Path, PathBuf};

use crate::source::Source;

/// Files that mark a project root without git.
const MARKS: [&str; 5] = [".saihai", ".takt", ".agent", ".hachimoku", "orch.yml"];

/// Environment variables. The caller passes them in; this crate never reads them itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables(Vec<(String, String)>);

impl Variables {
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self(variables.into_iter().collect())
    }

    /// Returns the value of a variable. An empty value counts as unset.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.iter().find(|(other, value)| *other == name && !value.is_empty());
        found.map(|(_, value)| value)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn home(&self) -> Option<PathBuf> {
        let name = if cfg!(windows) { "USERPROFILE" } else { "HOME" };
        self.get(name).map(PathBuf::from)
    }

    /// Returns the user's Saihai directory: `$XDG_CONFIG_HOME/saihai`, else `~/.config/saihai`.
    pub fn user_directory(&self) -> Option<PathBuf> {
        if cfg!(windows) {
            return self.get("APPDATA").map(|directory| Path::new(directory).join("saihai"));
        }
        // The XDG specification requires ignoring a relative path.
        let own = self.get("XDG_CONFIG_HOME").map(PathBuf::from).filter(|directory| directory.is_absolute());
        own.or_else(|| self.home().map(|home| home.join(".config"))).map(|directory| directory.join("saihai"))
    }

    /// Returns the message locale, such as `ja_JP.UTF-8`.
    pub fn locale(&self) -> Option<&str> {
        ["LC_ALL", "LC_MESSAGES", "LANG"].iter().find_map(|name| self.get(name))
    }
}

/// Returns the project root: the git top level, else the nearest ancestor with project files, else
/// the directory itself.
pub fn project_root(source: &dyn Source, directory: &Path) -> PathBuf {
    let holds = |names: &[&str]| {
        directory
            .ancestors()
            .find(|ancestor| names.iter().any(|name| source.kind(&ancestor.join(name)).is_some()))
    };
    holds(&[".git"]).or_else(|| holds(&MARKS)).unwrap_or(directory).to_owned()
}
