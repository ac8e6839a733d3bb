//! Earlier runs on an issue, each read from its journal in one pass.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use saihai::{DriverError, LoadedRun, RunDirectory, Runs};
use saihai_model::{
    Cost, DeliveryFailure, Ending, FailureReason, Hold, IssueNumber, IssueSource, Json, Millis, Outcome,
    OutsideReason, RepositoryName, StageId, WorkOutcome, Workflow,
};
use saihai_view::RunState;
use saihai_view::RunView;

use crate::stages::stage;
use crate::{IssueAssignment, IssueReason, IssueResult, Placement};

/// A run on an issue and its progress.
#[derive(Debug, Clone)]
pub struct IssueRun {
    pub loaded: Arc<LoadedRun>,
    pub assignment: IssueAssignment,
    /// False if the run only works in the worktree and delivers nothing.
    pub delivers: bool,
    pub state: RunState,
    /// The definition has ended, so no agent will be asked any more.
    pub finished: bool,
    pub outputs: StageOutputs,
    pub cost: Cost,
    /// The active run time so far.
    pub time: Millis,
}

/// The latest outputs of the delivery stages, by stage and key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StageOutputs(BTreeMap<StageId, BTreeMap<String, Json>>);

impl StageOutputs {
    pub(crate) fn of(view: &RunView) -> Self {
        let mut outputs = Self::default();
        for call in &view.calls {
            for performed in &call.performed {
                if let Outcome::Done { output, .. } = &performed.outcome {
                    outputs.0.insert(call.id.stage.clone(), output.clone());
                }
            }
        }
        outputs
    }

    fn value(&self, stage: &str, key: &str) -> Option<&Json> {
        self.0.get(&StageId::from(stage))?.get(key)
    }

    /// Returns a stage's output under a key, if it is a text.
    pub fn text(&self, stage: &str, key: &str) -> Option<&str> {
        self.value(stage, key).and_then(Json::as_str)
    }

    /// Returns true if a stage has ended.
    pub fn has(&self, stage: &str) -> bool {
        self.0.contains_key(&StageId::from(stage))
    }

    /// Returns the reason that the last of the stages gave for its result.
    fn why(&self) -> Option<&str> {
        let stages = [
            stage::WORKTREE,
            stage::FINALIZE,
            stage::PUSH,
            stage::PULL_REQUEST,
            stage::CHECKS,
            stage::MERGE,
            stage::COMMENT,
            stage::CLEAN_UP,
        ];
        stages.iter().rev().find_map(|stage| self.text(stage, "why"))
    }
}

impl IssueRun {
    /// Reads a run. Returns `None` if it is not about an issue.
    pub fn read(directory: &RunDirectory) -> Result<Option<Self>, DriverError> {
        Ok(Self::of(LoadedRun::read(directory)?))
    }

    /// Reads the same from a view that was folded before.
    pub fn of_view(directory: &RunDirectory, workflow: &Workflow, view: &RunView) -> Option<Self> {
        Self::of(LoadedRun::of_view(directory, workflow, view.clone()))
    }

    fn of(loaded: LoadedRun) -> Option<Self> {
        let Some(Placement::Issue(assignment)) = Placement::of(&loaded.view.start) else { return None };
        let finalize = StageId::from(stage::FINALIZE);
        Some(Self {
            assignment: *assignment,
            delivers: loaded.workflow.stages.contains_key(&finalize),
            state: loaded.state.clone(),
            finished: loaded.view.visits.iter().any(|visit| visit.stage == finalize),
            outputs: StageOutputs::of(&loaded.view),
            cost: loaded.view.visits.iter().fold(Cost::default(), |sum, visit| sum.plus(visit.cost)),
            time: loaded.view.driven,
            loaded: Arc::new(loaded),
        })
    }

    pub fn directory(&self) -> &RunDirectory {
        &self.loaded.directory
    }

    pub fn id(&self) -> &str {
        self.loaded.directory.id()
    }

    /// Returns true if the run waits for a person to answer.
    pub fn is_at_gate(&self) -> bool {
        matches!(&self.state, RunState::Parked { hold: Hold::Person(_), .. })
    }

    /// Returns the commit that the run handed over.
    pub fn commit(&self) -> Option<&str> {
        self.outputs.text(stage::FINALIZE, "commit")
    }

    /// Returns the pull request or branch of delivered work that waits to be merged.
    pub fn awaits_merge(&self) -> Option<String> {
        let outcome = self.outcome();
        let is_over = matches!(outcome, Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady));
        let request = self.outputs.text(stage::PULL_REQUEST, "url").map(str::to_owned);
        let is_asked = outcome == Some(WorkOutcome::Waiting) && request.is_some();
        (is_over || is_asked).then(|| request.unwrap_or_else(|| self.assignment.branch.clone()))
    }

    /// Returns the outcome so far, or `None` if the run can simply continue.
    pub fn outcome(&self) -> Option<WorkOutcome> {
        self.result().map(|result| result.outcome)
    }

    /// Returns the result so far, or `None` if the run can simply continue.
    pub fn result(&self) -> Option<IssueResult> {
        match &self.state {
            RunState::Running { owner, .. } => Some(match owner {
                Some(process) => IssueResult::new(
                    WorkOutcome::Elsewhere,
                    IssueReason::OtherProcess { process: Some(*process), run: None },
                ),
                None => IssueResult::plain(WorkOutcome::Elsewhere),
            }),
            RunState::Interrupted | RunState::Ready => None,
            RunState::Ended { ending } => Some(self.ended(ending)),
            RunState::Parked { hold, .. } => self.held(hold),
        }
    }

    fn ended(&self, ending: &Ending) -> IssueResult {
        match ending {
            Ending::Completed(word) => {
                IssueResult::plain(WorkOutcome::named(word.text()).unwrap_or(WorkOutcome::BranchReady))
            }
            Ending::Failed(reason) => self.failed(reason),
            Ending::Declined => IssueResult::plain(WorkOutcome::Declined),
            Ending::Cancelled => IssueResult::plain(WorkOutcome::Cancelled),
            Ending::Incomplete(reason) => {
                IssueResult::new(WorkOutcome::Limited, IssueReason::Incomplete(reason.clone()))
            }
            Ending::Undelivered => IssueResult::new(WorkOutcome::Failed, IssueReason::Undelivered),
        }
    }

    fn failed(&self, reason: &FailureReason) -> IssueResult {
        let message = self.outputs.why().unwrap_or_default().to_owned();
        if *reason == FailureReason::Delivery(DeliveryFailure::NotOurs) {
            let adoptable = self.outputs.value(stage::WORKTREE, "adoptable").and_then(Json::as_bool);
            let reason = IssueReason::NotOurs { message, adoptable: adoptable.unwrap_or(false) };
            return IssueResult::new(WorkOutcome::Blocked, reason);
        }
        let detail = Some(message).filter(|message| !message.is_empty() && reason.subject().is_empty());
        IssueResult::new(WorkOutcome::Failed, IssueReason::Failed { reason: reason.clone(), detail })
    }

    /// Returns the result that a hold implies, or `None` if the run continues by itself when driven.
    fn held(&self, hold: &Hold) -> Option<IssueResult> {
        let (outcome, reason) = match hold {
            Hold::Person(call) => {
                let gate = call.stage.as_str().rsplit('/').next().unwrap_or_default().to_owned();
                (WorkOutcome::Waiting, IssueReason::Gate { gate })
            }
            Hold::Outside(_, reason) => {
                let outcome = match reason {
                    OutsideReason::Delivery(hold) => hold.outcome(),
                    OutsideReason::Text(_) => WorkOutcome::Waiting,
                };
                (outcome, IssueReason::Outside(reason.clone()))
            }
            Hold::Until(_, class) | Hold::Provider(_, class) => {
                let message = self.loaded.view.last_failure.as_ref().map(|failure| failure.message.trim());
                let message = message.filter(|message| !message.is_empty()).map(str::to_owned);
                (WorkOutcome::Provider, IssueReason::Provider { class: *class, message })
            }
            Hold::Storage(path) => (WorkOutcome::Provider, IssueReason::Storage { message: path.clone() }),
            Hold::Limit(word) => (WorkOutcome::Limited, IssueReason::Limit(word.clone())),
            Hold::Budget => (WorkOutcome::Limited, IssueReason::Budget),
            Hold::NoProgress(_) => (WorkOutcome::Limited, IssueReason::NoProgress),
            Hold::Interrupted => return None,
            Hold::Cancelling => (WorkOutcome::Cancelled, IssueReason::Cancelled),
        };
        Some(IssueResult::new(outcome, reason))
    }
}

/// The runs of a project on issues. A journal is read again only after it has grown.
#[derive(Debug)]
pub struct IssueRuns {
    runs: Runs,
    /// The repository of the issues, if they belong to one. The same number in two repositories means two issues.
    home: Option<RepositoryName>,
    known: Mutex<BTreeMap<String, (JournalStamp, Option<IssueRun>)>>,
}

/// Size and time of a journal. A journal is only appended to.
type JournalStamp = (u64, Option<SystemTime>);

impl IssueRuns {
    pub fn new(runs: Runs, home: Option<RepositoryName>) -> Self {
        Self { runs, home, known: Mutex::default() }
    }

    /// Returns all runs on an issue, newest first. An unreadable run stays in the list with its error: its cost and
    /// deliveries are unknown and must not count as zero (I-71).
    pub fn of(
        &self,
        source: IssueSource,
        issue: IssueNumber,
    ) -> Result<Vec<Result<IssueRun, DriverError>>, DriverError> {
        let is_meant =
            |assignment: &IssueAssignment| assignment.issue == issue && self.is_from(assignment, source);
        let mut found = Vec::new();
        for directory in self.runs.named(&format!("-{}", issue.slug()))? {
            match self.read(&directory) {
                Ok(run) => found.extend(run.filter(|run| is_meant(&run.assignment)).map(Ok)),
                // The start record may name another issue.
                Err(error) => {
                    let is_meant = directory.start().map_or(true, |start| match Placement::of(start) {
                        Some(Placement::Issue(assignment)) => is_meant(&assignment),
                        Some(Placement::Own { .. }) | None => false,
                    });
                    found.extend(is_meant.then_some(Err(error)));
                }
            }
        }
        Ok(found)
    }

    /// Returns the last delivering run of each `wanted` issue, ordered by number. An unreadable run yields nothing and
    /// hides the runs before it.
    pub fn last_of_each(
        &self,
        source: IssueSource,
        wanted: impl Fn(IssueNumber) -> bool,
    ) -> Result<Vec<IssueRun>, DriverError> {
        let mut last: BTreeMap<IssueNumber, Option<IssueRun>> = BTreeMap::new();
        for directory in self.runs.named("")? {
            let number = issue_in(directory.id()).filter(|number| wanted(*number));
            let Some(number) = number.filter(|number| !last.contains_key(number)) else { continue };
            match self.read(&directory) {
                Ok(Some(run)) if run.delivers && self.is_from(&run.assignment, source) => {
                    // A run id can look like that of another issue.
                    last.entry(run.assignment.issue).or_insert(Some(run));
                }
                Ok(_) => {}
                Err(_) => drop(last.insert(number, None)),
            }
        }
        Ok(last.into_values().flatten().filter(|run| wanted(run.assignment.issue)).collect())
    }

    /// Reads a run, unless its journal is known and has not grown. The owner is always looked up.
    fn read(&self, directory: &RunDirectory) -> Result<Option<IssueRun>, DriverError> {
        let stamp = directory.journal().metadata().map(|file| (file.len(), file.modified().ok()));
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(stamp) = &stamp
            && let Some((_, run)) = known().get(directory.id()).filter(|(then, _)| then == stamp)
        {
            return Ok(run
                .clone()
                .map(|run| IssueRun { state: run.loaded.view.state(directory.owner()), ..run }));
        }
        let run = IssueRun::read(directory)?;
        if let Ok(stamp) = stamp {
            known().insert(directory.id().to_owned(), (stamp, run.clone()));
        }
        Ok(run)
    }

    /// Returns true if an issue comes from this source.
    fn is_from(&self, assignment: &IssueAssignment, source: IssueSource) -> bool {
        let homes = self.home.as_ref().zip(assignment.home.as_ref());
        assignment.source == source && homes.is_none_or(|(home, of)| home == of)
    }
}

/// Parses the issue number from a run id: `20260206-085600-issue-7`, with or without a number after it.
fn issue_in(id: &str) -> Option<IssueNumber> {
    let (_, behind) = id.rsplit_once("-issue-")?;
    IssueNumber::parse(behind.split('-').next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_run_names_its_issue() {
        let check = |id: &str, expected: Option<u32>| {
            assert_eq!(issue_in(id).map(IssueNumber::get), expected, "{id}");
        };
        check("20260206-085600-issue-7", Some(7));
        check("20260206-085600-issue-7-2", Some(7));
        check("20260206-085600-issue-71", Some(71));
        check("20260206-085600-issue-", None);
        check("20260206-085600-issue-x7", None);
        check("20260206-085600-make-it-so", None);
    }
}
