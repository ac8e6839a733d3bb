//! Earlier runs on an issue.

use std::collections::BTreeMap;

use saihai_config::delivery::stage;
use saihai_model::{
    Cost, Decision, Ending, Entry, Fact, Hold, IssueNumber, IssueSource, Json, Millis, Moment, Outcome,
    RepositoryName, StageId, WorkOutcome,
};

use super::{Assignment, Placement};
use crate::{Error, RunDirectory, Runs, State};

/// A run on an issue and its progress.
#[derive(Debug, Clone)]
pub struct Past {
    pub directory: RunDirectory,
    pub assignment: Assignment,
    /// False if the run only works in the worktree and delivers nothing.
    pub delivers: bool,
    pub state: State,
    /// The definition has ended, so no agent will be asked any more.
    pub finished: bool,
    /// The latest outputs of the delivery stages.
    pub deeds: Deeds,
    pub cost: Cost,
    /// The active run time so far.
    pub time: Millis,
    failed: Option<String>,
}

/// The latest outputs of the delivery stages, by stage and key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Deeds(BTreeMap<(StageId, String), Json>);

impl Deeds {
    /// Returns a stage's output under a key, if it is a text.
    pub fn text(&self, stage: &str, key: &str) -> Option<&str> {
        self.0.get(&(StageId::from(stage), key.to_owned())).and_then(Json::as_str)
    }

    /// Returns true if a stage has ended.
    pub fn has(&self, stage: &str) -> bool {
        self.0.contains_key(&(StageId::from(stage), String::new()))
    }

    /// Returns the reason that the last of the stages gave for its result.
    pub fn why(&self) -> Option<&str> {
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

    fn see(&mut self, stage: &StageId, output: &BTreeMap<String, Json>) {
        self.0.retain(|(of, _), _| of != stage);
        self.0.insert((stage.clone(), String::new()), Json::Null);
        self.0.extend(output.iter().map(|(key, value)| ((stage.clone(), key.clone()), value.clone())));
    }
}

/// The result of the work on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Came {
    pub outcome: WorkOutcome,
    /// The reason for people, starting with a code if there is one.
    pub reason: Option<String>,
}

impl Past {
    /// Returns all runs on an issue, newest first. An unreadable run stays in the list with its error: its
    /// cost and deliveries are unknown and must not count as zero (I-71).
    pub fn of(
        runs: &Runs,
        source: IssueSource,
        issue: IssueNumber,
        home: Option<&RepositoryName>,
    ) -> Result<Vec<Result<Self, Error>>, Error> {
        let is_meant =
            |assignment: &Assignment| assignment.issue == issue && is_from(assignment, source, home);
        let slug = format!("-{}", issue.slug());
        let mut found = Vec::new();
        for directory in runs.named(&slug)? {
            match Self::read(&directory) {
                Ok(past) => found.extend(past.filter(|past| is_meant(&past.assignment)).map(Ok)),
                // The start record may name another issue.
                Err(error) => {
                    let began = directory.start().map(|start| Placement::of(&start));
                    let is_meant = began.map_or(true, |placement| match placement {
                        Some(Placement::Issue(assignment)) => is_meant(&assignment),
                        Some(Placement::Own { .. }) | None => false,
                    });
                    found.extend(is_meant.then_some(Err(error)));
                }
            }
        }
        Ok(found)
    }

    /// Returns the last delivering run of each `wanted` issue, ordered by number. An unreadable run yields
    /// nothing and hides the runs before it.
    pub fn last_of_each(
        runs: &Runs,
        source: IssueSource,
        home: Option<&RepositoryName>,
        wanted: impl Fn(IssueNumber) -> bool,
    ) -> Result<Vec<Self>, Error> {
        let mut last: BTreeMap<IssueNumber, Option<Self>> = BTreeMap::new();
        for directory in runs.named("")? {
            let number = number_in(directory.id()).filter(|number| wanted(*number));
            let Some(number) = number.filter(|number| !last.contains_key(number)) else { continue };
            match Self::read(&directory) {
                Ok(Some(past)) if past.delivers && is_from(&past.assignment, source, home) => {
                    // A run id can look like that of another issue.
                    last.entry(past.assignment.issue).or_insert(Some(past));
                }
                Ok(_) => {}
                Err(_) => drop(last.insert(number, None)),
            }
        }
        Ok(last.into_values().flatten().filter(|past| wanted(past.assignment.issue)).collect())
    }

    /// Reads a run. Returns `None` if it is not about an issue.
    pub fn read(directory: &RunDirectory) -> Result<Option<Self>, Error> {
        let (mut assignment, mut deeds, mut cost) = (None, Deeds::default(), Cost::default());
        let (mut driven, mut wrong, mut finished) = (Driven::default(), None, false);
        let mut begun = false;
        directory.read(&mut |record| {
            begun = true;
            driven.see(record.at, &record.entry);
            match &record.entry {
                Entry::Fact(Fact::Started(start)) => assignment = Placement::of(start),
                Entry::Fact(Fact::Performed { call, outcome: Outcome::Done { output, .. } }) => {
                    deeds.see(&call.stage, output);
                }
                Entry::Fact(Fact::Replied(reply)) => {
                    let (usd, tokens) = (reply.cost.unwrap_or_default(), reply.usage.tokens());
                    cost = cost.plus(Cost { usd, tokens, turns: 1 });
                }
                Entry::Fact(Fact::Failed(failed)) => {
                    let (usd, tokens) = (failed.cost.unwrap_or_default(), failed.usage.tokens());
                    cost = cost.plus(Cost { usd, tokens, turns: 0 });
                    wrong = Some(failed.failure.message.clone());
                }
                Entry::Fact(Fact::Performed { outcome: Outcome::Failed(failure), .. }) => {
                    wrong = Some(failure.message.clone());
                }
                Entry::Decision(Decision::Entered { stage, .. }) => {
                    finished |= stage.as_str() == stage::FINALIZE;
                }
                Entry::Fact(_) | Entry::Decision(_) => {}
            }
        })?;
        if !begun {
            return Err(directory.unborn().into());
        }
        let Some(Placement::Issue(assignment)) = assignment else { return Ok(None) };
        let delivers = directory.workflow()?.stages.contains_key(&StageId::from(stage::FINALIZE));
        let state = crate::run_state(directory)?;
        Ok(Some(Self {
            directory: directory.clone(),
            assignment: *assignment,
            delivers,
            state,
            finished,
            deeds,
            cost,
            time: driven.time,
            failed: wrong,
        }))
    }

    /// Returns the result so far, or `None` if the run can simply continue.
    pub fn came(&self) -> Option<Came> {
        let came = |outcome, reason: Option<&str>| Some(Came { outcome, reason: reason.map(str::to_owned) });
        match &self.state {
            State::Running { owner } => {
                let process = owner.map(|process| format!("process {process}"));
                came(WorkOutcome::Elsewhere, process.as_deref())
            }
            State::Interrupted | State::Ready => None,
            State::Ended { ending } => Some(self.ended(ending)),
            State::Parked { hold, .. } => self.held(hold),
        }
    }

    fn ended(&self, ending: &Ending) -> Came {
        let (outcome, reason) = match ending {
            Ending::Completed(word) => (WorkOutcome::named(word).unwrap_or(WorkOutcome::BranchReady), None),
            Ending::Failed(reason) => {
                let (code, about) = reason.split_once(' ').unwrap_or((reason, ""));
                let outcome = if code == "not-ours" { WorkOutcome::Blocked } else { WorkOutcome::Failed };
                let why = self.deeds.why().filter(|_| about.is_empty()).unwrap_or(about);
                // Some reasons already start with the code.
                let why = why.strip_prefix(code).and_then(|why| why.strip_prefix(": ")).unwrap_or(why);
                (outcome, Some(if why.is_empty() { code.to_owned() } else { format!("{code}: {why}") }))
            }
            Ending::Declined => (WorkOutcome::Declined, None),
            Ending::Cancelled => (WorkOutcome::Cancelled, None),
            Ending::Incomplete(reason) => (WorkOutcome::Limited, Some(reason.clone())),
            Ending::Undelivered => (WorkOutcome::Failed, Some("undelivered".to_owned())),
        };
        Came { outcome, reason }
    }

    /// Returns the result that a hold implies, or `None` if the run continues by itself when driven.
    fn held(&self, hold: &Hold) -> Option<Came> {
        let (outcome, reason) = match hold {
            Hold::Person(call) => {
                let gate = call.stage.as_str().rsplit('/').next().unwrap_or_default();
                (WorkOutcome::Waiting, format!("an answer at `{gate}`"))
            }
            Hold::Outside(_, why) => match why.split_once(": ") {
                Some(("conflict", files)) => (WorkOutcome::Conflict, files.to_owned()),
                Some(("unknown", what)) => (WorkOutcome::Unknown, what.to_owned()),
                Some(_) | None => (WorkOutcome::Waiting, why.clone()),
            },
            Hold::Until(_, class) | Hold::Provider(_, class) => {
                let why = self.failed.as_deref().map(str::trim).filter(|why| !why.is_empty());
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                (WorkOutcome::Provider, format!("{}{why}", class.name()))
            }
            Hold::Storage(path) => (WorkOutcome::Provider, format!("storage: {path}")),
            Hold::Limit(word) => (WorkOutcome::Limited, word.clone()),
            Hold::Budget => (WorkOutcome::Limited, "budget".to_owned()),
            Hold::Interrupted => return None,
            Hold::Cancelling => (WorkOutcome::Cancelled, "cancelled".to_owned()),
        };
        Some(Came { outcome, reason: Some(reason) })
    }
}

/// Returns true if an issue comes from this source. The same number in two repositories means two issues.
fn is_from(assignment: &Assignment, source: IssueSource, home: Option<&RepositoryName>) -> bool {
    let elsewhere = home.zip(assignment.home.as_ref()).is_some_and(|(home, of)| home != of);
    assignment.source == source && !elsewhere
}

/// Parses the issue number from a run id: `20260206-085600-issue-7`, with or without a number after it.
fn number_in(id: &str) -> Option<IssueNumber> {
    let (_, behind) = id.rsplit_once("-issue-")?;
    IssueNumber::parse(behind.split('-').next()?)
}

/// The active run time: from each start to the last record.
#[derive(Default)]
struct Driven {
    time: Millis,
    last: Option<Moment>,
}

impl Driven {
    fn see(&mut self, at: Moment, entry: &Entry) {
        // At `Reopened` the previous process is dead, and its time of death is unknown.
        let begins = matches!(
            entry,
            Entry::Fact(Fact::Started(_) | Fact::Reopened | Fact::Resumed(_) | Fact::Answered(_))
        );
        if let Some(last) = self.last.filter(|_| !begins) {
            self.time = Millis(self.time.0.saturating_add(at.since(last).0));
        }
        // A parked run is idle until it is resumed, answered or cancelled.
        let parked = matches!(entry, Entry::Decision(Decision::Parked { .. }));
        self.last = (!parked).then_some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_run_names_its_issue() {
        let check = |id: &str, expected: Option<u32>| {
            assert_eq!(number_in(id).map(IssueNumber::get), expected, "{id}");
        };
        check("20260206-085600-issue-7", Some(7));
        check("20260206-085600-issue-7-2", Some(7));
        check("20260206-085600-issue-71", Some(71));
        check("20260206-085600-issue-", None);
        check("20260206-085600-issue-x7", None);
        check("20260206-085600-make-it-so", None);
    }

    // K-35: time between the death of one process and the next does not count, nor does parked time.
    #[test]
    fn only_the_time_in_which_a_run_was_driven_counts() {
        let mut driven = Driven::default();
        let mut see = |at: u64, entry: Entry| {
            driven.see(Moment(at), &entry);
            driven.time
        };
        let something = || Entry::Fact(Fact::Woke);
        see(1_000, something());
        assert_eq!(see(3_000, something()), Millis(2_000));
        assert_eq!(see(63_000, Entry::Fact(Fact::Reopened)), Millis(2_000));
        assert_eq!(see(64_000, something()), Millis(3_000));
        assert_eq!(see(65_000, Entry::Decision(Decision::Parked { hold: Hold::Budget })), Millis(4_000));
        assert_eq!(see(99_000, Entry::Fact(Fact::Cancelled { by: "me".to_owned() })), Millis(4_000));
    }
}
