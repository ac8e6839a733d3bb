//! A validator for the part of JSON Schema (draft 2020-12) that replies of agents need.
//!
//! [`JsonSchema::compile`] refuses every keyword it does not support, by name and place, so a schema never promises more than is checked.
//! Annotations (`title`, `format`, `default`, …) have no effect. References stay inside the schema: nothing is loaded. Patterns have a size limit
//! and a limit of steps.

mod compile;
mod number;
mod pattern;
mod validate;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

/// A schema whose keywords are all supported.
#[derive(Debug)]
pub struct JsonSchema {
    root: Value,
    /// Every `pattern` and every key of `patternProperties`.
    patterns: BTreeMap<String, fancy_regex::Regex>,
}

/// One reason why a schema cannot be used.
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
    /// Only `#` and `#/…` are followed.
    RemoteReference(String),
    MissingTarget(String),
    /// Following it leads back to itself without going into the value.
    EndlessReference(String),
}

/// One thing that is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonSchemaViolation {
    /// JSON pointer into the value; empty for the value itself.
    pub pointer: String,
    /// A short value is quoted in it, an object or a list is not.
    pub message: String,
}

impl JsonSchema {
    /// All keywords that are supported, annotations included.
    pub fn keywords() -> impl Iterator<Item = &'static str> {
        compile::keywords()
    }

    pub fn compile(schema: &Value) -> Result<Self, Vec<JsonSchemaError>> {
        compile::compile(schema)
    }

    pub fn accepts(&self, value: &Value) -> bool {
        validate::accepts(self, value)
    }

    /// The first violations, at most `most`.
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
                write!(f, "`{name}` is none of the types ")?;
                let [first @ .., last] = compile::TYPES;
                first
                    .iter()
                    .enumerate()
                    .try_for_each(|(at, one)| write!(f, "{}`{one}`", if at == 0 { "" } else { ", " }))?;
                write!(f, " and `{last}`")
            }
            Self::BadPattern(pattern) => write!(f, "`{pattern}` is no regular expression"),
            Self::RemoteReference(to) => {
                write!(f, "`{to}` is outside of this schema; only `#/…` can be referred to")
            }
            Self::MissingTarget(to) => write!(f, "nothing stands at `{to}`"),
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

/// One step of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
