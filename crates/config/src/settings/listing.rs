//! Lists the effective settings, one per line.

use saihai_model::Json;

use super::Settings;
use super::tables::SETTINGS;
use super::values::{Setting, SettingOrigin, provider_of};
use crate::diagnostic::{Area, Diagnostic, DocumentPath, Step, did_you_mean, quoted};
use crate::fields::{Field, Kind, Object};

const MASK: &str = "***";

#[derive(Debug, Clone, PartialEq)]
pub struct ListedSetting {
    pub key: String,
    /// Value with secrets masked; null if it is unset and has no default.
    pub value: Json,
    pub origin: SettingOrigin,
}

impl Settings {
    /// Returns every setting with a value, in the order of the manual.
    pub fn list(&self) -> Vec<ListedSetting> {
        self.all().into_iter().filter(|listed| !listed.value.is_null()).collect()
    }

    /// Returns the setting with a key, or all settings below it.
    pub fn find(&self, key: &str) -> Result<Vec<ListedSetting>, Box<Diagnostic>> {
        let all = self.all();
        if let Some(exact) = all.iter().find(|listed| listed.key == key) {
            return Ok(vec![exact.clone()]);
        }
        let path = DocumentPath::of_keys(key);
        match field_at(&path) {
            Some(Found::Leaf(field)) => Ok(vec![self.listed(&path, field)]),
            Some(Found::Group) => {
                let inside = |listed: &ListedSetting| {
                    listed.key.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']))
                };
                Ok(all.into_iter().filter(|listed| inside(listed) && !listed.value.is_null()).collect())
            }
            None => {
                let hint = did_you_mean(key, all.iter().map(|listed| listed.key.as_str()));
                let message = format!("there is no setting {}", quoted(key));
                let unknown = Diagnostic::error(Area::Settings.code("unknown-key"), message);
                Err(Box::new(unknown.maybe_hint(hint)))
            }
        }
    }

    fn all(&self) -> Vec<ListedSetting> {
        let mut all = Vec::new();
        self.walk(&SETTINGS, &DocumentPath::root(), &mut all);
        all
    }

    fn walk(&self, object: &Object, path: &DocumentPath, all: &mut Vec<ListedSetting>) {
        for field in object.fields {
            let key = path.key(field.name);
            if let Some(inner) = field.kind.object() {
                self.walk(inner, &key, all);
            } else if field.kind.is_mapping() {
                let below = |other: &DocumentPath| other.steps().starts_with(key.steps());
                let inside = self.values.iter().filter(|(other, _)| below(other));
                all.extend(inside.map(|(key, setting)| shown(key, setting)));
            } else {
                all.push(self.listed(&key, field));
            }
        }
    }

    fn listed(&self, key: &DocumentPath, field: &Field) -> ListedSetting {
        if let Some(setting) = self.values.get(key) {
            return shown(key, setting);
        }
        let value = match field.default {
            Some(json) => serde_json::from_str(json).unwrap_or_default(),
            None if *key == DocumentPath::of_keys("language") => Json::from(self.language.name()),
            None => Json::Null,
        };
        ListedSetting { key: key.to_string(), value, origin: SettingOrigin::Default }
    }
}

fn shown(key: &DocumentPath, setting: &Setting) -> ListedSetting {
    let value = if is_secret(key) { Json::from(MASK) } else { setting.node.to_json() };
    ListedSetting { key: key.to_string(), value, origin: setting.origin.clone() }
}

/// Returns true if the key is a variable whose name suggests a secret.
fn is_secret(key: &DocumentPath) -> bool {
    const WORDS: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
    let is_variable = provider_of(key).is_some() && key.key_at(2) == Some("env");
    let name = key.key_at(3).unwrap_or_default().to_ascii_uppercase();
    is_variable && WORDS.iter().any(|word| name.contains(word))
}

enum Found {
    Leaf(&'static Field),
    Group,
}

/// Returns the table entry of a key.
fn field_at(path: &DocumentPath) -> Option<Found> {
    let mut kind = Kind::Object(&SETTINGS);
    let mut last = None;
    for step in path.steps() {
        let Step::Key(name) = step else { return None };
        kind = if let Some(object) = kind.object() {
            let field = object.field(name)?;
            last = Some(field);
            field.kind
        } else {
            *kind.named_values()?
        };
    }
    if kind.is_mapping() { Some(Found::Group) } else { last.map(Found::Leaf) }
}
