//! Tables that follow from a run's view: its iterations, its report versions, its spending and its open gate.

use std::collections::BTreeMap;

use saihai_model::{
    Activity, Budget, CallId, Cost, ExpectedReply, Hold, Json, Millis, Moment, Outcome, ProviderName,
    Purpose, Question, ReportClue, RoundPosition, SavedReport, StageId, Text, ToolUsed, Turn, Usd, Wants,
    Workflow,
};
use serde::Serialize;

use crate::{AttemptResult, CallView, RunState, RunView};

/// One iteration, including failed ones (S-26, S-53). It leaves out check questions.
#[derive(Debug, Clone, PartialEq)]
pub struct IterationView {
    pub iteration: u32,
    /// Session of its last reply.
    pub session: Option<String>,
    /// Replies in order: a text, and the lengths of its messages.
    pub said: Vec<(Text, Vec<u64>)>,
    pub tools: Vec<ToolUsed>,
    pub actions: Vec<Json>,
    /// Results of blocks that request an action.
    pub results: Vec<ActionResult>,
    pub errors: Vec<String>,
    pub began: Moment,
    /// Time of its last result.
    pub last: Moment,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionResult {
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RunView {
    pub fn iteration_views(&self) -> Vec<IterationView> {
        let counted = self.rounds().filter(|(_, round)| round.is_counted);
        let views = counted.map(|(_, round)| {
            let mut view = IterationView::new(round.iteration, round.began);
            self.calls_of(round).iter().for_each(|call| view.add(call));
            view
        });
        views.collect()
    }
}

impl IterationView {
    fn new(iteration: u32, began: Moment) -> Self {
        Self {
            iteration,
            session: None,
            said: Vec::new(),
            tools: Vec::new(),
            actions: Vec::new(),
            results: Vec::new(),
            errors: Vec::new(),
            began,
            last: began,
        }
    }

    fn add(&mut self, call: &CallView) {
        match (call.place, call.purpose) {
            (RoundPosition::Main(_), Some(Purpose::Work | Purpose::Correction)) => self.add_work(call),
            (RoundPosition::Block(_), _) => self.add_action(call),
            _ => {}
        }
    }

    fn add_work(&mut self, call: &CallView) {
        for attempt in &call.attempts {
            match &attempt.result {
                AttemptResult::Open => {}
                AttemptResult::Failed { at, failed, .. } => {
                    self.last = self.last.max(*at);
                    self.errors.push(format!("{}: {}", failed.failure.class.name(), failed.failure.message));
                }
                AttemptResult::Replied { at, reply, .. } => {
                    self.last = self.last.max(*at);
                    self.session = reply.session.clone().or(self.session.take());
                    self.said.push(match &reply.spoken {
                        Some(spoken) => (spoken.clone(), reply.messages.clone()),
                        None => (reply.text.clone(), Vec::new()),
                    });
                    for tool in &reply.tools_used {
                        if tool.output.is_none() && tool.long_output.is_none() {
                            self.errors.push(format!("tool `{}` gave no result", tool.name));
                        }
                        self.tools.push(tool.clone());
                    }
                    self.actions.extend(reply.reading.blocks.iter().map(|block| block.value.clone()));
                    self.errors.extend(reply.reading.warnings.iter().cloned());
                    let violations = reply.reading.violations.iter();
                    self.errors.extend(violations.map(|violation| format!("output: {violation}")));
                }
            }
        }
    }

    fn add_action(&mut self, call: &CallView) {
        let failed = |error: String| ActionResult { success: false, result: None, error: Some(error) };
        for performed in &call.performed {
            self.last = self.last.max(performed.at);
            self.results.push(match &performed.outcome {
                Outcome::Done { output, .. } => {
                    let result = (!output.is_empty()).then(|| Json::from_iter(output.clone()));
                    ActionResult { success: true, result, error: None }
                }
                Outcome::NotYet | Outcome::Delayed { .. } => continue,
                Outcome::Waiting { reason } => failed(reason.code().to_owned()),
                Outcome::Failed(failure) => failed(failure.message.clone()),
            });
        }
    }
}

/// A saved version of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportVersion {
    pub file: String,
    /// Number of the event that saved it.
    pub seq: u64,
    pub at: Moment,
    pub stage: StageId,
    /// Call whose reply contains it.
    pub call: CallId,
    pub how: ReportClue,
    pub sha256: String,
    pub bytes: u64,
    /// Text with its content, from byte `start` to `end`.
    pub text: Text,
    pub start: u64,
    pub end: u64,
    /// Content that the agent had written to the file before the block replaced it.
    pub agents_own: Option<Text>,
}

impl RunView {
    /// Returns all versions in the order of their saving.
    pub fn reports(&self) -> Vec<ReportVersion> {
        let mut versions = Vec::new();
        for (_, round) in self.rounds() {
            let mut replies: BTreeMap<usize, (&CallId, &Text)> = BTreeMap::new();
            for call in self.calls_of(round) {
                match (call.place, call.purpose) {
                    // A correction changes only the output. Reports come from the reply before it.
                    (RoundPosition::Main(index), Some(Purpose::Work)) => {
                        replies.extend(call.reply().map(|reply| (index, (&call.id, &reply.text))));
                    }
                    (RoundPosition::Report(index), _) => {
                        let Some((of, text)) = replies.get(&index) else { continue };
                        for performed in &call.performed {
                            let Outcome::Done { output, .. } = &performed.outcome else { continue };
                            versions.extend(SavedReport::all(output).map(|(file, saved)| ReportVersion {
                                file: file.to_owned(),
                                seq: performed.seq,
                                at: performed.at,
                                stage: of.stage.clone(),
                                call: (*of).clone(),
                                how: saved.how,
                                sha256: saved.sha256,
                                bytes: saved.bytes,
                                text: saved.content.unwrap_or_else(|| (*text).clone()),
                                start: saved.start,
                                end: saved.end,
                                agents_own: saved.agents_own,
                            }));
                        }
                    }
                    _ => {}
                }
            }
        }
        versions.sort_by_key(|version| version.seq);
        versions
    }
}

/// The budget of a run and what it has spent of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSpending {
    /// The budget after the last raise.
    pub budget: Budget,
    /// The cost, including failed attempts. A turn of unknown cost counts with the amount reserved for it.
    pub spent: Cost,
    /// Active time of the run.
    pub driven: Millis,
    /// Amount that the engine reserves for the next turn, if a stage still has one to ask.
    pub next: Option<Cost>,
}

/// The most expensive call so far, by provider and model.
type DearestCalls<'a> = BTreeMap<(&'a ProviderName, Option<&'a str>), Cost>;

impl RunView {
    /// Returns the budget and the spending, if the run has a budget.
    pub fn spending(&self, workflow: &Workflow) -> Option<RunSpending> {
        let budget = workflow.limits.budget.replaced_by(&self.raised_budget);
        if budget.is_unlimited() {
            return None;
        }
        let (spent, dearest) = self.counted_cost(workflow);
        let next = self.next_turn(workflow, &dearest);
        Some(RunSpending { budget, spent, driven: self.driven, next })
    }

    /// Estimates the next turn by the dearest call so far with its provider and model, else by its price.
    fn next_turn(&self, workflow: &Workflow, dearest: &DearestCalls<'_>) -> Option<Cost> {
        let (visit, round) = self.current_round().filter(|(_, round)| round.exit.is_none())?;
        let turns = workflow.stage(&visit.stage)?.turns();
        let has_replied = |index: usize| {
            let main = |call: &&CallView| call.place == RoundPosition::Main(index);
            self.calls_of(round).iter().filter(main).any(|call| call.reply().is_some())
        };
        let open = (0..turns.len()).find(|index| !has_replied(*index));
        // If all turns have replied, a question to one of them comes next.
        let turn = turns.get(open.unwrap_or(0))?;
        let known = dearest.get(&(&turn.provider, turn.model.as_deref()));
        let priced = Cost { usd: turn.price.unwrap_or_default(), ..Cost::default() };
        Some(Cost { turns: 1, ..known.copied().unwrap_or(priced) })
    }

    /// Adds up the cost as the engine counts it. The engine reserves the most expensive call so far with the same
    /// provider and model, else the price of the turn. It counts that amount if the provider reports no cost.
    fn counted_cost<'a>(&'a self, workflow: &'a Workflow) -> (Cost, DearestCalls<'a>) {
        let attempts =
            self.calls.iter().flat_map(|call| call.attempts.iter().map(move |attempt| (call, attempt)));
        let mut events = Vec::new();
        for (call, attempt) in attempts {
            events.push((attempt.seq, call, attempt, false));
            match &attempt.result {
                AttemptResult::Open => {}
                AttemptResult::Replied { seq, .. } | AttemptResult::Failed { seq, .. } => {
                    events.push((*seq, call, attempt, true));
                }
            }
        }
        events.sort_by_key(|(seq, ..)| *seq);
        let mut spent = Cost::default();
        let mut dearest = DearestCalls::new();
        let mut reserved: BTreeMap<&CallId, Usd> = BTreeMap::new();
        for (_, call, attempt, has_ended) in events {
            match &attempt.result {
                result if !has_ended => {
                    let estimate = asked_of(workflow, call, result).and_then(|(turn, provider, model)| {
                        dearest.get(&(provider, model)).map(|cost| cost.usd).or(turn.price)
                    });
                    reserved.insert(&call.id, estimate.unwrap_or_default());
                }
                AttemptResult::Open => {}
                AttemptResult::Failed { failed, .. } => {
                    let (usd, tokens) = (failed.cost.unwrap_or_default(), failed.usage.tokens());
                    spent = spent.plus(Cost { usd, tokens, turns: 0 });
                }
                AttemptResult::Replied { reply, .. } if reply.reading.exit.is_some() => {}
                result @ AttemptResult::Replied { reply, .. } => {
                    let held = reserved.remove(&call.id).unwrap_or_default();
                    let usd = reply.cost.unwrap_or(held);
                    spent = spent.plus(Cost { usd, tokens: reply.usage.tokens(), turns: 1 });
                    if let Some((_, provider, model)) = asked_of(workflow, call, result) {
                        let most = dearest.entry((provider, model)).or_default();
                        most.usd = usd.max(most.usd);
                        most.tokens = reply.usage.tokens().max(most.tokens);
                    }
                }
            }
        }
        (self.loans.iter().fold(spent, |spent, loan| spent.plus(loan.cost)), dearest)
    }
}

/// Returns the turn of a call, and the provider and model that were asked.
pub fn asked_of<'a>(
    workflow: &'a Workflow,
    call: &CallView,
    result: &'a AttemptResult,
) -> Option<(&'a Turn, &'a ProviderName, Option<&'a str>)> {
    let turns = workflow.stage(&call.id.stage)?.turns();
    let turn = match call.place {
        RoundPosition::Main(index) | RoundPosition::Check(index) => turns.get(index)?,
        RoundPosition::Exit => turns.first()?,
        _ => return None,
    };
    let (provider, model) = match workflow.wanted(&call.id.stage, call.place)? {
        ExpectedReply::Answer(_, Question { provider: Some(provider), model, .. }) => (provider, model),
        ExpectedReply::Answer(..) | ExpectedReply::Work(_) => (&turn.provider, &turn.model),
    };
    let asked = match result {
        AttemptResult::Open => None,
        AttemptResult::Replied { reply, .. } => reply.provider.as_ref(),
        AttemptResult::Failed { failed, .. } => failed.provider.as_ref(),
    };
    Some(match asked {
        // A fallback provider does not know the model of the turn.
        Some(other) if other != provider => (turn, other, None),
        Some(_) | None => (turn, provider, model.as_deref()),
    })
}

/// A gate that waits for a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenGateView {
    pub call: CallId,
    pub wants: Wants,
    /// Time from which the gate counts as declined.
    pub closes: Option<Moment>,
}

impl OpenGateView {
    /// Returns true if the gate timed out. Resuming the run then counts it as declined.
    pub fn is_closed(&self, now: Moment) -> bool {
        self.closes.is_some_and(|closes| closes <= now)
    }
}

impl RunView {
    /// Returns the open gate of a parked run.
    pub fn open_gate(&self, workflow: &Workflow) -> Option<OpenGateView> {
        let RunState::Parked { hold: Hold::Person(id), .. } = self.state(None) else { return None };
        let Activity::Gate(gate) = &workflow.stage(&id.stage)?.does else { return None };
        let opened = self.call(&id)?.called;
        let closes = gate.timeout.map(|timeout| opened.plus(timeout));
        Some(OpenGateView { call: id, wants: gate.wants, closes })
    }
}
