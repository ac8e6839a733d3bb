//! The selection of issues.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::time::{Duration, Instant};

use saihai::delivery::Past;
use saihai::repository::Landed;
use saihai_config::issues::{load_folder, mentioned};
use saihai_config::{Diagnostics, ForgeKind};
use saihai_connect::forge::{ForgeError, Github, ProjectName, PullRequestState, SkippedItem};
use saihai_engine::work::{Dependencies, Impossible, Item, Known, Order, Plan, order};
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState, WorkOutcome};

use super::base::BaseChoice;
use super::ground::{Ground, refused_by_forge, refused_by_git};
use super::handed_over::Opened;
use super::item::as_item;
use super::{handed_over, merged, overtaken};
use crate::error::Error;
use crate::terminal::visible_line;

#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    pub(super) numbers: Option<Vec<IssueNumber>>,
    pub(super) labels: Vec<String>,
    pub(super) project: Option<ProjectName>,
    pub(super) status: Option<String>,
    pub(super) dependencies: Dependencies,
    /// The base branch given by a flag.
    pub(super) base: Option<String>,
    /// True if failed issues start again.
    pub(super) retries: bool,
    /// Issues whose definitions also work on their dependencies.
    pub(super) resolving: BTreeSet<IssueNumber>,
}

/// The listed issues and their plan.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) plan: Plan,
    /// Every issue that was read.
    pub(super) issues: BTreeMap<IssueNumber, Issue>,
    /// Selected issues that are already done, with their outcomes.
    pub(super) over: Vec<(IssueNumber, WorkOutcome)>,
    /// Issues delivered by another clone, which need no work here.
    pub(super) handed_over: BTreeMap<IssueNumber, Opened>,
    /// Merged issues that are worked on again.
    pub(super) reworked: BTreeSet<IssueNumber>,
    /// Issues whose pull request was merged before their run ended.
    pub(super) overtaken: BTreeSet<IssueNumber>,
    /// Pull requests or branches that are delivered and not merged.
    pub(super) delivered: BTreeMap<IssueNumber, String>,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
    pub(super) found: Diagnostics,
}

/// A reason why listing failed.
pub(super) enum Unlisted {
    Wrong(Diagnostics),
    Error(Error),
}

impl From<Error> for Unlisted {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<ForgeError> for Unlisted {
    fn from(error: ForgeError) -> Self {
        Self::Error(refused_by_forge(&error))
    }
}

impl Selection {
    /// Lists the issues to work on, without any change.
    pub(super) async fn list(&self, ground: &Ground) -> Result<Listing, Unlisted> {
        let mut listing = Listing::default();
        let source = match ground.source {
            IssueSource::Folder => {
                let (issues, found) = folder(ground)?;
                listing.found = found;
                Origin::Folder(issues)
            }
            IssueSource::Github => {
                let github = ground.github()?.ok_or_else(|| Error::usage("there is no forge"))?;
                let about = patiently(|| github.about()).await?;
                Origin::Github(Box::new(github), about.home)
            }
        };
        let mut selected = self.selected(&source, &mut listing).await?;
        if let (Origin::Github(github, _), None, None) = (&source, &self.numbers, &self.project) {
            selected.extend(overtaken::closed(ground, github, &self.labels, &selected).await?);
        }
        let resolving = &self.resolving;
        let asked = selected.iter().map(|issue| issue.number).collect();
        let retries = self.retries;
        let (known, landed) = (BTreeMap::new(), BTreeMap::new());
        let base = self.base.as_ref();
        let mut looking =
            Looking { ground, source: &source, resolving, asked, retries, base, landed, listing, known };
        for issue in &selected {
            looking.know(issue.number, Some(issue.clone())).await?;
        }
        let numbers: Vec<IssueNumber> = selected.iter().map(|issue| issue.number).collect();
        let by = self.numbers.clone().map_or(Order::Priority, Order::Typed);
        let issues: Vec<Issue> =
            numbers.iter().filter_map(|number| looking.listing.issues.get(number)).cloned().collect();
        let ordered = order(&issues, &by);
        if self.dependencies != Dependencies::Ignore {
            loop {
                let unseen = Plan::unseen(&ordered, &looking.known);
                if unseen.is_empty() {
                    break;
                }
                for number in unseen {
                    looking.know(number, None).await?;
                }
            }
        }
        let plan = Plan::resolve(&ordered, &looking.known, self.dependencies);
        let plan = plan.map_err(|impossible: Impossible| Error::usage(impossible.to_string()))?;
        let Looking { mut listing, .. } = looking;
        // Do not report issues that were read only as dependencies.
        listing.over.retain(|(number, _)| numbers.contains(number));
        listing.plan = plan;
        Ok(listing)
    }

    async fn selected(&self, source: &Origin, listing: &mut Listing) -> Result<Vec<Issue>, Unlisted> {
        let has_labels = |issue: &Issue| self.labels.iter().all(|label| issue.labels.contains(label));
        match source {
            Origin::Folder(all) => match &self.numbers {
                None => Ok(all
                    .iter()
                    .filter(|issue| issue.state == IssueState::Open && has_labels(issue))
                    .cloned()
                    .collect()),
                Some(numbers) => {
                    let find = |number: &IssueNumber| {
                        let found = all.iter().find(|issue| issue.number == *number).cloned();
                        found.ok_or_else(|| Error::usage(format!("there is no issue {number} in the folder")))
                    };
                    let found: Result<Vec<Issue>, Error> = numbers.iter().map(find).collect();
                    Ok(found?.into_iter().filter(has_labels).collect())
                }
            },
            Origin::Github(github, _) => self.of_github(github, listing).await,
        }
    }

    async fn of_github(&self, github: &Github, listing: &mut Listing) -> Result<Vec<Issue>, Unlisted> {
        let numbers = match (&self.project, &self.numbers) {
            (Some(project), _) => {
                let items = patiently(|| github.project_items(project, self.status.as_deref())).await?;
                listing.notes.extend(items.skipped.iter().map(skipped));
                Some(items.issues)
            }
            (None, numbers) => numbers.clone(),
        };
        let Some(numbers) = numbers else {
            return Ok(patiently(|| github.issues(&self.labels)).await?);
        };
        let mut issues = Vec::new();
        for number in numbers {
            let issue = patiently(|| github.issue(number)).await?;
            if self.labels.iter().all(|label| issue.labels.contains(label)) {
                issues.push(issue);
            }
        }
        Ok(issues)
    }
}

fn skipped(item: &SkippedItem) -> String {
    match item {
        SkippedItem::Draft { title } => format!("skipped: the draft `{}` has no number", visible_line(title)),
        SkippedItem::Foreign { name } => format!("skipped: {} belongs elsewhere", visible_line(name)),
        SkippedItem::PullRequest { name } => format!("skipped: {} is a pull request", visible_line(name)),
        SkippedItem::Hidden => "skipped: an item that cannot be seen".to_owned(),
    }
}

fn folder(ground: &Ground) -> Result<(Vec<Issue>, Diagnostics), Unlisted> {
    let mut found = Diagnostics::new();
    let folder = &ground.work.from;
    let issues = load_folder(&ground.project.source, folder, &ground.project.shown(folder), &mut found);
    if found.has_errors() { Err(Unlisted::Wrong(found.sorted())) } else { Ok((issues, found)) }
}

enum Origin {
    Folder(Vec<Issue>),
    /// A repository and its web address.
    Github(Box<Github>, String),
}

/// Reads issues, each only once.
struct Looking<'a> {
    ground: &'a Ground,
    source: &'a Origin,
    resolving: &'a BTreeSet<IssueNumber>,
    asked: BTreeSet<IssueNumber>,
    /// True if issues start again, regardless of their state.
    retries: bool,
    /// The base branch given by a flag.
    base: Option<&'a String>,
    /// Issues that Saihai has merged into each branch, read only once.
    landed: BTreeMap<String, Landed>,
    listing: Listing,
    known: BTreeMap<IssueNumber, Known>,
}

impl Looking<'_> {
    async fn know(&mut self, number: IssueNumber, issue: Option<Issue>) -> Result<(), Unlisted> {
        let issue = match issue {
            Some(issue) => Some(issue),
            None => self.look(number).await?,
        };
        let Some(mut issue) = issue else {
            self.known.insert(number, Known::Missing);
            return Ok(());
        };
        if let Origin::Github(github, home) = self.source {
            let named = mentioned(&issue.body, Some(home));
            self.not_followed(number, &named.elsewhere);
            issue.depends_on.extend(named.issues);
            if issue.state == IssueState::Open {
                let blocked = patiently(|| github.blocked_by(number)).await?;
                self.not_followed(number, &blocked.elsewhere);
                issue.depends_on.extend(blocked.issues);
            }
            let mut seen = Vec::new();
            issue.depends_on.retain(|one| {
                !seen.contains(one) && {
                    seen.push(*one);
                    true
                }
            });
        }
        let over = self.over(&issue).await?;
        self.listing.over.extend(over.map(|outcome| (number, outcome)));
        let resolves = self.resolving.contains(&number);
        let delivered = self.listing.delivered.contains_key(&number);
        let item = Item { depends_on: issue.depends_on.clone(), done: over.is_some(), delivered, resolves };
        self.known.insert(number, Known::Found(item));
        self.listing.issues.insert(number, issue);
        Ok(())
    }

    /// Reports dependencies in other repositories once, because Saihai does not follow them (I-27).
    fn not_followed(&mut self, number: IssueNumber, elsewhere: &[String]) {
        for elsewhere in elsewhere {
            let warning = format!("{number} depends on {}, which is not followed", visible_line(elsewhere));
            if !self.listing.warnings.contains(&warning) {
                self.listing.warnings.push(warning);
            }
        }
    }

    async fn look(&self, number: IssueNumber) -> Result<Option<Issue>, Unlisted> {
        match self.source {
            Origin::Folder(all) => Ok(all.iter().find(|issue| issue.number == number).cloned()),
            Origin::Github(github, _) => match patiently(|| github.issue(number)).await {
                Ok(issue) => Ok(Some(issue)),
                // A missing or moved issue or a pull request cannot be proven done.
                Err(
                    ForgeError::NotFound { .. }
                    | ForgeError::IsPullRequest(_)
                    | ForgeError::Transferred { .. },
                ) => Ok(None),
                Err(error) => Err(error.into()),
            },
        }
    }

    fn is_retried(&self, issue: &Issue) -> bool {
        self.retries && self.asked.contains(&issue.number)
    }

    /// Returns the outcome of a finished issue. With `--retry`, a merged issue restarts if it was reopened or its
    /// merge is gone.
    async fn over(&mut self, issue: &Issue) -> Result<Option<WorkOutcome>, Unlisted> {
        let done = self.done(issue).await?;
        if done != Some(WorkOutcome::Merged) || !self.asked.contains(&issue.number) {
            return Ok(done);
        }
        let Some(why) = self.undone(issue)? else { return Ok(done) };
        if self.retries {
            self.listing.reworked.insert(issue.number);
            return Ok(None);
        }
        self.listing.notes.push(format!("{} {why}; `--retry` works on it again", issue.number));
        Ok(done)
    }

    /// Returns the reason to work on a merged issue again, if any.
    fn undone(&self, issue: &Issue) -> Result<Option<String>, Unlisted> {
        if issue.reopened {
            return Ok(Some("was opened again after it was merged".to_owned()));
        }
        let Ok(past) = self.ground.past(issue) else { return Ok(None) };
        let Some(past) = past.into_iter().find(|past| past.delivers) else { return Ok(None) };
        let base = &past.assignment.base.branch;
        let is_undone = merged::is_undone(self.ground, &past)?;
        Ok(is_undone.then(|| format!("was merged into `{base}`, which does not hold it any more")))
    }

    /// Returns the outcome of a finished issue (I-29).
    async fn done(&mut self, issue: &Issue) -> Result<Option<WorkOutcome>, Unlisted> {
        let past = self.ground.past(issue);
        if issue.state == IssueState::Closed {
            let last = past.unwrap_or_default().into_iter().find(|past| past.delivers);
            let goes_on = match last {
                Some(past) => self.is_overtaken(issue, &past).await?,
                None => false,
            };
            return Ok((!goes_on).then_some(WorkOutcome::Closed));
        }
        // An unreadable run does not prove that the issue is done. The work on the issue reports it.
        let Ok(past) = past else { return Ok(None) };
        let Some(past) = past.into_iter().find(|past| past.delivers) else {
            if self.has_landed(issue)? {
                return Ok(Some(WorkOutcome::Merged));
            }
            return self.handed_over(issue).await;
        };
        self.listing.delivered.extend(merged::waits(&past).map(|place| (issue.number, place)));
        match past.came().map(|came| came.outcome) {
            Some(done @ (WorkOutcome::Merged | WorkOutcome::NoChanges)) => Ok(Some(done)),
            Some(WorkOutcome::Waiting) if self.is_overtaken(issue, &past).await? => Ok(None),
            Some(WorkOutcome::PrCreated | WorkOutcome::Waiting) => {
                Ok(overtaken::is_merged(self.ground, &past).await?.then_some(WorkOutcome::Merged))
            }
            Some(WorkOutcome::BranchReady) => self.merged_here(&past),
            Some(
                WorkOutcome::Declined
                | WorkOutcome::Cancelled
                | WorkOutcome::Limited
                | WorkOutcome::Failed
                | WorkOutcome::Blocked
                | WorkOutcome::Conflict,
            ) => {
                let is_retried = self.is_retried(issue);
                let merged = !is_retried && merged::by_hand(self.ground, issue, &past).await?;
                Ok(merged.then_some(WorkOutcome::Merged))
            }
            // The run continues and checks this itself.
            Some(
                WorkOutcome::Elsewhere | WorkOutcome::Closed | WorkOutcome::Provider | WorkOutcome::Unknown,
            )
            | None => Ok(None),
        }
    }

    /// Returns the outcome of an issue without a journal here, from the forge (I-70).
    async fn handed_over(&mut self, issue: &Issue) -> Result<Option<WorkOutcome>, Unlisted> {
        // Without a base no run starts, and the plan reports the error.
        let Ok(base) = BaseChoice::of(issue, self.ground, self.base) else { return Ok(None) };
        let prefix = &self.ground.work.branch_prefix;
        let found = handed_over::pull_request(self.ground, issue, prefix, &base.branch).await?;
        let Some(found) = found else { return Ok(None) };
        let opened = Opened::new(&found, issue.number.branch(prefix));
        self.listing.handed_over.insert(issue.number, opened);
        if found.base == base.branch && found.state == PullRequestState::Open {
            self.listing.delivered.insert(issue.number, found.address);
        }
        Ok((found.state == PullRequestState::Merged).then_some(WorkOutcome::Merged))
    }

    /// Returns true if the run must be finished now. Its dependents already treat it as done.
    async fn is_overtaken(&mut self, issue: &Issue, past: &Past) -> Result<bool, Unlisted> {
        let is = self.asked.contains(&issue.number) && overtaken::is_overtaken(self.ground, past).await?;
        self.listing.overtaken.extend(is.then_some(issue.number));
        Ok(is)
    }

    /// Returns true if Saihai has merged the issue into its base, although no journal here records it (I-70).
    fn has_landed(&mut self, issue: &Issue) -> Result<bool, Unlisted> {
        // Without a base no run starts, and the plan reports the error.
        let Ok(base) = BaseChoice::of(issue, self.ground, self.base) else { return Ok(false) };
        if self.ground.forge != ForgeKind::Local {
            return Ok(false);
        }
        let landed = match self.landed.entry(base.branch) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => {
                let found = self.ground.repository.landed(unknown.key()).map_err(refused_by_git)?;
                unknown.insert(found)
            }
        };
        Ok(landed.holds(&as_item(issue, &self.ground.work.branch_prefix)))
    }

    /// Returns the outcome if a person has merged the branch in the meantime.
    fn merged_here(&self, past: &Past) -> Result<Option<WorkOutcome>, Unlisted> {
        let commit = past.deeds.text(saihai_config::delivery::stage::FINALIZE, "commit");
        let Some(commit) = commit else { return Ok(None) };
        let held = self.ground.repository.has_merged(&past.assignment.base.branch, commit);
        Ok(held.unwrap_or(false).then_some(WorkOutcome::Merged))
    }
}

/// Asks the forge and waits for the end of a rate limit (I-20).
pub(super) async fn patiently<T, F>(ask: impl Fn() -> F) -> Result<T, ForgeError>
where
    F: Future<Output = Result<T, ForgeError>>,
{
    patiently_unless(&|| false, ask).await
}

/// Does the same, but stops early if `is_stopped` returns true.
pub(super) async fn patiently_unless<T, F>(
    is_stopped: &impl Fn() -> bool,
    ask: impl Fn() -> F,
) -> Result<T, ForgeError>
where
    F: Future<Output = Result<T, ForgeError>>,
{
    const GLANCE: Duration = Duration::from_millis(200);
    loop {
        let until = match ask().await {
            Err(ForgeError::RateLimited { until }) => until,
            answer => return answer,
        };
        let now = crate::time::now();
        let wait = until
            .map_or(Duration::from_secs(60), |until| Duration::from_millis(until.since(now).0.max(1_000)));
        let said = format!("note: the forge's rate limit is reached; waiting {} s\n", wait.as_secs());
        // A failed write to stderr must not end the wait.
        std::io::stderr().write_all(said.as_bytes()).unwrap_or(());
        let over = Instant::now() + wait;
        while Instant::now() < over {
            if is_stopped() {
                return Err(ForgeError::RateLimited { until });
            }
            tokio::time::sleep(GLANCE.min(over.saturating_duration_since(Instant::now()))).await;
        }
    }
}
