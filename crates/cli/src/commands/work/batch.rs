//! One invocation: issues are begun, watched, asked about and collected.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use saihai::repository::ItemLock;
use saihai::{Clock, Control, Given, open_gate};
use saihai_engine::work::{Plan, Scene, Standing, Step, schedule};
use saihai_model::{
    Budget, Cost, FailureClass, Hold, Issue, IssueNumber, Millis, Moment, ProviderName, StageId, StatusLabel,
    WorkOutcome, WorkReason,
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::Work;
use super::answer::{Question, Typed, understood};
use super::board::Board;
use super::ground::Ground;
use super::item::{Job, Over, Seen, Told, acts, text_of, work_on};
use super::labeller::Labeller;
use super::plan::{Planned, obstacle_words};
use super::result::{self, ItemResult};
use super::selection::{Listing, Selection, Unlisted};
use super::summary_file::{Batches, show_in_actions};
use crate::driving::{Keyboard, Signals, Typed as Keyed};
use crate::error::{Error, exit};
use crate::report::Live;
use crate::terminal::{Streams, visible_line};
use crate::{driving, time};

/// How often the table is redrawn.
const REDRAW: Duration = Duration::from_millis(200);
/// The longest pause between two looks at a source that does not answer.
const LONGEST: Millis = Millis(15 * 60_000);

/// One invocation.
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
    /// What those may cost that are at work.
    allotted: BTreeMap<IssueNumber, Budget>,
    /// What those cost that are not at work any more.
    spent: BTreeMap<IssueNumber, (Cost, Millis)>,
    results: Vec<ItemResult>,
    questions: VecDeque<Question>,
    keyboard: Option<Keyboard>,
    can_ask: bool,
    /// Gates that were answered for everybody.
    yes: BTreeSet<StageId>,
    /// Issues whose text has changed since they failed.
    again: BTreeSet<IssueNumber>,
    interrupts: u8,
    look: Option<Look>,
}

/// Looking for issues again and again.
struct Look {
    next: Moment,
    pause: Millis,
    under_way: bool,
    complained: bool,
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
        ground: Ground,
        flags: &'a Work,
        selection: Selection,
        streams: &'a mut Streams,
    ) -> Result<Self, Error> {
        let json = flags.flags.json;
        let live = (streams.err.is_styled() && !(json && streams.out.is_terminal())).then(Live::default);
        let can_ask = streams.can_ask() && !json && !flags.flags.presence.auto;
        let (tell, hear) = unbounded_channel();
        let ground = Arc::new(ground);
        let every = ground.work.every;
        let look = flags.watch.then(|| Look {
            next: time::now().plus(every),
            pause: every,
            under_way: false,
            complained: false,
        });
        Ok(Self {
            files: Batches::new(&ground.project),
            labeller: Labeller::start(&ground),
            ground,
            flags,
            selection,
            streams,
            live,
            board: Board::default(),
            tell,
            hear,
            plan: Plan::default(),
            planned: Planned::none(),
            issues: BTreeMap::new(),
            standings: BTreeMap::new(),
            paused: BTreeMap::new(),
            controls: BTreeMap::new(),
            locks: BTreeMap::new(),
            allotted: BTreeMap::new(),
            spent: BTreeMap::new(),
            results: Vec::new(),
            questions: VecDeque::new(),
            keyboard: None,
            can_ask,
            yes: BTreeSet::new(),
            again: BTreeSet::new(),
            interrupts: 0,
            look,
        })
    }

    /// Works on everything that was listed; the exit code comes back.
    pub(super) async fn work(mut self, listing: Listing, planned: Planned) -> Result<u8, Error> {
        let mut signals =
            Signals::listen().map_err(|error| Error::unavailable(format!("cannot hear signals: {error}")))?;
        self.exclude()?;
        self.planned = planned;
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
                        self.streams.error("ended at once", &["`saihai work` goes on with it".to_owned()]);
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

    /// Has git look past what is ours (I-35).
    fn exclude(&self) -> Result<(), Error> {
        let work = &self.ground.work;
        let own = [".saihai/runs", ".saihai/batches", ".saihai/cache"].map(std::path::Path::new);
        let others = [work.worktree_root.as_path(), self.ground.settings.reports_dir.as_path()];
        let roots = self.planned_roots();
        let all: Vec<&std::path::Path> =
            own.into_iter().chain(others).chain(roots.iter().map(std::path::PathBuf::as_path)).collect();
        self.ground.repository.exclude(&all).map_err(super::ground::refused_by_git)
    }

    fn planned_roots(&self) -> Vec<std::path::PathBuf> {
        self.planned.definitions.values().map(|ready| ready.work.worktree_root.clone()).collect()
    }

    /// Takes in what there is to do.
    fn take_in(&mut self, listing: Listing) {
        let Listing { plan, issues, over, .. } = listing;
        for (number, outcome) in over {
            let is_news = !self.standings.contains_key(&number);
            if let Some(issue) = issues.get(&number).filter(|_| is_news) {
                let title = issue.title.clone();
                self.issues.insert(number, issue.clone());
                self.collect(number, &title, &self.before(issue, outcome));
            }
        }
        for item in &plan.items {
            let Some(issue) = issues.get(&item.number) else { continue };
            let is_new = !self.issues.contains_key(&item.number);
            self.board.add(item.number, &issue.title);
            if is_new && item.obstacle.is_none() && acts(&self.ground, issue, self.flags.retry) {
                self.label(item.number, &[StatusLabel::Queued]);
            }
        }
        self.issues.extend(issues);
        self.plan = plan;
    }

    /// What is known of an issue that is done already.
    fn before(&self, issue: &Issue, outcome: WorkOutcome) -> Over {
        let past =
            saihai::delivery::Past::of(&self.ground.runs(), issue.source, issue.number).unwrap_or_default();
        let past = past.into_iter().find(|past| past.delivers);
        let why = match outcome {
            WorkOutcome::Closed => "",
            _ => "before",
        };
        Over { past, ..Over::told(outcome, why) }
    }

    /// Does whatever is to be done now; when there may be more to do comes back.
    async fn step(&mut self) -> Result<Option<Moment>, Error> {
        if self.interrupts > 0 {
            return Ok(None);
        }
        loop {
            let providers = self.providers();
            let now = time::now();
            let next = schedule(&Scene {
                plan: &self.plan,
                standings: &self.standings,
                providers: &providers,
                paused: &self.paused,
                jobs: self.ground.work.jobs as usize,
                now,
            });
            if next.steps.is_empty() {
                let look = self.look.as_ref().filter(|look| !look.under_way).map(|look| look.next);
                if look.is_some_and(|at| at <= now) {
                    self.look_again();
                    continue;
                }
                return Ok(next.wake.into_iter().chain(look).min());
            }
            for step in next.steps {
                self.perform(step);
            }
        }
    }

    fn perform(&mut self, step: Step) {
        match step {
            Step::Start(number) | Step::Continue(number) => self.start(number),
            Step::Obstructed(number, obstacle) => {
                let reason = format!("{}: {}", WorkReason::Dependency.word(), obstacle_words(obstacle));
                let hint = "; `--resolve-deps` works on it as well, `--ignore-deps` does not look";
                self.end(number, &Over::told(WorkOutcome::Blocked, format!("{reason}{hint}")));
            }
            Step::Without { number, because_of, outcome } => {
                let of = self.results.iter().find(|result| result.issue == because_of);
                let where_ =
                    of.and_then(|result| result.pull_request.clone().or_else(|| result.branch.clone()));
                let how = of.map_or("", |result| result.outcome);
                let place = where_.map(|place| format!(" ({place})")).unwrap_or_default();
                let reason = format!("{}: {because_of} is {how}{place}", WorkReason::Dependency.word());
                self.end(number, &Over::told(outcome, reason));
            }
        }
    }

    fn start(&mut self, number: IssueNumber) {
        let Some((item, ready)) = self.planned.ready(number) else {
            return self.end(number, &Over::told(WorkOutcome::Failed, "it was not planned"));
        };
        let (base, ready) = (item.base.clone(), ready.clone());
        let Some(issue) = self.issues.get(&number).cloned() else { return };
        let Some(budget) = self.allot() else {
            return self.end(number, &Over::told(WorkOutcome::Limited, "budget"));
        };
        self.allotted.insert(number, budget.clone());
        let job = Job {
            ground: Arc::clone(&self.ground),
            issue,
            ready,
            base,
            budget,
            batch: self.files.id.clone(),
            retry: self.flags.retry || self.again.remove(&number),
            adopt: self.flags.adopt,
            lock: self.locks.remove(&number),
        };
        let tell = self.tell.clone();
        let thread = std::thread::Builder::new().name(number.slug());
        if let Err(error) = thread.spawn(move || work_on(job, &tell)) {
            return self.end(number, &Over::told(WorkOutcome::Failed, error.to_string()));
        }
        self.standings.insert(number, Standing::Running);
        self.board.begin(number);
    }

    /// What the next one may cost; nothing where nothing is left. Those that work at the same time have equal parts.
    fn allot(&self) -> Option<Budget> {
        let whole = &self.ground.work.budget;
        if whole.is_unlimited() {
            return Some(Budget::default());
        }
        let sum = |(cost, time): (Cost, Millis), (more, longer): &(Cost, Millis)| {
            (cost.plus(*more), Millis(time.0.saturating_add(longer.0)))
        };
        let (cost, driven) = self.spent.values().fold((Cost::default(), Millis(0)), sum);
        let mut left = whole.less(cost, driven);
        for taken in self.allotted.values() {
            let cost = Cost {
                usd: taken.usd.unwrap_or_default(),
                tokens: taken.tokens.unwrap_or(0),
                turns: taken.turns.unwrap_or(0),
            };
            left = left.less(cost, taken.time.unwrap_or(Millis(0)));
        }
        let free = (self.ground.work.jobs as usize).saturating_sub(self.allotted.len()).max(1);
        let waiting =
            self.plan.items.iter().filter(|item| !self.standings.contains_key(&item.number)).count();
        let part = left.divided(free.min(waiting.max(1)) as u64);
        let nothing = part.usd.is_some_and(|usd| usd.0 == 0)
            || part.tokens == Some(0)
            || part.turns == Some(0)
            || part.time == Some(Millis(0));
        (!nothing).then_some(part)
    }

    fn providers(&self) -> BTreeMap<IssueNumber, ProviderName> {
        let of = |number: &IssueNumber| Some((*number, self.planned.ready(*number)?.1.provider()?));
        self.plan.items.iter().filter_map(|item| of(&item.number)).collect()
    }

    async fn told(&mut self, told: Told) -> Result<(), Error> {
        match told {
            Told::Begun { number, run, control } => {
                if self.interrupts > 0 {
                    control.interrupt("ctrl-c");
                }
                self.controls.insert(number, control);
                self.say(&format!("{number} run {run}"));
            }
            Told::Seen { number, seen } => self.seen(number, &seen),
            Told::Over { number, over } => self.over(number, *over).await?,
            Told::Listed(listed) => self.listed(*listed),
        }
        Ok(())
    }

    fn seen(&mut self, number: IssueNumber, seen: &Seen) {
        self.board.see(number, seen);
        match seen {
            Seen::Stage(stage) if self.live.is_none() => {
                self.say(&format!("{number} {}", visible_line(stage)))
            }
            Seen::FirstTurn => self.label(number, &[StatusLabel::Running]),
            // Whoever only waits for checks keeps nobody from working.
            Seen::Waiting(Some(_)) => {
                self.standings.insert(number, Standing::Parked { until: None });
            }
            Seen::Waiting(None) => {
                self.standings.insert(number, Standing::Running);
            }
            Seen::Warning(warning) => {
                self.take_frame_away();
                self.streams.warning(&format!("{number}: {warning}"));
            }
            Seen::Stage(_) | Seen::Turn(_) => {}
        }
    }

    /// An issue is not driven any more: it is over, or it pauses.
    async fn over(&mut self, number: IssueNumber, mut over: Over) -> Result<(), Error> {
        self.controls.remove(&number);
        self.allotted.remove(&number);
        if let Some(past) = &over.past {
            self.spent.insert(number, (past.cost, past.time));
        }
        let hold = over.finish.as_ref().and_then(|finish| finish.hold.clone());
        let directory = over.past.as_ref().map(|past| past.directory.clone());
        if let (Some(hold), Some(directory), 0) = (hold, directory, self.interrupts) {
            match hold {
                Hold::Person(call) if self.yes.contains(&call.stage) => {
                    saihai::answer(&directory, Given::Yes(None), Clock::system()).await?;
                    self.locks.extend(over.lock.take().map(|lock| (number, lock)));
                    self.standings.insert(number, Standing::Parked { until: Some(time::now()) });
                    return Ok(());
                }
                Hold::Person(call) if self.can_ask => {
                    let (_, text, wants) = open_gate(&directory)?;
                    self.locks.extend(over.lock.take().map(|lock| (number, lock)));
                    self.standings.insert(number, Standing::Parked { until: None });
                    self.board.state(number, "waits for you");
                    self.questions.push_back(Question { number, directory, gate: call.stage, text, wants });
                    self.ask_next();
                    return Ok(());
                }
                Hold::Until(at, class) => {
                    let provider = self.planned.ready(number).and_then(|(_, ready)| ready.provider());
                    if let Some(provider) = provider.filter(|_| class == FailureClass::Quota) {
                        self.paused.insert(provider, at);
                    }
                    self.locks.extend(over.lock.take().map(|lock| (number, lock)));
                    self.standings.insert(number, Standing::Parked { until: Some(at) });
                    self.board.state(number, &format!("waits until {}", time::local_until(at, time::now())));
                    return Ok(());
                }
                Hold::Person(_)
                | Hold::Outside(..)
                | Hold::Provider(..)
                | Hold::Limit(_)
                | Hold::Budget
                | Hold::Storage(_)
                | Hold::Interrupted
                | Hold::Cancelling => {}
            }
        }
        self.end(number, &over);
        Ok(())
    }

    /// An issue is over, for now.
    fn end(&mut self, number: IssueNumber, over: &Over) {
        self.locks.remove(&number);
        let title = self.issues.get(&number).map(|issue| issue.title.clone()).unwrap_or_default();
        let completed =
            over.past.as_ref().is_some_and(|past| past.deeds.has(saihai_config::delivery::stage::FINALIZE));
        // An issue that was only told of keeps the labels it has.
        let acted = over.finish.is_some() || over.past.is_none();
        if let Some(labels) = over.came.outcome.labels(completed).filter(|_| acted) {
            self.label(number, labels);
        }
        self.say_edited(number, over);
        self.collect(number, &title, over);
    }

    /// Says that somebody has edited an issue since its run began (I-72).
    fn say_edited(&mut self, number: IssueNumber, over: &Over) {
        let is_edited = over.past.as_ref().zip(self.issues.get(&number));
        if is_edited.is_some_and(|(past, issue)| past.assignment.text != text_of(issue)) {
            self.take_frame_away();
            self.streams.note(&format!("{number} was edited since; its run keeps the text it began with"));
        }
    }

    /// Keeps what came of an issue, and says it.
    fn collect(&mut self, number: IssueNumber, title: &str, over: &Over) {
        let result = ItemResult::new(number, title, over);
        self.standings.insert(number, Standing::Ended(over.came.outcome));
        self.board.state(number, result.outcome);
        let same = |one: &ItemResult| {
            one.issue == number && one.outcome == result.outcome && one.reason == result.reason
        };
        let is_news = !self.results.iter().any(same);
        self.results.retain(|one| one.issue != number);
        self.results.push(result.clone());
        if !is_news {
            return;
        }
        let reason = result.reason.as_deref().map(|reason| format!(" ({})", visible_line(reason)));
        self.say(&format!("{number} {}{}", result.outcome, reason.unwrap_or_default()));
        if self.flags.flags.json {
            self.take_frame_away();
            // Where nobody reads it any more the files still have it.
            result::write_item(&result, &mut self.streams.out).unwrap_or(());
        }
        if let Err(error) = self.files.write(&self.results, over.past.as_ref()) {
            self.streams.warning(&format!("what came of it could not be kept: {error}"));
        }
    }

    fn label(&self, number: IssueNumber, labels: &[StatusLabel]) {
        let work = self.planned.ready(number).map_or(&self.ground.work, |(_, ready)| &ready.work);
        if work.labels {
            self.labeller.set(number, labels, &work.label_prefix);
        }
    }

    /// Asks the next question, where nobody is being asked.
    fn ask_next(&mut self) {
        let Some(question) = self.questions.front() else { return };
        if self.questions.len() == 1 {
            let text = question.ask();
            self.take_frame_away();
            self.streams.err.send(&text);
        }
        if self.keyboard.is_none() {
            self.keyboard = Keyboard::open().ok();
        }
    }

    async fn typed(&mut self, typed: Keyed) -> Result<(), Error> {
        let line = match typed {
            Keyed::Line(line) => line,
            Keyed::End => {
                // Nobody is there: whoever waits for a person goes on waiting.
                self.keyboard = None;
                self.can_ask = false;
                self.streams.err.line("");
                for question in std::mem::take(&mut self.questions) {
                    self.leave(&question)?;
                }
                return Ok(());
            }
        };
        let Some(question) = self.questions.front() else { return Ok(()) };
        let given = match understood(question.wants, &line) {
            Typed::Given(given) => given,
            Typed::YesToAll => {
                self.yes.insert(question.gate.clone());
                Given::Yes(None)
            }
            Typed::Unclear => {
                let again = question.ask_again();
                self.streams.err.send(again);
                return Ok(());
            }
        };
        self.answer(given).await
    }

    /// Answers the first question, and those after it that were answered for all.
    async fn answer(&mut self, given: Given) -> Result<(), Error> {
        let mut given = Some(given);
        while let Some(question) = self.questions.front() {
            let answer = match given.take() {
                Some(answer) => answer,
                None if self.yes.contains(&question.gate) => Given::Yes(None),
                None => break,
            };
            let Some(question) = self.questions.pop_front() else { break };
            saihai::answer(&question.directory, answer, Clock::system()).await?;
            self.standings.insert(question.number, Standing::Parked { until: Some(time::now()) });
            self.board.state(question.number, "answered");
        }
        if let Some(question) = self.questions.front() {
            let text = question.ask();
            self.take_frame_away();
            self.streams.err.send(&text);
        }
        Ok(())
    }

    /// A question that nobody answers now.
    fn leave(&mut self, question: &Question) -> Result<(), Error> {
        let past = saihai::delivery::Past::read(&question.directory)?;
        let came = past.as_ref().and_then(saihai::delivery::Past::came);
        let mut over = Over::told(WorkOutcome::Waiting, "");
        if let Some(came) = came {
            over.came = came;
        }
        over.past = past;
        self.end(question.number, &over);
        Ok(())
    }

    /// Takes in a signal; `true` where the process must end at once.
    fn interrupted(&mut self, by: &'static str) -> bool {
        self.interrupts += 1;
        self.take_frame_away();
        for control in self.controls.values() {
            control.interrupt(by);
        }
        match self.interrupts {
            1 => {
                self.streams.err.line("stopping; once more to end at once");
                let waiting: Vec<Question> = std::mem::take(&mut self.questions).into();
                for question in waiting {
                    // What cannot be read now is found again the next time.
                    self.leave(&question).unwrap_or(());
                }
                false
            }
            2 => false,
            _ => true,
        }
    }

    /// Whether there is nothing more to wait for.
    fn is_over(&self) -> bool {
        let running = self.standings.values().any(|standing| matches!(standing, Standing::Running));
        let driven = running || !self.controls.is_empty() || !self.allotted.is_empty();
        if self.interrupts > 0 {
            return !driven;
        }
        let over = self
            .plan
            .items
            .iter()
            .all(|item| matches!(self.standings.get(&item.number), Some(Standing::Ended(_))));
        over && !driven && self.look.is_none()
    }

    /// Looks for issues again, on a thread of its own.
    fn look_again(&mut self) {
        if let Some(look) = &mut self.look {
            look.under_way = true;
        }
        let (ground, selection, tell) = (Arc::clone(&self.ground), self.selection.clone(), self.tell.clone());
        std::thread::spawn(move || {
            let listed = driving::block_on(async { Ok(selection.list(&ground).await) });
            let listed = listed.unwrap_or_else(|error| Err(Unlisted::Error(error)));
            tell.send(Told::Listed(Box::new(listed))).unwrap_or(());
        });
    }

    fn listed(&mut self, listed: Result<Listing, Unlisted>) {
        let every = self.ground.work.every;
        let Some(look) = &mut self.look else { return };
        look.under_way = false;
        match listed {
            Err(unlisted) => {
                look.pause = Millis((look.pause.0 * 2).min(LONGEST.0));
                look.next = time::now().plus(look.pause);
                let is_first = !std::mem::replace(&mut look.complained, true);
                if is_first {
                    let why = match unlisted {
                        Unlisted::Wrong(found) => format!(
                            "{} in files of issues",
                            crate::report::count(found.len() as u64, "error")
                        ),
                        Unlisted::Error(Error::Refused(refusal)) => refusal.message,
                        Unlisted::Error(Error::ClosedPipe | Error::Said(_)) => {
                            "it cannot be said why".to_owned()
                        }
                    };
                    self.take_frame_away();
                    self.streams.warning(&format!("issues cannot be listed: {why}; it is tried again"));
                }
            }
            Ok(listing) => {
                (look.pause, look.complained) = (every, false);
                look.next = time::now().plus(every);
                self.reconsider(&listing);
                self.take_in(listing);
            }
        }
    }

    /// Whoever waited for something may begin now; whoever failed begins again once the issue was changed (I-76).
    fn reconsider(&mut self, listing: &Listing) {
        for item in &listing.plan.items {
            let Some(issue) = listing.issues.get(&item.number) else { continue };
            if self.planned.ready(item.number).is_none()
                && let Err(error) = self.planned.plan(issue, &self.ground, self.flags, self.streams)
            {
                error.say(self.streams);
                continue;
            }
            let changed = self.issues.get(&item.number).is_some_and(|known| text_of(known) != text_of(issue));
            match self.standings.get(&item.number) {
                Some(Standing::Ended(
                    WorkOutcome::Waiting | WorkOutcome::Blocked | WorkOutcome::Elsewhere,
                )) => {
                    self.standings.remove(&item.number);
                }
                Some(Standing::Ended(_)) if changed => {
                    self.standings.remove(&item.number);
                    self.again.insert(item.number);
                }
                Some(Standing::Ended(_) | Standing::Running | Standing::Parked { .. }) | None => {}
            }
        }
    }

    /// Says what came of everything.
    fn finish(mut self) -> Result<u8, Error> {
        self.take_frame_away();
        let order: Vec<IssueNumber> = self.plan.items.iter().map(|item| item.number).collect();
        let place = |number: IssueNumber| order.iter().position(|one| *one == number).unwrap_or(usize::MAX);
        self.results.sort_by_key(|result| (place(result.issue), result.issue));
        for warning in self.labeller.finish() {
            self.streams.warning(&visible_line(&warning));
        }
        if let Err(error) = show_in_actions(&self.ground.project, &self.results) {
            self.streams.warning(&format!("the summary of the step cannot be written: {error}"));
        }
        let code = result::exit_code(&self.results);
        let code = if self.interrupts > 0 && code == 0 { exit::INTERRUPTED } else { code };
        if self.flags.flags.json {
            result::write_batch(&self.files.id, &self.results, &mut self.streams.out)?;
        } else {
            result::print(&self.results, &mut self.streams.out)?;
        }
        let nothing = self
            .results
            .iter()
            .all(|result| result.reason.as_deref() == Some("before") || result.word == WorkOutcome::Closed);
        if nothing {
            self.streams.note("nothing to do");
        }
        Ok(code)
    }

    fn say(&mut self, line: &str) {
        if self.flags.flags.json && self.live.is_none() {
            return;
        }
        match &mut self.live {
            Some(live) => live.keep(&[line.to_owned()], &mut self.streams.err),
            None => self.streams.err.line(line),
        }
    }

    fn redraw(&mut self) {
        let Some(live) = self.live.as_mut().filter(|_| self.questions.is_empty()) else { return };
        let frame = self.board.frame(self.streams.err.columns(), self.streams.err.rows());
        live.draw(frame, &mut self.streams.err);
    }

    fn take_frame_away(&mut self) {
        if let Some(live) = &mut self.live {
            live.clear(&mut self.streams.err);
        }
    }
}
