//! `saihai prompt`.

use clap::Args;
use saihai::{Entering, Preview, preview};
use saihai_config::{Options, list_of, nearest};
use saihai_model::{StageId, Workflow};
use serde::Serialize;

use super::flags::ValueFlags;
use crate::error::{Error, exit};
use crate::json;
use crate::prepared::{Prepared, Wanted};
use crate::project::Project;
use crate::report::count;
use crate::task;
use crate::terminal::{Streams, visible_text};

/// Print exactly the text that would be sent to an agent first
#[derive(Debug, Args)]
#[command(after_help = "How many tokens Saihai itself adds to what the definition says goes to stderr.")]
pub(crate) struct Prompt {
    /// The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION")]
    definition: String,

    /// The stage, and the turn where it has several [default: the first]
    #[arg(value_name = "STAGE[/TURN]")]
    stage: Option<String>,

    /// What is to be done [default: a placeholder]
    #[arg(long, value_name = "TEXT")]
    task: Option<String>,

    #[command(flatten)]
    values: ValueFlags,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct PromptObject<'a> {
    stage: &'a str,
    turn: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    persona: Option<&'a str>,
    text: &'a str,
    added_tokens: u64,
}

impl Prompt {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let settings = project.settings(false, streams)?;
        let options =
            Options { interactive: streams.can_ask(), values: self.values.set, ..Options::default() };
        let wanted =
            Wanted { definition: &self.definition, options: &options, settings: &settings, strict: false };
        let prepared = Prepared::to_look_at(&project, wanted, streams)?;
        let place = Place::find(&prepared.workflow, self.stage.as_deref())?;
        let task = task::read(self.task)?.unwrap_or_else(|| task::PLACEHOLDER.to_owned());
        let entering = Entering {
            task: &task,
            directory: &project.places.root,
            report_directory: &settings.reports_dir.join("RUN"),
            interactive: options.interactive,
            subject: &prepared.subject,
        };
        let shown = place.preview(&prepared.workflow, &entering)?;
        let added_tokens = prepared.added_tokens(place.stage, &shown.turn);
        if self.json {
            let object = PromptObject {
                stage: place.stage.as_str(),
                turn: shown.turn.as_str(),
                persona: shown.persona.as_deref(),
                text: &shown.text,
                added_tokens,
            };
            json::line(&mut streams.out, "prompt", object)?;
            return Ok(exit::DONE);
        }
        // A program gets the exact bytes. A terminal must not interpret control characters.
        if streams.out.is_terminal() {
            streams.out.raw(visible_text(&shown.text).as_bytes())?;
        } else {
            streams.out.raw(shown.text.as_bytes())?;
        }
        streams.note(&format!("{} of it added by Saihai", count(added_tokens, "token")));
        Ok(exit::DONE)
    }
}

/// A stage that asks agents, optionally with one of its turns.
struct Place<'a> {
    stage: &'a StageId,
    turn: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// Resolves the typed name, or uses the entry stage. A stage name may contain `/`, so the full name is tried
    /// first.
    fn find(workflow: &'a Workflow, typed: Option<&'a str>) -> Result<Self, Error> {
        let Some(typed) = typed else {
            return Ok(Self { stage: &workflow.entry, turn: None });
        };
        let asks = |name: &str| {
            let found = workflow.stages.get_key_value(name).filter(|(_, stage)| !stage.turns().is_empty());
            found.map(|(id, _)| id)
        };
        if let Some(stage) = asks(typed) {
            return Ok(Self { stage, turn: None });
        }
        if let Some((stage, turn)) = typed.rsplit_once('/')
            && let Some(stage) = asks(stage)
        {
            return Ok(Self { stage, turn: Some(turn) });
        }
        let names = asking(workflow);
        let error = Error::usage(format!("no stage `{typed}` asks an agent"));
        Err(suggest(error, typed, &names))
    }

    fn preview(&self, workflow: &Workflow, entering: &Entering<'_>) -> Result<Preview, Error> {
        let mut all = preview(workflow, self.stage, entering);
        let names: Vec<String> = all.iter().map(|one| one.turn.to_string()).collect();
        let index = match self.turn {
            None => 0,
            Some(turn) => names.iter().position(|name| name == turn).ok_or_else(|| {
                suggest(Error::usage(format!("stage `{}` has no turn `{turn}`", self.stage)), turn, &names)
            })?,
        };
        if index >= all.len() {
            return Err(Error::usage(format!("stage `{}` asks no agent", self.stage)));
        }
        Ok(all.swap_remove(index))
    }
}

/// Lists the stages that ask agents.
fn asking(workflow: &Workflow) -> Vec<String> {
    let stages = workflow.stages.iter().filter(|(_, stage)| !stage.turns().is_empty());
    stages.map(|(id, _)| id.to_string()).collect()
}

fn suggest(error: Error, typed: &str, known: &[String]) -> Error {
    match nearest(typed, known.iter().map(String::as_str)) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("there is {}", list_of(known.iter().map(String::as_str), "and"))),
    }
}
