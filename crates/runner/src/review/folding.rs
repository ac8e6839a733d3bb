//! The report of a run: the agents' findings, folded with decisions made before they were asked.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use saihai_config::Language;
use saihai_config::review::{Plan, PlannedGap, PlannedIgnore};
use saihai_judge::review::{
    AgentResult, Baseline, Code, Considered, Day, FailOn, FailScope, Ignore, LoadError, Mode, NotReviewed,
    PathPattern, Policy, Report, Review, Source, Stopped, Unread,
};
use saihai_model::{Budget, Entry, Fact, Hold, Json, Millis, Moment, Subject, SubjectMode, Usd, Workflow};

use super::results::{Results, Unpaid};
use crate::git::{self, Git};
use crate::subject::{FrozenSubject, SUBJECT, whole};
use crate::{Error, RunDirectory, Runs};

/// The name under which a run stores the earlier findings.
pub const BASELINE: &str = "baseline";

/// The start of the placeholder for a secret.
const REDACTED: &str = "[redacted:";

/// The report files in a run directory.
const JSON: &str = "review.json";
const MARKDOWN: &str = "review.md";

/// Returns the report saved at the end of a review. Returns `None` for other runs and unfinished reviews.
pub fn saved_report(directory: &RunDirectory) -> Result<Option<Report>, Error> {
    let path = directory.path().join(JSON);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let damaged = |error: serde_json::Error| saihai_store::damaged(&path, 1, &error.to_string()).into();
    serde_json::from_slice(&bytes).map(Some).map_err(damaged)
}

/// Returns the report of the last finished review of a branch.
pub fn last_report(runs: &Runs, branch: Option<&str>) -> Result<Option<Report>, Error> {
    // A detached HEAD belongs to no branch, and two detached commits may be unrelated.
    let Some(branch) = branch else { return Ok(None) };
    for listed in crate::list_runs(runs)? {
        if !listed.run.as_ref().is_ok_and(|(_, state)| state.is_over()) {
            continue;
        }
        let directory = listed.directory;
        let plan = directory.workflow().ok().and_then(|workflow| Plan::of(&workflow));
        if plan.is_some_and(|plan| plan.branch.as_deref() == Some(branch))
            && let Ok(Some(report)) = saved_report(&directory)
        {
            return Ok(Some(report));
        }
    }
    Ok(None)
}

/// Builds the report of the finished part of a stopped review. Returns `None` for other runs.
pub fn report_so_far(directory: &RunDirectory, by: Option<&Hold>) -> Result<Option<Report>, Error> {
    let workflow = directory.workflow()?;
    let Some(plan) = Plan::of(&workflow) else { return Ok(None) };
    let mut until = Moment::default();
    directory.read(&mut |record| until = record.at)?;
    let is_limited = matches!(by, Some(Hold::Limit(_) | Hold::Budget));
    let stopped = if is_limited { Stopped::AtLimit } else { Stopped::FromOutside };
    let end = End { at: until, stopped: Some(stopped) };
    fold(directory, &workflow, &plan, end).map(Some)
}

/// Builds the report of a review with nothing to do.
pub fn empty_report(subject: &Subject, plan: &Plan) -> Report {
    let frozen = FrozenSubject { subject: subject.clone(), texts: BTreeMap::new() };
    let end = End { at: Moment::default(), stopped: None };
    let (results, unpaid) = (Vec::new(), Vec::new());
    let parts = Parts { baseline: None, run: "", root: "", frozen: &frozen, plan, results, unpaid };
    review(parts, end, Millis(0)).report()
}

/// Returns the files of a review that have changed since it started. Returns none for other runs.
pub fn changed_files(directory: &RunDirectory) -> Result<Vec<String>, Error> {
    let start = directory.start()?;
    let Some(text) = start.subject.get(SUBJECT) else { return Ok(Vec::new()) };
    let json = directory.text(text)?;
    let frozen: FrozenSubject =
        serde_json::from_str(&json).map_err(|error| directory.bad_text(text, &error.to_string()))?;
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

pub fn report_language(workflow: &Workflow) -> Language {
    let plan = Plan::of(workflow).unwrap_or_default();
    Language::named(&plan.language).unwrap_or_default()
}

/// The time of a report, and whether every agent had been asked by then.
#[derive(Debug, Clone, Copy)]
pub(crate) struct End {
    pub(crate) at: Moment,
    pub(crate) stopped: Option<Stopped>,
}

/// Saves a report in its run, for programs and for people.
pub(crate) fn save(
    directory: &RunDirectory,
    plan: &Plan,
    report: &Report,
) -> Result<(), (String, std::io::Error)> {
    let language = Language::named(&plan.language).unwrap_or_default();
    let forms = [(JSON, super::to_json(report)), (MARKDOWN, super::to_markdown(report, language))];
    for (name, text) in forms {
        let path = directory.path().join(name);
        let saved = directory.disk().replace(&path, text.as_bytes());
        saved.map_err(|error| (path.display().to_string(), error))?;
    }
    Ok(())
}

/// Folds all records of a run into its report.
pub(crate) fn fold(
    directory: &RunDirectory,
    workflow: &Workflow,
    plan: &Plan,
    end: End,
) -> Result<Report, Error> {
    let start = directory.start()?;
    let frozen = match start.subject.get(SUBJECT) {
        Some(text) => {
            let json = directory.text(text)?;
            serde_json::from_str(&json).map_err(|error| directory.bad_text(text, &error.to_string()))?
        }
        None => nothing(),
    };
    let mut results = Results::new(workflow);
    let mut budget = workflow.limits.budget.clone();
    directory.read(&mut |record| {
        results.see(&record);
        if let Entry::Fact(Fact::Resumed(raise)) = &record.entry {
            budget = budget.replaced_by(&raise.budget);
        }
    })?;
    let wall = results.began().map(|began| end.at.since(began)).unwrap_or_default();
    let baseline = match start.subject.get(BASELINE) {
        Some(text) => {
            let json = directory.text(text)?;
            let bad = |why: String| directory.bad_text(text, &why);
            let value: Json = serde_json::from_str(&json).map_err(|error| bad(error.to_string()))?;
            Some(Baseline::read(&value).map_err(|error| bad(error.to_string()))?)
        }
        None => None,
    };
    let parts = Parts {
        baseline,
        run: directory.id(),
        root: &start.directory,
        frozen: &frozen,
        plan,
        unpaid: results.unpaid(),
        results: results.finish(),
    };
    let mut review = review(parts, end, wall);
    review.warnings.extend(overspent(&budget, &review.results));
    Ok(review.report())
}

/// Returns a note if the review exceeded its budget. Calls under way when the limit is reached still cost
/// money.
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
    Some(format!("spent {spent} of {most}: what was under way when the budget was met is paid for"))
}

/// The input of a report.
struct Parts<'a> {
    baseline: Option<Baseline>,
    run: &'a str,
    root: &'a str,
    frozen: &'a FrozenSubject,
    plan: &'a Plan,
    results: Vec<AgentResult>,
    unpaid: Vec<Unpaid>,
}

fn review(parts: Parts<'_>, end: End, wall: Millis) -> Review {
    let Parts { baseline, run, root, frozen, plan, results, unpaid } = parts;
    let (mode, base, head) = named(&frozen.subject.mode);
    Review {
        run: run.to_owned(),
        mode,
        base,
        head,
        selection: plan.selection.iter().map(considered).collect(),
        load_errors: plan.load_errors.iter().map(load_error).collect(),
        code: code(root, frozen, &results, baseline.as_ref()),
        shown: shown(plan),
        not_reviewed: not_reviewed(plan, frozen, &unpaid),
        results,
        baseline,
        ignores: plan.ignores.iter().filter_map(ignore).collect(),
        warnings: plan.warnings.clone(),
        policy: policy(plan),
        today: day(end.at),
        wall,
        stopped: end.stopped,
    }
}

fn nothing() -> FrozenSubject {
    let subject = Subject { mode: SubjectMode::Files, files: Vec::new() };
    FrozenSubject { subject, texts: BTreeMap::new() }
}

fn named(mode: &SubjectMode) -> (Mode, Option<String>, Option<String>) {
    match mode {
        SubjectMode::Changes { base, head, pull_request, .. } => {
            let mode = if pull_request.is_some() { Mode::Pr } else { Mode::Diff };
            (mode, Some(base.clone()), head.clone())
        }
        SubjectMode::Files => (Mode::Files, None, None),
    }
}

fn considered(planned: &saihai_config::review::PlannedAgent) -> Considered {
    Considered {
        agent: planned.agent.clone(),
        description: planned.description.clone(),
        origin: planned.origin.clone(),
        phase: planned.phase.clone(),
        selected: planned.selected,
        why: planned.why.clone(),
    }
}

fn load_error(planned: &saihai_config::review::PlannedError) -> LoadError {
    LoadError { file: planned.file.clone(), message: planned.message.clone() }
}

/// Builds a suppression. An invalid pattern yields none, so its findings stay visible.
fn ignore(planned: &PlannedIgnore) -> Option<Ignore> {
    let path = match &planned.path {
        Some(pattern) => Some(PathPattern::new(pattern)?),
        None => None,
    };
    Some(Ignore {
        fingerprint: planned.fingerprint.clone(),
        agent: planned.agent.clone(),
        path,
        reason: planned.reason.clone(),
        expires: planned.expires.as_deref().and_then(Day::parse),
        file: planned.file.clone(),
        lines: planned.lines,
    })
}

/// Returns the files of agents that saw only a part of the subject.
fn shown(plan: &Plan) -> BTreeMap<String, BTreeSet<String>> {
    let partly = plan.selection.iter().filter(|agent| !agent.shown.is_empty());
    partly.map(|agent| (agent.agent.clone(), agent.shown.iter().flatten().cloned().collect())).collect()
}

fn policy(plan: &Plan) -> Policy {
    let usual = Policy::default();
    Policy {
        fail_on: FailOn::named(&plan.fail_on).unwrap_or(usual.fail_on),
        fail_scope: FailScope::named(&plan.fail_scope).unwrap_or(usual.fail_scope),
        min_confidence: plan.min_confidence,
        require_all: plan.require_all,
        allow_partial: plan.allow_partial,
        distrusts_change: plan.distrusts_change,
    }
}

/// Collects the files that findings name: the reviewed ones, and other existing files. It does not open files
/// that only the baseline names.
fn code(root: &str, frozen: &FrozenSubject, results: &[AgentResult], baseline: Option<&Baseline>) -> Code {
    let mut code = Code::new(root);
    for file in &frozen.subject.files {
        let source = match (&frozen.subject.mode, file.left_out) {
            (SubjectMode::Changes { .. }, _) => {
                let source = Source::changed(frozen.texts.get(&file.path).cloned(), &file.text);
                source.called_before(file.previous.clone())
            }
            (SubjectMode::Files, None) => Source::whole(file.text.as_str()),
            (SubjectMode::Files, Some(_)) => Source { is_reviewed: true, ..Source::default() },
        };
        code = code.with(&file.path, source);
    }
    let reviewed = |path: &String| frozen.subject.files.iter().any(|file| file.path == *path);
    let findings = results.iter().flat_map(|result| &result.findings);
    let git = LazyCell::new(|| Git::open(Path::new(root)));
    for named in findings.filter_map(|finding| finding.file.as_deref()) {
        for path in code.places(named).into_iter().filter(|path| !reviewed(path)) {
            if let Some(text) = beside(Path::new(root), &git, &path) {
                code = code.with(&path, Source::other(text));
            }
        }
    }
    for path in baseline.into_iter().flat_map(Baseline::files) {
        // Without a directory, no file counts as deleted.
        let is_there = !Path::new(root).is_dir() || Path::new(root).join(path).symlink_metadata().is_ok();
        if is_there && !code.has(path) {
            code = code.with(path, Source::unread());
        }
    }
    code
}

/// Returns the text of a project file that was not reviewed. It reads nothing outside the project, links
/// included, and nothing that git ignores. Reports are published, and an ignored file may be a key.
fn beside(root: &Path, git: &Result<Option<Git>, git::Error>, path: &str) -> Option<String> {
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

/// Lists the parts that no agent reviewed: excluded before the review, or cut by the budget.
fn not_reviewed(plan: &Plan, frozen: &FrozenSubject, unpaid: &[Unpaid]) -> Vec<NotReviewed> {
    let planned = plan.left_out.iter().filter_map(gap);
    let unpaid = unpaid.iter().flat_map(|unpaid| {
        let files = frozen.subject.files.iter().filter(|file| file.left_out.is_none());
        let planned = plan.selection.iter().find(|planned| planned.agent == unpaid.agent);
        let own = planned.and_then(|planned| planned.shown.get(unpaid.part));
        let files = files.filter(move |file| own.is_none_or(|own| own.contains(&file.path)));
        files.map(|file| NotReviewed {
            file: file.path.clone(),
            agent: Some(unpaid.agent.clone()),
            reason: Unread::Budget,
        })
    });
    planned.chain(unpaid).collect()
}

fn gap(planned: &PlannedGap) -> Option<NotReviewed> {
    let all = [Unread::Size, Unread::Binary, Unread::Submodule, Unread::Budget];
    let reason = all.into_iter().find(|reason| reason.name() == planned.reason)?;
    Some(NotReviewed { file: planned.file.clone(), agent: planned.agent.clone(), reason })
}

/// Returns the date in UTC.
fn day(at: Moment) -> Day {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX).to_zoned(TimeZone::UTC);
    Day::parse(&time.strftime("%Y-%m-%d").to_string()).expect("it was written as a day")
}
