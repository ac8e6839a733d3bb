//! One source of settings, flattened: a file, a variable or a flag.

use std::sync::Arc;

use super::tables::SETTINGS;
use super::values::{Setting, SettingOrigin};
use crate::diagnostic::{Area, Diagnostics, DocumentPath, Location, SourceFile, Span};
use crate::document::{Document, Format, Node, Value};
use crate::fields::{Cursor, Fields, Kind};

/// Values that one source sets, in source order.
pub(super) type Layer = Vec<(DocumentPath, Setting)>;

/// Reads the values of a file. Reports invalid ones and leaves them out.
pub(super) fn of_file(
    document: &Document,
    origin: fn(Location) -> SettingOrigin,
    diagnostics: &mut Diagnostics,
) -> Layer {
    let mut layer = Layer::new();
    if let Some(fields) = Fields::read(&document.cursor(), &SETTINGS, diagnostics) {
        let mut flat = Flat { origin, layer: &mut layer, diagnostics };
        flat.object(&fields);
    }
    layer
}

struct Flat<'a> {
    origin: fn(Location) -> SettingOrigin,
    layer: &'a mut Layer,
    diagnostics: &'a mut Diagnostics,
}

impl Flat<'_> {
    fn object(&mut self, fields: &Fields<'_>) {
        for name in fields.keys() {
            let (Some(value), Some(field)) = (fields.any(name), fields.table().field(name)) else { continue };
            self.value(&value, &field.kind);
        }
    }

    fn value(&mut self, value: &Cursor<'_>, kind: &Kind) {
        match kind {
            Kind::Object(object) => {
                if let Some(fields) = Fields::read(value, object, self.diagnostics) {
                    self.object(&fields);
                }
            }
            Kind::Map(kind) => {
                for (_, value) in value.entries() {
                    self.value(&value, kind);
                    // Keep an empty table: its name may be wrong and needs a check.
                    if kind.object().is_some() && value.entries().next().is_none() {
                        self.leaf(&value);
                    }
                }
            }
            Kind::Text
            | Kind::Path
            | Kind::Bool
            | Kind::Integer { .. }
            | Kind::Number { .. }
            | Kind::Duration { .. }
            | Kind::OneOf(_)
            | Kind::List(_)
            | Kind::Filled(_)
            | Kind::Single(_)
            | Kind::Either(_)
            | Kind::Any
            | Kind::Refused(_) => self.leaf(value),
        }
    }

    fn leaf(&mut self, value: &Cursor<'_>) {
        let at = value.location();
        let origin = (self.origin)(at.clone());
        self.layer.push((value.path().clone(), Setting { node: value.node().clone(), at, origin }));
    }
}

/// Reads one key from the text of a variable or a flag, under its display name. Lists are JSON.
pub(super) fn of_text(
    key: DocumentPath,
    kind: &Kind,
    text: &str,
    origin: SettingOrigin,
    diagnostics: &mut Diagnostics,
) -> Option<(DocumentPath, Setting)> {
    let name = origin.to_string();
    let file = Arc::new(SourceFile::new(Area::Settings, name.as_str(), text));
    let span = Span::new(0, file.text().len());
    let root = match kind {
        Kind::List(_) | Kind::Filled(_) => {
            Document::parse(text.as_bytes(), Format::Json, &name, Area::Settings, diagnostics)?.root
        }
        Kind::Bool => Node { value: bool_of(text), span },
        Kind::Integer { .. } | Kind::Number { .. } => Node { value: number_of(text), span },
        Kind::Text
        | Kind::Path
        | Kind::Duration { .. }
        | Kind::OneOf(_)
        | Kind::Map(_)
        | Kind::Single(_)
        | Kind::Object(_)
        | Kind::Either(_)
        | Kind::Any
        | Kind::Refused(_) => Node { value: Value::Text(text.into()), span },
    };
    let document = Document { file, root };
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
pub(super) fn key_of_words(words: &[&str], names: &[&str]) -> Option<(DocumentPath, Kind)> {
    let mut path = DocumentPath::root();
    let mut kind = Kind::Object(&SETTINGS);
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
