//! Checks a schema before its use.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::number::is_integer;
use crate::{JsonSchema, JsonSchemaError, JsonSchemaProblem, escaped, pattern};

pub(crate) const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Maximum chain of references and combinations at the same value. It bounds the stack.
const LONGEST_CHAIN: usize = 32;

/// Form of a keyword's value.
#[derive(Clone, Copy)]
enum KeywordForm {
    Annotation,
    /// An identifier. Allowed only at the top, because further down it would change the meaning of references.
    Identifier,
    Schema,
    Schemas,
    SchemasByName,
    SchemasByPattern,
    Types,
    Anything,
    List,
    Names,
    NamesByName,
    Pattern,
    Reference,
    Count,
    Number,
    Positive,
    Flag,
}

const KEYWORDS: &[(&str, KeywordForm)] = {
    use KeywordForm as Form;
    &[
        ("$comment", Form::Annotation),
        ("$defs", Form::SchemasByName),
        ("$id", Form::Identifier),
        ("$ref", Form::Reference),
        ("$schema", Form::Annotation),
        ("additionalProperties", Form::Schema),
        ("allOf", Form::Schemas),
        ("anyOf", Form::Schemas),
        ("const", Form::Anything),
        ("contains", Form::Schema),
        ("contentEncoding", Form::Annotation),
        ("contentMediaType", Form::Annotation),
        ("contentSchema", Form::Annotation),
        ("default", Form::Annotation),
        ("definitions", Form::SchemasByName),
        ("dependentRequired", Form::NamesByName),
        ("dependentSchemas", Form::SchemasByName),
        ("deprecated", Form::Annotation),
        ("description", Form::Annotation),
        ("else", Form::Schema),
        ("enum", Form::List),
        ("examples", Form::Annotation),
        ("exclusiveMaximum", Form::Number),
        ("exclusiveMinimum", Form::Number),
        ("format", Form::Annotation),
        ("if", Form::Schema),
        ("items", Form::Schema),
        ("maxContains", Form::Count),
        ("maxItems", Form::Count),
        ("maxLength", Form::Count),
        ("maxProperties", Form::Count),
        ("maximum", Form::Number),
        ("minContains", Form::Count),
        ("minItems", Form::Count),
        ("minLength", Form::Count),
        ("minProperties", Form::Count),
        ("minimum", Form::Number),
        ("multipleOf", Form::Positive),
        ("not", Form::Schema),
        ("oneOf", Form::Schemas),
        ("pattern", Form::Pattern),
        ("patternProperties", Form::SchemasByPattern),
        ("prefixItems", Form::Schemas),
        ("properties", Form::SchemasByName),
        ("propertyNames", Form::Schema),
        ("readOnly", Form::Annotation),
        ("required", Form::Names),
        ("then", Form::Schema),
        ("title", Form::Annotation),
        ("type", Form::Types),
        ("uniqueItems", Form::Flag),
        ("writeOnly", Form::Annotation),
    ]
};

pub(crate) fn keywords() -> impl Iterator<Item = &'static str> {
    KEYWORDS.iter().map(|(keyword, _)| *keyword)
}

fn form(keyword: &str) -> Option<KeywordForm> {
    // The prefix `x-` marks custom annotations.
    if keyword.starts_with("x-") {
        return Some(KeywordForm::Annotation);
    }
    KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, form)| *form)
}

pub(crate) fn compile(root: &Value) -> Result<JsonSchema, Vec<JsonSchemaError>> {
    let mut check =
        SchemaCheck { root, errors: Vec::new(), patterns: BTreeMap::new(), checked: BTreeSet::new() };
    check.schema(root, "");
    if check.errors.is_empty() {
        check.chains();
    }
    match check.errors.is_empty() {
        true => Ok(JsonSchema { root: root.clone(), patterns: check.patterns }),
        false => Err(check.errors),
    }
}

struct SchemaCheck<'a> {
    root: &'a Value,
    errors: Vec<JsonSchemaError>,
    patterns: BTreeMap<String, fancy_regex::Regex>,
    /// Pointers of the schemas checked so far. A reference may lead to a place that no keyword leads to.
    checked: BTreeSet<String>,
}

impl<'a> SchemaCheck<'a> {
    fn wrong(&mut self, pointer: &str, problem: JsonSchemaProblem) {
        self.errors.push(JsonSchemaError { pointer: pointer.to_owned(), problem });
    }

    fn schema(&mut self, schema: &'a Value, pointer: &str) {
        if !self.checked.insert(pointer.to_owned()) {
            return;
        }
        match schema {
            Value::Bool(_) => {}
            Value::Object(keywords) => {
                for (keyword, value) in keywords {
                    self.keyword(keyword, value, &below(pointer, keyword), pointer.is_empty());
                }
            }
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                self.wrong(pointer, JsonSchemaProblem::NotASchema);
            }
        }
    }

    fn keyword(&mut self, keyword: &str, value: &'a Value, pointer: &str, is_top: bool) {
        let Some(form) = form(keyword) else {
            return self.wrong(pointer, JsonSchemaProblem::UnsupportedKeyword(keyword.to_owned()));
        };
        let must_be = match form {
            KeywordForm::Annotation | KeywordForm::Anything => None,
            KeywordForm::Identifier if is_top => None,
            KeywordForm::Identifier => Some("at the top of the schema"),
            KeywordForm::Schema if keyword == "items" && value.is_array() => {
                Some("one schema for all items; a list of schemas is called `prefixItems`")
            }
            KeywordForm::Schema => {
                self.schema(value, pointer);
                None
            }
            KeywordForm::Schemas => match value.as_array().filter(|list| !list.is_empty()) {
                Some(list) => {
                    list.iter()
                        .enumerate()
                        .for_each(|(at, one)| self.schema(one, &format!("{pointer}/{at}")));
                    None
                }
                None => Some("a list of schemas"),
            },
            KeywordForm::SchemasByName | KeywordForm::SchemasByPattern => match value.as_object() {
                Some(named) => {
                    if matches!(form, KeywordForm::SchemasByPattern) {
                        named.keys().for_each(|one| self.pattern(one, &below(pointer, one)));
                    }
                    named.iter().for_each(|(name, one)| self.schema(one, &below(pointer, name)));
                    None
                }
                None => Some("an object of schemas"),
            },
            KeywordForm::Types => self.types(value, pointer),
            KeywordForm::List => (!value.is_array()).then_some("a list"),
            KeywordForm::Names => (!are_names(value)).then_some("a list of names, each once"),
            KeywordForm::NamesByName => {
                let fits = value.as_object().is_some_and(|lists| lists.values().all(are_names));
                (!fits).then_some("an object of lists of names")
            }
            KeywordForm::Pattern => match value.as_str() {
                Some(text) => {
                    self.pattern(text, pointer);
                    None
                }
                None => Some("a regular expression"),
            },
            KeywordForm::Reference => match value.as_str() {
                Some(to) => {
                    self.reference(to, pointer);
                    None
                }
                None => Some("a reference such as `#/$defs/name`"),
            },
            KeywordForm::Count => count(value).is_none().then_some("a whole number from 0"),
            KeywordForm::Number => (!value.is_number()).then_some("a number"),
            KeywordForm::Positive => {
                (!value.as_f64().is_some_and(|number| number > 0.0)).then_some("a number over 0")
            }
            KeywordForm::Flag => (!value.is_boolean()).then_some("`true` or `false`"),
        };
        if let Some(must_be) = must_be {
            self.wrong(pointer, JsonSchemaProblem::WrongValue { keyword: keyword.to_owned(), must_be });
        }
    }

    fn types(&mut self, value: &Value, pointer: &str) -> Option<&'static str> {
        let names = match value {
            Value::Array(list) if !list.is_empty() => list.as_slice(),
            one @ Value::String(_) => std::slice::from_ref(one),
            Value::Array(_) | Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => &[],
        };
        if names.is_empty() || !names.iter().all(Value::is_string) {
            return Some("a type, or a list of types");
        }
        for name in names.iter().filter_map(Value::as_str).filter(|name| !TYPES.contains(name)) {
            self.wrong(pointer, JsonSchemaProblem::UnknownType(name.to_owned()));
        }
        None
    }

    fn pattern(&mut self, text: &str, pointer: &str) {
        match pattern::compile(text) {
            Some(regex) => drop(self.patterns.insert(text.to_owned(), regex)),
            None => self.wrong(pointer, JsonSchemaProblem::BadPattern(text.to_owned())),
        }
    }

    fn reference(&mut self, to: &str, pointer: &str) {
        match (to.starts_with('#'), target(self.root, to)) {
            (false, _) => self.wrong(pointer, JsonSchemaProblem::RemoteReference(to.to_owned())),
            (true, None) => self.wrong(pointer, JsonSchemaProblem::MissingTarget(to.to_owned())),
            (true, Some((pointer, schema))) => self.schema(schema, &pointer),
        }
    }

    /// Refuses references that lead back to themselves at the same value: validation would never end.
    fn chains(&mut self) {
        for pointer in std::mem::take(&mut self.checked) {
            let Some(keywords) = self.root.pointer(&pointer).and_then(Value::as_object) else { continue };
            if let Some(to) = keywords.get("$ref").and_then(Value::as_str)
                && chain(self.root, keywords, LONGEST_CHAIN).is_none()
            {
                let pointer = below(&pointer, "$ref");
                self.wrong(&pointer, JsonSchemaProblem::EndlessReference(to.to_owned()));
            }
        }
    }
}

/// Counts the references and combinations in a row at the same value. Returns `None` if there are more than `room`.
fn chain(root: &Value, keywords: &Map<String, Value>, room: usize) -> Option<usize> {
    let room = room.checked_sub(1)?;
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|one| keywords.get(one)?.as_array());
    let single = ["not", "if", "then", "else"].into_iter().filter_map(|one| keywords.get(one));
    let named = keywords.get("dependentSchemas").and_then(Value::as_object);
    let to = keywords.get("$ref").and_then(Value::as_str).and_then(|to| target(root, to));
    let inner = lists.flatten().chain(single).chain(named.into_iter().flat_map(Map::values));
    let mut longest = 0;
    for schema in inner.chain(to.map(|(_, schema)| schema)).filter_map(Value::as_object) {
        longest = longest.max(chain(root, schema, room)?);
    }
    Some(longest + 1)
}

/// Resolves a reference to its pointer and schema. `#/a%20b` is the URI form of `/a b`.
pub(crate) fn target<'a>(root: &'a Value, reference: &str) -> Option<(String, &'a Value)> {
    let fragment = reference.strip_prefix('#')?;
    let bytes = fragment.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let escape = fragment.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let (byte, length) = match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => (byte, 3),
            None => (bytes[at], 1),
        };
        plain.push(byte);
        at += length;
    }
    let pointer = String::from_utf8(plain).ok()?;
    let schema = root.pointer(&pointer)?;
    Some((pointer, schema))
}

/// Parses a count, also in the form `2.0`.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let whole = value.as_f64().filter(|number| *number >= 0.0 && is_integer(value) && *number < 1e15);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked above")]
    value.as_u64().or_else(|| whole.map(|number| number as u64))
}

fn are_names(value: &Value) -> bool {
    let Some(list) = value.as_array() else { return false };
    let names: BTreeSet<&str> = list.iter().filter_map(Value::as_str).collect();
    names.len() == list.len()
}

fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", escaped(name))
}
