//! JSON output of a reply: the short form, a JSON Schema, or a schema in its own file (S-8, S-14, S-45).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai_json_schema::{JsonSchema, JsonSchemaProblem};
use saihai_model::Json;
use serde_json::{Map, json};

use super::agent_files::AgentPaths;
use super::shape::{FileSection, checked_part};
use super::tables;
use crate::{
    Area, Cursor, Diagnostics, Document, Located, Location, Node, Value, ValueKind, did_you_mean, quoted,
    quoted_path,
};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct StepOutput {
    pub(super) schema: Json,
    pub(super) keys: Vec<OutputKey>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct OutputKey {
    pub(super) name: Located<String>,
    /// True if every valid output has the key.
    pub(super) certain: bool,
}

impl StepOutput {
    /// Reads the short form or a JSON Schema. In a JSON Schema, `type` is a string.
    pub(super) fn read(value: &Cursor<'_>, step: &str, diagnostics: &mut Diagnostics) -> Option<Self> {
        if !value.must_be(&ValueKind::Map(&ValueKind::Any), diagnostics) {
            return None;
        }
        let is_schema = value.get("type").is_some_and(|kind| kind.node().as_text().is_some());
        Some(if is_schema { of_schema(value, diagnostics) } else { of_short(value, step, diagnostics) })
    }
}

fn of_schema(value: &Cursor<'_>, diagnostics: &mut Diagnostics) -> StepOutput {
    for UnusableSchema { pointer, why, hint } in unusable_parts(&value.node().to_json()) {
        let message = format!("this schema cannot be used: {why}");
        let diagnostic = value_at(value, &pointer).error("bad-value", message).label("no value matches this");
        diagnostics.push(diagnostic.maybe_hint(hint));
    }
    let required: Vec<String> = value
        .get("required")
        .map(|list| list.items().filter_map(|item| Some(item.text()?.value)).collect())
        .unwrap_or_default();
    let properties = value.get("properties").map(|map| map.entries().collect::<Vec<_>>()).unwrap_or_default();
    let keys = properties.into_iter().map(|(name, property)| {
        let certain = required.contains(&name.value) || property.get("default").is_some();
        OutputKey { certain, name }
    });
    StepOutput { keys: keys.collect(), schema: value.node().to_json() }
}

/// Returns the value at a JSON pointer, or its deepest existing ancestor.
fn value_at<'d>(value: &Cursor<'d>, pointer: &str) -> Cursor<'d> {
    let mut here = value.clone();
    for step in pointer.split('/').skip(1) {
        let key = step.replace("~1", "/").replace("~0", "~");
        let next = here.get(&key).or_else(|| here.items().nth(key.parse().ok()?));
        let Some(next) = next else { break };
        here = next;
    }
    here
}

fn of_short(value: &Cursor<'_>, step: &str, diagnostics: &mut Diagnostics) -> StepOutput {
    let schema = json!({"type": "object", "properties": {}, "required": []});
    let mut output = StepOutput { schema, keys: Vec::new() };
    for (name, entry) in value.entries() {
        match name.value.as_str() {
            "$namespace" => {
                let written = entry.node().as_text().unwrap_or_default();
                if written != step {
                    let message = format!("`$namespace` must be {}, not {}", quoted(step), quoted(written));
                    diagnostics.push(entry.error("bad-value", message).label("not the step's id"));
                }
            }
            "$strict" => {
                if entry.must_be(&ValueKind::Bool, diagnostics) && entry.node().as_bool() == Some(true) {
                    output.schema["additionalProperties"] = json!(false);
                }
            }
            _ => read_property(name, &entry, &mut output, diagnostics),
        }
    }
    output
}

/// Adds an output of the short form to the schema.
fn read_property(
    name: Located<String>,
    value: &Cursor<'_>,
    output: &mut StepOutput,
    diagnostics: &mut Diagnostics,
) {
    let Some(property) = checked_part(value, &tables::OUTPUT_PROPERTY, diagnostics) else { return };
    let Some(kind) = property.word("type") else { return };
    let required = property.flag("required").is_none_or(|flag| flag.value);
    let mut schema = json!({"type": kind});
    if let Some(description) = property.word("description") {
        schema["description"] = description.into();
    }
    if let Some(default) = property.any("default") {
        if required {
            let message = "`default` is only for an output with `\"required\": false`";
            diagnostics.push(default.error("bad-value", message).label("never used"));
        }
        if !is_of(default.node(), &kind) {
            let message = format!("the default must be of type `{kind}`");
            diagnostics.push(default.error("bad-type", message).label(default.node().value.kind()));
        }
        schema["default"] = default.node().to_json();
    }
    if required && let Some(names) = output.schema["required"].as_array_mut() {
        names.push(name.value.as_str().into());
    }
    output.schema["properties"][&name.value] = schema;
    output.keys.push(OutputKey { certain: required || property.has("default"), name });
}

fn is_of(node: &Node, kind: &str) -> bool {
    match &node.value {
        Value::Text(_) | Value::Date(_) => kind == "string",
        Value::Integer(_) | Value::Float(_) => kind == "number",
        Value::Bool(_) => kind == "boolean",
        Value::List(_) => kind == "array",
        Value::Map(_) => kind == "object",
        Value::Null => false,
    }
}

const SCHEMAS_DIRECTORY: &str = "schemas";
/// Maximum number of values in a schema after references are replaced.
const LARGEST_SCHEMA: usize = 100_000;

const DEEPEST_REFERENCE: usize = 20;

pub(super) struct SchemaFiles<'a> {
    paths: &'a AgentPaths<'a>,
    base: Option<PathBuf>,
    files: BTreeMap<PathBuf, Option<Json>>,
}

impl<'a> SchemaFiles<'a> {
    /// Creates a loader. `written` is relative to the agent's directory.
    pub(super) fn new(
        paths: &'a AgentPaths<'a>,
        written: Option<&Located<String>>,
        diagnostics: &mut Diagnostics,
    ) -> Self {
        let base = match written {
            Some(written) => paths.below(written, diagnostics),
            None => Some(paths.directory.join(SCHEMAS_DIRECTORY)),
        };
        Self { paths, base, files: BTreeMap::new() }
    }

    /// Returns the files read so far.
    pub(super) fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().filter(|(_, read)| read.is_some()).map(|(path, _)| path)
    }

    /// Changes the directory. `written` is relative to the project root.
    pub(super) fn move_to(&mut self, written: &Located<String>, diagnostics: &mut Diagnostics) {
        self.base = self.paths.inside(&self.paths.places.root, written, diagnostics);
    }

    /// Loads the schema that `outputSchemaRef` of a step names.
    pub(super) fn output(
        &mut self,
        reference: &FileSection<'_>,
        diagnostics: &mut Diagnostics,
    ) -> Option<StepOutput> {
        let (file, name) = (reference.text("file")?, reference.text("schema")?);
        let path = self.paths.inside(self.base.as_ref()?, &file, diagnostics)?;
        let root = self.open(&path, &file.at, diagnostics)?;
        let Some(pointer) = place_of(&root, &name.value) else {
            let shown = self.paths.places.shown(&path);
            let message = format!("no schema {} in {}", quoted(&name.value), quoted_path(&shown));
            let known = root.as_object().into_iter().flat_map(Map::keys).map(String::as_str);
            let hint = diagnostics.suggest(&name.value, known);
            diagnostics.push(name.error("bad-value", message).label("no such schema").maybe_hint(hint));
            return None;
        };
        let mut whole =
            SchemaExpander { schemas: self, at: &name.at, diagnostics, open: Vec::new(), size: 0 };
        let usable = |schema: Json| match unusable_parts(&schema).into_iter().next() {
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
                    .map(|(key, certain)| OutputKey { name: Located::new(key, name.at.clone()), certain });
                Some(StepOutput { keys: keys.collect(), schema })
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
                let message = format!("the file {} does not exist", quoted_path(&shown));
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
struct SchemaExpander<'s, 'a, 'd> {
    schemas: &'s mut SchemaFiles<'a>,
    at: &'d Location,
    diagnostics: &'d mut Diagnostics,
    open: Vec<(PathBuf, String)>,
    size: usize,
}

impl SchemaExpander<'_, '_, '_> {
    /// Returns the target of a reference, with its own references replaced.
    fn target(&mut self, file: &Path, pointer: &str) -> Result<Json, String> {
        let key = (file.to_owned(), pointer.to_owned());
        if self.open.contains(&key) {
            return Err(format!("{} contains itself", quoted(pointer)));
        }
        if self.open.len() >= DEEPEST_REFERENCE {
            return Err(format!(
                "it refers to a schema that refers to a schema, more than {DEEPEST_REFERENCE} times"
            ));
        }
        let root = self.schemas.open(file, self.at, self.diagnostics);
        let root = root.ok_or_else(|| {
            format!("{} cannot be read", quoted_path(&self.schemas.paths.places.shown(file)))
        })?;
        let Some(value) = root.pointer(pointer) else {
            return Err(format!("nothing exists at {}", quoted(pointer)));
        };
        self.open.push(key);
        let whole = self.schema(file, value);
        self.open.pop();
        whole
    }

    fn schema(&mut self, file: &Path, value: &Json) -> Result<Json, String> {
        self.size += 1;
        if self.size > LARGEST_SCHEMA {
            return Err("it is too large with all its references".to_owned());
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
            self.schemas.paths.resolve(directory, &written).map_err(|escape| escape.message.clone())?;
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

/// Reason why no reply can match a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnusableSchema {
    /// JSON pointer into the schema.
    pub(super) pointer: String,
    pub(super) why: String,
    pub(super) hint: Option<String>,
}

/// Compiles a schema as judgment does. A reply is an object, so it must not reject all objects.
pub(super) fn unusable_parts(schema: &Json) -> Vec<UnusableSchema> {
    if let Err(errors) = JsonSchema::compile(schema) {
        let unusable = errors.into_iter().map(|error| {
            let (pointer, why) = (error.pointer, error.problem.to_string());
            UnusableSchema { hint: keyword_hint(&error.problem), pointer, why }
        });
        return unusable.collect();
    }
    let takes_objects = match schema.get("type") {
        Some(Json::String(kind)) => kind == "object",
        Some(Json::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(_) | None => true,
    };
    match takes_objects {
        true => Vec::new(),
        false => vec![UnusableSchema {
            pointer: "/type".to_owned(),
            why: "a reply is an object, which this schema does not accept".to_owned(),
            hint: Some(
                "write `\"type\": \"object\"`, with the wanted value under one of its keys".to_owned(),
            ),
        }],
    }
}

fn keyword_hint(problem: &JsonSchemaProblem) -> Option<String> {
    let JsonSchemaProblem::UnsupportedKeyword(keyword) = problem else { return None };
    match keyword.as_str() {
        "nullable" => {
            Some("write `\"type\": [\"string\", \"null\"]`, with the type that is meant".to_owned())
        }
        "additionalItems" => Some("write `items` after `prefixItems`".to_owned()),
        "dependencies" => Some("write `dependentRequired` or `dependentSchemas`".to_owned()),
        other => did_you_mean(other, JsonSchema::keywords()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wrong(schema: &Json) -> String {
        let said = unusable_parts(schema).into_iter().map(|one| {
            let hint = one.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            format!("{}: {}{hint}", one.pointer, one.why)
        });
        said.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_schema_that_judgment_could_not_use_is_told_with_its_place() {
        for right in [json!({}), json!({"type": "object"}), json!({"type": ["null", "object"]})] {
            assert_eq!(wrong(&right), "", "{right}");
        }
        insta::assert_snapshot!(wrong(&json!({"type": "nonsense"})), @"/type: `nonsense` is not one of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`");
        insta::assert_snapshot!(wrong(&json!({"type": "array"})), @r#"/type: a reply is an object, which this schema does not accept (write `"type": "object"`, with the wanted value under one of its keys)"#);
        let pattern = json!({"properties": {"a": {"type": "string", "pattern": "("}}});
        insta::assert_snapshot!(wrong(&pattern), @"/properties/a/pattern: `(` is not a regular expression");
        insta::assert_snapshot!(wrong(&json!({"required": "a"})), @"/required: `required` must be a list of names, each once");
        insta::assert_snapshot!(wrong(&json!({"$ref": "https://example.com/x"})), @"/$ref: `https://example.com/x` is outside of this schema; only `#/…` can be referred to");
    }

    // Accepting a keyword without effect would promise a check that never runs.
    #[test]
    fn a_keyword_that_is_not_supported_is_refused_by_name() {
        let schema = json!({"unevaluatedProperties": false, "requird": ["a"], "properties": {"a": {"nullable": true}}});
        insta::assert_snapshot!(wrong(&schema), @r#"
        /properties/a/nullable: the keyword `nullable` is not supported (write `"type": ["string", "null"]`, with the type that is meant)
        /requird: the keyword `requird` is not supported (did you mean `required`?)
        /unevaluatedProperties: the keyword `unevaluatedProperties` is not supported
        "#);
    }
}
