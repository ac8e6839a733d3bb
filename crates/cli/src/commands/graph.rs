//! `saihai graph`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use saihai_config::Options;

use crate::error::{Error, exit};
use crate::graph::{self, Overlay};
use crate::prepared::{Prepared, Wanted};
use crate::project::Project;
use crate::terminal::Streams;

/// Draw a definition, or the way a run took through it
#[derive(Debug, Args)]
#[command(
    after_help = "Mermaid renders in Markdown on most forges, DOT is for Graphviz, SVG is our own drawing and follows the \
                  reader's light or dark screen. Loops stand out, monitors are dashed; for a run the path it took is \
                  marked, with counts and times."
)]
pub(crate) struct Graph {
    /// A definition (name or path), or a run (its id, a unique beginning of it, or `last`)
    #[arg(value_name = "DEFINITION | RUN")]
    what: String,

    /// How it is drawn
    #[arg(long, value_enum, default_value_t = Format::Mermaid, value_name = "FORMAT")]
    format: Format,

    /// Write the drawing to a file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How a drawing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For Markdown
    Mermaid,
    /// For Graphviz
    Dot,
    /// To look at
    Svg,
}

impl Graph {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let graph = if is_run(&self.what) {
            self.of_run(&project, streams)?
        } else {
            self.of_definition(&project, streams)?
        };
        let text = match self.format {
            Format::Mermaid => graph::mermaid(&graph),
            Format::Dot => graph::dot(&graph),
            Format::Svg => graph::svg(&graph),
        };
        match &self.out {
            None => streams.out.raw(text.as_bytes())?,
            Some(path) => {
                std::fs::write(path, text)
                    .map_err(|error| Error::usage(format!("cannot write `{}`: {error}", path.display())))?;
                streams.note(&format!("the drawing is in `{}`", path.display()));
            }
        }
        Ok(exit::DONE)
    }

    fn of_run(&self, project: &Project, streams: &mut Streams) -> Result<graph::Graph, Error> {
        let directory = project.runs().find(&self.what)?;
        let run = saihai::LoadedRun::read(&directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::Warning::torn(&directory, torn).to_string());
        }
        Ok(graph::Graph::of(&run.workflow, Some(&Overlay::of(&run.view))))
    }

    fn of_definition(&self, project: &Project, streams: &mut Streams) -> Result<graph::Graph, Error> {
        let settings = project.settings(false, streams)?;
        // A drawing shows every rule, including those for interactive runs only.
        let options = Options { interactive: true, ..Options::default() };
        let wanted = Wanted { definition: &self.what, options: &options, settings: &settings, strict: false };
        let prepared = Prepared::to_look_at(project, wanted, streams)?;
        Ok(graph::Graph::of(&prepared.workflow, None).described(prepared.description))
    }
}

/// Returns true for `last` and for names that start with a date. Definition names never do.
fn is_run(what: &str) -> bool {
    let date = what.get(..8).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()));
    what == "last" || date && what.as_bytes().get(8).is_none_or(|byte| *byte == b'-')
}
