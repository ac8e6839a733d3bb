//! `saihai rehearse`, and `saihai record`, which turns a run into a script.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use saihai::views::Recording;
use saihai::{Clock, Driver, LoadedRun, RunDirectory, RunSpec, Runs};
use saihai_config::{LARGEST_FILE, Options, Settings, script_file, script_yaml};
use saihai_connect::Connections;
use saihai_engine::rehearse::{ReachedExit, Rehearsal, Rehearse as How, rehearse};
use saihai_model::{ExitStatus, RunOrigin, Script, StageId, slug};
use saihai_view::RunState;
use serde::Serialize;

use crate::commands::flags::{RunArgument, ValueFlags};
use crate::completion::{complete_all_definitions, completer};
use crate::definitions::{
    DefinitionRequest, PreparedDefinition, TASK_PLACEHOLDER, connections, read_script_file, read_task,
    script_is_interactive,
};
use crate::driving::{DisplayOptions, RunKeeping, block_on, drive};
use crate::error::{CommandError, write_file};
use crate::project::Project;
use crate::quantities::count;
use crate::terminal::{Streams, visible_line, width};

/// Test a definition with scripted or generated replies
#[derive(Debug, Args)]
#[command(after_help = "\
Asks no agent, changes no files and keeps no run. Edits and commands of a script are only checked.
Without a script, generated replies take every exit of every stage at least once.
The exit code is 1 if an exit was never taken, or if a recorded script does not match.

Examples:
  saihai rehearse default
  saihai rehearse default --script tests/default.yaml
  saihai rehearse default --faults --seed 7")]
pub(crate) struct RehearseCommand {
    /// Definition: a name, or a path (with a `/`, or ending in .yaml, .yml, .json or .toml)
    #[arg(value_name = "DEFINITION", add = completer(complete_all_definitions))]
    definition: String,

    /// Task for the agents, or `-` to read it from stdin [default: a placeholder]
    #[arg(value_name = "TASK")]
    task: Option<String>,

    /// Reply from this script
    #[arg(long, value_name = "FILE", conflicts_with_all = ["all_paths", "faults", "write_script"])]
    script: Option<PathBuf>,

    /// Generate replies that take every exit of every stage [the default]
    #[arg(long)]
    all_paths: bool,

    /// Mix in failures, garbage and missing decisions
    #[arg(long)]
    faults: bool,

    /// Seed for the random number generator
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,

    /// Save each run as a test: the first to FILE, further ones with a number; YAML, or JSON for `.json`
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
    /// Stages of the shortest run with this end.
    path: Vec<String>,
}

#[derive(Serialize)]
struct UntakenObject {
    stage: String,
    exit: String,
    why: String,
}

impl RehearseCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let settings = project.settings(false, streams)?;
        let can_ask = streams.can_ask() && !self.json;
        // Generated replies take every exit, including those for interactive runs only.
        let interactive = match &self.script {
            None => true,
            Some(file) => {
                script_is_interactive(&project, &project.places.current.join(file)).unwrap_or(can_ask)
            }
        };
        let values = self.values.set.clone();
        let options = Options { provider: Some("script".into()), interactive, values, ..Options::default() };
        let strict = self.strict || settings.strict;
        let wanted = DefinitionRequest {
            definition: &self.definition,
            options: &options,
            settings: &settings,
            strict,
        };
        let prepared = PreparedDefinition::to_look_at(&project, wanted, streams)?;
        let Some(file) = &self.script else {
            return self.all_paths(&prepared, streams);
        };
        let script = read_script_file(
            &project,
            &project.places.current.join(file),
            &prepared.workflow,
            strict,
            streams,
        )?;
        // A rehearsal changes nothing, so its run exists only while it is driven.
        let scratch = tempfile::tempdir().map_err(|error| {
            CommandError::unavailable(format!("cannot create a temporary directory: {error}"))
        })?;
        let runs = Runs::of_project(scratch.path());
        let beginning = RunSpec {
            reports: scratch.path().join("reports"),
            ..self.beginning(&project, prepared, &settings, script, interactive)?
        };
        let connections = Connections { dry: true, ..connections(&settings) };
        let workflow = beginning.workflow.clone();
        let showing = DisplayOptions {
            json: self.json,
            interactive: can_ask,
            auto: false,
            keeping: RunKeeping::Temporary,
            completed: ExitStatus::Done,
            otel: false,
        };
        block_on(async {
            let driver = Driver::start(&runs, beginning, connections, Clock::system())?;
            drive(driver, &workflow, showing, streams).await
        })
    }

    fn beginning(
        &self,
        project: &Project,
        prepared: PreparedDefinition,
        settings: &Settings,
        script: Script,
        interactive: bool,
    ) -> Result<RunSpec, CommandError> {
        let task = read_task(self.task.clone())?.or_else(|| script.task.clone());
        // A run with a subject has no task.
        let placeholder = if prepared.subject.is_empty() { TASK_PLACEHOLDER } else { "" };
        Ok(RunSpec {
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
            origin: RunOrigin::default(),
        })
    }

    fn all_paths(
        &self,
        prepared: &PreparedDefinition,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        let how = How { seed: self.seed, faults: self.faults };
        let rehearsal = rehearse(&prepared.workflow, how);
        if let Some(file) = &self.write_script {
            for (path, end) in write_scripts(&rehearsal, file)? {
                streams.note(&format!("wrote `{}`: {}", path.display(), visible_line(&end)));
            }
        }
        if self.json {
            streams.out.json("rehearsal", object(&rehearsal))?;
        } else {
            let columns = streams.out.columns();
            streams.out.lines(&lines(&rehearsal, columns))?;
        }
        Ok(if rehearsal.untaken.is_empty() { ExitStatus::Done } else { ExitStatus::Failed })
    }
}

/// Writes the script of each run: `walk.yaml`, `walk-2.yaml`, … Returns each file with the end of its run.
fn write_scripts(rehearsal: &Rehearsal, file: &Path) -> Result<Vec<(PathBuf, String)>, CommandError> {
    let mut written = Vec::new();
    for (run, number) in rehearsal.runs.iter().zip(1..) {
        let path = if number == 1 { file.to_owned() } else { numbered(file, number) };
        let script = run.test_script();
        let text = if is_json(&path) { script_file(&script) } else { script_yaml(&script) };
        write_file(&path, text)?;
        written.push((path, run.end.to_string()));
    }
    Ok(written)
}

fn is_json(file: &Path) -> bool {
    file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"))
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
        ends: rehearsal.ends().into_iter().map(EndObject::new).collect(),
        untaken: untaken.collect(),
    }
}

impl EndObject {
    fn new(reached: ReachedExit) -> Self {
        let path = reached.path.iter().map(ToString::to_string).collect();
        Self { end: reached.end, runs: reached.runs, path }
    }
}

/// Most stages of a path on the screen. A longer path shows both its ends.
const MOST_STAGES: usize = 12;

/// Formats a path as `plan → build ×2 → review`, in lines of at most `columns`.
fn path_lines(path: &[StageId], columns: usize) -> Vec<String> {
    let mut stages: Vec<(&str, usize)> = Vec::new();
    for stage in path {
        match stages.last_mut() {
            Some((last, times)) if *last == stage.as_str() => *times += 1,
            _ => stages.push((stage.as_str(), 1)),
        }
    }
    let mut words: Vec<String> = stages
        .iter()
        .map(|(stage, times)| match times {
            1 => visible_line(stage).into_owned(),
            times => format!("{} ×{times}", visible_line(stage)),
        })
        .collect();
    if words.len() > MOST_STAGES {
        let (head, tail) = (MOST_STAGES / 2, MOST_STAGES / 2 - 1);
        let left_out = words.len() - head - tail;
        words.splice(head..words.len() - tail, [format!("… {left_out} more …")]);
    }
    const INDENT: &str = "       ";
    let mut lines: Vec<String> = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let arrow = if index + 1 < words.len() { " →" } else { "" };
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) + width(arrow) <= columns => {
                line.push_str(&format!(" {word}{arrow}"));
            }
            _ => lines.push(format!("{INDENT}{word}{arrow}")),
        }
    }
    lines
}

fn lines(rehearsal: &Rehearsal, columns: usize) -> Vec<String> {
    let runs = count(rehearsal.runs.len() as u64, "run");
    let mut lines = vec![match rehearsal.untaken.len() {
        0 => format!("{runs}, every exit taken"),
        untaken => format!("{runs}, {} never taken", count(untaken as u64, "exit")),
    }];
    for reached in rehearsal.ends() {
        lines.push(format!("  {:>3}  {}", reached.runs, visible_line(&reached.end)));
        lines.extend(path_lines(&reached.path, columns));
    }
    if !rehearsal.untaken.is_empty() {
        lines.push("never taken:".to_owned());
        lines.extend(rehearsal.untaken.iter().map(|one| format!("  {}", visible_line(&one.to_string()))));
    }
    lines
}

/// Turn a run into a script that replays it as a test
#[derive(Debug, Args)]
#[command(after_help = "\
The script contains the task, all replies and failures, the answers, and the expected result.
`saihai rehearse DEFINITION --script FILE` replays it without a model. It exits with 1 if the
outcome, the path or a prompt differs. The script contains edits of agents, but not the effects of commands.

Examples:
  saihai record --out tests/default.yaml
  saihai record 20260206-0856 --out login.json")]
pub(crate) struct RecordCommand {
    #[command(flatten)]
    run: RunArgument,

    /// Write the script to this file: YAML, or JSON if the name ends in .json
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl RecordCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let directory = self.run.find(&Project::find()?)?;
        let run = LoadedRun::read(&directory)?;
        require_end(&run)?;
        let recording = run.recording()?;
        if recording.cancelled {
            let message = format!("run `{}` was cancelled, and a script cannot replay that", directory.id());
            return Err(CommandError::usage(message));
        }
        let text = self.text(&directory, &recording);
        if text.len() as u64 > LARGEST_FILE {
            let message = format!("the script is too large: {} bytes of at most {LARGEST_FILE}", text.len());
            return Err(CommandError::usage(message).hint("record a shorter run"));
        }
        match &self.out {
            None => streams.out.raw(text.as_bytes())?,
            Some(path) => {
                write_file(path, text)?;
                // A definition may have the same name as a review agent.
                let play = if run.workflow.is_review() {
                    format!("saihai review --script {}", path.display())
                } else {
                    format!("saihai rehearse {} --script {}", run.view.start.definition, path.display())
                };
                streams.note(&format!("play it with `{play}`"));
            }
        }
        if !recording.unknown.is_empty() {
            let turns = count(recording.unknown.len() as u64, "turn");
            streams.warning(&format!("some file changes of {turns} are unknown"));
        }
        Ok(ExitStatus::Done)
    }

    fn text(&self, directory: &RunDirectory, recording: &Recording) -> String {
        if self.out.as_deref().is_some_and(is_json) {
            return script_file(&recording.script);
        }
        let mut head = format!("# Recorded from run {}.\n", visible_line(directory.id()));
        for turn in &recording.unknown {
            let turn = visible_line(turn);
            let _ = writeln!(head, "# Some file changes of {turn} are unknown.");
        }
        format!("{head}{}", script_yaml(&recording.script))
    }
}

/// Rejects an unfinished run: it has no outcome that a script could expect.
fn require_end(run: &LoadedRun) -> Result<(), CommandError> {
    let id = run.directory.id();
    let refused = CommandError::usage(format!("run `{id}` has not ended: it is {}", run.state.name()));
    match run.state {
        RunState::Ended { .. } => Ok(()),
        RunState::Running { .. } => Err(refused.hint("record it when it has ended")),
        RunState::Interrupted | RunState::Ready | RunState::Parked { .. } => {
            Err(refused.hint(format!("continue with `saihai resume {}`", run.directory.short_name())))
        }
    }
}
