//! Nodes of a document.

use std::sync::Arc;

use serde_json::{Number, Value as Json};

use crate::diagnostic::Span;

/// A value and the bytes it was written in. Cloning is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub value: Value,
    /// The bytes it was written in. What an alias stands for has the place of its anchor.
    pub span: Span,
}

/// A value. Lists and mappings are shared, so that an alias costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(Arc<str>),
    /// A date or time, as TOML knows them.
    Date(Arc<str>),
    List(Arc<[Node]>),
    /// A mapping, in the order of the file, each key once.
    Map(Arc<[Entry]>),
}

/// A key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: Arc<str>,
    /// The bytes of the key.
    pub key_span: Span,
    pub value: Node,
}

impl Value {
    /// What it is, for messages: `a list`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "nothing",
            Self::Bool(_) => "true or false",
            Self::Integer(_) => "a whole number",
            Self::Float(_) => "a number",
            Self::Text(_) => "text",
            Self::Date(_) => "a date",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

impl Node {
    /// The value of a key, where this is a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| *entry.key == *key).map(|entry| &entry.value),
            Value::Null
            | Value::Bool(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::List(_) => None,
        }
    }

    /// The text, where this is one.
    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// The whole number, where this is one.
    pub fn as_integer(&self) -> Option<i64> {
        if let Value::Integer(number) = self.value { i64::try_from(number).ok() } else { None }
    }

    /// The number, where this is one.
    #[expect(clippy::cast_precision_loss, reason = "what is asked for as a number may be rounded as one")]
    pub fn as_number(&self) -> Option<f64> {
        match self.value {
            Value::Integer(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            Value::Null
            | Value::Bool(_)
            | Value::Text(_)
            | Value::Date(_)
            | Value::List(_)
            | Value::Map(_) => None,
        }
    }

    /// True or false, where this is one.
    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(bool) = self.value { Some(bool) } else { None }
    }

    /// The items, where this is a list.
    pub fn as_list(&self) -> Option<&[Node]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// The same as JSON. Numbers JSON cannot write (infinity) become null.
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Integer(value) => integer(*value),
            Value::Float(value) => Number::from_f64(*value).map_or(Json::Null, Json::Number),
            Value::Text(text) | Value::Date(text) => Json::String(text.to_string()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => Json::Object(
                entries.iter().map(|entry| (entry.key.to_string(), entry.value.to_json())).collect(),
            ),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "JSON has no larger whole numbers, and says so by rounding")]
fn integer(value: i128) -> Json {
    let number = i64::try_from(value).map(Number::from).or_else(|_| u64::try_from(value).map(Number::from));
    match number {
        Ok(number) => Json::Number(number),
        Err(_) => Number::from_f64(value as f64).map_or(Json::Null, Json::Number),
    }
}
