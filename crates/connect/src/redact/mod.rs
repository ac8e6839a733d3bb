//! Removes secrets from everything that is stored or displayed (C-55).
//!
//! A [`Redactor`] knows the secrets: the values of variables with telling names, in all their written forms,
//! and texts in the shape of a key. A [`Redaction`] removes them from a stream in pieces of any size. It
//! holds back every byte that may still belong to a secret. Overlapping secrets are removed as one, so
//! nothing of either is left.

mod forms;
mod redaction;
mod shape;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use regex::bytes::Regex;
use saihai_model::Json;

use forms::forms;
pub use redaction::Redaction;
use shape::{SHAPES, Shape};

/// Parts of a variable's name that make its value a secret.
const NAMES: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// Minimum length of a secret. Shorter values are common words.
pub const SHORTEST_SECRET: usize = 8;

/// Length of the prefix that the search uses before a full comparison.
const START: usize = 4;

#[derive(Debug)]
pub struct Redactor {
    /// Sorted by length, longest first.
    values: Vec<Value>,
    starts: Vec<Vec<u8>>,
    /// Finds the prefixes; absent if there is nothing to find.
    finder: Option<Regex>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Value {
    bytes: Vec<u8>,
    name: String,
}

/// The result at one position.
enum Found<'a> {
    Nothing,
    /// More bytes are needed to decide.
    More,
    Secret {
        name: &'a str,
        length: usize,
        shape: Option<&'static Shape>,
    },
}

impl Redactor {
    /// Creates a redactor for the secrets among these variables, and for the shapes of keys.
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Self {
        let mut values: Vec<Value> = Vec::new();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| is_secret(name)) else { continue };
            let bytes = value.as_bytes().trim_ascii();
            // A short value is not a secret in a longer form either.
            for form in forms(bytes).into_iter().filter(|_| bytes.len() >= SHORTEST_SECRET) {
                if form.len() >= SHORTEST_SECRET && !values.iter().any(|value| value.bytes == form) {
                    values.push(Value { bytes: form, name: name.to_owned() });
                }
            }
        }
        values.sort_by(|one, other| other.bytes.len().cmp(&one.bytes.len()).then_with(|| one.cmp(other)));
        let of_values = values.iter().map(|value| value.bytes[..START].to_vec());
        let of_shapes =
            SHAPES.iter().flat_map(|shape| shape.starts.iter().map(|start| start.as_bytes().to_vec()));
        let starts: Vec<_> = of_values.chain(of_shapes).collect();
        let finder = Regex::new(&alternatives(&starts)).ok();
        Self { values, starts, finder }
    }

    pub fn of_environment(environment: &[(OsString, OsString)]) -> Self {
        Self::new(environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
    }

    /// Returns the known values in all their forms.
    pub fn values(&self) -> Vec<Vec<u8>> {
        self.values.iter().map(|value| value.bytes.clone()).collect()
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let suspicious = self.finder.as_ref().is_some_and(|finder| finder.is_match(text.as_bytes()));
        if !suspicious {
            return Cow::Borrowed(text);
        }
        let mut clean = Vec::with_capacity(text.len());
        let mut state = redaction::State::default();
        state.push(self, text.as_bytes(), &mut clean);
        state.finish(self, &mut clean);
        Cow::Owned(String::from_utf8_lossy(&clean).into_owned())
    }

    /// Redacts every text in a value, but no field names.
    pub fn json(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Json::Object(fields) => fields.values_mut().for_each(|field| self.json(field)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// Returns a redaction for a stream in pieces.
    pub fn stream(self: &Arc<Self>) -> Redaction {
        Redaction::new(Arc::clone(self))
    }

    /// Finds the next possible start of a secret, from a position on.
    fn next_start(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.finder.as_ref()?.find_at(bytes, from).map(|found| found.start())
    }

    /// Returns the number of bytes at the end that may be part of a prefix.
    fn unfinished(&self, bytes: &[u8]) -> usize {
        let longest = self.starts.iter().map(Vec::len).max().unwrap_or(1);
        let is_unfinished = |length: &usize| {
            let end = &bytes[bytes.len() - length..];
            self.starts.iter().any(|start| start.len() > end.len() && start.starts_with(end))
        };
        (1..longest.min(bytes.len() + 1)).rev().find(is_unfinished).unwrap_or(0)
    }

    /// Identifies the secret at this position. A known value gets its name even if it has the shape of a key.
    fn look(&self, bytes: &[u8], before: Option<u8>, is_all: bool) -> Found<'_> {
        let may_grow = |secret: &[u8]| !is_all && secret.len() > bytes.len() && secret.starts_with(bytes);
        for value in &self.values {
            if bytes.starts_with(&value.bytes) {
                return Found::Secret { name: &value.name, length: value.bytes.len(), shape: None };
            }
            if may_grow(&value.bytes) {
                return Found::More;
            }
        }
        for shape in &SHAPES {
            match shape.begins(bytes, before) {
                shape::Begins::Yes(length) => {
                    return Found::Secret { name: shape.name, length, shape: Some(shape) };
                }
                shape::Begins::Maybe if !is_all => return Found::More,
                shape::Begins::Maybe | shape::Begins::No => {}
            }
        }
        Found::Nothing
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// Returns a pattern that matches any of these bytes.
fn alternatives(starts: &[Vec<u8>]) -> String {
    let literal = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let all: Vec<String> = starts.iter().map(literal).collect();
    format!("(?-u:{})", all.join("|"))
}

#[cfg(test)]
mod tests;
