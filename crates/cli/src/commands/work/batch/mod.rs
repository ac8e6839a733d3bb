//! One invocation of `saihai work`: it starts, watches and collects runs, and asks questions.

mod allotting;
mod asking;
mod look;
mod looking;
mod telling;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use saihai::Control;
use saihai::delivery::Assignment;
use saihai::repository::ItemLock;
use saihai_connect::SHORTEST_SECRET;
use saihai_engine::work::{Dependencies, Obstacle, Plan, Planned as Item, Scene, Standing, Step, schedule};
use saihai_model::{
    Budget, Cost, Issue, IssueNumber, Millis, Moment, ProviderName, StageId, StatusLabel, WorkOutcome,
    WorkReason,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use self::look::{Look, Refusals};
use super::Work;
use super::again::Before;
use super::answer::Question;
use super::board::Board;
use super::ground::Ground;
use super::item::{Job, Told, as_item, work_on};
use super::labeller::Labeller;
use super::over::Over;
use super::plan::{Planned, obstacle_words};
use super::result::ItemResult;
use super::selection::{Listing, Selection};
use super::summary_file::Batches;
use crate::driving::{Keyboard, Signals, Typed as Keyed, Unbegun};
use crate::error::{Error, exit};
use crate::report::Live;
use crate::terminal::Streams;
use crate::{ours, time};

const REDRAW: Duration = Duration::from_millis(200);

pub(super) struct Batch<'a> {
    ground: Arc<Ground>,
    flags: &'a Work,
    selection: Selection,
    streams: &'a mut Streams,
    live: Option<Live>,
    board: Board,
    files: Batches,
    labeller: Labeller,
    tell: UnboundedSender<Told>,
    hear: UnboundedReceiver<Told>,
    plan: Plan,
    planned: Planned,
    issues: BTreeMap<IssueNumber, Issue>,
    standings: BTreeMap<IssueNumber, Standing>,
    paused: BTreeMap<ProviderName, Moment>,
    controls: BTreeMap<IssueNumber, Control>,
    locks: BTreeMap<IssueNumber, Arc<ItemLock>>,
    /// Reserved budgets of the driven issues.
    allotted: BTreeMap<IssueNumber, Budget>,
    /// States of the issues' earlier runs.
    before: BTreeMap<IssueNumber, Before>,
    /// Cost and time of the issues that are no longer driven.
    spent: BTreeMap<IssueNumber, (Cost, Millis)>,
    results: Vec<ItemResult>,
    questions: VecDeque<Question>,
    keyboard: Option<Keyboard>,
    can_ask: bool,
    /// Gates answered with "yes to all".
    yes: BTreeSet<StageId>,
    /// Pull requests or branches that wait to be merged.
    delivered: BTreeMap<IssueNumber, String>,
    /// Merged issues that are worked on again.
    reworked: BTreeSet<IssueNumber>,
    /// Texts of the issues at the start of their runs.
    begun_with: BTreeMap<IssueNumber, String>,
    again: BTreeSet<IssueNumber>,
    /// Issues already attempted. `--retry` and `--adopt` apply only once, even if an issue is listed again.
    tried: BTreeSet<IssueNumber>,
    interrupts: u8,
    /// Tells the threads not to start any more runs.
    stopped: Arc<AtomicBool>,
    look: Option<Look>,
    refusals: Refusals,
    /// Ids of the runs that this invocation started.
    begun: BTreeSet<String>,
    /// Output held back while a question is open.
    held: Vec<String>,
}

enum Happened {
    Told(Box<Told>),
    Signal(&'static str),
    Keyed(Keyed),
    Redraw,
    Time,
}

impl<'a> Batch<'a> {
    pub(super) fn new(
        mut ground: Ground,
        flags: &'a Work,
        selection: Selection,
        streams: &'a mut Streams,
    ) -> Result<Self, Error> {
        if let Some(repository) = Arc::get_mut(&mut ground.repository) {
            ours::hide(repository, &ground.project, &ground.settings)?;
        }
        if ground.access.as_ref().is_some_and(|access| access.token.secret().len() < SHORTEST_SECRET) {
            streams.warning(&format!(
                "the token has fewer than {SHORTEST_SECRET} characters; it is not looked for in what is handed over"
            ));
        }
        let json = flags.flags.json;
        let live = (streams.err.is_styled() && !(json && streams.out.is_terminal())).then(Live::default);
        let can_ask = streams.can_ask() && !json && !flags.flags.presence.auto;
        let (tell, hear) = unbounded_channel();
        let ground = Arc::new(ground);
        let look = flags.watch.then(|| Look::paced(ground.work.every, time::now()));
        Ok(Self {
            files: Batches::new(&ground.project),
            labeller: Labeller::start(&ground),
            planned: Planned::none(&ground.project),
            ground,
            flags,
            selection,
            streams,
            live,
            board: Board::default(),
            tell,
            hear,
            plan: Plan::default(),
            issues: BTreeMap::new(),
            standings: BTreeMap::new(),
            paused: BTreeMap::new(),
            controls: BTreeMap::new(),
            locks: BTreeMap::new(),
            allotted: BTreeMap::new(),
            before: BTreeMap::new(),
            spent: BTreeMap::new(),
            results: Vec::new(),
            questions: VecDeque::new(),
            keyboard: None,
            can_ask,
            yes: BTreeSet::new(),
            delivered: BTreeMap::new(),
            reworked: BTreeSet::new(),
            begun_with: BTreeMap::new(),
            again: BTreeSet::new(),
            tried: BTreeSet::new(),
            interrupts: 0,
            stopped: Arc::default(),
            look,
            refusals: Refusals::default(),
            begun: BTreeSet::new(),
            held: Vec::new(),
        })
    }

    /// Works on all listed issues and returns the exit code.
    pub(super) async fn work(
        mut self,
        listing: Listing,
        planned: Planned,
        unbegun: Unbegun,
    ) -> Result<u8, Error> {
        let mut signals = Signals::listen().map_err(super::unheard)?;
        // From here on this loop handles signals.
        drop(unbegun);
        self.planned = planned;
        self.exclude()?;
        self.take_in(listing);
        let mut ticks = tokio::time::interval(REDRAW);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            let wake = self.step().await?;
            if self.is_over() {
                break;
            }
            let wait = wake.map(|at| Duration::from_millis(at.since(time::now()).0));
            let happened = {
                let timer = async {
                    match wait {
                        Some(wait) => tokio::time::sleep(wait).await,
                        None => std::future::pending().await,
                    }
                };
                let keyed = async {
                    match &mut self.keyboard {
                        Some(keyboard) => keyboard.next().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    Some(told) = self.hear.recv() => Happened::Told(Box::new(told)),
                    by = signals.next() => Happened::Signal(by),
                    typed = keyed => Happened::Keyed(typed),
                    () = timer => Happened::Time,
                    _ = ticks.tick(), if self.live.is_some() => Happened::Redraw,
                }
            };
            match happened {
                Happened::Told(told) => self.told(*told).await?,
                Happened::Signal(by) => {
                    if self.interrupted(by) {
                        self.streams.error("ended at once", &["the same command goes on with it".to_owned()]);
                        return Ok(exit::INTERRUPTED);
                    }
                }
                Happened::Keyed(typed) => self.typed(typed).await?,
                Happened::Redraw => self.redraw(),
                Happened::Time => {}
            }
        }
        self.finish()
    }

    /// Excludes worktrees from git, including those whose directory a definition sets (I-35).
    fn exclude(&self) -> Result<(), Error> {
        let items = self.planned.items.values();
        let roots: Vec<&std::path::Path> =
            items.map(|item| item.ready.work.worktree_root.as_path()).collect();
        roots.iter().try_for_each(|root| ours::insist_on_own_root(&self.ground.repository, root))?;
        self.ground.repository.exclude(&roots).map_err(super::ground::refused_by_git)
    }

    /// Adds the listed issues to the plan.
    fn take_in(&mut self, listing: Listing) {
        let Listing { plan, issues, over, handed_over, delivered, reworked, .. } = listing;
        (self.delivered, self.reworked) = (delivered, reworked);
        for (number, outcome) in over {
            let is_news = !self.standings.contains_key(&number);
            if let Some(issue) = issues.get(&number).filter(|_| is_news) {
                let title = issue.title.clone();
                self.issues.insert(number, issue.clone());
                let opened = handed_over.get(&number).cloned();
                let over = Over { opened, ..self.before(issue, outcome) };
                self.put_labels_right(number, &over);
                self.collect(number, &title, &over);
            }
        }
        for item in &plan.items {
            let Some(issue) = issues.get(&item.number) else { continue };
            let is_new = !self.issues.contains_key(&item.number);
            self.board.add(item.number, &issue.title);
            let is_open =
                item.obstacle.is_none() && (self.flags.retry || !handed_over.contains_key(&item.number));
            if !is_new {
                continue;
            }
            let before = Before::of(&self.ground, issue, self.flags, self.reworked.contains(&item.number));
            // A finished run that is only delivered does not return to the queue.
            let begins = !matches!(before, Before::Told | Before::GoesOn { finished: true });
            if is_open && begins && !self.is_elsewhere(issue) {
                self.label(item.number, &[StatusLabel::Queued]);
            }
            self.before.insert(item.number, before);
        }
        self.issues.extend(issues);
        let before = std::mem::replace(&mut self.plan, plan);
        // A started run continues to its end, even if its issue is no longer listed.
        let is_begun = |item: &Item| {
            let standing = self.standings.get(&item.number);
            matches!(standing, Some(Standing::Running | Standing::Parked { .. }))
        };
        let listed: BTreeSet<IssueNumber> = self.plan.items.iter().map(|item| item.number).collect();
        let begun = before.items.into_iter().filter(|item| is_begun(item) && !listed.contains(&item.number));
        self.plan.items.extend(begun);
    }

    /// Returns true if another process works on the issue. That process then owns the labels (I-32).
    fn is_elsewhere(&self, issue: &Issue) -> bool {
        let item = as_item(issue, &self.ground.work.branch_prefix);
        ItemLock::is_taken(&self.ground.repository, &item).unwrap_or(false)
    }

    /// Returns the known result of a finished issue.
    fn before(&self, issue: &Issue, outcome: WorkOutcome) -> Over {
        let past = self.ground.past(issue).unwrap_or_default();
        let past = past.into_iter().find(|past| past.delivers);
        let why = if outcome == WorkOutcome::Closed { "" } else { "before" };
        Over { past, acted: false, ..Over::told(outcome, why) }
    }

    /// Performs all due steps and returns the time of the next one.
    async fn step(&mut self) -> Result<Option<Moment>, Error> {
        if self.interrupts > 0 {
            return Ok(None);
        }
        loop {
            let (providers, unpaid) = (self.providers(), self.unpaid());
            let now = time::now();
            let next = schedule(&Scene {
                plan: &self.plan,
                standings: &self.standings,
                providers: &providers,
                paused: &self.paused,
                unpaid: &unpaid,
                jobs: self.ground.work.jobs as usize,
                now,
            });
            if next.steps.is_empty() {
                let look = self.look.as_ref().filter(|look| !look.under_way).map(|look| look.next);
                if look.is_some_and(|at| at <= now) {
                    self.look_again();
                    continue;
                }
                let expires = self.questions.front().and_then(|question| question.expires);
                if expires.is_some_and(|at| at <= now) {
                    self.give_up_asking();
                    continue;
                }
                return Ok(next.wake.into_iter().chain(look).chain(expires).min());
            }
            for step in next.steps {
                let begins = matches!(step, Step::Start(_) | Step::Continue(_));
                self.perform(step);
                // The remaining budget of the other issues has changed.
                if begins {
                    break;
                }
            }
        }
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Start(number) | Step::Continue(number) => match self.controls.get(&number) {
                // It was only waiting.
                Some(control) => {
                    control.go_on();
                    self.standings.insert(number, Standing::Running);
                }
                None => self.start(number),
            },
            Step::Obstructed(number, obstacle) => {
                let reason = format!("{}: {}", WorkReason::Dependency.word(), obstacle_words(obstacle));
                let hint = match obstacle {
                    Obstacle::NotSelected(_) => {
                        "; `--resolve-deps` works on it as well, `--ignore-deps` does not look"
                    }
                    Obstacle::NotMerged(_) | Obstacle::NotFound(_) => "; `--ignore-deps` does not look",
                };
                let place = match obstacle {
                    Obstacle::NotMerged(one) => self.delivered.get(&one),
                    Obstacle::NotSelected(_) | Obstacle::NotFound(_) => None,
                };
                let place = place.map(|place| format!(" ({place})")).unwrap_or_default();
                self.end(number, &Over::told(obstacle.outcome(), format!("{reason}{place}{hint}")));
            }
            Step::Without { number, because_of, outcome } => {
                let of = self.results.iter().find(|result| result.issue == because_of);
                let how = of.map_or("", |result| result.outcome);
                let place = of.and_then(ItemResult::place).map(|place| format!(" ({place})"));
                let reason = format!("{}: {because_of} is {how}", WorkReason::Dependency.word());
                self.end(number, &Over::told(outcome, format!("{reason}{}", place.unwrap_or_default())));
            }
        }
    }

    fn start(&mut self, number: IssueNumber) {
        let Some((item, ready)) = self.planned.ready(number) else {
            return self.end(number, &Over::told(WorkOutcome::Failed, "it was not planned"));
        };
        let (base, ready) = (item.base.branch.clone(), ready.clone());
        let Some(issue) = self.issues.get(&number).cloned() else { return };
        let (budget, part) = self.part(number);
        self.begun_with.entry(number).or_insert_with(|| Assignment::text_of(&issue));
        let spent = budget.is_spent();
        let first = self.tried.insert(number);
        let job = Job {
            ground: Arc::clone(&self.ground),
            issue,
            ready,
            base,
            budget,
            spent,
            batch: self.files.id.clone(),
            retry: (self.flags.retry && first) || self.again.remove(&number),
            reworks: first && self.reworked.contains(&number),
            adopt: self.flags.adopt,
            first,
            follows_dependencies: self.selection.dependencies != Dependencies::Ignore,
            lock: self.locks.remove(&number),
            stopped: Arc::clone(&self.stopped),
        };
        let tell = self.tell.clone();
        let thread = std::thread::Builder::new().name(number.slug());
        if let Err(error) = thread.spawn(move || work_on(job, &tell)) {
            return self.end(number, &Over::told(WorkOutcome::Failed, error.to_string()));
        }
        self.allotted.insert(number, part);
        self.standings.insert(number, Standing::Running);
        self.board.begin(number);
    }

    /// Handles a signal. Returns true if the process must exit at once.
    fn interrupted(&mut self, by: &'static str) -> bool {
        self.interrupts += 1;
        self.take_frame_away();
        for control in self.controls.values() {
            control.interrupt(by);
        }
        match self.interrupts {
            1 => {
                self.stopped.store(true, Ordering::Relaxed);
                self.streams.err.line("stopping; once more to end at once");
                let waiting: Vec<Question> = std::mem::take(&mut self.questions).into();
                for question in waiting {
                    // The next invocation finds unreadable runs again.
                    self.leave(&question).unwrap_or(());
                }
                self.leave_waiting();
                false
            }
            // The next invocation detects if the interrupted git operation is done.
            2 => {
                saihai::end_all_git();
                false
            }
            _ => true,
        }
    }

    /// Returns true if there is nothing left to wait for.
    fn is_over(&self) -> bool {
        let running = self.standings.values().any(|standing| matches!(standing, Standing::Running));
        let driven = running || !self.controls.is_empty() || !self.allotted.is_empty();
        match self.interrupts {
            0 => {}
            1 => return !driven,
            // Issues that have not started lose nothing.
            _ => return self.controls.is_empty(),
        }
        let over = self
            .plan
            .items
            .iter()
            .all(|item| matches!(self.standings.get(&item.number), Some(Standing::Ended(_))));
        over && !driven && self.look.is_none()
    }
}
