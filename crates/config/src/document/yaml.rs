//! YAML 1.2: one document, limited anchor expansion, no merge keys.

use std::collections::HashMap;
use std::sync::Arc;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::{DEEPEST, LARGEST_EXPANDED, MapEntry, Node, ParseProblem, ParsedTree, Value, report};
use crate::diagnostic::{Span, quoted};

/// Minimum weight of a node in the expanded size, so that many empty nodes count too.
const NODE: u64 = 8;
/// Merge key of other YAML readers.
const MERGE: &str = "<<";

pub(super) fn parse(text: &str) -> ParsedTree {
    refuse_control_characters(text)?;
    let mut parser = Parser::new_from_str(text);
    let mut builder = YamlBuilder::new(text);
    while let Some(next) = parser.next_event() {
        let (event, span) = next.map_err(|error| builder.syntax(&error))?;
        let span = builder.span(span);
        if builder.take(event, span)? == Flow::Stop {
            break;
        }
    }
    drop(parser);
    let root = builder.root.unwrap_or_else(|| YamlNode::leaf(Value::Null, Span::new(text.len(), text.len())));
    Ok((root.node, builder.problems))
}

/// Rejects control characters. The scanner takes NUL for the end of the text; YAML forbids the others.
fn refuse_control_characters(text: &str) -> Result<(), ParseProblem> {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{85}');
    let Some((index, c)) = text.char_indices().find(|(_, c)| c.is_control() && !allowed(*c)) else {
        return Ok(());
    };
    let span = Span::new(index, index + c.len_utf8());
    Err(ParseProblem::syntax(span, format!("the control character U+{:04X} is not allowed here", c as u32))
        .hint("write it as an escape in double quotes, such as `\"\\e\"`"))
}

#[derive(PartialEq, Eq)]
enum Flow {
    GoOn,
    Stop,
}

/// A finished node with its expanded size.
#[derive(Clone)]
struct YamlNode {
    node: Node,
    /// Source text where the value alone loses it: `on`, `1` and `<<` as keys.
    plain: Option<Arc<str>>,
    depth: u32,
    bytes: u64,
}

impl YamlNode {
    fn leaf(value: Value, span: Span) -> Self {
        let bytes = NODE + if let Value::Text(text) = &value { text.len() as u64 } else { 0 };
        Self { node: Node { value, span }, plain: None, depth: 0, bytes }
    }
}

/// An unfinished list or mapping.
struct OpenCollection {
    anchor: usize,
    span: Span,
    depth: u32,
    bytes: u64,
    content: OpenContent,
}

enum OpenContent {
    List(Vec<Node>),
    Map { entries: Vec<MapEntry>, seen: HashMap<Arc<str>, Span>, key: Option<YamlKey> },
}

/// A key without its value yet.
struct YamlKey {
    text: Arc<str>,
    span: Span,
    keep: bool,
}

struct YamlBuilder<'t> {
    text: &'t str,
    index: CharIndex<'t>,
    open: Vec<OpenCollection>,
    anchors: HashMap<usize, YamlNode>,
    root: Option<YamlNode>,
    documents: u32,
    problems: Vec<ParseProblem>,
}

impl<'t> YamlBuilder<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            text,
            index: CharIndex::new(text),
            open: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            documents: 0,
            problems: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<Flow, ParseProblem> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    report(
                        &mut self.problems,
                        ParseProblem::syntax(span, "a second document begins here")
                            .hint("a file contains one document; remove the `---` and the rest"),
                    );
                    return Ok(Flow::Stop);
                }
            }
            Event::Alias(anchor) => {
                let built = self.anchors.get(&anchor).cloned().ok_or_else(|| {
                    ParseProblem::syntax(span, "this alias is inside its own anchor and would never end")
                })?;
                self.add(built, 0, span)?;
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style, tag.as_deref(), span);
                let span = self.trimmed(span, style);
                let mut built = YamlNode::leaf(value, span);
                if style == ScalarStyle::Plain && (built.node.as_text().is_none() || text == MERGE) {
                    built.plain = Some(text.as_ref().into());
                }
                self.add(built, anchor, span)?;
            }
            Event::SequenceStart(anchor, tag) => {
                self.collection_tag(tag.as_deref(), "!!seq", span);
                let start = self.dash_before(span.start);
                self.begin(anchor, Span::new(start, span.end), OpenContent::List(Vec::new()))?;
            }
            Event::MappingStart(anchor, tag) => {
                self.collection_tag(tag.as_deref(), "!!map", span);
                let content = OpenContent::Map { entries: Vec::new(), seen: HashMap::new(), key: None };
                self.begin(anchor, span, content)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(span)?,
        }
        Ok(Flow::GoOn)
    }

    fn begin(&mut self, anchor: usize, span: Span, content: OpenContent) -> Result<(), ParseProblem> {
        if self.open.len() as u32 >= DEEPEST {
            return Err(ParseProblem::too_deep(span));
        }
        let span = Span::new(span.start, span.start);
        self.open.push(OpenCollection { anchor, span, depth: 0, bytes: NODE, content });
        Ok(())
    }

    fn end(&mut self, span: Span) -> Result<(), ParseProblem> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        let value = match open.content {
            OpenContent::List(items) => Value::List(items.into()),
            OpenContent::Map { entries, .. } => Value::Map(entries.into()),
        };
        // A closing bracket belongs to the collection. Without one, it ends with its last item.
        let closed = self.text[span.start..span.end].ends_with([']', '}']);
        let end = if closed { span.end } else { open.span.end };
        let span = Span::new(open.span.start, end);
        let node = Node { value, span };
        let built = YamlNode { node, plain: None, depth: open.depth + 1, bytes: open.bytes };
        self.add(built, open.anchor, span)
    }

    /// Adds a finished node as item, key, value or root. `here` is its own position or its alias's.
    fn add(&mut self, built: YamlNode, anchor: usize, here: Span) -> Result<(), ParseProblem> {
        if anchor != 0 {
            self.anchors.insert(anchor, built.clone());
        }
        let outer = self.open.len() as u32;
        if outer + built.depth > DEEPEST {
            return Err(ParseProblem::too_deep(here));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(built);
            return Ok(());
        };
        open.span.end = open.span.end.max(here.end);
        open.depth = open.depth.max(built.depth);
        open.bytes = open.bytes.saturating_add(built.bytes);
        if open.bytes > LARGEST_EXPANDED {
            let message = "larger than 10 MiB once its anchors are expanded";
            return Err(ParseProblem::new("too-large", here, message));
        }
        match &mut open.content {
            OpenContent::List(items) => items.push(built.node),
            OpenContent::Map { entries, seen, key } => match key.take() {
                None => *key = Some(read_key(&built, here, seen, &mut self.problems)?),
                Some(YamlKey { text, span, keep }) => {
                    if keep {
                        entries.push(MapEntry { key: text, key_span: span, value: built.node });
                    }
                }
            },
        }
        Ok(())
    }

    /// Corrects the start of a list at its key's indentation: the scanner puts it after the first dash.
    fn dash_before(&self, start: usize) -> usize {
        if self.text[start..].starts_with(['[', '{', '-', '&', '!']) {
            return start;
        }
        let before = self.text[..start].trim_end_matches([' ', '\t']);
        if before.ends_with('-') && before.len() < start { before.len() - 1 } else { start }
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, span: Span) -> Value {
        let as_text = || Value::Text(text.into());
        let Some(tag) = tag else {
            return if style == ScalarStyle::Plain { core_resolve(text) } else { as_text() };
        };
        let name = tag_name(tag);
        let value = match name.as_str() {
            "!!str" => Some(as_text()),
            "!!null" => Some(Value::Null).filter(|_| core_resolve(text) == Value::Null),
            "!!bool" => Some(core_resolve(text)).filter(|value| matches!(value, Value::Bool(_))),
            "!!int" => core_integer(text),
            "!!float" => core_float(text),
            // A lone `!` forces text.
            "!" => Some(as_text()),
            _ => {
                report(&mut self.problems, unknown_tag(&name, span));
                Some(as_text())
            }
        };
        value.unwrap_or_else(|| {
            let message = format!("{} is not a value for the tag `{name}`", quoted(text));
            report(&mut self.problems, ParseProblem::new("bad-value", span, message));
            as_text()
        })
    }

    fn collection_tag(&mut self, tag: Option<&Tag>, own: &str, span: Span) {
        if let Some(name) = tag.map(tag_name).filter(|name| name != own) {
            report(&mut self.problems, unknown_tag(&name, span));
        }
    }

    /// Trims a block scalar to its last line. The scanner extends its span to the next token.
    fn trimmed(&self, span: Span, style: ScalarStyle) -> Span {
        let written = &self.text[span.start..span.end];
        match style {
            ScalarStyle::Plain | ScalarStyle::Literal | ScalarStyle::Folded => {
                Span::new(span.start, span.start + written.trim_end().len())
            }
            ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => span,
        }
    }

    fn span(&self, span: saphyr_parser::Span) -> Span {
        Span::new(self.index.byte(span.start.index()), self.index.byte(span.end.index()))
    }

    fn syntax(&self, error: &ScanError) -> ParseProblem {
        let start = self.index.byte(error.marker().index());
        let width =
            self.text[start..].chars().next().filter(|c| !c.is_whitespace()).map_or(0, char::len_utf8);
        let span = Span::new(start, start + width);
        // The scanner reads ahead, so it may hit the nesting limit first.
        if error.info() == "recursion limit exceeded" {
            return ParseProblem::too_deep(span);
        }
        let problem = ParseProblem::syntax(span, format!("this is not valid YAML: {}", error.info()));
        // The most frequent cause: prose that contains `: ` after a key.
        if error.info() == "mapping values are not allowed in this context" {
            return problem.hint("put text that contains `: ` in quotes, or on its own lines after `|`");
        }
        problem
    }
}

/// Reads the text of a key and rejects a duplicate.
fn read_key(
    built: &YamlNode,
    here: Span,
    seen: &mut HashMap<Arc<str>, Span>,
    problems: &mut Vec<ParseProblem>,
) -> Result<YamlKey, ParseProblem> {
    let key: Arc<str> = match (&built.plain, &built.node.value) {
        (Some(plain), _) => Arc::clone(plain),
        (None, Value::Text(text)) => Arc::clone(text),
        (None, value) => return Err(ParseProblem::syntax(here, "a key must be a text").label(value.kind())),
    };
    if built.plain.as_deref() == Some(MERGE) {
        report(problems, merge_key(here));
        return Ok(YamlKey { text: key, span: here, keep: false });
    }
    let first = *seen.entry(Arc::clone(&key)).or_insert(here);
    if first != here {
        report(problems, ParseProblem::duplicate_key(&key, here, Some(first)));
    }
    Ok(YamlKey { text: key, span: here, keep: first == here })
}

fn merge_key(span: Span) -> ParseProblem {
    ParseProblem::new("not-supported", span, "merge keys (`<<`) are not supported")
        .hint("write the keys where they apply")
}

fn unknown_tag(name: &str, span: Span) -> ParseProblem {
    let message = format!("the tag {} is not supported", quoted(name));
    ParseProblem::new("not-supported", span, message).hint("remove it")
}

/// Returns a tag in its usual notation.
fn tag_name(tag: &Tag) -> String {
    let handle = if tag.is_yaml_core_schema() { "!!" } else { tag.handle.as_str() };
    format!("{handle}{}", tag.suffix)
}

/// Resolves a plain scalar by the YAML 1.2 core schema: `yes` and `on` are text, `0777` is 777.
pub(super) fn core_resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => core_integer(text).or_else(|| core_float(text)).unwrap_or_else(|| Value::Text(text.into())),
    }
}

/// Returns the integer value of a text that has the form of an integer.
pub(super) fn core_integer(text: &str) -> Option<Value> {
    if let Some(digits) = text.strip_prefix("0o") {
        return from_radix(digits, 8);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return from_radix(digits, 16);
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Too large for any key. The range check of the key rejects it later.
    Some(text.parse().map_or_else(|_| Value::Float(text.parse().unwrap_or(f64::INFINITY)), Value::Integer))
}

/// Returns the numeric value of a text that has the form of a number.
pub(super) fn core_float(text: &str) -> Option<Value> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let sign = if text.starts_with('-') { -1.0 } else { 1.0 };
    match unsigned {
        ".inf" | ".Inf" | ".INF" => return Some(Value::Float(sign * f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Some(Value::Float(f64::NAN)),
        _ => {}
    }
    is_decimal(unsigned).then(|| text.parse().map(Value::Float).ok()).flatten()
}

fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let mantissa_is = match mantissa.split_once('.') {
        Some((whole, part)) => digits(whole) && digits(part) && !(whole.is_empty() && part.is_empty()),
        None => !mantissa.is_empty() && digits(mantissa),
    };
    mantissa_is
        && exponent.is_none_or(|exponent| {
            let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
            !exponent.is_empty() && digits(exponent)
        })
}

fn from_radix(digits: &str, radix: u32) -> Option<Value> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    Some(i128::from_str_radix(digits, radix).map_or(Value::Float(f64::INFINITY), Value::Integer))
}

/// Distance in characters between two stored offsets.
const EVERY: usize = 64;

/// Byte offsets of the characters in a text.
pub(super) struct CharIndex<'t> {
    text: &'t str,
    bytes: Vec<usize>,
}

impl<'t> CharIndex<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let bytes = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().step_by(EVERY).map(|(byte, _)| byte).collect()
        };
        Self { text, bytes }
    }

    /// Returns the byte offset of a character; beyond the end, the length of the text.
    pub(super) fn byte(&self, character: usize) -> usize {
        if self.bytes.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.bytes.get(character / EVERY) else { return self.text.len() };
        let rest = self.text[*start..].char_indices().nth(character % EVERY);
        rest.map_or(self.text.len(), |(byte, _)| start + byte)
    }
}
