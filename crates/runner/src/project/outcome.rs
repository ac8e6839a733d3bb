//! The result of a run, so far or for good.

use std::collections::{BTreeMap, BTreeSet};

use saihai_model::{
    Activity, By, CallId, Decision, Entry, Fact, Failure, Hold, Label, Moment, Place, ProviderName, Purpose,
    Record, Stage, StageId, Start, Text, Usage, Usd, Verdict, Workflow, exit_code,
};

use crate::project::run_result::limit_words;
use crate::project::{ReportVersions, failure_words};
use crate::{Error, RunDirectory, State, Summary};

/// The result of a run, so far or for good: the result object of the command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The run.
    pub run: String,
    /// The definition's name as it was asked for.
    pub definition: String,
    /// Its dialect.
    pub dialect: String,
    /// `completed`, `failed`, `declined`, `cancelled`, `parked`, `running` or `interrupted`.
    pub outcome: String,
    /// The word for why.
    pub reason: Option<String>,
    /// The exit code that goes with it; 3 for a run that was interrupted or goes on.
    pub exit: u8,
    /// The failure or the disk's error that the run waits for.
    pub error: Option<String>,
    /// Where no rule matched: what each turn said last, and its label.
    pub unmatched: Vec<Unmatched>,
    /// The last exit and how it was decided.
    pub decided: Option<Decided>,
    /// Rounds.
    pub iterations: u32,
    /// Prompts answered.
    pub turns: u64,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What they cost; absent where no provider said so.
    pub cost: Option<Usd>,
    /// Providers with a turn that nobody knows the cost of: it is missing from `cost`.
    pub unpriced: BTreeSet<ProviderName>,
    /// Where reports are saved.
    pub report_directory: String,
    /// Report files, in the order they were first saved.
    pub reports: Vec<String>,
    /// The last output of the flow.
    pub output: Option<String>,
    /// Whether no agent was really asked.
    pub rehearsal: bool,
    /// Whether it can be resumed.
    pub resumable: bool,
    /// When it can go on, where that is known.
    pub until: Option<Moment>,
}

/// The last exit of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// Of which stage.
    pub stage: StageId,
    /// By which rule, from 0.
    pub rule: Option<usize>,
    /// By which method.
    pub by: By,
}

/// What a turn said that no rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmatched {
    /// The turn.
    pub turn: String,
    /// What it matched itself.
    pub label: Option<Label>,
    /// The end of what it said, at most 1,000 characters (P-44).
    pub tail: String,
}

impl Outcome {
    /// The result of a run as it stands.
    ///
    /// # Errors
    /// The run cannot be read or is damaged.
    pub fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let workflow = directory.workflow()?;
        let mut fold = Fold::new(&workflow);
        directory.read(&mut |record| fold.see(&record))?;
        let summary = directory.summary()?;
        fold.finish(directory, summary)
    }
}

/// Folds records into a result.
struct Fold<'w> {
    workflow: &'w Workflow,
    start: Option<Box<Start>>,
    iterations: u32,
    usage: Usage,
    works: BTreeMap<CallId, usize>,
    said: BTreeMap<usize, Text>,
    /// What the last round of the flow said, and in which stage.
    output: Option<(StageId, BTreeMap<usize, Text>)>,
    failure: Option<Failure>,
    storage: Option<String>,
    exited: Option<(StageId, Verdict)>,
    /// What was wrong with the last output.
    violations: Vec<String>,
    versions: ReportVersions,
}

impl<'w> Fold<'w> {
    fn new(workflow: &'w Workflow) -> Self {
        Self {
            workflow,
            start: None,
            iterations: 0,
            usage: Usage::default(),
            works: BTreeMap::new(),
            said: BTreeMap::new(),
            output: None,
            failure: None,
            storage: None,
            exited: None,
            violations: Vec::new(),
            versions: ReportVersions::default(),
        }
    }

    fn see(&mut self, record: &Record) {
        self.versions.see(record);
        match &record.entry {
            Entry::Fact(fact) => self.see_fact(fact),
            Entry::Decision(decision) => self.see_decision(decision),
        }
    }

    fn see_fact(&mut self, fact: &Fact) {
        match fact {
            Fact::Started(start) => self.start = Some(start.clone()),
            Fact::Replied(reply) => {
                add(&mut self.usage, &reply.usage);
                self.violations.clone_from(&reply.reading.violations);
                if let Some(index) = self.works.get(&reply.call) {
                    let text = reply.spoken.as_ref().unwrap_or(&reply.text);
                    self.said.insert(*index, text.clone());
                }
            }
            Fact::Failed(failed) => {
                add(&mut self.usage, &failed.usage);
                self.failure = Some(failed.failure.clone());
            }
            Fact::StorageFailed { path, message, .. } => {
                self.storage = Some(format!("cannot write `{path}`: {message}"));
            }
            Fact::Asked { .. }
            | Fact::Performed { .. }
            | Fact::Answered(_)
            | Fact::Woke
            | Fact::Reopened
            | Fact::Resumed(_)
            | Fact::Interrupted { .. }
            | Fact::Cancelled { .. } => {}
        }
    }

    fn see_decision(&mut self, decision: &Decision) {
        match decision {
            Decision::Entered { .. } => self.forget(),
            Decision::Round { iteration, .. } => {
                self.iterations = *iteration;
                self.forget();
            }
            Decision::Called { call, place: Place::Main(index), purpose: Some(Purpose::Work) } => {
                self.works.insert(call.clone(), *index);
            }
            Decision::Exited { stage, verdict } => {
                let aside = self.workflow.stage(stage).is_none_or(|stage| stage.aside);
                if !aside && !self.said.is_empty() {
                    self.output = Some((stage.clone(), std::mem::take(&mut self.said)));
                }
                self.exited = Some((stage.clone(), verdict.clone()));
            }
            Decision::Called { .. }
            | Decision::Correct { .. }
            | Decision::Retry { .. }
            | Decision::Unfit { .. }
            | Decision::Repeated { .. }
            | Decision::Reports { .. }
            | Decision::Alarm { .. }
            | Decision::Refused { .. }
            | Decision::Remarked { .. }
            | Decision::Exhausted { .. }
            | Decision::Parked { .. }
            | Decision::Finished { .. } => {}
        }
    }

    fn forget(&mut self) {
        self.works.clear();
        self.said.clear();
    }

    fn finish(self, directory: &RunDirectory, summary: Summary) -> Result<Outcome, Error> {
        let start = self.start.as_ref().ok_or_else(|| directory.unborn())?;
        let (report_directory, rehearsal) = (start.report_directory.clone(), start.rehearsal);
        let output = self.output(directory)?;
        let unmatched = self.unmatched(directory)?;
        let error = self.error(&summary.state);
        let mut reports = Vec::new();
        for version in self.versions.finish() {
            if !reports.contains(&version.file) {
                reports.push(version.file);
            }
        }
        let decided =
            self.exited.map(|(stage, verdict)| Decided { stage, rule: verdict.rule, by: verdict.by });
        Ok(Outcome {
            run: directory.id().to_owned(),
            definition: summary.definition,
            dialect: summary.dialect,
            outcome: summary.state.name().to_owned(),
            reason: summary.state.reason().map(str::to_owned),
            exit: exit(&summary.state),
            error,
            unmatched,
            decided,
            iterations: self.iterations,
            turns: summary.turns,
            usage: self.usage,
            cost: summary.cost,
            unpriced: summary.unpriced,
            report_directory,
            reports,
            output,
            rehearsal,
            resumable: !matches!(summary.state, State::Ended { .. }),
            until: summary.state.until(),
        })
    }

    fn error(&self, state: &State) -> Option<String> {
        match state {
            State::Parked { hold: Hold::Provider(..) | Hold::Until(..), .. } => {
                self.failure.as_ref().map(|failure| format!("{}: {}", failure.class.name(), failure.message))
            }
            State::Parked { hold: Hold::Storage(_), .. } => self.storage.clone(),
            State::Parked { hold: Hold::Limit(word), .. } if word == "emergency_stop" => {
                Some(limit_words(word, self.iterations as usize))
            }
            State::Ended { ending } => {
                failure_words(self.workflow, ending, self.exited.as_ref(), &self.violations)
            }
            State::Parked { .. } | State::Running { .. } | State::Interrupted | State::Ready => None,
        }
    }

    /// The outputs of the last round, joined as a later prompt would show them.
    fn output(&self, directory: &RunDirectory) -> Result<Option<String>, Error> {
        let Some((stage, said)) = &self.output else { return Ok(None) };
        let stage = self.workflow.stage(stage);
        let mut output = String::new();
        for (position, (index, text)) in said.iter().enumerate() {
            if position > 0 {
                output.push_str(stage.map_or("", between));
            }
            let turn = stage.and_then(|stage| stage.turns().get(*index));
            output.push_str(turn.map_or("", |turn| turn.heading.as_str()));
            output.push_str(&directory.text(text)?);
        }
        Ok(Some(output))
    }

    fn unmatched(&self, directory: &RunDirectory) -> Result<Vec<Unmatched>, Error> {
        let (Some((left, verdict)), Some((stage, said))) = (&self.exited, &self.output) else {
            return Ok(Vec::new());
        };
        if verdict.by != By::NoMatch || left != stage {
            return Ok(Vec::new());
        }
        let turns = self.workflow.stage(stage).map(Stage::turns).unwrap_or_default();
        let unmatched = said.iter().map(|(index, text)| {
            let text = directory.text(text)?;
            let skipped = text.chars().count().saturating_sub(1_000);
            Ok(Unmatched {
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

fn exit(state: &State) -> u8 {
    match state {
        State::Running { .. } | State::Interrupted | State::Ready => {
            exit_code(None, Some(&Hold::Interrupted))
        }
        State::Parked { hold, .. } => exit_code(None, Some(hold)),
        State::Ended { ending } => exit_code(Some(ending), None),
    }
}

fn add(sum: &mut Usage, usage: &Usage) {
    let plus = |sum: &mut Option<u64>, more: Option<u64>| {
        if let Some(more) = more {
            *sum = Some(sum.unwrap_or(0).saturating_add(more));
        }
    };
    plus(&mut sum.input, usage.input);
    plus(&mut sum.output, usage.output);
    plus(&mut sum.cached, usage.cached);
    plus(&mut sum.reasoning, usage.reasoning);
    sum.cumulative |= usage.cumulative;
}
