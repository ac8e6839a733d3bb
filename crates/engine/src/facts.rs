//! Records each fact in its place. `advance` derives the consequences.

use saihai_judge::JudgeAnswer;
use saihai_model::{
    Activity, Answer, CallId, CarriedWords, Cost, Decision, Effect, ExpectedReply, Fact, Hold, Moment,
    Outcome, OutsideReason, Poll, PublishedEvent, Purpose, QuestionSession, Raise, Replied, RoundPosition,
    SessionPolicy, Start, Usage, Usd, Wants, Workflow,
};

use crate::launch::{about, is_program, within};
use crate::run::{CallResult, CallState, Slot};
use crate::run::{Phase, Run};

/// Call taken out of its place because it has a result.
#[derive(Debug)]
pub(crate) struct BusyCall {
    pub(crate) place: RoundPosition,
    pub(crate) call: CallState,
}

impl Run {
    pub(crate) fn begin(&mut self, workflow: &Workflow, at: Moment, start: &Start, out: &mut Vec<Effect>) {
        self.phase = Phase::Running;
        self.now = at;
        self.seed = start.seed;
        self.patience = start.patience;
        self.limits = workflow.limits.clone();
        self.carry.task = start.task.clone();
        self.carry.subject = start.subject.clone();
        if let Some(topics) = &workflow.topics {
            self.carry.event = Some(PublishedEvent { topic: topics.start.clone(), message: None, line: 0 });
            self.remember(workflow, &topics.start);
        }
        self.enter(workflow, &workflow.entry, out);
    }

    pub(crate) fn take(&mut self, workflow: &Workflow, fact: &Fact, out: &mut Vec<Effect>) {
        match fact {
            Fact::Started(_) | Fact::Woke | Fact::FilesCounted(_) => {}
            Fact::Asked { call, prompt, .. } => self.asked(call, prompt.as_ref()),
            Fact::Replied(reply) => self.replied(workflow, reply, out),
            Fact::Failed(failed) => self.failed(workflow, failed, out),
            Fact::Performed { call, outcome } => self.performed(workflow, call, outcome, out),
            Fact::Answered(answer) => self.answered(workflow, answer),
            Fact::Reopened => self.reopened(),
            Fact::Resumed(raise) => self.resumed(workflow, raise),
            Fact::Interrupted { .. } => self.stop_for(Hold::Interrupted, out),
            Fact::Cancelled { .. } => self.stop_for(Hold::Cancelling, out),
            Fact::StorageFailed { call, path, .. } => self.storage_failed(call.as_ref(), path),
            Fact::Told(note) => self.told(workflow, note, out),
            Fact::Withdrawn { note } => self.notes.withdraw(*note),
            Fact::Lent(loan) => self.ledger.spent = self.ledger.spent.plus(loan.cost),
        }
    }

    fn asked(&mut self, id: &CallId, prompt: Option<&saihai_model::Text>) {
        let Some(prompt) = prompt else { return };
        let Some(BusyCall { place, mut call }) = self.take_busy(id) else { return };
        call.prompt = Some(prompt.clone());
        self.put(place, Slot::Busy(call));
    }

    fn replied(&mut self, workflow: &Workflow, reply: &Replied, out: &mut Vec<Effect>) {
        let Some(BusyCall { place, call }) = self.take_busy(&reply.call) else { return };
        if call.purpose.is_none() {
            return;
        }
        if !is_program(workflow, place, &call) {
            self.counts.turns = self.counts.turns.saturating_add(1);
            self.settle(workflow, place, &call, reply.cost, &reply.usage);
        }
        match (place, workflow.wanted(&call.id.stage, place)) {
            (RoundPosition::Main(index), Some(ExpectedReply::Work(_))) => {
                self.worked(workflow, index, call, reply, out)
            }
            (_, Some(ExpectedReply::Answer(choice, question))) => {
                if question.session == QuestionSession::Same && call.provider.is_none() {
                    self.keep_session(workflow, place, &call, reply);
                }
                let said = saihai_judge::answered(choice, question, &reply.reading);
                let label = match said {
                    JudgeAnswer::Unreadable if call.corrections < question.corrections => {
                        let said = CallResult::of(reply, &CarriedWords::LastMessage);
                        return self.correct(workflow, place, call, said, out);
                    }
                    JudgeAnswer::Unreadable => question.unreadable.clone(),
                    JudgeAnswer::Label(label) => Some(label),
                    JudgeAnswer::Nothing => None,
                };
                let mut done = CallResult::of(reply, &CarriedWords::LastMessage);
                done.label = label;
                self.put(place, Slot::Done(Box::new(done)));
            }
            (_, _) => self.put(place, Slot::Done(Box::default())),
        }
    }

    /// Handles the reply to a turn's work or to its correction.
    fn worked(
        &mut self,
        workflow: &Workflow,
        index: usize,
        mut call: CallState,
        reply: &Replied,
        out: &mut Vec<Effect>,
    ) {
        let place = RoundPosition::Main(index);
        let Some(turn) = workflow.stage(&call.id.stage).and_then(|stage| stage.turns().get(index)) else {
            return;
        };
        self.keep_session(workflow, place, &call, reply);
        let mut done = match call.first.take() {
            Some(mut first) => {
                first.take_correction(reply, &turn.reads.carry);
                first.provider.clone_from(&call.provider);
                *first
            }
            None => {
                CallResult { provider: call.provider.clone(), ..CallResult::of(reply, &turn.reads.carry) }
            }
        };
        if done.session.is_none() && call.provider.is_none() {
            done.session = self.kept_session(turn);
        }
        let corrections = turn.reads.output.as_ref().map_or(0, |output| output.corrections);
        if !done.reading.violations.is_empty() && call.corrections < corrections {
            return self.correct(workflow, place, call, done, out);
        }
        self.put(place, Slot::Done(Box::new(done)));
    }

    /// Keeps the most recent session as the one to continue (S-57).
    fn keep_session(&mut self, workflow: &Workflow, place: RoundPosition, call: &CallState, reply: &Replied) {
        let Some((provider, _)) = self.asked_of(workflow, place, call) else { return };
        let turn = workflow.stage(&call.id.stage).and_then(|stage| stage.turns().get(about(place)));
        if let (Some(SessionPolicy::Continue(key) | SessionPolicy::Renew(key)), Some(session)) =
            (turn.map(|turn| &turn.session), &reply.session)
        {
            self.sessions.insert(key.clone(), (provider, session.clone()));
        }
    }

    /// Queues a call in the same round that asks for a correction of the last reply.
    fn correct(
        &mut self,
        workflow: &Workflow,
        place: RoundPosition,
        call: CallState,
        said: CallResult,
        out: &mut Vec<Effect>,
    ) {
        let keeps_time = within(workflow, place, &call).is_some();
        let mut next = CallState::new(self.next_call(), Some(Purpose::Correction));
        next.corrections = call.corrections.saturating_add(1);
        next.provider = call.provider;
        next.since = call.since.filter(|_| keeps_time);
        out.push(Effect::Record(Decision::Correct {
            call: next.id.clone(),
            violations: said.reading.violations.clone(),
        }));
        next.first = Some(Box::new(said));
        self.put(place, Slot::Waiting { call: next, until: None });
    }

    fn performed(&mut self, workflow: &Workflow, id: &CallId, outcome: &Outcome, out: &mut Vec<Effect>) {
        let Some(BusyCall { place, mut call }) = self.take_busy(id) else { return };
        if call.purpose.is_some() {
            return;
        }
        match outcome {
            Outcome::Done { label, output } => {
                if let RoundPosition::Report(_) = place {
                    self.saved(output);
                }
                let done =
                    CallResult { label: label.clone(), output: output.clone(), ..CallResult::default() };
                self.put(place, Slot::Done(Box::new(done)));
            }
            Outcome::NotYet | Outcome::Delayed { .. } => self.poll_again(workflow, place, call),
            Outcome::Waiting { reason } => {
                call.repeat = true;
                self.set_hold(Hold::Outside(call.id.clone(), reason.clone()));
                self.put(place, Slot::Waiting { call, until: None });
            }
            Outcome::Failed(failure) => self.fail(workflow, BusyCall { place, call }, failure, out),
        }
    }

    fn poll_again(&mut self, workflow: &Workflow, place: RoundPosition, mut call: CallState) {
        let poll = self.action_at(workflow, place).and_then(|action| action.poll);
        let waited = call.since.map_or(self.now.since(self.now), |since| self.now.since(since));
        let slot = match poll {
            Some(poll) if waited < poll.at_most => {
                Slot::Waiting { call, until: Some(self.now.plus(poll.every)) }
            }
            Some(Poll { hold: Some(reason), .. }) => {
                // After a resume, the call gets its full waiting time again.
                (call.repeat, call.since) = (true, None);
                self.set_hold(Hold::Outside(call.id.clone(), OutsideReason::Text(reason)));
                Slot::Waiting { call, until: None }
            }
            Some(_) | None => {
                Slot::Done(Box::new(CallResult { label: Some("timeout".into()), ..CallResult::default() }))
            }
        };
        self.put(place, slot);
    }

    fn saved(&mut self, output: &std::collections::BTreeMap<String, saihai_model::Json>) {
        for (file, saved) in output {
            if let Some(hash) = saved.get("sha256").and_then(saihai_model::Json::as_str) {
                self.reports.insert(file.clone(), hash.to_owned());
            }
        }
    }

    fn answered(&mut self, workflow: &Workflow, answer: &Answer) {
        let Some(visit) = &self.visit else { return };
        let Some((place, _)) = visit.round.call(&answer.call) else { return };
        let Some(Activity::Gate(gate)) = workflow.stage(&visit.stage).map(|stage| &stage.does) else {
            return;
        };
        let fits = match gate.wants {
            Wants::YesNo => matches!(answer.label.as_str(), "yes" | "no"),
            Wants::Text { max_chars } => {
                let length = answer.text.as_ref().map_or(0, |text| text.chars().count());
                answer.label.as_str() == "answered" && (1..=max_chars as usize).contains(&length)
            }
        };
        if !fits {
            return;
        }
        let mut done = CallResult { label: Some(answer.label.clone()), ..CallResult::default() };
        if let Some(text) = &answer.text {
            done.output.insert("answer".to_owned(), text.as_str().into());
        }
        self.put(place, Slot::Done(Box::new(done)));
        if self.open_gate() == Some(&answer.call) {
            self.lift_hold();
        }
    }

    /// Handles a change of owner: no call of the previous process is still running.
    fn reopened(&mut self) {
        self.wake = None;
        self.repeat_calls(|slot| matches!(slot, Slot::Busy(_)));
    }

    fn resumed(&mut self, workflow: &Workflow, raise: &Raise) {
        if self.hold == Some(Hold::Cancelling) {
            return;
        }
        self.lift_hold();
        self.wake = None;
        self.patience = raise.patience;
        self.limits.budget = self.limits.budget.replaced_by(&raise.budget);
        if let Some(rounds) = raise.rounds {
            self.limits.rounds = Some(rounds);
            self.limits.hard_rounds = self.limits.hard_rounds.map(|hard| hard.max(rounds));
        }
        self.limits.runtime = raise.runtime.or(self.limits.runtime);
        // Close an expired gate first, so that it is not asked again.
        self.close_gate_in_time(workflow);
        self.repeat_calls(|slot| matches!(slot, Slot::Open { .. }));
        let Some(visit) = &mut self.visit else { return };
        for (place, slot) in &mut visit.round.slots {
            if let Slot::Waiting { call, until } = slot {
                call.failures.clear();
                call.tried.clear();
                // Time without a running process does not count towards a deadline.
                if within(workflow, *place, call).is_some() {
                    call.since = None;
                }
                if raise.now {
                    *until = None;
                }
            }
        }
    }

    fn repeat_calls(&mut self, which: impl Fn(&Slot) -> bool) {
        let Some(visit) = &mut self.visit else { return };
        for (_, slot) in &mut visit.round.slots {
            if !which(slot) {
                continue;
            }
            if let Slot::Busy(call) | Slot::Open { call, .. } = slot {
                let mut call = call.clone();
                call.repeat = true;
                call.make_room_for_note();
                *slot = Slot::Waiting { call, until: None };
            }
        }
    }

    pub(crate) fn stop_for(&mut self, hold: Hold, out: &mut Vec<Effect>) {
        self.set_hold(hold);
        out.extend(self.busy().map(|call| Effect::Stop { call: call.clone() }));
    }

    fn storage_failed(&mut self, id: Option<&CallId>, path: &str) {
        self.set_hold(Hold::Storage(path.to_owned()));
        if let Some(BusyCall { place, mut call }) = id.and_then(|id| self.take_busy(id)) {
            call.repeat = true;
            self.put(place, Slot::Waiting { call, until: None });
        }
    }

    pub(crate) fn lift_hold(&mut self) {
        self.hold = None;
        self.announced = None;
    }

    /// Returns a copy of the running call with this id, and its place. The caller must fill the place.
    pub(crate) fn take_busy(&self, id: &CallId) -> Option<BusyCall> {
        match self.visit.as_ref()?.round.call(id)? {
            (place, Slot::Busy(call)) => Some(BusyCall { place, call: call.clone() }),
            (_, Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_)) => None,
        }
    }

    pub(crate) fn put(&mut self, place: RoundPosition, slot: Slot) {
        if let Some(visit) = &mut self.visit {
            visit.round.put(place, slot);
        }
    }

    fn settle(
        &mut self,
        workflow: &Workflow,
        place: RoundPosition,
        call: &CallState,
        cost: Option<Usd>,
        usage: &Usage,
    ) {
        let Some((provider, model)) = self.asked_of(workflow, place, call) else { return };
        // If the provider reports no cost, count the amount reserved for the call.
        let cost = Cost { usd: cost.unwrap_or(call.reserved.usd), tokens: usage.tokens(), turns: 1 };
        self.ledger.settle(&provider, model.as_deref(), cost);
    }
}

impl CallResult {
    fn of(reply: &Replied, carry: &CarriedWords) -> Self {
        let text = match carry {
            CarriedWords::LastMessage => &reply.text,
            CarriedWords::AllMessages | CarriedWords::Findings { .. } | CarriedWords::ProgramResult => {
                reply.spoken.as_ref().unwrap_or(&reply.text)
            }
        };
        Self {
            text: Some(text.clone()),
            reply: Some(reply.text.clone()),
            reading: reply.reading.clone(),
            session: reply.session.clone(),
            tree: reply.tree.clone(),
            tools: reply.tools_used.iter().take(Self::TOOLS).map(|tool| tool.name.clone()).collect(),
            ..Self::default()
        }
    }
    /// Merges a correction into the first reply. The corrected output replaces the first, and the work of both replies
    /// counts. Carried findings come from the output.
    fn take_correction(&mut self, reply: &Replied, carry: &CarriedWords) {
        let correction = Self::of(reply, carry);
        self.reading.output = correction.reading.output;
        self.reading.violations = correction.reading.violations;
        self.reading.blocks.extend(correction.reading.blocks);
        let said = correction.reading.keywords.into_iter();
        let new: Vec<String> = said.filter(|word| !self.reading.keywords.contains(word)).collect();
        self.reading.keywords.extend(new);
        self.tools.extend(correction.tools);
        self.tools.truncate(Self::TOOLS);
        self.session = correction.session.or(self.session.take());
        self.tree = correction.tree.or(self.tree.take());
        match carry {
            CarriedWords::LastMessage | CarriedWords::ProgramResult => {}
            CarriedWords::AllMessages => self.text = reply.so_far.clone().or(self.text.take()),
            CarriedWords::Findings { .. } => self.text = correction.text,
        }
    }
}
