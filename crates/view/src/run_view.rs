//! The fold of a journal, and the state of a run that follows from it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use saihai_model::{
    Answer, Budget, BudgetLoan, CallFailed, CallId, Cost, Decision, Destination, Ending, ExitStatus, FORKED,
    Fact, Failure, FileChangeCounts, Hold, Label, Millis, Moment, Outcome, PersonNote, ProviderName, Purpose,
    Record, RecordEntry, Remark, Replied, RoundPosition, StageId, StallConsequence, StallEvidence, Start,
    Text, Topic, Usage, Usd, Verdict,
};

/// A run, folded from its records. Its size grows with the number of calls, never with the size of texts.
#[derive(Debug, Clone)]
pub struct RunView {
    pub start: Box<Start>,
    pub started: Moment,
    /// Number of the last record.
    pub last_seq: u64,
    pub last_at: Moment,
    pub visits: Vec<VisitView>,
    /// All calls of the run in start order; a round refers to its own by range.
    pub calls: Vec<CallView>,
    pub answers: Vec<Answer>,
    /// Notes of a person to the agents, in order; a note's number is its place from 1.
    pub person_notes: Vec<PersonNoteView>,
    /// Budgets of the runs that agents of this run started.
    pub loans: Vec<BudgetLoan>,
    /// Files that differ from the start, when the run last stopped. Absent without git, and in older journals.
    pub file_changes: Option<FileChangeCounts>,
    pub cancelled: bool,
    pub iterations: u32,
    pub turns: u64,
    pub usage: Usage,
    /// Sum of the reported costs; `None` if no provider reported one.
    pub cost: Option<Usd>,
    /// Providers with a turn of unknown cost, which `cost` leaves out.
    pub unpriced: BTreeSet<ProviderName>,
    /// Active time of the run, without parked time and the time after a crash.
    pub driven: Millis,
    /// Iteration limit that a later `resume` set.
    pub most_iterations: Option<u32>,
    /// Budget keys that later calls of `resume` set.
    pub raised_budget: Budget,
    /// Last failure of a call or an action.
    pub last_failure: Option<Failure>,
    /// Last failure of the disk: path and message.
    pub last_storage_failure: Option<(String, String)>,
    /// Number of the first visits that a forked run has from its original.
    pub inherited_visits: usize,
    /// Periods in which nothing was done, in order.
    pub pauses: Vec<PauseView>,
    pub(crate) notes: Vec<NoteView>,
    progress: RunProgress,
    /// Time of the last record while the run was active.
    driven_at: Option<Moment>,
    index: BTreeMap<CallId, usize>,
}

/// A note of a person, and the calls whose prompts show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonNoteView {
    pub number: u32,
    pub at: Moment,
    pub note: PersonNote,
    pub shown_in: Vec<CallId>,
    pub is_withdrawn: bool,
}

impl PersonNoteView {
    /// Returns true if no prompt shows the note yet and it was not withdrawn.
    pub fn is_waiting(&self) -> bool {
        self.shown_in.is_empty() && !self.is_withdrawn
    }
}

/// A period in which nothing was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseView {
    pub from: Moment,
    /// Absent if it lasts.
    pub until: Option<Moment>,
    /// Reason for the park. Absent if the process of the run had died.
    pub hold: Option<Hold>,
}

#[derive(Debug, Clone)]
pub struct VisitView {
    pub stage: StageId,
    pub visit: u32,
    /// Number of entries of the stage in a row.
    pub consecutive: u32,
    pub entered: Moment,
    pub left: Option<Moment>,
    /// Time of its pauses that are over.
    pub waited: Millis,
    pub rounds: Vec<RoundView>,
    /// Cost of its calls, including failed attempts.
    pub cost: Cost,
}

#[derive(Debug, Clone)]
pub struct RoundView {
    /// Number of the round in its visit.
    pub round: u32,
    /// Iteration of the run in which it took place.
    pub iteration: u32,
    /// False for rounds of gates and actions, which are not iterations.
    pub is_counted: bool,
    pub began: Moment,
    pub calls: Range<usize>,
    pub exit: Option<ExitView>,
}

/// An exit or a repeat of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct ExitView {
    pub seq: u64,
    pub at: Moment,
    pub verdict: Verdict,
}

/// A question to an agent or a person, or an action.
#[derive(Debug, Clone)]
pub struct CallView {
    pub id: CallId,
    pub place: RoundPosition,
    /// Purpose of a call to an agent; `None` for gates and actions.
    pub purpose: Option<Purpose>,
    pub called: Moment,
    pub attempts: Vec<AttemptView>,
    /// True until the next attempt starts: the call is new, or its process died.
    pub is_queued: bool,
    /// Time of the next attempt, after a failed one.
    pub retry_at: Option<Moment>,
    /// Results of an action, in order; all but the last asked to wait.
    pub performed: Vec<PerformedView>,
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone)]
pub struct PerformedView {
    pub seq: u64,
    pub at: Moment,
    pub outcome: Outcome,
}

#[derive(Debug, Clone)]
pub struct AttemptView {
    pub seq: u64,
    pub asked: Moment,
    /// `None` if the prompt of the previous attempt was sent again.
    pub prompt: Option<Text>,
    pub result: AttemptResult,
}

#[derive(Debug, Clone)]
pub enum AttemptResult {
    /// Running, or its process died.
    Open,
    Replied {
        seq: u64,
        at: Moment,
        reply: Box<Replied>,
    },
    Failed {
        seq: u64,
        at: Moment,
        failed: Box<CallFailed>,
    },
}

/// A decision that explains the next exit or the previous one.
#[derive(Debug, Clone)]
pub(crate) struct NoteView {
    pub(crate) seq: u64,
    pub(crate) kind: NoteKind,
}

#[derive(Debug, Clone)]
pub(crate) enum NoteKind {
    Alarm { monitor: usize, count: u32, overrode: Option<Label> },
    Refused { missing: Vec<Topic> },
    Remarked { topic: Topic, remark: Remark },
    Stalled { evidence: StallEvidence, then: StallConsequence },
}

/// Activity of the run according to its last decision.
#[derive(Debug, Clone)]
struct RunProgress {
    resting: RunRest,
    /// True if a person answered, and no process has driven the run since.
    is_answered: bool,
    /// Provider of the last failed call.
    failed: Option<(CallId, ProviderName)>,
    /// Calls that wait for a time, and the provider that asked for it.
    waits: Vec<(CallId, Moment, Option<ProviderName>)>,
}

#[derive(Debug, Clone)]
enum RunRest {
    Going,
    Parked(Hold, Option<ProviderName>),
    Ended(Ending),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunState {
    /// A living process drives the run. `owner` is its id, if the lock contains it. `gate` is the question it waits at
    /// for a person, if nothing else is under way.
    Running {
        owner: Option<u32>,
        gate: Option<CallId>,
    },
    /// The process that drove the run died. It can be resumed.
    Interrupted,
    /// No process drives the run, and the awaited answer has arrived. It can be resumed.
    Ready,
    /// The run waits. `provider` is the failed one, if that is the reason.
    Parked {
        hold: Hold,
        provider: Option<ProviderName>,
    },
    Ended {
        ending: Ending,
    },
}

impl RunView {
    /// Starts the fold with the first record of a journal. Returns `None` if that is not the start of a run.
    pub fn begin(record: &Record) -> Option<Self> {
        let RecordEntry::Fact(Fact::Started(start)) = &record.entry else { return None };
        Some(Self {
            start: start.clone(),
            started: record.at,
            last_seq: record.seq,
            last_at: record.at,
            visits: Vec::new(),
            calls: Vec::new(),
            answers: Vec::new(),
            person_notes: Vec::new(),
            loans: Vec::new(),
            file_changes: None,
            cancelled: false,
            iterations: 0,
            turns: 0,
            usage: Usage::default(),
            cost: None,
            unpriced: BTreeSet::new(),
            driven: Millis(0),
            most_iterations: None,
            raised_budget: Budget::default(),
            last_failure: None,
            last_storage_failure: None,
            inherited_visits: 0,
            pauses: Vec::new(),
            notes: Vec::new(),
            progress: RunProgress {
                resting: RunRest::Going,
                is_answered: false,
                failed: None,
                waits: Vec::new(),
            },
            driven_at: Some(record.at),
            index: BTreeMap::new(),
        })
    }

    pub fn apply(&mut self, record: Record) {
        let Record { seq, at, entry } = record;
        self.count_driven(at, &entry);
        self.note_pause(at, &entry);
        (self.last_seq, self.last_at) = (seq, at);
        match entry {
            RecordEntry::Fact(fact) => self.apply_fact(seq, at, fact),
            RecordEntry::Decision(decision) => self.apply_decision(seq, at, decision),
        }
    }

    /// Returns the run's state. `owner`: the holder of its lock, if any, by its process id, if known.
    pub fn state(&self, owner: Option<Option<u32>>) -> RunState {
        match (&self.progress.resting, owner) {
            (RunRest::Ended(ending), _) => RunState::Ended { ending: ending.clone() },
            (RunRest::Parked(Hold::Person(call), _), Some(owner)) => {
                RunState::Running { owner, gate: Some(call.clone()) }
            }
            (_, Some(owner)) => RunState::Running { owner, gate: None },
            (RunRest::Parked(hold, provider), None) => {
                RunState::Parked { hold: hold.clone(), provider: provider.clone() }
            }
            (RunRest::Going, None) if self.progress.is_answered => RunState::Ready,
            (RunRest::Going, None) => RunState::Interrupted,
        }
    }

    /// Returns true if a round is under way: the run neither rests nor is between two stages.
    pub fn is_active(&self) -> bool {
        matches!(self.progress.resting, RunRest::Going)
            && self.current_round().is_some_and(|(_, round)| round.exit.is_none())
    }

    /// Returns the active time up to now, for a run that a process drives.
    pub fn driven_until(&self, now: Moment) -> Millis {
        let since = self.driven_at.map_or(Millis(0), |last| now.since(last));
        Millis(self.driven.0.saturating_add(since.0))
    }

    pub fn current_round(&self) -> Option<(&VisitView, &RoundView)> {
        let visit = self.visits.last()?;
        Some((visit, visit.rounds.last()?))
    }

    pub fn rounds(&self) -> impl Iterator<Item = (&VisitView, &RoundView)> {
        self.visits.iter().flat_map(|visit| visit.rounds.iter().map(move |round| (visit, round)))
    }

    pub fn calls_of(&self, round: &RoundView) -> &[CallView] {
        &self.calls[round.calls.clone()]
    }

    pub fn call(&self, id: &CallId) -> Option<&CallView> {
        self.index.get(id).map(|index| &self.calls[*index])
    }

    /// Returns the last exit and its stage.
    pub fn last_exit(&self) -> Option<(&StageId, &Verdict)> {
        let exits =
            self.rounds().filter_map(|(visit, round)| Some((&visit.stage, &round.exit.as_ref()?.verdict)));
        exits.last()
    }

    /// Counts active time: neither parked time nor the gap between the death of one process and the start of the next.
    fn count_driven(&mut self, at: Moment, entry: &RecordEntry) {
        // Files are counted after the work.
        if matches!(entry, RecordEntry::Fact(Fact::FilesCounted(_))) {
            return;
        }
        let takes_over = matches!(
            entry,
            RecordEntry::Fact(Fact::Started(_) | Fact::Reopened | Fact::Resumed(_) | Fact::Answered(_))
        );
        if let Some(last) = self.driven_at.filter(|_| !takes_over) {
            self.driven = Millis(self.driven.0.saturating_add(at.since(last).0));
        }
        let is_parked = matches!(entry, RecordEntry::Decision(Decision::Parked { .. }));
        // A note to a parked run leaves it parked.
        let is_note = matches!(entry, RecordEntry::Fact(Fact::Told(_) | Fact::Withdrawn { .. }));
        let stays_parked = is_note && self.driven_at.is_none();
        self.driven_at = (!is_parked && !stays_parked).then_some(at);
    }

    /// A pause begins when the run parks or its process dies, and lasts until the next decision.
    fn note_pause(&mut self, at: Moment, entry: &RecordEntry) {
        let open = self.pauses.last_mut().filter(|pause| pause.until.is_none());
        match (entry, open) {
            (RecordEntry::Decision(Decision::Parked { .. }), Some(_)) => {}
            (RecordEntry::Decision(Decision::Parked { hold }), None) => {
                self.pauses.push(PauseView { from: at, until: None, hold: Some(hold.clone()) });
            }
            (RecordEntry::Decision(_), Some(open)) => {
                open.until = Some(at);
                let from = open.from;
                self.count_waited(from, at);
            }
            (RecordEntry::Fact(Fact::Reopened), None) if self.driven_at.is_some() => {
                self.pauses.push(PauseView { from: self.last_at, until: Some(at), hold: None });
                self.count_waited(self.last_at, at);
            }
            _ => {}
        }
    }

    /// A pause is a part of the visit in which it begins: the next decision ends it.
    fn count_waited(&mut self, from: Moment, until: Moment) {
        if let Some(visit) = self.visits.last_mut() {
            visit.waited = Millis(visit.waited.0.saturating_add(until.since(from).0));
        }
    }

    fn apply_fact(&mut self, seq: u64, at: Moment, fact: Fact) {
        match fact {
            Fact::Asked { call, prompt, .. } => {
                self.progress.is_answered = false;
                if let Some(call) = self.call_mut(&call) {
                    (call.is_queued, call.retry_at) = (false, None);
                    match call.attempts.last_mut() {
                        // A worker on another machine rendered the prompt, so it arrives after the ask.
                        Some(AttemptView { prompt: lacking @ None, result: AttemptResult::Open, .. })
                            if prompt.is_some() =>
                        {
                            *lacking = prompt;
                        }
                        _ => call.attempts.push(AttemptView {
                            seq,
                            asked: at,
                            prompt,
                            result: AttemptResult::Open,
                        }),
                    }
                }
            }
            Fact::Replied(reply) => {
                self.progress.is_answered = false;
                // A program costs nothing, unlike a turn of an agent.
                let turns = u64::from(reply.reading.exit.is_none());
                self.turns += turns;
                // A cached reply costs nothing.
                if let Some(provider) =
                    reply.provider.as_ref().filter(|_| reply.cost.is_none() && !reply.cached && turns > 0)
                {
                    self.unpriced.insert(provider.clone());
                }
                self.spend(reply.cost, &reply.usage, turns);
                self.finish(&reply.call.clone(), AttemptResult::Replied { seq, at, reply });
            }
            Fact::Failed(failed) => {
                self.progress.is_answered = false;
                self.progress.failed =
                    failed.provider.clone().map(|provider| (failed.call.clone(), provider));
                let has_spent = failed.usage.tokens() > 0;
                if let Some(provider) =
                    failed.provider.as_ref().filter(|_| failed.cost.is_none() && has_spent)
                {
                    self.unpriced.insert(provider.clone());
                }
                self.spend(failed.cost, &failed.usage, 0);
                self.last_failure = Some(failed.failure.clone());
                self.finish(&failed.call.clone(), AttemptResult::Failed { seq, at, failed });
            }
            Fact::Performed { call, outcome } => {
                self.progress.is_answered = false;
                if let Outcome::Failed(failure) = &outcome {
                    self.last_failure = Some(failure.clone());
                }
                if let Some(call) = self.call_mut(&call) {
                    call.performed.push(PerformedView { seq, at, outcome });
                }
            }
            Fact::Answered(answer) => {
                self.progress.is_answered = true;
                if let Some(call) = self.call_mut(&answer.call.clone()) {
                    call.answer = Some(answer.clone());
                }
                self.answers.push(answer);
            }
            Fact::Resumed(raise) => {
                self.progress.is_answered = false;
                self.progress.resting = RunRest::Going;
                self.most_iterations = raise.rounds.or(self.most_iterations);
                self.raised_budget = self.raised_budget.replaced_by(&raise.budget);
            }
            Fact::StorageFailed { path, message, .. } => self.last_storage_failure = Some((path, message)),
            Fact::Cancelled { .. } => self.cancelled = true,
            Fact::Told(note) => {
                let number = u32::try_from(self.person_notes.len() + 1).unwrap_or(u32::MAX);
                let (shown_in, is_withdrawn) = (Vec::new(), false);
                self.person_notes.push(PersonNoteView { number, at, note, shown_in, is_withdrawn });
            }
            Fact::FilesCounted(counts) => self.file_changes = Some(counts),
            Fact::Lent(loan) => self.loans.push(loan),
            Fact::Withdrawn { note } => {
                if let Some(note) = self.note_mut(note).filter(|note| note.shown_in.is_empty()) {
                    note.is_withdrawn = true;
                }
            }
            Fact::Interrupted { by } if by == FORKED && self.start.forked_from.is_some() => self.fork(at),
            Fact::Started(_) | Fact::Woke | Fact::Reopened | Fact::Interrupted { .. } => {}
        }
    }

    /// Starts the account of a fork. The original has paid for the records before, and keeps their time.
    fn fork(&mut self, at: Moment) {
        self.started = at;
        (self.turns, self.usage, self.cost) = (0, Usage::default(), None);
        self.unpriced.clear();
        (self.driven, self.driven_at) = (Millis(0), Some(at));
        self.inherited_visits = self.visits.len();
        self.pauses.clear();
        self.file_changes = None;
    }

    fn apply_decision(&mut self, seq: u64, at: Moment, decision: Decision) {
        // A decision after the run was parked means that it continued.
        self.progress.resting = RunRest::Going;
        match decision {
            Decision::Entered { stage, visit, consecutive } => {
                self.progress.waits.clear();
                let first = self.new_round(1, at);
                let rounds = vec![first];
                let cost = Cost::default();
                self.visits.push(VisitView {
                    stage,
                    visit,
                    consecutive,
                    entered: at,
                    left: None,
                    waited: Millis(0),
                    rounds,
                    cost,
                });
            }
            Decision::Round { round, iteration } => {
                self.iterations = iteration;
                self.count_round(round, at);
            }
            Decision::Called { call, place, purpose } => self.start_call(call, place, purpose, at),
            Decision::Exited { verdict, .. } => {
                let goes_round = verdict.to == Destination::Again;
                if let Some(visit) = self.visits.last_mut() {
                    visit.left = if goes_round { visit.left } else { Some(at) };
                    if let Some(round) = visit.rounds.last_mut() {
                        round.exit = Some(ExitView { seq, at, verdict });
                    }
                }
            }
            Decision::Alarm { monitor, count, overrode } => {
                self.notes.push(NoteView { seq, kind: NoteKind::Alarm { monitor, count, overrode } });
            }
            Decision::Refused { missing } => {
                self.notes.push(NoteView { seq, kind: NoteKind::Refused { missing } });
            }
            Decision::Remarked { topic, remark } => {
                self.notes.push(NoteView { seq, kind: NoteKind::Remarked { topic, remark } });
            }
            Decision::Stalled { evidence, then } => {
                self.notes.push(NoteView { seq, kind: NoteKind::Stalled { evidence, then } });
            }
            Decision::Retry { call, not_before, .. } => {
                let failed = self.progress.failed.as_ref().filter(|(failed, _)| *failed == call);
                let provider = failed.map(|(_, provider)| provider.clone());
                if let Some(call) = self.call_mut(&call) {
                    call.retry_at = Some(not_before);
                }
                self.progress.waits.retain(|(waiting, ..)| *waiting != call);
                self.progress.waits.push((call, not_before, provider));
            }
            Decision::Parked { hold } => {
                let provider = self.progress.at_fault(&hold);
                self.progress.resting = RunRest::Parked(hold, provider);
            }
            Decision::Finished { ending } => self.progress.resting = RunRest::Ended(ending),
            Decision::Noted { call, notes } => {
                for number in notes {
                    if let Some(note) = self.note_mut(number) {
                        note.shown_in.push(call.clone());
                    }
                }
            }
            Decision::Repeated { call, .. } => {
                if let Some(call) = self.call_mut(&call) {
                    call.is_queued = true;
                }
            }
            Decision::Correct { .. }
            | Decision::Unfit { .. }
            | Decision::Reports { .. }
            | Decision::Exhausted { .. } => {}
        }
    }

    fn new_round(&self, round: u32, began: Moment) -> RoundView {
        let calls = self.calls.len()..self.calls.len();
        RoundView { round, iteration: self.iterations, is_counted: false, began, calls, exit: None }
    }

    fn count_round(&mut self, number: u32, at: Moment) {
        let fresh = self.new_round(number, at);
        let Some(visit) = self.visits.last_mut() else { return };
        if visit.rounds.last().is_some_and(|round| round.exit.is_some() || !round.calls.is_empty()) {
            visit.rounds.push(fresh);
        }
        if let Some(round) = visit.rounds.last_mut() {
            (round.round, round.iteration, round.is_counted) = (number, self.iterations, true);
            round.began = at;
        }
    }

    fn start_call(&mut self, id: CallId, place: RoundPosition, purpose: Option<Purpose>, at: Moment) {
        // Gates and actions repeat without being counted.
        let fresh = self.new_round(id.round, at);
        if let Some(visit) = self.visits.last_mut() {
            if visit.rounds.last().is_some_and(|round| round.exit.is_some()) {
                visit.rounds.push(fresh);
            }
            if let Some(round) = visit.rounds.last_mut() {
                round.calls.end = self.calls.len() + 1;
            }
        }
        self.index.insert(id.clone(), self.calls.len());
        let (attempts, performed) = (Vec::new(), Vec::new());
        let (is_queued, retry_at, answer) = (true, None, None);
        self.calls.push(CallView {
            id,
            place,
            purpose,
            called: at,
            attempts,
            is_queued,
            retry_at,
            performed,
            answer,
        });
    }

    fn note_mut(&mut self, number: u32) -> Option<&mut PersonNoteView> {
        self.person_notes.get_mut(usize::try_from(number).ok()?.checked_sub(1)?)
    }

    fn call_mut(&mut self, id: &CallId) -> Option<&mut CallView> {
        self.index.get(id).map(|index| &mut self.calls[*index])
    }

    fn finish(&mut self, call: &CallId, result: AttemptResult) {
        let (seq, asked) = (self.last_seq, self.last_at);
        let Some(call) = self.call_mut(call) else { return };
        match call.attempts.last_mut() {
            Some(attempt) => attempt.result = result,
            // A call can fail before it is asked: no provider, or a prompt that cannot be rendered.
            None => call.attempts.push(AttemptView { seq, asked, prompt: None, result }),
        }
    }

    fn spend(&mut self, usd: Option<Usd>, usage: &Usage, turns: u64) {
        add_usage(&mut self.usage, usage);
        if let Some(usd) = usd {
            self.cost = Some(Usd(self.cost.unwrap_or_default().0.saturating_add(usd.0)));
        }
        if let Some(visit) = self.visits.last_mut() {
            let cost = Cost { usd: usd.unwrap_or_default(), tokens: usage.tokens(), turns };
            visit.cost = visit.cost.plus(cost);
        }
    }
}

impl RunState {
    /// Returns the word in tables, JSON and `--state`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Running { gate: None, .. } => "running",
            Self::Interrupted | Self::Ready => "interrupted",
            Self::Running { gate: Some(_), .. } | Self::Parked { .. } => "parked",
            Self::Ended { ending } => ending.outcome(),
        }
    }

    /// Returns the word for the reason of its wait or end.
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Running { gate: Some(_), .. } => Some("person"),
            Self::Running { .. } | Self::Interrupted | Self::Ready => None,
            Self::Parked { hold, .. } => Some(hold.reason()),
            Self::Ended { ending } => Some(ending.reason()),
        }
    }

    pub fn provider(&self) -> Option<&str> {
        match self {
            Self::Parked { provider, .. } => provider.as_ref().map(ProviderName::as_str),
            _ => None,
        }
    }

    /// Returns the time before which the provider cannot serve.
    pub fn until(&self) -> Option<Moment> {
        match self {
            Self::Parked { hold: Hold::Until(at, _), .. } => Some(*at),
            _ => None,
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self, Self::Ended { .. })
    }

    /// Returns the status of a command that leaves the run in this state.
    pub fn exit_status(&self) -> ExitStatus {
        match self {
            Self::Running { gate: Some(call), .. } => {
                ExitStatus::of_run(None, Some(&Hold::Person(call.clone())))
            }
            Self::Running { .. } | Self::Interrupted | Self::Ready => {
                ExitStatus::of_run(None, Some(&Hold::Interrupted))
            }
            Self::Parked { hold, .. } => ExitStatus::of_run(None, Some(hold)),
            Self::Ended { ending } => ExitStatus::of_run(Some(ending), None),
        }
    }

    pub fn exit_code(&self) -> u8 {
        self.exit_status().code()
    }
}

impl VisitView {
    /// Returns the time from the entry to the exit without the pauses.
    pub fn active_time(&self) -> Option<Millis> {
        let whole = self.left?.since(self.entered);
        Some(Millis(whole.0.saturating_sub(self.waited.0)))
    }

    /// Returns the number of the last counted round, or 0.
    pub fn counted_rounds(&self) -> u32 {
        self.rounds.iter().rev().find(|round| round.is_counted).map_or(0, |round| round.round)
    }
}

impl CallView {
    /// Returns the reply, if there is one.
    pub fn reply(&self) -> Option<&Replied> {
        self.attempts.iter().rev().find_map(|attempt| match &attempt.result {
            AttemptResult::Replied { reply, .. } => Some(&**reply),
            AttemptResult::Open | AttemptResult::Failed { .. } => None,
        })
    }

    /// Returns the prompt that was sent last.
    pub fn prompt(&self) -> Option<&Text> {
        self.attempts.iter().rev().find_map(|attempt| attempt.prompt.as_ref())
    }
}

impl RunProgress {
    fn at_fault(&self, hold: &Hold) -> Option<ProviderName> {
        match hold {
            Hold::Until(at, _) => self.waits.iter().find(|(_, until, _)| until == at)?.2.clone(),
            Hold::Provider(call, _) => {
                let failed = self.failed.as_ref().filter(|(failed, _)| failed == call);
                failed.map(|(_, provider)| provider.clone())
            }
            _ => None,
        }
    }
}

fn add_usage(sum: &mut Usage, usage: &Usage) {
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
