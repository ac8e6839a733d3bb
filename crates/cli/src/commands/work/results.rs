//! Results of issues, for people and programs (I-75).

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;

use saihai::{Clock, open_gate, replace_below};
use saihai_config::issues::{cut, inert, inert_excerpt};
use saihai_delivery::{
    IssueEnd, IssueReason, IssueResult, IssueRun, Listing, RunSummary, is_adoptable, stage,
};
use saihai_model::{
    Budget, Cost, DeliveryHold, Hold, IssueNumber, Millis, OutsideReason, WorkOutcome, work_exit_code,
};
use saihai_view::RunState;
use serde::{Deserialize, Serialize};

use super::words::reason_words;
use crate::driving::{Conclusion, LATE};
use crate::project::Project;
use crate::quantities;
use crate::report::{budget_words, count};
use crate::terminal::{Stream, Table, style, visible_line};

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
    /// The branch with the merge, if it waits for the user to merge it into the base.
    #[serde(skip)]
    pub(super) merge_branch: Option<MergeBranch>,
    /// True if an earlier invocation did the work.
    #[serde(skip)]
    pub(super) reported_before: bool,
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
struct BatchDocument<'a> {
    v: u32,
    batch: &'a str,
    items: &'a [ItemResult],
    exit: u8,
}

impl ItemResult {
    /// Returns true if a person has already seen this result.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.issue, self.outcome, &self.reason) == (other.issue, other.outcome, &other.reason)
            && (&self.run, self.turns) == (&other.run, other.turns)
    }

    /// Returns true if this invocation had nothing to do for the issue.
    pub(super) fn is_old(&self) -> bool {
        self.reported_before || self.word == WorkOutcome::Closed
    }

    /// Returns the pull request, or otherwise the branch.
    pub(super) fn place(&self) -> Option<String> {
        self.pull_request.clone().or_else(|| self.branch.clone())
    }

    /// Creates the result of an issue. `allowed`: its total budget, if its runs have used it up.
    pub(super) fn new(issue: IssueNumber, title: &str, end: &IssueEnd, allowed: Option<&Budget>) -> Self {
        let run = end.run.as_ref();
        let text =
            |stage: &str, key: &str| run.and_then(|run| run.outputs.text(stage, key)).map(str::to_owned);
        let (cost, time) = run.map(|run| (run.cost, run.time)).or(end.heard).unwrap_or_default();
        let outcome = end.result.outcome;
        let worktree = run.map(|run| run.assignment.worktree.clone()).filter(|path| path.is_dir());
        Self {
            issue,
            title: title.to_owned(),
            outcome: outcome.word(),
            reason: end.result.reason.as_ref().map(reason_words),
            run: run.map(|run| run.id().to_owned()),
            branch: run
                .filter(|run| run.outputs.has(stage::WORKTREE) || run.assignment.delivered.is_some())
                .map(|run| run.assignment.branch.clone())
                .or_else(|| end.request.as_ref().map(|request| request.branch.clone())),
            pull_request: text(stage::PULL_REQUEST, "url")
                .or_else(|| end.request.as_ref().map(|request| request.address.clone())),
            worktree: worktree.map(|path| path.display().to_string()),
            turns: cost.turns,
            cost_usd: cost.usd.dollars(),
            time_ms: time.0,
            asks: run.and_then(asks),
            hints: hints(&end.result, run, allowed),
            exit: if end.panicked { 70 } else { outcome.exit_code() },
            merge_branch: run.and_then(merge_branch),
            reported_before: matches!(end.result.reason, Some(IssueReason::Before)),
            word: outcome,
            cost,
            time,
        }
    }
}

/// A branch with merges that the user merges into the checked-out base.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MergeBranch {
    pub(super) branch: String,
    pub(super) base: String,
    /// True if the base has commits that the branch lacks.
    pub(super) diverged: bool,
}

fn merge_branch(run: &IssueRun) -> Option<MergeBranch> {
    let (branch, base) = (run.outputs.text(stage::MERGE, "into")?, &run.assignment.base.branch);
    let waits = branch != base;
    waits.then(|| MergeBranch { branch: branch.to_owned(), base: base.clone(), diverged: false })
}

/// Returns the question at the gate of a waiting run (I-40).
fn asks(run: &IssueRun) -> Option<String> {
    let at_gate = run.is_at_gate() && !is_late(run);
    at_gate.then(|| open_gate(run.directory()).ok()).flatten().map(|(_, text, _)| text)
}

/// Returns true if the gate of a waiting run has timed out.
fn is_late(run: &IssueRun) -> bool {
    let gate = run.loaded.view.open_gate(&run.loaded.workflow);
    gate.is_some_and(|gate| gate.is_closed(Clock::system().now()))
}

fn hints(result: &IssueResult, run: Option<&IssueRun>, allowed: Option<&Budget>) -> Vec<String> {
    let adopted =
        is_adoptable(result.reason.as_ref()).then(|| "`saihai work --adopt` takes it over".to_owned());
    let Some(run) = run else { return adopted.into_iter().chain(without_run(result, allowed)).collect() };
    let id = run.directory().short_name();
    let mut hints = Vec::new();
    let at_gate = run.is_at_gate();
    match result.outcome {
        WorkOutcome::Blocked if adopted.is_some() => hints.extend(adopted),
        WorkOutcome::Waiting if at_gate && is_late(run) => {
            hints.push(format!("{LATE}; run the same command again to continue"));
        }
        WorkOutcome::Waiting if at_gate => {
            hints.push(format!(
                "answer with `saihai answer {id} yes` or `no`, then run the same command again"
            ));
        }
        WorkOutcome::Limited => {
            hints
                .extend(Conclusion::of_run(&run.loaded).ok().and_then(|conclusion| raised(&conclusion, run)));
            hints.push(allowed.map_or_else(|| "`saihai work --retry` starts again".to_owned(), raise_first));
        }
        WorkOutcome::Cancelled if matches!(run.state, RunState::Ended { .. }) => {
            hints.push("`saihai work --retry` starts again".to_owned());
        }
        WorkOutcome::Failed | WorkOutcome::Blocked | WorkOutcome::Declined => {
            hints.push(format!("`saihai explain {id}` shows why; `saihai work --retry` starts again"));
        }
        WorkOutcome::Provider if run.finished => {
            hints.push(
                "run the same command again to repeat this step; agents are not called again".to_owned(),
            );
            hints.push(format!("`saihai cancel {id}` cancels it"));
        }
        WorkOutcome::Waiting
            if matches!(
                &result.reason,
                Some(IssueReason::Outside(OutsideReason::Delivery(
                    DeliveryHold::Git { .. } | DeliveryHold::Forge { .. }
                )))
            ) =>
        {
            hints.push("then run the same command again".to_owned());
            hints.push(format!("`saihai cancel {id}` cancels it"));
        }
        WorkOutcome::Cancelled | WorkOutcome::Provider | WorkOutcome::Paused => {
            hints.push("run the same command again to continue".to_owned())
        }
        WorkOutcome::Unknown => hints.push(
            "check the pull request, then run this command again; finished steps are not repeated".to_owned(),
        ),
        WorkOutcome::Conflict => {
            let (branch, base) = (&run.assignment.branch, &run.assignment.base.branch);
            hints.push(match &run.assignment.forge {
                None => {
                    format!(
                        "merge it by hand: `git merge {branch}`; or start again on `{base}` with `--retry`"
                    )
                }
                Some(_) => {
                    format!("merge `{base}` of the forge into `{branch}`, then run the same command again")
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
        kept.iter()
            .filter_map(|stage| run.outputs.text(stage, "rescued"))
            .map(|how| format!("kept: `{how}`")),
    );
    hints.extend(run.outputs.text(stage::CLEAN_UP, "kept").map(|why| format!("the worktree is kept: {why}")));
    hints
}

/// Returns the next step for an issue without a readable run.
fn without_run(result: &IssueResult, allowed: Option<&Budget>) -> Option<String> {
    if result.outcome == WorkOutcome::Limited {
        let more = || "start it with a larger `--budget`".to_owned();
        return Some(allowed.map_or_else(more, raise_first));
    }
    let is_unread = matches!(result.reason, Some(IssueReason::UnreadableRun { .. }));
    is_unread.then(|| {
        "repair it, or move its directory out of `.saihai/runs` to start again; until then no work starts"
            .to_owned()
    })
}

/// Returns the command that continues a limited run, with the current value of the limit.
fn raised(conclusion: &Conclusion, run: &IssueRun) -> Option<String> {
    let command = conclusion.short_resume_command()?;
    let is_spent = matches!(&run.state, RunState::Parked { hold: Hold::Budget, .. });
    let had = conclusion.spending().filter(|_| is_spent);
    let had = had.and_then(|spending| budget_words(&spending.budget));
    let had = had.map(|had| format!("; its total budget was {had}")).unwrap_or_default();
    Some(format!("continue with `{command}`{had}"))
}

/// Returns the hint to raise the issue's budget before a new run.
fn raise_first(allowed: &Budget) -> String {
    let had = budget_words(allowed).map(|had| format!(" ({had} for all its runs)")).unwrap_or_default();
    format!("raise `budget_per_issue` in `[work]`{had}, then start again with `saihai work --retry`")
}

pub(super) fn exit_code(results: &[ItemResult]) -> u8 {
    work_exit_code(results.iter().map(|result| result.exit))
}

/// Prints all results for people.
pub(super) fn print(results: &[ItemResult], exit: u8, out: &mut Stream) -> io::Result<()> {
    let head = ["ISSUE", "OUTCOME", "REASON", "BRANCH", "PULL REQUEST", "TURNS", "COST", "TIME"];
    let mut table = Table::new(&head).optional(&["TURNS", "COST", "BRANCH"]);
    for result in results {
        let shown = |text: &Option<String>| text.as_deref().map(|text| visible_line(text).into_owned());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let style = match result.exit {
            0 => style::GOOD,
            6 => style::WAITING,
            4 | 5 => style::PARKED,
            _ => style::ERROR,
        };
        let row = vec![
            result.issue.to_string(),
            result.outcome.to_owned(),
            cut(&or_none(shown(&result.reason)), REASON),
            or_none(shown(&result.branch)),
            or_none(shown(&result.pull_request)),
            result.turns.to_string(),
            result.cost.usd.to_string(),
            quantities::stopwatch(result.time),
        ];
        table.styled_row(row, "OUTCOME", style);
    }
    for line in table.lines_for(out) {
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
    // For issues that were done earlier, a note says that there was nothing to do.
    if exit == 0 && results.iter().all(is_done) && !results.iter().all(ItemResult::is_old) {
        out.data("all done")?;
    }
    // A checked-out base never moves by itself, so the user gets the merge command (I-62).
    let merges = results.iter().filter(|result| result.word == WorkOutcome::Merged);
    let branches: BTreeSet<&MergeBranch> = merges.filter_map(|result| result.merge_branch.as_ref()).collect();
    for MergeBranch { branch, diverged, .. } in branches {
        let only = if *diverged { "" } else { "--ff-only " };
        out.data(&format!("to get the merged work: git merge {only}{branch}"))?;
    }
    out.flush()
}

/// Writes the result of one issue as JSON.
pub(super) fn write_item(result: &ItemResult, out: &mut Stream) -> io::Result<()> {
    out.json("item", result)
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
    out.json("batch", object)
}

/// Writes the JSON result of an empty invocation.
pub(super) fn nothing(out: &mut Stream) -> io::Result<()> {
    out.json("batch", BatchResult { batch: None, items: 0, turns: 0, cost_usd: 0.0, exit: 0 })
}

/// Returns all results as one JSON document.
pub(super) fn document(batch: &str, results: &[ItemResult], exit: u8) -> String {
    let whole = BatchDocument { v: 1, batch, items: results, exit };
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
            quantities::stopwatch(result.time),
        ));
    }
    text
}

/// The results directory of an invocation. No other data depends on it.
pub(super) struct BatchFiles {
    pub(super) id: String,
    /// `.saihai` as it was before the first agent, possibly a link target. Links below it are not followed.
    home: PathBuf,
}

impl BatchFiles {
    /// Chooses a new directory, which the first write creates.
    pub(super) fn new(project: &Project) -> Self {
        let stamp: String =
            quantities::rfc3339(quantities::now()).chars().filter(char::is_ascii_digit).take(14).collect();
        let (day, clock) = stamp.split_at(8);
        let id = format!("{day}-{clock}-{}", std::process::id());
        let root = &project.places.root;
        let home = root.join(".saihai").canonicalize();
        // A missing `.saihai` is created in the project.
        let made = || root.canonicalize().unwrap_or_else(|_| root.clone()).join(".saihai");
        Self { home: home.unwrap_or_else(|_| made()), id }
    }

    /// Writes the results so far, and the page of one issue's run.
    pub(super) fn write(&self, results: &[ItemResult], run: Option<&IssueRun>) -> io::Result<()> {
        self.conclude(results, exit_code(results))?;
        if let Some(run) = run {
            let own = results.iter().filter(|result| result.issue == run.assignment.issue);
            for result in own {
                self.replace(&format!("{}.md", result.issue.slug()), &page(run, result))?;
            }
        }
        Ok(())
    }

    /// Writes all results and the exit code.
    pub(super) fn conclude(&self, results: &[ItemResult], exit: u8) -> io::Result<()> {
        self.replace("result.json", &document(&self.id, results, exit))?;
        self.replace("result.md", &markdown(results))
    }

    /// Writes the listed issues, for a board that shows those that no run has begun.
    pub(super) fn write_issues(&self, listing: &Listing) -> io::Result<()> {
        let issues = listing.plan.items.iter().filter_map(|item| listing.issues.get(&item.number));
        let issues: Vec<ListedIssue> = issues
            .map(|issue| ListedIssue {
                number: issue.number.get(),
                title: issue.title.clone(),
                depends_on: issue.depends_on.iter().map(|number| number.get()).collect(),
            })
            .collect();
        self.replace(ISSUES, &serde_json::to_string(&issues).unwrap_or_default())
    }

    /// Replaces a file atomically, so that a reader never sees a partial file.
    fn replace(&self, name: &str, text: &str) -> io::Result<()> {
        std::fs::create_dir_all(&self.home)?;
        replace_below(&self.home, &format!("batches/{}/{name}", self.id), text.as_bytes())
    }
}

/// The file of a batch with its issues.
const ISSUES: &str = "issues.json";

/// An issue of a batch, as it was listed last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ListedIssue {
    pub(crate) number: u32,
    pub(crate) title: String,
    pub(crate) depends_on: Vec<u32>,
}

/// Reads the issues that the last `saihai work` of a project has listed. There are none before the first one.
pub(crate) fn last_listed_issues(project: &Project) -> Vec<ListedIssue> {
    let Ok(batches) = std::fs::read_dir(project.places.root.join(".saihai/batches")) else {
        return Vec::new();
    };
    let mut batches: Vec<PathBuf> = batches.filter_map(|entry| Some(entry.ok()?.path())).collect();
    // Names begin with the time.
    batches.sort();
    let texts = batches.iter().rev().filter_map(|batch| std::fs::read(batch.join(ISSUES)).ok());
    texts.filter_map(|text| serde_json::from_slice(&text).ok()).next().unwrap_or_default()
}

/// Formats the page of an issue's run.
fn page(run: &IssueRun, result: &ItemResult) -> String {
    let summary = RunSummary::of(&run.loaded).ok();
    let said = summary.as_ref().map(|summary| inert_excerpt(&summary.text, 4_000)).unwrap_or_default();
    let assignment = &run.assignment;
    let reason = result.reason.as_deref().map(|reason| format!(" ({})", inert(reason))).unwrap_or_default();
    let mut text = format!(
        "# {} {}\n\n{}{reason}: branch `{}` from `{}` at {}, run `{}`, {}, {}\n",
        result.issue,
        inert(&assignment.title),
        result.outcome,
        assignment.branch,
        assignment.base.branch,
        assignment.base.commit,
        run.id(),
        count(result.turns, "turn"),
        result.cost.usd,
    );
    if !said.is_empty() {
        text.push_str(&format!("\n{said}\n"));
    }
    text
}

/// Appends the results to the job summary of GitHub Actions (I-77).
pub(super) fn show_in_actions(project: &Project, results: &[ItemResult]) -> io::Result<()> {
    let Some(path) = project.variables.get("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()) else {
        return Ok(());
    };
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    // A Markdown table ends at an empty line, so a second call in the same step starts its own table.
    file.write_all(format!("{}\n", markdown(results)).as_bytes())
}
