//! TOML, by the tree with spans of the `toml` crate.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::{DEEPEST, Entry, Node, Parsed, Problem, Value};
use crate::diagnostic::Span;

pub(super) fn parse(text: &str) -> Parsed {
    let (table, errors) = DeTable::parse_recoverable(text);
    if let Some(error) = errors.first() {
        return Err(syntax(text, error));
    }
    let value = map(table.get_ref(), 1)?;
    Ok((Node { value, span: Span::new(0, text.len()) }, Vec::new()))
}

fn node(spanned: &Spanned<DeValue<'_>>, depth: u32) -> Result<Node, Problem> {
    let span = Span::new(spanned.span().start, spanned.span().end);
    if depth > DEEPEST {
        return Err(Problem::too_deep(span));
    }
    let value = match spanned.get_ref() {
        DeValue::String(text) => Value::Text(text.as_ref().into()),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(date) => Value::Date(date.to_string().into()),
        DeValue::Integer(number) => {
            let value = i128::from_str_radix(number.as_str(), number.radix());
            value.map_or(Value::Float(f64::INFINITY), Value::Integer)
        }
        DeValue::Float(number) => Value::Float(number.as_str().parse().unwrap_or(f64::NAN)),
        DeValue::Array(items) => {
            let items: Result<Vec<Node>, Problem> = items.iter().map(|item| node(item, depth + 1)).collect();
            Value::List(items?.into())
        }
        DeValue::Table(table) => map(table, depth + 1)?,
    };
    Ok(Node { value, span })
}

/// The entries in the order of the file.
fn map(table: &DeTable<'_>, depth: u32) -> Result<Value, Problem> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key_span = Span::new(key.span().start, key.span().end);
        let key: Arc<str> = key.get_ref().as_ref().into();
        entries.push(Entry { key, key_span, value: node(value, depth)? });
    }
    entries.sort_by_key(|entry| entry.key_span.start);
    Ok(Value::Map(entries.into()))
}

fn syntax(text: &str, error: &Error) -> Problem {
    let range = error.span().unwrap_or(0..0);
    let start = floor(text, range.start);
    let span = Span::new(start, floor(text, range.end));
    let message = error.message();
    if message.contains("duplicate key") {
        return Problem::new("duplicate-key", span, "this key is given twice").label("given again");
    }
    if message.contains("recursion limit") {
        return Problem::new("too-large", span, "nested too deep");
    }
    Problem::syntax(span, format!("this is not valid TOML: {}", message.replace('\n', ", ")))
}

fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
