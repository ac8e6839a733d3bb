//! `saihai rehearse`.

use std::path::{Path, PathBuf};

use clap::Args;
use saihai::{Beginning, Clock, Driver};
use saihai_config::script_file;
use saihai_config::{Options, Settings};
use saihai_connect::Connections;
use saihai_engine::rehearse::{Rehearsal, Rehearse as How, rehearse};
use saihai_model::{Script, slug};
use serde::Serialize;

use super::flags::ValueFlags;
use crate::driving::{Past, Showing, block_on, drive};
use crate::error::{Error, exit};
use crate::prepared::{Prepared, Wanted, connections};
use crate::project::Project;
use crate::report::count;
use crate::terminal::{Streams, visible_line};
use crate::{json, script, task};

/// Try a definition on scripted replies
#[derive(Debug, Args)]
#[command(
    after_help = "No agent is asked and nothing is changed: what scripted replies write, edit or run is checked and \
                  logged only. Without a script, generated replies take every exit of every stage at least once, in \
                  as many temporary runs as it takes; the exit code is 1 if an exit was never taken."
)]
pub(crate) struct Rehearse {
    /// The definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION")]
    definition: String,

    /// What is to be done, or `-` to read it from stdin [default: a placeholder]
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Answer from this script
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all_paths", "faults", "write_script"])]
    script: Option<PathBuf>,

    /// Generate replies that take every exit of every stage [the default]
    #[arg(long)]
    all_paths: bool,

    /// Mix in failures, garbage and missing decisions
    #[arg(long)]
    faults: bool,

    /// Where all chance comes from
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Save the generated replies: the first run as FILE, further ones with a number
    #[arg(long, value_name = "FILE")]
    write_script: Option<PathBuf>,

    #[command(flatten)]
    values: ValueFlags,

    /// Treat warnings about the definition as errors
    #[arg(long)]
    strict: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RehearsalObject {
    runs: usize,
    ends: Vec<EndObject>,
    untaken: Vec<UntakenObject>,
}

#[derive(Serialize)]
struct EndObject {
    end: String,
    runs: usize,
}

#[derive(Serialize)]
struct UntakenObject {
    stage: String,
    exit: String,
    why: String,
}

impl Rehearse {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<u8, Error> {
        let project = Project::find()?;
        let settings = project.settings(false, streams)?;
        let can_ask = streams.can_ask() && !self.json;
        // Generated replies take every exit, including those for interactive runs only.
        let interactive = match &self.script {
            None => true,
            Some(file) => {
                script::is_interactive(&project, &project.places.current.join(file)).unwrap_or(can_ask)
            }
        };
        let values = self.values.set.clone();
        let options = Options { provider: Some("script".into()), interactive, values, ..Options::default() };
        let strict = self.strict || settings.strict;
        let wanted = Wanted { definition: &self.definition, options: &options, settings: &settings, strict };
        let prepared = Prepared::to_look_at(&project, wanted, streams)?;
        let Some(file) = &self.script else {
            return self.all_paths(&prepared, streams);
        };
        let script =
            script::read(&project, &project.places.current.join(file), &prepared.workflow, strict, streams)?;
        let beginning = self.beginning(&project, prepared, &settings, script, interactive)?;
        let connections = Connections { dry: true, ..connections(&settings) };
        let workflow = beginning.workflow.clone();
        let showing = Showing { past: Past::None, json: self.json, interactive: can_ask, auto: false };
        block_on(async {
            let driver = Driver::start(&project.runs(), beginning, connections, Clock::system())?;
            drive(driver, &workflow, showing, streams).await
        })
    }

    fn beginning(
        &self,
        project: &Project,
        prepared: Prepared,
        settings: &Settings,
        script: Script,
        interactive: bool,
    ) -> Result<Beginning, Error> {
        let task = task::read(self.task.clone())?.or_else(|| script.task.clone());
        // A run with a subject has no task.
        let placeholder = if prepared.subject.is_empty() { task::PLACEHOLDER } else { "" };
        Ok(Beginning {
            workflow: prepared.workflow,
            script: Some(script),
            definition: self.definition.clone(),
            dialect: prepared.definition.dialect.name().to_owned(),
            slug: slug(task.as_deref().unwrap_or(&prepared.definition.name)),
            task: task.unwrap_or_else(|| placeholder.to_owned()),
            seed: self.seed,
            interactive,
            rehearsal: true,
            // A scripted failure is retried as in a real run.
            patience: settings.short_wait,
            directory: project.places.root.clone(),
            reports: settings.reports_dir.clone(),
            subject: prepared.subject,
            placement: None,
            texts: Vec::new(),
        })
    }

    fn all_paths(&self, prepared: &Prepared, streams: &mut Streams) -> Result<u8, Error> {
        let how = How { seed: self.seed, faults: self.faults };
        let rehearsal = rehearse(&prepared.workflow, how);
        if let Some(file) = &self.write_script {
            for path in write_scripts(&rehearsal, file)? {
                streams.note(&format!("wrote `{}`", path.display()));
            }
        }
        if self.json {
            json::line(&mut streams.out, "rehearsal", object(&rehearsal))?;
        } else {
            for line in lines(&rehearsal) {
                streams.out.data(&line)?;
            }
        }
        Ok(if rehearsal.untaken.is_empty() { exit::DONE } else { exit::FAILED })
    }
}

/// Writes the script of each run: `walk.json`, `walk-2.json`, …
fn write_scripts(rehearsal: &Rehearsal, file: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut written = Vec::new();
    for (run, number) in rehearsal.runs.iter().zip(1..) {
        let path = if number == 1 { file.to_owned() } else { numbered(file, number) };
        std::fs::write(&path, script_file(&run.script))
            .map_err(|error| Error::unavailable(format!("cannot write `{}`: {error}", path.display())))?;
        written.push(path);
    }
    Ok(written)
}

fn numbered(file: &Path, number: usize) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let end = file.extension().map(|end| format!(".{}", end.to_string_lossy())).unwrap_or_default();
    file.with_file_name(format!("{stem}-{number}{end}"))
}

fn object(rehearsal: &Rehearsal) -> RehearsalObject {
    let untaken = rehearsal.untaken.iter().map(|one| UntakenObject {
        stage: one.stage.to_string(),
        exit: one.way.to_string(),
        why: one.why.to_string(),
    });
    RehearsalObject {
        runs: rehearsal.runs.len(),
        ends: rehearsal.ends().into_iter().map(|one| EndObject { end: one.end, runs: one.runs }).collect(),
        untaken: untaken.collect(),
    }
}

fn lines(rehearsal: &Rehearsal) -> Vec<String> {
    let runs = count(rehearsal.runs.len() as u64, "run");
    let mut lines = vec![match rehearsal.untaken.len() {
        0 => format!("{runs}, every exit taken"),
        untaken => format!("{runs}, {} never taken", count(untaken as u64, "exit")),
    }];
    lines.extend(
        rehearsal
            .ends()
            .iter()
            .map(|reached| format!("  {:>3}  {}", reached.runs, visible_line(&reached.end))),
    );
    if !rehearsal.untaken.is_empty() {
        lines.push("never taken:".to_owned());
        lines.extend(rehearsal.untaken.iter().map(|one| format!("  {}", visible_line(&one.to_string()))));
    }
    lines
}
