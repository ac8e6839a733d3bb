//! Reads a reply: turns its text into a small [`Reading`], so that the text is not needed again.
//!
//! Every reader finds its candidates in one pass over the text, and then reads only the lines around them. The cost is
//! therefore linear in the length of any reply.

mod ansi;
mod block;
mod directive;
mod echo;
mod excerpt;
mod fence;
mod json;
mod keyword;
mod page;
mod quoted;
mod reply;
mod report;
mod tag;
mod window;

#[cfg(test)]
mod tests;

use saihai_model::{AnswerForm, Checked, Choice, Json, Method, Pointed, Question, Reading, Reads, Wanted};

use crate::digest::sha256;
use crate::pointed;
pub use directive::Miss;
use json::Demand;
use reply::Reply;
use tag::NoneTag;

#[derive(Debug, Clone, Copy)]
pub struct Said<'a> {
    pub text: &'a str,
    /// Structured value that the provider delivered next to the text.
    pub structured: Option<&'a Json>,
}

/// Reads the expected parts of a reply. `prompt` is the text it answers: an echo of it decides nothing.
pub fn read(wanted: Wanted<'_>, prompt: &str, said: Said<'_>) -> Reading {
    let window = window::Window::of(said.text);
    let plain = ansi::strip(window.text);
    let reply = Reply::new(window, &plain, prompt);
    let mut reading = Reading {
        digest: sha256(said.text),
        tail: excerpt::tail(said.text, Reading::TAIL).to_owned(),
        warnings: window.warning().into_iter().collect(),
        ..Reading::default()
    };
    match wanted {
        Wanted::Work(reads) => read_work(reads, &reply, said.structured, &mut reading),
        Wanted::Answer(choice, question) => {
            read_answer(choice, question, &reply, said.structured, &mut reading);
        }
    }
    reading
}

/// Reads the blocks and keywords of a message before the final text. Values and labels come only from the final text.
pub fn overheard(reads: &Reads, prompt: &str, message: &str) -> Reading {
    let window = window::Window::of(message);
    let plain = ansi::strip(window.text);
    let reply = Reply::new(window, &plain, prompt);
    let found = reads.blocks.as_ref().map(|blocks| block::read(&reply, blocks)).unwrap_or_default();
    Reading {
        blocks: found.blocks,
        warnings: window.warning().into_iter().chain(found.warnings).collect(),
        keywords: keyword::read(&reply, &reads.keywords),
        ..Reading::default()
    }
}

fn read_work(reads: &Reads, reply: &Reply<'_>, structured: Option<&Json>, reading: &mut Reading) {
    if let Some(choice) = &reads.choice
        && choice.found_by.iter().any(|method| matches!(method, Method::Tag))
    {
        tag::read(reply, &choice.options, NoneTag::Ignored).put_into(reading);
    }
    if let Some(directives) = &reads.directives {
        directive::read(reply, directives).put_into(reading);
    }
    let mut taken = Vec::new();
    if let Some(blocks) = &reads.blocks {
        let found = block::read(reply, blocks);
        taken = found.taken;
        reading.blocks = found.blocks;
        reading.warnings.extend(found.warnings);
    }
    if let Some((schema, required)) = schema_of(reads) {
        let shaping = reads.output.as_ref().map(|output| &output.shaping);
        let demand = Demand { schema, required, taken: &taken, shaping };
        match reads.output.as_ref().map(|output| output.checked).unwrap_or_default() {
            Checked::BySchema => json::read(reply, structured, demand),
            Checked::ByItem => json::read_items(reply, structured, demand),
        }
        .put_into(reading);
    }
    for (choice, field) in reads.choice.iter().flat_map(fields) {
        pointed::judge(choice, field, reading);
    }
    if !reads.reports.is_empty() {
        let found = report::read(reply, &reads.reports);
        reading.reports = found.reports;
        reading.warnings.extend(found.warnings);
    }
    reading.keywords = keyword::read(reply, &reads.keywords);
}

/// Returns the fields that choose a label.
fn fields(choice: &Choice) -> impl Iterator<Item = (&Choice, &Pointed)> {
    choice.found_by.iter().filter_map(move |method| match method {
        Method::Field(field) => Some((choice, field)),
        Method::Tag | Method::Findings(_) | Method::Ask(_) => None,
    })
}

/// Returns the start of a value, for messages.
pub(crate) fn excerpt(value: &str) -> String {
    excerpt::head(value, 200)
}

static ANY: Json = Json::Bool(true);

/// Returns the schema of a turn's output, and true if it is required. If only a field decides, any object will do.
fn schema_of(reads: &Reads) -> Option<(&Json, bool)> {
    let by_field = |choice: &Choice| fields(choice).next().is_some();
    match &reads.output {
        Some(output) => Some((&output.schema.schema, output.schema.required)),
        None => reads.choice.as_ref().is_some_and(by_field).then_some((&ANY, false)),
    }
}

fn read_answer(
    choice: &Choice,
    question: &Question,
    reply: &Reply<'_>,
    structured: Option<&Json>,
    reading: &mut Reading,
) {
    match &question.answer {
        AnswerForm::Tag => tag::read(reply, &choice.options, NoneTag::Counts).put_into(reading),
        // An answer in a form has no content outside it, so the form is required regardless of its schema.
        AnswerForm::Form { schema, .. } => {
            let demand = Demand { schema: &schema.schema, required: true, taken: &[], shaping: None };
            json::read(reply, structured, demand).put_into(reading);
        }
    }
}
