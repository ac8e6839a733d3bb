//! A validator for the part of JSON Schema (draft 2020-12) that agent replies need.
//!
//! [`JsonSchema::compile`] refuses every unsupported keyword, by name and place. A schema thus never promises more than
//! the validator checks. Annotations (`title`, `format`, `default`, …) have no effect. References stay inside the
//! schema: the validator loads nothing. Patterns have a size limit and a step limit.

mod compile;
mod number;
mod pattern;
mod validate;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// A schema with only supported keywords.
#[derive(Debug)]
pub struct JsonSchema {
    root: Value,
    /// Every `pattern` and every key of `patternProperties`.
    patterns: BTreeMap<String, fancy_regex::Regex>,
}

/// A reason why a schema is unusable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSchemaError {
    /// JSON pointer into the schema.
    pub pointer: String,
    pub problem: JsonSchemaProblem,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JsonSchemaProblem {
    UnsupportedKeyword(String),
    /// The value of a keyword has another form than `must_be`.
    WrongValue {
        keyword: String,
        must_be: &'static str,
    },
    NotASchema,
    UnknownType(String),
    BadPattern(String),
    /// A reference other than `#` and `#/…`.
    RemoteReference(String),
    MissingTarget(String),
    /// A reference that leads back to itself without going into the value.
    EndlessReference(String),
}

/// A violation of the schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSchemaViolation {
    /// JSON pointer into the value; empty for the value itself.
    pub pointer: String,
    /// Message that quotes short values, but no objects or lists.
    pub message: String,
}

impl JsonSchema {
    /// Returns all supported keywords, including annotations.
    pub fn keywords() -> impl Iterator<Item = &'static str> {
        compile::keywords()
    }

    pub fn compile(schema: &Value) -> Result<Self, Vec<JsonSchemaError>> {
        compile::compile(schema)
    }

    pub fn accepts(&self, value: &Value) -> bool {
        validate::accepts(self, value)
    }

    /// Returns the first violations, at most `most`.
    pub fn violations(&self, value: &Value, most: usize) -> Vec<JsonSchemaViolation> {
        validate::violations(self, value, most)
    }
}

impl fmt::Display for JsonSchemaProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnsupportedKeyword(keyword) => write!(f, "the keyword `{keyword}` is not supported"),
            Self::WrongValue { keyword, must_be } => write!(f, "`{keyword}` must be {must_be}"),
            Self::NotASchema => f.write_str("a schema must be an object, `true` or `false`"),
            Self::UnknownType(name) => {
                write!(f, "`{name}` is not one of the types ")?;
                let [first @ .., last] = compile::TYPES;
                first
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, one)| write!(f, "{}`{one}`", if at == 0 { "" } else { ", " }))?;
                write!(f, " and `{last}`")
            }
            Self::BadPattern(pattern) => write!(f, "`{pattern}` is not a regular expression"),
            Self::RemoteReference(to) => {
                write!(f, "`{to}` is outside of this schema; only `#/…` can be referred to")
            }
            Self::MissingTarget(to) => write!(f, "nothing exists at `{to}`"),
            Self::EndlessReference(to) => write!(f, "`{to}` refers to itself"),
        }
    }
}

impl fmt::Display for JsonSchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "at `{}`: ", self.pointer)?;
        }
        self.problem.fmt(f)
    }
}

impl fmt::Display for JsonSchemaViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.message)
    }
}

/// Escapes one step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
