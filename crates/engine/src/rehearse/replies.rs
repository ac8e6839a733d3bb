//! Replies that make a run take a given exit, with the smallest values that fit their schemas.

use std::collections::BTreeMap;

use saihai_judge::{CallVerdict, LabelOutcome, ReplyText};
use saihai_model::{
    AnswerForm, Choice, Completion, ExitCodeLabel, ExpectedReply, Json, Label, LabelField, Method, Offer,
    PhaseStep, Phases, ProgramExit, Question, Reading, Reads, Report, ReportedVerdict, Severity, Turn,
    VerdictToolResult,
};
use serde_json::{Map, json};

use crate::rehearse::routes::{PlannedDirective, PlannedReply};

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct RehearsedReply {
    pub(crate) text: String,
    pub(crate) structured: Option<Json>,
    /// End of the program, if a program does the turn.
    pub(crate) exit: Option<ProgramExit>,
    /// Number of the option that it reports with the verdict tool.
    pub(crate) verdict: Option<usize>,
}

/// The word in tags of rehearsed replies.
const NONCE: &str = "rhrsd";

/// Reads a rehearsed reply of an agent.
pub(crate) fn read_rehearsed(wanted: ExpectedReply<'_>, prompt: &str, reply: &RehearsedReply) -> Reading {
    let said = ReplyText { text: &reply.text, structured: reply.structured.as_ref() };
    let verdict =
        reply.verdict.map(|number| ReportedVerdict { number, calls: 1, ..ReportedVerdict::default() });
    let tool = verdict.map(VerdictToolResult::Reported);
    saihai_judge::read_call(wanted, prompt, said, CallVerdict { nonce: Some(NONCE), tool: tool.as_ref() })
}

/// Returns the reading of a turn's reply.
pub(crate) fn reading_of(turn_reads: &Reads, reply: &RehearsedReply) -> Reading {
    if let Some(exit) = reply.exit {
        return saihai_judge::read_program(turn_reads, &reply.text, exit);
    }
    read_rehearsed(ExpectedReply::Work(turn_reads), "", reply)
}

/// Writes a reply that takes the planned exit. The number makes it unique, like those of real agents.
pub(crate) fn work_reply(
    turn: &Turn,
    index: usize,
    saying: &PlannedReply,
    done: &Completion,
    number: u32,
) -> RehearsedReply {
    let reads = &turn.reads;
    if turn.program.is_some() {
        return program_reply(reads, saying.labels.get(index).and_then(Option::as_ref), number);
    }
    let mut paragraphs = vec![format!("Rehearsed reply {number}.")];
    paragraphs.extend(reads.reports.iter().map(report_paragraph));
    if saying.closes {
        closing_paragraphs(done, reads, &mut paragraphs);
    }
    match &saying.directive {
        Some(PlannedDirective::Event(topic)) => paragraphs.push(format!("EVENT: {topic}")),
        Some(PlannedDirective::Word(word, required)) => {
            paragraphs.extend(required.iter().map(|topic| format!("EVENT: {topic}")));
            paragraphs.push(word.clone());
        }
        None => {}
    }
    let label = saying.labels.get(index).and_then(Option::as_ref);
    let written = reads.choice.as_ref().and_then(|choice| label_encoding(choice, label));
    match &written {
        Some(LabelEncoding::Tag(number)) => paragraphs.push(format!("[STEP:{number}]")),
        Some(LabelEncoding::NonceTag(number)) => paragraphs.push(format!("[STEP:{number} {NONCE}]")),
        Some(LabelEncoding::Tool(_) | LabelEncoding::Fields(_)) | None => {}
    }
    let mut speech = RehearsedReply { text: paragraphs.join("\n\n"), ..RehearsedReply::default() };
    speech.verdict = match &written {
        Some(LabelEncoding::Tool(number)) => Some(*number),
        Some(LabelEncoding::Tag(_) | LabelEncoding::NonceTag(_) | LabelEncoding::Fields(_)) | None => None,
    };
    speech.structured = output_value(reads, index, saying, written, &speech);
    speech
}

/// Writes the answer to a question about a stage. No label means "none of these".
pub(crate) fn answer_reply(
    choice: &Choice,
    question: &Question,
    label: Option<&Label>,
    number: u32,
) -> RehearsedReply {
    let text = format!("Rehearsed answer {number}.");
    match (&question.answer, label) {
        (AnswerForm::Tag, label) => {
            let tag = label.and_then(|label| offer_of(choice, label));
            let tag = tag.map_or_else(|| "NONE".to_owned(), |offer| offer.number.to_string());
            RehearsedReply { text: format!("{text}\n\n[STEP:{tag}]"), ..RehearsedReply::default() }
        }
        (AnswerForm::Form { .. }, None) => RehearsedReply { text, ..RehearsedReply::default() },
        (AnswerForm::Form { schema, field, means, .. }, Some(label)) => {
            let mut value = smallest(&schema.schema);
            let said = means.iter().find(|(_, means)| *means == label).map(|(said, _)| said.as_str());
            put_at_pointer(
                &mut value,
                &format!("/{}", escape_pointer(field)),
                value_of_word(&schema.schema, field, said.unwrap_or_default()),
            );
            RehearsedReply { text, structured: Some(value), ..RehearsedReply::default() }
        }
    }
}

/// Returns true if a reply can say this label, or leave it to the question.
pub(crate) fn can_say(turn: &Turn, label: Option<&Label>) -> bool {
    let Some(choice) = &turn.reads.choice else { return label.is_none() };
    let saying = PlannedReply { labels: vec![label.cloned()], ..PlannedReply::default() };
    let speech = work_reply(turn, 0, &saying, &Completion::Flow, 1);
    let reading = reading_of(&turn.reads, &speech);
    let read = match saihai_judge::label(choice, &reading, None) {
        LabelOutcome::Found(found, _) => Some(&found) == label,
        LabelOutcome::Missing => label.is_none(),
        LabelOutcome::Ask => true,
    };
    read && reading.violations.is_empty()
}

/// Form of a label in a reply.
enum LabelEncoding {
    /// A call of the verdict tool.
    Tool(usize),
    Tag(usize),
    NonceTag(usize),
    Fields(Vec<(String, Json)>),
}

/// Returns the first form that can say a label in the reply itself. None if only the question can find it.
fn label_encoding(choice: &Choice, label: Option<&Label>) -> Option<LabelEncoding> {
    // A rehearsal prefers the text, which a script can hold.
    let is_text = |method: &&Method| **method != Method::Tool;
    match choice.found_by.iter().find(is_text).or(choice.found_by.first())? {
        Method::Tool => Some(LabelEncoding::Tool(offer_of(choice, label?)?.number)),
        Method::NonceTag => Some(LabelEncoding::NonceTag(offer_of(choice, label?)?.number)),
        Method::Tag => Some(LabelEncoding::Tag(offer_of(choice, label?)?.number)),
        Method::Field(field) => {
            offer_of(choice, label?)?;
            Some(LabelEncoding::Fields(field_values(field, label?)))
        }
        Method::Findings(_) => finding_values(choice, label).map(LabelEncoding::Fields),
        Method::ExitCode(_) | Method::Only | Method::Ask(_) => None,
    }
}

/// Writes the output and the exit code of a program that give a label. Without a label, an exit code that no rule
/// covers, if there is one.
fn program_reply(reads: &Reads, label: Option<&Label>, number: u32) -> RehearsedReply {
    let text = format!("Rehearsed output {number}.\n");
    let methods = reads.choice.iter().flat_map(|choice| &choice.found_by);
    let ranges: Vec<&ExitCodeLabel> = methods
        .clone()
        .filter_map(|method| match method {
            Method::ExitCode(labels) => Some(labels),
            Method::Tool
            | Method::Tag
            | Method::NonceTag
            | Method::Field(_)
            | Method::Findings(_)
            | Method::Only
            | Method::Ask(_) => None,
        })
        .flatten()
        .collect();
    let Some(label) = label else {
        let mut codes = (0..=255).map(ProgramExit::Code).chain([ProgramExit::Timeout]);
        let uncovered = codes.find(|exit| !ranges.iter().any(|one| one.exits.contains(*exit)));
        return RehearsedReply {
            text,
            exit: uncovered.or(Some(ProgramExit::Code(0))),
            ..RehearsedReply::default()
        };
    };
    if let Some(exit) = example_exit(&ranges, label) {
        return RehearsedReply { text, exit: Some(exit), ..RehearsedReply::default() };
    }
    let by_field = methods.filter_map(|method| match method {
        Method::Field(field) => {
            field.means.iter().find(|(_, means)| *means == label).map(|(word, _)| (field, word))
        }
        Method::Tool
        | Method::Tag
        | Method::NonceTag
        | Method::Findings(_)
        | Method::ExitCode(_)
        | Method::Only
        | Method::Ask(_) => None,
    });
    let text = match (by_field.into_iter().next(), &reads.choice) {
        (Some((field, word)), _) => {
            let mut value = json!({});
            put_at_pointer(&mut value, &field.pointer, json!(word));
            format!("{value}\n")
        }
        (None, Some(choice)) => {
            let tag = offer_of(choice, label).map(|offer| format!("[STEP:{}]\n", offer.number));
            text + &tag.unwrap_or_default()
        }
        (None, None) => text,
    };
    RehearsedReply { text, exit: Some(ProgramExit::Code(0)), ..RehearsedReply::default() }
}

/// Returns an end of a program that has this label, and no label before it.
fn example_exit(ranges: &[&ExitCodeLabel], label: &Label) -> Option<ProgramExit> {
    let own = ranges.iter().find(|one| one.label == *label)?;
    let codes = (0..=255).map(ProgramExit::Code);
    let candidates = std::iter::once(own.exits.example()).chain(codes);
    let chosen = |exit: ProgramExit| ranges.iter().find(|one| one.exits.contains(exit)).map(|one| &one.label);
    candidates.into_iter().find(|exit| chosen(*exit) == Some(label))
}

/// Returns the findings that produce a label, or none of the labels.
fn finding_values(choice: &Choice, label: Option<&Label>) -> Option<Vec<(String, Json)>> {
    let one =
        |severity: Severity| json!([{ "severity": severity.name(), "description": "Rehearsed finding." }]);
    let mut found = std::iter::once(json!([])).chain(Severity::ALL.into_iter().rev().map(one));
    found.find_map(|issues| {
        let output = Some(json!({ "issues": issues }));
        let said = match saihai_judge::label(choice, &Reading { output, ..Reading::default() }, None) {
            LabelOutcome::Found(found, _) => Some(found),
            LabelOutcome::Missing | LabelOutcome::Ask => None,
        };
        (said.as_ref() == label).then(|| vec![("/issues".to_owned(), issues)])
    })
}

/// Returns the field values for a label: its own word, or the word of its base label plus the narrowing field.
fn field_values(field: &LabelField, label: &Label) -> Vec<(String, Json)> {
    let narrows = field.narrowed.iter().find_map(|narrowed| {
        let (word, _) = narrowed.means.iter().find(|(_, means)| *means == label)?;
        Some((&narrowed.label, (narrowed.pointer.clone(), json!(word))))
    });
    match narrows {
        Some((first, second)) => vec![(field.pointer.clone(), json!(first)), second],
        None => vec![(field.pointer.clone(), json!(label))],
    }
}

fn offer_of<'a>(choice: &'a Choice, label: &Label) -> Option<&'a Offer> {
    choice.options.iter().find(|offer| offer.label == *label)
}

/// Writes a report block, recognised by the file name above it.
fn report_paragraph(report: &Report) -> String {
    let heading = report.heading.clone().unwrap_or_else(|| format!("# {}", report.label));
    format!("{}\n```markdown\n{heading}\n\nRehearsed report.\n```", report.file)
}

/// Writes a block that the completion looks for, if the turn reads blocks.
fn block_paragraph(kind: &str, fields: &BTreeMap<String, Option<Json>>, reads: &Reads) -> Option<String> {
    let blocks = reads.blocks.as_ref()?;
    let mut block = json!({ "type": kind });
    for (field, value) in fields {
        put_at_pointer(
            &mut block,
            &format!("/{}", escape_pointer(field)),
            value.clone().unwrap_or_else(|| json!("rehearsed")),
        );
    }
    Some(format!("```{}\n{block}\n```", blocks.fence))
}

/// Returns the shortest path from the first phase to a terminal one. A run in a later phase ignores its first steps.
fn steps_to_the_end(phases: &Phases) -> Vec<&PhaseStep> {
    let mut ways = vec![(phases.start.as_str(), Vec::new())];
    let mut next = 0;
    while let Some((phase, way)) = ways.get(next).cloned() {
        if phases.terminal.iter().any(|terminal| terminal == phase) {
            return way;
        }
        for step in phases.steps.iter().filter(|step| step.from == phase) {
            if ways.iter().all(|(known, _)| *known != step.to) {
                let way = way.iter().copied().chain([step]).collect();
                ways.push((step.to.as_str(), way));
            }
        }
        next += 1;
    }
    Vec::new()
}

/// Adds everything that the completion looks for.
fn closing_paragraphs(done: &Completion, reads: &Reads, paragraphs: &mut Vec<String>) {
    match done {
        Completion::Keyword(keyword) => paragraphs.push(keyword.word.clone()),
        Completion::Signal { kind, fields, .. } => paragraphs.extend(block_paragraph(kind, fields, reads)),
        Completion::Phase(phases) => {
            let steps = steps_to_the_end(phases);
            paragraphs
                .extend(steps.iter().filter_map(|step| block_paragraph(&step.kind, &step.fields, reads)));
        }
        Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
            parts.iter().for_each(|part| closing_paragraphs(part, reads, paragraphs));
        }
        Completion::Flow | Completion::Rounds(_) | Completion::Checks(_) | Completion::Outside(_) => {}
    }
}

/// Builds the structured output: the smallest valid value with the deciding fields set, or an invalid one.
fn output_value(
    reads: &Reads,
    index: usize,
    saying: &PlannedReply,
    written: Option<LabelEncoding>,
    speech: &RehearsedReply,
) -> Option<Json> {
    if saying.wrong == Some(index) {
        let misfits = [json!("not what was asked for"), json!({}), json!([]), json!(0), Json::Null];
        return misfits.into_iter().find(|value| !fits(reads, speech, value));
    }
    let fields = match written {
        Some(LabelEncoding::Fields(fields)) => fields,
        Some(LabelEncoding::Tool(_) | LabelEncoding::Tag(_) | LabelEncoding::NonceTag(_)) | None => {
            Vec::new()
        }
    };
    let named = saying.named.clone().filter(|_| index == 0).map(|(pointer, stage)| (pointer, json!(stage)));
    if reads.output.is_none() && fields.is_empty() && named.is_none() {
        return None;
    }
    let mut value = reads.output.as_ref().map_or_else(|| json!({}), |output| smallest(&output.schema.schema));
    for (pointer, said) in fields.into_iter().chain(named) {
        put_at_pointer(&mut value, &pointer, said);
    }
    // Other stages may need lifted values, even if the schema does not mention them.
    if let Some(output) = &reads.output {
        let pointers = output.shaping.lifted.values();
        pointers.for_each(|pointer| put_lifted(&mut value, &output.schema.schema, pointer));
    }
    Some(value)
}

fn fits(reads: &Reads, speech: &RehearsedReply, value: &Json) -> bool {
    let said = ReplyText { text: &speech.text, structured: Some(value) };
    saihai_judge::read(ExpectedReply::Work(reads), "", said).violations.is_empty()
}

/// Returns the schema's spelling of a value whose lower-case form is `said`.
fn value_of_word(schema: &Json, field: &str, said: &str) -> Json {
    let property = schema.get("properties").and_then(|known| known.get(field));
    let listed = property.and_then(|property| property.get("enum")?.as_array());
    let same = |value: &&Json| value.as_str().is_some_and(|text| text.trim().to_lowercase() == said);
    if let Some(value) = listed.and_then(|values| values.iter().find(same)) {
        return value.clone();
    }
    let boolean = property.is_some_and(|property| property.get("type") == Some(&json!("boolean")));
    match said {
        "true" | "false" if boolean => json!(said == "true"),
        said => json!(said),
    }
}

/// Adds the value at a JSON pointer. An optional object on the way gets all the members that it requires.
fn put_lifted(value: &mut Json, schema: &Json, pointer: &str) {
    let ends = pointer.match_indices('/').map(|(at, _)| at).skip(1).chain([pointer.len()]);
    for part in ends.map(|end| &pointer[..end]).filter(|part| !part.is_empty()) {
        if value.pointer(part).is_some() {
            continue;
        }
        match property_schema(schema, part) {
            Some(schema) => put_at_pointer(value, part, smallest(&schema)),
            None if part == pointer => put_at_pointer(value, part, json!("rehearsed")),
            None => {}
        }
    }
}

/// Returns the schema of the value at a JSON pointer, with the definitions that it refers to.
fn property_schema(root: &Json, pointer: &str) -> Option<Json> {
    let mut schema = root.clone();
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        let reference = schema.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix('#'));
        if let Some(target) = reference.and_then(|pointer| root.pointer(pointer)) {
            schema = target.clone();
        }
        schema = schema.get("properties")?.get(&name)?.clone();
    }
    if let (Some(own), Some(all)) = (schema.as_object_mut(), root.as_object()) {
        let definitions = all.iter().filter(|(key, _)| matches!(key.as_str(), "$defs" | "definitions"));
        definitions.for_each(|(key, value)| {
            own.entry(key.clone()).or_insert_with(|| value.clone());
        });
    }
    schema.is_object().then_some(schema)
}

/// Sets a value at a JSON pointer and creates the objects on the way.
fn put_at_pointer(root: &mut Json, pointer: &str, value: Json) {
    let mut at = root;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        if !at.is_object() {
            *at = json!({});
        }
        at = &mut at[name];
    }
    *at = value;
}

fn escape_pointer(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Maximum depth of a schema. A schema that refers to itself has no smallest value anyway.
const DEPTH: u32 = 32;

/// Returns a small value for a schema. The value may be invalid if the schema uses unsupported keywords, such as a
/// pattern or a condition. The caller must check it with the real validator.
pub(crate) fn smallest(schema: &Json) -> Json {
    smallest_value(schema, schema, DEPTH)
}

fn smallest_value(root: &Json, schema: &Json, depth: u32) -> Json {
    let Some(object) = schema.as_object().filter(|_| depth > 0) else { return json!({}) };
    if let Some(fixed) = object.get("const").or_else(|| first_of(object, "enum")) {
        return fixed.clone();
    }
    if let Some(reference) = object.get("$ref").and_then(Json::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| json!({}), |target| smallest_value(root, target, depth - 1));
    }
    if let Some(parts) = object.get("allOf").and_then(Json::as_array) {
        return smallest_value(root, &merged_schema(root, object, parts), depth - 1);
    }
    if let Some(part) = first_of(object, "anyOf").or_else(|| first_of(object, "oneOf")) {
        return smallest_value(root, &merged_schema(root, object, std::slice::from_ref(part)), depth - 1);
    }
    match schema_kind(object) {
        "string" => smallest_string(object),
        "integer" | "number" => smallest_number(object),
        "boolean" => json!(false),
        "null" => Json::Null,
        "array" => smallest_array(root, object, depth),
        _ => smallest_members(root, object, depth),
    }
}

fn first_of<'a>(object: &'a Map<String, Json>, key: &str) -> Option<&'a Json> {
    object.get(key)?.as_array()?.first()
}

/// Returns the type of the schema, or infers it from the other keywords.
fn schema_kind(object: &Map<String, Json>) -> &str {
    let types = match object.get("type") {
        Some(Json::Array(types)) => types.first().and_then(Json::as_str),
        Some(one) => one.as_str(),
        None => None,
    };
    let about = |words: &[&str]| words.iter().any(|word| object.contains_key(*word));
    match types {
        Some(kind) => kind,
        None if about(&["items", "prefixItems", "minItems"]) => "array",
        None if about(&["minLength", "maxLength", "pattern"]) => "string",
        None if about(&["minimum", "maximum", "multipleOf"]) => "number",
        None => "object",
    }
}

/// Merges schemas into one, as far as a union of their keywords can express it.
fn merged_schema(root: &Json, own: &Map<String, Json>, parts: &[Json]) -> Json {
    let mut all = own.clone();
    ["allOf", "anyOf", "oneOf"].iter().for_each(|word| {
        all.remove(*word);
    });
    for part in parts {
        let reference = part.get("$ref").and_then(Json::as_str).and_then(|name| name.strip_prefix('#'));
        let part = reference.and_then(|pointer| root.pointer(pointer)).unwrap_or(part);
        for (word, says) in part.as_object().into_iter().flatten() {
            match (all.get_mut(word), says) {
                (Some(Json::Array(before)), Json::Array(more)) if word == "required" => {
                    before.extend(more.iter().cloned());
                }
                (Some(Json::Object(before)), Json::Object(more)) if word == "properties" => {
                    before.extend(more.clone());
                }
                _ => {
                    all.insert(word.clone(), says.clone());
                }
            }
        }
    }
    Json::Object(all)
}

fn smallest_string(object: &Map<String, Json>) -> Json {
    let length = object.get("minLength").and_then(Json::as_u64).unwrap_or(0).min(10_000);
    let text = match object.get("format").and_then(Json::as_str) {
        Some("date-time") => "2026-01-01T00:00:00Z",
        Some("date") => "2026-01-01",
        Some("time") => "00:00:00Z",
        Some("email") => "a@example.com",
        Some("uri" | "url") => "https://example.com/",
        Some("uuid") => "00000000-0000-4000-8000-000000000000",
        Some(_) | None => "",
    };
    let missing = usize::try_from(length).unwrap_or(0).saturating_sub(text.len());
    Json::String(format!("{text}{}", "x".repeat(missing)))
}

fn smallest_number(object: &Map<String, Json>) -> Json {
    let integer = schema_kind(object) == "integer";
    let bound = |key: &str| object.get(key).and_then(Json::as_f64);
    let step = bound("multipleOf").filter(|step| *step > 0.0);
    let unit = step.unwrap_or(if integer { 1.0 } else { 0.5 });
    let fits = |value: f64| {
        bound("minimum").is_none_or(|least| value >= least)
            && bound("exclusiveMinimum").is_none_or(|least| value > least)
            && bound("maximum").is_none_or(|most| value <= most)
            && bound("exclusiveMaximum").is_none_or(|most| value < most)
    };
    let near = |edge: f64| {
        [(edge / unit).ceil() * unit, (edge / unit).ceil() * unit + unit, (edge / unit).floor() * unit - unit]
    };
    let edges = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"].into_iter().filter_map(bound);
    let value = [0.0].into_iter().chain(edges.flat_map(near)).find(|value| fits(*value)).unwrap_or(0.0);
    #[expect(clippy::cast_possible_truncation, reason = "a whole number within the range checked here")]
    if value.fract() == 0.0 && value.abs() < 9e15 { json!(value as i64) } else { json!(value) }
}

fn smallest_array(root: &Json, object: &Map<String, Json>, depth: u32) -> Json {
    let least = object.get("minItems").and_then(Json::as_u64).unwrap_or(0).min(1_000);
    let prefix = object.get("prefixItems").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let anything = json!({});
    let rest = object.get("items").unwrap_or(&anything);
    let items = (0..usize::try_from(least).unwrap_or(0))
        .map(|index| smallest_value(root, prefix.get(index).unwrap_or(rest), depth - 1));
    Json::Array(items.collect())
}

fn smallest_members(root: &Json, object: &Map<String, Json>, depth: u32) -> Json {
    let required = object.get("required").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let anything = json!({});
    let member = |name: &str| {
        let schema = object.get("properties").and_then(|known| known.get(name)).unwrap_or(&anything);
        (name.to_owned(), smallest_value(root, schema, depth - 1))
    };
    Json::Object(required.iter().filter_map(Json::as_str).map(member).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    // S-15
    #[test]
    fn a_handed_on_field_of_an_optional_object_brings_the_whole_object() {
        let schema = json!({
            "type": "object", "required": ["id"],
            "properties": {"id": {"type": "string"}, "status": {"$ref": "#/$defs/status"}},
            "$defs": {"status": {
                "type": "object", "required": ["state"],
                "properties": {"state": {"enum": ["open", "closed"]}, "summary": {"type": "string"}, "parts": {"type": "array"}}
            }}
        });
        let mut value = smallest(&schema);
        for pointer in ["/status/summary", "/status/parts", "/other/x"] {
            put_lifted(&mut value, &schema, pointer);
        }
        let whole = json!({
            "id": "", "status": {"state": "open", "summary": "", "parts": []}, "other": {"x": "rehearsed"}
        });
        assert_eq!(value, whole);
    }
}
