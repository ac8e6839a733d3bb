//! The prompts of a stage, rendered without a run.

use std::collections::BTreeMap;
use std::path::Path;

use saihai_engine::Run;
use saihai_model::{
    Activity, Completion, Draft, Effect, Event, Fact, Form, Json, Millis, Moment, Part, Request, Splice,
    StageId, Start, Text, Topics, TurnId, Variable, Workflow,
};

use crate::Disk;
use crate::blobs::Blobs;
use crate::render::{Failed, Renderer};

/// The prompt of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preview {
    pub turn: TurnId,
    /// Text for the system slot of the provider.
    pub persona: Option<String>,
    /// The prompt, byte for byte.
    pub text: String,
}

/// The input for entering a stage.
#[derive(Debug, Clone, Copy)]
pub struct Entering<'a> {
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
pub fn preview(workflow: &Workflow, stage: &StageId, entering: &Entering<'_>) -> Vec<Preview> {
    let workflow = beginning_at(workflow, stage);
    let fact = Fact::Started(Box::new(started(&workflow, entering)));
    let effects = Run::new().apply(&workflow, &Event { at: Moment(0), fact });
    let asks = effects.into_iter().filter_map(|effect| match effect {
        Effect::Ask(request) => Some(request),
        Effect::Record(_)
        | Effect::Perform(_)
        | Effect::OpenGate(_)
        | Effect::Wake { .. }
        | Effect::Stop { .. } => None,
    });
    asks.filter_map(|request| render(*request, entering)).collect()
}

/// Returns the workflow with `stage` as its entry. All turns of it are asked at once, without their
/// preconditions.
fn beginning_at(workflow: &Workflow, stage: &StageId) -> Workflow {
    let mut workflow = workflow.clone();
    workflow.entry = stage.clone();
    if let Some(topics) = &mut workflow.topics {
        begin_with(topics, stage);
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
fn begin_with(topics: &mut Topics, stage: &StageId) {
    let mut leading = topics.routes.iter().filter(|route| route.to == *stage && !route.orphans).peekable();
    let is_first = leading.clone().any(|route| saihai_judge::takes(&route.pattern, &topics.start));
    if let (false, Some(route)) = (is_first, leading.peek()) {
        topics.start = route.pattern.as_str().into();
    }
}

/// Shows the name of an output that no stage has produced yet.
fn name_output(part: &mut Part) {
    if let Part::Value(Variable::Output { stage, key, otherwise: otherwise @ None }, _) = part {
        *otherwise = Some(format!("(the {key} of {stage})").into());
    }
}

fn started(workflow: &Workflow, entering: &Entering<'_>) -> Start {
    Start {
        definition: workflow.name.clone(),
        dialect: String::new(),
        task: entering.task.into(),
        seed: 0,
        interactive: entering.interactive,
        rehearsal: true,
        patience: Millis(0),
        directory: entering.directory.display().to_string(),
        head: None,
        report_directory: entering.report_directory.display().to_string(),
        subject: entering.subject.iter().map(|(name, value)| (name.clone(), told(value))).collect(),
        delivery: None,
        texts: Vec::new(),
        workflow: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        forked_from: None,
    }
}

fn told(value: &Json) -> Text {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned).into()
}

/// Replaces the changes by the reason why they are unknown.
fn without_changes(draft: &mut Draft, why: &str) {
    for splice in draft.sections.iter_mut().flatten() {
        if let Splice::Changes(_) = splice {
            *splice = Splice::Text(format!("(what has changed: {why})").into(), Form::Plain);
        }
    }
}

fn render(request: Request, entering: &Entering<'_>) -> Option<Preview> {
    // A workflow that was never frozen holds its texts itself, so no blob is read here.
    let blobs = Blobs::new(entering.report_directory.join("no-blobs"), &Disk::new());
    let renderer = Renderer {
        blobs: &blobs,
        directory: &entering.directory.display().to_string(),
        head: None,
        report_directory: &entering.report_directory.display().to_string(),
    };
    let persona = request.persona.as_ref().map(|text| renderer.text(text)).transpose().ok()?;
    let mut draft = request.draft?;
    let text = match renderer.render(&draft) {
        Err(Failed::Changes(error)) => {
            without_changes(&mut draft, &error.to_string());
            renderer.render(&draft)
        }
        rendered => rendered,
    };
    let text = text.ok()?.text;
    Some(Preview { turn: request.turn?, persona, text })
}
