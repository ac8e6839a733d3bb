//! The work on one issue. Each issue has its own thread, so that a failure does not affect the others.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use saihai::delivery::{Assignment, Came, Deliverer, Destination, Forge, Means, Past, Placement};
use saihai::repository::{Base, Item, ItemLock, Lasts, Taken};
use saihai::{Beginning, Clock, Control, Driver, Finish, Going, Observed, RunDirectory};
use saihai_config::delivery::stage;
use saihai_config::issues::task;
use saihai_config::{CleanUp, Comments, ForgeKind};
use saihai_connect::Surroundings;
use saihai_connect::forge::Github;
use saihai_model::{Budget, Issue, IssueNumber, IssueSource, WorkOutcome, Workflow};
use tokio::sync::mpsc::UnboundedSender;

use super::again::{can_be_adopted, can_be_retried, goes_on};
use super::definition::Ready;
use super::ground::{Ground, refused_by_forge};
use super::over::Over;
use super::seen::{Hearing, Seen};
use super::selection::patiently_unless;
use crate::driving::block_on;
use crate::error::{Error, Refusal, exit};
use crate::issue::Tracker;
use crate::outside;
use crate::report::count;

/// The work to do on an issue now.
pub(super) struct Job {
    pub(super) ground: Arc<Ground>,
    pub(super) issue: Issue,
    pub(super) ready: Ready,
    pub(super) base: String,
    pub(super) budget: Budget,
    /// True if the agents' budget is used up.
    pub(super) spent: bool,
    pub(super) batch: String,
    /// True if a failed or limited run is started again.
    pub(super) retry: bool,
    /// True if a merged issue is worked on again.
    pub(super) reworks: bool,
    /// True if an existing branch is adopted, regardless of its author.
    pub(super) adopt: bool,
    /// True for the first attempt in this invocation.
    pub(super) first: bool,
    /// True if the base must contain the issue's dependencies.
    pub(super) follows_dependencies: bool,
    /// The issue's lock, if it was kept during a pause.
    pub(super) lock: Option<Arc<ItemLock>>,
    pub(super) stopped: Arc<AtomicBool>,
}

/// A message from the thread of an issue.
pub(super) enum Told {
    /// The run is driven and can be stopped.
    Begun {
        number: IssueNumber,
        run: String,
        control: Control,
    },
    Seen {
        number: IssueNumber,
        seen: Seen,
    },
    /// The run ended or paused.
    Over {
        number: IssueNumber,
        over: Box<Over>,
    },
    Listed(Box<Result<super::selection::Listing, super::selection::Unlisted>>),
}

/// Works on an issue until its end or its next pause, and sends the result.
pub(super) fn work_on(job: Job, tell: &UnboundedSender<Told>) {
    let (number, stopped) = (job.issue.number, Arc::clone(&job.stopped));
    let over = match catch_unwind(AssertUnwindSafe(|| block_on(job.go(tell)))) {
        Ok(Ok(over)) => over,
        // The next invocation repeats a wait that was interrupted before the run started.
        Ok(Err(Error::Refused(refusal)))
            if refusal.exit == exit::UNAVAILABLE && stopped.load(Ordering::Relaxed) =>
        {
            Over::stopped()
        }
        Ok(Err(error)) => Over::told(outcome_of(&error), said(&error)),
        Err(panic) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|&said| said.to_owned()));
            Over {
                panicked: true,
                ..Over::told(WorkOutcome::Failed, said.unwrap_or_else(|| "a bug".to_owned()))
            }
        }
    };
    tell.send(Told::Over { number, over: Box::new(over) }).unwrap_or(());
}

/// Maps an error to an outcome. An unavailable service may work again later (I-20).
fn outcome_of(error: &Error) -> WorkOutcome {
    match error {
        Error::Refused(refusal) if refusal.exit == exit::UNAVAILABLE => WorkOutcome::Provider,
        Error::Refused(refusal) if refusal.exit == exit::WAITING => WorkOutcome::Waiting,
        Error::Refused(_) | Error::Said(_) | Error::ClosedPipe => WorkOutcome::Failed,
    }
}

/// Converts an error of git before the run started. Nothing is lost, so the next invocation tries again (I-72).
pub(super) fn not_begun(error: saihai::repository::Error) -> Error {
    let lasts = error.lasts();
    match super::ground::refused_by_git(error) {
        Error::Refused(refusal) => Error::Refused(match lasts {
            Lasts::AWhile => Refusal { exit: exit::UNAVAILABLE, ..refusal },
            Lasts::UntilMended => {
                Refusal { exit: exit::WAITING, message: format!("git: {}", refusal.message), ..refusal }
            }
            Lasts::ForGood => refusal,
        }),
        other @ (Error::Said(_) | Error::ClosedPipe) => other,
    }
}

fn said(error: &Error) -> String {
    match error {
        Error::ClosedPipe => "nobody listens".to_owned(),
        Error::Said(code) => format!("exit code {code}"),
        Error::Refused(refusal) => {
            std::iter::once(&refusal.message).chain(&refusal.hints).cloned().collect::<Vec<_>>().join("; ")
        }
    }
}

impl Job {
    async fn go(mut self, tell: &UnboundedSender<Told>) -> Result<Over, Error> {
        let lock = match self.lock.take() {
            Some(lock) => lock,
            None => match self.take()? {
                Ok(lock) => lock,
                Err(over) => return Ok(over),
            },
        };
        // Read again under the lock: another process may have worked on it in the meantime.
        let all = match self.ground.past(&self.issue) {
            Ok(all) => all,
            Err(error) => return Ok(Over { acted: false, ..unread(&error) }),
        };
        // A run that was refused its branch does not prove ownership of it.
        let known = all.iter().any(|past| past.deeds.text(stage::WORKTREE, "path").is_some());
        let last = all.into_iter().find(|past| past.delivers);
        let elsewhere = last.as_ref().map(|past| self.begun_elsewhere(past)).transpose()?.flatten();
        if let Some(refusal) = elsewhere.as_ref().filter(|_| !self.retry) {
            return Ok(Over::told(WorkOutcome::Blocked, format!("not-ours: {refusal}")));
        }
        let driver = match last.filter(|_| elsewhere.is_none()) {
            Some(past) if goes_on(&past, &self.ground) && self.may_go_on(&past) => {
                self.resume(past, &lock)?
            }
            Some(past) if goes_on(&past, &self.ground) => {
                return Ok(Over::told(WorkOutcome::Limited, "budget"));
            }
            Some(past) if !self.begins_again(&past) && !self.merges(&past) => {
                let came = past.came().unwrap_or(Came { outcome: WorkOutcome::Waiting, reason: None });
                let came = self.closed_since(&past, came).await?;
                return Ok(Over { past: Some(past), acted: false, ..Over::came(came) });
            }
            Some(_) | None if self.is_stopped() => return Ok(Over::stopped()),
            Some(past) if !self.begins_again(&past) => self.merge(past, &lock, tell).await?,
            Some(_) | None if self.spent => return Ok(Over::told(WorkOutcome::Limited, "budget")),
            // A run without a budget would only add one more run.
            Some(_) | None if self.ground.left_for(&self.issue)?.is_spent() => {
                return Ok(Over::told(WorkOutcome::Limited, PER_ISSUE));
            }
            last => match self.begin(&lock, known, last.as_ref(), tell).await? {
                Ok(driver) => driver,
                Err(over) => return Ok(over),
            },
        };
        if self.is_stopped() {
            driver.withdraw(&self.ground.runs());
            return Ok(Over::stopped());
        }
        let over = self.drive(driver, lock, tell).await?;
        self.merge_as_well(over, tell).await
    }

    /// Returns true if a new run starts although there was one before.
    fn begins_again(&self, past: &Past) -> bool {
        let adopts = self.adopt && self.first && can_be_adopted(past);
        adopts || self.reworks || (self.retry && can_be_retried(past))
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Locks the issue, if it is free.
    fn take(&self) -> Result<Result<Arc<ItemLock>, Over>, Error> {
        let item = as_item(&self.issue, &self.ready.work.branch_prefix);
        let taken = ItemLock::take(&self.ground.repository, &item, "", Clock::system().now());
        Ok(match taken.map_err(not_begun)? {
            Taken::Ours(lock) => Ok(Arc::new(lock)),
            Taken::Elsewhere { process, run } => {
                let who = process.map_or_else(String::new, |process| format!("process {process}"));
                let run = run.map(|run| format!(", run {run}")).unwrap_or_default();
                Err(Over::told(WorkOutcome::Elsewhere, format!("{who}{run}")))
            }
        })
    }

    /// Starts a new run for the assignment.
    pub(super) async fn start(
        &self,
        assignment: Assignment,
        lock: &Arc<ItemLock>,
        known: bool,
        tell: &UnboundedSender<Told>,
    ) -> Result<Driver, Error> {
        let ground = &self.ground;
        let Assignment { title, base, delivered, .. } = &assignment;
        let at = short(&base.commit);
        let about = format!("{} {title}, from `{}` at {at}", self.issue.number, base.branch);
        let around = match delivered {
            Some(delivered) => self.ready.later(&about, ground, delivered)?,
            None => self.ready.around(&about, ground)?,
        };
        let own = around.limits.budget.and(&ground.left_for(&self.issue)?);
        let workflow = Ready::limited(around, &own.and(&self.budget))?;
        let assignment = Assignment { own_budget: Some(own), ..assignment };
        let deliverer = deliverer(ground, &workflow, assignment.clone(), lock, known)?;
        let beginning = Beginning {
            workflow,
            script: self.ready.script.clone(),
            definition: self.ready.name.clone(),
            dialect: self.ready.dialect.clone(),
            task: self.task(tell).await?,
            slug: self.issue.number.slug(),
            seed: RandomState::new().build_hasher().finish(),
            interactive: false,
            rehearsal: false,
            patience: ground.settings.short_wait,
            directory: ground.project.places.root.clone(),
            reports: ground.settings.reports_dir.clone(),
            subject: crate::issue::subject(&self.issue),
            placement: Some(Placement::Issue(Box::new(assignment))),
            texts: self.ready.texts.clone(),
        };
        let driver = Driver::start(&ground.runs(), beginning, ground.connections(), Clock::system())?;
        Ok(driver.reaching(Arc::new(deliverer)))
    }

    /// Returns the task: the issue and the comments of trusted authors.
    async fn task(&self, tell: &UnboundedSender<Told>) -> Result<String, Error> {
        let mut issue = self.issue.clone();
        let github = self.ground.github().map_err(|error| refused_by_forge(&error))?;
        let wanted = self.ready.work.comments == Comments::Trusted && issue.source == IssueSource::Github;
        if let Some(github) = github.filter(|_| wanted) {
            let said = patiently_unless(&|| self.is_stopped(), || github.comments(issue.number)).await;
            let said = said.map_err(|error| refused_by_forge(&error))?;
            issue = crate::issue::with_comments(&issue, said);
        }
        let task =
            task(&issue, &self.ready.work.label_prefix).map_err(|blank| Error::usage(blank.to_string()))?;
        if task.left_out > 0 {
            let seen =
                Seen::Warning(format!("{} of its text left out", count(task.left_out as u64, "character")));
            tell.send(Told::Seen { number: issue.number, seen }).unwrap_or(());
        }
        Ok(task.text)
    }

    pub(super) fn assignment(&self, title: String, base: Base) -> Result<Assignment, Error> {
        let (ground, work) = (&self.ground, &self.ready.work);
        let forge = match (ground.forge, &ground.access) {
            (ForgeKind::Github, Some(access)) => Some(Destination {
                api: work.api.clone(),
                repository: access.repository.clone(),
                url: ground.url()?,
                draft: work.draft,
                method: work.merge_method,
                without_checks: work.merge_without_checks,
            }),
            (ForgeKind::Github | ForgeKind::Local, _) => None,
        };
        let own =
            Assignment::new(&self.issue, title, base, ground.repository.root(), work, self.ready.language);
        Ok(Assignment {
            batch: Some(self.batch.clone()),
            home: ground.home().cloned(),
            adopt: self.adopt,
            forge,
            verify: work.verify.clone(),
            keep: work.cleanup == CleanUp::Never,
            ..own
        })
    }

    pub(super) async fn drive(
        &self,
        driver: Driver,
        lock: Arc<ItemLock>,
        tell: &UnboundedSender<Told>,
    ) -> Result<Over, Error> {
        let (number, directory) = (self.issue.number, driver.directory().clone());
        // The run id serves only for messages, so a failure does not matter.
        lock.name_run(directory.id(), Clock::system().now()).unwrap_or(());
        let say = |told| tell.send(told).unwrap_or(());
        say(Told::Begun { number, run: directory.id().to_owned(), control: driver.control() });
        let going = Going { stay_at_gates: false, auto: self.ready.auto, when_told: true };
        let mut hearing = Hearing::default();
        let mut observer = |observed: Observed<'_>| {
            for seen in hearing.hear(&observed) {
                say(Told::Seen { number, seen });
            }
        };
        let finish = driver.drive(going, &mut observer).await?;
        Ok(over(&directory, finish, lock))
    }
}

/// Returns the state of a driven run.
fn over(directory: &RunDirectory, finish: Finish, lock: Arc<ItemLock>) -> Over {
    // The run is no longer driven, but its owner file may take a moment to disappear.
    let past = match Past::read(directory) {
        Ok(past) => past,
        Err(error) => return Over { finish: Some(finish), lock: Some(lock), ..unread(&error) },
    };
    let came = past.as_ref().and_then(Past::came);
    let stored = finish.storage.as_ref().map(|why| format!("storage: {why}"));
    let came = stored.map(|why| Came { outcome: WorkOutcome::Provider, reason: Some(why) }).or(came);
    let came =
        came.unwrap_or(Came { outcome: WorkOutcome::Cancelled, reason: Some("interrupted".to_owned()) });
    Over { past, finish: Some(finish), lock: Some(lock), ..Over::came(came) }
}

/// Reason for an issue whose runs have used up its budget.
pub(super) const PER_ISSUE: &str = "budget_per_issue";

/// Reason for an issue with an unreadable run.
pub(super) const UNREAD: &str = "a run of it cannot be read";

/// Returns the result of an issue with an unreadable run. Its cost and deliveries are unknown, so no new run starts.
fn unread(error: &saihai::Error) -> Over {
    Over::told(WorkOutcome::Unknown, format!("{UNREAD}: {error}"))
}

/// Creates the deliverer of the work on an issue.
pub(super) fn deliverer(
    ground: &Ground,
    workflow: &Workflow,
    assignment: Assignment,
    lock: &Arc<ItemLock>,
    known: bool,
) -> Result<Deliverer, Error> {
    let connections = ground.connections();
    // Use the repository from the start of the run, regardless of the current settings.
    let meant = assignment.forge.as_ref().map(|forge| forge.repository.clone());
    let access = ground.access.clone();
    let access = access.map(|access| match meant {
        Some(repository) => access.to(repository),
        None => access,
    });
    let github = access.map(Github::open).transpose().map_err(|error| refused_by_forge(&error))?;
    let forge = github.zip(ground.push_token()).map(|(github, token)| Forge { github, token });
    let tracker = match &forge {
        Some(forge) if ground.source == IssueSource::Github => {
            Tracker::on(forge.github.clone(), ground.forge)
        }
        Some(_) | None => Tracker::Folder(ground.work.from.clone()),
    };
    let beyond = outside::with_issues(workflow, tracker);
    let means = Means {
        repository: Arc::clone(&ground.repository),
        lock: Arc::clone(lock),
        forge: forge.filter(|_| assignment.forge.is_some()),
        runs: ground.runs(),
        secrets: connections.redactor().values(),
        around: Surroundings::of(&connections),
        beyond,
    };
    Ok(Deliverer::new(assignment, means, known))
}

/// Converts an issue into an item of the repository crate.
pub(super) fn as_item(issue: &Issue, branch_prefix: &str) -> Item {
    Item::Issue {
        number: issue.number.get(),
        source: source_of(issue),
        branch_prefix: branch_prefix.to_owned(),
    }
}

pub(super) fn source_of(issue: &Issue) -> saihai::repository::Source {
    match issue.source {
        saihai_model::IssueSource::Folder => saihai::repository::Source::Folder,
        saihai_model::IssueSource::Github => saihai::repository::Source::Forge,
    }
}

fn short(commit: &str) -> &str {
    commit.get(..10).unwrap_or(commit)
}
