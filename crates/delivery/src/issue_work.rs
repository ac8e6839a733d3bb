//! The work on one issue. Each issue has its own thread, so that a failure does not affect the others.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use saihai::{Clock, DriveOptions, DriveOutcome, Driver, DriverControl, DriverEvent, RunDirectory, RunSpec};
use saihai_config::issues::{clean_title, task};
use saihai_config::{CleanUp, Comments, ForgeKind};
use saihai_connect::CommandSurroundings;
use saihai_connect::forge::{ForgeError, Github, PullRequestStanding, PullRequestState, standing};
use saihai_git::{
    BaseCommit, BranchOwnership, CleanUpRequest, ItemLock, ItemLockAttempt, MakeRoomOutcome,
    PlaceItemRefusal, RepositoryErrorDuration, ServerBranchRequest, WorkItem,
};
use saihai_model::{
    Budget, DeliveryFailure, FailureReason, Issue, IssueNumber, IssueSource, Raise, RunOrigin, WorkOutcome,
    Workflow,
};
use tokio::sync::mpsc::UnboundedSender;

use crate::activity::ActivityFilter;
use crate::assess::{has_moved_since_conflict, not_ours, our_request, request_result};
use crate::definition::with_budget;
use crate::observe::requests_of;
use crate::stages::stage;
use crate::{
    DeliveryExecutor, DeliveryResources, DependencyReason, EarlierDelivery, ForgeConnection,
    ForgeDestination, IssueActivity, IssueAssignment, IssueDefinition, IssueEnd, IssueReason, IssueResult,
    IssueRun, MergeWaitObserver, NextWork, OpenedRequest, Placement, RepeatFlags, RunChangeCounter,
    WorkContext, WorkError, issue_item,
};

/// The work to do on an issue now.
pub struct IssueWork {
    pub context: Arc<WorkContext>,
    pub issue: Issue,
    pub definition: Arc<IssueDefinition>,
    pub base: String,
    pub budget: Budget,
    /// True if the agents' budget is used up.
    pub spent: bool,
    pub batch: String,
    pub repeat: RepeatFlags,
    /// True for the first attempt in this invocation.
    pub first: bool,
    /// True if the base must contain the issue's dependencies.
    pub follows_dependencies: bool,
    /// The issue's lock, if it was kept during a pause.
    pub lock: Option<Arc<ItemLock>>,
    pub stopped: Arc<AtomicBool>,
    pub events: IssueEvents,
}

/// A message from the thread of an issue.
pub enum IssueEvent {
    /// The run is driven and can be stopped.
    Begun {
        run: String,
        control: DriverControl,
    },
    Activity(IssueActivity),
    /// The run ended or paused.
    Over(Box<IssueEnd>),
}

/// The sender of an issue's messages. Without a receiver they do not matter.
#[derive(Clone)]
pub struct IssueEvents {
    pub number: IssueNumber,
    pub sender: UnboundedSender<(IssueNumber, IssueEvent)>,
}

impl IssueEvents {
    fn send(&self, event: IssueEvent) {
        self.sender.send((self.number, event)).unwrap_or(());
    }
}

/// Either the value, or the end of the work.
type OrEnd<T> = Result<T, Box<IssueEnd>>;

fn ends<T>(end: IssueEnd) -> Result<OrEnd<T>, WorkError> {
    Ok(Err(Box::new(end)))
}

impl IssueWork {
    /// Works on an issue until its end or its next pause, and sends the result.
    pub fn run(self) {
        let (events, stopped) = (self.events.clone(), Arc::clone(&self.stopped));
        let work = AssertUnwindSafe(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(WorkError::Runtime)?.block_on(self.go())
        });
        let end = match catch_unwind(work) {
            Ok(Ok(end)) => end,
            Ok(Err(error)) => {
                let result = failed_result(error);
                // The next invocation repeats a wait that was interrupted before the run started.
                let is_wait = result.outcome == WorkOutcome::Provider && stopped.load(Ordering::Relaxed);
                IssueEnd::of(if is_wait { IssueResult::interrupted() } else { result })
            }
            Err(panic) => {
                let said = panic.downcast_ref::<String>().cloned();
                let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&said| said.to_owned()));
                let message = said.unwrap_or_else(|| "a bug".to_owned());
                IssueEnd {
                    panicked: true,
                    ..IssueEnd::new(WorkOutcome::Failed, IssueReason::Panicked { message })
                }
            }
        };
        events.send(IssueEvent::Over(Box::new(end)));
    }

    async fn go(mut self) -> Result<IssueEnd, WorkError> {
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => match self.take_lock()? {
                Ok(lock) => lock,
                Err(end) => return Ok(*end),
            },
        };
        // Read again under the lock: another process may have worked on it in the meantime.
        let runs = match self.context.runs_of(&self.issue) {
            Ok(runs) => runs,
            Err(error) => return Ok(IssueEnd { acted: false, ..IssueEnd::unreadable(&error) }),
        };
        let driver = match self.start_or_resume(runs, &lock).await? {
            Ok(driver) => driver,
            Err(end) => return Ok(*end),
        };
        if self.is_stopped() {
            driver.withdraw(&self.context.runs);
            return Ok(IssueEnd::interrupted());
        }
        let end = self.drive(driver, lock).await?;
        // Merge the work of an earlier invocation after its delivery, if this invocation asks for a merge.
        let delivered = end.run.clone().zip(end.lock.clone());
        match delivered.filter(|(run, _)| self.merges(run) && !self.is_stopped()) {
            Some((run, lock)) => {
                let driver = self.merge_delivered(run, &lock).await?;
                self.drive(driver, lock).await
            }
            None => Ok(end),
        }
    }

    /// Decides the next step under the lock, and takes it up to the driver of a run.
    async fn start_or_resume(
        &self,
        runs: Vec<IssueRun>,
        lock: &Arc<ItemLock>,
    ) -> Result<OrEnd<Driver>, WorkError> {
        // A run that was refused its branch does not prove ownership of it.
        let known = runs.iter().any(|run| run.outputs.text(stage::WORKTREE, "path").is_some());
        let mut last = runs.into_iter().find(|run| run.delivers);
        let flags = RepeatFlags { adopt: self.repeat.adopt && self.first, ..self.repeat };
        let mut next = NextWork::after(last.as_ref(), flags, |run| self.context.has_moved(run));
        if let (NextWork::Continue { .. }, Some(run)) = (next, &last) {
            let (assignment, now) = (&run.assignment, &self.definition.work.worktree_root);
            let repository = &self.context.repository;
            match repository.begun_elsewhere(&assignment.item(), &assignment.worktree_root, now)? {
                Some(_) if self.repeat.retry => (next, last) = (NextWork::Begin, None),
                Some(refusal) => return ends(IssueEnd::new(WorkOutcome::Blocked, not_ours(&refusal))),
                None => {}
            }
        }
        let budget = |reason| IssueEnd::new(WorkOutcome::Limited, reason);
        match (next, last) {
            (NextWork::Continue { finished }, Some(run)) => {
                // Only agents cost money, so finished work is delivered even with a spent budget.
                if self.spent && !finished {
                    return ends(budget(IssueReason::Budget));
                }
                self.resume(&run, lock).map(Ok)
            }
            (NextWork::Report, Some(run)) if self.merges(&run) => {
                if self.is_stopped() {
                    return ends(IssueEnd::interrupted());
                }
                self.merge_delivered(run, lock).await.map(Ok)
            }
            (NextWork::Report, Some(run)) => {
                let result = self.closed_since(&run).await?;
                ends(IssueEnd { run: Some(run), ..IssueEnd::reported(result) })
            }
            _ if self.is_stopped() => ends(IssueEnd::interrupted()),
            _ if self.spent => ends(budget(IssueReason::Budget)),
            // A run without a budget would only add one more run.
            _ if self.context.budget_left(&self.issue)?.is_spent() => {
                ends(budget(IssueReason::BudgetPerIssue))
            }
            (_, last) => self.begin(lock, known, last.as_ref()).await,
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    fn item(&self) -> WorkItem {
        issue_item(self.issue.source, self.issue.number, &self.definition.work.branch_prefix)
    }

    fn branch(&self) -> String {
        self.issue.number.branch(&self.definition.work.branch_prefix)
    }

    /// Locks the issue, if it is free.
    fn take_lock(&self) -> Result<OrEnd<Arc<ItemLock>>, WorkError> {
        match ItemLock::take(&self.context.repository, &self.item(), "", Clock::system().now())? {
            ItemLockAttempt::Ours(lock) => Ok(Ok(Arc::new(lock))),
            ItemLockAttempt::Elsewhere { process, run } => {
                ends(IssueEnd::new(WorkOutcome::Elsewhere, IssueReason::OtherProcess { process, run }))
            }
        }
    }

    async fn drive(&self, driver: Driver, lock: Arc<ItemLock>) -> Result<IssueEnd, WorkError> {
        let directory = driver.directory().clone();
        // The run id serves only for messages, so a failure does not matter.
        lock.name_run(directory.id(), Clock::system().now()).unwrap_or(());
        self.events.send(IssueEvent::Begun { run: directory.id().to_owned(), control: driver.control() });
        let going = DriveOptions { stay_at_gates: false, auto: self.definition.auto, when_told: true };
        let mut filter = ActivityFilter::default();
        let mut observer = |observed: DriverEvent<'_>| {
            for activity in filter.events(&observed) {
                self.events.send(IssueEvent::Activity(activity));
            }
        };
        let finish = RunChangeCounter::attach(driver).drive(going, &mut observer).await?;
        Ok(driven_end(&directory, finish, lock))
    }
}

/// Returns the state of a driven run.
fn driven_end(directory: &RunDirectory, finish: DriveOutcome, lock: Arc<ItemLock>) -> IssueEnd {
    // The run is no longer driven, but its owner file may take a moment to disappear.
    let run = match IssueRun::read(directory) {
        Ok(run) => run,
        Err(error) => {
            return IssueEnd { finish: Some(finish), lock: Some(lock), ..IssueEnd::unreadable(&error) };
        }
    };
    let storage = finish.storage.as_ref().map(|why| IssueReason::Storage { message: why.to_string() });
    let result = match storage {
        Some(reason) => IssueResult::new(WorkOutcome::Provider, reason),
        None => run.as_ref().and_then(IssueRun::result).unwrap_or_else(IssueResult::interrupted),
    };
    IssueEnd { run, finish: Some(finish), lock: Some(lock), ..IssueEnd::of(result) }
}

/// Returns the result of an issue whose run could not start. The next call tries again (I-20, I-72).
pub fn failed_result(error: WorkError) -> IssueResult {
    let outcome = match &error {
        WorkError::Repository(error) => match error.lasts() {
            RepositoryErrorDuration::AWhile => WorkOutcome::Provider,
            RepositoryErrorDuration::UntilFixed => WorkOutcome::Waiting,
            RepositoryErrorDuration::ForGood => WorkOutcome::Failed,
        },
        WorkError::Forge(
            ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) | ForgeError::Transferred { .. },
        ) => WorkOutcome::Failed,
        WorkError::Forge(_) => WorkOutcome::Provider,
        WorkError::Run(error) => match error.exit_code() {
            4 => WorkOutcome::Provider,
            6 => WorkOutcome::Waiting,
            _ => WorkOutcome::Failed,
        },
        WorkError::Restore(_)
        | WorkError::Plan(_)
        | WorkError::IssueFiles(_)
        | WorkError::NoSuchIssue(_)
        | WorkError::BlankTitle(_)
        | WorkError::NoForge
        | WorkError::NoRemote { .. }
        | WorkError::NoBase => WorkOutcome::Failed,
        WorkError::Runtime(_) => WorkOutcome::Provider,
    };
    IssueResult::new(outcome, IssueReason::Error(Arc::new(error)))
}

/// The start of a new run: its base, existing work, and possible obstacles.
impl IssueWork {
    async fn begin(
        &self,
        lock: &Arc<ItemLock>,
        known: bool,
        last: Option<&IssueRun>,
    ) -> Result<OrEnd<Driver>, WorkError> {
        let context = &self.context;
        let Ok(title) = clean_title(&self.issue.title) else {
            return ends(IssueEnd::new(WorkOutcome::Failed, IssueReason::BlankTitle));
        };
        if let Some(end) = self.undeliverable(known, last).await? {
            return ends(end);
        }
        let mut delivered = None;
        if !known && !self.repeat.retry {
            let requests = requests_of(context, &self.branch()).await?;
            match our_request(&requests, self.issue.number, &self.base) {
                Some(found)
                    if found.state == PullRequestState::Open
                        && found.base == self.base
                        && self.definition.merges(context) =>
                {
                    delivered = Some(EarlierDelivery::default());
                }
                Some(found) => {
                    let request = OpenedRequest { address: found.address.clone(), branch: self.branch() };
                    let end = IssueEnd::reported(request_result(found, &self.base));
                    return ends(IssueEnd { request: Some(request), ..end });
                }
                None => {}
            }
        }
        if !known && !self.repeat.reworks && self.has_landed()? {
            return ends(IssueEnd::reported(IssueResult::new(WorkOutcome::Merged, IssueReason::Before)));
        }
        let base = self.base()?;
        if let Some(reason) = self.missing_dependency(&base)? {
            return ends(IssueEnd::new(WorkOutcome::Waiting, IssueReason::Dependency(reason)));
        }
        if let Some(refusal) = self.follow(&base, known)? {
            return ends(IssueEnd::new(WorkOutcome::Blocked, not_ours(&refusal)));
        }
        if delivered.is_none() && self.is_left_to_hand_over(known, &base)? {
            delivered = Some(EarlierDelivery { only_pushed: true, ..EarlierDelivery::default() });
        }
        if let Some(last) = last.filter(|last| self.conflicted_here(last))
            && let Some(end) = self.make_room(last, lock)?
        {
            return ends(end);
        }
        // An existing branch keeps its starting point, even if its base has new commits.
        let base = context.repository.forked(base, &self.branch())?;
        let assignment = IssueAssignment { delivered, ..self.assignment(title, base)? };
        self.start(assignment, lock, known).await.map(Ok)
    }

    /// Returns true if Saihai has merged the issue into its base, possibly from another checkout.
    fn has_landed(&self) -> Result<bool, WorkError> {
        if self.context.forge != ForgeKind::Local {
            return Ok(false);
        }
        let repository = &self.context.repository;
        Ok(repository.has_landed(&self.item(), &repository.landed(&self.base)?)?)
    }

    /// Returns a dependency that the base does not contain, because it was merged elsewhere (I-31).
    fn missing_dependency(&self, base: &BaseCommit) -> Result<Option<DependencyReason>, WorkError> {
        let depends_on = self.issue.depends_on.iter().filter(|_| self.follows_dependencies);
        for number in depends_on {
            let runs = self.context.issue_runs.of(self.issue.source, *number)?;
            // An unreadable run proves nothing here. The listing has already decided if the dependency is done.
            let Some(run) = runs.into_iter().flatten().find(|run| run.delivers) else { continue };
            let merged_into = &run.assignment.base.branch;
            // A forge may have rewritten the commits, for example in a squash merge, so the local commit proves nothing.
            let proves = *merged_into != base.branch || run.assignment.forge.is_none();
            let Some(commit) = run.commit().filter(|_| proves) else { continue };
            if !self.context.repository.holds(&base.commit, commit)? {
                return Ok(Some(DependencyReason::NotInBase {
                    issue: *number,
                    merged_into: merged_into.clone(),
                    base: base.branch.clone(),
                }));
            }
        }
        Ok(None)
    }

    /// Returns true if another clone pushed finished work without a pull request, so no agent runs (I-72).
    fn is_left_to_hand_over(&self, known: bool, base: &BaseCommit) -> Result<bool, WorkError> {
        let (context, repeat) = (&self.context, &self.repeat);
        if context.forge == ForgeKind::Local || known || repeat.retry || repeat.reworks || repeat.adopt {
            return Ok(false);
        }
        let token = context.push_token();
        Ok(context.repository.is_pushed_by_us(&self.item(), base, &context.url()?, token.as_ref())?)
    }

    /// Returns true if `--retry` repeats a local conflict. The old starting point would only conflict again.
    fn conflicted_here(&self, last: &IssueRun) -> bool {
        let is_conflict = last.outcome() == Some(WorkOutcome::Conflict);
        let is_local = last.assignment.forge.is_none() && self.context.forge == ForgeKind::Local;
        self.repeat.retry && is_conflict && is_local
    }

    /// Moves the old branch aside, so that work restarts at the current base. Returns the obstacle, if any.
    fn make_room(&self, last: &IssueRun, lock: &Arc<ItemLock>) -> Result<Option<IssueEnd>, WorkError> {
        let (repository, assignment) = (&self.context.repository, &last.assignment);
        let item = assignment.item();
        let found = repository.worktree(&item, &assignment.worktree_root)?;
        let cleaning = found.as_ref().map(|worktree| CleanUpRequest {
            worktree,
            base: &assignment.base,
            copied: &assignment.copy_files,
            merged_into: &[],
        });
        match repository.make_room(&item, cleaning, lock)? {
            MakeRoomOutcome::Nothing => Ok(None),
            MakeRoomOutcome::Done { reference } => {
                let base = self.base.clone();
                self.events.send(IssueEvent::Activity(IssueActivity::StartsAgain { base, kept: reference }));
                Ok(None)
            }
            MakeRoomOutcome::Kept(kept) => {
                let (worktree, why) = (assignment.worktree.clone(), kept.to_string());
                let result =
                    IssueResult::new(WorkOutcome::Blocked, IssueReason::WorktreeKept { worktree, why });
                Ok(Some(IssueEnd { run: Some(last.clone()), ..IssueEnd::reported(result) }))
            }
        }
    }

    /// Returns an earlier run's obstacle to delivery if it still exists, before work is paid for in vain.
    async fn undeliverable(
        &self,
        known: bool,
        last: Option<&IssueRun>,
    ) -> Result<Option<IssueEnd>, WorkError> {
        let (context, work) = (&self.context, &self.definition.work);
        if let Some((run, result)) = last.and_then(|run| Some((run, run.result()?)))
            && matches!(
                &result.reason,
                Some(IssueReason::Failed {
                    reason: FailureReason::Delivery(DeliveryFailure::EmbeddedRepository),
                    ..
                })
            )
        {
            let found = context.repository.worktree(&self.item(), &work.worktree_root)?;
            if let Some(worktree) = found.filter(|worktree| worktree.path().is_dir()) {
                let base = context.repository.forked(self.base()?, &self.branch())?;
                if context.repository.embeds(&worktree, &base, &work.copy_files)? {
                    return Ok(Some(IssueEnd { run: Some(run.clone()), ..IssueEnd::reported(result) }));
                }
            }
        }
        if !(known || self.repeat.retry) || !self.definition.opens_requests(context) {
            return Ok(None);
        }
        // A person closed the pull request without merging. Saihai does not open another one (I-53).
        match standing(requests_of(context, &self.branch()).await?, &self.base)? {
            PullRequestStanding::ClosedByPerson(found) => {
                let request = OpenedRequest { address: found.address.clone(), branch: self.branch() };
                let end = IssueEnd::reported(request_result(&found, &self.base));
                Ok(Some(IssueEnd { request: Some(request), ..end }))
            }
            PullRequestStanding::None | PullRequestStanding::Open(_) | PullRequestStanding::Merged(_) => {
                Ok(None)
            }
        }
    }

    /// Fetches the branch from the server, or restarts it if it is merged. Returns a refusal if it is not usable.
    fn follow(&self, base: &BaseCommit, known: bool) -> Result<Option<PlaceItemRefusal>, WorkError> {
        let (context, item) = (&self.context, self.item());
        if context.forge == ForgeKind::Local {
            if self.repeat.reworks {
                context.repository.begin_anew(&item, base)?;
            }
            return Ok(None);
        }
        let (token, url) = (context.push_token(), context.url()?);
        let ours = BranchOwnership::by(self.repeat.adopt, known);
        let following = ServerBranchRequest { item: &item, base, url: &url, token: token.as_ref(), ours };
        Ok(match self.repeat.reworks {
            true => context.repository.set_aside(following)?,
            false => context.repository.follow(following)?,
        })
    }

    /// Returns the start of the branch: the current base on the server, or the local one (I-13).
    fn base(&self) -> Result<BaseCommit, WorkError> {
        let context = &self.context;
        Ok(match context.forge {
            ForgeKind::Local => context.repository.beginning(&self.base)?,
            ForgeKind::Github => {
                context.repository.fetch(&context.url()?, &self.base, context.push_token().as_ref())?
            }
        })
    }

    fn assignment(&self, title: String, base: BaseCommit) -> Result<IssueAssignment, WorkError> {
        let (context, work) = (&self.context, &self.definition.work);
        let forge = match (context.forge, &context.access) {
            (ForgeKind::Github, Some(access)) => Some(ForgeDestination {
                api: work.api.clone(),
                repository: access.repository.clone(),
                url: context.url()?,
                draft: work.draft,
                method: work.merge_method,
                without_checks: work.merge_without_checks,
            }),
            (ForgeKind::Github | ForgeKind::Local, _) => None,
        };
        let (root, language) = (context.repository.root(), self.definition.language);
        Ok(IssueAssignment {
            batch: Some(self.batch.clone()),
            home: context.home().cloned(),
            adopt: self.repeat.adopt,
            forge,
            verify: work.verify.clone(),
            keep: work.cleanup == CleanUp::Never,
            ..IssueAssignment::new(&self.issue, title, base, root, work, language)
        })
    }

    /// Starts a new run for the assignment.
    async fn start(
        &self,
        assignment: IssueAssignment,
        lock: &Arc<ItemLock>,
        known: bool,
    ) -> Result<Driver, WorkError> {
        let (context, definition) = (&self.context, &self.definition);
        let IssueAssignment { title, base, delivered, .. } = &assignment;
        let at = base.commit.get(..10).unwrap_or(&base.commit);
        let about = format!("{} {title}, from `{}` at {at}", self.issue.number, base.branch);
        let around = match delivered {
            Some(delivered) => definition.later(&about, context, delivered)?,
            None => definition.around(&about, context)?,
        };
        let own = around.limits.budget.and(&context.budget_left(&self.issue)?);
        let workflow = with_budget(around, &own.and(&self.budget))?;
        let assignment = IssueAssignment { own_budget: Some(own), ..assignment };
        let executor = self.executor(&workflow, assignment.clone(), lock, known)?;
        let beginning = RunSpec {
            workflow,
            script: definition.script.clone(),
            definition: definition.name.clone(),
            dialect: definition.dialect.clone(),
            task: self.task().await?,
            slug: self.issue.number.slug(),
            seed: RandomState::new().build_hasher().finish(),
            interactive: false,
            rehearsal: false,
            patience: context.settings.short_wait,
            directory: context.root.clone(),
            reports: context.settings.reports_dir.clone(),
            subject: context.host.prompt_variables(&self.issue),
            placement: Some(Placement::Issue(Box::new(assignment)).workplace(&context.root)),
            texts: definition.texts.clone(),
            origin: RunOrigin::default(),
        };
        let driver = Driver::start(&context.runs, beginning, context.connections.clone(), Clock::system())?;
        Ok(driver.reaching(Arc::new(executor)))
    }

    /// Returns the task: the issue and the comments of trusted authors.
    async fn task(&self) -> Result<String, WorkError> {
        let mut issue = self.issue.clone();
        let wanted =
            self.definition.work.comments == Comments::Trusted && issue.source == IssueSource::Github;
        if let Some(github) = self.context.github()?.filter(|_| wanted) {
            let is_stopped = || self.is_stopped();
            let ask = || github.comments(issue.number);
            let comments = self.context.patiently_unless(&is_stopped, ask).await?;
            issue = self.context.host.with_comments(&issue, comments);
        }
        let task = task(&issue, &self.definition.work.label_prefix);
        let task = task.map_err(|blank| WorkError::BlankTitle(blank.to_string()))?;
        if task.left_out > 0 {
            self.events.send(IssueEvent::Activity(IssueActivity::TextLeftOut(task.left_out)));
        }
        Ok(task.text)
    }

    /// Creates the executor of the actions of a run.
    fn executor(
        &self,
        workflow: &Workflow,
        assignment: IssueAssignment,
        lock: &Arc<ItemLock>,
        known: bool,
    ) -> Result<DeliveryExecutor, WorkError> {
        let context = &self.context;
        // Use the repository from the start of the run, regardless of the current settings.
        let access = context.access.clone().map(|access| match &assignment.forge {
            Some(forge) => access.to(forge.repository.clone()),
            None => access,
        });
        let github = access.map(Github::open).transpose()?;
        let forge = github.zip(context.push_token()).map(|(github, token)| ForgeConnection { github, token });
        let on_forge = forge.as_ref().filter(|_| context.source == IssueSource::Github);
        let beyond = context.host.issue_actions(workflow, context, on_forge.map(|forge| &forge.github));
        let resources = DeliveryResources {
            repository: Arc::clone(&context.repository),
            lock: Arc::clone(lock),
            forge: forge.filter(|_| assignment.forge.is_some()),
            runs: context.runs.clone(),
            secrets: context.connections.redactor().values(),
            around: CommandSurroundings::of(&context.connections),
            beyond,
            merges: Arc::clone(&context.merges),
        };
        let events = self.events.clone();
        let merge_wait: MergeWaitObserver = Arc::new(move |waits| {
            events.send(IssueEvent::Activity(IssueActivity::MergeQueued(waits)));
        });
        Ok(DeliveryExecutor::new(assignment, resources, known, Some(merge_wait)))
    }
}

/// Work with an earlier run.
impl IssueWork {
    /// Returns a driver that continues the run.
    fn resume(&self, run: &IssueRun, lock: &Arc<ItemLock>) -> Result<Driver, WorkError> {
        let workflow = &run.loaded.workflow;
        let own = run.assignment.own_budget.clone().unwrap_or_else(|| workflow.limits.budget.clone());
        let budget = allowed(&own, &self.budget.more(run.cost, run.time));
        // This is the only frozen setting that a person can fix by changing the settings.
        let verify = self.definition.work.verify.clone();
        let executor =
            self.executor(workflow, IssueAssignment { verify, ..run.assignment.clone() }, lock, true)?;
        if run.outputs.has(stage::WORKTREE) && !run.outputs.has(stage::CLEAN_UP) {
            executor.restore(&run.outputs)?;
        }
        let patience = self.context.settings.short_wait;
        let raise = Raise { rounds: None, budget, runtime: None, patience, now: false };
        let connections = self.context.connections.clone();
        let driver = Driver::resume(run.directory().clone(), raise, connections, Clock::system())?;
        Ok(driver.reaching(Arc::new(executor)))
    }

    /// Returns true if delivered work is to be merged now. The destination stays the same: local work does not move to a
    /// forge, or the reverse.
    fn merges(&self, run: &IssueRun) -> bool {
        let is_handed_over = matches!(run.outcome(), Some(WorkOutcome::PrCreated | WorkOutcome::BranchReady));
        let is_there = run.assignment.forge.is_some() == (self.context.forge == ForgeKind::Github);
        is_handed_over && is_there && self.definition.merges(&self.context)
    }

    /// Starts a run that only merges. Base and names come from the earlier run, the merge settings from this invocation.
    async fn merge_delivered(&self, run: IssueRun, lock: &Arc<ItemLock>) -> Result<Driver, WorkError> {
        let id = Some(run.id().to_owned());
        let then = run.assignment;
        let item = then.item();
        let now = self.assignment(then.title, then.base)?;
        let repository = &self.context.repository;
        let elsewhere = repository.begun_elsewhere(&item, &then.worktree_root, &now.worktree_root)?;
        let (worktree, worktree_root) = match elsewhere {
            Some(_) => (now.worktree.clone(), now.worktree_root.clone()),
            None => (then.worktree, then.worktree_root),
        };
        let assignment = IssueAssignment {
            text: then.text,
            branch: then.branch,
            branch_prefix: then.branch_prefix,
            worktree,
            worktree_root,
            copy_files: then.copy_files,
            language: then.language,
            delivered: Some(EarlierDelivery { run: id, only_pushed: false }),
            ..now
        };
        self.start(assignment, lock, true).await
    }

    /// Returns the result of a run, corrected if a person has closed its pull request since (I-53).
    async fn closed_since(&self, run: &IssueRun) -> Result<IssueResult, WorkError> {
        let result = run.result().unwrap_or_else(|| IssueResult::plain(WorkOutcome::Waiting));
        if result.outcome != WorkOutcome::PrCreated || run.assignment.forge.is_none() {
            return Ok(result);
        }
        let Some(github) = self.context.github()? else { return Ok(result) };
        let all = self.context.patiently(|| github.pull_requests_of(&run.assignment.branch)).await?;
        Ok(match standing(all, &run.assignment.base.branch)? {
            PullRequestStanding::ClosedByPerson(found) => request_result(&found, &run.assignment.base.branch),
            PullRequestStanding::None | PullRequestStanding::Open(_) | PullRequestStanding::Merged(_) => {
                result
            }
        })
    }
}

impl WorkContext {
    /// Returns true if the branch or its base has moved since the conflict of a run, locally or on the forge.
    pub fn has_moved(&self, run: &IssueRun) -> bool {
        let assignment = &run.assignment;
        let (branch, base) = (&assignment.branch, &assignment.base.branch);
        let here = |branch: &str| self.repository.tip(&format!("refs/heads/{branch}")).ok().flatten();
        let tips = match &assignment.forge {
            None => vec![here(branch), here(&format!("saihai/merge/{base}")).or_else(|| here(base))],
            Some(forge) => {
                let token = self.push_token();
                let there = |branch: &str| self.repository.tip_there(&forge.url, branch, token.as_ref());
                let there = |branch: &str| there(branch).ok().flatten();
                vec![here(branch), there(branch), there(base)]
            }
        };
        has_moved_since_conflict(run, &tips)
    }
}

/// Returns the total budget of a run for the keys that this invocation bounds. Its part replaces the budget of an earlier
/// invocation. The run's own budget still applies. Keys without a bound in this invocation keep their earlier value.
fn allowed(own: &Budget, part: &Budget) -> Budget {
    let both = own.and(part);
    Budget {
        usd: part.usd.and(both.usd),
        tokens: part.tokens.and(both.tokens),
        turns: part.turns.and(both.turns),
        time: part.time.and(both.time),
    }
}

#[cfg(test)]
mod tests {
    use saihai_model::Usd;

    use super::*;

    #[test]
    fn a_later_budget_takes_the_place_of_an_earlier_one_within_what_holds_for_the_run_itself() {
        let turns = |turns| Budget { turns: Some(turns), ..Budget::default() };
        assert_eq!(allowed(&Budget::default(), &turns(9)), turns(9));
        assert_eq!(allowed(&turns(5), &turns(9)), turns(5));
        assert_eq!(allowed(&turns(5), &Budget::default()), Budget::default());
        let money = Budget { usd: Some(Usd(3)), ..Budget::default() };
        assert_eq!(allowed(&money, &turns(9)), turns(9), "of money nothing is said now");
    }
}
