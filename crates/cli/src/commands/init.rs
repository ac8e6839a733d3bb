//! `saihai init`.

use clap::{Args, ValueEnum};
use saihai_config::{FIRST, Language, review, scaffold};

use crate::error::{Error, exit};
use crate::new_files::{self, Overwrite};
use crate::project::Project;
use crate::terminal::{Streams, visible_line};

/// Begin: write settings and a first definition, both explained
#[derive(Debug, Args)]
#[command(
    after_help = "Writes `.saihai/config.toml`, `.saihai/pieces/first.yaml`, the JSON Schemas by which editors \
                        complete and check both, and a `.gitignore` for the runs. Where one of them exists, nothing is \
                        written."
)]
pub(crate) struct Init {
    /// The language of the definition and the comments [default: that of the settings, else of the locale]
    #[arg(long, value_enum, value_name = "LANGUAGE")]
    language: Option<Spoken>,

    /// Write only copies of the built-in review agents, to edit them in `.saihai/agents`
    #[arg(long)]
    review: bool,

    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// A language, by its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Spoken {
    Ja,
    En,
}

impl Init {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let language = match self.language {
            Some(Spoken::Ja) => Language::Japanese,
            Some(Spoken::En) => Language::English,
            None => project.language(),
        };
        let root = &project.places.root;
        let files = if self.review { review::copies(root, language) } else { scaffold(root, language) };
        let overwrite = if self.force { Overwrite::Yes } else { Overwrite::Never };
        for name in new_files::write(&files, &project.places, overwrite)? {
            streams.out.data(&visible_line(&name))?;
        }
        if self.review {
            streams
                .note("a copy has no effect until it is edited; delete the ones you do not want to change");
            return Ok(exit::DONE);
        }
        let task = match language {
            Language::English => "Describe a small task here",
            Language::Japanese => "ここに小さなタスクを書く",
        };
        streams.note(&format!(
            "next, type `saihai run {FIRST} \"{task}\"`; without a provider it only rehearses"
        ));
        Ok(exit::DONE)
    }
}
