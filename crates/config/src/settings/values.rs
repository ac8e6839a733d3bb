//! All set values with their origins: reading a layer, looking values up, and listing the effective ones.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use indexmap::IndexMap;
use saihai_model::{Budget, Json, Millis, ProviderName, Usd};

use super::load::read_budget;

use super::Settings;
use super::tables::SETTINGS;
use crate::diagnostic::{
    Area, Diagnostic, Diagnostics, DocumentPath, Location, PathStep, SourceFile, Span, did_you_mean, quoted,
};
use crate::document::{Document, Format, Node, Value};
use crate::fields::{Cursor, Field, Fields, Object, ValueKind, duration_of};

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
pub(super) struct SettingValues(IndexMap<DocumentPath, Setting>);

impl SettingValues {
    pub(super) fn get(&self, key: &DocumentPath) -> Option<&Setting> {
        self.0.get(key)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&DocumentPath, &Setting)> {
        self.0.iter()
    }

    /// Returns the values below a key, such as `retry` or one provider.
    pub(super) fn section<'a>(&'a self, key: &DocumentPath) -> SettingsSection<'a> {
        SettingsSection { values: self, key: key.clone() }
    }
}

impl FromIterator<(DocumentPath, Setting)> for SettingValues {
    fn from_iter<T: IntoIterator<Item = (DocumentPath, Setting)>>(settings: T) -> Self {
        Self(settings.into_iter().collect())
    }
}

impl Extend<(DocumentPath, Setting)> for SettingValues {
    fn extend<T: IntoIterator<Item = (DocumentPath, Setting)>>(&mut self, settings: T) {
        self.0.extend(settings);
    }
}

/// Returns the provider in a key: `mine` for `providers.mine.model`.
pub(super) fn provider_of(key: &DocumentPath) -> Option<&str> {
    match key.steps() {
        [PathStep::Key(providers), PathStep::Key(name), ..] if **providers == *"providers" => Some(name),
        _ => None,
    }
}

pub(super) struct SettingsSection<'a> {
    values: &'a SettingValues,
    key: DocumentPath,
}

impl<'a> SettingsSection<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a Setting> {
        self.values.get(&self.key.key(name))
    }

    pub(super) fn within(&self, name: &str) -> SettingsSection<'a> {
        self.values.section(&self.key.key(name))
    }

    /// Returns all values below this key, at any depth.
    pub(super) fn all(&self) -> impl Iterator<Item = (&'a DocumentPath, &'a Setting)> {
        self.values.iter().filter(|(key, _)| key.steps().starts_with(self.key.steps()))
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

    pub(super) fn value<T: SettingType>(&self, name: &str) -> Option<T> {
        T::from_node(&self.get(name)?.node)
    }
}

/// A type of a setting.
pub(super) trait SettingType: Sized {
    /// Converts a value. Keys of mappings have no single value.
    fn from_node(_: &Node) -> Option<Self> {
        None
    }

    /// Reads the setting `name` of a section, or returns `None` if it is not set.
    fn of(section: &SettingsSection<'_>, name: &str, _: &mut Diagnostics) -> Option<Self> {
        Self::from_node(&section.get(name)?.node)
    }

    /// Converts the default of a key table.
    fn of_json(json: &str) -> Option<Self> {
        let mut diagnostics = Diagnostics::new();
        let document = Document::parse(json.as_bytes(), Format::Json, "", Area::Settings, &mut diagnostics)?;
        Self::from_node(&document.root)
    }
}

/// Implements [`SettingType`] for types of single values.
macro_rules! setting_types {
    ($($type:ty: $convert:expr;)+) => {
        $(impl $crate::settings::values::SettingType for $type {
            fn from_node(node: &$crate::Node) -> Option<Self> {
                let convert: fn(&$crate::Node) -> Option<Self> = $convert;
                convert(node)
            }
        })+
    };
}

pub(super) use setting_types;

setting_types! {
    bool: Node::as_bool;
    u8: |node| u8::try_from(node.as_integer()?).ok();
    u32: |node| u32::try_from(node.as_integer()?).ok();
    u64: |node| u64::try_from(node.as_integer()?).ok();
    String: |node| node.as_text().map(str::to_owned);
    PathBuf: |node| node.as_text().map(PathBuf::from);
    ProviderName: |node| node.as_text().map(ProviderName::from);
    Millis: |node| duration_of(node)?.ok();
    Usd: |node| Usd::from_dollars(node.as_number()?);
}

impl<T: SettingType> SettingType for Option<T> {
    fn of(section: &SettingsSection<'_>, name: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        Some(T::of(section, name, diagnostics))
    }
}

impl<T: SettingType> SettingType for Vec<T> {
    fn from_node(node: &Node) -> Option<Self> {
        Some(node.as_list()?.iter().filter_map(T::from_node).collect())
    }
}

/// A mapping with free names.
impl<T: SettingType> SettingType for IndexMap<String, T> {
    fn of(section: &SettingsSection<'_>, name: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        let inside = section.within(name);
        let depth = inside.key.steps().len();
        let mut map = Self::new();
        for key in inside.all().filter_map(|(key, _)| key.key_at(depth)) {
            if !map.contains_key(key) {
                map.extend(T::of(&inside, key, diagnostics).map(|value| (key.to_owned(), value)));
            }
        }
        Some(map)
    }
}

impl SettingType for Budget {
    fn of(section: &SettingsSection<'_>, name: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        Some(read_budget(&section.within(name), diagnostics))
    }
}

/// Defines settings once: the struct, its key table, its defaults and its reader.
///
/// A key is `name: Type = kind, default "JSON", "description";`. `else` gives a default that is not shown.
/// The `hidden` field has no key and is read from the whole section.
macro_rules! settings_table {
    (
        pub struct $name:ident = $table:ident($title:literal) {
            $(
                $(#[doc = $doc:literal])*
                $key:ident: $type:ty = $kind:expr $(, default $json:literal)? $(, else $unset:expr)?, $about:literal;
            )+
        }
        $(hidden $hidden:ident: $hidden_type:ty;)?
    ) => {
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name {
            $(#[doc = concat!("Setting: ", $about, ".")] $(#[doc = $doc])* pub $key: $type,)+
            $($hidden: $hidden_type,)?
        }

        pub(super) static $table: crate::fields::Object = {
            use crate::fields::ValueKind::*;
            crate::fields::Object {
                title: $title,
                fields: &[$(
                    crate::fields::Field::new(stringify!($key), $kind)$(.default($json))?.about($about),
                )+],
            }
        };

        impl $name {
            pub(in crate::settings) fn read(
                section: &crate::settings::values::SettingsSection<'_>,
                diagnostics: &mut crate::Diagnostics,
            ) -> Self {
                use crate::settings::values::SettingType;
                Self {
                    $($key: SettingType::of(section, stringify!($key), diagnostics)
                        $(.or_else(|| SettingType::of_json($json)))?
                        $(.or_else(|| Some($unset)))?
                        .expect("a key without a default is optional"),)+
                    $($hidden: SettingType::of(section, "", diagnostics).expect("reads the section"),)?
                }
            }
        }

        impl Default for $name {
            fn default() -> Self {
                let values = crate::settings::values::SettingValues::default();
                Self::read(&values.section(&crate::DocumentPath::root()), &mut crate::Diagnostics::new())
            }
        }
    };
}
pub(super) use settings_table;

/// Values that one source sets, in source order.
pub(super) type Layer = Vec<(DocumentPath, Setting)>;

/// Reads the values of a file. Reports invalid ones and leaves them out.
pub(super) fn layer_of_file(
    document: &Document,
    origin: fn(Location) -> SettingOrigin,
    diagnostics: &mut Diagnostics,
) -> Layer {
    let mut layer = Layer::new();
    if let Some(fields) = Fields::read(&document.cursor(), &SETTINGS, diagnostics) {
        let mut flat = LayerReader { origin, layer: &mut layer, diagnostics };
        flat.object(&fields);
    }
    layer
}

struct LayerReader<'a> {
    origin: fn(Location) -> SettingOrigin,
    layer: &'a mut Layer,
    diagnostics: &'a mut Diagnostics,
}

impl LayerReader<'_> {
    fn object(&mut self, fields: &Fields<'_>) {
        for name in fields.keys() {
            let (Some(value), Some(field)) = (fields.any(name), fields.table().field(name)) else { continue };
            self.value(&value, &field.kind);
        }
    }

    fn value(&mut self, value: &Cursor<'_>, kind: &ValueKind) {
        match kind {
            ValueKind::Object(object) => {
                if let Some(fields) = Fields::read(value, object, self.diagnostics) {
                    self.object(&fields);
                }
            }
            ValueKind::Map(kind) => {
                for (_, value) in value.entries() {
                    self.value(&value, kind);
                    // Keep an empty table: its name may be wrong and needs a check.
                    if kind.object().is_some() && value.entries().next().is_none() {
                        self.leaf(&value);
                    }
                }
            }
            _ => self.leaf(value),
        }
    }

    fn leaf(&mut self, value: &Cursor<'_>) {
        let at = value.location();
        let origin = (self.origin)(at.clone());
        self.layer.push((value.path().clone(), Setting { node: value.node().clone(), at, origin }));
    }
}

/// Reads one key from the text of a variable or a flag, under its display name. Lists are JSON.
pub(super) fn layer_of_text(
    key: DocumentPath,
    kind: &ValueKind,
    text: &str,
    origin: SettingOrigin,
    diagnostics: &mut Diagnostics,
) -> Option<(DocumentPath, Setting)> {
    let name = origin.to_string();
    let file = Arc::new(SourceFile::new(Area::Settings, name.as_str(), text));
    let span = Span::new(0, file.text().len());
    let root = match kind {
        ValueKind::List(_) | ValueKind::Filled(_) => {
            Document::parse(text.as_bytes(), Format::Json, &name, Area::Settings, diagnostics)?.root
        }
        ValueKind::Either(_) if text.trim_start().starts_with('[') => {
            Document::parse(text.as_bytes(), Format::Json, &name, Area::Settings, diagnostics)?.root
        }
        ValueKind::Bool => Node { value: bool_of(text), span },
        ValueKind::Integer { .. } | ValueKind::Number { .. } => Node { value: number_of(text), span },
        _ => Node { value: Value::Text(text.into()), span },
    };
    let document = Document { file, root, others: Vec::new() };
    let cursor = Cursor::at(&document, key.clone());
    let right = cursor.must_be(kind, diagnostics);
    right.then(|| (key, Setting { node: document.root.clone(), at: cursor.location(), origin }))
}

fn bool_of(text: &str) -> Value {
    match text {
        "true" | "1" => Value::Bool(true),
        "false" | "0" => Value::Bool(false),
        _ => Value::Text(text.into()),
    }
}

fn number_of(text: &str) -> Value {
    let whole = text.parse().map(Value::Integer).ok();
    let number = whole.or_else(|| text.parse().map(Value::Float).ok());
    number.unwrap_or_else(|| Value::Text(text.into()))
}

/// Resolves a path of upper-case words, such as `["RETRY", "MAX_WAIT"]`, to a key and its kind.
/// Looks provider names up in `names`, because upper case and underscores hide their spelling.
pub(super) fn key_of_words(words: &[&str], names: &[&str]) -> Option<(DocumentPath, ValueKind)> {
    let mut path = DocumentPath::root();
    let mut kind = ValueKind::Object(&SETTINGS);
    for word in words {
        let step = if let Some(object) = kind.object() {
            let field = object.fields.iter().find(|field| fold(field.name) == *word)?;
            kind = field.kind;
            field.name.to_owned()
        } else {
            kind = *kind.named_values()?;
            let known = names.iter().find(|name| fold(name) == *word);
            known.map_or_else(|| word.to_ascii_lowercase(), |name| (*name).to_owned())
        };
        path = path.key(step);
    }
    (!kind.is_mapping()).then_some((path, kind))
}

/// Returns a name as variables spell it.
fn fold(name: &str) -> String {
    name.to_ascii_uppercase().replace(['-', '.'], "_")
}

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
            Some(SettingKey::Leaf(field)) => Ok(vec![self.listed(&path, field)]),
            Some(SettingKey::Group) => {
                let inside = |listed: &ListedSetting| {
                    listed.key.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']))
                };
                Ok(all.into_iter().filter(|listed| inside(listed) && !listed.value.is_null()).collect())
            }
            None => {
                let hint = did_you_mean(key, all.iter().map(|listed| listed.key.as_str()));
                let message = format!("unknown setting {}", quoted(key));
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
            // The default depends on the project: `.saihai/reports` or `.takt/reports`.
            Some(_) if *key == DocumentPath::of_keys("reports_dir") => {
                let below_root = self.reports_dir.iter().rev().take(2).collect::<Vec<_>>();
                let path: PathBuf = below_root.into_iter().rev().collect();
                Json::from(path.to_string_lossy())
            }
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

enum SettingKey {
    Leaf(&'static Field),
    Group,
}

/// Returns the table entry of a key.
fn field_at(path: &DocumentPath) -> Option<SettingKey> {
    let mut kind = ValueKind::Object(&SETTINGS);
    let mut last = None;
    for step in path.steps() {
        let PathStep::Key(name) = step else { return None };
        kind = if let Some(object) = kind.object() {
            let field = object.field(name)?;
            last = Some(field);
            field.kind
        } else {
            *kind.named_values()?
        };
    }
    if kind.is_mapping() { Some(SettingKey::Group) } else { last.map(SettingKey::Leaf) }
}
