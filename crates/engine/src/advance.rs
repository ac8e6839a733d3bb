//! Fills the gaps of the current round, in one order for every workflow; see the crate documentation.

use saihai_judge::LabelOutcome;
use saihai_model::{
    Activity, By, Decision, Effect, Ending, ExpectedReply, FailureReason, Hold, Label, LimitReason, Millis,
    Moment, Purpose, RoundPosition, Stage, StageId, Workflow,
};

use crate::run::{CallResult, CallState, Slot};
use crate::run::{Phase, Run};
use crate::verdict::RoundVerdict;

/// Result of one step of `advance`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AdvanceStep {
    Go,
    /// Waits: nothing can happen until another fact arrives.
    Rest,
}

/// Far more steps than any workflow needs between two facts, so that a bug cannot hang the run.
const STEPS: u32 = 100_000;

impl Run {
    pub(crate) fn advance(&mut self, workflow: &Workflow, out: &mut Vec<Effect>) {
        self.close_gate_in_time(workflow);
        for _ in 0..STEPS {
            if self.step(workflow, out) == AdvanceStep::Rest {
                break;
            }
        }
        self.stop_in_time(out);
        self.come_to_rest(out);
        out.sort_by_key(|effect| !matches!(effect, Effect::Record(_)));
    }

    fn step(&mut self, workflow: &Workflow, out: &mut Vec<Effect>) -> AdvanceStep {
        let Some(stage) = self.stage(workflow).filter(|_| self.phase == Phase::Running) else {
            return AdvanceStep::Rest;
        };
        if self.next_reports(stage, out) || self.launch_due(workflow, out) {
            return AdvanceStep::Go;
        }
        if self.hold.is_some() {
            return AdvanceStep::Rest;
        }
        if let Some(step) = self.check_completion_first(workflow, out) {
            return step;
        }
        if !self.round_is_counted(stage) {
            if let Some((stage, key)) = self.missing_input(stage) {
                let input = format!("{stage}.{key}");
                self.finish(Ending::Failed(FailureReason::MissingInput { input }), out);
                return AdvanceStep::Go;
            }
            return self.count_round(stage, out);
        }
        if self.next_main(stage) {
            return AdvanceStep::Go;
        }
        if self.round().pending(|place| matches!(place, RoundPosition::Main(_) | RoundPosition::Report(_))) {
            return AdvanceStep::Rest;
        }
        if let Some(step) = self.next_blocks(workflow) {
            return step;
        }
        if !self.round().watched {
            return self.watch(workflow, stage, out);
        }
        self.next_verdict(workflow, stage, out)
    }

    /// Requests labels, then the exit's question, then outside conditions. When all are present, leaves the round.
    fn next_verdict(&mut self, workflow: &Workflow, stage: &Stage, out: &mut Vec<Effect>) -> AdvanceStep {
        if self.repeats_before_exit(stage) {
            let ruling = Self::early();
            return self.next_outside(workflow, stage, &ruling).unwrap_or_else(|| {
                self.leave(workflow, stage, ruling, out);
                AdvanceStep::Go
            });
        }
        if let Some(step) = self.next_labels(workflow, stage) {
            return step;
        }
        match self.verdict(workflow, stage) {
            RoundVerdict::AskExit => self.queue(RoundPosition::Exit, Some(Purpose::Question)),
            RoundVerdict::Ruling(ruling) => {
                if let Some(step) = self.next_proof(stage, &ruling) {
                    return step;
                }
                let ruling = self.proved(stage, *ruling);
                self.next_outside(workflow, stage, &ruling).unwrap_or_else(|| {
                    let ruling = self.redirected(workflow, stage, ruling, out);
                    self.leave(workflow, stage, ruling, out);
                    AdvanceStep::Go
                })
            }
        }
    }

    pub(crate) fn stage<'w>(&self, workflow: &'w Workflow) -> Option<&'w Stage> {
        workflow.stage(&self.visit.as_ref()?.stage)
    }

    pub(crate) fn round(&self) -> &crate::run::Round {
        &self.visit.as_ref().expect("a step is only taken during a visit").round
    }

    fn round_mut(&mut self) -> &mut crate::run::Round {
        &mut self.visit.as_mut().expect("a step is only taken during a visit").round
    }

    /// Queues a call for an empty place. If the place already holds one, waits.
    pub(crate) fn queue(&mut self, place: RoundPosition, purpose: Option<Purpose>) -> AdvanceStep {
        if self.round().slot(place).is_some() {
            return AdvanceStep::Rest;
        }
        let call = CallState::new(self.next_call(), purpose);
        self.put(place, Slot::Waiting { call, until: None });
        AdvanceStep::Go
    }

    /// Returns a required input of the stage that is missing. A null value counts as missing.
    fn missing_input<'w>(&self, stage: &'w Stage) -> Option<&'w (StageId, String)> {
        let has = |stage: &StageId, key: &String| {
            let value = self.carry.outputs.get(stage).and_then(|outputs| outputs.get(key));
            value.is_some_and(|value| !value.is_null())
        };
        stage.turns().iter().flat_map(|turn| &turn.needs).find(|(stage, key)| !has(stage, key))
    }

    fn round_is_counted(&self, stage: &Stage) -> bool {
        !matches!(stage.does, Activity::Turns { .. }) || self.round().counted
    }

    /// Checks limits when counting a round: completion in the last one wins; a raised limit continues here.
    fn count_round(&mut self, stage: &Stage, out: &mut Vec<Effect>) -> AdvanceStep {
        let reached = |limit: Option<u32>| limit.is_some_and(|limit| self.counts.iteration >= limit);
        if reached(self.limits.rounds) || reached(self.limits.hard_rounds) {
            let is_raisable = reached(self.limits.rounds);
            let limit = if is_raisable { LimitReason::MaxIterations } else { LimitReason::EmergencyStop };
            self.set_hold(Hold::Limit(limit));
            return AdvanceStep::Rest;
        }
        self.counts.iteration = self.counts.iteration.saturating_add(1);
        if !self.delivering && !stage.aside {
            self.counts.chain = 0;
        }
        let round = self.round_mut();
        round.counted = true;
        let number = round.number;
        out.push(Effect::Record(Decision::Round { round: number, iteration: self.counts.iteration }));
        AdvanceStep::Go
    }

    fn next_main(&mut self, stage: &Stage) -> bool {
        let (count, at_once, purpose) = match &stage.does {
            Activity::Turns { turns, at_once, .. } => (turns.len(), *at_once, Some(Purpose::Work)),
            Activity::Gate(_) | Activity::Action(_) => (1, None, None),
        };
        let under_way = self.round().slots.iter().filter(|(place, slot)| {
            matches!(place, RoundPosition::Main(_)) && !matches!(slot, Slot::Done(_))
        });
        if at_once.is_some_and(|most| under_way.count() >= most.max(1) as usize) {
            return false;
        }
        let missing = (0..count).find(|index| self.round().slot(RoundPosition::Main(*index)).is_none());
        missing.is_some_and(|index| self.queue(RoundPosition::Main(index), purpose) == AdvanceStep::Go)
    }

    /// Saves the reports of a turn as soon as it replies. It does not wait for parallel turns.
    fn next_reports(&mut self, stage: &Stage, out: &mut Vec<Effect>) -> bool {
        let missing = (0..stage.turns().len()).find(|index| {
            let done = self.round().done(RoundPosition::Main(*index));
            done.is_some_and(|done| !done.reading.reports.is_empty())
                && self.round().slot(RoundPosition::Report(*index)).is_none()
        });
        let Some(index) = missing else { return false };
        let found = self.round().done(RoundPosition::Main(index)).map(|done| done.reading.reports.clone());
        let call = CallState::new(self.next_call(), None);
        let found = found.unwrap_or_default();
        out.push(Effect::Record(Decision::Reports { call: call.id.clone(), found }));
        self.put(RoundPosition::Report(index), Slot::Waiting { call, until: None });
        true
    }

    /// Runs the actions that blocks request, one at a time.
    fn next_blocks(&mut self, workflow: &Workflow) -> Option<AdvanceStep> {
        let count = self.block_actions(workflow).len();
        let next = (0..count).find(|index| self.round().done(RoundPosition::Block(*index)).is_none())?;
        Some(self.queue(RoundPosition::Block(next), None))
    }

    /// Asks a question for each turn that no other method can label.
    fn next_labels(&mut self, workflow: &Workflow, stage: &Stage) -> Option<AdvanceStep> {
        if self.wrong_output(stage).is_some() {
            return None;
        }
        let asks = |run: &Self, index: usize| run.labelled(stage, index) == LabelOutcome::Ask;
        let open = (0..stage.turns().len()).filter(|index| asks(self, *index)).collect::<Vec<_>>();
        let missing =
            open.iter().find(|index| self.round().slot(RoundPosition::Check(**index)).is_none()).copied();
        if let Some(index) = missing {
            let place = RoundPosition::Check(index);
            debug_assert!(matches!(
                workflow.wanted(&self.visit.as_ref()?.stage, place),
                Some(ExpectedReply::Answer(..))
            ));
            return Some(self.queue(place, Some(Purpose::Question)));
        }
        (!open.is_empty()).then_some(AdvanceStep::Rest)
    }

    /// Reads a turn's label from its reply, or from the question about that reply.
    pub(crate) fn labelled(&self, stage: &Stage, index: usize) -> LabelOutcome {
        let Some(done) = self.round().done(RoundPosition::Main(index)) else { return LabelOutcome::Missing };
        let Some(turn) = stage.turns().get(index) else { return LabelOutcome::Missing };
        if done.failure.is_some() {
            let failed = turn.reads.failed.clone();
            return failed.map_or(LabelOutcome::Missing, |label| LabelOutcome::Found(label, By::Result));
        }
        let Some(choice) = &turn.reads.choice else { return LabelOutcome::Missing };
        let answer = self.round().done(RoundPosition::Check(index)).map(|done| &done.label);
        saihai_judge::label(choice, &done.reading, answer)
    }

    /// Returns each turn's label in order, and the method that found the first one.
    pub(crate) fn labels(&self, stage: &Stage) -> (Vec<Option<Label>>, By) {
        match &stage.does {
            Activity::Turns { turns, .. } => {
                let mut by = By::Only;
                let mut labels = Vec::with_capacity(turns.len());
                for index in 0..turns.len() {
                    match self.labelled(stage, index) {
                        LabelOutcome::Found(label, found_by) => {
                            by = found_by;
                            labels.push(Some(label));
                        }
                        LabelOutcome::Missing | LabelOutcome::Ask => labels.push(None),
                    }
                }
                (labels, by)
            }
            Activity::Gate(_) => (vec![self.main_label()], By::Answer),
            Activity::Action(_) => (vec![self.main_label()], By::Result),
        }
    }

    fn main_label(&self) -> Option<Label> {
        self.round().done(RoundPosition::Main(0)).and_then(|done| done.label.clone())
    }

    /// Answers no at an open gate once its time is up.
    pub(crate) fn close_gate_in_time(&mut self, workflow: &Workflow) {
        let Some(visit) = &self.visit else { return };
        let Some(Slot::Open { call, until: Some(until) }) = visit.round.slot(RoundPosition::Main(0)) else {
            return;
        };
        if *until > self.now || workflow.stage(&visit.stage).is_none() {
            return;
        }
        let call = call.id.clone();
        let done = CallResult { label: Some("no".into()), ..CallResult::default() };
        self.put(RoundPosition::Main(0), Slot::Done(Box::new(done)));
        if self.open_gate() == Some(&call) {
            self.lift_hold();
        }
    }

    /// Returns true once the run has used up its active time.
    pub(crate) fn is_over_time(&self) -> bool {
        self.limits.runtime.is_some_and(|runtime| self.driven >= runtime)
    }

    /// Stops running calls when the time is up. Runs last, so that a reply that completes the run still counts.
    fn stop_in_time(&mut self, out: &mut Vec<Effect>) {
        if self.is_over_time() && self.phase == Phase::Running && self.hold.is_none() {
            self.stop_for(Hold::Limit(LimitReason::Timeout), out);
        }
    }

    /// Records a hold once, and requests a wake-up if time alone will change something.
    fn come_to_rest(&mut self, out: &mut Vec<Effect>) {
        if self.phase != Phase::Running {
            return;
        }
        if self.busy().next().is_none() {
            if self.hold == Some(Hold::Cancelling) {
                return self.finish(Ending::Cancelled, out);
            }
            if let Some(hold) = self.hold.clone().filter(|hold| self.announced.as_ref() != Some(hold)) {
                out.push(Effect::Record(Decision::Parked { hold: hold.clone() }));
                self.announced = Some(hold);
            }
        }
        if let Some(at) = self.next_moment().filter(|at| self.wake.is_none_or(|wake| *at < wake)) {
            self.wake = Some(at);
            out.push(Effect::Wake { at });
        }
    }

    /// Returns the next moment at which time alone changes something.
    fn next_moment(&self) -> Option<Moment> {
        let slots = self.visit.iter().flat_map(|visit| &visit.round.slots);
        let waits = slots.filter_map(|(_, slot)| match slot {
            Slot::Waiting { until, .. } if self.hold.is_none() => *until,
            Slot::Open { until, .. } => *until,
            Slot::Waiting { .. } | Slot::Busy(_) | Slot::Done(_) => None,
        });
        let runtime = self.limits.runtime.filter(|_| self.hold.is_none());
        let runtime = runtime.map(|runtime| self.now.plus(Millis(runtime.0.saturating_sub(self.driven.0))));
        waits.chain(runtime).min()
    }
}
