//! `saihai runs` and `saihai show`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Subcommand};
use saihai::{FollowedRun, ListedRun, LoadedRun, RunDirectory, list_runs};
use saihai_model::{
    ExitStatus, Hold, Millis, ParentTurn, ProviderName, ReportClue, StageId, TextFile, TextSource, Usd,
};
use saihai_view::RunState;
use saihai_view::{PersonNoteView, ReportVersion, RunView, VisitView};
use serde::Serialize;

use super::prune_runs::{RemoveRunsCommand, RunPruning, parse_age};
use super::show_stage::{StagePartFlags, StageTarget, show_stage};
use crate::commands::flags::RunAndStage;
use crate::commands::show_findings::show_findings;
use crate::driving::{Conclusion, ResultObject, is_late, show_result, state_style};
use crate::error::{CommandError, write_file};
use crate::page::{SavedPageOptions, saved_page};
use crate::project::Project;
use crate::quantities;
use crate::quantities::{SpendingObject, grouped, spending_words, total_cost};
use crate::report::{RunNames, destination_words, reason_summary, with_reasons};
use crate::run_result::RunResult;
use crate::terminal::{Stream, Streams, Table, TypedObject, visible_line};
use crate::watching::state_sentence;

/// List the runs of this project, newest first, or delete old ones
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
`--prune` and `rm` delete journals, replies and reports, but no worktrees and branches.
Without `--force` they keep parked and waiting runs, and delivered work that is not merged yet.
They never delete a run that a process drives.

Examples:
  saihai runs -n 10
  saihai runs --state parked
  saihai runs --prune 30d --dry-run
  saihai runs rm 20260206-0856"
)]
pub(crate) struct RunsCommand {
    #[command(subcommand)]
    action: Option<RunsAction>,

    /// List at most this many runs
    #[arg(short = 'n', long = "limit", value_name = "N")]
    limit: Option<usize>,

    /// List only runs of this dialect
    #[arg(long, value_name = "DIALECT", value_parser = ["piece", "hats", "steps", "review"])]
    dialect: Option<String>,

    /// List only runs in this state
    #[arg(long, value_name = "STATE", value_parser = STATES)]
    state: Option<String>,

    /// Delete runs whose last event is older than this, e.g. `30d` or `12h`
    #[arg(long, value_name = "AGE", value_parser = parse_age, help_heading = "Deleting")]
    prune: Option<Millis>,

    /// Also delete parked and waiting runs, and delivered work that waits to be merged
    #[arg(long, requires = "prune", help_heading = "Deleting")]
    force: bool,

    /// List the runs that `--prune` would delete, and delete none
    #[arg(long, requires = "prune", help_heading = "Deleting")]
    dry_run: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum RunsAction {
    Rm(RemoveRunsCommand),
}

const STATES: [&str; 7] =
    ["running", "interrupted", "parked", "completed", "failed", "declined", "cancelled"];

#[derive(Serialize)]
struct RunObject<'a> {
    run: &'a str,
    definition: &'a str,
    dialect: &'a str,
    state: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    provider: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    started: String,
    turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_lacks: Option<&'a BTreeSet<ProviderName>>,
    rehearsal: bool,
}

impl RunsCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        if let Some(RunsAction::Rm(remove)) = self.action {
            return remove.execute(streams);
        }
        let runs = Project::find()?.runs();
        if let Some(age) = self.prune {
            let pruning = RunPruning { age, force: self.force, dry_run: self.dry_run, json: self.json };
            let is_wanted = |view: &RunView, state: &RunState| self.wants(view, state);
            return pruning.execute(&runs, is_wanted, streams);
        }
        let head = ["RUN", "DEFINITION", "STARTED", "TURNS", "COST", "STATE"];
        let mut table = Table::new(&head).optional(&["TURNS", "STARTED", "COST", "DEFINITION"]);
        let mut is_empty = true;
        let mut rows = Vec::new();
        let mut listed = 0;
        for ListedRun { directory, run } in list_runs(&runs)? {
            if self.limit.is_some_and(|limit| listed >= limit) {
                break;
            }
            listed += 1;
            match run {
                Ok((view, state)) if self.wants(&view, &state) => {
                    is_empty = false;
                    if self.json {
                        streams.out.json("run", object(directory.id(), &view, &state))?;
                    } else {
                        rows.push((row(&directory, &view, &state), state_style(&state)));
                    }
                }
                Ok(_) => listed -= 1,
                Err(error) => {
                    listed -= 1;
                    let why = crate::error::sentence(&error);
                    streams.warning(&format!("run `{}` is left out: {why}", directory.id()));
                }
            }
        }
        if self.json {
            return Ok(ExitStatus::Done);
        }
        if is_empty {
            let such = if self.dialect.is_some() || self.state.is_some() { "such " } else { "" };
            streams.note(&format!("this project has no {such}runs"));
        } else {
            let ids: Vec<String> = rows.iter().map(|(cells, _)| cells[0].clone()).collect();
            for (mut cells, style) in rows {
                // Full ids stay where programs read them.
                if streams.out.columns() < WIDE {
                    cells[0] = short_id(&cells[0], &ids).to_owned();
                }
                table.styled_row(cells, "STATE", style);
            }
            let lines = table.lines_for(&streams.out);
            streams.out.lines(&lines)?;
        }
        Ok(ExitStatus::Done)
    }

    fn wants(&self, view: &RunView, state: &RunState) -> bool {
        self.dialect.as_ref().is_none_or(|dialect| *dialect == view.start.dialect)
            && self.state.as_ref().is_none_or(|wanted| *wanted == state.name())
    }
}

/// Below this many columns, ids are shortened.
const WIDE: usize = 120;
/// Characters of the date and the time at the start of an id.
const STAMP: usize = 15;

/// Returns the shortest beginning that no other id has, at least its date and time. Commands accept it as the run.
fn short_id<'a>(id: &'a str, ids: &[String]) -> &'a str {
    let is_unique = |start: &str| ids.iter().filter(|other| other.starts_with(start)).count() < 2;
    let ends = id.char_indices().map(|(at, _)| at).filter(|at| *at >= STAMP);
    ends.map(|at| &id[..at]).find(|start| is_unique(start)).unwrap_or(id)
}

fn object<'a>(run: &'a str, view: &'a RunView, state: &'a RunState) -> RunObject<'a> {
    RunObject {
        run,
        definition: &view.start.definition,
        dialect: &view.start.dialect,
        state: state.name(),
        reason: state.reason(),
        provider: state.provider(),
        until: state.until().map(quantities::rfc3339),
        started: quantities::rfc3339(view.started),
        turns: view.turns,
        cost_usd: view.cost.map(Usd::dollars),
        cost_lacks: view.cost.and(Some(&view.unpriced)).filter(|lacks| !lacks.is_empty()),
        rehearsal: view.start.rehearsal,
    }
}

fn row(directory: &RunDirectory, view: &RunView, state: &RunState) -> Vec<String> {
    let is_late = is_at_late_gate(directory, view, state);
    let words = state_sentence(view, state, is_late);
    vec![
        visible_line(directory.id()).into_owned(),
        visible_line(&view.start.definition).into_owned(),
        quantities::local(view.started),
        view.turns.to_string(),
        total_cost(view.cost, &view.unpriced).unwrap_or_else(|| "-".to_owned()),
        words,
    ]
}

/// Returns true if the run waits at a gate that has timed out, so that no answer is needed.
fn is_at_late_gate(directory: &RunDirectory, view: &RunView, state: &RunState) -> bool {
    let at_gate = matches!(state, RunState::Parked { hold: Hold::Person(_), .. });
    let workflow = at_gate.then(|| directory.frozen_workflow(&view.start).ok()).flatten();
    workflow.and_then(|workflow| view.open_gate(&workflow)).is_some_and(|gate| is_late(&gate))
}

/// Show the state of a run, or the prompts and replies of a stage
#[derive(Debug, Args)]
#[command(after_help = "\
Without a stage, prints the stages, the reports, the budget and the result so far.
With a stage, prints the prompt and the reply of each turn, by default of the last visit.
One argument alone is a run if it is `last` or starts with the date of a run id.
Otherwise it is a stage of the last run.

Examples:
  saihai show
  saihai show last --html run.html
  saihai show --findings
  saihai show 20260206-0856 implement --visit 2 --prompt")]
pub(crate) struct ShowCommand {
    #[command(flatten)]
    target: RunAndStage,

    /// Number of the visit to the stage [default: the last]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(help_heading = "Parts of a stage")]
    visit: Option<u32>,

    #[command(flatten)]
    parts: StagePartFlags,

    /// Print again whenever the run has changed, until it ends or stops
    #[arg(long, conflicts_with_all = ["html", "visit", "StagePartFlags"])]
    watch: bool,

    /// Print the findings of the run's reviews, and what became of each
    #[arg(long, conflicts_with_all = ["html", "visit", "watch", "StagePartFlags"])]
    findings: bool,

    /// Save the run as a page in one HTML file, for a browser without a server
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "visit", "StagePartFlags"])]
    #[arg(help_heading = "Page")]
    html: Option<PathBuf>,

    /// Leave the prompts out of the page
    #[arg(long, requires = "html", help_heading = "Page")]
    without_prompts: bool,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

impl ShowCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let (directory, stage) = self.target.find(&project)?;
        if let Some(path) = &self.html {
            let options = SavedPageOptions { without_prompts: self.without_prompts };
            return save_page(&directory, stage, &project, path, options, streams);
        }
        if self.findings {
            return show_findings(&directory, stage, self.json, streams);
        }
        if stage.is_some() || self.visit.is_some() || self.parts.is_given() {
            let run = LoadedRun::read(&directory)?;
            let target = StageTarget::find(&run, stage, self.visit)?;
            show_stage(&run, &target, &self.parts, self.json, streams)?;
            return Ok(ExitStatus::Done);
        }
        if self.watch {
            return self.watch(&directory, streams);
        }
        self.print(&directory, streams)?;
        Ok(ExitStatus::Done)
    }

    fn print(&self, directory: &RunDirectory, streams: &mut Streams) -> Result<RunState, CommandError> {
        let told = ShownRun::read(directory, streams)?;
        if self.json {
            streams.out.json("show", told.object())?;
        } else {
            let lines = told.lines(&streams.out);
            streams.out.lines(&lines)?;
            show_result(&told.conclusion, false, streams)?;
        }
        streams.out.flush()?;
        Ok(told.run.state)
    }

    /// Prints the run again after each change. A terminal shows only the last state.
    fn watch(&self, directory: &RunDirectory, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let mut followed = FollowedRun::new(directory.clone());
        let mut shown: Option<(u64, RunState)> = None;
        loop {
            followed.look()?;
            let now = followed.view().map(|view| view.last_seq).zip(followed.state());
            if now != shown {
                if shown.is_some() && !self.json {
                    let between = if streams.out.is_terminal() { "\u{1b}[H\u{1b}[2J\u{1b}[3J" } else { "\n" };
                    streams.out.raw(between.as_bytes())?;
                }
                let state = self.print(directory, streams)?;
                if !matches!(state, RunState::Running { gate: None, .. }) {
                    return Ok(ExitStatus::Done);
                }
                shown = now;
            }
            std::thread::sleep(WATCH);
        }
    }
}

/// Interval between two looks of `show --watch`.
const WATCH: Duration = Duration::from_millis(500);

/// Writes the page of a run to a file.
fn save_page(
    directory: &RunDirectory,
    stage: Option<&str>,
    project: &Project,
    path: &Path,
    options: SavedPageOptions,
    streams: &mut Streams,
) -> Result<ExitStatus, CommandError> {
    if let Some(stage) = stage {
        let error = CommandError::usage(format!("a page shows a whole run, and not only `{stage}`"));
        return Err(error.hint("leave the stage out"));
    }
    let page = saved_page(&LoadedRun::read(directory)?, project, options)?;
    write_file(path, page)?;
    streams.note(&format!("wrote run `{}` to `{}`", directory.id(), path.display()));
    Ok(ExitStatus::Done)
}

/// All data for the output of `show`.
pub(crate) struct ShownRun {
    pub(crate) run: LoadedRun,
    pub(crate) conclusion: Conclusion,
    reports: Vec<ReportVersion>,
    result: RunResult,
}

impl ShownRun {
    pub(crate) fn read(directory: &RunDirectory, streams: &mut Streams) -> Result<Self, CommandError> {
        let run = LoadedRun::read(directory)?;
        if let Some(torn) = run.torn {
            streams.warning(&saihai::DriverWarning::torn(directory, torn).to_string());
        }
        // For example, a warning that the output is truncated.
        let last = run.view.calls.iter().rev().find_map(|call| call.reply());
        for warning in last.iter().flat_map(|reply| &reply.reading.warnings) {
            streams.warning(&visible_line(warning));
        }
        let (conclusion, reports, result) =
            (Conclusion::of_run(&run)?, run.view.reports(), RunResult::of(&run)?);
        Ok(Self { run, conclusion, reports, result })
    }

    /// Returns what `show --json` prints.
    pub(crate) fn object(&self) -> impl Serialize {
        ShowObject {
            result: TypedObject::new("result", self.conclusion.object()),
            stages: self.run.view.visits.iter().map(StageObject::new).collect(),
            reports: self.reports.iter().map(ReportObject::new).collect(),
            prompts: self.run.view.start.texts.iter().map(PromptSourceObject::new).collect(),
            notes: self.run.view.person_notes.iter().map(NoteObject::new).collect(),
            budget: self.conclusion.spending().and_then(SpendingObject::of),
            parent: self.run.view.start.origin.parent.as_ref().map(ParentObject::of),
            returned: &self.result,
        }
    }

    fn lines(&self, out: &Stream) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(from) = &self.run.view.start.forked_from {
            let from = visible_line(from);
            lines.push(format!("forked from {from}; its turns, tokens and cost are not counted here"));
            lines.push(String::new());
        }
        if let Some(parent) = &self.run.view.start.origin.parent {
            let (run, call) = (visible_line(&parent.run), visible_line(&parent.call));
            lines.push(format!("started by the agent of `{call}` in run {run}"));
            lines.push(String::new());
        }
        lines.extend(self.stage_table().lines_for(out));
        if !self.run.view.start.texts.is_empty() {
            lines.push(String::new());
            lines.extend(self.prompt_table().lines_for(out));
        }
        if !self.reports.is_empty() {
            lines.push(String::new());
            lines.extend(self.report_table().lines_for(out));
        }
        if !self.run.view.person_notes.is_empty() {
            lines.push(String::new());
            lines.extend(self.note_table().lines_for(out));
        }
        lines.extend(self.budget_line());
        lines.push(String::new());
        lines
    }

    fn prompt_table(&self) -> Table {
        let mut table = Table::new(&["STAGE", "PROMPT", "SOURCE"]);
        for text in &self.run.view.start.texts {
            let check = if text.is_check { " (check)" } else { "" };
            table.row(vec![
                format!("{}{check}", visible_line(text.stage.as_str())),
                visible_line(&text.file).into_owned(),
                source(text.source).to_owned(),
            ]);
        }
        table
    }

    fn stage_table(&self) -> Table {
        // The moment that an immediate answer takes is not worth a column.
        let waited = |visit: &VisitView| Some(visit.waited).filter(|waited| *waited >= Millis(1_000));
        let has_waits = self.run.view.visits.iter().any(|visit| waited(visit).is_some());
        let mut head = vec!["STAGE", "VISIT", "ROUNDS", "TURNS", "TOKENS", "ENTERED", "TOOK"];
        head.extend(has_waits.then_some("WAITED"));
        head.push("NEXT");
        let optional = ["ROUNDS", "ENTERED", "TOKENS", "VISIT", "TURNS"];
        let mut table = Table::new(&head).optional(&optional);
        for visit in &self.run.view.visits {
            let mut row = vec![
                visible_line(visit.stage.as_str()).into_owned(),
                visit.visit.to_string(),
                visit.counted_rounds().to_string(),
                visit.cost.turns.to_string(),
                grouped(visit.cost.tokens),
                quantities::local_clock(visit.entered),
                visit.active_time().map_or_else(|| "-".to_owned(), quantities::length),
            ];
            row.extend(has_waits.then(|| waited(visit).map_or_else(|| "-".to_owned(), quantities::length)));
            row.push(self.next_words(visit));
            table.row(row);
        }
        table
    }

    /// Describes the last decision of a visit: where it led, and why.
    fn next_words(&self, visit: &VisitView) -> String {
        let Some((round, exit)) =
            visit.rounds.iter().rev().find_map(|round| Some((round, round.exit.as_ref()?)))
        else {
            return String::new();
        };
        let (run, verdict) = (&self.run, &exit.verdict);
        let decisive = run.view.decisive_turns(&run.workflow, &visit.stage, round, verdict);
        let names = RunNames::new(&run.workflow);
        let to = destination_words(&verdict.to);
        let reason = reason_summary(&visit.stage, verdict, &decisive, &names);
        with_reasons(&to, reason.as_slice()).join(" ")
    }

    fn report_table(&self) -> Table {
        let head = ["REPORT", "SAVED", "EVENT", "STAGE", "BYTES", "FOUND"];
        let mut table = Table::new(&head).optional(&["FOUND", "EVENT", "BYTES"]);
        for version in &self.reports {
            table.row(vec![
                visible_line(&version.file).into_owned(),
                quantities::local_clock(version.at),
                version.seq.to_string(),
                visible_line(version.stage.as_str()).into_owned(),
                grouped(version.bytes),
                found(version.how).to_owned(),
            ]);
        }
        table
    }

    fn note_table(&self) -> Table {
        let mut table = Table::new(&["NOTE", "AT", "FOR", "STATE", "TEXT"]).optional(&["AT", "FOR"]);
        for view in &self.run.view.person_notes {
            let to = view.note.to.as_ref().map_or("any stage", StageId::as_str);
            table.row(vec![
                view.number.to_string(),
                quantities::local_clock(view.at),
                visible_line(to).into_owned(),
                note_state(view).to_owned(),
                visible_line(&view.note.text).into_owned(),
            ]);
        }
        table
    }

    fn budget_line(&self) -> Option<String> {
        let words = self.conclusion.spending().and_then(spending_words);
        words.map(|words| format!("\nbudget: {words}"))
    }
}

#[derive(Serialize)]
struct ShowObject<'a> {
    result: TypedObject<ResultObject<'a>>,
    stages: Vec<StageObject<'a>>,
    reports: Vec<ReportObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<PromptSourceObject<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<NoteObject<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget: Option<SpendingObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<ParentObject<'a>>,
    #[serde(rename = "loop")]
    returned: &'a RunResult,
}

/// The turn of another run whose agent started this one.
#[derive(Serialize)]
struct ParentObject<'a> {
    run: &'a str,
    call: &'a str,
}

impl<'a> ParentObject<'a> {
    fn of(parent: &'a ParentTurn) -> Self {
        Self { run: &parent.run, call: &parent.call }
    }
}

#[derive(Serialize)]
struct StageObject<'a> {
    stage: &'a str,
    visit: u32,
    rounds: u32,
    turns: u64,
    tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost_usd: Option<f64>,
    entered: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<String>,
    /// Time of its pauses, which is not active time.
    #[serde(skip_serializing_if = "Option::is_none")]
    waited_ms: Option<u64>,
}

impl<'a> StageObject<'a> {
    fn new(visit: &'a VisitView) -> Self {
        Self {
            stage: visit.stage.as_str(),
            visit: visit.visit,
            rounds: visit.counted_rounds(),
            turns: visit.cost.turns,
            tokens: visit.cost.tokens,
            // Zero also means that the cost is unknown.
            cost_usd: Some(visit.cost.usd.dollars()).filter(|dollars| *dollars > 0.0),
            entered: quantities::rfc3339(visit.entered),
            left: visit.left.map(quantities::rfc3339),
            waited_ms: Some(visit.waited.0).filter(|waited| *waited > 0),
        }
    }
}

/// A note of a person to the agents (V-20).
#[derive(Serialize)]
struct NoteObject<'a> {
    number: u32,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<&'a str>,
    text: &'a str,
    /// `waiting`, `shown` or `withdrawn`.
    state: &'static str,
    /// Calls whose prompts show it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<String>,
}

impl<'a> NoteObject<'a> {
    fn new(view: &'a PersonNoteView) -> Self {
        Self {
            number: view.number,
            at: quantities::rfc3339(view.at),
            to: view.note.to.as_ref().map(StageId::as_str),
            text: &view.note.text,
            state: note_state(view),
            calls: view.shown_in.iter().map(ToString::to_string).collect(),
        }
    }
}

fn note_state(view: &PersonNoteView) -> &'static str {
    match (view.is_withdrawn, view.shown_in.is_empty()) {
        (true, _) => "withdrawn",
        (false, true) => "waiting",
        (false, false) => "shown",
    }
}

/// A prompt and its source (S-49).
#[derive(Serialize)]
struct PromptSourceObject<'a> {
    stage: &'a str,
    part: &'static str,
    source: &'static str,
    file: &'a str,
}

impl<'a> PromptSourceObject<'a> {
    fn new(text: &'a TextFile) -> Self {
        Self {
            stage: text.stage.as_str(),
            part: if text.is_check { "check" } else { "prompt" },
            source: text.source.name(),
            file: &text.file,
        }
    }
}

#[derive(Serialize)]
struct ReportObject<'a> {
    file: &'a str,
    seq: u64,
    time: String,
    stage: &'a str,
    how: ReportClue,
    sha256: &'a str,
    bytes: u64,
}

impl<'a> ReportObject<'a> {
    fn new(version: &'a ReportVersion) -> Self {
        Self {
            file: &version.file,
            seq: version.seq,
            time: quantities::rfc3339(version.at),
            stage: version.stage.as_str(),
            how: version.how,
            sha256: &version.sha256,
            bytes: version.bytes,
        }
    }
}

fn found(how: ReportClue) -> &'static str {
    match how {
        ReportClue::Clue => "by a clue",
        ReportClue::Only => "the only block",
        ReportClue::Position => "by position",
        ReportClue::Whole => "the whole reply",
        ReportClue::Agent => "written by the agent",
    }
}

/// Explains why a prompt came from a different file than the named one.
fn source(source: TextSource) -> &'static str {
    match source {
        TextSource::Primary => "as named",
        TextSource::Fallback => "fallback",
        TextSource::GlobalFallback => "global fallback",
    }
}
