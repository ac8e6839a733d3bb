//! Results of issues, for people and programs (I-75).

use std::collections::BTreeSet;
use std::io;

use saihai::delivery::{Came, Past};
use saihai::{Clock, State, is_gate_closed, open_gate};
use saihai_config::delivery::stage;
use saihai_config::issues::cut;
use saihai_model::{Budget, Cost, Hold, IssueNumber, Millis, WorkOutcome, work_exit_code};
use serde::Serialize;

use super::again::is_not_ours;
use super::item::UNREAD;
use super::over::Over;
use crate::driving::{Conclusion, LATE};
use crate::json;
use crate::report::budget_words;
use crate::terminal::{Stream, Table, visible_line};
use crate::time;

/// Maximum characters of a reason in its column.
const REASON: usize = 48;

#[derive(Debug, Clone, Serialize)]
pub(super) struct ItemResult {
    pub(super) issue: IssueNumber,
    pub(super) title: String,
    pub(super) outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) run: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) branch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pull_request: Option<String>,
    /// The worktree, if it still exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) worktree: Option<String>,
    pub(super) turns: u64,
    pub(super) cost_usd: f64,
    pub(super) time_ms: u64,
    /// The question to a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) asks: Option<String>,
    /// Possible next steps for a person.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) hints: Vec<String>,
    pub(super) exit: u8,
    /// The command that merges `saihai/merge/BASE` into the base.
    #[serde(skip)]
    pub(super) way: Option<String>,
    /// True if something external blocks the run.
    #[serde(skip)]
    pub(super) outside: bool,
    #[serde(skip)]
    pub(super) word: WorkOutcome,
    #[serde(skip)]
    pub(super) cost: Cost,
    #[serde(skip)]
    pub(super) time: Millis,
}

#[derive(Debug, Serialize)]
struct BatchResult<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    batch: Option<&'a str>,
    items: usize,
    turns: u64,
    cost_usd: f64,
    exit: u8,
}

/// The complete results file of an invocation.
#[derive(Debug, Serialize)]
struct Whole<'a> {
    v: u32,
    batch: &'a str,
    items: &'a [ItemResult],
    exit: u8,
}

impl ItemResult {
    /// Returns the pull request, or otherwise the branch.
    pub(super) fn place(&self) -> Option<String> {
        self.pull_request.clone().or_else(|| self.branch.clone())
    }

    /// Creates the result of an issue. `allowed`: its total budget, if its runs have used it up.
    pub(super) fn new(issue: IssueNumber, title: &str, over: &Over, allowed: Option<&Budget>) -> Self {
        let past = over.past.as_ref();
        let text =
            |stage: &str, key: &str| past.and_then(|past| past.deeds.text(stage, key)).map(str::to_owned);
        let (cost, time) = past.map(|past| (past.cost, past.time)).or(over.heard).unwrap_or_default();
        let outcome = over.came.outcome;
        let worktree = past.map(|past| past.assignment.worktree.clone()).filter(|path| path.is_dir());
        Self {
            issue,
            title: title.to_owned(),
            outcome: outcome.word(),
            reason: over.came.reason.clone(),
            run: past.map(|past| past.directory.id().to_owned()),
            branch: past
                .filter(|past| past.deeds.has(stage::WORKTREE) || past.assignment.delivered.is_some())
                .map(|past| past.assignment.branch.clone())
                .or_else(|| over.opened.as_ref().map(|opened| opened.branch.clone())),
            pull_request: text(stage::PULL_REQUEST, "url")
                .or_else(|| over.opened.as_ref().map(|opened| opened.address.clone())),
            worktree: worktree.map(|path| path.display().to_string()),
            turns: cost.turns,
            cost_usd: cost.usd.dollars(),
            time_ms: time.0,
            asks: past.and_then(asks),
            hints: hints(&over.came, past, allowed),
            exit: if over.panicked { 70 } else { outcome.exit_code() },
            way: text(stage::MERGE, "hint"),
            outside: past
                .is_some_and(|past| matches!(&past.state, State::Parked { hold: Hold::Outside(..), .. })),
            word: outcome,
            cost,
            time,
        }
    }
}

/// Returns the question at the gate of a waiting run (I-40).
fn asks(past: &Past) -> Option<String> {
    let at_gate = past.state.reason() == Some("person") && !is_late(past);
    at_gate.then(|| open_gate(&past.directory).ok()).flatten().map(|(_, text, _)| text)
}

/// Returns true if the gate of a waiting run has timed out.
fn is_late(past: &Past) -> bool {
    is_gate_closed(&past.directory, &Clock::system()).unwrap_or(false)
}

fn hints(came: &Came, past: Option<&Past>, allowed: Option<&Budget>) -> Vec<String> {
    let adopted =
        is_not_ours(came.reason.as_deref()).then(|| "`saihai work --adopt` takes it over".to_owned());
    let Some(past) = past else { return adopted.into_iter().chain(without_run(came, allowed)).collect() };
    let run = past.directory.id();
    let mut hints = Vec::new();
    let at_gate = past.state.reason() == Some("person");
    match came.outcome {
        WorkOutcome::Blocked if adopted.is_some() => hints.extend(adopted),
        WorkOutcome::Waiting if at_gate && is_late(past) => {
            hints.push(format!("{LATE}; the same command goes on with that"));
        }
        WorkOutcome::Waiting if at_gate => {
            hints.push(format!("answer with `saihai answer {run} yes` or `no`, then the same command again"));
        }
        WorkOutcome::Limited => {
            hints.extend(Conclusion::of(&past.directory).ok().and_then(|run| raised(&run)));
            hints.push(allowed.map_or_else(|| "`saihai work --retry` begins again".to_owned(), raise_first));
        }
        WorkOutcome::Cancelled if matches!(past.state, State::Ended { .. }) => {
            hints.push("`saihai work --retry` begins again".to_owned());
        }
        WorkOutcome::Failed | WorkOutcome::Blocked | WorkOutcome::Declined => {
            hints.push(format!("`saihai explain {run}` says why; `saihai work --retry` begins again"));
        }
        WorkOutcome::Provider if past.finished => {
            hints.push("the same command goes on with this step; no agent is asked again".to_owned());
            hints.push(format!("`saihai cancel {run}` gives it up"));
        }
        WorkOutcome::Waiting
            if came
                .reason
                .as_deref()
                .is_some_and(|why| ["git: ", "forge: "].iter().any(|of| why.starts_with(of))) =>
        {
            hints.push("then the same command goes on with it".to_owned());
            hints.push(format!("`saihai cancel {run}` gives it up"));
        }
        WorkOutcome::Cancelled | WorkOutcome::Provider => {
            hints.push("the same command goes on with it".to_owned())
        }
        WorkOutcome::Unknown => {
            hints.push("look there, then the same command again: it looks before it does".to_owned())
        }
        WorkOutcome::Conflict => {
            let (branch, base) = (&past.assignment.branch, &past.assignment.base.branch);
            hints.push(match &past.assignment.forge {
                None => {
                    format!("merge it by hand: `git merge {branch}`; or `--retry` does it anew on `{base}`")
                }
                Some(_) => {
                    format!("merge `{base}` of the forge into `{branch}`, then the same command again")
                }
            });
        }
        WorkOutcome::Merged
        | WorkOutcome::PrCreated
        | WorkOutcome::BranchReady
        | WorkOutcome::NoChanges
        | WorkOutcome::Elsewhere
        | WorkOutcome::Closed
        | WorkOutcome::Waiting => {}
    }
    let kept = [stage::WORKTREE, stage::FINALIZE, stage::CLEAN_UP];
    hints.extend(
        kept.iter().filter_map(|stage| past.deeds.text(stage, "rescued")).map(|how| format!("kept: `{how}`")),
    );
    hints.extend(past.deeds.text(stage::CLEAN_UP, "kept").map(|why| format!("the worktree stays: {why}")));
    hints
}

/// Returns the next step for an issue without a readable run.
fn without_run(came: &Came, allowed: Option<&Budget>) -> Option<String> {
    if came.outcome == WorkOutcome::Limited {
        let more = || "`saihai work` with more `--budget` begins it".to_owned();
        return Some(allowed.map_or_else(more, raise_first));
    }
    let unread = came.reason.as_deref().is_some_and(|why| why.starts_with(UNREAD));
    unread.then(|| {
        "put it right, or move its directory out of `.saihai/runs` to begin anew; until then nothing is begun".to_owned()
    })
}

/// Returns the command that continues a limited run, with the current value of the limit.
fn raised(run: &Conclusion) -> Option<String> {
    let command = run.resume_command()?;
    let had = run.spending().filter(|_| command.contains("--budget"));
    let had = had.and_then(|spending| budget_words(&spending.budget));
    let had = had.map(|had| format!("; in all it had {had}")).unwrap_or_default();
    Some(format!("`{command}` goes on with it{had}"))
}

/// Returns the hint to raise the issue's budget before a new run.
fn raise_first(allowed: &Budget) -> String {
    let had = budget_words(allowed).map(|had| format!(" ({had}, with all its runs)")).unwrap_or_default();
    format!("raise `budget_per_issue` of `[work]`{had}, then `saihai work --retry` begins again")
}

pub(super) fn exit_code(results: &[ItemResult]) -> u8 {
    work_exit_code(results.iter().map(|result| result.exit))
}

/// Prints all results for people.
pub(super) fn print(results: &[ItemResult], exit: u8, out: &mut Stream) -> io::Result<()> {
    let mut table =
        Table::new(&["ISSUE", "OUTCOME", "REASON", "BRANCH", "PULL REQUEST", "TURNS", "COST", "TIME"]);
    for result in results {
        let shown = |text: &Option<String>| text.as_deref().map(|text| visible_line(text).into_owned());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        table.row(vec![
            result.issue.to_string(),
            result.outcome.to_owned(),
            cut(&or_none(shown(&result.reason)), REASON),
            or_none(shown(&result.branch)),
            or_none(shown(&result.pull_request)),
            result.turns.to_string(),
            result.cost.usd.to_string(),
            time::stopwatch(result.time),
        ]);
    }
    for line in table.lines() {
        out.data(&line)?;
    }
    for result in results {
        // Print reasons that are too long for their column.
        if let Some(reason) = result.reason.as_ref().filter(|reason| reason.chars().count() > REASON) {
            out.data(&format!("{}: {}", result.issue, visible_line(reason)))?;
        }
        for line in result.asks.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty()) {
            out.data(&format!("{} | {}", result.issue, visible_line(line)))?;
        }
        for hint in &result.hints {
            out.data(&format!("{}: {}", result.issue, visible_line(hint)))?;
        }
        let is_done = result.exit == 0;
        if let Some(worktree) = result.worktree.as_ref().filter(|_| !is_done) {
            out.data(&format!("{}: its files are in `{}`", result.issue, visible_line(worktree)))?;
        }
    }
    let is_done = |result: &ItemResult| result.exit == 0 && result.word != WorkOutcome::Elsewhere;
    if exit == 0 && results.iter().all(is_done) && !results.is_empty() {
        out.data("all done")?;
    }
    // A checked-out base never moves by itself, so the user gets the merge command (I-62).
    let merges = results.iter().filter(|result| result.word == WorkOutcome::Merged);
    let ways: BTreeSet<&str> = merges.filter_map(|result| result.way.as_deref()).collect();
    for way in ways {
        out.data(&format!("take the merges in: {way}"))?;
    }
    out.flush()
}

/// Writes the result of one issue as JSON.
pub(super) fn write_item(result: &ItemResult, out: &mut Stream) -> io::Result<()> {
    json::line(out, "item", result)
}

/// Writes the result of the invocation as JSON.
pub(super) fn write_batch(batch: &str, results: &[ItemResult], exit: u8, out: &mut Stream) -> io::Result<()> {
    let object = BatchResult {
        batch: Some(batch),
        items: results.len(),
        turns: results.iter().map(|result| result.turns).sum(),
        cost_usd: results.iter().map(|result| result.cost_usd).sum(),
        exit,
    };
    json::line(out, "batch", object)
}

/// Writes the JSON result of an empty invocation.
pub(super) fn nothing(out: &mut Stream) -> io::Result<()> {
    json::line(out, "batch", BatchResult { batch: None, items: 0, turns: 0, cost_usd: 0.0, exit: 0 })
}

/// Returns all results as one JSON document.
pub(super) fn document(batch: &str, results: &[ItemResult], exit: u8) -> String {
    let whole = Whole { v: 1, batch, items: results, exit };
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}

pub(super) fn markdown(results: &[ItemResult]) -> String {
    let cell = |text: &str| {
        let text = visible_line(text).replace('\\', "\\\\").replace('|', "\\|");
        saihai_config::issues::inert(&text.replace('<', "&lt;"))
    };
    let mut text = "| issue | title | outcome | reason | branch | pull request | turns | cost | time |\n\
                    |---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    for result in results {
        let or_empty = |text: &Option<String>| text.as_deref().map(cell).unwrap_or_default();
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
            result.issue,
            cell(&result.title),
            result.outcome,
            or_empty(&result.reason),
            or_empty(&result.branch),
            result.pull_request.as_deref().unwrap_or_default(),
            result.turns,
            result.cost.usd,
            time::stopwatch(result.time),
        ));
    }
    text
}
