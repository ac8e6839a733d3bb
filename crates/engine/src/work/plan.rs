//! What is worked on, and what each item waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use saihai_model::{IssueNumber, WorkOutcome};

/// The most issues that may depend on each other in a row.
const LONGEST_CHAIN: usize = 20;

/// What is known of an issue that matters, whether it was selected or is only depended on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    Found(Item),
    /// It is not there, so that nobody can show it to be done.
    Missing,
}

/// An issue, as far as the order of work depends on it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// What must be done before it.
    pub depends_on: Vec<IssueNumber>,
    /// It is closed, merged, or there was nothing to change.
    pub done: bool,
    /// It is handed over, and waits to be merged by somebody.
    pub delivered: bool,
    /// What it depends on is worked on as well, whatever is done about that otherwise.
    pub resolves: bool,
}

/// What is done about dependencies that were not selected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dependencies {
    /// An open one blocks whoever depends on it.
    #[default]
    Strict,
    /// They are worked on as well.
    Resolve,
    /// Dependencies do not count, selected or not.
    Ignore,
}

/// What is worked on: dependencies before those who need them, else in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The items in the order in which they are begun.
    pub items: Vec<Planned>,
}

/// One item of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub number: IssueNumber,
    /// The items of the plan that must be done before it.
    pub after: Vec<IssueNumber>,
    /// Why it cannot begin at all.
    pub obstacle: Option<Obstacle>,
    /// Nobody selected it; another one needs it.
    pub added: bool,
}

/// Why an item cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// It depends on this one, which is open and was not selected.
    NotSelected(IssueNumber),
    /// It depends on this one, which was not selected either, is handed over and not merged.
    NotMerged(IssueNumber),
    /// It depends on this one, which is not there.
    NotFound(IssueNumber),
}

impl Obstacle {
    /// What comes of the item.
    pub fn outcome(self) -> WorkOutcome {
        match self {
            // It may be merged by somebody; the next time shows.
            Self::NotMerged(_) => WorkOutcome::Waiting,
            Self::NotSelected(_) | Self::NotFound(_) => WorkOutcome::Blocked,
        }
    }
}

/// Why there can be no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Impossible {
    /// Issues wait for each other; the first stands at the end again.
    Cycle(Vec<IssueNumber>),
    /// More issues depend on each other in a row than anybody meant.
    TooLong(Vec<IssueNumber>),
}

impl fmt::Display for Impossible {
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

impl std::error::Error for Impossible {}

impl Plan {
    /// The issues that must be looked at before a plan can be made: those that are depended on and not known yet. What
    /// only a done issue needs is not among them. Asked again after each look, it comes to nothing.
    pub fn unseen(selected: &[IssueNumber], known: &BTreeMap<IssueNumber, Known>) -> Vec<IssueNumber> {
        let (mut unseen, mut seen) = (Vec::new(), BTreeSet::new());
        let mut level: Vec<IssueNumber> = selected.to_vec();
        // One more than may stand in a row is enough to see that there are too many.
        for _ in 0..=LONGEST_CHAIN {
            let mut next = Vec::new();
            for number in level.into_iter().filter(|number| seen.insert(*number)) {
                match known.get(&number) {
                    Some(Known::Found(item)) if !item.done => next.extend(&item.depends_on),
                    Some(Known::Found(_) | Known::Missing) => {}
                    None => unseen.push(number),
                }
            }
            level = next;
        }
        unseen
    }

    /// What is worked on of these issues. Those that are done are left out.
    pub fn resolve(
        selected: &[IssueNumber],
        known: &BTreeMap<IssueNumber, Known>,
        dependencies: Dependencies,
    ) -> Result<Self, Impossible> {
        let mut resolving = Resolving {
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

    /// The item of an issue.
    pub fn item(&self, number: IssueNumber) -> Option<&Planned> {
        self.items.iter().find(|item| item.number == number)
    }
}

/// The issues that are worked on: those that were selected, and what those of them depend on that want it.
fn wanted(
    selected: &[IssueNumber],
    known: &BTreeMap<IssueNumber, Known>,
    dependencies: Dependencies,
) -> BTreeSet<IssueNumber> {
    let (mut wanted, mut open) = (BTreeSet::new(), selected.to_vec());
    while let Some(number) = open.pop() {
        let Some(Known::Found(item)) = known.get(&number).filter(|_| wanted.insert(number)) else { continue };
        let resolves = match dependencies {
            Dependencies::Resolve => true,
            Dependencies::Strict => item.resolves,
            Dependencies::Ignore => false,
        };
        open.extend(item.depends_on.iter().filter(|_| resolves && !item.done));
    }
    wanted
}

struct Resolving<'a> {
    selected: &'a [IssueNumber],
    known: &'a BTreeMap<IssueNumber, Known>,
    dependencies: Dependencies,
    wanted: BTreeSet<IssueNumber>,
    /// Those that were visited, each with the longest row of issues it depends on, itself first.
    ways: BTreeMap<IssueNumber, Vec<IssueNumber>>,
    plan: Plan,
}

impl Resolving<'_> {
    /// Puts an issue into the plan, behind what it depends on, and gives the longest row that begins with it.
    fn visit(
        &mut self,
        number: IssueNumber,
        path: &mut Vec<IssueNumber>,
    ) -> Result<Vec<IssueNumber>, Impossible> {
        if let Some(start) = path.iter().position(|one| *one == number) {
            let circle = path[start..].iter().copied().chain([number]);
            return Err(Impossible::Cycle(circle.collect()));
        }
        if let Some(way) = self.ways.get(&number) {
            return Ok(way.clone());
        }
        let Some(item) = self.open(number) else { return Ok(Vec::new()) };
        path.push(number);
        // Seen on the way down as well, so that no row of issues is ever deeper than the stack.
        if path.len() > LONGEST_CHAIN {
            return Err(Impossible::TooLong(path.clone()));
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
            return Err(Impossible::TooLong(longest));
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
            Some(Known::Found(item)) if item.done || planned.contains(one) => None,
            Some(Known::Found(item)) if item.delivered => Some(Obstacle::NotMerged(*one)),
            Some(Known::Found(_)) => Some(Obstacle::NotSelected(*one)),
            Some(Known::Missing) | None => Some(Obstacle::NotFound(*one)),
        });
        self.plan.items.push(Planned { number, after: planned, obstacle, added: !is_selected });
    }

    /// An issue that is there and not done.
    fn open(&self, number: IssueNumber) -> Option<&Item> {
        match self.known.get(&number) {
            Some(Known::Found(item)) if !item.done => Some(item),
            Some(Known::Found(_) | Known::Missing) | None => None,
        }
    }

    /// What an item depends on, each once.
    fn needed(&self, item: &Item) -> Vec<IssueNumber> {
        let mut seen = BTreeSet::new();
        let counts = self.dependencies != Dependencies::Ignore;
        item.depends_on.iter().copied().filter(|number| counts && seen.insert(*number)).collect()
    }
}
