//! The result of a run, so far or final.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{
    Activity, By, Hold, Label, Moment, Place, ProviderName, Purpose, Stage, StageId, Text, Usage, Usd,
};
use saihai_view::RunState;

use crate::project::failure_words;
use crate::project::run_result::limit_words;
use crate::{Error, LoadedRun};

/// The result of a run, so far or final: the result object of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    pub run: String,
    /// The name of the definition as the user typed it.
    pub definition: String,
    pub dialect: String,
    /// `completed`, `failed`, `declined`, `cancelled`, `parked`, `running` or `interrupted`.
    pub outcome: String,
    pub reason: Option<String>,
    /// The exit code. It is 3 for a run that is interrupted or still running.
    pub exit: u8,
    /// The failure or disk error that the run waits for.
    pub error: Option<String>,
    /// The last text and label of each turn, if no rule matched.
    pub unmatched: Vec<UnmatchedTurn>,
    /// The last exit and the reason for it.
    pub decided: Option<DecidedExit>,
    pub iterations: u32,
    pub turns: u64,
    /// The tokens of all turns.
    pub usage: Usage,
    /// The total cost. Absent if no provider reported a cost.
    pub cost: Option<Usd>,
    /// Providers with a turn of unknown cost, which `cost` lacks.
    pub unpriced: BTreeSet<ProviderName>,
    pub report_directory: String,
    /// Report files, in the order of their first save.
    pub reports: Vec<String>,
    /// The last output of the flow.
    pub output: Option<String>,
    /// True if no agent was really asked.
    pub rehearsal: bool,
    /// True if the run can be resumed.
    pub resumable: bool,
    /// The time at which the run can continue, if known.
    pub until: Option<Moment>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedExit {
    pub stage: StageId,
    /// The index of the rule, from 0.
    pub rule: Option<usize>,
    pub by: By,
}

/// The text of a turn that no rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnmatchedTurn {
    pub turn: String,
    pub label: Option<Label>,
    /// The end of the text, at most 1,000 characters (P-44).
    pub tail: String,
}

impl LoadedRun {
    /// Returns the current result of the run.
    pub fn outcome(&self) -> Result<RunOutcome, Error> {
        let view = &self.view;
        let mut reports = Vec::new();
        for version in view.reports() {
            if !reports.contains(&version.file) {
                reports.push(version.file);
            }
        }
        let decided = view.last_exit().map(|(stage, verdict)| DecidedExit {
            stage: stage.clone(),
            rule: verdict.rule,
            by: verdict.by,
        });
        Ok(RunOutcome {
            run: self.directory.id().to_owned(),
            definition: view.start.definition.clone(),
            dialect: view.start.dialect.clone(),
            outcome: self.state.name().to_owned(),
            reason: self.state.reason().map(str::to_owned),
            exit: self.state.exit_code(),
            error: self.error(),
            unmatched: self.unmatched()?,
            decided,
            iterations: view.iterations,
            turns: view.turns,
            usage: view.usage.clone(),
            cost: view.cost,
            unpriced: view.unpriced.clone(),
            report_directory: view.start.report_directory.clone(),
            reports,
            output: self.joined_output()?,
            rehearsal: view.start.rehearsal,
            resumable: !self.state.is_over(),
            until: self.state.until(),
        })
    }

    fn error(&self) -> Option<String> {
        match &self.state {
            RunState::Parked { hold: Hold::Provider(..) | Hold::Until(..), .. } => {
                let failure = self.view.last_failure.as_ref();
                failure.map(|failure| format!("{}: {}", failure.class.name(), failure.message))
            }
            RunState::Parked { hold: Hold::Storage(_), .. } => {
                let failure = self.view.last_storage_failure.as_ref();
                failure.map(|(path, message)| format!("cannot write `{path}`: {message}"))
            }
            RunState::Parked { hold: Hold::Limit(word), .. } if word == "emergency_stop" => {
                Some(limit_words(word, self.view.iterations as usize))
            }
            RunState::Ended { ending } => {
                failure_words(&self.workflow, ending, self.view.last_exit(), self.last_violations())
            }
            RunState::Parked { .. } | RunState::Running { .. } | RunState::Interrupted | RunState::Ready => {
                None
            }
        }
    }

    /// Returns the problems in the output of the last reply.
    pub(super) fn last_violations(&self) -> &[String] {
        let replies = self.view.calls.iter().rev().find_map(|call| call.reply());
        replies.map_or(&[], |reply| &reply.reading.violations)
    }

    /// Returns the texts of the last finished round, by turn.
    fn last_output(&self) -> Option<(&StageId, BTreeMap<usize, &Text>)> {
        let rounds: Vec<_> = self.view.rounds().collect();
        rounds.into_iter().rev().find_map(|(visit, round)| {
            round.exit.as_ref()?;
            let is_aside = self.workflow.stage(&visit.stage).is_none_or(|stage| stage.aside);
            let works =
                self.view.calls_of(round).iter().filter_map(|call| match (call.place, call.purpose) {
                    (Place::Main(index), Some(Purpose::Work)) => {
                        let reply = call.reply()?;
                        Some((index, reply.spoken.as_ref().unwrap_or(&reply.text)))
                    }
                    _ => None,
                });
            let said: BTreeMap<usize, &Text> = works.collect();
            (!is_aside && !said.is_empty()).then_some((&visit.stage, said))
        })
    }

    /// Joins the outputs of the last round as a later prompt would show them.
    fn joined_output(&self) -> Result<Option<String>, Error> {
        let Some((stage, said)) = self.last_output() else { return Ok(None) };
        let stage = self.workflow.stage(stage);
        let mut output = String::new();
        for (position, (index, text)) in said.iter().enumerate() {
            if position > 0 {
                output.push_str(stage.map_or("", between));
            }
            let turn = stage.and_then(|stage| stage.turns().get(*index));
            output.push_str(turn.map_or("", |turn| turn.heading.as_str()));
            output.push_str(&self.directory.text(text)?);
        }
        Ok(Some(output))
    }

    fn unmatched(&self) -> Result<Vec<UnmatchedTurn>, Error> {
        let (Some((left, verdict)), Some((stage, said))) = (self.view.last_exit(), self.last_output()) else {
            return Ok(Vec::new());
        };
        if verdict.by != By::NoMatch || left != stage {
            return Ok(Vec::new());
        }
        let turns = self.workflow.stage(stage).map(Stage::turns).unwrap_or_default();
        let unmatched = said.iter().map(|(index, text)| {
            let text = self.directory.text(text)?;
            let skipped = text.chars().count().saturating_sub(1_000);
            Ok(UnmatchedTurn {
                turn: turns.get(*index).map(|turn| turn.id.to_string()).unwrap_or_default(),
                label: verdict.labels.get(*index).cloned().flatten(),
                tail: text.chars().skip(skipped).collect(),
            })
        });
        unmatched.collect()
    }
}

fn between(stage: &Stage) -> &str {
    match &stage.does {
        Activity::Turns { between, .. } => between,
        Activity::Gate(_) | Activity::Action(_) => "",
    }
}
