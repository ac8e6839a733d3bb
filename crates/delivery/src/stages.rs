//! Wraps a definition for work on an issue: adds the worktree before it and the delivery after it.
//!
//! The stages of the definition stay unchanged in every dialect. The added stages are ordinary gates and
//! actions, so a delivery is journaled, resumed and explained like the work.

use saihai_config::WorkGate;
use saihai_model::{
    Action, ActionSpec, Activity, Completion, Ending, Exit, ExitRule, Gate, GateMode, Join, Millis, Once,
    Poll, Prompt, PromptPart, PromptSection, Rounds, RuleCondition, SectionCondition, Stage, StageId, Target,
    ValueForm, Variable, Wants, Workflow,
};

/// Maximum interval between two looks at checks and mergeability.
const LOOK: Millis = Millis(15_000);
/// Minimum number of looks before the wait times out.
const LOOKS: u64 = 8;

/// Delivery options for the work on an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryOptions {
    /// Issue and base branch for display: `#7 Login fails, from main`.
    pub about: String,
    /// Cost so far and upper bound of the cost, for the first gate.
    pub bound: String,
    pub gates: Vec<WorkGate>,
    pub mode: GateMode,
    /// Maximum wait for an answer at a gate.
    pub gate_timeout: Option<Millis>,
    pub handing: DeliveryTarget,
    pub merge: bool,
    /// Comment on the issue after the delivery.
    pub comment: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryTarget {
    Branch,
    Push,
    /// Push the branch and open a pull request.
    PullRequest {
        /// Maximum wait for the checks before a merge.
        checks: Millis,
    },
}

/// Ids of the stages around a definition.
pub mod stage {
    /// Creates or finds the branch and the worktree.
    pub const WORKTREE: &str = "deliver/worktree";
    pub const FINALIZE: &str = "deliver/finalize";
    pub const PUSH: &str = "deliver/push";
    pub const PULL_REQUEST: &str = "deliver/pull-request";
    pub const CHECKS: &str = "deliver/checks";
    pub const MERGE: &str = "deliver/merge";
    pub const COMMENT: &str = "deliver/comment";
    /// Deletes an obsolete worktree and branch.
    pub const CLEAN_UP: &str = "deliver/clean-up";
}

/// Wraps the definition with the enabled steps of: `pre-loop` → worktree → the definition → commit
/// → `post-completion` → `before-pr` → push → pull request → checks → merge → clean up.
pub fn deliver(mut workflow: Workflow, delivery: &DeliveryOptions) -> Workflow {
    let begins = std::mem::replace(&mut workflow.entry, stage::WORKTREE.into());
    let mut around = StageBuilder { delivery, stages: Vec::new() };
    if let Target::Stage(first) = around.gate(WorkGate::PreLoop, to(stage::WORKTREE)) {
        workflow.entry = first;
    }
    around.worktree(begins);
    around.hand_over();
    lead_on(&mut workflow, stage::FINALIZE);
    workflow.stages.extend(around.stages);
    workflow
}

/// Builds the workflow after a delivery: check, ask for approval, merge. Skips the definition itself.
pub fn merge_later(workflow: Workflow, delivery: &DeliveryOptions) -> Workflow {
    hand_over_later(workflow, &DeliveryOptions { merge: true, comment: false, ..delivery.clone() })
}

/// Builds the remaining workflow for work that is finished and pushed but not yet reported.
pub fn hand_over_later(workflow: Workflow, delivery: &DeliveryOptions) -> Workflow {
    let gates = delivery.gates.iter().copied().filter(|gate| *gate == WorkGate::BeforePr).collect();
    let delivery = DeliveryOptions { gates, ..delivery.clone() };
    let mut around = StageBuilder { delivery: &delivery, stages: Vec::new() };
    around.hand_over();
    Workflow {
        entry: stage::FINALIZE.into(),
        stages: around.stages.into_iter().collect(),
        topics: None,
        monitors: Vec::new(),
        breakers: Vec::new(),
        completion: Completion::Flow,
        groups: Vec::new(),
        afterwards: None,
        ..workflow
    }
}

/// Counts the actions that comment on the issue.
pub fn comments(workflow: &Workflow) -> usize {
    usize::from(workflow.stages.contains_key(stage::COMMENT))
}

/// Runs the definition in a worktree for its issue, without a delivery.
pub fn place(mut workflow: Workflow) -> Workflow {
    let begins = std::mem::replace(&mut workflow.entry, stage::WORKTREE.into());
    let nothing = DeliveryOptions {
        about: String::new(),
        bound: String::new(),
        gates: Vec::new(),
        mode: GateMode::Person,
        gate_timeout: None,
        handing: DeliveryTarget::Branch,
        merge: false,
        comment: false,
    };
    let mut around = StageBuilder { delivery: &nothing, stages: Vec::new() };
    around.worktree(begins);
    workflow.stages.extend(around.stages);
    workflow
}

/// Connects the end of the definition, including its own final stage, to the delivery.
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

struct StageBuilder<'a> {
    delivery: &'a DeliveryOptions,
    stages: Vec<(StageId, Stage)>,
}

pub fn gate_stage(gate: WorkGate) -> StageId {
    StageId::from(format!("deliver/{}", gate.name()).as_str())
}

fn asks(gate: WorkGate) -> &'static str {
    match gate {
        WorkGate::PreLoop => "Start work on this issue?",
        WorkGate::PostCompletion => "The work is done and committed. Accept it?",
        WorkGate::BeforePr => "Deliver the work?",
    }
}

/// Question of the two gates after the work, if both are enabled.
const ACCEPT_AND_DELIVER: &str = "The work is done and committed. Accept and deliver it?";

impl StageBuilder<'_> {
    /// Adds the gate if it is enabled. Returns the gate, or `next` if it is not.
    fn gate(&mut self, gate: WorkGate, next: Target) -> Target {
        if !self.delivery.gates.contains(&gate) {
            return next;
        }
        self.asking_gate(gate, asks(gate), next)
    }

    /// Adds the gates after the work. Nothing happens between them, so two gates ask one question.
    fn gates_after_work(&mut self, next: Target) -> Target {
        let both = [WorkGate::PostCompletion, WorkGate::BeforePr];
        if both.iter().all(|gate| self.delivery.gates.contains(gate)) {
            return self.asking_gate(WorkGate::PostCompletion, ACCEPT_AND_DELIVER, next);
        }
        both.into_iter().fold(next, |next, gate| self.gate(gate, next))
    }

    fn asking_gate(&mut self, gate: WorkGate, asks: &str, next: Target) -> Target {
        let question = match gate {
            WorkGate::PreLoop => {
                let about = format!("{}\n{}", self.delivery.about, self.delivery.bound);
                question(about.trim_end(), None, asks)
            }
            WorkGate::PostCompletion | WorkGate::BeforePr => {
                question(&self.delivery.about, Some("shown"), asks)
            }
        };
        let (id, mode, timeout) = (gate_stage(gate), self.delivery.mode, self.delivery.gate_timeout);
        let asked = Gate { question, wants: Wants::YesNo, mode, timeout };
        let rules = vec![ExitRule { when: RuleCondition::Is("yes".into()), then: next }];
        let exit = Exit::Rules { rules, question: None, otherwise: Target::End(Ending::Declined) };
        self.stages.push((id.clone(), plain(gate.name(), Activity::Gate(asked), exit)));
        Target::Stage(id)
    }
}

/// Builds the question: the issue, and the description of the commit (I-40).
fn question(about: &str, told: Option<&str>, asks: &str) -> Prompt {
    let fixed = |text: &str| PromptSection {
        body: vec![PromptPart::Fixed(text.into())],
        when: SectionCondition::Always,
    };
    let mut sections = vec![fixed(about)];
    sections.extend(told.map(|key| {
        let told = Variable::Output { stage: stage::FINALIZE.into(), key: key.to_owned(), otherwise: None };
        PromptSection {
            body: vec![PromptPart::Value(told, ValueForm::Plain)],
            when: SectionCondition::Filled,
        }
    }));
    sections.push(fixed(asks));
    Prompt { sections, join: Join::Paragraphs }
}

impl StageBuilder<'_> {
    /// Adds the worktree stage before the first stage of the definition.
    fn worktree(&mut self, begins: StageId) {
        let labels = [("ready", Target::Stage(begins)), ("not-ours", failed("not-ours"))];
        self.action(stage::WORKTREE, ActionStage::new(Action::Worktree, Once::LookUpFirst, &[]), &labels);
    }

    /// Adds all stages after the definition.
    fn hand_over(&mut self) {
        let DeliveryOptions { handing, merge, comment, .. } = *self.delivery;
        let effects = match handing {
            DeliveryTarget::Branch => [None, None, None],
            DeliveryTarget::Push => [Some(stage::PUSH), None, None],
            DeliveryTarget::PullRequest { .. } => {
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
        let next = self.gates_after_work(first);
        let mut labels = vec![("committed", next), ("no-changes", to(stage::CLEAN_UP))];
        labels.extend(PROBLEMS.map(|problem| (problem, failed(problem))));
        self.action(stage::FINALIZE, ActionStage::new(Action::Finalize, Once::SetToValue, &[]), &labels);
        for stage in &way {
            self.effect(stage, after(stage));
        }
    }

    fn effect(&mut self, stage: &str, next: Target) {
        // A person approves one specific tree. A different tree needs a new approval (I-43).
        let moved = || to(stage::FINALIZE);
        match stage {
            stage::PUSH => {
                let labels =
                    [("pushed", next), ("moved", moved()), ("push-rejected", failed("push-rejected"))];
                self.action(
                    stage,
                    ActionStage::new(Action::Push, Once::LookUpFirst, &[COMMIT, TREE]),
                    &labels,
                );
            }
            stage::PULL_REQUEST => {
                let deed = ActionStage::new(Action::PullRequest, Once::LookUpFirst, &[COMMIT]);
                self.action(stage, deed, &[("created", next), ("merged", to(stage::CLEAN_UP))]);
            }
            stage::CHECKS => {
                let deed = ActionStage {
                    poll: self.poll(),
                    ..ActionStage::new(Action::Checks, Once::ReadOnly, &REQUEST)
                };
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
                // On a forge, merging is retried as long as the checks may take.
                let here = || Poll { every: Millis(500), at_most: TURN, hold: Some("merge-busy".to_owned()) };
                let poll = Some(self.poll().unwrap_or_else(here));
                let deed =
                    ActionStage { poll, ..ActionStage::new(Action::Merge, Once::LookUpFirst, &MERGING) };
                self.action(stage, deed, &labels);
            }
            stage::COMMENT => {
                self.action(
                    stage,
                    ActionStage::new(Action::Comment, Once::LookUpFirst, &DONE),
                    &[("commented", next)],
                );
            }
            _ => {
                let ends = ["merged", "pr-created", "branch-ready", "no-changes"];
                let ends = ends.map(|word| (word, Target::End(Ending::Completed(word.into()))));
                let mut labels = ends.to_vec();
                // With a local branch, no earlier stage has checked the branch again.
                if self.delivery.handing == DeliveryTarget::Branch && !self.delivery.merge {
                    labels.push(("moved", moved()));
                }
                self.action(stage, ActionStage::new(Action::CleanUp, Once::SetToValue, &DONE), &labels);
            }
        }
    }

    fn action(&mut self, id: &str, deed: ActionStage, labels: &[(&str, Target)]) {
        let inputs = deed.told.iter().map(|(stage, key)| ((*stage).into(), (*key).to_owned())).collect();
        let spec = ActionSpec { does: deed.does, inputs, once: deed.once, poll: deed.poll };
        let rules = labels.iter().cloned().chain(BROKEN.map(|word| (word, failed(word))));
        let rules = rules.map(|(label, then)| ExitRule { when: RuleCondition::Is(label.into()), then });
        let exit = Exit::Rules { rules: rules.collect(), question: None, otherwise: failed("delivery") };
        self.stages.push((id.into(), plain(id, Activity::Action(spec), exit)));
    }

    fn poll(&self) -> Option<Poll> {
        match self.delivery.handing {
            DeliveryTarget::PullRequest { checks } => {
                let every = Millis((checks.0 / LOOKS).clamp(100, LOOK.0));
                Some(Poll { every, at_most: checks, hold: Some("checks-timeout".to_owned()) })
            }
            DeliveryTarget::Branch | DeliveryTarget::Push => None,
        }
    }
}

/// Failures that any action can have: lost issue lock, git error, forge error.
pub(crate) const BROKEN: [&str; 3] = ["lock-lost", "git", "forge"];

/// Reasons to refuse the commit (I-47, I-50).
const PROBLEMS: [&str; 5] =
    ["branch-changed", "history-rewritten", "embedded-repository", "large-file", "secret"];

/// Delivered commit and its tree.
const COMMIT: (&str, &str) = (stage::FINALIZE, "commit");
const TREE: (&str, &str) = (stage::FINALIZE, "tree");
const NUMBER: (&str, &str) = (stage::PULL_REQUEST, "number");
const REQUEST: [(&str, &str); 2] = [COMMIT, NUMBER];
const MERGING: [(&str, &str); 3] = [COMMIT, TREE, NUMBER];
/// Outputs that show the progress of the delivery.
const DONE: [(&str, &str); 7] = [
    COMMIT,
    TREE,
    (stage::PUSH, "pushed"),
    (stage::PULL_REQUEST, "url"),
    (stage::PULL_REQUEST, "merged"),
    (stage::MERGE, "merged"),
    (stage::MERGE, "into"),
];
/// Maximum wait for other merges into the same branch.
const TURN: Millis = Millis(24 * 3_600_000);

/// An action, its retry policy after an unknown outcome, and its inputs from earlier stages.
struct ActionStage {
    does: Action,
    once: Once,
    told: &'static [(&'static str, &'static str)],
    poll: Option<Poll>,
}

impl ActionStage {
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
