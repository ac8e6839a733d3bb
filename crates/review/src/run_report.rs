//! The report of a run: the agents' findings, folded with decisions made before they were asked.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use saihai_git::{Git, GitError};
use saihai_model::{
    Budget, CallId, Fact, Failure, FailureClass, Hold, Json, Label, Millis, Moment, Outcome, RecordEntry,
    Start, Subject, SubjectMode, Usd, Workflow,
};
use saihai_store::{RunDirectory, Runs, StoreError};
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::assemble::ReportInputs;
use crate::baseline::Baseline;
use crate::code::{CodeFile, ReviewedCode};
use crate::lower::ending;
use crate::markdown::to_markdown;
use crate::plan::{GapReason, ReviewGap, ReviewPlan};
use crate::report::{AgentResult, ReviewMode, ReviewOutcome, ReviewReport, ReviewStop};
use crate::results::{AgentResults, UnpaidTurn};
use crate::sarif::to_json;
use crate::subject::{FrozenSubject, SUBJECT, whole};

/// The name under which a run stores the earlier findings.
pub const BASELINE: &str = "baseline";

/// The start of the placeholder for a secret.
const REDACTED: &str = "[redacted:";

/// The report files in a run directory.
const JSON: &str = "review.json";
const MARKDOWN: &str = "review.md";

/// Returns the report saved at the end of a review. Returns `None` for other runs and unfinished reviews.
pub fn saved_report(directory: &RunDirectory) -> Result<Option<ReviewReport>, StoreError> {
    let path = directory.path().join(JSON);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(StoreError::io("read", &path)(error)),
    };
    let damaged = |error: serde_json::Error| saihai_store::damaged(&path, 1, &error.to_string());
    serde_json::from_slice(&bytes).map(Some).map_err(damaged)
}

/// Returns the report of the last finished review of a branch.
pub fn last_report(runs: &Runs, branch: Option<&str>) -> Result<Option<ReviewReport>, StoreError> {
    // A detached HEAD belongs to no branch, and two detached commits may be unrelated.
    let Some(branch) = branch else { return Ok(None) };
    for directory in runs.list()? {
        // A report is saved by the last action of a review, so a saved one is that of a finished review.
        let plan = directory.workflow().ok().and_then(|workflow| ReviewPlan::of(&workflow));
        if plan.is_some_and(|plan| plan.branch.as_deref() == Some(branch))
            && let Ok(Some(report)) = saved_report(&directory)
        {
            return Ok(Some(report));
        }
    }
    Ok(None)
}

/// Builds the report of the finished part of a stopped review. Returns `None` for other runs.
pub fn report_so_far(
    directory: &RunDirectory,
    by: Option<&Hold>,
) -> Result<Option<ReviewReport>, StoreError> {
    let workflow = directory.workflow()?;
    let Some(plan) = ReviewPlan::of(&workflow) else { return Ok(None) };
    let is_limited = matches!(by, Some(Hold::Limit(_) | Hold::Budget | Hold::NoProgress(_)));
    let stopped = if is_limited { ReviewStop::AtLimit } else { ReviewStop::FromOutside };
    fold(directory, &workflow, plan, None, Some(stopped)).map(Some)
}

/// Builds the report of a review with nothing to do.
pub fn empty_report(subject: &Subject, plan: &ReviewPlan) -> ReviewReport {
    let (mode, base, head) = named(&subject.mode);
    let inputs = ReportInputs {
        run: String::new(),
        mode,
        base,
        head,
        plan: plan.clone(),
        results: Vec::new(),
        code: ReviewedCode::default(),
        baseline: None,
        today: day(Moment::default()),
        wall: Millis(0),
        stopped: None,
    };
    inputs.report()
}

/// Folds all findings of a review into its report, saves it, and returns the result of the report action. The label
/// says how the review ended.
pub fn finish_run(
    directory: &RunDirectory,
    workflow: &Workflow,
    call: CallId,
    settings: &Json,
    now: Moment,
) -> Result<Fact, StoreError> {
    let Some(plan) = ReviewPlan::read(settings) else {
        let failure = Failure::new(FailureClass::BadRequest, "cannot read the plan of the review");
        return Ok(Fact::Performed { call, outcome: Outcome::Failed(failure) });
    };
    let language = plan.language();
    let report = fold(directory, workflow, plan, Some(now), None)?;
    for (name, text) in [(JSON, to_json(&report)), (MARKDOWN, to_markdown(&report, language))] {
        let path = directory.path().join(name);
        if let Err(error) = directory.disk().replace(&path, text.as_bytes()) {
            let (path, message) = (path.display().to_string(), error.to_string());
            return Ok(Fact::StorageFailed { call: Some(call), path, message });
        }
    }
    let label = match report.outcome {
        ReviewOutcome::Passed => ending::PASSED,
        ReviewOutcome::Failing => ending::FINDINGS,
        ReviewOutcome::Incomplete => ending::PARTIAL,
        ReviewOutcome::NothingDelivered | ReviewOutcome::AgentFailed | ReviewOutcome::Cancelled => {
            ending::UNDELIVERED
        }
    };
    let summary = &report.summary;
    let output = [
        ("findings", summary.findings),
        ("failing", summary.failing),
        ("delivered", summary.delivered),
        ("failed", summary.failed),
    ];
    let output = output.into_iter().map(|(name, count)| (name.to_owned(), json!(count))).collect();
    Ok(Fact::Performed { call, outcome: Outcome::Done { label: Some(Label::from(label)), output } })
}

/// Returns the files of a review that have changed since it started. Returns none for other runs.
pub fn changed_files(directory: &RunDirectory) -> Result<Vec<String>, StoreError> {
    let start = directory.start()?;
    let Some(frozen) = kept::<FrozenSubject>(directory, start, SUBJECT)? else { return Ok(Vec::new()) };
    let whole_files = frozen.subject.files.iter().filter(|_| frozen.subject.mode == SubjectMode::Files);
    let whole_files = whole_files.filter(|file| file.left_out.is_none() && !file.lossy);
    let whole_files = whole_files.map(|file| (file.path.as_str(), file.text.as_str()));
    let texts = frozen.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    // A redacted text cannot be compared.
    let comparable = texts.chain(whole_files).filter(|(_, text)| !text.contains(REDACTED));
    let root = Path::new(&start.directory);
    let changed = comparable.filter(|(path, text)| whole(root, Path::new(path)).as_deref() != Some(*text));
    Ok(changed.map(|(path, _)| path.to_owned()).collect())
}

/// Reads a text of a run as JSON, if the run has it.
fn kept<T: DeserializeOwned>(
    directory: &RunDirectory,
    start: &Start,
    name: &str,
) -> Result<Option<T>, StoreError> {
    let Some(text) = start.subject.get(name) else { return Ok(None) };
    let json = directory.text(text)?;
    serde_json::from_str(&json).map(Some).map_err(|error| directory.bad_text(text, &error.to_string()))
}

/// Folds all records of a run into its report, as of `at` or else of the last record.
fn fold(
    directory: &RunDirectory,
    workflow: &Workflow,
    mut plan: ReviewPlan,
    at: Option<Moment>,
    stopped: Option<ReviewStop>,
) -> Result<ReviewReport, StoreError> {
    let start = directory.start()?;
    let frozen: FrozenSubject = kept(directory, start, SUBJECT)?.unwrap_or_else(|| FrozenSubject {
        subject: Subject { mode: SubjectMode::Files, files: Vec::new() },
        texts: BTreeMap::new(),
    });
    let mut results = AgentResults::new(workflow);
    let mut budget = workflow.limits.budget.clone();
    directory.read(&mut |record| {
        results.see(&record);
        if let RecordEntry::Fact(Fact::Resumed(raise)) = &record.entry {
            budget = budget.replaced_by(&raise.budget);
        }
    })?;
    let at = at.or(results.last()).unwrap_or_default();
    let wall = results.began().map(|began| at.since(began)).unwrap_or_default();
    let baseline = match kept::<Json>(directory, start, BASELINE)? {
        Some(value) => Some(Baseline::read(&value).map_err(|error| {
            let text = &start.subject[BASELINE];
            directory.bad_text(text, &error.to_string())
        })?),
        None => None,
    };
    plan.left_out.extend(unpaid_gaps(&plan, &frozen, &results.unpaid()));
    let results = results.finish();
    plan.warnings.extend(overspent(&budget, &results));
    let (mode, base, head) = named(&frozen.subject.mode);
    let inputs = ReportInputs {
        run: directory.id().to_owned(),
        mode,
        base,
        head,
        plan,
        code: code(&start.directory, &frozen, &results, baseline.as_ref()),
        results,
        baseline,
        today: day(at),
        wall,
        stopped,
    };
    Ok(inputs.report())
}

/// Returns a note if the review exceeded its budget: calls under way at the limit still cost money.
fn overspent(budget: &Budget, results: &[AgentResult]) -> Option<String> {
    let costs = results.iter().filter_map(|result| result.cost).map(|cost| cost.0);
    let spent = Usd(costs.fold(0, u64::saturating_add));
    let (spent, most) = match (budget.usd, budget.tokens) {
        (Some(most), _) if spent > most => (spent.to_string(), most.to_string()),
        (_, Some(most)) => {
            let used = results.iter().filter_map(|result| result.usage.as_ref());
            let used = used.flat_map(|usage| [usage.input, usage.output]).flatten();
            let used = used.fold(0, u64::saturating_add);
            (used > most).then(|| (format!("{used} tokens"), most.to_string()))?
        }
        (Some(_) | None, None) => return None,
    };
    Some(format!("spent {spent} of {most}: calls that were running at the limit still count"))
}

fn named(mode: &SubjectMode) -> (ReviewMode, Option<String>, Option<String>) {
    match mode {
        SubjectMode::Changes { base, head, pull_request, .. } => {
            let mode = if pull_request.is_some() { ReviewMode::Pr } else { ReviewMode::Diff };
            (mode, Some(base.clone()), head.clone())
        }
        SubjectMode::Files => (ReviewMode::Files, None, None),
    }
}

/// Collects the files that findings name: the reviewed ones, and other existing files. It does not open files
/// that only the baseline names.
fn code(
    root: &str,
    frozen: &FrozenSubject,
    results: &[AgentResult],
    baseline: Option<&Baseline>,
) -> ReviewedCode {
    let mut code = ReviewedCode::new(root);
    for file in &frozen.subject.files {
        let source = match (&frozen.subject.mode, file.left_out) {
            (SubjectMode::Changes { .. }, _) => {
                let source = CodeFile::changed(frozen.texts.get(&file.path).cloned(), &file.text);
                source.called_before(file.previous.clone())
            }
            (SubjectMode::Files, None) => CodeFile::whole(file.text.as_str()),
            (SubjectMode::Files, Some(_)) => CodeFile { is_reviewed: true, ..CodeFile::default() },
        };
        code = code.with(&file.path, source);
    }
    let reviewed = |path: &String| frozen.subject.files.iter().any(|file| file.path == *path);
    let findings = results.iter().flat_map(|result| &result.findings);
    let git = LazyCell::new(|| Git::open(Path::new(root)));
    for named in findings.filter_map(|finding| finding.file.as_deref()) {
        for path in code.places(named).into_iter().filter(|path| !reviewed(path)) {
            if let Some(text) = text_outside_review(Path::new(root), &git, &path) {
                code = code.with(&path, CodeFile::other(text));
            }
        }
    }
    for path in baseline.into_iter().flat_map(Baseline::files) {
        // Without a directory, no file counts as deleted.
        let is_there = !Path::new(root).is_dir() || Path::new(root).join(path).symlink_metadata().is_ok();
        if is_there && !code.has(path) {
            code = code.with(path, CodeFile::unread());
        }
    }
    code
}

/// Returns the text of a project file that was not reviewed. It reads nothing outside the project, links
/// included, and nothing that git ignores. Reports are published, and an ignored file may be a key.
fn text_outside_review(root: &Path, git: &Result<Option<Git>, GitError>, path: &str) -> Option<String> {
    let root = root.canonicalize().ok()?;
    let file = root.join(path).canonicalize().ok()?;
    let inside = file.strip_prefix(&root).ok()?;
    let is_shown = match git {
        Ok(Some(git)) => git.shows(inside).unwrap_or(false),
        Ok(None) => true,
        // The ignore rules are unknown.
        Err(_) => false,
    };
    if is_shown { whole(&root, inside) } else { None }
}

/// Lists the parts that agents did not see because the budget was spent.
fn unpaid_gaps(plan: &ReviewPlan, frozen: &FrozenSubject, unpaid: &[UnpaidTurn]) -> Vec<ReviewGap> {
    let gaps = unpaid.iter().flat_map(|unpaid| {
        let files = frozen.subject.files.iter().filter(|file| file.left_out.is_none());
        let planned = plan.selection.iter().find(|planned| planned.agent == unpaid.agent);
        let own = planned.and_then(|planned| planned.shown.get(unpaid.part));
        let files = files.filter(move |file| own.is_none_or(|own| own.contains(&file.path)));
        files.map(|file| ReviewGap {
            file: file.path.clone(),
            agent: Some(unpaid.agent.clone()),
            reason: GapReason::Budget,
        })
    });
    gaps.collect()
}

/// Returns the date in UTC.
fn day(at: Moment) -> jiff::civil::Date {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC).date()
}
