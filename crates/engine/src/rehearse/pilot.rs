//! Steers simulated runs towards the exits not taken yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::run::Run;
use saihai_model::{
    Action, By, CallId, CommandVerdict, Completion, Decision, Destination, ExpectedReply, FailureClass,
    Label, OpenGate, Performance, Request, RoundPosition, ScriptFailure, StageId, Verdict, Workflow,
};

use crate::rehearse::replies;
use crate::rehearse::replies::RehearsedReply;
use crate::rehearse::routes::{ExitMove, ExitPath, MoveTarget, PlannedReply};
use crate::rehearse::routes::{RouteMap, RoutePath, RouteStep};
use crate::rehearse::simulation::Cast;
use crate::rehearse::{UntakenExit, UntakenReason};

/// Maximum number of attempts at an exit that something else always overrules.
const TRIES: u32 = 4;

/// Planned rounds if the workflow sets no limit.
const UNLIMITED: u32 = 1_000;

/// Chooses the replies, round by round.
pub(crate) struct Pilot<'a> {
    workflow: &'a Workflow,
    map: &'a RouteMap,
    /// Exits not taken yet, in the workflow's order.
    open: Vec<(StageId, ExitPath)>,
    /// Number of failed attempts at each exit.
    failed: BTreeMap<(StageId, ExitPath), u32>,
    plan: VecDeque<RouteStep>,
    /// Exit that the plan aims at.
    aim: Option<(StageId, ExitPath)>,
    /// Current round and its move.
    round: Option<(CallId, RouteStep)>,
    /// Move that continues in the next round of the visit.
    held: Option<RouteStep>,
    /// Moves made in this run, to choose the next one without a plan.
    used: BTreeMap<RouteStep, u32>,
    replies: u32,
    /// True if this run has taken a new exit or given one up.
    moved: bool,
}

impl<'a> Pilot<'a> {
    /// Creates a pilot that aims at every exit.
    pub(crate) fn new(workflow: &'a Workflow, map: &'a RouteMap) -> Self {
        Self::towards(workflow, map, map.ways.clone())
    }

    /// Creates a pilot that aims at these exits.
    pub(crate) fn towards(workflow: &'a Workflow, map: &'a RouteMap, ways: Vec<(StageId, ExitPath)>) -> Self {
        Self { open: ways, ..Self::to_completion(workflow, map) }
    }

    /// Creates a pilot that aims only at completion.
    pub(crate) fn to_completion(workflow: &'a Workflow, map: &'a RouteMap) -> Self {
        Self {
            workflow,
            map,
            open: Vec::new(),
            failed: BTreeMap::new(),
            plan: VecDeque::new(),
            aim: None,
            round: None,
            held: None,
            used: BTreeMap::new(),
            replies: 0,
            moved: false,
        }
    }

    /// Returns true if some path seems to lead to completion within the limits.
    pub(crate) fn can_complete(&self) -> bool {
        let path = self.map.nearest(&self.workflow.entry, |path| path.to == MoveTarget::Completion);
        completes_in_time(&self.workflow.completion) || path.is_some_and(|path| path.rounds <= self.limit())
    }

    /// Returns true if a remaining exit is reachable from the start.
    pub(crate) fn has_aims(&self) -> bool {
        let limit = self.limit();
        self.nearest(&self.workflow.entry, limit, |_| true).is_some()
    }

    /// Resets the pilot after a run. Counts the unfinished aim as a failed attempt.
    pub(crate) fn next_run(&mut self) {
        self.give_up_plan();
        if !self.moved {
            // The run made no progress, so the map is wrong about its first aim.
            let path = self.nearest(&self.workflow.entry, self.limit(), |_| true);
            self.aim = path.and_then(|path| self.aim_of(&path));
            self.give_up_plan();
        }
        self.moved = false;
        self.round = None;
        self.held = None;
        self.used.clear();
        self.replies = 0;
    }

    /// Returns the exits not taken, with reasons.
    pub(crate) fn untaken(&self) -> Vec<UntakenExit> {
        let dead = self.map.dead.iter().map(|(stage, way)| (stage, way, UntakenReason::NoReply));
        let open = self.open.iter().map(|(stage, way)| {
            let tried = self.failed.get(&(stage.clone(), way.clone())).is_some_and(|failed| *failed >= TRIES);
            let is_it = |path: &RoutePath| self.is_way(path, stage, way);
            let why = match self.map.nearest(&self.workflow.entry, is_it) {
                None => UntakenReason::Unreachable,
                Some(path) if path.rounds > self.limit() => UntakenReason::TooFar,
                Some(_) if tried => UntakenReason::Overruled,
                Some(_) => UntakenReason::NotTried,
            };
            (stage, way, why)
        });
        let order: BTreeMap<_, _> = self.workflow.stages.keys().zip(0..).collect();
        let mut all: Vec<(&StageId, &ExitPath, UntakenReason)> = dead.chain(open).collect();
        all.sort_by_key(|(stage, way, _)| (order.get(stage).copied().unwrap_or(0), (*way).clone()));
        let untaken = all.into_iter().map(|(stage, way, why)| {
            let condition = self.workflow.stage(stage).and_then(|stage| way.condition(stage));
            UntakenExit { stage: stage.clone(), way: way.clone(), condition, why }
        });
        untaken.collect()
    }

    /// Returns the maximum number of rounds of a run.
    fn limit(&self) -> u32 {
        let limits = &self.workflow.limits;
        let limit = limits.rounds.into_iter().chain(limits.hard_rounds).min();
        limit.unwrap_or(UNLIMITED)
    }

    fn is_way(&self, path: &RoutePath, stage: &StageId, way: &ExitPath) -> bool {
        let [step] = path.steps.as_slice() else { return false };
        let offer = self.map.step(step).filter(|offer| offer.counts);
        step.0 == *stage && offer.is_some_and(|offer| offer.way == *way)
    }

    /// Returns the path to the nearest remaining exit that matches `wanted` and fits into the rounds left.
    fn nearest(&self, from: &StageId, rounds: u32, wanted: impl Fn(&RoutePath) -> bool) -> Option<RoutePath> {
        let open: BTreeSet<&(StageId, ExitPath)> = self
            .open
            .iter()
            .filter(|way| self.failed.get(*way).is_none_or(|failed| *failed < TRIES))
            .collect();
        let path = self.map.nearest(from, |path| {
            let [step] = path.steps.as_slice() else { return false };
            let offer = self.map.step(step).filter(|offer| offer.counts);
            wanted(path) && offer.is_some_and(|offer| open.contains(&(step.0.clone(), offer.way.clone())))
        });
        path.filter(|path| path.rounds <= rounds)
    }

    /// Returns this round's step: the current move, the next one of the plan, or the first of a new plan.
    fn step_of(&mut self, run: &Run, call: &CallId) -> RouteStep {
        if let Some((at, step)) = &self.round
            && (&at.stage, at.visit, at.round) == (&call.stage, call.visit, call.round)
        {
            return step.clone();
        }
        let step = match self.held.take().filter(|(stage, _)| *stage == call.stage) {
            Some(step) => step,
            None => self.next_step(run, &call.stage),
        };
        self.round = Some((call.clone(), step.clone()));
        *self.used.entry(step.clone()).or_insert(0) += 1;
        step
    }

    fn next_step(&mut self, run: &Run, stage: &StageId) -> RouteStep {
        if self.plan.front().is_none_or(|(at, _)| at != stage) {
            self.give_up_plan();
            self.make_plan(run, stage);
        }
        self.plan.pop_front().filter(|(at, _)| at == stage).unwrap_or_else(|| self.wander(stage))
    }

    /// Prefers exits that continue, so that one run takes many. When none is left, heads for the end.
    fn make_plan(&mut self, run: &Run, stage: &StageId) {
        // The count already includes the current round.
        let this = u32::from(run.visit().is_some_and(|visit| visit.round.counted));
        let left = self.limit().saturating_add(this).saturating_sub(run.iteration());
        let path = self
            .nearest(stage, left, |path| matches!(path.to, MoveTarget::Stage(_)))
            .or_else(|| self.nearest(stage, left, |_| true));
        if let Some(path) = path {
            self.aim = self.aim_of(&path);
            self.plan = path.steps.into();
            return;
        }
        let end = self.map.nearest(stage, |path| path.to == MoveTarget::Completion);
        let end = end.or_else(|| {
            let waits = completes_in_time(&self.workflow.completion);
            self.map.nearest(stage, |path| path.to == MoveTarget::End).filter(|_| !waits)
        });
        self.plan = end.map(|path| path.steps.into()).unwrap_or_default();
    }

    fn aim_of(&self, path: &RoutePath) -> Option<(StageId, ExitPath)> {
        let last = path.steps.last()?;
        Some((last.0.clone(), self.map.step(last)?.way.clone()))
    }

    /// Without an aim, returns the least used move that does not end the run.
    fn wander(&self, stage: &StageId) -> RouteStep {
        let moves = self.map.moves(stage);
        let key = |(index, offer): &(usize, &ExitMove)| {
            let used = self.used.get(&(stage.clone(), *index)).copied().unwrap_or(0);
            (offer.to == MoveTarget::End, used, *index)
        };
        let index = moves.iter().enumerate().min_by_key(key).map_or(0, |(index, _)| index);
        (stage.clone(), index)
    }

    fn give_up_plan(&mut self) {
        self.plan.clear();
        if let Some(aim) = self.aim.take() {
            *self.failed.entry(aim).or_insert(0) += 1;
            self.moved = true;
        }
    }

    fn saying(&mut self, run: &Run, call: &CallId) -> PlannedReply {
        let step = self.step_of(run, call);
        self.map.step(&step).map(|offer| offer.saying.clone()).unwrap_or_default()
    }
}

impl Cast for Pilot<'_> {
    fn reply(
        &mut self,
        run: &Run,
        request: &Request,
        place: RoundPosition,
    ) -> Result<RehearsedReply, ScriptFailure> {
        let saying = self.saying(run, &request.call);
        self.replies += 1;
        let stage = &request.call.stage;
        let label = match place {
            RoundPosition::Check(index) => saying.labels.get(index).and_then(Option::as_ref),
            RoundPosition::Exit => saying.answer.as_ref(),
            RoundPosition::Main(_)
            | RoundPosition::Report(_)
            | RoundPosition::Block(_)
            | RoundPosition::Proof(_)
            | RoundPosition::Outside(_) => None,
        };
        let turn = |index| self.workflow.stage(stage).and_then(|stage| stage.turns().get(index));
        if let RoundPosition::Main(index) = place
            && let Some(failed) = turn(index).and_then(|turn| turn.reads.failed.as_ref())
            && saying.labels.get(index).and_then(Option::as_ref) == Some(failed)
        {
            let message = "rehearsed failure".to_owned();
            let class = FailureClass::Refused;
            return Err(ScriptFailure { class, message, retry_after: None, until: None });
        }
        Ok(match (place, self.workflow.wanted(stage, place)) {
            (RoundPosition::Main(index), Some(ExpectedReply::Work(_))) => turn(index)
                .map(|turn| {
                    replies::work_reply(turn, index, &saying, &self.workflow.completion, self.replies)
                })
                .unwrap_or_default(),
            (_, Some(ExpectedReply::Answer(choice, question))) => {
                replies::answer_reply(choice, question, label, self.replies)
            }
            (_, Some(ExpectedReply::Work(_)) | None) => RehearsedReply::default(),
        })
    }

    fn answer(&mut self, run: &Run, gate: &OpenGate) -> Label {
        let saying = self.saying(run, &gate.call);
        saying.labels.into_iter().flatten().next().unwrap_or_else(|| "yes".into())
    }

    fn perform(&mut self, run: &Run, performance: &Performance, place: RoundPosition) -> Option<Label> {
        match place {
            RoundPosition::Main(_) => self.saying(run, &performance.call).labels.into_iter().flatten().next(),
            RoundPosition::Outside(_) => {
                let step = self.step_of(run, &performance.call);
                let closes = self.map.step(&step).is_some_and(|offer| offer.to == MoveTarget::Completion);
                let reached = closes || self.aim.is_none();
                Some(outside(&performance.action.does, reached))
            }
            RoundPosition::Proof(index) => {
                let refutes = self.saying(run, &performance.call).refutes == Some(index);
                Some(if refutes { "failed" } else { "ok" }.into())
            }
            RoundPosition::Block(_) => Some("ok".into()),
            RoundPosition::Report(_) | RoundPosition::Check(_) | RoundPosition::Exit => None,
        }
    }

    fn decided(&mut self, decision: &Decision) {
        if let Decision::Exited { stage, verdict } = decision {
            self.exited(stage, verdict);
        }
    }
}

impl Pilot<'_> {
    /// Marks the exit that the engine recorded, even if it was not the aim.
    fn exited(&mut self, stage: &StageId, verdict: &Verdict) {
        let step = self.round.as_ref().map(|(_, step)| step.clone()).filter(|step| step.0 == *stage);
        let tried = step.as_ref().and_then(|step| self.map.step(step));
        let is_taken = |(at, way): &(StageId, ExitPath)| {
            at == stage && way.is_taken(verdict, tried.is_some_and(|tried| tried.way == *way))
        };
        if self.aim.as_ref().is_some_and(is_taken) {
            self.aim = None;
        }
        let before = self.open.len();
        self.open.retain(|way| !is_taken(way));
        self.moved |= self.open.len() < before;
        let again = verdict.to == Destination::Again;
        let early = verdict.by == By::Only && verdict.rule.is_none();
        if again && (early || tried.is_some_and(|tried| tried.persists)) {
            self.held = step;
        }
    }
}

/// Returns the label of an outside condition.
fn outside(action: &Action, reached: bool) -> Label {
    let word = match (action, reached) {
        (_, true) => "reached",
        (Action::Command { told: CommandVerdict::ByAnswer, .. }, false) => "open",
        (Action::Command { .. }, false) => "failed",
        (_, false) => "open",
    };
    word.into()
}

/// Returns true if a run that just continues completes by itself.
fn completes_in_time(completion: &Completion) -> bool {
    match completion {
        Completion::Rounds(_) | Completion::Checks(_) | Completion::Outside(_) => true,
        Completion::All(parts) | Completion::Any(parts) | Completion::First(parts) => {
            parts.iter().any(completes_in_time)
        }
        Completion::Flow | Completion::Keyword(_) | Completion::Signal { .. } | Completion::Phase(_) => false,
    }
}
