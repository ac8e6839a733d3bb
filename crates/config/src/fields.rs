//! Checks a mapping against a table of its keys and reports all errors at once.
//!
//! A reader describes an object once, as data ([`Object`]). [`Fields::read`] checks a mapping against it and
//! reports unknown, misspelt, refused, duplicate and missing keys, and values of the wrong kind. Every value
//! that readers get is valid or absent. The JSON Schemas come from the same tables.

mod cursor;
mod table;

use indexmap::IndexMap;
use saihai_model::Millis;

use self::cursor::called;
pub(crate) use self::cursor::duration_of;
pub use self::cursor::{BadDuration, Cursor, parse_duration};
use self::table::RefusedKey;
pub use self::table::{Field, Object, ValueKind};
use crate::diagnostic::{Area, Diagnostics, Located, Location, list_of, quoted};

/// Keys of one mapping, checked against its table.
#[derive(Debug, Clone)]
pub struct Fields<'d> {
    cursor: Cursor<'d>,
    object: &'static Object,
    given: IndexMap<&'static str, FieldValue<'d>>,
    /// Keys that an unknown key probably means. They are not reported as missing too.
    meant: Vec<&'static str>,
}

#[derive(Debug, Clone)]
struct FieldValue<'d> {
    spelling: &'static str,
    key: Location,
    value: Cursor<'d>,
    right: bool,
}

/// Name of the field that allows private keys in a mapping. Such a key holds a YAML anchor for other values.
pub(crate) const PRIVATE_KEYS: &str = "_…";

impl<'d> Fields<'d> {
    /// Checks a mapping against its table. Returns `None` if the value is not a mapping.
    pub fn read(cursor: &Cursor<'d>, object: &'static Object, diagnostics: &mut Diagnostics) -> Option<Self> {
        let fields = Self::open(cursor, object, diagnostics)?;
        fields.missing().into_iter().for_each(|name| fields.say_missing(&[name], diagnostics));
        Some(fields)
    }

    /// Like [`Fields::read`], with a single error for all missing keys.
    pub(crate) fn read_at_once(
        cursor: &Cursor<'d>,
        object: &'static Object,
        diagnostics: &mut Diagnostics,
    ) -> Option<Self> {
        let fields = Self::open(cursor, object, diagnostics)?;
        let missing = fields.missing();
        if !missing.is_empty() {
            fields.say_missing(&missing, diagnostics);
        }
        Some(fields)
    }

    fn open(cursor: &Cursor<'d>, object: &'static Object, diagnostics: &mut Diagnostics) -> Option<Self> {
        if !cursor.must_be(&ValueKind::Object(object), diagnostics) {
            return None;
        }
        let mut fields = Self { cursor: cursor.clone(), object, given: IndexMap::new(), meant: Vec::new() };
        for (key, value) in cursor.entries() {
            fields.take(key, value, diagnostics);
        }
        Some(fields)
    }

    /// Returns the missing required keys.
    fn missing(&self) -> Vec<&'static str> {
        let required = self.object.fields.iter().filter(|field| field.required).map(|field| field.name);
        required.filter(|name| self.is_missing(name)).collect()
    }

    fn say_missing(&self, names: &[&str], diagnostics: &mut Diagnostics) {
        let listed = list_of(names.iter().copied(), "and");
        let at = self.location();
        // H-10, H-63: name the hat and the missing keys.
        let in_hats = at.file.area() == Area::Hats && !at.path.is_root();
        let needing = if in_hats { quoted(&at.path.to_string()) } else { self.object.title.to_owned() };
        let message = format!("{needing} needs {listed}");
        let fields = names.iter().filter_map(|name| self.object.field(name)).filter(|_| in_hats);
        let hints = fields.map(|field| format!("`{}`: {}", field.name, field.about));
        let hint = Some(hints.collect::<Vec<_>>().join("; ")).filter(|hint| !hint.is_empty());
        let is = if names.len() == 1 { "is" } else { "are" };
        let label = format!("{listed} {is} missing here");
        diagnostics.push(at.error("missing-key", message).label(label).maybe_hint(hint));
    }

    /// Returns true if a key is absent and no unknown key looks like it. A misspelt key is one error, not two.
    pub fn is_missing(&self, name: &str) -> bool {
        !self.has(name) && !self.meant.contains(&name)
    }

    /// Returns true if a key is present, valid or not.
    pub fn has(&self, name: &str) -> bool {
        self.given(name).is_some()
    }

    /// Returns true if a key is present with a value of the right kind.
    pub fn is_right(&self, name: &str) -> bool {
        self.given(name).is_some_and(|given| given.right)
    }

    /// Returns the spelling in the file: the name of the key or one of its aliases.
    pub fn spelling(&self, name: &str) -> Option<&'static str> {
        self.given(name).map(|given| given.spelling)
    }

    /// Returns the location of the key itself.
    pub fn key(&self, name: &str) -> Option<&Location> {
        self.given(name).map(|given| &given.key)
    }

    pub(crate) fn document(&self) -> &'d crate::Document {
        self.cursor.document()
    }

    pub fn table(&self) -> &'static Object {
        self.object
    }

    /// Returns all known keys of the mapping, in file order.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.given.keys().copied()
    }

    /// Returns the locations of the keys without effect: idle ones, and refused ones that are off.
    pub fn idle_keys(&self) -> impl Iterator<Item = &Location> {
        let is_idle =
            |name: &str| self.object.field(name).is_some_and(|field| field.idle || field.unless_off);
        self.given.iter().filter(move |(name, _)| is_idle(name)).map(|(_, given)| &given.key)
    }

    pub fn location(&self) -> Location {
        self.cursor.location()
    }

    /// Returns a value of any kind, if it has the kind that the table requires.
    pub fn any(&self, name: &str) -> Option<Cursor<'d>> {
        self.given(name).filter(|given| given.right).map(|given| given.value.clone())
    }

    pub fn text(&self, name: &str) -> Option<Located<String>> {
        self.any(name)?.text()
    }

    /// Returns a list of texts, or a single text where the table allows one.
    pub fn texts(&self, name: &str) -> Option<Vec<Located<String>>> {
        let value = self.any(name)?;
        match value.node().as_list() {
            Some(_) => Some(value.items().filter_map(|item| item.text()).collect()),
            None => value.text().map(|text| vec![text]),
        }
    }

    pub fn bool(&self, name: &str) -> Option<Located<bool>> {
        let value = self.any(name)?;
        value.node().as_bool().map(|bool| value.located(bool))
    }

    /// Returns an integer in the range of the table.
    pub fn integer(&self, name: &str) -> Option<Located<i64>> {
        let value = self.any(name)?;
        value.node().as_integer().map(|number| value.located(number))
    }

    /// Returns a non-negative integer in the range of the table.
    pub fn count(&self, name: &str) -> Option<Located<u32>> {
        let number = self.integer(name)?;
        let count = u32::try_from(number.value).ok()?;
        Some(number.map(|_| count))
    }

    pub fn number(&self, name: &str) -> Option<Located<f64>> {
        let value = self.any(name)?;
        value.node().as_number().map(|number| value.located(number))
    }

    pub fn duration(&self, name: &str) -> Option<Located<Millis>> {
        let value = self.any(name)?;
        value.duration().map(|length| value.located(length))
    }

    /// Returns the items of a list; empty if the key is missing or invalid.
    pub fn list(&self, name: &str) -> Vec<Cursor<'d>> {
        self.any(name).map(|value| value.items().collect()).unwrap_or_default()
    }

    /// Returns the entries of a mapping with free names; empty if the key is missing or invalid.
    pub fn map(&self, name: &str) -> Vec<(Located<String>, Cursor<'d>)> {
        self.any(name).map(|value| value.entries().collect()).unwrap_or_default()
    }

    /// Reads a nested object and checks it against its own table.
    pub fn object(
        &self,
        name: &str,
        object: &'static Object,
        diagnostics: &mut Diagnostics,
    ) -> Option<Fields<'d>> {
        Fields::read(&self.any(name)?, object, diagnostics)
    }

    fn given(&self, name: &str) -> Option<&FieldValue<'d>> {
        debug_assert!(self.object.field(name).is_some(), "`{name}` is in no table of {}", self.object.title);
        self.given.get(name)
    }

    fn hint_for_unknown(&self, meant: &[(&'static Field, &'static str)]) -> String {
        if meant.is_empty() {
            return format!("{} has the keys {}", self.object.title, list_of(self.object.known(), "and"));
        }
        format!("did you mean {}?", list_of(meant.iter().map(|(_, spelling)| *spelling), "or"))
    }

    fn take(&mut self, key: Located<String>, value: Cursor<'d>, diagnostics: &mut Diagnostics) {
        let is_private = key.value.starts_with('_') || key.value.starts_with("x-");
        if is_private && self.object.field(PRIVATE_KEYS).is_some() {
            return;
        }
        let Some((field, spelling)) = self.object.find(&key.value) else {
            // Comparing words is slow, so a list that is already full gets no more suggestions.
            let has_room = diagnostics.has_room();
            let meant = if has_room { self.object.meant_by(&key.value) } else { Vec::new() };
            self.meant.extend(meant.iter().map(|(field, _)| field.name));
            let hint = has_room.then(|| self.hint_for_unknown(&meant));
            let message = format!("unknown key {}", called(&key.at, &key.value));
            let label = format!("not a key of {}", self.object.title);
            diagnostics.push(key.error("unknown-key", message).label(label).maybe_hint(hint));
            return;
        };
        if let ValueKind::Refused(refused) = field.kind {
            if field.unless_off && value.is_off() {
                // The reader of the file reports that the key has no effect.
                self.given.insert(field.name, FieldValue { spelling, key: key.at, value, right: true });
                return;
            }
            let slug = field.slug.unwrap_or("not-supported");
            let diagnostic = key.error(slug, format!("{} {}", called(&key.at, spelling), refused.words()));
            // H-63: every other reason contains an alternative.
            let is_bare = key.at.file.area() == Area::Hats && refused == RefusedKey::Unsupported;
            diagnostics.push(diagnostic.maybe_hint(is_bare.then(|| "remove it".to_owned())));
            return;
        }
        if let Some(first) = self.given.get(field.name) {
            let message = format!("`{}` and `{spelling}` are two spellings of one key", first.spelling);
            let diagnostic = key.error("duplicate-field", message).label("given again");
            diagnostics.push(diagnostic.also(&first.key, "first given here"));
            return;
        }
        let right = value.must_be(&field.kind, diagnostics);
        self.given.insert(field.name, FieldValue { spelling, key: key.at, value, right });
    }
}

#[cfg(test)]
mod tests;
