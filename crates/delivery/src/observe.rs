//! Lists the selected issues, and observes each of them once: its journals, its branches and the forge.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use saihai_config::issues::{load_folder, mentioned};
use saihai_config::{Diagnostics, ForgeKind};
use saihai_connect::forge::{ForgeError, Github, ProjectName, PullRequest, PullRequestState, SkippedItem};
use saihai_git::{LandedMerges, RefSnapshot};
use saihai_model::{Issue, IssueNumber, IssueSource, IssueState as IssueOnForge};

use crate::assess::{can_be_overtaken, is_overtaken, may_be_merged_by_hand};
use crate::{
    BaseChoice, DependencyPolicy, IssueDependencies, IssueOrder, IssueRun, IssueWish, IssueWorkState,
    KnownIssue, LocalBranches, Observation, UndoneReason, WorkContext, WorkError, WorkPlan, assess,
    issue_item, order,
};

#[derive(Debug, Clone, Default)]
pub struct IssueSelection {
    pub numbers: Option<Vec<IssueNumber>>,
    pub labels: Vec<String>,
    pub project: Option<ProjectName>,
    pub status: Option<String>,
    pub dependencies: DependencyPolicy,
    /// The base branch given by a flag.
    pub base: Option<String>,
    /// True if failed issues start again.
    pub retries: bool,
    /// Issues whose definitions also work on their dependencies.
    pub resolving: BTreeSet<IssueNumber>,
}

/// The listed issues and their plan.
#[derive(Debug, Default)]
pub struct Listing {
    pub plan: WorkPlan,
    /// Every issue that was read.
    pub issues: BTreeMap<IssueNumber, Issue>,
    pub states: BTreeMap<IssueNumber, IssueWorkState>,
    /// The selected issues, without those that were read only as dependencies.
    pub selected: Vec<IssueNumber>,
    pub notes: Vec<ListingNote>,
    pub found: Diagnostics,
}

/// A fact about the listed issues that a person should know.
#[derive(Debug, Clone, PartialEq)]
pub enum ListingNote {
    Skipped(SkippedItem),
    /// A merged issue that `--retry` works on again.
    Undone(IssueNumber, UndoneReason),
    /// A dependency in another repository, which Saihai does not follow (I-27).
    NotFollowed(IssueNumber, String),
}

impl Listing {
    pub fn state(&self, issue: IssueNumber) -> &IssueWorkState {
        self.states.get(&issue).unwrap_or(&IssueWorkState::Open)
    }

    /// Returns the selected issues that are already done.
    pub fn done(&self) -> impl Iterator<Item = (IssueNumber, &IssueWorkState)> {
        let states = self.selected.iter().map(|number| (*number, self.state(*number)));
        states.filter(|(_, state)| state.is_done())
    }
}

impl IssueSelection {
    /// Lists the issues to work on, without any change.
    pub async fn list(&self, context: &WorkContext) -> Result<Listing, WorkError> {
        let mut listing = Listing::default();
        let origin = match context.source {
            IssueSource::Folder => {
                let mut found = Diagnostics::new();
                let issues = load_folder(&context.files, &context.work.from, &context.folder, &mut found);
                if found.has_errors() {
                    return Err(WorkError::IssueFiles(found.sorted()));
                }
                listing.found = found;
                IssueOrigin::Folder(issues)
            }
            IssueSource::Github => {
                let github = context.github()?.ok_or(WorkError::NoForge)?;
                let about = context.patiently(|| github.about()).await?;
                IssueOrigin::Github { github: Box::new(github), home: about.home }
            }
        };
        let mut selected = self.selected(context, &origin, &mut listing).await?;
        if let (IssueOrigin::Github { github, .. }, None, None) = (&origin, &self.numbers, &self.project) {
            selected.extend(overtaken(context, github, &self.labels, &selected).await?);
        }
        let by = self.numbers.clone().map_or(IssueOrder::Priority, IssueOrder::Typed);
        let ordered = order(&selected, &by);
        listing.selected = selected.iter().map(|issue| issue.number).collect();
        let mut observer = IssueObserver {
            context,
            origin: &origin,
            selection: self,
            refs: None,
            landed: BTreeMap::new(),
            listing,
            known: BTreeMap::new(),
        };
        observer.observe(selected).await?;
        loop {
            let unseen = WorkPlan::unseen(&ordered, &observer.known);
            if unseen.is_empty() || self.dependencies == DependencyPolicy::Ignore {
                break;
            }
            let mut found = Vec::new();
            for number in unseen {
                match origin.issue(number, context).await? {
                    Some(issue) => found.push(issue),
                    None => drop(observer.known.insert(number, KnownIssue::Missing)),
                }
            }
            observer.observe(found).await?;
        }
        let IssueObserver { mut listing, known, .. } = observer;
        listing.plan = WorkPlan::resolve(&ordered, &known, self.dependencies)?;
        Ok(listing)
    }

    async fn selected(
        &self,
        context: &WorkContext,
        origin: &IssueOrigin,
        listing: &mut Listing,
    ) -> Result<Vec<Issue>, WorkError> {
        let has_labels = |issue: &Issue| self.labels.iter().all(|label| issue.labels.contains(label));
        let github = match origin {
            IssueOrigin::Folder(all) => {
                let Some(numbers) = &self.numbers else {
                    let open = all.iter().filter(|issue| issue.state == IssueOnForge::Open);
                    return Ok(open.filter(|issue| has_labels(issue)).cloned().collect());
                };
                let find = |number: &IssueNumber| {
                    let found = all.iter().find(|issue| issue.number == *number).cloned();
                    found.ok_or(WorkError::NoSuchIssue(*number))
                };
                let found: Result<Vec<Issue>, WorkError> = numbers.iter().map(find).collect();
                return Ok(found?.into_iter().filter(has_labels).collect());
            }
            IssueOrigin::Github { github, .. } => github,
        };
        let numbers = match (&self.project, &self.numbers) {
            (Some(project), _) => {
                let status = self.status.as_deref();
                let items = context.patiently(|| github.project_items(project, status)).await?;
                listing.notes.extend(items.skipped.into_iter().map(ListingNote::Skipped));
                Some(items.issues)
            }
            (None, numbers) => numbers.clone(),
        };
        let Some(numbers) = numbers else {
            return Ok(context.patiently(|| github.issues(&self.labels)).await?);
        };
        let mut issues = Vec::new();
        for number in numbers {
            issues.push(context.patiently(|| github.issue(number)).await?);
        }
        issues.retain(has_labels);
        Ok(issues)
    }
}

enum IssueOrigin {
    Folder(Vec<Issue>),
    Github {
        github: Box<Github>,
        /// The web address of the repository.
        home: String,
    },
}

impl IssueOrigin {
    /// Reads an issue. A missing or moved issue or a pull request yields `None`: it cannot be proven done.
    async fn issue(&self, number: IssueNumber, context: &WorkContext) -> Result<Option<Issue>, WorkError> {
        match self {
            Self::Folder(all) => Ok(all.iter().find(|issue| issue.number == number).cloned()),
            Self::Github { github, .. } => existing(context.patiently(|| github.issue(number)).await),
        }
    }
}

fn existing(found: Result<Issue, ForgeError>) -> Result<Option<Issue>, WorkError> {
    match found {
        Ok(issue) => Ok(Some(issue)),
        Err(ForgeError::NotFound { .. } | ForgeError::IsPullRequest(_) | ForgeError::Transferred { .. }) => {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Lists the closed issues whose pull request was merged before their run ended: their process died, or a person merged
/// first. The merge has closed the issue, but comment, labels and worktree still need cleanup (I-70, I-72). A list of open
/// issues does not contain them, so they come from the journals.
async fn overtaken(
    context: &WorkContext,
    github: &Github,
    labels: &[String],
    listed: &[Issue],
) -> Result<Vec<Issue>, WorkError> {
    let listed: BTreeSet<IssueNumber> = listed.iter().map(|issue| issue.number).collect();
    let last = context.issue_runs.last_of_each(IssueSource::Github, |number| !listed.contains(&number))?;
    let mut found = Vec::new();
    for run in last {
        if !can_be_overtaken(&run)
            || !is_overtaken(&run, requests_of(context, &run.assignment.branch).await?)?
        {
            continue;
        }
        let number = run.assignment.issue;
        let issue = existing(context.patiently(|| github.issue(number)).await)?;
        found.extend(issue.filter(|issue| {
            issue.state == IssueOnForge::Closed && labels.iter().all(|label| issue.labels.contains(label))
        }));
    }
    Ok(found)
}

/// Returns the pull requests of a branch, if results go to a forge.
pub(crate) async fn requests_of(context: &WorkContext, branch: &str) -> Result<Vec<PullRequest>, WorkError> {
    match context.delivery_forge()? {
        Some(github) => Ok(context.patiently(|| github.pull_requests_of(branch)).await?),
        None => Ok(Vec::new()),
    }
}

/// Observes issues, each only once. Refs are read once for all of them.
struct IssueObserver<'a> {
    context: &'a WorkContext,
    origin: &'a IssueOrigin,
    selection: &'a IssueSelection,
    refs: Option<RefSnapshot>,
    /// Issues that Saihai has merged into each branch.
    landed: BTreeMap<String, LandedMerges>,
    listing: Listing,
    known: BTreeMap<IssueNumber, KnownIssue>,
}

impl IssueObserver<'_> {
    async fn observe(&mut self, issues: Vec<Issue>) -> Result<(), WorkError> {
        let mut observations = Vec::new();
        for mut issue in issues {
            self.add_dependencies(&mut issue).await?;
            observations.push(self.look_at(issue).await?);
        }
        self.look_at_branches(&mut observations)?;
        for seen in observations {
            let number = seen.issue.number;
            let state = assess(&seen, self.wish(number))?;
            if let IssueWorkState::Done { undone: Some(why), .. } = &state {
                self.listing.notes.push(ListingNote::Undone(number, why.clone()));
            }
            let item = IssueDependencies {
                depends_on: seen.issue.depends_on.clone(),
                done: state.is_done(),
                delivered: state.awaits_merge().is_some(),
                resolves: self.selection.resolving.contains(&number),
            };
            self.known.insert(number, KnownIssue::Found(item));
            self.listing.issues.insert(number, seen.issue);
            self.listing.states.insert(number, state);
        }
        Ok(())
    }

    fn wish(&self, number: IssueNumber) -> IssueWish {
        let selected = self.listing.selected.contains(&number);
        IssueWish { selected, retries: self.selection.retries, forge: self.context.forge }
    }

    /// Adds the dependencies that an issue on a forge mentions.
    async fn add_dependencies(&mut self, issue: &mut Issue) -> Result<(), WorkError> {
        let IssueOrigin::Github { github, home } = self.origin else { return Ok(()) };
        let mut named = mentioned(&issue.body, Some(home));
        if issue.state == IssueOnForge::Open {
            let blocked = self.context.patiently(|| github.blocked_by(issue.number)).await?;
            named.issues.extend(blocked.issues);
            named.elsewhere.extend(blocked.elsewhere);
        }
        for elsewhere in named.elsewhere {
            let note = ListingNote::NotFollowed(issue.number, elsewhere);
            if !self.listing.notes.contains(&note) {
                self.listing.notes.push(note);
            }
        }
        issue.depends_on.extend(named.issues);
        let mut seen = BTreeSet::new();
        issue.depends_on.retain(|one| seen.insert(*one));
        Ok(())
    }

    /// Reads the journals of an issue and asks the forge about its branch, if that matters.
    async fn look_at(&mut self, issue: Issue) -> Result<Observation, WorkError> {
        let context = self.context;
        let runs = context.runs_of(&issue).ok();
        // Without a base no run starts, and the plan reports the error.
        let base = BaseChoice::of(&issue, context, self.selection.base.as_ref()).ok().map(|base| base.branch);
        let wish = self.wish(issue.number);
        let last = runs.iter().flatten().find(|run| run.delivers).cloned();
        let branch = match &last {
            Some(run) => run.assignment.branch.clone(),
            None => issue.number.branch(&context.work.branch_prefix),
        };
        let needs_requests =
            Observation::needs_requests(&issue, runs.as_deref(), wish) && (last.is_some() || base.is_some());
        let requests = if needs_requests { requests_of(context, &branch).await? } else { Vec::new() };
        let is_new = issue.state == IssueOnForge::Open && runs.is_some() && last.is_none();
        let landed = match base.as_ref().filter(|_| is_new && context.forge == ForgeKind::Local) {
            Some(base) => self.has_landed(&issue, base)?,
            None => false,
        };
        let mut seen = Observation {
            issue,
            runs,
            base,
            branch,
            requests,
            earlier_requests: BTreeSet::new(),
            landed,
            local: LocalBranches::default(),
        };
        if let Some(run) = last.as_ref().filter(|run| run.outcome().is_some_and(may_be_merged_by_hand)) {
            seen.earlier_requests = self.earlier_requests(run, &seen.requests)?;
        }
        Ok(seen)
    }

    /// Returns the merged pull requests whose commit the run already started with.
    fn earlier_requests(&self, run: &IssueRun, requests: &[PullRequest]) -> Result<BTreeSet<u64>, WorkError> {
        let base = &run.assignment.base;
        let mut earlier = BTreeSet::new();
        for one in
            requests.iter().filter(|one| one.state == PullRequestState::Merged && one.base == base.branch)
        {
            if self.context.repository.holds(&base.commit, &one.head_commit)? {
                earlier.insert(one.number);
            }
        }
        Ok(earlier)
    }

    fn has_landed(&mut self, issue: &Issue, base: &str) -> Result<bool, WorkError> {
        let (repository, prefix) = (&self.context.repository, &self.context.work.branch_prefix);
        let landed = match self.landed.entry(base.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(repository.landed(base)?),
        };
        Ok(repository.has_landed(&issue_item(issue.source, issue.number, prefix), landed)?)
    }

    /// Looks at the local branches of all issues together.
    fn look_at_branches(&mut self, observations: &mut [Observation]) -> Result<(), WorkError> {
        let repository = &self.context.repository;
        let is_local = |seen: &Observation| {
            seen.last_run()
                .is_some_and(|run| run.assignment.forge.is_none() || self.context.forge == ForgeKind::Local)
        };
        if !observations.iter().any(is_local) {
            return Ok(());
        }
        let refs = match self.refs.take() {
            Some(refs) => refs,
            None => repository.ref_snapshot()?,
        };
        let mut commits: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for seen in observations.iter_mut().filter(|seen| is_local(seen)) {
            let Some(run) = seen.last_run() else { continue };
            let (base, commit) = (run.assignment.base.branch.clone(), run.commit().map(str::to_owned));
            seen.local.tip = refs.branch(&seen.branch).map(str::to_owned);
            seen.local.has_base = refs.branch(&base).is_some();
            let tip = seen.local.tip.clone().filter(|_| commit.is_none());
            commits.entry(base).or_default().extend(commit.into_iter().chain(tip));
        }
        let mut merged = BTreeMap::new();
        for (base, commits) in &commits {
            merged.insert(base.clone(), repository.merged_among(&refs, base, commits)?);
        }
        for seen in observations.iter_mut().filter(|seen| is_local(seen)) {
            let base = seen.last_run().map(|run| run.assignment.base.branch.clone()).unwrap_or_default();
            seen.local.merged = merged.get(&base).cloned().unwrap_or_default();
        }
        self.refs = Some(refs);
        Ok(())
    }
}
