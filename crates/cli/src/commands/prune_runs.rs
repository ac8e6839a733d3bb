//! Deleting runs: `saihai runs --prune` and `saihai runs rm`.

use std::path::{Path, PathBuf};

use clap::Args;
use saihai::{ListedRun, LoadedRun, RunDirectory, Runs, list_runs};
use saihai_delivery::IssueRun;
use saihai_model::{ExitStatus, Millis};
use saihai_view::{RunState, RunView};
use serde::Serialize;

use crate::completion::{complete_runs, completer};
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities;
use crate::quantities::count;
use crate::terminal::{Streams, visible_line};

/// Delete runs with their journals, replies and reports
#[derive(Debug, Args)]
#[command(after_help = "\
Deletes no worktrees and branches; `saihai work --clean` does.

Examples:
  saihai runs rm 20260206-0856
  saihai runs rm last --force")]
pub(super) struct RemoveRunsCommand {
    /// Run ids, unique beginnings of them, or `last`
    #[arg(value_name = "RUN", required = true, add = completer(complete_runs))]
    runs: Vec<String>,

    /// Also delete a parked or waiting run, or delivered work that waits to be merged
    #[arg(long)]
    force: bool,

    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct RemovedObject<'a> {
    run: &'a str,
    /// False if `--dry-run` only named the run.
    deleted: bool,
}

impl RemoveRunsCommand {
    pub(super) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let project = Project::find()?;
        project.insist_on_person("only a person can delete runs")?;
        let runs = project.runs();
        let found: Vec<RunDirectory> =
            self.runs.iter().map(|run| runs.find(run)).collect::<Result<_, _>>()?;
        // Check all of them first, so that a refusal deletes nothing.
        for directory in &found {
            let run = LoadedRun::read(directory)?;
            if let Some(obstacle) = RunObstacle::of(directory, &run.state)?
                && (obstacle == RunObstacle::Driven || !self.force)
            {
                let error = CommandError::usage(format!("run `{}` {}", directory.id(), obstacle.words()));
                return Err(match obstacle {
                    RunObstacle::Driven => error.hint("cancel it first"),
                    RunObstacle::Unfinished | RunObstacle::AwaitsMerge(_) => {
                        error.hint("`--force` deletes it anyway")
                    }
                });
            }
        }
        for directory in &found {
            let view = LoadedRun::read(directory)?.view;
            delete(&runs, directory, &view)?;
            say(directory, true, self.json, streams)?;
        }
        Ok(ExitStatus::Done)
    }
}

pub(super) struct RunPruning {
    /// Minimum time since the last event of a run.
    pub(super) age: Millis,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) json: bool,
}

impl RunPruning {
    pub(super) fn execute(
        &self,
        runs: &Runs,
        is_wanted: impl Fn(&RunView, &RunState) -> bool,
        streams: &mut Streams,
    ) -> Result<ExitStatus, CommandError> {
        Project::find()?.insist_on_person("only a person can delete runs")?;
        let (mut deleted, mut kept) = (0, 0);
        for ListedRun { directory, run } in list_runs(runs)? {
            let Ok((view, state)) = run else {
                streams.warning(&format!("run `{}` is kept: its journal cannot be read", directory.id()));
                continue;
            };
            if quantities::now().since(view.last_at) < self.age || !is_wanted(&view, &state) {
                continue;
            }
            match RunObstacle::of(&directory, &state)? {
                Some(RunObstacle::Driven) => kept += 1,
                Some(_) if !self.force => kept += 1,
                _ => {
                    if !self.dry_run {
                        delete(runs, &directory, &view)?;
                    }
                    deleted += 1;
                    say(&directory, !self.dry_run, self.json, streams)?;
                }
            }
        }
        let done = if self.dry_run { "would be deleted" } else { "deleted" };
        let kept = match kept {
            0 => String::new(),
            kept => format!("; {} kept: unfinished or not merged", count(kept, "run")),
        };
        streams.note(&format!("{} {done}{kept}", count(deleted, "run")));
        Ok(ExitStatus::Done)
    }
}

/// A reason not to delete a run.
#[derive(Debug, PartialEq, Eq)]
enum RunObstacle {
    Driven,
    /// Parked, waiting or interrupted: it can be continued.
    Unfinished,
    /// The work was delivered as this pull request or branch, which is not merged yet.
    AwaitsMerge(String),
}

impl RunObstacle {
    fn of(directory: &RunDirectory, state: &RunState) -> Result<Option<Self>, CommandError> {
        Ok(match state {
            RunState::Running { .. } => Some(Self::Driven),
            RunState::Interrupted | RunState::Ready | RunState::Parked { .. } => Some(Self::Unfinished),
            RunState::Ended { .. } => {
                IssueRun::read(directory)?.and_then(|run| run.awaits_merge()).map(Self::AwaitsMerge)
            }
        })
    }

    fn words(&self) -> String {
        match self {
            Self::Driven => "is running".to_owned(),
            Self::Unfinished => "is not finished: `saihai resume` can continue it".to_owned(),
            Self::AwaitsMerge(what) => format!("delivered `{}`, which is not merged", visible_line(what)),
        }
    }
}

fn delete(runs: &Runs, directory: &RunDirectory, view: &RunView) -> Result<(), CommandError> {
    Ok(runs.remove(directory, &own_reports(directory, view))?)
}

/// Returns the report directory. A journal may name any path; only one with the run's name is its own.
fn own_reports(directory: &RunDirectory, view: &RunView) -> PathBuf {
    let named = Path::new(&view.start.report_directory);
    let is_own = named.file_name().is_some_and(|name| name == directory.id());
    if is_own { named.to_owned() } else { directory.path().to_owned() }
}

fn say(
    directory: &RunDirectory,
    deleted: bool,
    json: bool,
    streams: &mut Streams,
) -> Result<(), CommandError> {
    if json {
        streams.out.json("deleted", RemovedObject { run: directory.id(), deleted })?;
    } else {
        streams.out.data(&visible_line(directory.id()))?;
    }
    Ok(())
}

/// Parses an age: `30d`, `12h`, `90m`, `2w`.
pub(super) fn parse_age(text: &str) -> Result<Millis, String> {
    let wrong = || "write an age such as `30d`, `2w` or `12h`".to_owned();
    let split = text.len().checked_sub(1).filter(|split| text.is_char_boundary(*split)).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(split);
    let unit = match unit {
        "m" => 60,
        "h" => 3_600,
        "d" => 86_400,
        "w" => 7 * 86_400,
        _ => return Err(wrong()),
    };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let seconds =
        number.parse::<u64>().ok().filter(|_| is_number).and_then(|number| number.checked_mul(unit));
    seconds.and_then(|seconds| seconds.checked_mul(1_000)).map(Millis).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-18
    #[test]
    fn an_age_is_a_number_with_a_unit() {
        assert_eq!(parse_age("30d"), Ok(Millis(30 * 86_400_000)));
        assert_eq!(parse_age("2w"), parse_age("14d"));
        assert_eq!(parse_age("0h"), Ok(Millis(0)));
        for junk in ["", "d", "30", "-1d", "+1d", "1.5d", "30days", "３d", "99999999999999999999d"] {
            assert!(parse_age(junk).is_err(), "{junk}");
        }
    }
}
