//! One invocation of `saihai work`: a map from issues to their states, and the decisions about them.
//!
//! It has no journal of its own (I-8). [`schedule`] says what starts next; the run of an issue says how it stands.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use saihai::DriverControl;
use saihai_git::ItemLock;
use saihai_model::{
    Budget, Cost, Hold, Issue, IssueNumber, Millis, Moment, ProviderName, StatusLabel, WorkOutcome,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::{
    DependencyObstacle, DependencyPolicy, DependencyReason, IssueActivity, IssueAssignment, IssueDefinition,
    IssueEnd, IssueEvent, IssueEvents, IssueProgress, IssueReason, IssueResult, IssueSelection, IssueWork,
    IssueWorkState, Listing, NextWork, PlannedIssue, PollBackoffs, PollSchedule, RepeatFlags, Schedule,
    ScheduleInput, ScheduleStep, WorkContext, WorkPlan, issue_item, schedule,
};

/// The issues of an invocation.
pub struct WorkBatch {
    pub context: Arc<WorkContext>,
    pub id: String,
    pub selection: IssueSelection,
    /// True for `--retry`; applies once to each issue, even if it is listed again.
    pub retry: bool,
    pub adopt: bool,
    pub plan: WorkPlan,
    pub progress: BTreeMap<IssueNumber, IssueProgress>,
    pub issues: BTreeMap<IssueNumber, BatchIssue>,
    /// The schedule for listing issues again (`--watch`).
    pub poll: Option<PollSchedule>,
    paused: BTreeMap<ProviderName, Moment>,
    backoffs: PollBackoffs,
    /// Ids of the runs that this invocation started.
    begun: BTreeSet<String>,
    /// Tells the threads not to start any more runs.
    stopped: Arc<AtomicBool>,
    sender: UnboundedSender<(IssueNumber, IssueEvent)>,
}

/// An issue of an invocation.
pub struct BatchIssue {
    pub issue: Issue,
    pub definition: Option<Arc<IssueDefinition>>,
    base: String,
    state: IssueWorkState,
    control: Option<DriverControl>,
    lock: Option<Arc<ItemLock>>,
    /// Reserved budget while it is driven.
    reserved: Option<Budget>,
    next: Option<NextWork>,
    /// Cost and time when it was last driven.
    spent: Option<(Cost, Millis)>,
    /// Cost that this invocation has heard of.
    pub heard: Cost,
    pub since: Option<Moment>,
    /// Fingerprint of its text when its run started.
    text_at_start: Option<String>,
    /// True if its text changed after a failure, so that it starts again.
    again: bool,
    tried: bool,
    last: Option<EndedIssue>,
}

/// The last result of an issue.
#[derive(Debug, Clone)]
struct EndedIssue {
    outcome: WorkOutcome,
    /// Its pull request, or otherwise its branch.
    delivered: Option<String>,
    /// True if something external blocks its run, such as a missing review.
    outside: bool,
}

/// The effect of a step of the schedule.
pub enum BatchStep {
    Started,
    Ended(Box<IssueEnd>),
}

#[derive(Default)]
pub struct ListingNews {
    /// Issues that are already done.
    pub done: Vec<(IssueNumber, IssueEnd)>,
    /// New issues that wait for their start.
    pub queued: Vec<IssueNumber>,
}

impl BatchIssue {
    fn new(issue: Issue) -> Self {
        Self {
            issue,
            definition: None,
            base: String::new(),
            state: IssueWorkState::Open,
            control: None,
            lock: None,
            reserved: None,
            next: None,
            spent: None,
            heard: Cost::default(),
            since: None,
            text_at_start: None,
            again: false,
            tried: false,
            last: None,
        }
    }

    /// Returns true if no agent is asked any more.
    fn asks_nobody(&self) -> bool {
        matches!(self.next, Some(NextWork::Continue { finished: true } | NextWork::Report))
    }

    fn repeat_flags(&self, retry: bool, adopt: bool) -> RepeatFlags {
        RepeatFlags {
            retry,
            adopt,
            reworks: self.state == IssueWorkState::Reworked,
            merged: self.state == IssueWorkState::Overtaken,
        }
    }
}

impl WorkBatch {
    pub fn new(
        context: Arc<WorkContext>,
        id: String,
        selection: IssueSelection,
        adopt: bool,
        poll: Option<PollSchedule>,
        sender: UnboundedSender<(IssueNumber, IssueEvent)>,
    ) -> Self {
        Self {
            context,
            id,
            retry: selection.retries,
            selection,
            adopt,
            plan: WorkPlan::default(),
            progress: BTreeMap::new(),
            issues: BTreeMap::new(),
            poll,
            paused: BTreeMap::new(),
            backoffs: PollBackoffs::default(),
            begun: BTreeSet::new(),
            stopped: Arc::default(),
            sender,
        }
    }

    /// Sets the definition and the base branch of an issue.
    pub fn define(&mut self, issue: &Issue, definition: Arc<IssueDefinition>, base: String) {
        let one = self.issues.entry(issue.number).or_insert_with(|| BatchIssue::new(issue.clone()));
        (one.definition, one.base) = (Some(definition), base);
    }

    /// Adds the listed issues to the plan.
    pub fn take_in(&mut self, listing: Listing) -> ListingNews {
        let mut news = ListingNews::default();
        for (number, state) in listing.done() {
            let (IssueWorkState::Done { outcome, request, .. }, Some(issue)) =
                (state, listing.issues.get(&number))
            else {
                continue;
            };
            if !self.progress.contains_key(&number) {
                let run = self.context.last_delivery(issue).ok().flatten();
                let reason = (*outcome != WorkOutcome::Closed).then_some(IssueReason::Before);
                let end = IssueEnd::of(IssueResult { outcome: *outcome, reason });
                news.done.push((number, IssueEnd { run, acted: false, request: request.clone(), ..end }));
            }
        }
        let Listing { plan, issues, states, .. } = listing;
        for (number, issue) in issues {
            let one = self.issues.entry(number).or_insert_with(|| BatchIssue::new(issue.clone()));
            one.issue = issue;
            one.state = states.get(&number).cloned().unwrap_or(IssueWorkState::Open);
        }
        for item in &plan.items {
            let Some(one) = self.issues.get(&item.number).filter(|one| one.next.is_none() && !one.again)
            else {
                continue;
            };
            let next = self.next_work(one);
            // A finished run that is only delivered does not return to the queue.
            let begins = !matches!(next, NextWork::Report | NextWork::Continue { finished: true });
            let is_open = item.obstacle.is_none() && (self.retry || one.state.request().is_none());
            if is_open && begins && !self.is_elsewhere(&one.issue) {
                news.queued.push(item.number);
            }
            if let Some(one) = self.issues.get_mut(&item.number) {
                one.next = Some(next);
            }
        }
        let before = std::mem::replace(&mut self.plan, plan);
        // A started run continues to its end, even if the issue list lacks its issue now.
        let is_begun = |item: &PlannedIssue| {
            let progress = self.progress.get(&item.number);
            matches!(progress, Some(IssueProgress::Running | IssueProgress::Parked { .. }))
        };
        let listed: BTreeSet<IssueNumber> = self.plan.items.iter().map(|item| item.number).collect();
        let begun: Vec<PlannedIssue> = before
            .items
            .into_iter()
            .filter(|item| is_begun(item) && !listed.contains(&item.number))
            .collect();
        self.plan.items.extend(begun);
        news
    }

    /// Decides the work on an issue from its last run. With an unreadable run there is none.
    fn next_work(&self, one: &BatchIssue) -> NextWork {
        let flags = one.repeat_flags(self.retry, self.adopt);
        match self.context.last_delivery(&one.issue) {
            Ok(last) => NextWork::after(last.as_ref(), flags, |run| self.context.has_moved(run)),
            Err(_) => NextWork::Report,
        }
    }

    /// Returns true if another process works on the issue. That process then owns the labels (I-32).
    fn is_elsewhere(&self, issue: &Issue) -> bool {
        let item = issue_item(issue.source, issue.number, &self.context.work.branch_prefix);
        ItemLock::is_taken(&self.context.repository, &item).unwrap_or(false)
    }

    /// Chooses the actions to take now.
    pub fn schedule(&self, now: Moment) -> Schedule {
        let has_begun = |one: &BatchIssue| matches!(one.next, Some(NextWork::Continue { .. }));
        let items =
            self.plan.items.iter().filter_map(|item| Some((item.number, self.issues.get(&item.number)?)));
        let providers = items.clone().filter(|(_, one)| !has_begun(one));
        let providers =
            providers.filter_map(|(number, one)| Some((number, one.definition.as_ref()?.provider()?)));
        let unpaid = if self.budget_left().is_spent() {
            // A driven issue that only waits keeps its reservation.
            let unpaid = items.filter(|(_, one)| !one.asks_nobody() && one.control.is_none());
            unpaid.map(|(number, _)| number).collect()
        } else {
            BTreeSet::new()
        };
        schedule(&ScheduleInput {
            plan: &self.plan,
            standings: &self.progress,
            providers: &providers.collect(),
            paused: &self.paused,
            unpaid: &unpaid,
            jobs: self.context.work.jobs as usize,
            now,
        })
    }

    /// Performs a step of the schedule.
    pub fn perform(&mut self, step: ScheduleStep) -> BatchStep {
        let ended = |outcome, reason| {
            BatchStep::Ended(Box::new(IssueEnd::new(outcome, IssueReason::Dependency(reason))))
        };
        match step {
            ScheduleStep::Start(number) | ScheduleStep::Continue(number) => self.start(number),
            ScheduleStep::Obstructed(_, obstacle) => {
                let delivered = match obstacle {
                    DependencyObstacle::NotMerged(one) => {
                        self.issues.get(&one).and_then(|one| one.state.awaits_merge()).map(str::to_owned)
                    }
                    DependencyObstacle::NotSelected(_) | DependencyObstacle::NotFound(_) => None,
                };
                ended(obstacle.outcome(), DependencyReason::Obstacle { obstacle, delivered })
            }
            ScheduleStep::Without { because_of, outcome, .. } => {
                let last = self.issues.get(&because_of).and_then(|one| one.last.clone());
                let (of, delivered) = last.map_or((outcome, None), |last| (last.outcome, last.delivered));
                ended(outcome, DependencyReason::Ended { issue: because_of, outcome: of, delivered })
            }
        }
    }

    fn start(&mut self, number: IssueNumber) -> BatchStep {
        let not_planned = |message: String| {
            BatchStep::Ended(Box::new(IssueEnd::new(
                WorkOutcome::Failed,
                IssueReason::NotPlanned { message },
            )))
        };
        if let Some(control) = self.issues.get(&number).and_then(|one| one.control.as_ref()) {
            // It was only waiting.
            control.go_on();
            self.progress.insert(number, IssueProgress::Running);
            return BatchStep::Started;
        }
        let (budget, part) = self.part(number);
        let (context, retry, adopt) = (Arc::clone(&self.context), self.retry, self.adopt);
        let Some(one) = self.issues.get_mut(&number) else {
            return not_planned("it was not planned".to_owned());
        };
        let Some(definition) = one.definition.clone() else {
            return not_planned("it was not planned".to_owned());
        };
        one.text_at_start.get_or_insert_with(|| IssueAssignment::text_of(&one.issue));
        let first = !std::mem::replace(&mut one.tried, true);
        let retry = (retry && first) || std::mem::take(&mut one.again);
        let reworks = first && one.state == IssueWorkState::Reworked;
        let work = IssueWork {
            context,
            issue: one.issue.clone(),
            definition,
            base: one.base.clone(),
            spent: budget.is_spent(),
            budget,
            batch: self.id.clone(),
            repeat: RepeatFlags { retry, reworks, adopt, merged: one.state == IssueWorkState::Overtaken },
            first,
            follows_dependencies: self.selection.dependencies != DependencyPolicy::Ignore,
            lock: one.lock.take(),
            stopped: Arc::clone(&self.stopped),
            events: IssueEvents { number, sender: self.sender.clone() },
        };
        if let Err(error) = std::thread::Builder::new().name(number.slug()).spawn(move || work.run()) {
            return not_planned(error.to_string());
        }
        one.reserved = Some(part);
        one.since.get_or_insert(saihai::Clock::system().now());
        self.progress.insert(number, IssueProgress::Running);
        BatchStep::Started
    }

    /// Records that the run of an issue is driven. Returns true if this invocation did not know the run.
    pub fn begun(&mut self, number: IssueNumber, run: &str, control: DriverControl) -> bool {
        if self.is_stopped() {
            control.interrupt("ctrl-c");
        }
        if let Some(one) = self.issues.get_mut(&number) {
            one.control = Some(control);
        }
        self.begun.insert(run.to_owned())
    }

    /// Records an event of a driven run.
    pub fn record(&mut self, number: IssueNumber, activity: &IssueActivity) {
        let Some(one) = self.issues.get_mut(&number) else { return };
        // A run that only waits for checks or for other merges does not block other issues. The unspent part of its
        // reservation is free for them.
        let mut pause = |until| {
            let Cost { usd, tokens, turns } = one.heard;
            if let Some(reserved) = &mut one.reserved {
                *reserved = Budget { usd: Some(usd), tokens: Some(tokens), turns: Some(turns), time: None };
            }
            self.progress.insert(number, IssueProgress::Parked { until });
        };
        match activity {
            IssueActivity::Turn(cost) => {
                one.heard = one.heard.plus(*cost);
                if cost.turns > 0 {
                    self.backoffs.forget(number);
                }
            }
            IssueActivity::Waiting(Some(until)) => pause(Some(*until)),
            IssueActivity::MergeQueued(true) => pause(None),
            IssueActivity::Waiting(None) | IssueActivity::MergeQueued(false) => {
                self.progress.insert(number, IssueProgress::Running);
            }
            // A run that starts now would hit the same quota (I-45).
            IssueActivity::Exhausted(provider, until) => {
                self.paused.insert(provider.clone(), *until);
            }
            IssueActivity::Stage(_)
            | IssueActivity::FirstTurn
            | IssueActivity::Warning(_)
            | IssueActivity::Delayed(_)
            | IssueActivity::TextLeftOut(_)
            | IssueActivity::StartsAgain { .. } => {}
        }
    }

    /// Keeps an issue that pauses: its lock, and the time at which it continues by itself.
    pub fn pause(&mut self, number: IssueNumber, end: &mut IssueEnd, until: Option<Moment>) {
        if let Some(one) = self.issues.get_mut(&number) {
            one.lock = end.lock.take();
        }
        self.progress.insert(number, IssueProgress::Parked { until });
    }

    pub fn pause_provider(&mut self, provider: ProviderName, until: Moment) {
        self.paused.insert(provider, until);
    }

    /// Records the end of an issue. `delivered` is its pull request or branch; `is_news` tells that the result is new.
    pub fn ended(&mut self, number: IssueNumber, end: &IssueEnd, delivered: Option<String>, is_news: bool) {
        let outcome = end.result.outcome;
        self.progress.insert(number, IssueProgress::Ended(outcome));
        let state = end.run.as_ref().map(|run| &run.state);
        let outside = matches!(state, Some(saihai_view::RunState::Parked { hold: Hold::Outside(..), .. }));
        if let Some(one) = self.issues.get_mut(&number) {
            one.lock = None;
            one.last = Some(EndedIssue { outcome, delivered, outside });
        }
        // It now waits for something new, so its backoff starts over.
        if is_news && outcome == WorkOutcome::Waiting {
            self.backoffs.forget(number);
        }
    }

    /// Returns the labels that an end asks for, if they change.
    pub fn labels_after(&self, number: IssueNumber, end: &IssueEnd) -> Option<&'static [StatusLabel]> {
        let completed = end.run.as_ref().is_some_and(|run| run.outputs.has(crate::stage::FINALIZE));
        let labels = end.result.outcome.labels(completed)?;
        (end.acted || self.is_labelled_wrongly(number, labels)).then_some(labels)
    }

    /// Returns true if the issue has a wrong status label. The responsible process may have been killed, or the run continued
    /// elsewhere. Labels that a person removed stay removed.
    fn is_labelled_wrongly(&self, number: IssueNumber, labels: &[StatusLabel]) -> bool {
        let Some(one) = self.issues.get(&number) else { return false };
        let prefix = &one.definition.as_ref().map_or(&self.context.work, |one| &one.work).label_prefix;
        let has = |label: &StatusLabel| {
            let name = label.name(prefix);
            one.issue.labels.iter().any(|one| one.eq_ignore_ascii_case(&name))
        };
        let exclusive = StatusLabel::ALL.into_iter().filter(|label| label.is_exclusive());
        exclusive.into_iter().any(|label| has(&label) && !labels.contains(&label))
    }

    /// Interrupts all runs, and lets no other start.
    pub fn interrupt(&self, by: &'static str) {
        self.stopped.store(true, Ordering::Relaxed);
        self.issues.values().filter_map(|one| one.control.as_ref()).for_each(|control| control.interrupt(by));
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Returns true if some run is driven.
    pub fn is_driving(&self) -> bool {
        self.issues.values().any(|one| one.control.is_some())
    }

    /// Returns true if a thread works on an issue.
    pub fn is_busy(&self) -> bool {
        let running = self.progress.values().any(|progress| matches!(progress, IssueProgress::Running));
        running || self.is_driving() || self.issues.values().any(|one| one.reserved.is_some())
    }

    /// Returns true if every planned issue has ended.
    pub fn is_over(&self) -> bool {
        let ended =
            |item: &PlannedIssue| matches!(self.progress.get(&item.number), Some(IssueProgress::Ended(_)));
        self.plan.items.iter().all(ended) && !self.is_busy() && self.poll.is_none()
    }

    /// Returns the issues that wait for a point in time and are not driven.
    pub fn waiting(&self) -> Vec<IssueNumber> {
        let is_waiting =
            |progress: &IssueProgress| matches!(progress, IssueProgress::Parked { until: Some(_) });
        let waiting = self.progress.iter().filter(|(_, progress)| is_waiting(progress));
        let is_driven = |number| self.issues.get(&number).is_some_and(|one| one.control.is_some());
        waiting.map(|(number, _)| *number).filter(|number| !is_driven(*number)).collect()
    }
}

/// The budget of an invocation and its distribution over issues.
impl WorkBatch {
    /// Returns the budget of an issue that starts or continues now, and the reserved amount. Concurrent issues get equal
    /// parts. Nothing is reserved for an issue whose agents have finished.
    fn part(&self, number: IssueNumber) -> (Budget, Budget) {
        let left = self.budget_left();
        if self.issues.get(&number).is_some_and(BatchIssue::asks_nobody) {
            return (left, Budget::default());
        }
        let reserved = self.issues.values().filter(|one| one.reserved.is_some()).count();
        let free = (self.context.work.jobs as usize).saturating_sub(reserved).max(1);
        let waiting = self.plan.items.iter().filter(|item| !self.progress.contains_key(&item.number)).count();
        let part = left.divided(free.min(waiting.max(1)) as u64);
        (part.clone(), part)
    }

    /// Returns the budget that is neither spent nor reserved.
    fn budget_left(&self) -> Budget {
        let (mut cost, mut driven) = (Cost::default(), Millis(0));
        for (more, longer) in self.issues.values().filter_map(|one| one.spent) {
            (cost, driven) = (cost.plus(more), Millis(driven.0.saturating_add(longer.0)));
        }
        let left = self.context.work.budget.less(cost, driven);
        let reserved = self.issues.values().filter_map(|one| one.reserved.as_ref());
        reserved.fold(left, |left, taken| left.less(most(taken), taken.time.unwrap_or(Millis(0))))
    }

    /// Records the cost and state of an issue that is no longer driven.
    pub fn settle(&mut self, number: IssueNumber, end: &mut IssueEnd) {
        let Some(one) = self.issues.get_mut(&number) else { return };
        let was_driven = one.control.take().is_some();
        let reserved = one.reserved.take().unwrap_or_default();
        let has_finish = end.finish.is_some();
        let Some(run) = end.run.as_mut().filter(|_| has_finish) else {
            if was_driven {
                // After a crash the cost of the last turns is unknown, so the full reservation counts as spent.
                let unknown = if has_finish { Cost::default() } else { most(&reserved) };
                let (known, time) = one.spent.unwrap_or((Cost::default(), Millis(0)));
                let (heard, known) = (one.heard, known.plus(unknown));
                let cost = Cost {
                    usd: heard.usd.max(known.usd),
                    tokens: heard.tokens.max(known.tokens),
                    turns: heard.turns.max(known.turns),
                };
                let since = one.since.map_or(0, |since| saihai::Clock::system().now().since(since).0);
                let time = Millis(since.max(time.0));
                end.heard = Some((heard, time));
                // A budget that cannot be verified counts as exceeded.
                (one.spent, one.next) = (Some((cost, time)), Some(NextWork::Report));
            }
            return;
        };
        // A separate run may have merged the delivered work.
        let own = run.id().to_owned();
        let runs = self.context.runs_of(&one.issue).unwrap_or_default();
        let earlier = runs.iter().filter(|other| other.id() != own && self.begun.contains(other.id()));
        for other in earlier {
            run.cost = run.cost.plus(other.cost);
            run.time = Millis(run.time.0.saturating_add(other.time.0));
        }
        one.spent = Some((run.cost, run.time));
        one.next = Some(NextWork::Continue { finished: run.finished });
    }
}

impl WorkBatch {
    /// Returns true if a listed issue needs a definition before it can be reconsidered.
    pub fn lacks_definition(&self, issue: &Issue) -> bool {
        let Some(one) = self.issues.get(&issue.number) else { return true };
        let is_known = matches!(self.progress.get(&issue.number), Some(IssueProgress::Ended(_)));
        one.definition.is_none() && (!is_known || is_changed(one, issue))
    }

    /// Records an issue whose definition cannot be used. That stays its result until the issue changes.
    pub fn refuse_definition(&mut self, issue: &Issue) {
        let one = self.issues.entry(issue.number).or_insert_with(|| BatchIssue::new(issue.clone()));
        one.text_at_start = Some(IssueAssignment::text_of(issue));
    }

    /// Restarts issues that waited, and failed issues whose text has changed.
    pub fn reconsider(&mut self, listing: &Listing, now: Moment) {
        let every = self.poll.as_ref().map_or(self.context.work.every, PollSchedule::pace);
        for item in &listing.plan.items {
            let number = item.number;
            let (Some(issue), Some(one)) = (listing.issues.get(&number), self.issues.get_mut(&number)) else {
                continue;
            };
            let Some(definition) = &one.definition else { continue };
            // The next poll also lists its dependencies.
            self.selection.resolving.extend(definition.resolve.then_some(number));
            let changed = is_changed(one, issue);
            let is_overtaken = *listing.state(number) == IssueWorkState::Overtaken;
            let waits_outside = one.last.as_ref().is_some_and(|last| last.outside);
            let Some(IssueProgress::Ended(outcome)) = self.progress.get(&number) else { continue };
            let restarts = match outcome {
                // Each attempt is journaled, so an issue that waits for a person or the forge is retried with backoff. An
                // issue that was merged in the meantime continues at once.
                WorkOutcome::Waiting | WorkOutcome::Unknown if !is_overtaken && waits_outside => {
                    self.backoffs.is_due(number, every, now)
                }
                // These continue when selected again. A conflict without a moved branch is only reported (I-64).
                WorkOutcome::Waiting
                | WorkOutcome::Blocked
                | WorkOutcome::Elsewhere
                | WorkOutcome::Conflict
                | WorkOutcome::Unknown => {
                    self.backoffs.forget(number);
                    true
                }
                // A provider that keeps failing is not asked at every poll.
                WorkOutcome::Provider if !changed => self.backoffs.is_due(number, every, now),
                _ if changed => {
                    (one.text_at_start, one.next, one.again) = (None, None, true);
                    true
                }
                _ => false,
            };
            if restarts {
                self.progress.remove(&number);
            }
        }
    }
}

fn is_changed(one: &BatchIssue, issue: &Issue) -> bool {
    one.text_at_start.as_ref().is_some_and(|known| *known != IssueAssignment::text_of(issue))
}

/// Returns the maximum cost that the budget allows, for its bounded keys.
fn most(budget: &Budget) -> Cost {
    Cost {
        usd: budget.usd.unwrap_or_default(),
        tokens: budget.tokens.unwrap_or(0),
        turns: budget.turns.unwrap_or(0),
    }
}
