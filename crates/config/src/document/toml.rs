//! TOML, parsed by the spanned tree of the `toml` crate.

use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};
use toml_parser::ErrorSink;
use toml_parser::parser::EventReceiver;

use super::{DEEPEST, MapEntry, Node, ParseProblem, ParsedTree, Value};
use crate::diagnostic::Span;

pub(super) fn parse(text: &str) -> ParsedTree {
    refuse_depth(text)?;
    let table = DeTable::parse(text).map_err(|error| syntax(text, &error))?;
    let value = map(table.get_ref(), 1)?;
    Ok((Node { value, span: Span::new(0, text.len()) }, Vec::new()))
}

/// Rejects deep nesting before the tree exists: even dropping thousands of levels overflows the stack. Dotted
/// keys nest without brackets, so the check uses the parser's lexer.
fn refuse_depth(text: &str) -> Result<(), ParseProblem> {
    let tokens = toml_parser::Source::new(text).lex().into_vec();
    let mut depth = Depth::default();
    toml_parser::parser::parse_document(&tokens, &mut depth, &mut ());
    match depth.too_deep {
        Some(span) => Err(ParseProblem::too_deep(span)),
        None => Ok(()),
    }
}

/// Nesting depth at the current position.
#[derive(Default)]
struct Depth {
    /// For each open bracket, the levels of its key and of the bracket itself.
    open: Vec<u32>,
    levels: u32,
    dots: u32,
    too_deep: Option<Span>,
}

impl Depth {
    fn measure(&mut self, span: toml_parser::Span) -> bool {
        if self.levels + self.dots < DEEPEST {
            return true;
        }
        self.too_deep.get_or_insert(Span::new(span.start(), span.end()));
        false
    }

    fn open(&mut self, span: toml_parser::Span) -> bool {
        self.open.push(self.dots + 1);
        self.levels += self.dots + 1;
        self.dots = 0;
        self.measure(span)
    }

    fn close(&mut self) {
        self.levels -= self.open.pop().unwrap_or(0);
        self.dots = 0;
    }
}

impl EventReceiver for Depth {
    fn std_table_open(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.dots = 0;
    }

    fn array_table_open(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.dots = 0;
    }

    fn inline_table_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
        self.open(span)
    }

    fn inline_table_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn array_open(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) -> bool {
        self.open(span)
    }

    fn array_close(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.close();
    }

    fn key_sep(&mut self, span: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.dots = self.dots.saturating_add(1);
        self.measure(span);
    }

    fn value_sep(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.dots = 0;
    }

    fn newline(&mut self, _: toml_parser::Span, _: &mut dyn ErrorSink) {
        self.dots = 0;
    }
}

fn node(spanned: &Spanned<DeValue<'_>>, depth: u32) -> Result<Node, ParseProblem> {
    let span = Span::new(spanned.span().start, spanned.span().end);
    if depth > DEEPEST {
        return Err(ParseProblem::too_deep(span));
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
            let items: Result<Vec<Node>, ParseProblem> =
                items.iter().map(|item| node(item, depth + 1)).collect();
            Value::List(items?.into())
        }
        DeValue::Table(table) => map(table, depth + 1)?,
    };
    Ok(Node { value, span })
}

/// Returns the entries in file order.
fn map(table: &DeTable<'_>, depth: u32) -> Result<Value, ParseProblem> {
    let mut entries = Vec::with_capacity(table.len());
    for (key, value) in table {
        let key_span = Span::new(key.span().start, key.span().end);
        let key: Arc<str> = key.get_ref().as_ref().into();
        entries.push(MapEntry { key, key_span, value: node(value, depth)? });
    }
    entries.sort_by_key(|entry| entry.key_span.start);
    Ok(Value::Map(entries.into()))
}

fn syntax(text: &str, error: &Error) -> ParseProblem {
    let range = error.span().unwrap_or(0..0);
    let start = floor(text, range.start);
    let span = Span::new(start, floor(text, range.end));
    let message = error.message();
    if message.contains("duplicate key") {
        return ParseProblem::duplicate_key(&text[span.start..span.end], span, None);
    }
    if message.contains("cannot recurse further") {
        return ParseProblem::too_deep(span);
    }
    ParseProblem::syntax(span, format!("this is not valid TOML: {}", message.replace('\n', ", ")))
}

fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}
