use std::sync::Arc;

use serde_json::{Number, Value as Json};

use crate::diagnostic::Span;

/// A value and its byte range. Cloning is cheap.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub value: Value,
    /// Byte range of the value. An aliased value has the range of its anchor.
    pub span: Span,
}

/// A value. Lists and mappings are shared, so an alias costs nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Integer(i128),
    Float(f64),
    Text(Arc<str>),
    Date(Arc<str>),
    List(Arc<[Node]>),
    /// Mapping in file order, without duplicate keys.
    Map(Arc<[Entry]>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    pub key: Arc<str>,
    pub key_span: Span,
    pub value: Node,
}

impl Value {
    /// Returns the kind for messages, such as `a list`.
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
    /// Returns the value of a key, if this is a mapping.
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

    pub fn as_text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    pub fn as_integer(&self) -> Option<i64> {
        if let Value::Integer(number) = self.value { i64::try_from(number).ok() } else { None }
    }

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

    pub fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(bool) = self.value { Some(bool) } else { None }
    }

    pub fn as_list(&self) -> Option<&[Node]> {
        if let Value::List(items) = &self.value { Some(items) } else { None }
    }

    /// Converts the value to JSON. Infinity and NaN, which JSON lacks, become null.
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
