//! Checks a file against its tables once, before anything reads it.
//!
//! The check reports unknown, missing and wrong keys of all generations of the format in the file's own words.
//! Readers then get valid values or none, so they report only what a table cannot say.

use crate::breaker::ProgressSetting;
use crate::{Cursor, Diagnostics, Document, Fields, Located, Location, Object, Value, ValueKind};

/// Checks a whole file, and returns its root. Returns `None` if it is not a mapping.
pub(super) fn checked<'d>(
    document: &'d Document,
    table: &'static Object,
    diagnostics: &mut Diagnostics,
) -> Option<FileSection<'d>> {
    checked_part(&document.cursor(), table, diagnostics)
}

/// Checks a mapping, and returns it. Returns `None` if it is not a mapping.
pub(super) fn checked_part<'d>(
    value: &Cursor<'d>,
    table: &'static Object,
    diagnostics: &mut Diagnostics,
) -> Option<FileSection<'d>> {
    checked_except(value, table, &[], diagnostics)
}

/// Checks a mapping without the contents of the `skipped` keys.
pub(super) fn checked_except<'d>(
    value: &Cursor<'d>,
    table: &'static Object,
    skipped: &[&str],
    diagnostics: &mut Diagnostics,
) -> Option<FileSection<'d>> {
    check(value, table, skipped, diagnostics);
    FileSection::of(value, table).present()
}

fn check(value: &Cursor<'_>, table: &'static Object, skipped: &[&str], diagnostics: &mut Diagnostics) {
    let Some(fields) = Fields::read(value, table, diagnostics) else { return };
    for name in fields.keys().filter(|name| !skipped.contains(name)) {
        let (Some(value), Some(field)) = (fields.any(name), table.field(name)) else { continue };
        let Some(inner) = table_in(&field.kind) else { continue };
        if matches!(field.kind, ValueKind::Object(_)) {
            check(&value, inner, &[], diagnostics);
            continue;
        }
        // A word, or a mapping with known keys.
        if matches!(field.kind, ValueKind::Either([ValueKind::OneOf(_), ValueKind::Object(_)])) {
            if matches!(value.node().value, Value::Map(_)) {
                check(&value, inner, &[], diagnostics);
            }
            continue;
        }
        // One of these two is empty. Other alternatives of an entry, such as a text, are already checked.
        let is_mixed = matches!(field.kind, ValueKind::Map(ValueKind::Either(_)));
        for item in value.items().chain(value.entries().map(|(_, entry)| entry)) {
            if !is_mixed || matches!(item.node().value, Value::Map(_)) {
                check(&item, inner, &[], diagnostics);
            }
        }
    }
}

/// Returns the table of the mappings that a value of this kind has.
fn table_in(kind: &ValueKind) -> Option<&'static Object> {
    match kind {
        ValueKind::Object(table) => Some(table),
        ValueKind::List(item) | ValueKind::Filled(item) | ValueKind::Map(item) => table_in(item),
        ValueKind::Either(kinds) => kinds.iter().find_map(table_in),
        _ => None,
    }
}

/// A mapping of a checked file. An absent mapping is a section without keys.
#[derive(Debug, Clone)]
pub(super) struct FileSection<'d> {
    /// Location of the mapping, or of the section around an absent one.
    at: Location,
    fields: Option<Fields<'d>>,
}

impl<'d> FileSection<'d> {
    fn of(value: &Cursor<'d>, table: &'static Object) -> Self {
        Self { at: value.location(), fields: Fields::read(value, table, &mut Diagnostics::new()) }
    }

    /// Creates the section of an absent mapping.
    pub(super) fn absent(at: &Location) -> Self {
        Self { at: at.clone(), fields: None }
    }

    pub(super) fn at(&self) -> &Location {
        &self.at
    }

    pub(super) fn is_present(&self) -> bool {
        self.fields.is_some()
    }

    pub(super) fn present(self) -> Option<Self> {
        self.is_present().then_some(self)
    }

    /// Reads the key `progress`; the default if it is absent or invalid, which is already reported.
    pub(super) fn progress(&self) -> ProgressSetting {
        let fields = self.fields.as_ref();
        fields.and_then(|fields| ProgressSetting::read(fields, &mut Diagnostics::new())).unwrap_or_default()
    }

    /// Returns true if a key is present, valid or not.
    pub(super) fn has(&self, name: &str) -> bool {
        self.key(name).is_some()
    }

    /// Returns the location of the key itself.
    pub(super) fn key(&self, name: &str) -> Option<&Location> {
        self.fields.as_ref()?.key(name)
    }

    pub(super) fn spelling(&self, name: &str) -> Option<&'static str> {
        self.fields.as_ref()?.spelling(name)
    }

    pub(super) fn any(&self, name: &str) -> Option<Cursor<'d>> {
        self.fields.as_ref()?.any(name)
    }

    pub(super) fn text(&self, name: &str) -> Option<Located<String>> {
        self.any(name)?.text()
    }

    /// Returns a text without its location.
    pub(super) fn word(&self, name: &str) -> Option<String> {
        Some(self.text(name)?.value)
    }

    pub(super) fn texts(&self, name: &str) -> Vec<Located<String>> {
        self.list(name).iter().filter_map(Cursor::text).collect()
    }

    /// Returns a list of texts without their locations, or `None` if the key is absent.
    pub(super) fn words(&self, name: &str) -> Option<Vec<String>> {
        self.any(name)?;
        Some(self.texts(name).into_iter().map(|text| text.value).collect())
    }

    pub(super) fn flag(&self, name: &str) -> Option<Located<bool>> {
        self.fields.as_ref()?.bool(name)
    }

    pub(super) fn is_on(&self, name: &str) -> bool {
        self.flag(name).is_some_and(|flag| flag.value)
    }

    pub(super) fn count(&self, name: &str) -> Option<Located<u32>> {
        self.fields.as_ref()?.count(name)
    }

    pub(super) fn number(&self, name: &str) -> Option<Located<f64>> {
        self.fields.as_ref()?.number(name)
    }

    pub(super) fn list(&self, name: &str) -> Vec<Cursor<'d>> {
        self.any(name).map(|value| value.items().collect()).unwrap_or_default()
    }

    pub(super) fn map(&self, name: &str) -> Vec<(Located<String>, Cursor<'d>)> {
        self.any(name).map(|value| value.entries().collect()).unwrap_or_default()
    }

    /// Returns the mapping of a key.
    pub(super) fn part(&self, name: &str) -> Self {
        let part = self.any(name).zip(self.table_of(name)).map(|(value, table)| Self::of(&value, table));
        part.unwrap_or_else(|| Self::absent(&self.at))
    }

    /// Returns the mappings in a list.
    pub(super) fn parts(&self, name: &str) -> Vec<Self> {
        let Some(table) = self.table_of(name) else { return Vec::new() };
        self.list(name).iter().map(|item| Self::of(item, table)).collect()
    }

    /// Returns the mappings in a mapping with free names.
    pub(super) fn named_parts(&self, name: &str) -> Vec<(Located<String>, Self)> {
        let Some(table) = self.table_of(name) else { return Vec::new() };
        self.map(name).into_iter().map(|(key, value)| (key, Self::of(&value, table))).collect()
    }

    fn table_of(&self, name: &str) -> Option<&'static Object> {
        table_in(&self.fields.as_ref()?.table().field(name)?.kind)
    }
}
