//! Prompts: renders a draft to text, and previews the prompts of a stage without a run.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use saihai_engine::Run;
use saihai_model::{
    Activity, Changes, Completion, Draft, Effect, Event, Fact, Join, Json, Millis, Moment, PromptPart,
    Request, RunOrigin, Splice, StageId, Start, Text, Topics, TurnId, ValueForm, Variable, Workflow,
};

use crate::blobs::Blobs;
use crate::disk::{Beneath, FileContent};
use crate::{Disk, DriverWarning};
use saihai_review::describe_changes;
use saihai_review::subject::{ReviewBase, SubjectError, changes_since};

#[derive(Debug, Clone, Copy)]
pub(crate) struct PromptRenderer<'a> {
    pub(crate) blobs: &'a Blobs,
    pub(crate) directory: &'a str,
    /// The commit that was checked out in that directory when the run started.
    pub(crate) head: Option<&'a str>,
    pub(crate) report_directory: &'a str,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RenderedPrompt {
    pub(crate) text: String,
    pub(crate) warnings: Vec<DriverWarning>,
}

#[derive(Debug)]
pub(crate) enum PromptError {
    /// A blob is missing or damaged.
    Blob {
        text: Text,
        why: String,
    },
    /// A report exists and is unreadable.
    Report {
        file: String,
        source: io::Error,
    },
    Changes(SubjectError),
}

impl PromptRenderer<'_> {
    /// Maximum size of one text that is passed on. The end is kept (C-52).
    const MOST: usize = 4 * 1024 * 1024;

    pub(crate) fn render(&self, draft: &Draft) -> Result<RenderedPrompt, PromptError> {
        let mut warnings = Vec::new();
        let mut text = String::new();
        for section in &draft.sections {
            let body = self.section(section, &mut warnings)?;
            match draft.join {
                Join::AsIs => text.push_str(&body),
                Join::Paragraphs => paragraph(&mut text, &body),
            }
        }
        if draft.join == Join::Paragraphs && !text.is_empty() {
            text.push('\n');
        }
        Ok(RenderedPrompt { text, warnings })
    }

    /// Returns the content of a text, or its end if it is too long.
    pub(crate) fn text(&self, text: &Text) -> Result<String, PromptError> {
        let whole = self.blobs.read(text);
        let mut whole =
            whole.map_err(|bad| PromptError::Blob { text: text.clone(), why: bad.to_string() })?;
        if whole.len() > Self::MOST {
            let most = whole.len() - Self::MOST;
            let cut = (most..whole.len()).find(|at| whole.is_char_boundary(*at)).unwrap_or(whole.len());
            whole.drain(..cut);
        }
        Ok(whole)
    }

    fn section(&self, section: &[Splice], warnings: &mut Vec<DriverWarning>) -> Result<String, PromptError> {
        let mut body = String::new();
        for splice in section {
            match splice {
                Splice::Text(Text::Inline(text), ValueForm::Plain) => body.push_str(text),
                Splice::Text(text, form) => body.push_str(&formed(self.text(text)?, *form)),
                Splice::ReportFile { file, missing } => {
                    body.push_str(&self.report(file, warnings)?.unwrap_or_else(|| missing.clone()));
                }
                Splice::ReportDirectory => body.push_str(self.report_directory),
                Splice::WorkingDirectory => body.push_str(self.directory),
                Splice::Changes(changes) => body.push_str(&self.changes(changes, warnings)?),
            }
        }
        Ok(body)
    }

    fn changes(&self, changes: &Changes, warnings: &mut Vec<DriverWarning>) -> Result<String, PromptError> {
        let base = match &changes.base {
            Some(base) => ReviewBase::Usual(base.clone()),
            None => ReviewBase::Found { remote: changes.remote.clone() },
        };
        let subject = changes_since(Path::new(self.directory), &base, self.head);
        let subject = subject.map_err(PromptError::Changes)?;
        let told = describe_changes(changes, &subject);
        if !told.left_out.is_empty() {
            warnings.push(DriverWarning::TooMuchChanged { files: told.left_out, most: changes.most });
        }
        Ok(told.text)
    }

    fn report(&self, file: &str, warnings: &mut Vec<DriverWarning>) -> Result<Option<String>, PromptError> {
        let failed = |source| PromptError::Report { file: file.to_owned(), source };
        let directory = match Beneath::open(Path::new(self.report_directory)) {
            Ok(directory) => directory,
            // A removed file counts as a missing report.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        match directory.read(file).map_err(failed)? {
            FileContent::Absent => Ok(None),
            FileContent::File(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            FileContent::Unsafe(why) => {
                warnings.push(DriverWarning::UnsafeReport { file: file.to_owned(), why });
                Ok(None)
            }
        }
    }
}

/// Adds a trimmed paragraph after a blank line. Adds nothing if it is empty.
fn paragraph(text: &mut String, body: &str) {
    let body = body.trim();
    if body.is_empty() {
        return;
    }
    if !text.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(body);
}

fn formed(text: String, form: ValueForm) -> String {
    match form {
        ValueForm::Plain => text,
        ValueForm::Quote => prefixed(&text, "> ", "> "),
        ValueForm::Bullets => prefixed(&text, "- ", "  "),
        ValueForm::Json => serde_json::Value::String(text).to_string(),
        ValueForm::Tail(most) => tail(&text, most as usize),
    }
}

/// Prefixes every line. Empty text stays empty.
fn prefixed(text: &str, first: &str, further: &str) -> String {
    let mut out = String::with_capacity(text.len() + first.len());
    for (index, line) in text.lines().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        out.push_str(if index == 0 { first } else { further });
        out.push_str(line);
    }
    out
}

fn tail(text: &str, most: usize) -> String {
    let Some((cut, _)) = text.char_indices().rev().nth(most.saturating_sub(1)).filter(|_| most > 0) else {
        return if most == 0 && !text.is_empty() { "…".to_owned() } else { text.to_owned() };
    };
    if cut == 0 { text.to_owned() } else { format!("…{}", &text[cut..]) }
}

/// The prompt of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptPreview {
    pub turn: TurnId,
    /// Text for the system slot of the provider.
    pub persona: Option<String>,
    /// The prompt, byte for byte.
    pub text: String,
}

/// The input for input a stage.
#[derive(Debug, Clone, Copy)]
pub struct PreviewInput<'a> {
    pub task: &'a str,
    pub directory: &'a Path,
    /// The directory that reports would go to.
    pub report_directory: &'a Path,
    /// True if a person sits at the terminal.
    pub interactive: bool,
    /// The subject, by the names that prompts use.
    pub subject: &'a BTreeMap<String, Json>,
}

/// Renders the prompts of a stage as if a run started there. Returns none for a stage that asks no agent.
///
/// It uses the engine and the renderer of a real run, so the result is exactly what a run would send.
pub fn preview(workflow: &Workflow, stage: &StageId, input: &PreviewInput<'_>) -> Vec<PromptPreview> {
    let workflow = starting_at(workflow, stage);
    let fact = Fact::Started(Box::new(started(&workflow, input)));
    let effects = Run::new().apply(&workflow, &Event { at: Moment(0), fact });
    let asks = effects.into_iter().filter_map(|effect| match effect {
        Effect::Ask(request) => Some(request),
        _ => None,
    });
    asks.filter_map(|request| render_preview(*request, input)).collect()
}

/// Returns the workflow with `stage` as its entry, whose turns are all asked, without preconditions.
fn starting_at(workflow: &Workflow, stage: &StageId) -> Workflow {
    let mut workflow = workflow.clone();
    workflow.entry = stage.clone();
    if let Some(topics) = &mut workflow.topics {
        start_with(topics, stage);
    }
    // Skip the check for completion, which would look outside first.
    workflow.completion = Completion::Flow;
    let does = workflow.stages.get_mut(stage).map(|stage| &mut stage.does);
    if let Some(Activity::Turns { at_once, turns, .. }) = does {
        *at_once = None;
        for turn in turns {
            turn.needs.clear();
            let parts = turn.prompt.sections.iter_mut().flat_map(|section| &mut section.body);
            parts.for_each(name_output);
        }
    }
    workflow
}

/// Makes the workflow publish the event that leads to the stage. It prefers the first event of a run, else
/// takes the first topic that leads there.
fn start_with(topics: &mut Topics, stage: &StageId) {
    let mut leading = topics.routes.iter().filter(|route| route.to == *stage && !route.orphans).peekable();
    let is_first = leading.clone().any(|route| saihai_judge::takes(&route.pattern, &topics.start));
    if let (false, Some(route)) = (is_first, leading.peek()) {
        topics.start = route.pattern.as_str().into();
    }
}

/// Shows the name of an output that no stage has produced yet.
fn name_output(part: &mut PromptPart) {
    if let PromptPart::Value(Variable::Output { stage, key, otherwise: otherwise @ None }, _) = part {
        *otherwise = Some(format!("(the {key} of {stage})").into());
    }
}

fn started(workflow: &Workflow, input: &PreviewInput<'_>) -> Start {
    Start {
        definition: workflow.name.clone(),
        dialect: String::new(),
        task: input.task.into(),
        seed: 0,
        interactive: input.interactive,
        rehearsal: true,
        patience: Millis(0),
        directory: input.directory.display().to_string(),
        head: None,
        uncommitted: Vec::new(),
        report_directory: input.report_directory.display().to_string(),
        subject: input.subject.iter().map(|(name, value)| (name.clone(), value_text(value))).collect(),
        delivery: None,
        texts: Vec::new(),
        workflow: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        forked_from: None,
        origin: RunOrigin::default(),
    }
}

fn value_text(value: &Json) -> Text {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).into()
}

/// Replaces the changes by the reason why they are unknown.
fn without_changes(draft: &mut Draft, why: &str) {
    for splice in draft.sections.iter_mut().flatten() {
        if let Splice::Changes(_) = splice {
            *splice = Splice::Text(format!("(what has changed: {why})").into(), ValueForm::Plain);
        }
    }
}

fn render_preview(request: Request, input: &PreviewInput<'_>) -> Option<PromptPreview> {
    // A workflow that was never frozen holds its texts itself, so no blob is read here.
    let blobs = Blobs::new(input.report_directory.join("no-blobs"), &Disk::new());
    let renderer = PromptRenderer {
        blobs: &blobs,
        directory: &input.directory.display().to_string(),
        head: None,
        report_directory: &input.report_directory.display().to_string(),
    };
    let persona = request.persona.as_ref().map(|text| renderer.text(text)).transpose().ok()?;
    let mut draft = request.draft?;
    let text = match renderer.render(&draft) {
        Err(PromptError::Changes(error)) => {
            without_changes(&mut draft, &error.to_string());
            renderer.render(&draft)
        }
        rendered => rendered,
    };
    let text = text.ok()?.text;
    Some(PromptPreview { turn: request.turn?, persona, text })
}

#[cfg(test)]
mod tests;
