//! Generates the replies of agents.

use std::collections::BTreeMap;

use saihai_judge::{Labelled, Said};
use saihai_model::{
    AnswerForm, Choice, Completion, Json, Label, Method, Offer, PhaseStep, Phases, Pointed, Question,
    Reading, Reads, Report, Severity, Turn, Wanted,
};
use serde_json::json;

use super::smallest::smallest;
use super::way::{Directive, Saying};

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Speech {
    pub(super) text: String,
    pub(super) structured: Option<Json>,
}

/// Writes the reply of a turn that takes the planned exit. The number makes each reply unique, like those of real
/// agents.
pub(super) fn work(turn: &Turn, index: usize, saying: &Saying, done: &Completion, number: u32) -> Speech {
    let reads = &turn.reads;
    let mut paragraphs = vec![format!("Rehearsed reply {number}.")];
    paragraphs.extend(reads.reports.iter().map(report));
    if saying.closes {
        closing(done, reads, &mut paragraphs);
    }
    match &saying.directive {
        Some(Directive::Event(topic)) => paragraphs.push(format!("EVENT: {topic}")),
        Some(Directive::Word(word, required)) => {
            paragraphs.extend(required.iter().map(|topic| format!("EVENT: {topic}")));
            paragraphs.push(word.clone());
        }
        None => {}
    }
    let label = saying.labels.get(index).and_then(Option::as_ref);
    let written = reads.choice.as_ref().and_then(|choice| written(choice, label));
    if let Some(Written::Tag(number)) = &written {
        paragraphs.push(format!("[STEP:{number}]"));
    }
    let mut speech = Speech { text: paragraphs.join("\n\n"), structured: None };
    speech.structured = output(reads, index, saying, written, &speech);
    speech
}

/// Writes the answer to a question about a stage. No label means "none of these".
pub(super) fn answer(choice: &Choice, question: &Question, label: Option<&Label>, number: u32) -> Speech {
    let text = format!("Rehearsed answer {number}.");
    match (&question.answer, label) {
        (AnswerForm::Tag, label) => {
            let tag = label.and_then(|label| offer(choice, label));
            let tag = tag.map_or_else(|| "NONE".to_owned(), |offer| offer.number.to_string());
            Speech { text: format!("{text}\n\n[STEP:{tag}]"), structured: None }
        }
        (AnswerForm::Form { .. }, None) => Speech { text, structured: None },
        (AnswerForm::Form { schema, field, means, .. }, Some(label)) => {
            let mut value = smallest(&schema.schema);
            let said = means.iter().find(|(_, means)| *means == label).map(|(said, _)| said.as_str());
            put(
                &mut value,
                &format!("/{}", escape(field)),
                meant(&schema.schema, field, said.unwrap_or_default()),
            );
            Speech { text, structured: Some(value) }
        }
    }
}

/// Returns true if a reply can say this label, or leave it to the question.
pub(super) fn can_say(turn: &Turn, label: Option<&Label>) -> bool {
    let Some(choice) = &turn.reads.choice else { return label.is_none() };
    let saying = Saying { labels: vec![label.cloned()], ..Saying::default() };
    let speech = work(turn, 0, &saying, &Completion::Flow, 1);
    let said = Said { text: &speech.text, structured: speech.structured.as_ref() };
    let reading = saihai_judge::read(Wanted::Work(&turn.reads), "", said);
    let read = match saihai_judge::label(choice, &reading, None) {
        Labelled::Found(found, _) => Some(&found) == label,
        Labelled::Missing => label.is_none(),
        Labelled::Ask => true,
    };
    read && reading.violations.is_empty()
}

/// Form of a label in a reply.
enum Written {
    Tag(usize),
    Fields(Vec<(String, Json)>),
}

/// Returns the first form that can say a label in the reply itself. None if only the question can find it.
fn written(choice: &Choice, label: Option<&Label>) -> Option<Written> {
    match choice.found_by.first()? {
        Method::Tag => Some(Written::Tag(offer(choice, label?)?.number)),
        Method::Field(field) => {
            offer(choice, label?)?;
            Some(Written::Fields(fields(field, label?)))
        }
        Method::Findings(_) => findings(choice, label).map(Written::Fields),
        Method::Ask(_) => None,
    }
}

/// Returns the findings that produce a label, or none of the labels.
fn findings(choice: &Choice, label: Option<&Label>) -> Option<Vec<(String, Json)>> {
    let one =
        |severity: Severity| json!([{ "severity": severity.name(), "description": "Rehearsed finding." }]);
    let mut found = std::iter::once(json!([])).chain(Severity::ALL.into_iter().rev().map(one));
    found.find_map(|issues| {
        let output = Some(json!({ "issues": issues }));
        let said = match saihai_judge::label(choice, &Reading { output, ..Reading::default() }, None) {
            Labelled::Found(found, _) => Some(found),
            Labelled::Missing | Labelled::Ask => None,
        };
        (said.as_ref() == label).then(|| vec![("/issues".to_owned(), issues)])
    })
}

/// Returns the field values for a label: its own word, or the word of its base label plus the narrowing field.
fn fields(field: &Pointed, label: &Label) -> Vec<(String, Json)> {
    let narrows = field.narrowed.iter().find_map(|narrowed| {
        let (word, _) = narrowed.means.iter().find(|(_, means)| *means == label)?;
        Some((&narrowed.label, (narrowed.pointer.clone(), json!(word))))
    });
    match narrows {
        Some((first, second)) => vec![(field.pointer.clone(), json!(first)), second],
        None => vec![(field.pointer.clone(), json!(label))],
    }
}

fn offer<'a>(choice: &'a Choice, label: &Label) -> Option<&'a Offer> {
    choice.options.iter().find(|offer| offer.label == *label)
}

/// Writes a report block, recognised by the file name above it.
fn report(report: &Report) -> String {
    let heading = report.heading.clone().unwrap_or_else(|| format!("# {}", report.label));
    format!("{}\n```markdown\n{heading}\n\nRehearsed report.\n```", report.file)
}

/// Writes a block that the completion looks for, if the turn reads blocks.
fn block(kind: &str, fields: &BTreeMap<String, Option<Json>>, reads: &Reads) -> Option<String> {
    let blocks = reads.blocks.as_ref()?;
    let mut block = json!({ "type": kind });
    for (field, value) in fields {
        put(&mut block, &format!("/{}", escape(field)), value.clone().unwrap_or_else(|| json!("rehearsed")));
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
fn closing(done: &Completion, reads: &Reads, paragraphs: &mut Vec<String>) {
    match done {
        Completion::Keyword(keyword) => paragraphs.push(keyword.word.clone()),
        Completion::Signal { kind, fields, .. } => paragraphs.extend(block(kind, fields, reads)),
        Completion::Phase(phases) => {
            let steps = steps_to_the_end(phases);
            paragraphs.extend(steps.iter().filter_map(|step| block(&step.kind, &step.fields, reads)));
        }
        Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
            parts.iter().for_each(|part| closing(part, reads, paragraphs));
        }
        Completion::Flow | Completion::Rounds(_) | Completion::Checks(_) | Completion::Outside(_) => {}
    }
}

/// Builds the structured output: the smallest valid value with the deciding fields set, or an invalid one.
fn output(
    reads: &Reads,
    index: usize,
    saying: &Saying,
    written: Option<Written>,
    speech: &Speech,
) -> Option<Json> {
    if saying.wrong == Some(index) {
        let misfits = [json!("not what was asked for"), json!({}), json!([]), json!(0), Json::Null];
        return misfits.into_iter().find(|value| !fits(reads, speech, value));
    }
    let fields = match written {
        Some(Written::Fields(fields)) => fields,
        Some(Written::Tag(_)) | None => Vec::new(),
    };
    let named = saying.named.clone().filter(|_| index == 0).map(|(pointer, stage)| (pointer, json!(stage)));
    if reads.output.is_none() && fields.is_empty() && named.is_none() {
        return None;
    }
    let mut value = reads.output.as_ref().map_or_else(|| json!({}), |output| smallest(&output.schema.schema));
    for (pointer, said) in fields.into_iter().chain(named) {
        put(&mut value, &pointer, said);
    }
    // Other stages may need lifted values, even if the schema does not mention them.
    for pointer in reads.output.iter().flat_map(|output| output.shaping.lifted.values()) {
        if value.pointer(pointer).is_none() {
            put(&mut value, pointer, json!("rehearsed"));
        }
    }
    Some(value)
}

fn fits(reads: &Reads, speech: &Speech, value: &Json) -> bool {
    let said = Said { text: &speech.text, structured: Some(value) };
    saihai_judge::read(Wanted::Work(reads), "", said).violations.is_empty()
}

/// Returns the schema's spelling of a value whose lower-case form is `said`.
fn meant(schema: &Json, field: &str, said: &str) -> Json {
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

/// Sets a value at a JSON pointer and creates the objects on the way.
fn put(root: &mut Json, pointer: &str, value: Json) {
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

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
