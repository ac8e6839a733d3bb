//! `saihai check`.

mod bound;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use saihai_config::{
    Definition, Diagnostic, Diagnostics, Dialect, FileKind, Options, Settings, Source as _, find, list, load,
    review, to_github, to_sarif,
};
use serde::Serialize;

use crate::error::{Error, exit};
use crate::prepared::{unsaved_reports, unusable};
use crate::project::Project;
use crate::terminal::{Streams, defused};
use crate::{diagnostics, json};
use bound::{Bound, BoundObject};

/// Report everything that is wrong with definitions and settings
#[derive(Debug, Args)]
#[command(
    after_help = "Then prints, for each definition, an upper bound on the calls to providers and, where all of them have \
                  a price, on what they cost; retries not counted."
)]
pub(crate) struct Check {
    /// Definitions, or directories of them [default: every definition found, and the settings]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Count warnings as errors
    #[arg(long)]
    strict: bool,

    /// With the source for people, as one JSON object, as annotations for GitHub, or as a SARIF log
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Format::Human)]
    format: Format,

    /// The same as `--format json`
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Github,
    Sarif,
}

#[derive(Serialize)]
struct CheckObject<'a> {
    diagnostics: Vec<&'a Diagnostic>,
    bounds: Vec<BoundObject<'a>>,
}

/// Definitions and review agents to check.
struct Asked {
    definitions: Vec<Definition>,
    /// Number of review agents, which are already checked together.
    agents: usize,
}

impl Asked {
    fn is_empty(&self) -> bool {
        self.definitions.is_empty() && self.agents == 0
    }
}

impl Check {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let mut found = Diagnostics::new();
        let settings = project.load_settings(false, &mut found);
        let mut bounds = Vec::new();
        let asked = self.definitions(&project, &settings, &mut found);
        for definition in &asked.definitions {
            bounds.extend(one(&project, definition, &settings, &mut found));
        }
        if !bounds.is_empty() {
            found.append(unsaved_reports(&settings));
        }
        let found = found.sorted();
        match if self.json { Format::Json } else { self.format } {
            Format::Human => self.people(&found, &bounds, asked.is_empty(), streams)?,
            Format::Github => streams.out.raw(to_github(&found).as_bytes())?,
            Format::Sarif => streams.out.raw(to_sarif(&found).as_bytes())?,
            Format::Json => {
                let bounds = bounds.iter().map(Bound::object).collect();
                let object = CheckObject { diagnostics: found.iter().collect(), bounds };
                json::line(&mut streams.out, "check", object)?;
            }
        }
        let strict = self.strict || settings.strict;
        Ok(if found.forbids(strict) { exit::USAGE } else { exit::DONE })
    }

    /// Collects the definitions to check. Adds missing ones to `found`.
    fn definitions(&self, project: &Project, settings: &Settings, found: &mut Diagnostics) -> Asked {
        if self.paths.is_empty() {
            let (agents, wrong) = review_agents(project, settings);
            found.append(wrong);
            let all = list(&project.source, &project.places, settings.language)
                .into_iter()
                .map(|listed| listed.definition);
            let own =
                all.filter(|definition| definition.path.is_some() && definition.dialect != Dialect::Review);
            return Asked { definitions: own.collect(), agents };
        }
        let mut asked = Vec::new();
        for path in &self.paths {
            asked.extend(self.files(project, path));
        }
        let mut definitions = Vec::new();
        for name in asked {
            match find(&project.source, &project.places, &name) {
                Ok(definition) => definitions.push(definition),
                Err(diagnostics) => found.append(diagnostics),
            }
        }
        Asked { definitions, agents: 0 }
    }

    /// Returns a definition's name or path, or every candidate file in a directory.
    fn files(&self, project: &Project, path: &Path) -> Vec<String> {
        let name = path.to_string_lossy().into_owned();
        let place = project.places.current.join(path);
        let holds_agent = project.source.is_file(&place.join("agent.json"));
        if project.source.kind(&place) != Some(FileKind::Directory) || holds_agent {
            return vec![name];
        }
        let files = project.source.texts(&place);
        let ends = [".yaml", ".yml", ".toml"];
        let could_be = files.into_iter().filter(|file| ends.iter().any(|end| file.ends_with(end)));
        could_be.map(|file| place.join(file).to_string_lossy().into_owned()).collect()
    }

    fn people(
        &self,
        found: &Diagnostics,
        bounds: &[Bound],
        nothing_asked: bool,
        streams: &mut Streams,
    ) -> Result<(), Error> {
        let text = diagnostics::human(found, &streams.out);
        streams.out.raw(defused(&text).as_bytes())?;
        if !found.is_empty() && !bounds.is_empty() {
            streams.out.data("")?;
        }
        for bound in bounds {
            for line in bound.lines() {
                streams.out.data(&line)?;
            }
        }
        if found.is_empty() && bounds.is_empty() {
            streams.note(if nothing_asked { "there is nothing to check here" } else { "nothing is wrong" });
        }
        Ok(())
    }
}

/// Counts the project's review agents and checks them together, because their names must be unique.
fn review_agents(project: &Project, settings: &Settings) -> (usize, Diagnostics) {
    let loaded = match review::load(&project.source, &project.places, settings.language) {
        Ok(loaded) => loaded,
        Err(refused) => return (0, refused),
    };
    let own =
        loaded.agents.iter().filter(|agent| !matches!(agent.origin, review::AgentOrigin::BuiltIn)).count();
    let names: Vec<&str> = loaded.agents.iter().map(|agent| agent.definition.name.as_str()).collect();
    let mut found = settings.review.check_agents(&names);
    found.append(loaded.remarks);
    loaded.errors.into_iter().for_each(|error| found.append(error.diagnostics));
    (own, found)
}

fn one(
    project: &Project,
    definition: &Definition,
    settings: &Settings,
    found: &mut Diagnostics,
) -> Option<Bound> {
    let loaded = load(&project.source, &project.places, definition, &Options::default(), settings);
    found.append(loaded.diagnostics);
    let workflow = loaded.workflow?;
    found.append(unusable(&workflow, settings));
    let settings = settings.describing(workflow.provider.as_ref());
    Some(Bound::new(project, definition, &workflow, &settings).with_texts(loaded.texts))
}
