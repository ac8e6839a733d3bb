//! Plans the items to work on and their dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use saihai_model::{Issue, IssueNumber, WorkOutcome};

/// Maximum length of a dependency chain.
const LONGEST_CHAIN: usize = 20;

/// Known state of an issue, selected or only a dependency.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KnownIssue {
    Found(IssueDependencies),
    /// The issue does not exist, so it can never count as done.
    Missing,
}

/// The parts of an issue that affect the order of work.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueDependencies {
    /// Issues that must be done first.
    pub depends_on: Vec<IssueNumber>,
    /// True if it is closed, merged, or needed no changes.
    pub done: bool,
    /// True if it is delivered and waits for a merge.
    pub delivered: bool,
    /// True to work on its dependencies too, regardless of the [`DependencyPolicy`] setting.
    pub resolves: bool,
}

/// Handling of dependencies that were not selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DependencyPolicy {
    /// An open dependency blocks the issues that depend on it.
    #[default]
    Strict,
    /// Work on the dependencies too.
    Resolve,
    /// Ignore all dependencies, selected or not.
    Ignore,
}

/// Items to work on: dependencies first, otherwise in the given order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkPlan {
    pub items: Vec<PlannedIssue>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedIssue {
    pub number: IssueNumber,
    /// Items of the plan that must be done first.
    pub after: Vec<IssueNumber>,
    /// Reason why the item cannot start at all.
    pub obstacle: Option<DependencyObstacle>,
    /// True if the item was not selected, but another item needs it.
    pub added: bool,
}

/// Reason why an item cannot start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DependencyObstacle {
    /// It depends on this open issue, which was not selected.
    NotSelected(IssueNumber),
    /// It depends on this issue, which was not selected, and is delivered but not merged.
    NotMerged(IssueNumber),
    /// It depends on this issue, which does not exist.
    NotFound(IssueNumber),
}

impl DependencyObstacle {
    /// Returns the outcome of the blocked item.
    pub fn outcome(self) -> WorkOutcome {
        match self {
            // A person may merge it later; the next run finds out.
            Self::NotMerged(_) => WorkOutcome::Waiting,
            Self::NotSelected(_) | Self::NotFound(_) => WorkOutcome::Blocked,
        }
    }
}

/// Reason why no plan is possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlanError {
    /// Issues that depend on each other; the first is repeated at the end.
    Cycle(Vec<IssueNumber>),
    /// A dependency chain that is too long.
    TooLong(Vec<IssueNumber>),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |issues: &[IssueNumber]| {
            let names: Vec<String> = issues.iter().map(IssueNumber::to_string).collect();
            names.join(" -> ")
        };
        match self {
            Self::Cycle(issues) => write!(f, "issues depend on each other in a circle: {}", path(issues)),
            Self::TooLong(issues) => {
                write!(f, "more than {LONGEST_CHAIN} issues depend on each other in a row: {}", path(issues))
            }
        }
    }
}

impl std::error::Error for PlanError {}

impl WorkPlan {
    /// Returns the dependencies to look up before a plan is possible: those not known yet. Dependencies of done issues
    /// are left out. Repeated calls, each after a lookup, end with an empty list.
    pub fn unseen(selected: &[IssueNumber], known: &BTreeMap<IssueNumber, KnownIssue>) -> Vec<IssueNumber> {
        let (mut unseen, mut seen) = (Vec::new(), BTreeSet::new());
        let mut level: Vec<IssueNumber> = selected.to_vec();
        // One more than the maximum is enough to detect a chain that is too long.
        for _ in 0..=LONGEST_CHAIN {
            let mut next = Vec::new();
            for number in level.into_iter().filter(|number| seen.insert(*number)) {
                match known.get(&number) {
                    Some(KnownIssue::Found(item)) if !item.done => next.extend(&item.depends_on),
                    Some(KnownIssue::Found(_) | KnownIssue::Missing) => {}
                    None => unseen.push(number),
                }
            }
            level = next;
        }
        unseen
    }

    /// Plans the work on these issues. Leaves out the done ones.
    pub fn resolve(
        selected: &[IssueNumber],
        known: &BTreeMap<IssueNumber, KnownIssue>,
        dependencies: DependencyPolicy,
    ) -> Result<Self, PlanError> {
        let mut resolving = PlanBuilder {
            selected,
            known,
            dependencies,
            wanted: wanted(selected, known, dependencies),
            ways: BTreeMap::new(),
            plan: Self::default(),
        };
        for number in selected {
            resolving.visit(*number, &mut Vec::new())?;
        }
        Ok(resolving.plan)
    }

    pub fn item(&self, number: IssueNumber) -> Option<&PlannedIssue> {
        self.items.iter().find(|item| item.number == number)
    }
}

/// Returns the issues to work on: the selected ones, and the dependencies to resolve.
fn wanted(
    selected: &[IssueNumber],
    known: &BTreeMap<IssueNumber, KnownIssue>,
    dependencies: DependencyPolicy,
) -> BTreeSet<IssueNumber> {
    let (mut wanted, mut open) = (BTreeSet::new(), selected.to_vec());
    while let Some(number) = open.pop() {
        let Some(KnownIssue::Found(item)) = known.get(&number).filter(|_| wanted.insert(number)) else {
            continue;
        };
        let resolves = match dependencies {
            DependencyPolicy::Resolve => true,
            DependencyPolicy::Strict => item.resolves,
            DependencyPolicy::Ignore => false,
        };
        open.extend(item.depends_on.iter().filter(|_| resolves && !item.done));
    }
    wanted
}

struct PlanBuilder<'a> {
    selected: &'a [IssueNumber],
    known: &'a BTreeMap<IssueNumber, KnownIssue>,
    dependencies: DependencyPolicy,
    wanted: BTreeSet<IssueNumber>,
    /// Visited issues, each with its longest dependency chain, itself first.
    ways: BTreeMap<IssueNumber, Vec<IssueNumber>>,
    plan: WorkPlan,
}

impl PlanBuilder<'_> {
    /// Adds an issue to the plan after its dependencies, and returns the longest chain that starts with it.
    fn visit(
        &mut self,
        number: IssueNumber,
        path: &mut Vec<IssueNumber>,
    ) -> Result<Vec<IssueNumber>, PlanError> {
        if let Some(start) = path.iter().position(|one| *one == number) {
            let circle = path[start..].iter().copied().chain([number]);
            return Err(PlanError::Cycle(circle.collect()));
        }
        if let Some(way) = self.ways.get(&number) {
            return Ok(way.clone());
        }
        let Some(item) = self.open(number) else { return Ok(Vec::new()) };
        path.push(number);
        // Check on the way down too, so that a long chain cannot overflow the stack.
        if path.len() > LONGEST_CHAIN {
            return Err(PlanError::TooLong(path.clone()));
        }
        let mut longest = Vec::new();
        let needed = self.needed(item);
        for needed in &needed {
            let way = self.visit(*needed, path)?;
            if way.len() > longest.len() {
                longest = way;
            }
        }
        path.pop();
        longest.insert(0, number);
        if longest.len() > LONGEST_CHAIN {
            return Err(PlanError::TooLong(longest));
        }
        self.ways.insert(number, longest.clone());
        self.plan_for(number, &needed);
        Ok(longest)
    }

    fn plan_for(&mut self, number: IssueNumber, needed: &[IssueNumber]) {
        if !self.wanted.contains(&number) {
            return;
        }
        let is_selected = self.selected.contains(&number);
        let planned: Vec<IssueNumber> =
            needed.iter().copied().filter(|one| self.plan.item(*one).is_some()).collect();
        let obstacle = needed.iter().find_map(|one| match self.known.get(one) {
            Some(KnownIssue::Found(item)) if item.done || planned.contains(one) => None,
            Some(KnownIssue::Found(item)) if item.delivered => Some(DependencyObstacle::NotMerged(*one)),
            Some(KnownIssue::Found(_)) => Some(DependencyObstacle::NotSelected(*one)),
            Some(KnownIssue::Missing) | None => Some(DependencyObstacle::NotFound(*one)),
        });
        self.plan.items.push(PlannedIssue { number, after: planned, obstacle, added: !is_selected });
    }

    /// Returns an issue that exists and is not done.
    fn open(&self, number: IssueNumber) -> Option<&IssueDependencies> {
        match self.known.get(&number) {
            Some(KnownIssue::Found(item)) if !item.done => Some(item),
            Some(KnownIssue::Found(_) | KnownIssue::Missing) | None => None,
        }
    }

    /// Returns the dependencies of an item without duplicates.
    fn needed(&self, item: &IssueDependencies) -> Vec<IssueNumber> {
        let mut seen = BTreeSet::new();
        let counts = self.dependencies != DependencyPolicy::Ignore;
        item.depends_on.iter().copied().filter(|number| counts && seen.insert(*number)).collect()
    }
}

/// Sort order of selected issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IssueOrder {
    /// The order on the command line.
    Typed(Vec<IssueNumber>),
    /// By priority, highest first, then by number.
    Priority,
}

/// Sorts issues and returns their numbers. Issues missing from a typed list come last.
pub fn order(issues: &[Issue], by: &IssueOrder) -> Vec<IssueNumber> {
    let typed: &[IssueNumber] = match by {
        IssueOrder::Typed(numbers) => numbers,
        IssueOrder::Priority => &[],
    };
    let place = |number| typed.iter().position(|one| *one == number).unwrap_or(typed.len());
    let mut ordered: Vec<&Issue> = issues.iter().collect();
    ordered.sort_by_key(|issue| (place(issue.number), std::cmp::Reverse(issue.priority), issue.number));
    ordered.into_iter().map(|issue| issue.number).collect()
}
