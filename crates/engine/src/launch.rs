//! Starts the calls that are due. Every call is first a waiting slot and starts here. First attempts, retries, repeats
//! after a crash and calls after a lifted hold thus share one path.

use std::collections::BTreeMap;

use saihai_model::{
    ActionInput, ActionSpec, Activity, AnswerForm, BlockUse, CallId, Cost, Decision, Effect, ExpectedReply,
    Failure, FailureClass, Hold, Json, LimitReason, Millis, Moment, OnFailure, Once, OpenGate, Performance,
    Permission, ProviderName, Purpose, Question, QuestionSession, ReplyBlock, Request, RoundPosition,
    SessionPolicy, Stage, Text, Turn, Workflow,
};

use crate::draft::DraftView;
use crate::run::Run;
use crate::run::{CallResult, CallState, Slot};

impl Run {
    /// Starts every waiting call that is due, and returns true if it started any. Under a hold it only saves reports:
    /// an agent's paid work is kept even if a parallel turn failed.
    pub(crate) fn launch_due(&mut self, workflow: &Workflow, out: &mut Vec<Effect>) -> bool {
        self.hold_for_long_waits(workflow);
        let mut launched = false;
        for place in self.waiting_places() {
            let due = self.waiting_at(place).filter(|(_, until)| until.is_none_or(|until| until <= self.now));
            if due.is_some() && self.hold.is_none() && self.is_over_time() {
                self.set_hold(Hold::Limit(LimitReason::Timeout));
            }
            if let Some((call, _)) = due.filter(|(call, _)| self.may_launch(place, call)) {
                launched |= self.launch(workflow, place, call, out);
            }
        }
        launched
    }

    /// A report that failed to save waits until the hold is lifted. Otherwise it would be retried forever.
    fn may_launch(&self, place: RoundPosition, call: &CallState) -> bool {
        match &self.hold {
            None => true,
            Some(Hold::Storage(_)) => false,
            Some(
                Hold::Person(_)
                | Hold::Outside(..)
                | Hold::Until(..)
                | Hold::Provider(..)
                | Hold::Limit(_)
                | Hold::Budget
                | Hold::NoProgress(_)
                | Hold::Interrupted
                | Hold::Cancelling,
            ) => matches!(place, RoundPosition::Report(_)) && call.attempt == 0,
        }
    }

    /// Holds the run before a wait that is longer than the policy allows. If a turn's deadline includes waits, that
    /// deadline is the maximum.
    fn hold_for_long_waits(&mut self, workflow: &Workflow) {
        let slots = self.visit.iter().flat_map(|visit| &visit.round.slots);
        let waits = slots.filter_map(|(place, slot)| match slot {
            Slot::Waiting { call, until: Some(until) } => {
                within(workflow, *place, call).is_none().then_some((*until, call.last_failure))
            }
            Slot::Waiting { until: None, .. } | Slot::Busy(_) | Slot::Open { .. } | Slot::Done(_) => None,
        });
        let too_long = waits.filter(|(until, _)| until.since(self.now) > self.patience);
        if let Some((until, class)) = too_long.min_by_key(|(until, _)| *until) {
            self.set_hold(Hold::Until(until, class.unwrap_or(FailureClass::RateLimited)));
        }
    }

    fn waiting_places(&self) -> Vec<RoundPosition> {
        let slots = self.visit.iter().flat_map(|visit| &visit.round.slots);
        slots.filter(|(_, slot)| matches!(slot, Slot::Waiting { .. })).map(|(place, _)| *place).collect()
    }

    fn waiting_at(&self, place: RoundPosition) -> Option<(CallState, Option<Moment>)> {
        match self.visit.as_ref()?.round.slot(place)? {
            Slot::Waiting { call, until } => Some((call.clone(), *until)),
            Slot::Busy(_) | Slot::Open { .. } | Slot::Done(_) => None,
        }
    }

    fn launch(
        &mut self,
        workflow: &Workflow,
        place: RoundPosition,
        call: CallState,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(stage) = workflow.stage(&call.id.stage) else { return false };
        match (place, &stage.does) {
            (RoundPosition::Main(_), Activity::Gate(gate)) => {
                let view = DraftView { place, new_session: false };
                let question = self.draft(workflow, &gate.question, view);
                self.record_call(place, &call, out);
                out.push(Effect::OpenGate(Box::new(OpenGate {
                    call: call.id.clone(),
                    title: stage.title.clone(),
                    question,
                    wants: gate.wants,
                    mode: gate.mode,
                })));
                self.set_hold(Hold::Person(call.id.clone()));
                let since = call.since.unwrap_or(self.now);
                let until = gate.timeout.map(|timeout| since.plus(timeout));
                let call = CallState { attempt: call.attempt + 1, repeat: false, since: Some(since), ..call };
                self.put(place, Slot::Open { call, until });
                true
            }
            (RoundPosition::Main(_), Activity::Turns { .. })
            | (RoundPosition::Check(_) | RoundPosition::Exit, _) => {
                self.ask(workflow, stage, place, call, out)
            }
            (
                RoundPosition::Main(_)
                | RoundPosition::Report(_)
                | RoundPosition::Block(_)
                | RoundPosition::Proof(_)
                | RoundPosition::Outside(_),
                _,
            ) => self.perform(workflow, place, call, out),
        }
    }

    fn ask(
        &mut self,
        workflow: &Workflow,
        stage: &Stage,
        place: RoundPosition,
        mut call: CallState,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(mut request) = self.request(workflow, stage, place, &call) else { return false };
        // A program costs nothing.
        if request.program.is_none() {
            let price = turn_of(stage, place).and_then(|turn| turn.price);
            let next = self.ledger.estimate(&request.provider, request.model.as_deref(), price);
            if !self.ledger.fits(&self.limits.budget, self.reserved(), next, self.driven) {
                return self.over_budget(stage, place);
            }
            request.money = self.ledger.money_left(&self.limits.budget, self.reserved());
            call.reserved = next;
        }
        self.record_call(place, &call, out);
        if let (None, Purpose::Work, Some(draft)) = (&request.program, request.purpose, &mut request.draft) {
            self.show_notes(&call.id, draft, out);
            self.show_nudge(workflow, &call.id, request.permission, draft);
        }
        call.attempt += 1;
        call.repeat = false;
        call.since = call.since.or(Some(self.now));
        out.push(Effect::Ask(Box::new(request)));
        self.put(place, Slot::Busy(call));
        true
    }

    /// Handles a call that exceeds the budget: holds the run, or the turn continues without a result.
    fn over_budget(&mut self, stage: &Stage, place: RoundPosition) -> bool {
        if matches!(stage.does, Activity::Turns { on_failure: OnFailure::KeepGoing, .. }) {
            let failure = Some(Failure::new(FailureClass::Refused, "budget"));
            self.put(place, Slot::Done(Box::new(CallResult { failure, ..CallResult::default() })));
            return true;
        }
        self.set_hold(Hold::Budget);
        false
    }

    fn reserved(&self) -> Cost {
        let slots = self.visit.iter().flat_map(|visit| &visit.round.slots);
        slots.fold(Cost::default(), |sum, (_, slot)| match slot {
            Slot::Busy(call) => sum.plus(call.reserved),
            Slot::Waiting { .. } | Slot::Open { .. } | Slot::Done(_) => sum,
        })
    }

    fn record_call(&self, place: RoundPosition, call: &CallState, out: &mut Vec<Effect>) {
        let decision = if call.attempt == 0 {
            Decision::Called { call: call.id.clone(), place, purpose: call.purpose }
        } else if call.repeat && (call.purpose.is_none() || call.prompt.is_some()) {
            // A call that was decided but never sent is not a repeat. This happens if the deciding process only
            // recorded an answer.
            Decision::Repeated { call: call.id.clone(), attempt: call.attempt + 1 }
        } else {
            return;
        };
        out.push(Effect::Record(decision));
    }

    /// Returns the provider and the model of a call.
    pub(crate) fn asked_of(
        &self,
        workflow: &Workflow,
        place: RoundPosition,
        call: &CallState,
    ) -> Option<(ProviderName, Option<String>)> {
        let stage = workflow.stage(&call.id.stage)?;
        let turn = turn_of(stage, place)?;
        let (provider, model) = match workflow.wanted(&call.id.stage, place)? {
            ExpectedReply::Answer(_, Question { provider: Some(provider), model, .. }) => (provider, model),
            ExpectedReply::Answer(..) | ExpectedReply::Work(_) => (&turn.provider, &turn.model),
        };
        match call.provider.as_ref().or_else(|| self.whose_session(workflow, place, call)) {
            // Another provider does not know this model name.
            Some(other) => Some((other.clone(), None)),
            None => Some((provider.clone(), model.clone())),
        }
    }

    /// Returns the provider that answered the turn, for a question in the turn's own session.
    fn whose_session(
        &self,
        workflow: &Workflow,
        place: RoundPosition,
        call: &CallState,
    ) -> Option<&ProviderName> {
        let ExpectedReply::Answer(_, question) = workflow.wanted(&call.id.stage, place)? else { return None };
        let done = self.visit.as_ref()?.round.done(RoundPosition::Main(about(place)))?;
        done.provider.as_ref().filter(|_| question.session == QuestionSession::Same)
    }

    fn request(
        &self,
        workflow: &Workflow,
        stage: &Stage,
        place: RoundPosition,
        call: &CallState,
    ) -> Option<Request> {
        let turn = turn_of(stage, place)?;
        let (provider, model) = self.asked_of(workflow, place, call)?;
        let wanted = workflow.wanted(&call.id.stage, place)?;
        let purpose = call.purpose.unwrap_or(Purpose::Work);
        let question = match wanted {
            ExpectedReply::Work(_) => None,
            ExpectedReply::Answer(_, question) => Some(question),
        };
        let session = self.session(turn, place, call, question);
        let fresh = question.is_some_and(|question| question.session == QuestionSession::Fresh);
        let view = DraftView { place, new_session: session.is_none() && self.goes_on(turn, call, question) };
        let draft = match (&call.prompt, purpose, wanted) {
            (Some(_), _, _) => None,
            (None, Purpose::Correction, ExpectedReply::Work(reads)) => reads
                .output
                .as_ref()
                .map(|output| self.draft_correction(workflow, &output.correction, view, call)),
            (None, Purpose::Correction, ExpectedReply::Answer(_, question)) => {
                Some(self.draft_correction(workflow, &question.correction, view, call))
            }
            (None, _, ExpectedReply::Work(_)) => Some(self.draft(workflow, &turn.prompt, view)),
            (None, _, ExpectedReply::Answer(_, question)) => {
                Some(self.draft(workflow, &question.prompt, view))
            }
        };
        Some(Request {
            call: call.id.clone(),
            place,
            purpose,
            attempt: call.attempt + 1,
            turn: (place != RoundPosition::Exit).then(|| turn.id.clone()),
            title: if place == RoundPosition::Exit { stage.title.clone() } else { turn.title.clone() },
            role: turn.role.clone(),
            draft,
            prompt: call.prompt.clone(),
            persona: if fresh { None } else { turn.persona.clone() },
            provider,
            program: turn.program.clone().filter(|_| question.is_none()),
            model,
            permission: if question.is_some() { Permission::ReadOnly } else { turn.permission },
            tools: if fresh { Some(Vec::new()) } else { turn.tools.clone() },
            schema: schema(wanted),
            session,
            timeout: self.time_left(turn, call),
            max_calls: turn.max_calls,
            money: None,
        })
    }

    /// Returns the word that only the call at a place of this round knows (N-1).
    pub(crate) fn nonce_at(&self, place: RoundPosition) -> Option<String> {
        let visit = self.visit.as_ref()?;
        let call =
            CallId { stage: visit.stage.clone(), visit: visit.number, round: visit.round.number, n: 0 };
        Some(self.nonce(&call, place))
    }

    /// Returns the word that only this call knows. Its attempts have the same one, so that a retry sends the same bytes.
    pub fn nonce(&self, call: &CallId, place: RoundPosition) -> String {
        // No vowels, and nothing that looks like another character.
        const LETTERS: &[u8; 16] = b"bcdfghjkmnpqrtvx";
        let CallId { stage, visit, round, n: _ } = call;
        let name = format!("verdict\n{}\n{stage}\n{visit}\n{round}\n{place:?}", self.seed);
        let digest = saihai_judge::sha256(&name);
        let digits = digest.chars().filter_map(|digit| digit.to_digit(16)).take(6);
        digits.map(|digit| char::from(LETTERS[digit as usize])).collect()
    }

    /// Returns true if a call continues a conversation, so that its prompt must mention a missing session. This holds
    /// for a question about a reply, a correction, and a later round.
    fn goes_on(&self, turn: &Turn, call: &CallState, question: Option<&Question>) -> bool {
        match (question, &call.first) {
            (Some(question), _) => question.session == QuestionSession::Same,
            (None, Some(_)) => true,
            (None, None) => matches!(turn.session, SessionPolicy::Continue(_)) && self.counts.iteration > 1,
        }
    }

    /// Returns the deadline of an attempt: its own, or the rest of the turn's.
    fn time_left(&self, turn: &Turn, call: &CallState) -> Option<Millis> {
        let spent = call.since.map_or(Millis(0), |since| self.now.since(since));
        let left = turn.within.map(|within| Millis(within.0.saturating_sub(spent.0).max(1)));
        turn.timeout.into_iter().chain(left).min()
    }

    /// Returns the session that a call continues, if the asked provider has one.
    fn session(
        &self,
        turn: &Turn,
        place: RoundPosition,
        call: &CallState,
        question: Option<&Question>,
    ) -> Option<String> {
        if call.new_session {
            return None;
        }
        let of_turn = |index| self.visit.as_ref()?.round.done(RoundPosition::Main(index))?.session.clone();
        match (question, place) {
            (Some(question), _) if question.session == QuestionSession::Fresh => None,
            (Some(_), _) => {
                let first = call.first.as_ref().and_then(|first| first.session.clone());
                // A fallback provider does not know the turn's session.
                first.or_else(|| of_turn(about(place)).filter(|_| call.provider.is_none()))
            }
            (None, _) => match (&call.first, &turn.session) {
                (Some(first), _) => first.session.clone(),
                (None, SessionPolicy::Fresh | SessionPolicy::Renew(_)) => None,
                (None, SessionPolicy::Continue(_)) => self.kept_session(turn),
            },
        }
    }

    /// Returns the kept session that a turn continues.
    pub(crate) fn kept_session(&self, turn: &Turn) -> Option<String> {
        let SessionPolicy::Continue(key) = &turn.session else { return None };
        let (provider, session) = self.sessions.get(key)?;
        (*provider == turn.provider).then(|| session.clone())
    }

    fn perform(
        &mut self,
        workflow: &Workflow,
        place: RoundPosition,
        mut call: CallState,
        out: &mut Vec<Effect>,
    ) -> bool {
        let Some(action) = self.action_at(workflow, place) else { return false };
        let given = self.given(workflow, place, &action);
        self.record_call(place, &call, out);
        let look_up = call.attempt > 0 && action.once == Once::LookUpFirst;
        call.attempt += 1;
        call.repeat = false;
        call.since = call.since.or(Some(self.now));
        out.push(Effect::Perform(Box::new(Performance { call: call.id.clone(), action, given, look_up })));
        self.put(place, Slot::Busy(call));
        true
    }

    /// Returns the action for a place.
    pub(crate) fn action_at(&self, workflow: &Workflow, place: RoundPosition) -> Option<ActionSpec> {
        let visit = self.visit.as_ref()?;
        let stage = workflow.stage(&visit.stage)?;
        match place {
            RoundPosition::Main(_) => match &stage.does {
                Activity::Action(action) => Some(action.clone()),
                Activity::Turns { .. } | Activity::Gate(_) => None,
            },
            RoundPosition::Report(_) => Some(ActionSpec {
                does: saihai_model::Action::SaveReports,
                inputs: Vec::new(),
                once: Once::SetToValue,
                poll: None,
            }),
            RoundPosition::Block(index) => {
                self.block_actions(workflow).into_iter().nth(index).map(|(_, action)| action)
            }
            RoundPosition::Proof(index) => stage.proofs().nth(index).map(|proof| proof.by.clone()),
            RoundPosition::Outside(index) => workflow.completion.actions().into_iter().nth(index).cloned(),
            RoundPosition::Check(_) | RoundPosition::Exit => None,
        }
    }

    /// Returns the blocks of this round that request an action, in order.
    pub(crate) fn block_actions(&self, workflow: &Workflow) -> Vec<(ReplyBlock, ActionSpec)> {
        let Some(visit) = &self.visit else { return Vec::new() };
        let Some(stage) = workflow.stage(&visit.stage) else { return Vec::new() };
        let mut actions = Vec::new();
        for (index, turn) in stage.turns().iter().enumerate() {
            let (Some(blocks), Some(done)) =
                (&turn.reads.blocks, visit.round.done(RoundPosition::Main(index)))
            else {
                continue;
            };
            for block in &done.reading.blocks {
                if let Some(BlockUse::Do(action)) = blocks.uses.get(&block.kind) {
                    actions.push((block.clone(), action.clone()));
                }
            }
        }
        actions
    }

    fn given(&self, workflow: &Workflow, place: RoundPosition, action: &ActionSpec) -> ActionInput {
        let done = |index| self.visit.as_ref().and_then(|visit| visit.round.done(RoundPosition::Main(index)));
        match place {
            RoundPosition::Report(index) => {
                let empty = || Text::from("");
                let found = done(index).map(|done| done.reading.reports.clone()).unwrap_or_default();
                let last = found.iter().filter_map(|found| {
                    self.reports.get(&found.file).map(|hash| (found.file.clone(), hash.clone()))
                });
                let last = last.collect();
                ActionInput::Reports {
                    text: done(index).and_then(|done| done.reply.clone()).unwrap_or_else(empty),
                    found,
                    last,
                }
            }
            RoundPosition::Block(index) => match self.block_actions(workflow).into_iter().nth(index) {
                Some((block, _)) => ActionInput::Block(block),
                None => ActionInput::Outputs(BTreeMap::new()),
            },
            RoundPosition::Main(_)
            | RoundPosition::Check(_)
            | RoundPosition::Exit
            | RoundPosition::Proof(_)
            | RoundPosition::Outside(_) => ActionInput::Outputs(self.inputs_of(action)),
        }
    }

    fn inputs_of(&self, action: &ActionSpec) -> BTreeMap<String, Json> {
        let inputs = action.inputs.iter().filter_map(|(stage, key)| {
            let value = self.carry.outputs.get(stage)?.get(key)?;
            Some((format!("{stage}.{key}"), value.clone()))
        });
        inputs.collect()
    }

    /// Allocates the id of the next call of this round.
    pub(crate) fn next_call(&mut self) -> CallId {
        let visit = self.visit.as_mut().expect("calls are only made during a visit");
        visit.round.calls += 1;
        CallId {
            stage: visit.stage.clone(),
            visit: visit.number,
            round: visit.round.number,
            n: visit.round.calls,
        }
    }
}

/// Returns true if a program does the turn at a place.
pub(crate) fn is_program(workflow: &Workflow, place: RoundPosition, call: &CallState) -> bool {
    let RoundPosition::Main(index) = place else { return false };
    let turn = workflow.stage(&call.id.stage).and_then(|stage| stage.turns().get(index));
    turn.is_some_and(|turn| turn.program.is_some())
}

/// Returns the turn of a place. The exit's question belongs to the first turn that asks an agent.
fn turn_of(stage: &Stage, place: RoundPosition) -> Option<&Turn> {
    match place {
        RoundPosition::Main(index) | RoundPosition::Check(index) => stage.turns().get(index),
        RoundPosition::Exit => stage.agent_turns().next().or(stage.turns().first()),
        RoundPosition::Report(_)
        | RoundPosition::Block(_)
        | RoundPosition::Proof(_)
        | RoundPosition::Outside(_) => None,
    }
}

/// Returns the index of the turn of a place. The exit's question belongs to the first turn.
pub(crate) fn about(place: RoundPosition) -> usize {
    match place {
        RoundPosition::Main(index) | RoundPosition::Check(index) => index,
        RoundPosition::Exit
        | RoundPosition::Report(_)
        | RoundPosition::Block(_)
        | RoundPosition::Proof(_)
        | RoundPosition::Outside(_) => 0,
    }
}

/// Returns the deadline for all calls of the turn at a place.
pub(crate) fn within(workflow: &Workflow, place: RoundPosition, call: &CallState) -> Option<Millis> {
    workflow.stage(&call.id.stage).and_then(|stage| turn_of(stage, place))?.within
}

fn schema(wanted: ExpectedReply<'_>) -> Option<Json> {
    match wanted {
        // An optional output is extracted from the reply. Only a required output demands a format from the agent.
        ExpectedReply::Work(reads) => {
            let demanded = reads.output.as_ref().filter(|output| output.schema.required);
            demanded.map(|output| output.schema.schema.clone())
        }
        ExpectedReply::Answer(_, question) => match &question.answer {
            AnswerForm::Tag => None,
            AnswerForm::Form { schema, .. } => Some(schema.schema.clone()),
        },
    }
}
