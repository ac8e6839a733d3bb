//! `saihai diff`: the changes that a run made.

use clap::Args;
use saihai::{LoadedRun, TurnFileChanges};
use saihai_delivery::{MissingTrees, RunTrees, is_changed_by_run};
use saihai_model::{ExitStatus, RoundPosition, SubjectFile, SubjectOmission};
use saihai_review::subject::changes_between;
use serde::Serialize;

use super::show_stage::StageTarget;
use crate::commands::flags::RunAndStage;
use crate::error::{CommandError, sentence};
use crate::project::Project;
use crate::quantities::count;
use crate::terminal::{Stream, Streams, style, visible_line, visible_text};

/// Print the changes that a run made
#[derive(Debug, Args)]
#[command(after_help = "\
Compares the commit at the start of the run with the current files of its directory or worktree.
For a stage, prints the files that its agents wrote and edited with their tools.
Changes by commands are not recorded for each stage; a warning names such turns.

Examples:
  saihai diff
  saihai diff implement
  saihai diff 20260206-0856 | less -R")]
pub(crate) struct DiffCommand {
    #[command(flatten)]
    target: RunAndStage,

    /// Print JSON, one object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct FileDiffObject<'a> {
    run: &'a str,
    /// Commit that the files are compared with.
    from: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: Option<&'a str>,
    diff: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out: Option<SubjectOmission>,
    /// True if the file had uncommitted changes when the run started; the diff contains them.
    changed_before: bool,
}

#[derive(Serialize)]
struct TurnChangesObject<'a> {
    run: &'a str,
    stage: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a str>,
    visit: u32,
    diff: &'a str,
    /// False if the turn may have changed more files, for example by commands.
    complete: bool,
}

impl DiffCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        let (directory, stage) = self.target.find(&project)?;
        let run = LoadedRun::read(&directory)?;
        match stage {
            Some(stage) => self.stage_diff(&run, stage, streams)?,
            None => self.run_diff(&run, &project, streams)?,
        }
        Ok(ExitStatus::Done)
    }

    fn run_diff(
        &self,
        run: &LoadedRun,
        project: &Project,
        streams: &mut Streams,
    ) -> Result<(), CommandError> {
        let id = run.directory.id();
        let diff = RunDiff::of(run, project)?;
        for file in &diff.files {
            if self.json {
                let changed_before = run.view.start.uncommitted.contains(&file.path);
                let SubjectFile { path, previous, text, left_out, .. } = file;
                let object = FileDiffObject {
                    run: id,
                    from: &diff.from,
                    path,
                    previous: previous.as_deref(),
                    diff: text,
                    left_out: *left_out,
                    changed_before,
                };
                streams.out.json("file_diff", object)?;
            } else {
                print_file(file, &mut streams.out)?;
            }
        }
        if diff.files.is_empty() {
            streams.note("the run changed no files");
            return Ok(());
        }
        if let Some(warning) = diff.changed_before(run) {
            streams.warning(&warning);
        }
        if diff.goes_on(run) {
            streams.note(GOES_ON);
        }
        Ok(())
    }

    fn stage_diff(&self, run: &LoadedRun, stage: &str, streams: &mut Streams) -> Result<(), CommandError> {
        let target = StageTarget::find(run, Some(stage), None)?;
        let changes: Vec<TurnFileChanges> =
            run.file_changes()?.into_iter().filter(|changed| target.has_call(run, changed)).collect();
        let mut has_changes = false;
        for changed in &changes {
            let turns =
                run.workflow.stage(&changed.call.stage).map(|stage| stage.turns()).unwrap_or_default();
            let turn = match changed.place {
                RoundPosition::Main(index) if turns.len() > 1 => {
                    turns.get(index).map(|turn| turn.id.as_str())
                }
                _ => None,
            };
            let text = turn_diff(changed);
            has_changes |= !text.is_empty();
            let (stage, visit) = (changed.call.stage.as_str(), changed.call.visit);
            if self.json {
                let complete = !changed.is_partial;
                let run = run.directory.id();
                let object = TurnChangesObject { run, stage, turn, visit, diff: &text, complete };
                streams.out.json("turn_diff", object)?;
                continue;
            }
            print_diff(&text, &mut streams.out)?;
            if changed.is_partial {
                let turn = turn.map(|turn| format!("/{turn}")).unwrap_or_default();
                streams.warning(&format!(
                    "`{stage}{turn}` may have changed more files in visit {visit}: commands are not recorded"
                ));
            }
        }
        if !has_changes {
            streams.note("no recorded edits; `saihai diff` compares the files of the whole run");
        }
        Ok(())
    }
}

const GOES_ON: &str = "the diff also contains changes that were made after the run ended";

/// The files that a run changed.
pub(crate) struct RunDiff {
    pub(crate) files: Vec<SubjectFile>,
    /// Commit that the files are compared with.
    from: String,
    /// True if they are compared with the current files, and not with a commit.
    is_of_files: bool,
}

impl RunDiff {
    pub(crate) fn of(run: &LoadedRun, project: &Project) -> Result<Self, CommandError> {
        let compared =
            RunTrees::of(&run.view, &project.places.root).map_err(|missing| no_trees(&missing, run))?;
        let mut files = changes_between(&compared.root, &compared.from, compared.to.as_deref())
            .map_err(|error| CommandError::unavailable(sentence(&error)))?;
        files.retain(|file| is_changed_by_run(&run.view, &compared.root, &file.path));
        Ok(Self { files, from: compared.from, is_of_files: compared.to.is_none() })
    }

    /// Returns what a reader has to know about the diff.
    pub(crate) fn remarks(&self, run: &LoadedRun) -> Vec<String> {
        let goes_on = self.goes_on(run).then(|| GOES_ON.to_owned());
        self.changed_before(run).into_iter().chain(goes_on).collect()
    }

    /// Warns of files that had changes before the run.
    fn changed_before(&self, run: &LoadedRun) -> Option<String> {
        let uncommitted = &run.view.start.uncommitted;
        let paths = self.files.iter().map(|file| file.path.as_str());
        let before: Vec<&str> = paths.filter(|path| uncommitted.iter().any(|one| one == path)).collect();
        let first = before.first()?;
        let more = match before.len() {
            1 => String::new(),
            all => format!(" and {}", count(all as u64 - 1, "other file")),
        };
        let first = visible_line(first);
        Some(format!("`{first}`{more} had uncommitted changes when the run started; the diff contains them"))
    }

    fn goes_on(&self, run: &LoadedRun) -> bool {
        self.is_of_files && run.state.is_over() && !self.files.is_empty()
    }
}

fn no_trees(missing: &MissingTrees, run: &LoadedRun) -> CommandError {
    let error = match missing {
        MissingTrees::NoCommit => {
            let id = run.directory.id();
            let error = CommandError::usage(format!("run `{id}` did not record the commit it started from"));
            error.hint(
                "it ran outside a git repository, as a rehearsal, as a review, or with an older version",
            )
        }
        MissingTrees::DirectoryGone(root) => {
            CommandError::usage(format!("the directory of the run is gone: `{}`", root.display()))
        }
    };
    error.hint("`saihai diff STAGE` prints the recorded edits of a stage")
}

/// Formats the edits of a turn like a diff. Line numbers are not known.
pub(crate) fn turn_diff(changed: &TurnFileChanges) -> String {
    let mut text = String::new();
    let mut add = |sign: char, lines: &str| {
        for line in lines.lines() {
            text.push(sign);
            text.push_str(line);
            text.push('\n');
        }
    };
    for write in &changed.writes {
        add(' ', "");
        add('+', &format!("++ {} (written whole)", write.path));
        add('+', &write.content);
    }
    for edit in &changed.edits {
        add('-', &format!("-- {}", edit.path));
        add('+', &format!("++ {}", edit.path));
        add('@', "@ @@");
        add('-', &edit.find);
        add('+', &edit.replace);
    }
    text
}

fn print_file(file: &SubjectFile, out: &mut Stream) -> Result<(), CommandError> {
    match file.left_out {
        None => print_diff(&file.text, out),
        Some(why) => {
            let why = match why {
                SubjectOmission::Binary => "binary file",
                SubjectOmission::Submodule => "submodule",
                SubjectOmission::TooLarge => "too large to compare",
            };
            out.data(&format!("{}: {why}, not shown", visible_line(&file.path)))?;
            Ok(())
        }
    }
}

/// Prints a diff. A pipe gets the exact text, so that `git apply` can read it.
fn print_diff(text: &str, out: &mut Stream) -> Result<(), CommandError> {
    if !out.is_styled() {
        let text = if out.is_terminal() { visible_text(text) } else { text.into() };
        out.raw(text.as_bytes())?;
        return Ok(());
    }
    for line in visible_text(text).lines() {
        let style = match line.as_bytes().first() {
            Some(b'+') => style::ADDED,
            Some(b'-') => style::REMOVED,
            Some(b'@') => style::HUNK,
            Some(b' ') | None => style::PLAIN,
            Some(_) => style::STRONG,
        };
        let line = out.paint(style, line);
        out.data(&line)?;
    }
    Ok(())
}
