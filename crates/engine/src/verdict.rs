//! Verdict of a round: the exit of its stage, before anything is committed.

use std::collections::BTreeMap;

use saihai_judge::{Labels, Ruled};
use saihai_model::{
    Activity, Again, By, Destination, Ending, Exit, Label, Place, Published, Remark, Stage, StageId,
    StillWrong, Target, Topic, Workflow,
};

use crate::{Done, Run};

#[derive(Debug, Clone)]
pub(crate) enum Says {
    /// The exit needs its own question.
    AskExit,
    Ruling(Box<Ruling>),
}

impl Says {
    fn ruling(ruling: Ruling) -> Self {
        Self::Ruling(Box::new(ruling))
    }
}

/// An exit that is not committed yet.
#[derive(Debug, Clone)]
pub(crate) struct Ruling {
    pub(crate) by: By,
    pub(crate) labels: Vec<Option<Label>>,
    pub(crate) rule: Option<usize>,
    pub(crate) event: Option<Published>,
    pub(crate) target: Target,
    /// Index of the failed proof, and the actual result.
    pub(crate) refuted: Option<(usize, String)>,
    /// Reasons for a repeat of the same stage, for its note.
    pub(crate) reasons: Vec<String>,
    pub(crate) remarks: Vec<(Topic, Remark)>,
    /// Topics that a closing word still lacks.
    pub(crate) missing: Vec<Topic>,
    /// True if the visit needs more rounds before its exit is asked.
    pub(crate) early: bool,
    /// True if the agent itself published an event or a closing word.
    pub(crate) directive: bool,
}

impl Ruling {
    pub(crate) fn new(by: By, target: Target) -> Self {
        Self {
            by,
            labels: Vec::new(),
            rule: None,
            event: None,
            target,
            refuted: None,
            reasons: Vec::new(),
            remarks: Vec::new(),
            missing: Vec::new(),
            early: false,
            directive: false,
        }
    }
}

/// Maximum number of exits that lead to another exit.
const HOPS: u32 = 16;

impl Run {
    pub(crate) fn verdict(&self, workflow: &Workflow, stage: &Stage) -> Says {
        if let Some(target) = self.wrong_output(stage) {
            return Says::ruling(Ruling::new(By::Output, target.clone()));
        }
        match &stage.exit {
            Exit::Rules { rules, otherwise, .. } => {
                let (labels, by) = self.labels(stage);
                let answer = self.round().done(Place::Exit).map(|done| &done.label);
                match saihai_judge::rules(rules, Labels { labels: &labels, by, answer }) {
                    Ruled::Ask if self.round().slot(Place::Exit).is_none() => Says::AskExit,
                    Ruled::Rule(index, by) => {
                        let target = rules.get(index).map_or(otherwise, |rule| &rule.then).clone();
                        Says::ruling(Ruling { labels, rule: Some(index), ..Ruling::new(by, target) })
                    }
                    Ruled::Ask if self.round().done(Place::Exit).is_none() => Says::AskExit,
                    Ruled::Ask | Ruled::NoMatch => {
                        Says::ruling(Ruling { labels, ..Ruling::new(By::NoMatch, otherwise.clone()) })
                    }
                }
            }
            Exit::Topics { silent, default } => {
                Says::ruling(self.directed(workflow, stage, silent, default.as_ref()))
            }
        }
    }

    /// Returns the target for a turn whose output stayed invalid, if that decides the exit.
    pub(crate) fn wrong_output<'w>(&self, stage: &'w Stage) -> Option<&'w Target> {
        stage.turns().iter().enumerate().find_map(|(index, turn)| {
            let output = turn.reads.output.as_ref()?;
            let done = self.round().done(Place::Main(index))?;
            match &output.still_wrong {
                _ if done.reading.violations.is_empty() => None,
                StillWrong::Go(target) => Some(target),
                StillWrong::KeepValidItems => output.names.as_ref().map(|names| &names.collided),
            }
        })
    }

    /// Returns true if the visit needs another round before its exit is asked.
    pub(crate) fn repeats_before_exit(&self, stage: &Stage) -> bool {
        matches!(stage.does, Activity::Turns { .. })
            && self.round().number < stage.rounds.min
            && self.wrong_output(stage).is_none()
    }

    /// Resolves a target with the counters taken into account. Also returns the note of an "again" target.
    pub(crate) fn destination<'t>(
        &self,
        workflow: &Workflow,
        stage: &'t Stage,
        target: &'t Target,
    ) -> (Destination, Option<&'t Again>, bool) {
        let mut target = target;
        let mut limited = false;
        for _ in 0..HOPS {
            match target {
                Target::Stage(id) => return (Destination::Stage(id.clone()), None, limited),
                Target::Complete => return (Destination::Complete, None, limited),
                Target::End(ending) => return (Destination::End(ending.clone()), None, limited),
                Target::NamedBy { pointer } => return (self.named(workflow, pointer), None, limited),
                Target::ByPhase { stages } => return (self.in_phase(workflow, stages), None, limited),
                Target::Again(again) => {
                    let visit = self.visit.as_ref().expect("an exit is only judged during a visit");
                    let exhausted = again.at_most.is_some_and(|most| visit.agains >= most);
                    let full = stage.rounds.max.is_some_and(|max| visit.round.number >= max);
                    if !exhausted && !full {
                        return (Destination::Again, Some(again), limited);
                    }
                    limited = true;
                    target = if exhausted { &again.exhausted } else { &stage.rounds.too_many };
                }
            }
        }
        (Destination::End(Ending::Failed("endless_exit".to_owned())), None, limited)
    }

    fn in_phase(&self, workflow: &Workflow, stages: &BTreeMap<String, StageId>) -> Destination {
        let here = self.visit.as_ref().map(|visit| &visit.stage);
        match self.phase_of(workflow).and_then(|phase| stages.get(phase)) {
            Some(id) if here != Some(id) => Destination::Stage(id.clone()),
            // A terminal phase has no stage.
            Some(_) | None => Destination::Again,
        }
    }

    fn named(&self, workflow: &Workflow, pointer: &str) -> Destination {
        let named = self.round().done(Place::Main(0)).and_then(|done: &Done| done.reading.output.as_ref());
        let value = named.and_then(|output| output.pointer(pointer));
        // Read the value as `judge` does: the name of a step may be a number.
        let name = value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned));
        match name.and_then(|name| workflow.stages.get_key_value(name.as_str())) {
            Some((id, _)) => Destination::Stage(id.clone()),
            None => Destination::End(Ending::Failed("unknown_stage".to_owned())),
        }
    }
}
