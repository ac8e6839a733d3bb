//! A definition with what is done around it when it works on an issue: the worktree before it, the handing over behind it.
//!
//! Whatever the definition is written in, its stages stay as they are. What stands around them are gates and actions
//! like any other, so that a delivery is journaled, resumed and explained as the work itself is.

mod gates;
mod wishes;

#[cfg(test)]
mod tests;

use saihai_model::{
    Action, ActionSpec, Activity, Completion, Ending, Exit, GateMode, Holds, Millis, Once, Poll, Rounds,
    Rule, Stage, StageId, Target, Workflow,
};

pub use gates::gate_stage;
pub use wishes::Wishes;

use crate::settings::WorkGate;

/// How often checks and mergeability are looked at; more often where they are not waited for that long.
const LOOK: Millis = Millis(15_000);
/// So often are they looked at in any case before it is given up.
const LOOKS: u64 = 8;

/// What is done with the work on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    /// The issue and what it is worked on from, as a person is shown it: `#7 Login fails, from main`.
    pub about: String,
    /// What it has cost so far and costs at most, before anything is done.
    pub bound: String,
    /// Where a person is asked.
    pub gates: Vec<WorkGate>,
    pub mode: GateMode,
    /// How long an answer is waited for.
    pub gate_timeout: Option<Millis>,
    /// How it is handed over.
    pub handing: Handing,
    pub merge: bool,
    /// Whether the issue is told of it.
    pub comment: bool,
}

/// How work is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handing {
    /// The branch is all there is.
    Branch,
    Push,
    /// The branch is pushed and a pull request is opened.
    PullRequest {
        /// How long its checks are waited for before it is merged.
        checks: Millis,
    },
}

/// The stages around a definition.
pub mod stage {
    /// Makes or finds the branch and the worktree.
    pub const WORKTREE: &str = "deliver/worktree";
    pub const FINALIZE: &str = "deliver/finalize";
    pub const PUSH: &str = "deliver/push";
    pub const PULL_REQUEST: &str = "deliver/pull-request";
    pub const CHECKS: &str = "deliver/checks";
    pub const MERGE: &str = "deliver/merge";
    /// Tells the issue of it.
    pub const COMMENT: &str = "deliver/comment";
    /// Removes what is not needed any more.
    pub const CLEAN_UP: &str = "deliver/clean-up";
}

/// The definition as the work on an issue: `pre-loop` → worktree → the definition → commit → `post-completion` →
/// `before-pr` → push → pull request → checks → merge → clean up, as far as they are asked for.
pub fn deliver(mut workflow: Workflow, delivery: &Delivery) -> Workflow {
    let begins = std::mem::replace(&mut workflow.entry, stage::WORKTREE.into());
    let mut around = Around { delivery, stages: Vec::new() };
    if let Target::Stage(first) = around.gate(WorkGate::PreLoop, to(stage::WORKTREE)) {
        workflow.entry = first;
    }
    around.worktree(begins);
    around.hand_over();
    lead_on(&mut workflow, stage::FINALIZE);
    workflow.stages.extend(around.stages);
    workflow
}

/// What is left to be done about work that was handed over before: it is looked at, agreed to and merged. Of the definition
/// nothing is asked any more.
pub fn merge_later(workflow: Workflow, delivery: &Delivery) -> Workflow {
    hand_over_later(workflow, &Delivery { merge: true, comment: false, ..delivery.clone() })
}

/// What is left to be done about work that was finished and pushed before, and of which nobody was told yet.
pub fn hand_over_later(workflow: Workflow, delivery: &Delivery) -> Workflow {
    let gates = delivery.gates.iter().copied().filter(|gate| *gate == WorkGate::BeforePr).collect();
    let delivery = Delivery { gates, ..delivery.clone() };
    let mut around = Around { delivery: &delivery, stages: Vec::new() };
    around.hand_over();
    Workflow {
        entry: stage::FINALIZE.into(),
        stages: around.stages.into_iter().collect(),
        topics: None,
        monitors: Vec::new(),
        completion: Completion::Flow,
        afterwards: None,
        ..workflow
    }
}

/// How many actions of a workflow tell an issue of its delivery.
pub fn comments(workflow: &Workflow) -> usize {
    usize::from(workflow.stages.contains_key(stage::COMMENT))
}

/// The definition in a worktree of its issue's own, without any delivery.
pub fn place(mut workflow: Workflow) -> Workflow {
    let begins = std::mem::replace(&mut workflow.entry, stage::WORKTREE.into());
    let nothing = Delivery {
        about: String::new(),
        bound: String::new(),
        gates: Vec::new(),
        mode: GateMode::Person,
        gate_timeout: None,
        handing: Handing::Branch,
        merge: false,
        comment: false,
    };
    let mut around = Around { delivery: &nothing, stages: Vec::new() };
    around.worktree(begins);
    workflow.stages.extend(around.stages);
    workflow
}

/// Lets what the definition itself has behind its completion go on with the delivery.
fn lead_on(workflow: &mut Workflow, next: &str) {
    let Some(own) = workflow.afterwards.clone() else {
        workflow.afterwards = Some(next.into());
        return;
    };
    let exit = workflow.stages.get_mut(&own).map(|stage| &mut stage.exit);
    if let Some(Exit::Rules { rules, otherwise, .. }) = exit {
        let targets = rules.iter_mut().map(|rule| &mut rule.then).chain([otherwise]);
        targets.filter(|target| **target == Target::Complete).for_each(|target| *target = to(next));
    }
}

struct Around<'a> {
    delivery: &'a Delivery,
    stages: Vec<(StageId, Stage)>,
}

impl Around<'_> {
    /// The worktree, before the stage with which the definition begins.
    fn worktree(&mut self, begins: StageId) {
        let labels = [("ready", Target::Stage(begins)), ("not-ours", failed("not-ours"))];
        self.action(stage::WORKTREE, Deed::new(Action::Worktree, Once::LookUpFirst, &[]), &labels);
    }

    /// Everything after the work is done.
    fn hand_over(&mut self) {
        let Delivery { handing, merge, comment, .. } = *self.delivery;
        let effects = match handing {
            Handing::Branch => [None, None, None],
            Handing::Push => [Some(stage::PUSH), None, None],
            Handing::PullRequest { .. } => {
                [Some(stage::PUSH), Some(stage::PULL_REQUEST), merge.then_some(stage::CHECKS)]
            }
        };
        let mut way: Vec<&str> = effects.into_iter().flatten().collect();
        way.extend(merge.then_some(stage::MERGE));
        way.extend(comment.then_some(stage::COMMENT));
        way.push(stage::CLEAN_UP);
        let after = |stage: &str| {
            let place = way.iter().position(|one| *one == stage);
            place.and_then(|place| way.get(place + 1)).map_or(Target::Complete, |next| to(next))
        };
        let first = way.first().map_or(Target::Complete, |stage| to(stage));
        // The commit, and the gates that show it: they are put in from the last one on.
        let before = self.gate(WorkGate::BeforePr, first);
        let next = self.gate(WorkGate::PostCompletion, before);
        let mut labels = vec![("committed", next), ("no-changes", to(stage::CLEAN_UP))];
        labels.extend(PROBLEMS.map(|problem| (problem, failed(problem))));
        self.action(stage::FINALIZE, Deed::new(Action::Finalize, Once::SetToValue, &[]), &labels);
        for stage in &way {
            self.effect(stage, after(stage));
        }
    }

    fn effect(&mut self, stage: &str, next: Target) {
        // What a person agreed to is a tree; another one is shown again (I-43).
        let moved = || to(stage::FINALIZE);
        match stage {
            stage::PUSH => {
                let labels =
                    [("pushed", next), ("moved", moved()), ("push-rejected", failed("push-rejected"))];
                self.action(stage, Deed::new(Action::Push, Once::LookUpFirst, &[COMMIT, TREE]), &labels);
            }
            stage::PULL_REQUEST => {
                let deed = Deed::new(Action::PullRequest, Once::LookUpFirst, &[COMMIT]);
                self.action(stage, deed, &[("created", next), ("merged", to(stage::CLEAN_UP))]);
            }
            stage::CHECKS => {
                let deed = Deed { poll: self.poll(), ..Deed::new(Action::Checks, Once::ReadOnly, &REQUEST) };
                self.action(
                    stage,
                    deed,
                    &[
                        ("green", next.clone()),
                        ("merged", next),
                        ("moved", moved()),
                        ("red", failed("checks")),
                    ],
                );
            }
            stage::MERGE => {
                let labels = [("merged", next), ("moved", moved()), ("verify", failed("verify"))];
                // On a forge it is tried as long as its checks are waited for.
                let here = || Poll { every: Millis(500), at_most: TURN, hold: Some("merge-busy".to_owned()) };
                let poll = Some(self.poll().unwrap_or_else(here));
                let deed = Deed { poll, ..Deed::new(Action::Merge, Once::LookUpFirst, &MERGING) };
                self.action(stage, deed, &labels);
            }
            stage::COMMENT => {
                self.action(
                    stage,
                    Deed::new(Action::Comment, Once::LookUpFirst, &DONE),
                    &[("commented", next)],
                );
            }
            _ => {
                let ends = ["merged", "pr-created", "branch-ready", "no-changes"];
                let ends = ends.map(|word| (word, Target::End(Ending::Completed(word.to_owned()))));
                let mut labels = ends.to_vec();
                // Where the branch is all there is, nothing before this has looked at it again.
                if self.delivery.handing == Handing::Branch && !self.delivery.merge {
                    labels.push(("moved", moved()));
                }
                self.action(stage, Deed::new(Action::CleanUp, Once::SetToValue, &DONE), &labels);
            }
        }
    }

    fn action(&mut self, id: &str, deed: Deed, labels: &[(&str, Target)]) {
        let inputs = deed.told.iter().map(|(stage, key)| ((*stage).into(), (*key).to_owned())).collect();
        let spec = ActionSpec { does: deed.does, inputs, once: deed.once, poll: deed.poll };
        let rules = labels.iter().cloned().chain(BROKEN.map(|word| (word, failed(word))));
        let rules = rules.map(|(label, then)| Rule { when: Holds::Is(label.into()), then });
        let exit = Exit::Rules { rules: rules.collect(), question: None, otherwise: failed("delivery") };
        self.stages.push((id.into(), plain(id, Activity::Action(spec), exit)));
    }

    fn poll(&self) -> Option<Poll> {
        match self.delivery.handing {
            Handing::PullRequest { checks } => {
                let every = Millis((checks.0 / LOOKS).clamp(100, LOOK.0));
                Some(Poll { every, at_most: checks, hold: Some("checks-timeout".to_owned()) })
            }
            Handing::Branch | Handing::Push => None,
        }
    }
}

/// Why any of them may fail: the issue is not ours any more, git would not, the forge would not.
const BROKEN: [&str; 3] = ["lock-lost", "git", "forge"];

/// Why a commit is not made (I-47, I-50).
const PROBLEMS: [&str; 5] =
    ["branch-changed", "history-rewritten", "embedded-repository", "large-file", "secret"];

/// The commit that is handed over, and the tree in it.
const COMMIT: (&str, &str) = (stage::FINALIZE, "commit");
const TREE: (&str, &str) = (stage::FINALIZE, "tree");
const NUMBER: (&str, &str) = (stage::PULL_REQUEST, "number");
const REQUEST: [(&str, &str); 2] = [COMMIT, NUMBER];
const MERGING: [(&str, &str); 3] = [COMMIT, TREE, NUMBER];
/// By what is known how far it came.
const DONE: [(&str, &str); 7] = [
    COMMIT,
    TREE,
    (stage::PUSH, "pushed"),
    (stage::PULL_REQUEST, "url"),
    (stage::PULL_REQUEST, "merged"),
    (stage::MERGE, "merged"),
    (stage::MERGE, "into"),
];
/// How long others who merge into the same branch are waited for.
const TURN: Millis = Millis(24 * 3_600_000);

/// An effect, what may be done when its end is unknown, and what it is told of those before it.
struct Deed {
    does: Action,
    once: Once,
    told: &'static [(&'static str, &'static str)],
    poll: Option<Poll>,
}

impl Deed {
    fn new(does: Action, once: Once, told: &'static [(&'static str, &'static str)]) -> Self {
        Self { does, once, told, poll: None }
    }
}

fn plain(title: &str, does: Activity, exit: Exit) -> Stage {
    Stage {
        title: title.rsplit('/').next().unwrap_or(title).to_owned(),
        does,
        exit,
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

fn to(stage: &str) -> Target {
    Target::Stage(stage.into())
}

fn failed(reason: &str) -> Target {
    Target::failed(reason)
}
