//! All set values with their origins.

use std::fmt;

use indexmap::IndexMap;
use saihai_model::{Millis, Usd};

use crate::diagnostic::{DocumentPath, Location, Step};
use crate::document::Node;
use crate::fields::duration_of;

/// Origin of a setting, from lowest to highest priority.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingOrigin {
    Default,
    User(Location),
    Project(Location),
    Variable(String),
    Flag(String),
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::User(location) | Self::Project(location) => match location.start() {
                Some(start) => write!(f, "{}:{}", location.file.name(), start.line),
                None => f.write_str(location.file.name()),
            },
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    pub(super) node: Node,
    pub(super) at: Location,
    pub(super) origin: SettingOrigin,
}

/// All set values by key. The last layer wins.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Values(IndexMap<DocumentPath, Setting>);

impl Values {
    pub(super) fn get(&self, key: &DocumentPath) -> Option<&Setting> {
        self.0.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&DocumentPath, &Setting)> {
        self.0.iter()
    }

    /// Returns the values below a key, such as `retry` or one provider.
    pub(super) fn section<'a>(&'a self, key: &DocumentPath) -> Section<'a> {
        Section { values: self, key: key.clone() }
    }
}

impl FromIterator<(DocumentPath, Setting)> for Values {
    fn from_iter<T: IntoIterator<Item = (DocumentPath, Setting)>>(settings: T) -> Self {
        Self(settings.into_iter().collect())
    }
}

impl Extend<(DocumentPath, Setting)> for Values {
    fn extend<T: IntoIterator<Item = (DocumentPath, Setting)>>(&mut self, settings: T) {
        self.0.extend(settings);
    }
}

/// Returns the provider in a key: `mine` for `providers.mine.model`.
pub(super) fn provider_of(key: &DocumentPath) -> Option<&str> {
    match key.steps() {
        [Step::Key(providers), Step::Key(name), ..] if **providers == *"providers" => Some(name),
        _ => None,
    }
}

pub(super) struct Section<'a> {
    values: &'a Values,
    key: DocumentPath,
}

impl<'a> Section<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Setting> {
        self.values.get(&self.key.key(name))
    }

    pub(super) fn within(&self, name: &str) -> Section<'a> {
        self.values.section(&self.key.key(name))
    }

    /// Returns the values below this key, each with the rest of its key.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a str, &'a Setting)> {
        let depth = self.key.steps().len();
        self.values.iter().filter_map(move |(key, setting)| {
            let inside = key.steps().len() == depth + 1 && key.steps()[..depth] == *self.key.steps();
            inside.then(|| key.last_key().map(|name| (name, setting))).flatten()
        })
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.node.as_text()
    }

    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.get(name)?.node.as_list()?;
        Some(items.iter().filter_map(Node::as_text).map(str::to_owned).collect())
    }

    pub(super) fn bool(&self, name: &str) -> Option<bool> {
        self.get(name)?.node.as_bool()
    }

    pub(super) fn count(&self, name: &str) -> Option<u32> {
        self.get(name)?.node.as_integer().and_then(|number| u32::try_from(number).ok())
    }

    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        self.get(name)?.node.as_integer().and_then(|number| u64::try_from(number).ok())
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.node.as_number()
    }

    pub(super) fn usd(&self, name: &str) -> Option<Usd> {
        self.number(name).and_then(Usd::from_dollars)
    }

    pub(super) fn duration(&self, name: &str) -> Option<Millis> {
        duration_of(&self.get(name)?.node)?.ok()
    }
}
