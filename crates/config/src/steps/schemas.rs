//! Schemas in separate files, found by file and name. References are replaced by their targets (S-14).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai_model::Json;
use serde_json::{Map, json};

use super::json_schema::{self, UnusableSchema};
use super::output::{Key, Output};
use super::paths::Paths;
use super::tables;
use crate::{Area, Cursor, Diagnostics, Document, Fields, Located, Location, quoted};

const BASE: &str = "schemas";
/// Maximum number of values in a schema after references are replaced.
const MOST: usize = 100_000;

const DEEPEST: usize = 20;

pub(super) struct Schemas<'a> {
    paths: &'a Paths<'a>,
    base: Option<PathBuf>,
    files: BTreeMap<PathBuf, Option<Json>>,
}

impl<'a> Schemas<'a> {
    /// Creates a loader. `written` is relative to the agent's directory.
    pub(super) fn new(
        paths: &'a Paths<'a>,
        written: Option<&Located<String>>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let base = match written {
            Some(written) => paths.below(written).map_err(|escape| diagnostics.push(*escape)).ok(),
            None => Some(paths.directory.join(BASE)),
        };
        Self { paths, base, files: BTreeMap::new() }
    }

    /// Returns the files read so far.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().filter(|(_, read)| read.is_some()).map(|(path, _)| path)
    }

    /// Changes the directory. `written` is relative to the project root.
    pub(super) fn move_to(&mut self, written: &Located<String>, diagnostics: &mut Diagnostics) {
        let root = &self.paths.places.root;
        self.base = self.paths.inside(root, written).map_err(|escape| diagnostics.push(*escape)).ok();
    }

    /// Loads the schema that a step refers to.
    pub(super) fn output(&mut self, value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> Option<Output> {
        let fields = Fields::read(value, &tables::SCHEMA_REF, diagnostics)?;
        let (file, name) = (fields.text("file")?, fields.text("schema")?);
        let base = self.base.clone()?;
        let path = match self.paths.inside(&base, &file) {
            Ok(path) => path,
            Err(escape) => {
                diagnostics.push(*escape);
                return None;
            }
        };
        let root = self.open(&path, &file.at, diagnostics)?;
        let Some(pointer) = place_of(&root, &name.value) else {
            let shown = self.paths.places.shown(&path);
            let message = format!("there is no schema {} in {}", quoted(&name.value), quoted(&shown));
            let known = root.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
            let hint = diagnostics.suggest(&name.value, known);
            diagnostics.push(name.error("bad-value", message).label("no such schema").maybe_hint(hint));
            return None;
        };
        let mut whole = Whole { schemas: self, at: &name.at, diagnostics, open: Vec::new(), size: 0 };
        let usable = |schema: Json| match json_schema::check(&schema).into_iter().next() {
            None => Ok(schema),
            Some(UnusableSchema { pointer, why, .. }) if pointer.is_empty() => Err(why),
            Some(UnusableSchema { pointer, why, .. }) => Err(format!("at {}: {why}", quoted(&pointer))),
        };
        match whole.target(&path, &pointer).and_then(usable) {
            Ok(schema) => {
                let mut keys = BTreeMap::new();
                collect_keys(&schema, &mut keys);
                let keys = keys
                    .into_iter()
                    .map(|(key, certain)| Key { name: Located::new(key, name.at.clone()), certain });
                Some(Output { keys: keys.collect(), schema })
            }
            Err(why) => {
                let message = format!("the schema {} cannot be used: {why}", quoted(&name.value));
                diagnostics.push(name.error("bad-value", message));
                None
            }
        }
    }

    fn open(&mut self, path: &Path, at: &Location, diagnostics: &mut Diagnostics) -> Option<Json> {
        if let Some(read) = self.files.get(path) {
            return read.clone();
        }
        let shown = self.paths.places.shown(path);
        let read = match self.paths.source.kind(path) {
            Some(_) => Document::load(self.paths.source, path, &shown, Area::Steps, diagnostics),
            None => {
                let message = format!("the file {} does not exist", quoted(&shown));
                diagnostics.push(at.error("bad-file", message).label("no file of schemas"));
                None
            }
        };
        let read = read.map(|document| document.root.to_json());
        self.files.insert(path.to_owned(), read.clone());
        read
    }
}

/// Returns the JSON pointer to a schema in a file, by its name.
fn place_of(root: &Json, name: &str) -> Option<String> {
    let escaped = name.replace('~', "~0").replace('/', "~1");
    let places = [format!("/{escaped}"), format!("/$defs/{escaped}"), format!("/definitions/{escaped}")];
    let written = name.strip_prefix('#').map(str::to_owned);
    let mut places = written.into_iter().chain(places);
    places.find(|place| root.pointer(place).is_some_and(Json::is_object))
}

/// State of replacing the references in one schema.
struct Whole<'s, 'a, 'd> {
    schemas: &'s mut Schemas<'a>,
    at: &'d Location,
    diagnostics: &'d mut Diagnostics,
    open: Vec<(PathBuf, String)>,
    size: usize,
}

impl Whole<'_, '_, '_> {
    /// Returns the target of a reference, with its own references replaced.
    fn target(&mut self, file: &Path, pointer: &str) -> Result<Json, String> {
        let key = (file.to_owned(), pointer.to_owned());
        if self.open.contains(&key) {
            return Err(format!("{} contains itself", quoted(pointer)));
        }
        if self.open.len() >= DEEPEST {
            return Err(format!("it refers to a schema that refers to a schema, more than {DEEPEST} times"));
        }
        let root = self.schemas.open(file, self.at, self.diagnostics);
        let root =
            root.ok_or_else(|| format!("{} cannot be read", quoted(&self.schemas.paths.places.shown(file))))?;
        let Some(value) = root.pointer(pointer) else {
            return Err(format!("nothing stands at {}", quoted(pointer)));
        };
        self.open.push(key);
        let whole = self.schema(file, value);
        self.open.pop();
        whole
    }

    fn schema(&mut self, file: &Path, value: &Json) -> Result<Json, String> {
        self.size += 1;
        if self.size > MOST {
            return Err("it is too large with all it refers to".to_owned());
        }
        match value {
            Json::Object(object) => self.object(file, object),
            Json::Array(items) => items.iter().map(|item| self.schema(file, item)).collect(),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Ok(value.clone()),
        }
    }

    fn object(&mut self, file: &Path, object: &Map<String, Json>) -> Result<Json, String> {
        let mut whole = Map::new();
        for (key, value) in object {
            let value = match (key.as_str(), value) {
                // Definitions are copied to the place of each reference, so they are not needed here.
                ("$defs" | "definitions" | "$id" | "$schema" | "$ref", _) => continue,
                ("enum" | "const" | "default" | "examples", value) => value.clone(),
                // The keys here are names, not keywords.
                ("properties" | "patternProperties" | "dependentSchemas", Json::Object(named)) => {
                    let mut inner = Map::new();
                    for (name, schema) in named {
                        inner.insert(name.clone(), self.schema(file, schema)?);
                    }
                    Json::Object(inner)
                }
                (_, value) => self.schema(file, value)?,
            };
            whole.insert(key.clone(), value);
        }
        let Some(reference) = object.get("$ref").and_then(Json::as_str) else {
            return Ok(Json::Object(whole));
        };
        let target = self.follow(file, reference)?;
        if whole.keys().all(|key| matches!(key.as_str(), "description" | "title")) {
            return Ok(target);
        }
        Ok(json!({"allOf": [target, whole]}))
    }

    fn follow(&mut self, file: &Path, reference: &str) -> Result<Json, String> {
        let (other, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if other.contains("://") {
            return Err(format!("{} is not a file", quoted(reference)));
        }
        if other.is_empty() {
            return self.target(file, pointer);
        }
        let directory = file.parent().unwrap_or(Path::new(""));
        let written = Located::new(other.to_owned(), self.at.clone());
        let other =
            self.schemas.paths.inside(directory, &written).map_err(|escape| escape.message.clone())?;
        self.target(&other, pointer)
    }
}

/// Collects the keys of a schema. The value is true if the key is always present.
fn collect_keys(schema: &Json, keys: &mut BTreeMap<String, bool>) {
    let required: Vec<&str> = match schema.get("required").and_then(Json::as_array) {
        Some(names) => names.iter().filter_map(Json::as_str).collect(),
        None => Vec::new(),
    };
    for (name, property) in schema.get("properties").and_then(Json::as_object).into_iter().flatten() {
        let certain = required.contains(&name.as_str()) || property.get("default").is_some();
        *keys.entry(name.clone()).or_default() |= certain;
    }
    for name in required {
        keys.entry(name.to_owned()).and_modify(|certain| *certain = true);
    }
    for part in schema.get("allOf").and_then(Json::as_array).into_iter().flatten() {
        collect_keys(part, keys);
    }
}
