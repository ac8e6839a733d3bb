//! Reads a reply: turns its text into a small [`Reading`], so that the text is not needed again.
//!
//! Every reader finds its candidates in one pass over the text, and then reads only the lines around them. The cost is
//! therefore linear in the length of any reply.

mod blocks;
mod directives;
mod finding_tables;
mod json_text;
mod markdown;
mod quotation;
mod reply;
mod reports;
mod tags;
#[cfg(test)]
mod tests;
mod value;

use saihai_model::{
    AnswerForm, Choice, ExpectedReply, Json, LabelField, Method, OutputCheck, ProgramExit, Question, Reading,
    Reads, ReportClue, ReportLocation, VerdictChannel, VerdictToolProblem, VerdictToolResult,
};

use crate::digest::sha256;
use crate::label;
use reply::ParsedReply;
use tags::NoneTag;
use value::{JsonFences, ValueDemand};

#[derive(Debug, Clone, Copy)]
pub struct ReplyText<'a> {
    pub text: &'a str,
    /// Structured value that the provider delivered next to the text.
    pub structured: Option<&'a Json>,
}

/// Evidence of a verdict that belongs to one call, and not to the text of its reply.
#[derive(Debug, Default, Clone, Copy)]
pub struct CallVerdict<'a> {
    /// The word that only this call knows.
    pub nonce: Option<&'a str>,
    /// Result of the verdict tool, if the turn should have it.
    pub tool: Option<&'a VerdictToolResult>,
}

/// Reads the expected parts of a reply. `prompt` is the text it answers: an echo of it decides nothing.
pub fn read(wanted: ExpectedReply<'_>, prompt: &str, said: ReplyText<'_>) -> Reading {
    read_call(wanted, prompt, said, CallVerdict::default())
}

/// Reads the expected parts of a reply, and the verdict of its call (N-1).
pub fn read_call(
    wanted: ExpectedReply<'_>,
    prompt: &str,
    said: ReplyText<'_>,
    call: CallVerdict<'_>,
) -> Reading {
    let window = reply::ReplyWindow::of(said.text);
    let plain = reply::strip_escapes(window.text);
    let reply = ParsedReply::new(window, &plain, prompt);
    let mut reading = Reading {
        digest: sha256(said.text),
        tail: excerpt_tail(said.text, Reading::TAIL).to_owned(),
        warnings: window.warning().into_iter().collect(),
        ..Reading::default()
    };
    match wanted {
        ExpectedReply::Work(reads) => {
            read_work(reads, &reply, said.structured, call.nonce, &mut reading);
            if let Some(choice) = &reads.choice {
                take_verdict(choice, call, &mut reading);
            }
        }
        ExpectedReply::Answer(choice, question) => {
            read_answer(choice, question, &reply, said.structured, &mut reading);
        }
    }
    // The reason that the agent itself gives is better than a sentence near its tag.
    let reason = reading.verdict.as_ref().map(|verdict| quotation::one_line(&verdict.reason));
    let reason = reason.filter(|reason| !reason.is_empty());
    reading.quotation = reason.unwrap_or_else(|| quotation::quotation(&reply, &reading));
    reading.listed_findings = finding_tables::read_tables(said.text, reading.reports.iter().map(range));
    reading
}

/// Records the verdict of the tool and the channel of the label. The text does not overrule the tool (N-2).
fn take_verdict(choice: &Choice, call: CallVerdict<'_>, reading: &mut Reading) {
    let has = |method: &Method| choice.found_by.contains(method);
    if has(&Method::Tool) {
        match call.tool {
            Some(VerdictToolResult::Reported(verdict))
                if choice.options.iter().any(|offer| offer.number == verdict.number) =>
            {
                reading.verdict = Some(verdict.clone());
                reading.channel = Some(VerdictChannel::Tool);
                return;
            }
            Some(VerdictToolResult::Missing(problem)) => reading.degraded = Some(problem.clone()),
            Some(VerdictToolResult::Reported(_)) | None => {
                reading.degraded = Some(VerdictToolProblem::NotOffered);
            }
        }
    }
    let is_tagged = reading.tag.as_ref().is_some_and(|tag| tag.number.is_some());
    if has(&Method::NonceTag) && is_tagged {
        reading.channel = Some(VerdictChannel::Nonce);
    }
}

/// Returns the bytes of a report in its reply.
fn range(report: &ReportLocation) -> std::ops::Range<usize> {
    let at = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
    at(report.start)..at(report.end)
}

/// Reads the output of a program. Tags and values count as in a reply; a report is the whole output.
pub fn read_program(reads: &Reads, output: &str, exit: ProgramExit) -> Reading {
    let without_reports = Reads { reports: Vec::new(), ..reads.clone() };
    let said = ReplyText { text: output, structured: None };
    let reports = reads.reports.iter().map(|report| ReportLocation {
        file: report.file.clone(),
        how: ReportClue::Whole,
        start: 0,
        end: output.len() as u64,
        unclosed: false,
    });
    let reading = read(ExpectedReply::Work(&without_reports), "", said);
    let quotation = quotation::last_line(output);
    Reading { exit: Some(exit), reports: reports.collect(), quotation, ..reading }
}

/// Removes status tags at the ends of lines, which say nothing to a person.
pub fn without_status_tags(text: &str) -> String {
    let lines = text.lines().filter(|line| !tags::is_only_a_tag(line));
    let lines = lines.map(|line| match line.trim_end().rfind('[') {
        Some(at) if tags::is_only_a_tag(&line[at..]) => line[..at].trim_end(),
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Reads the blocks and keywords of a message before the final text. Values and labels come only from the final text.
pub fn overheard(reads: &Reads, prompt: &str, message: &str) -> Reading {
    let window = reply::ReplyWindow::of(message);
    let plain = reply::strip_escapes(window.text);
    let reply = ParsedReply::new(window, &plain, prompt);
    let found = reads.blocks.as_ref().map(|blocks| blocks::read_blocks(&reply, blocks)).unwrap_or_default();
    Reading {
        blocks: found.blocks,
        warnings: window.warning().into_iter().chain(found.warnings).collect(),
        keywords: blocks::read_keywords(&reply, &reads.keywords),
        ..Reading::default()
    }
}

fn read_work(
    reads: &Reads,
    reply: &ParsedReply<'_>,
    structured: Option<&Json>,
    nonce: Option<&str>,
    reading: &mut Reading,
) {
    if let Some(choice) = &reads.choice {
        if choice.found_by.contains(&Method::Tag) {
            tags::read_tags(reply, &choice.options, NoneTag::Ignored).put_into(reading);
        }
        if choice.found_by.contains(&Method::NonceTag) {
            reading.tag = nonce.and_then(|nonce| tags::read_nonce_tag(reply, &choice.options, nonce));
        }
    }
    if let Some(directives) = &reads.directives {
        directives::read_directives(reply, directives).put_into(reading);
    }
    let mut taken = Vec::new();
    if let Some(blocks) = &reads.blocks {
        let found = blocks::read_blocks(reply, blocks);
        taken = found.taken;
        reading.blocks = found.blocks;
        reading.warnings.extend(found.warnings);
    }
    if let Some((schema, required)) = schema_of(reads) {
        let shaping = reads.output.as_ref().map(|output| &output.shaping);
        let fences = JsonFences::Marked;
        let demand = ValueDemand { schema, required, taken: &taken, fences, shaping };
        match reads.output.as_ref().map(|output| output.checked).unwrap_or_default() {
            OutputCheck::BySchema => value::read_value(reply, structured, demand),
            OutputCheck::ByItem => value::read_items(reply, structured, demand),
        }
        .put_into(reading);
    }
    for (choice, field) in reads.choice.iter().flat_map(fields) {
        label::judge_field(choice, field, reading);
    }
    if !reads.reports.is_empty() {
        let found = reports::read_reports(reply, &reads.reports);
        reading.reports = found.reports;
        reading.warnings.extend(found.warnings);
    }
    reading.keywords = blocks::read_keywords(reply, &reads.keywords);
}

/// Returns the fields that choose a label.
fn fields(choice: &Choice) -> impl Iterator<Item = (&Choice, &LabelField)> {
    choice.found_by.iter().filter_map(move |method| match method {
        Method::Field(field) => Some((choice, field)),
        Method::Tool
        | Method::Tag
        | Method::NonceTag
        | Method::Findings(_)
        | Method::ExitCode(_)
        | Method::Only
        | Method::Ask(_) => None,
    })
}

/// Returns the start of a value, for messages.
pub(crate) fn excerpt(value: &str) -> String {
    excerpt_head(value, 200)
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
    reply: &ParsedReply<'_>,
    structured: Option<&Json>,
    reading: &mut Reading,
) {
    match &question.answer {
        AnswerForm::Tag => tags::read_tags(reply, &choice.options, NoneTag::Counts).put_into(reading),
        // An answer in a form has no content outside it, so the form is required regardless of its schema.
        AnswerForm::Form { schema, .. } => {
            let fences = JsonFences::MarkedOrPlain;
            let demand =
                ValueDemand { schema: &schema.schema, required: true, taken: &[], fences, shaping: None };
            value::read_value(reply, structured, demand).put_into(reading);
        }
    }
}

fn excerpt_tail(text: &str, characters: usize) -> &str {
    match characters.checked_sub(1).and_then(|before| text.char_indices().rev().nth(before)) {
        Some((start, _)) => &text[start..],
        None if characters == 0 => "",
        None => text,
    }
}

/// Returns the first characters, with `…` where cut.
pub(crate) fn excerpt_head(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod excerpt_tests {
    use super::*;

    // T-93
    #[test]
    fn texts_are_cut_between_characters() {
        let check = |text, count, last: &str, first: &str| {
            assert_eq!(
                (excerpt_tail(text, count), excerpt_head(text, count).as_str()),
                (last, first),
                "{text:?} {count}"
            );
        };
        check("あいう", 2, "いう", "あい…");
        check("あいう", 3, "あいう", "あいう");
        check("あいう", 9, "あいう", "あいう");
        check("あいう", 0, "", "…");
        check("", 0, "", "");
    }
}
