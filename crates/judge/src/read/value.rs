//! The structured value of a reply: its candidates, its schema, and values that hold findings.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use saihai_json_schema::{JsonSchema, JsonSchemaViolation};
use saihai_model::{Json, Reading, Shaping, VerdictChannel};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::ReviewReply;
use crate::read;
use crate::read::json_text;
use crate::read::markdown::FencedBlock;
use crate::read::reply::ParsedReply;

/// Message for a missing value.
const MISSING: &str = "no JSON object";

/// Maximum size of a value in bytes: it passes from round to round, and the journal stores it each time.
const MOST: usize = 256 * 1024;

/// Requirements for a structured value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueDemand<'a> {
    pub(crate) schema: &'a Json,
    pub(crate) required: bool,
    /// Opening lines of blocks that have another purpose, in order.
    pub(crate) taken: &'a [usize],
    pub(crate) fences: JsonFences,
    /// Changes to make before any use.
    pub(crate) shaping: Option<&'a Shaping>,
}

/// Fences whose content may be the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonFences {
    /// Only those marked `json`: work may show other objects.
    Marked,
    /// Also those without any info string: an answer has nothing else to show.
    MarkedOrPlain,
}

impl JsonFences {
    /// Matches `json` in any case, with or without further words.
    fn include(self, block: &FencedBlock<'_>) -> bool {
        match block.info.split_whitespace().next() {
            Some(word) => word.eq_ignore_ascii_case("json"),
            None => self == Self::MarkedOrPlain,
        }
    }
}

/// A structured value and its violations.
#[derive(Debug, Default)]
pub(crate) struct ValueOfReply {
    output: Option<Json>,
    violations: Vec<String>,
    warnings: Vec<String>,
    /// True for the provider's structured value; false for a value in the text.
    is_structured: bool,
}

impl ValueOfReply {
    pub(crate) fn put_into(self, reading: &mut Reading) {
        let is_verified = self.is_structured && self.violations.is_empty();
        reading.channel = is_verified.then_some(VerdictChannel::Schema);
        reading.output = self.output;
        reading.violations = self.violations;
        if let Some(bytes) =
            reading.output.as_ref().map(|value| value.to_string().len()).filter(|bytes| *bytes > MOST)
        {
            reading.output = None;
            reading.violations = vec![format!("the JSON object has {bytes} bytes; at most {MOST} are taken")];
        }
        reading.warnings.extend(self.warnings);
    }
}

/// Finds the value (S-44): the first candidate that parses and satisfies the schema, else the first that parses.
pub(crate) fn read_value(
    reply: &ParsedReply<'_>,
    structured: Option<&Json>,
    demand: ValueDemand<'_>,
) -> ValueOfReply {
    let ParsedCandidates { candidates, broken } =
        value_candidates(reply, structured, &demand, BareObjects::Last);
    let fixed = demand.shaping.map(|shaping| &shaping.fixed);
    let candidates: Vec<_> = candidates.into_iter().map(|one| one.with_fixed(fixed)).collect();
    let schema = match OutputSchemaCheck::new(demand.schema) {
        Ok(schema) => schema,
        Err(unusable) => {
            let output = candidates.into_iter().next().map(ValueCandidate::into_value);
            return ValueOfReply { output, violations: vec![unusable], ..ValueOfReply::default() };
        }
    };
    let mut valid = candidates.iter().filter(|candidate| schema.accepts(candidate.value()));
    let Some(first) = valid.next() else {
        return invalid_value(candidates, &schema, broken, demand.required);
    };
    let differs = valid.any(|other| other.value() != first.value());
    let warnings =
        differs.then_some("several different JSON objects fit the schema: the first choice was taken");
    let warnings = first.warnings().iter().cloned().chain(warnings.map(str::to_owned)).collect();
    let output = lift(schema.with_defaults(first.value().clone()), demand.shaping);
    let is_structured = first.is_structured;
    ValueOfReply { output: Some(output), warnings, is_structured, ..ValueOfReply::default() }
}

/// Copies nested values to top-level keys. The definition names each of them, so it replaces a value at that key. A
/// missing value stays missing.
fn lift(value: Json, shaping: Option<&Shaping>) -> Json {
    let mut lifted = value.clone();
    for (key, pointer) in shaping.iter().flat_map(|shaping| &shaping.lifted) {
        if let Some(found) = value.pointer(pointer) {
            lifted[key] = found.clone();
        }
    }
    lifted
}

fn invalid_value(
    candidates: Vec<ValueCandidate<'_>>,
    schema: &OutputSchemaCheck,
    broken: Vec<String>,
    required: bool,
) -> ValueOfReply {
    match candidates.into_iter().next() {
        Some(first) => {
            let warnings = first.warnings().to_vec();
            let output = first.into_value();
            let violations = schema.violations(&output);
            ValueOfReply { violations, output: Some(output), warnings, ..ValueOfReply::default() }
        }
        None if required => {
            let violations = std::iter::once(MISSING.to_owned()).chain(broken).collect();
            ValueOfReply { violations, ..ValueOfReply::default() }
        }
        None => ValueOfReply { warnings: broken, ..ValueOfReply::default() },
    }
}

/// Maximum number of reported problems: an agent corrects the visible ones, and its next reply is checked again.
const REPORTED_PROBLEMS: usize = 20;
/// Message for a truncated value.
const CUT_OFF: &str = "the JSON object is cut off: its end is missing";
/// Message for an ambiguous reply: the agent may have quoted a text it read.
const SEVERAL: &str = "several different JSON objects fit the schema: give exactly one";
/// Maximum length of a problem, in characters.
const PROBLEM_LENGTH: usize = 300;
/// Maximum length of the quoted end of a truncated value, in characters.
const LAST_WORDS: usize = 200;

/// Finds the value. The order of preference:
/// - the provider's structured value
/// - the candidate without problems; of several different ones the one with most findings, until a correction
/// - the first candidate of which something can be kept
/// - the first candidate that parses
pub(crate) fn read_items(
    reply: &ParsedReply<'_>,
    structured: Option<&Json>,
    demand: ValueDemand<'_>,
) -> ValueOfReply {
    let ParsedCandidates { candidates, broken } =
        value_candidates(reply, structured, &demand, BareObjects::All);
    let read = |candidate: &ValueCandidate<'_>| ReviewReply::read("", demand.schema, candidate.value());
    let payloads: Vec<ReviewReply> = candidates.iter().map(read).collect();
    let mut valid =
        (0..payloads.len()).filter(|index| payloads[*index].problems.is_empty()).collect::<Vec<_>>();
    if structured.is_some() && valid.first() == Some(&0) {
        valid.truncate(1);
    }
    let differ = valid.iter().any(|index| candidates[*index].value() != candidates[valid[0]].value());
    let richest = valid.iter().copied().rev().max_by_key(|index| payloads[*index].findings.len());
    let first = |holds: fn(&ReviewReply) -> bool| payloads.iter().position(holds);
    let useful = || first(ReviewReply::has_items).or_else(|| first(|payload| !payload.is_empty()));
    let chosen = richest.or_else(useful).unwrap_or(0);
    let (Some(payload), Some(candidate)) = (payloads.get(chosen), candidates.into_iter().nth(chosen)) else {
        return truncated_value(reply, broken);
    };
    let problems = payload.problems.iter().take(REPORTED_PROBLEMS);
    let mut violations: Vec<String> =
        problems.map(|problem| read::excerpt_head(problem, PROBLEM_LENGTH).to_string()).collect();
    if payload.problems.len() > REPORTED_PROBLEMS {
        violations.push("and more".to_owned());
    }
    violations.extend(differ.then(|| SEVERAL.to_owned()));
    let is_structured = candidate.is_structured;
    let mut output = candidate.into_value();
    violations.extend(fit(&mut output));
    ValueOfReply { output: Some(output), violations, is_structured, ..ValueOfReply::default() }
}

/// Drops the last items of a value that is too large to pass on, and returns a message.
fn fit(output: &mut Json) -> Option<String> {
    let whole = output.to_string().len();
    let mut bytes = whole;
    let lists = output.as_object_mut().into_iter().flatten().filter_map(|(_, value)| value.as_array_mut());
    for list in lists {
        while bytes > MOST
            && let Some(item) = list.pop()
        {
            bytes = bytes.saturating_sub(item.to_string().len() + 1);
        }
    }
    (whole > MOST).then(|| format!("the JSON object has {whole} bytes; at most {MOST} are taken"))
}

/// Handles a truncated value: keeps the complete part and asks for the value again.
fn truncated_value(reply: &ParsedReply<'_>, broken: Vec<String>) -> ValueOfReply {
    let Some(text) = json_text::cut_off_object(reply) else {
        let violations = std::iter::once(MISSING.to_owned()).chain(broken).collect();
        return ValueOfReply { violations, ..ValueOfReply::default() };
    };
    let what = format!("{CUT_OFF}, behind {}", Json::from(last_words(text)));
    let violations = std::iter::once(what).chain(broken).collect();
    ValueOfReply { output: json_text::whole_part(text), violations, ..ValueOfReply::default() }
}

/// Returns the last words of a text. The text after the last complete item is lost, and a person may still want to read
/// it.
fn last_words(text: &str) -> &str {
    let text = text.trim_end();
    let start = text.char_indices().rev().nth(LAST_WORDS - 1).map_or(0, |(at, _)| at);
    &text[start..]
}

/// A JSON object that may be the value.
#[derive(Debug)]
struct ValueCandidate<'a> {
    value: Cow<'a, Json>,
    warnings: Vec<String>,
    /// True for the provider's structured value.
    is_structured: bool,
}

impl<'a> ValueCandidate<'a> {
    pub(crate) fn value(&self) -> &Json {
        &self.value
    }

    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Replaces fields that can have only one value, if they have another.
    fn with_fixed(mut self, fixed: Option<&BTreeMap<String, Json>>) -> Self {
        for (field, only) in fixed.into_iter().flatten() {
            let Some(given) = self.value.get(field).filter(|given| *given != only) else { continue };
            let given = read::excerpt_head(&given.to_string(), 200);
            self.warnings.push(format!("/{field}: {given} was replaced by {only}"));
            self.value.to_mut()[field] = only.clone();
        }
        self
    }

    fn into_value(self) -> Json {
        self.value.into_owned()
    }

    fn of_provider(value: &'a Json) -> Option<Self> {
        let value = Cow::Borrowed(value);
        value.is_object().then_some(Self { value, warnings: Vec::new(), is_structured: true })
    }

    fn owned(value: Json) -> Option<Self> {
        let is_object = value.is_object();
        is_object.then_some(Self { value: Cow::Owned(value), warnings: Vec::new(), is_structured: false })
    }
}

/// Candidates, and malformed ones that do not parse.
#[derive(Debug, Default)]
struct ParsedCandidates<'a> {
    pub(crate) candidates: Vec<ValueCandidate<'a>>,
    /// Errors for the agent that must correct them.
    pub(crate) broken: Vec<String>,
}

/// Objects outside fences that may be the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BareObjects {
    Last,
    All,
}

/// Returns all candidates in search order (S-44). The order: the provider's value, fenced blocks from last to first,
/// the whole reply, the last object outside fences.
fn value_candidates<'a>(
    reply: &ParsedReply<'_>,
    structured: Option<&'a Json>,
    demand: &ValueDemand<'_>,
    bare: BareObjects,
) -> ParsedCandidates<'a> {
    let mut parsed = ParsedCandidates::default();
    parsed.candidates.extend(structured.and_then(ValueCandidate::of_provider));
    for block in reply.fences().blocks.iter().rev() {
        if demand.fences.include(block)
            && demand.taken.binary_search(&block.open).is_err()
            && !reply.is_echo_in_context(block.open, block.close)
        {
            parsed.add_block(reply, block);
        }
    }
    let whole = reply.page.text().trim().trim_start_matches('\u{feff}');
    if whole.starts_with('{') {
        parsed.candidates.extend(parse_unambiguous(whole).ok().and_then(ValueCandidate::owned));
    }
    let bare = match bare {
        BareObjects::Last => json_text::last_object(reply).into_iter().collect(),
        BareObjects::All => json_text::all_objects(reply),
    };
    for text in bare {
        match parse_unambiguous(text) {
            Ok(value) => parsed.candidates.extend(ValueCandidate::owned(value)),
            Err(error) if error.is_data() => {
                parsed.add_broken(format!("the JSON object is ambiguous: {error}"));
            }
            Err(_) => {}
        }
    }
    if parsed.candidates.is_empty() && parsed.broken.is_empty() {
        parsed.broken.extend(broken_outside(reply));
    }
    parsed
}

/// Returns the parse error of the first apparent object outside blocks.
fn broken_outside(reply: &ParsedReply<'_>) -> Option<String> {
    let (line, text) = json_text::opened_object(reply)?;
    let error = parse_unambiguous(text).err().filter(serde_json::Error::is_syntax)?;
    let line = reply.number(line);
    Some(format!(
        "what begins on line {line} is not valid JSON: {}",
        read::excerpt_head(&error.to_string(), 200)
    ))
}

impl ParsedCandidates<'_> {
    /// Maximum number of reported parse errors: an agent corrects one block, not a hundred.
    const TOLD: usize = 3;

    fn add_block(&mut self, reply: &ParsedReply<'_>, block: &FencedBlock<'_>) {
        let text = &reply.page.text()[reply.page.start(block.open + 1)..reply.page.start(block.close)];
        match parse_unambiguous(text) {
            Ok(value) => self.candidates.extend(ValueCandidate::owned(value)),
            Err(error) => {
                let line = reply.number(block.open);
                let reason = read::excerpt_head(&error.to_string(), 200);
                let what = if error.is_data() { "is ambiguous" } else { "is not valid JSON" };
                self.add_broken(format!("the block that begins on line {line} {what}: {reason}"));
            }
        }
    }

    fn add_broken(&mut self, what: String) {
        if self.broken.len() < Self::TOLD {
            self.broken.push(read::excerpt_head(&what, 300).to_string());
        }
    }
}

#[derive(Debug)]
struct OutputSchemaCheck<'a> {
    source: &'a Json,
    compiled: JsonSchema,
}

impl<'a> OutputSchemaCheck<'a> {
    /// Maximum number of reported violations: an agent corrects the visible ones, and its next reply is checked again.
    const TOLD: usize = 20;
    const CHARACTERS: usize = 300;

    /// Compiles a schema. An unusable schema is a violation that no reply can fix.
    pub(crate) fn new(source: &'a Json) -> Result<Self, String> {
        JsonSchema::compile(source).map(|compiled| Self { source, compiled }).map_err(|errors| {
            let reasons: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let reason = read::excerpt_head(&reasons.join("; "), Self::CHARACTERS);
            format!("the schema of the output cannot be used: {reason}")
        })
    }

    pub(crate) fn accepts(&self, value: &Json) -> bool {
        self.compiled.accepts(value)
    }

    /// Returns the violations of a value, up to [`Self::TOLD`].
    pub(crate) fn violations(&self, value: &Json) -> Vec<String> {
        let found = self.compiled.violations(value, Self::TOLD + 1);
        let mut told: Vec<String> = found.iter().take(Self::TOLD).map(violation).collect();
        if found.len() > Self::TOLD {
            told.push("and more".to_owned());
        }
        told
    }

    /// Adds the defaults of missing properties.
    fn with_defaults(&self, mut value: Json) -> Json {
        let properties = self.source.get("properties").and_then(Json::as_object);
        if let (Some(object), Some(properties)) = (value.as_object_mut(), properties) {
            for (name, property) in properties {
                if let Some(default) = property.get("default").filter(|_| !object.contains_key(name)) {
                    object.insert(name.clone(), default.clone());
                }
            }
        }
        value
    }
}

fn violation(one: &JsonSchemaViolation) -> String {
    let what = read::excerpt_head(&one.message, OutputSchemaCheck::CHARACTERS);
    match one.pointer.as_str() {
        "" => what,
        pointer => format!("{}: {what}", read::excerpt_head(pointer, OutputSchemaCheck::CHARACTERS)),
    }
}

fn parse_unambiguous(text: &str) -> Result<Json, serde_json::Error> {
    serde_json::from_str::<Unambiguous>(text).map(|read| read.0)
}

struct Unambiguous(Json);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(Self)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::from(value))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut read = Vec::new();
        while let Some(Unambiguous(item)) = items.next_element()? {
            read.push(item);
        }
        Ok(Json::Array(read))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut read = serde_json::Map::new();
        while let Some((key, Unambiguous(value))) = entries.next_entry::<String, _>()? {
            if read.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            read.insert(key, value);
        }
        Ok(Json::Object(read))
    }
}
