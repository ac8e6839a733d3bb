//! The result of each agent, from the records of a run.

use std::collections::{BTreeMap, BTreeSet};

use saihai_judge::ReviewReply;
use saihai_model::{
    CallFailed, CallId, Decision, Fact, Failure, FailureClass, Json, Millis, Moment, Record, RecordEntry,
    Replied, RoundPosition, StageId, Turn, TurnLimit, Usage, Usd, Workflow,
};

use crate::report::{AgentResult, AgentStatus, TruncatedBy, sum_cost, sum_usage};

/// Folds the records of a run into the prompts, replies and cost of each agent.
#[derive(Debug)]
pub(super) struct AgentResults<'w> {
    turns: Vec<AgentTurn<'w>>,
    /// Finished phases. An agent that was not asked in one of them had no budget left.
    left: BTreeSet<StageId>,
    began: Option<Moment>,
    /// The time of the last record.
    last: Option<Moment>,
}

/// A turn that did not run because the budget was spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnpaidTurn {
    pub(super) agent: String,
    /// The index of the turn among the agent's turns, from 0.
    pub(super) part: usize,
}

/// One turn of an agent and its result.
#[derive(Debug)]
struct AgentTurn<'w> {
    stage: &'w StageId,
    index: usize,
    turn: &'w Turn,
    calls: Vec<CallId>,
    ran: TurnClock,
    outputs: Vec<TurnReply>,
    warnings: Vec<String>,
    failure: Option<Failure>,
    /// The turn failed because it reached its deadline.
    is_late: bool,
    /// The output before the failure.
    partial: Option<Json>,
    spent: TurnSpending,
    cached: bool,
}

/// The content of one reply.
#[derive(Debug)]
struct TurnReply {
    output: Option<Json>,
    /// Problems of the output, as reported to the agent.
    violations: Vec<String>,
    /// The raw text, if nothing could be parsed.
    words: Option<String>,
}

#[derive(Debug, Default)]
struct TurnSpending {
    usage: Option<Usage>,
    cost: Option<Usd>,
}

impl<'w> AgentResults<'w> {
    pub(super) fn new(workflow: &'w Workflow) -> Self {
        let turns = workflow.stages.iter().flat_map(|(stage, definition)| {
            let turns = definition.turns().iter().enumerate();
            turns.map(move |(index, turn)| AgentTurn::new(stage, index, turn))
        });
        Self { turns: turns.collect(), left: BTreeSet::new(), began: None, last: None }
    }

    pub(super) fn see(&mut self, record: &Record) {
        self.began = self.began.or(Some(record.at));
        let last = self.last.replace(record.at);
        match &record.entry {
            RecordEntry::Decision(Decision::Called { call, place: RoundPosition::Main(index), .. }) => {
                let called =
                    self.turns.iter_mut().find(|one| *one.stage == call.stage && one.index == *index);
                if let Some(asked) = called {
                    asked.calls.push(call.clone());
                    asked.ran.begin(record.at);
                }
            }
            RecordEntry::Decision(Decision::Exited { stage, .. }) => {
                self.left.insert(stage.clone());
            }
            RecordEntry::Fact(Fact::Replied(reply)) => {
                if let Some(asked) = self.of(&reply.call) {
                    asked.replied(reply, record.at);
                }
            }
            RecordEntry::Fact(Fact::Failed(failed)) => {
                if let Some(asked) = self.of(&failed.call) {
                    asked.failed(failed, record.at);
                }
            }
            RecordEntry::Fact(Fact::Asked { call, .. }) => {
                if let Some(asked) = self.of(call) {
                    asked.ran.begin(record.at);
                }
            }
            // Another process continues. The calls of the previous one ended with its last record.
            RecordEntry::Fact(Fact::Reopened | Fact::Resumed(_)) => {
                let last = last.unwrap_or(record.at);
                self.turns.iter_mut().for_each(|asked| asked.ran.pause(last));
            }
            RecordEntry::Fact(_) | RecordEntry::Decision(_) => {}
        }
    }

    pub(super) fn began(&self) -> Option<Moment> {
        self.began
    }

    /// Returns the time of the last record.
    pub(super) fn last(&self) -> Option<Moment> {
        self.last
    }

    pub(super) fn unpaid(&self) -> Vec<UnpaidTurn> {
        let mut parts: BTreeMap<&str, usize> = BTreeMap::new();
        let mut unpaid = Vec::new();
        for asked in &self.turns {
            let next = parts.entry(asked.agent()).or_default();
            let part = std::mem::replace(next, *next + 1);
            if asked.result(self.left.contains(asked.stage)).status.is_unpaid() {
                unpaid.push(UnpaidTurn { agent: asked.agent().to_owned(), part });
            }
        }
        unpaid
    }

    /// Returns the result of each agent. Joins the turns of an agent whose text was split.
    pub(super) fn finish(self) -> Vec<AgentResult> {
        let mut results: Vec<AgentResult> = Vec::new();
        for asked in &self.turns {
            let result = asked.result(self.left.contains(asked.stage));
            match results.iter().position(|one| one.agent == result.agent) {
                Some(at) => {
                    let before = results.remove(at);
                    results.insert(at, before.and(result));
                }
                None => results.push(result),
            }
        }
        results
    }

    fn of(&mut self, call: &CallId) -> Option<&mut AgentTurn<'w>> {
        self.turns.iter_mut().find(|asked| asked.calls.contains(call))
    }
}

impl<'w> AgentTurn<'w> {
    fn new(stage: &'w StageId, index: usize, turn: &'w Turn) -> Self {
        Self {
            stage,
            index,
            turn,
            calls: Vec::new(),
            ran: TurnClock::default(),
            outputs: Vec::new(),
            warnings: Vec::new(),
            failure: None,
            is_late: false,
            partial: None,
            spent: TurnSpending::default(),
            cached: false,
        }
    }

    fn agent(&self) -> &'w str {
        self.turn.role.as_deref().unwrap_or(self.turn.id.as_str())
    }

    fn replied(&mut self, reply: &Replied, at: Moment) {
        self.ran.end(at);
        self.failure = None;
        self.cached = reply.cached;
        let (output, violations) = (reply.reading.output.clone(), reply.reading.violations.clone());
        let tail = Some(reply.reading.tail.trim().to_owned());
        let words = tail.filter(|words| output.is_none() && !words.is_empty());
        self.outputs.push(TurnReply { output, violations, words });
        self.warnings.extend(reply.reading.warnings.iter().cloned());
        self.spent.add(&reply.usage, reply.cost);
    }

    fn failed(&mut self, failed: &CallFailed, at: Moment) {
        self.ran.end(at);
        // An idle timeout ends a turn earlier and has its own message.
        self.is_late = failed.failure.by_deadline && self.turn.within <= Some(self.ran.lately());
        self.failure = Some(failed.failure.clone());
        self.partial = failed.output.clone().or(self.partial.take());
        self.spent.add(&failed.usage, failed.cost);
    }

    fn result(&self, is_left: bool) -> AgentResult {
        let agent = self.agent();
        let (mut payload, status) = self.judged(agent, is_left);
        let mut result = AgentResult::new(agent, status, self.ran.whole());
        result.findings = payload.findings;
        result.assessments = payload.assessments;
        result.notes = payload.notes;
        result.notes.extend(self.warnings.iter().cloned());
        result.refused = told(&mut payload.refused);
        result.usage = self.spent.usage.clone();
        result.cost = self.spent.cost;
        result.cached = self.cached;
        result
    }

    /// Returns the usable output and its status. A fully valid reply replaces the one it corrects. From
    /// several partly valid replies, every valid item is kept.
    fn judged(&self, agent: &str, is_left: bool) -> (ReviewReply, AgentStatus) {
        let null = Json::Null;
        let schema = self.turn.reads.output.as_ref().map_or(&null, |output| &output.schema.schema);
        let read = |output: &Json| ReviewReply::read(agent, schema, output);
        let said = self.outputs.iter().rev().map(|said| {
            let mut payload = said.output.as_ref().map(read).unwrap_or_default();
            // The rest of a truncated reply may look valid, so keep its recorded problems.
            let unsaid = said.violations.iter().filter(|one| !payload.problems.contains(one));
            let unsaid: Vec<String> = unsaid.cloned().collect();
            payload.problems.extend(unsaid);
            payload.refused.extend(said.words.clone());
            payload
        });
        let mut replies: Vec<ReviewReply> = said.collect();
        if let Some(valid) = replies.iter().position(|payload| payload.problems.is_empty()) {
            return (replies.swap_remove(valid), AgentStatus::Success);
        }
        let partial = self.partial.as_ref().filter(|_| self.failure.is_some()).map(read);
        let has_replied = replies.iter().any(ReviewReply::has_items);
        let all = partial.into_iter().chain(replies).reduce(ReviewReply::and_before);
        let mut payload = all.unwrap_or_default();
        let problems = told(&mut payload.problems);
        if has_replied {
            payload.notes.extend(problems);
            return (payload, AgentStatus::Truncated { reason: TruncatedBy::InvalidOutput });
        }
        (payload, self.without_answer(&problems, is_left))
    }

    fn without_answer(&self, problems: &[String], is_left: bool) -> AgentStatus {
        match &self.failure {
            Some(_) if self.is_late => {
                let whole = self.turn.within.unwrap_or_default();
                AgentStatus::Timeout { timeout_seconds: whole.0.div_ceil(1_000) }
            }
            Some(failure) if failure.by_budget => {
                AgentStatus::error(AgentStatus::BUDGET, failure.message.as_str())
            }
            Some(Failure { limit: Some(limit), .. }) => {
                let reason = match limit {
                    TurnLimit::Calls => TruncatedBy::MaxTurns,
                    TurnLimit::Output => TruncatedBy::OutputLimit,
                };
                AgentStatus::Truncated { reason }
            }
            Some(failure) => AgentStatus::Error {
                class: failure.class.name().to_owned(),
                message: failure.message.clone(),
                exit_code: failure.exit_code,
                stderr: failure.stderr.as_deref().map(str::to_owned),
            },
            None if !self.outputs.is_empty() => {
                AgentStatus::error(AgentStatus::INVALID_OUTPUT, problems.join("; "))
            }
            None if is_left => AgentStatus::error(
                AgentStatus::BUDGET,
                "it was not asked: the rest of the budget is too small",
            ),
            None => AgentStatus::failed(FailureClass::Cancelled, "the review stopped before it answered"),
        }
    }
}

/// Limits the list to a readable length.
fn told(all: &mut Vec<String>) -> Vec<String> {
    const MOST: usize = 20;
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let rest = (more > 0).then(|| format!("and {more} more"));
    all.drain(..).chain(rest).collect()
}

impl TurnSpending {
    fn add(&mut self, usage: &Usage, cost: Option<Usd>) {
        if (Usage { cumulative: false, ..usage.clone() }) != Usage::default() {
            self.usage = sum_usage(self.usage.take(), Some(usage.clone()));
        }
        self.cost = sum_cost(self.cost, cost);
    }
}

/// The duration of a turn, with waits between attempts, without time in which no process drove the run.
#[derive(Debug, Default)]
pub(super) struct TurnClock {
    before: Millis,
    /// Start time in this process.
    since: Option<Moment>,
    /// Last end time in this process.
    until: Option<Moment>,
    is_under_way: bool,
}

impl TurnClock {
    /// Starts or retries the turn.
    pub(super) fn begin(&mut self, at: Moment) {
        self.since = self.since.or(Some(at));
        self.is_under_way = true;
    }

    /// Ends the turn, for good or until a retry.
    pub(super) fn end(&mut self, at: Moment) {
        self.until = Some(at);
        self.is_under_way = false;
    }

    /// Records that no process drove the run after this time.
    pub(super) fn pause(&mut self, at: Moment) {
        if self.is_under_way {
            self.end(at);
        }
        self.before = self.whole();
        (self.since, self.until) = (None, None);
    }

    /// Returns the time in the current process. Only this counts towards a deadline.
    pub(super) fn lately(&self) -> Millis {
        self.since.zip(self.until).map_or(Millis(0), |(since, until)| until.since(since))
    }

    pub(super) fn whole(&self) -> Millis {
        Millis(self.before.0.saturating_add(self.lately().0))
    }
}

#[cfg(test)]
mod tests;
