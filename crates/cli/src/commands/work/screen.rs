//! The screen of `saihai work`: shows an invocation, asks questions and collects results.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use saihai::{Clock, Disk, GateAnswer, RunDirectory, open_gate};
use saihai_connect::SHORTEST_SECRET;
use saihai_delivery::{
    BatchStep, IssueActivity, IssueAssignment, IssueEnd, IssueEvent, IssueReason, IssueResult, IssueRun,
    IssueSelection, Labeller, Listing, PollSchedule, ScheduleStep, WorkBatch, WorkError,
};
use saihai_git::Repository;
use saihai_model::{
    Budget, ExitStatus, FailureClass, Hold, Issue, IssueNumber, Moment, ProviderName, StageId, StatusLabel,
    WorkOutcome, work_exit_code,
};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::Work;
use super::board::IssueBoard;
use super::plan::IssuePlans;
use super::preparation::Ground;
use super::questions::{GateOffer, GateQuestion};
use super::results::{self, BatchFiles, ItemResult, MergeBranch, show_in_actions};
use super::words::{activity_words, refused_by_git};
use crate::checkout::insist_on_own_root;
use crate::driving;
use crate::driving::{Keyboard, LiveTelemetry, Signals, StartupSignals, TypedLine};
use crate::error::CommandError;
use crate::quantities;
use crate::report::{LiveFrame, count};
use crate::terminal::{Streams, visible_line};

const RUN_AGAIN: &str = "run the same command again to continue";

const REDRAW: Duration = Duration::from_millis(200);

pub(super) struct WorkScreen<'a> {
    pub(super) batch: WorkBatch,
    pub(super) ground: Ground,
    flags: &'a Work,
    pub(super) streams: &'a mut Streams,
    live: Option<LiveFrame>,
    pub(super) board: IssueBoard,
    files: BatchFiles,
    labeller: Labeller,
    planned: IssuePlans,
    events: UnboundedReceiver<(IssueNumber, IssueEvent)>,
    /// Notices of worker threads, which must not write to the terminal themselves.
    notices: UnboundedReceiver<String>,
    /// The result of listing issues again, while that is under way.
    listed: Option<tokio::sync::oneshot::Receiver<Result<Listing, WorkError>>>,
    results: Vec<ItemResult>,
    pub(super) questions: VecDeque<GateQuestion>,
    pub(super) keyboard: Option<Keyboard>,
    pub(super) can_ask: bool,
    /// Gates answered with "yes to all".
    pub(super) yes: BTreeSet<StageId>,
    interrupts: u8,
    /// Output held back while a question is open.
    held: Vec<String>,
    telemetry: Option<LiveTelemetry>,
}

enum ScreenEvent {
    Issue(IssueNumber, Box<IssueEvent>),
    Listed(Box<Result<Listing, WorkError>>),
    Signal(&'static str),
    Keyed(TypedLine),
    Notice(String),
    Redraw,
    Time,
}

impl<'a> WorkScreen<'a> {
    pub(super) fn new(
        ground: Ground,
        flags: &'a Work,
        selection: IssueSelection,
        planned: IssuePlans,
        streams: &'a mut Streams,
    ) -> Self {
        if ground.access.as_ref().is_some_and(|access| access.token.secret().len() < SHORTEST_SECRET) {
            streams.warning(&format!(
                "the token is shorter than {SHORTEST_SECRET} characters, so reports and commits are not searched for it"
            ));
        }
        let json = flags.flags.json;
        let live =
            (streams.err.can_redraw() && !(json && streams.out.is_terminal())).then(LiveFrame::default);
        let can_ask = streams.can_ask() && !json && !flags.flags.presence.auto;
        let (sender, events) = unbounded_channel();
        let poll = flags.watch.then(|| PollSchedule::paced(ground.work.every, quantities::now()));
        let files = BatchFiles::new(&ground.project);
        let notices = ground.notices.attach();
        let context = Arc::clone(&ground.context);
        let telemetry = LiveTelemetry::start_if(flags.flags.otel || ground.settings.otel, streams);
        Self {
            labeller: Labeller::start(&context),
            batch: WorkBatch::new(context, files.id.clone(), selection, flags.adopt, poll, sender),
            files,
            ground,
            flags,
            streams,
            live,
            board: IssueBoard::default(),
            planned,
            events,
            notices,
            listed: None,
            results: Vec::new(),
            questions: VecDeque::new(),
            keyboard: None,
            can_ask,
            yes: BTreeSet::new(),
            interrupts: 0,
            held: Vec::new(),
            telemetry,
        }
    }

    /// Works on all listed issues and returns the exit code.
    pub(super) async fn work(
        mut self,
        listing: Listing,
        unbegun: StartupSignals,
    ) -> Result<ExitStatus, CommandError> {
        let mut signals = Signals::listen().map_err(super::unheard)?;
        // From here on this loop handles signals.
        drop(unbegun);
        self.exclude()?;
        for (number, item) in &self.planned.items {
            if let Some(issue) = listing.issues.get(number) {
                self.batch.define(issue, Arc::clone(&item.ready), item.base.branch.clone());
            }
        }
        self.take_in(listing).await;
        let mut ticks = tokio::time::interval(REDRAW);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
        loop {
            let wake = self.step();
            if self.is_over() {
                break;
            }
            let wait = wake.map(|at| Duration::from_millis(at.since(quantities::now()).0));
            let event = {
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
                let listed = async {
                    match &mut self.listed {
                        Some(listed) => listed.await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    Some((number, event)) = self.events.recv() => ScreenEvent::Issue(number, Box::new(event)),
                    Some(notice) = self.notices.recv() => ScreenEvent::Notice(notice),
                    Ok(listed) = listed => ScreenEvent::Listed(Box::new(listed)),
                    by = signals.next() => ScreenEvent::Signal(by),
                    typed = keyed => ScreenEvent::Keyed(typed),
                    () = timer => ScreenEvent::Time,
                    _ = ticks.tick(), if self.live.is_some() => ScreenEvent::Redraw,
                }
            };
            match event {
                ScreenEvent::Issue(number, event) => self.issue_event(number, *event).await,
                ScreenEvent::Listed(listed) => self.listed(*listed).await,
                ScreenEvent::Notice(notice) => self.say(&format!("note: {notice}")),
                ScreenEvent::Signal(by) => {
                    if self.interrupted(by) {
                        self.streams.error("stopped immediately", &[RUN_AGAIN.to_owned()]);
                        return Ok(ExitStatus::Interrupted);
                    }
                }
                ScreenEvent::Keyed(typed) => self.typed(typed).await?,
                ScreenEvent::Redraw => self.redraw(),
                ScreenEvent::Time => {}
            }
        }
        self.finish()
    }

    /// Excludes worktrees from git, including those whose directory a definition sets (I-35).
    fn exclude(&self) -> Result<(), CommandError> {
        let roots: BTreeSet<&std::path::Path> =
            self.planned.items.values().map(|item| item.ready.work.worktree_root.as_path()).collect();
        let roots: Vec<&std::path::Path> = roots.into_iter().collect();
        roots.iter().try_for_each(|root| insist_on_own_root(&self.ground.repository, root))?;
        self.ground.repository.exclude(&roots).map(drop).map_err(|error| refused_by_git(&error))
    }

    async fn take_in(&mut self, listing: Listing) {
        // Only a board in the browser lacks it.
        self.files.write_issues(&listing).unwrap_or(());
        for item in &listing.plan.items {
            if let Some(issue) = listing.issues.get(&item.number) {
                self.board.add(item.number, &issue.title);
            }
        }
        let news = self.batch.take_in(listing);
        for (number, mut end) in news.done {
            end.end_merged_run().await;
            self.end(number, &end);
        }
        for number in news.queued {
            self.label(number, &[StatusLabel::Queued]);
        }
    }

    /// Performs all due steps and returns the time of the next one.
    fn step(&mut self) -> Option<Moment> {
        if self.interrupts > 0 {
            return None;
        }
        loop {
            let now = quantities::now();
            let next = self.batch.schedule(now);
            if next.steps.is_empty() {
                let is_polling = self.listed.is_some();
                let poll = self.batch.poll.as_ref().filter(|_| !is_polling).map(|poll| poll.next);
                if poll.is_some_and(|at| at <= now) {
                    self.list_again();
                    continue;
                }
                let expires = self.questions.front().and_then(|question| question.expires);
                if expires.is_some_and(|at| at <= now) {
                    self.give_up_asking();
                    continue;
                }
                return next.wake.into_iter().chain(poll).chain(expires).min();
            }
            for step in next.steps {
                let (ScheduleStep::Start(number)
                | ScheduleStep::Continue(number)
                | ScheduleStep::Obstructed(number, _)
                | ScheduleStep::Without { number, .. }) = step;
                match self.batch.perform(step) {
                    // The remaining budget of the other issues has changed.
                    BatchStep::Started => {
                        self.board.begin(number);
                        break;
                    }
                    BatchStep::Ended(end) => self.end(number, &end),
                }
            }
        }
    }

    /// Handles a signal. Returns true if the process must exit at once.
    fn interrupted(&mut self, by: &'static str) -> bool {
        self.interrupts += 1;
        self.take_frame_away();
        self.batch.interrupt(by);
        match self.interrupts {
            1 => {
                self.streams.err.line("stopping… press Ctrl-C again to quit immediately");
                for question in std::mem::take(&mut self.questions) {
                    // The next invocation finds unreadable runs again.
                    self.leave(&question).unwrap_or(());
                }
                self.leave_waiting();
                false
            }
            // The next invocation detects if the interrupted git operation is done.
            2 => {
                saihai_git::end_all_git();
                false
            }
            _ => true,
        }
    }

    /// Returns true if there is nothing left to wait for.
    fn is_over(&self) -> bool {
        match self.interrupts {
            0 => self.batch.is_over(),
            1 => !self.batch.is_busy(),
            // Issues that have not started lose nothing.
            _ => !self.batch.is_driving(),
        }
    }

    async fn issue_event(&mut self, number: IssueNumber, event: IssueEvent) {
        match event {
            IssueEvent::Begun { run, control } => {
                if let Some(telemetry) = &self.telemetry {
                    // Its journal may still be empty, so it cannot be found by name.
                    let runs = self.ground.runs.directory();
                    telemetry.follow(RunDirectory::new(runs, run.clone(), &Disk::new()));
                }
                if self.batch.begun(number, &run, control) {
                    self.say(&format!("{number} run {run}"));
                }
            }
            IssueEvent::Activity(activity) => self.activity(number, &activity),
            IssueEvent::Over(end) => self.over(number, *end).await,
        }
    }

    fn activity(&mut self, number: IssueNumber, activity: &IssueActivity) {
        self.batch.record(number, activity);
        self.board.record(number, activity);
        match activity {
            IssueActivity::Stage(stage) if self.live.is_none() => {
                self.say(&format!("{number} {}", visible_line(stage.as_str())));
            }
            IssueActivity::FirstTurn => self.label(number, &[StatusLabel::Running]),
            IssueActivity::Warning(_) | IssueActivity::TextLeftOut(_) => {
                self.take_frame_away();
                self.streams.warning(&format!("{number}: {}", activity_words(activity)));
            }
            IssueActivity::Delayed(_) | IssueActivity::StartsAgain { .. } => {
                self.take_frame_away();
                self.say(&format!("{number} {}", activity_words(activity)));
            }
            IssueActivity::Stage(_)
            | IssueActivity::Turn(_)
            | IssueActivity::Waiting(_)
            | IssueActivity::MergeQueued(_)
            | IssueActivity::Exhausted(..) => {}
        }
    }

    /// Handles an issue that is no longer driven, because it ended or paused.
    async fn over(&mut self, number: IssueNumber, mut end: IssueEnd) {
        self.batch.settle(number, &mut end);
        let hold = end.finish.as_ref().and_then(|finish| finish.hold.clone());
        let directory = end.run.as_ref().map(|run| run.directory().clone());
        if let (Some(hold), Some(directory), 0) = (hold, directory, self.interrupts) {
            match hold {
                Hold::Person(call) if self.yes.contains(&call.stage) => {
                    // If this answer is rejected, another one exists and the run continues with that.
                    drop(saihai::answer(&directory, GateAnswer::Yes(None), Clock::system()).await);
                    return self.batch.pause(number, &mut end, Some(quantities::now()));
                }
                Hold::Person(call) if self.can_ask => {
                    let Ok((_, text, wants)) = open_gate(&directory) else { return self.end(number, &end) };
                    self.batch.pause(number, &mut end, None);
                    self.board.state(number, "waiting for you");
                    let timeout = self.planned.ready(number).and_then(|(_, ready)| ready.work.gate_timeout);
                    let expires = timeout.map(|timeout| quantities::now().plus(timeout));
                    let (gate, offer) = (call.stage, GateOffer::of(end.run.as_ref()));
                    let question = GateQuestion { number, directory, gate, text, wants, expires, offer };
                    self.questions.push_back(question);
                    return self.ask_next();
                }
                Hold::Until(at, class) => {
                    let provider =
                        end.run.as_ref().and_then(|run| run.state.provider()).map(ProviderName::from);
                    if let Some(provider) = provider.filter(|_| class == FailureClass::Quota) {
                        self.batch.pause_provider(provider, at);
                    }
                    self.batch.pause(number, &mut end, Some(at));
                    let until = quantities::local_until(at, quantities::now());
                    return self.board.state(number, &format!("waiting until {until}"));
                }
                Hold::Person(_)
                | Hold::Outside(..)
                | Hold::Provider(..)
                | Hold::Limit(_)
                | Hold::Budget
                | Hold::NoProgress(_)
                | Hold::Storage(_)
                | Hold::Interrupted
                | Hold::Cancelling => {}
            }
        }
        self.end(number, &end);
    }

    /// Handles the end of the work on an issue: its labels, its result, its line on the screen.
    pub(super) fn end(&mut self, number: IssueNumber, end: &IssueEnd) {
        if let Some(labels) = self.batch.labels_after(number, end) {
            self.label(number, labels);
        }
        let issue = self.batch.issues.get(&number).map(|one| &one.issue);
        let title = issue.map(|issue| issue.title.clone()).unwrap_or_default();
        // Report that the issue changed after its run started (I-72).
        let both = end.run.as_ref().zip(issue);
        if both.is_some_and(|(run, issue)| run.assignment.text != IssueAssignment::text_of(issue))
            && !end.is_before()
        {
            self.take_frame_away();
            self.streams
                .note(&format!("{number} was edited after its run started; the run keeps the earlier text"));
        }
        let mut result = ItemResult::new(number, &title, end, self.spent_whole(number, end));
        result.hints.splice(0..0, self.to_take_in(end));
        self.board.state(number, result.outcome);
        // A new or continued run with the same result is reported again.
        let is_news = !self.results.iter().any(|one| one.is_same(&result));
        self.batch.ended(number, end, result.place(), is_news);
        self.results.retain(|one| one.issue != number);
        self.results.push(result.clone());
        if !is_news {
            return;
        }
        // Write the file before printing: a reader of the output must find the result there.
        if let Err(error) = self.files.write(&self.results, end.run.as_ref()) {
            self.streams.warning(&format!("cannot save the results: {error}"));
        }
        let reason = result.reason.as_deref().map(|reason| format!(" ({})", visible_line(reason)));
        self.say(&format!("{number} {}{}", result.outcome, reason.unwrap_or_default()));
        if self.flags.flags.json {
            self.take_frame_away();
            // The files still contain the result if stdout is closed.
            results::write_item(&result, &mut self.streams.out).unwrap_or(());
        }
    }

    /// Returns the issue's total budget if its runs have used it up.
    fn spent_whole(&self, number: IssueNumber, end: &IssueEnd) -> Option<&Budget> {
        let is_limited = end.result.outcome == WorkOutcome::Limited;
        let one = self.batch.issues.get(&number).filter(|_| is_limited)?;
        let is_spent = self.ground.budget_left(&one.issue).is_ok_and(|left| left.is_spent());
        is_spent.then_some(&self.ground.work.budget_per_issue)
    }

    /// Returns the command to run before resolving a local conflict by hand. The issue also conflicts with the merges that
    /// wait in `saihai/merge/BASE`.
    fn to_take_in(&self, end: &IssueEnd) -> Option<String> {
        let run = end.run.as_ref().filter(|run| run.assignment.forge.is_none())?;
        let base = &run.assignment.base.branch;
        let waits = end.result.outcome == WorkOutcome::Conflict
            && self.ground.repository.waits_beside(base).unwrap_or(false);
        waits.then(|| format!("first merge the waiting work: `git merge saihai/merge/{base}`"))
    }

    fn label(&self, number: IssueNumber, labels: &[StatusLabel]) {
        let work = self.planned.ready(number).map_or(&self.ground.work, |(_, ready)| &ready.work);
        if work.labels {
            self.labeller.set(number, labels, &work.label_prefix);
        }
    }

    /// Prints all results and returns the exit code.
    fn finish(mut self) -> Result<ExitStatus, CommandError> {
        self.take_frame_away();
        if let Some(telemetry) = self.telemetry.take() {
            telemetry.finish(self.streams);
        }
        let order: Vec<IssueNumber> = self.batch.plan.items.iter().map(|item| item.number).collect();
        let place = |number: IssueNumber| order.iter().position(|one| *one == number).unwrap_or(usize::MAX);
        self.results.sort_by_key(|result| (place(result.issue), result.issue));
        match self.labeller.finish() {
            Some(failures) => {
                for (number, error) in failures {
                    let said = format!("cannot set the labels of {number}: {error}");
                    self.streams.warning(&visible_line(&said));
                }
            }
            None => self.streams.warning("some labels were not set in time"),
        }
        if let Err(error) = show_in_actions(&self.ground.project, &self.results) {
            self.streams.warning(&format!("cannot write the job summary: {error}"));
        }
        let mut looked: BTreeMap<String, (bool, bool)> = BTreeMap::new();
        for result in &mut self.results {
            let Some(MergeBranch { branch, base, .. }) = result.merge_branch.take() else { continue };
            // Drop the hint if the base already contains the merges.
            let (waits, diverged) = *looked.entry(base.clone()).or_insert_with(|| {
                let repository = &self.ground.repository;
                (repository.waits_beside(&base).unwrap_or(true), has_diverged(repository, &base))
            });
            result.merge_branch = waits.then_some(MergeBranch { branch, base, diverged });
        }
        let code = results::exit_code(&self.results);
        let stopped = (self.interrupts > 0).then_some(ExitStatus::Interrupted.code());
        let code = work_exit_code(stopped.into_iter().chain([code]));
        if let Err(error) = self.files.conclude(&self.results, code) {
            self.streams.warning(&format!("cannot save the results: {error}"));
        }
        if self.flags.flags.json {
            results::write_batch(&self.files.id, &self.results, code, &mut self.streams.out)?;
        } else {
            results::print(&self.results, code, &mut self.streams.out)?;
        }
        if self.interrupts > 0 {
            self.streams.note(&format!("paused, {RUN_AGAIN}"));
        } else if self.results.iter().all(ItemResult::is_old) {
            self.streams.note("nothing to do: these issues were done or closed earlier");
        }
        Ok(ExitStatus::of_code(code).unwrap_or(ExitStatus::Bug))
    }

    /// Reports the runs that wait for a point in time when everything stops. The next invocation continues them.
    fn leave_waiting(&mut self) {
        for number in self.batch.waiting() {
            let issue = self.batch.issues.get(&number).map(|one| &one.issue);
            let run = issue.and_then(|issue| self.ground.last_delivery(issue).ok()).flatten();
            let result = run.as_ref().and_then(IssueRun::result).unwrap_or_else(IssueResult::interrupted);
            self.end(number, &IssueEnd { run, ..IssueEnd::of(result) });
        }
    }

    fn say(&mut self, line: &str) {
        if self.flags.flags.json && self.live.is_none() {
            return;
        }
        // Do not write into the line that a person is typing.
        if !self.questions.is_empty() {
            self.held.push(line.to_owned());
            return;
        }
        match &mut self.live {
            Some(live) => live.keep(&[line.to_owned()], &mut self.streams.err),
            None => self.streams.err.line(line),
        }
    }

    /// Prints the output held back while a question was open.
    pub(super) fn say_held(&mut self) {
        if self.questions.is_empty() {
            for line in std::mem::take(&mut self.held) {
                self.say(&line);
            }
        }
    }

    fn redraw(&mut self) {
        let Some(live) = self.live.as_mut().filter(|_| self.questions.is_empty()) else { return };
        let frame = self.board.frame(self.streams.err.columns(), self.streams.err.rows());
        live.draw(frame, &mut self.streams.err);
    }

    pub(super) fn take_frame_away(&mut self) {
        if let Some(live) = &mut self.live {
            live.clear(&mut self.streams.err);
        }
    }
}

/// Returns true if the base has commits that `saihai/merge/BASE` does not contain.
fn has_diverged(repository: &Repository, base: &str) -> bool {
    let tip = |branch: String| repository.tip(&format!("refs/heads/{branch}")).ok().flatten();
    let both = tip(format!("saihai/merge/{base}")).zip(tip(base.to_owned()));
    both.is_some_and(|(beside, base)| !repository.holds(&beside, &base).unwrap_or(true))
}

impl WorkScreen<'_> {
    /// Lists issues again on a separate thread.
    fn list_again(&mut self) {
        let (context, selection) = (Arc::clone(&self.ground.context), self.batch.selection.clone());
        let (tell, hear) = tokio::sync::oneshot::channel();
        self.listed = Some(hear);
        std::thread::spawn(move || {
            let list = AssertUnwindSafe(|| driving::block_on(async { Ok(selection.list(&context).await) }));
            // A panic is reported like any other failed poll.
            let bug = || Err(WorkError::Runtime(std::io::Error::other("a bug")));
            let listed = catch_unwind(list).ok().and_then(Result::ok).unwrap_or_else(bug);
            drop(tell.send(listed));
        });
    }

    async fn listed(&mut self, listed: Result<Listing, WorkError>) {
        self.listed = None;
        let Some(poll) = &mut self.batch.poll else { return };
        match listed {
            Err(error) => {
                if poll.failed(quantities::now()) {
                    self.take_frame_away();
                    let why = match &error {
                        WorkError::IssueFiles(found) => {
                            let text = self.streams.err.diagnostics(found);
                            self.streams.err.send(&text);
                            format!("{} in files of issues", count(found.len() as u64, "error"))
                        }
                        error => CommandError::from(error).message().to_owned(),
                    };
                    self.streams.warning(&format!("cannot list issues: {why}; trying again"));
                }
            }
            Ok(listing) => {
                if poll.succeeded(quantities::now()) {
                    self.take_frame_away();
                    self.streams.note("issues are listed again");
                }
                let items = listing.plan.items.iter().filter_map(|item| listing.issues.get(&item.number));
                let new: Vec<Issue> =
                    items.filter(|issue| self.batch.lacks_definition(issue)).cloned().collect();
                for issue in new {
                    self.plan_later(&issue);
                }
                self.batch.reconsider(&listing, quantities::now());
                self.take_in(listing).await;
            }
        }
    }

    /// Plans an issue that appeared after the start. An error is reported once. Other issues are not affected.
    fn plan_later(&mut self, issue: &Issue) {
        let planned = self.planned.plan(issue, &self.ground, self.flags, self.streams);
        if let (Ok(()), Some((item, ready))) = (&planned, self.planned.ready(issue.number)) {
            let (ready, base) = (Arc::clone(ready), item.base.branch.clone());
            return self.batch.define(issue, ready, base);
        }
        let Err(error) = planned else { return };
        self.take_frame_away();
        let message = match &error {
            CommandError::Refused(refusal) => refusal.message.clone(),
            CommandError::Said(_) | CommandError::ClosedPipe => "its definition cannot be used".to_owned(),
        };
        error.say(self.streams);
        self.batch.refuse_definition(issue);
        let end = IssueEnd::new(WorkOutcome::Failed, IssueReason::NotPlanned { message });
        self.end(issue.number, &end);
    }
}
