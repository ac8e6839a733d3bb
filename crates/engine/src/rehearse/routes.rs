//! The exits of a workflow as a map, and the nearest route to each.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::fmt;

use saihai_model::{
    Alarm, By, Destination, Exit, Label, RuleCondition, Stage, StageId, Target, Topic, Verdict, Watch,
    Workflow,
};

use crate::rehearse::moves::PossibleMoves;

/// An exit of a stage.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitPath {
    Rule(usize),
    /// The follow-up of a rule that has said "again" as often as allowed.
    Spent(usize),
    NoMatch,
    Topic(Topic),
    Word(String),
    /// A repeat, because the round published nothing.
    Silent,
    /// The follow-up after too many silent rounds.
    SilentSpent,
    /// The topic that the engine publishes for a stage that stays silent.
    Default(Topic),
    /// The exit for an output that stays invalid.
    WrongOutput,
    /// The exit for a failed proof of this name.
    Refuted(String),
    /// The follow-up of a proof that has failed as often as allowed.
    RefutedSpent(String),
}

impl fmt::Display for ExitPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule {rule}"),
            Self::Spent(rule) => write!(f, "rule {rule}, when it is exhausted"),
            Self::NoMatch => f.write_str("no rule matches"),
            Self::Topic(topic) => write!(f, "topic `{topic}`"),
            Self::Word(word) => write!(f, "closing word `{word}`"),
            Self::Silent => f.write_str("nothing published"),
            Self::SilentSpent => f.write_str("nothing published, when that is exhausted"),
            Self::Default(topic) => write!(f, "nothing published, default `{topic}`"),
            Self::WrongOutput => f.write_str("the output stays wrong"),
            Self::Refuted(name) => write!(f, "`{name}` fails"),
            Self::RefutedSpent(name) => write!(f, "`{name}` fails, when that is exhausted"),
        }
    }
}

impl ExitPath {
    /// Returns the condition of its rule, as written in the definition.
    pub(crate) fn condition(&self, stage: &Stage) -> Option<String> {
        let (Self::Rule(index) | Self::Spent(index), Exit::Rules { rules, .. }) = (self, &stage.exit) else {
            return None;
        };
        let join = |labels: &[Label]| labels.iter().map(Label::as_str).collect::<Vec<_>>().join(", ");
        match &rules.get(*index)?.when {
            RuleCondition::Always => None,
            RuleCondition::Is(label) | RuleCondition::Answered(label) => Some(label.to_string()),
            RuleCondition::All(labels) => Some(format!("all({})", join(labels))),
            RuleCondition::Any(labels) => Some(format!("any({})", join(labels))),
            when @ RuleCondition::Stalled(_) => Some(when.stalled_text()),
        }
    }

    /// Returns true if a verdict took this exit. `tried` decides if the verdict alone does not tell.
    pub(crate) fn is_taken(&self, verdict: &Verdict, tried: bool) -> bool {
        let by_rule = |rule: usize| verdict.rule == Some(rule) && verdict.by != By::Monitor;
        let again = verdict.to == Destination::Again;
        match self {
            Self::Rule(rule) => by_rule(*rule) && verdict.by != By::Limit,
            Self::Spent(rule) => by_rule(*rule) && verdict.by == By::Limit,
            Self::NoMatch => verdict.by == By::NoMatch,
            Self::Topic(topic) => verdict.topic.as_ref() == Some(topic) && verdict.by == By::Directive,
            Self::Default(topic) => tried && verdict.topic.as_ref() == Some(topic),
            Self::Word(_) => tried && verdict.topic.is_none() && !again && verdict.by == By::Directive,
            Self::Silent => verdict.topic.is_none() && again && verdict.by == By::Directive,
            Self::SilentSpent => tried && verdict.topic.is_none() && verdict.by == By::Limit,
            Self::WrongOutput => verdict.by == By::Output,
            Self::Refuted(_) => tried && verdict.by == By::Result,
            Self::RefutedSpent(_) => tried && verdict.by == By::Limit && verdict.rule.is_none(),
        }
    }
}

/// Replies of a round that make its stage take one exit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct PlannedReply {
    /// Label of each turn; a gate or an action has only one.
    pub(crate) labels: Vec<Option<Label>>,
    /// Answer to the exit's own question.
    pub(crate) answer: Option<Label>,
    /// Event to publish, or closing word.
    pub(crate) directive: Option<PlannedDirective>,
    /// JSON pointer of the output, and the stage to name there.
    pub(crate) named: Option<(String, StageId)>,
    /// Turn whose output is invalid.
    pub(crate) wrong: Option<usize>,
    pub(crate) refutes: Option<usize>,
    /// True to add everything that the completion looks for.
    pub(crate) closes: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PlannedDirective {
    Event(Topic),
    /// A closing word, after the events it requires.
    Word(String, Vec<Topic>),
}

/// An exit of a stage and its expected destination.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ExitMove {
    pub(crate) way: ExitPath,
    pub(crate) saying: PlannedReply,
    pub(crate) to: MoveTarget,
    pub(crate) rounds: u32,
    /// True to repeat it every round until the visit ends.
    pub(crate) persists: bool,
    /// True if it is an exit to take, not only a step on a path.
    pub(crate) counts: bool,
}

/// Expected destination of a move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum MoveTarget {
    Stage(StageId),
    Completion,
    End,
}

/// Every move of every stage.
#[derive(Debug)]
pub(crate) struct RouteMap {
    moves: BTreeMap<StageId, Vec<ExitMove>>,
    /// Exits for which no reply was found, in the workflow's order.
    pub(crate) dead: Vec<(StageId, ExitPath)>,
    /// Exits to take, in the workflow's order.
    pub(crate) ways: Vec<(StageId, ExitPath)>,
    alarms: Vec<RoutePath>,
}

/// A move of a stage, by its index.
pub(crate) type RouteStep = (StageId, usize);

/// A sequence of moves, and its expected destination.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RoutePath {
    pub(crate) steps: Vec<RouteStep>,
    pub(crate) to: MoveTarget,
    pub(crate) rounds: u32,
}

impl RouteMap {
    pub(crate) fn of(workflow: &Workflow) -> Self {
        let mut map = Self { moves: BTreeMap::new(), dead: Vec::new(), ways: Vec::new(), alarms: Vec::new() };
        for (id, stage) in &workflow.stages {
            let offered = PossibleMoves::of(workflow, id, stage);
            map.dead.extend(offered.dead.into_iter().map(|way| (id.clone(), way)));
            for offer in offered.moves.iter().filter(|offer| offer.counts) {
                let way = (id.clone(), offer.way.clone());
                // Any move takes an exit that has several moves (a stage named in the output).
                if map.ways.last() != Some(&way) {
                    map.ways.push(way);
                }
            }
            map.moves.insert(id.clone(), offered.moves);
        }
        map.forget_unforeseen(workflow);
        map.go_on_afterwards(workflow);
        map.alarms = workflow.monitors.iter().filter_map(|monitor| map.alarm(monitor)).collect();
        map
    }

    /// Leaves out the fallback stage for orphan topics if no expected topic leads there. No reply that follows the
    /// definition can reach it.
    fn forget_unforeseen(&mut self, workflow: &Workflow) {
        let Some(fallback) = workflow.topics.as_ref().map(|topics| &topics.otherwise) else { return };
        let leads = |(from, moves): (&StageId, &Vec<ExitMove>)| {
            from != fallback && moves.iter().any(|offer| offer.to == MoveTarget::Stage(fallback.clone()))
        };
        let instead = |limit: &saihai_model::VisitLimit| limit.once_instead.as_ref() == Some(fallback);
        let limits = || workflow.stages.values().filter_map(|stage| stage.visits.as_ref());
        if workflow.entry != *fallback && !self.moves.iter().any(leads) && !limits().any(instead) {
            self.ways.retain(|(stage, _)| stage != fallback);
            self.dead.retain(|(stage, _)| stage != fallback);
        }
    }

    pub(crate) fn moves(&self, stage: &StageId) -> &[ExitMove] {
        self.moves.get(stage).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn step(&self, (stage, index): &RouteStep) -> Option<&ExitMove> {
        self.moves.get(stage)?.get(*index)
    }

    /// Returns the shortest path from a stage whose last step matches `wanted`. Paths on which every reply reports a
    /// result go first, because that is how a run is meant to go.
    pub(crate) fn nearest(&self, from: &StageId, wanted: impl Fn(&RoutePath) -> bool) -> Option<RoutePath> {
        let mut best: BTreeMap<StageId, (usize, u32, usize)> = BTreeMap::new();
        let mut queue = BinaryHeap::new();
        queue.push(Reverse((0, 0, 0, 0, from.clone())));
        let mut paths: Vec<Vec<RouteStep>> = vec![Vec::new()];
        let mut found: Option<(usize, RoutePath)> = None;
        while let Some(Reverse((silent, rounds, hops, path, stage))) = queue.pop() {
            if best.get(&stage).is_some_and(|before| *before <= (silent, rounds, hops)) {
                continue;
            }
            if found.as_ref().is_some_and(|(least, found)| (*least, found.rounds) <= (silent, rounds)) {
                break;
            }
            best.insert(stage.clone(), (silent, rounds, hops));
            for edge in self.edges(&stage) {
                let steps: Vec<_> = paths[path].iter().chain(&edge.steps).cloned().collect();
                let sum = rounds.saturating_add(edge.rounds);
                let quiet = silent + self.silent_steps(&edge.steps);
                let is_better =
                    found.as_ref().is_none_or(|(least, found)| (quiet, sum) < (*least, found.rounds));
                if wanted(&edge) && is_better {
                    found =
                        Some((quiet, RoutePath { steps: steps.clone(), to: edge.to.clone(), rounds: sum }));
                }
                if let MoveTarget::Stage(next) = edge.to {
                    paths.push(steps);
                    queue.push(Reverse((quiet, sum, hops + edge.steps.len(), paths.len() - 1, next)));
                }
            }
        }
        found.map(|(_, path)| path)
    }

    /// Returns the number of steps whose reply reports no result.
    fn silent_steps(&self, steps: &[RouteStep]) -> usize {
        let silent = |step: &&RouteStep| {
            let way = self.step(step).map(|offer| &offer.way);
            matches!(way, Some(ExitPath::Silent | ExitPath::SilentSpent | ExitPath::Default(_)))
        };
        steps.iter().filter(silent).count()
    }

    fn edges(&self, stage: &StageId) -> Vec<RoutePath> {
        let moves = self.moves(stage).iter().enumerate().map(|(index, offer)| RoutePath {
            steps: vec![(stage.clone(), index)],
            to: offer.to.clone(),
            rounds: offer.rounds,
        });
        let alarms =
            self.alarms.iter().filter(|alarm| alarm.steps.first().is_some_and(|(at, _)| at == stage));
        moves.chain(alarms.cloned()).collect()
    }

    /// Returns the path that repeats a watched cycle until its monitor fires.
    fn alarm(&self, monitor: &saihai_model::Monitor) -> Option<RoutePath> {
        let Watch::Cycle { stages, times, .. } = &monitor.watches else { return None };
        let to = match &monitor.then {
            Alarm::Go(Target::Stage(id)) => MoveTarget::Stage(id.clone()),
            Alarm::Go(Target::Complete) => MoveTarget::Completion,
            Alarm::Go(Target::End(_)) => MoveTarget::End,
            Alarm::Go(Target::Again(_) | Target::NamedBy { .. } | Target::ByPhase { .. })
            | Alarm::Hold(_) => {
                return None;
            }
        };
        let around = stages.iter().zip(stages.iter().cycle().skip(1));
        let step = |(from, next): (&StageId, &StageId)| -> Option<RouteStep> {
            let leads = |offer: &ExitMove| {
                matches!(&offer.to, MoveTarget::Stage(id) if id == next) && !offer.persists
            };
            self.moves(from).iter().position(leads).map(|index| (from.clone(), index))
        };
        let once: Vec<RouteStep> = around.map(step).collect::<Option<_>>()?;
        let rounds: u32 = once.iter().filter_map(|step| self.step(step)).map(|offer| offer.rounds).sum();
        let times = (*times).max(1);
        let length = once.len().saturating_mul(times as usize).min(10_000);
        let steps = once.into_iter().cycle().take(length).collect();
        Some(RoutePath { steps, to, rounds: rounds.saturating_mul(times) })
    }

    /// Extends completion with the `afterwards` stages, which then end the run.
    fn go_on_afterwards(&mut self, workflow: &Workflow) {
        let Some(next) = &workflow.afterwards else { return };
        let behind = self.reachable(next);
        for (_, moves) in self.moves.iter_mut().filter(|(id, _)| !behind.contains(*id)) {
            for offer in moves.iter_mut().filter(|offer| offer.to == MoveTarget::Completion) {
                offer.to = MoveTarget::Stage(next.clone());
            }
        }
    }

    fn reachable(&self, from: &StageId) -> BTreeSet<StageId> {
        let mut seen = BTreeSet::new();
        let mut open = vec![from.clone()];
        while let Some(stage) = open.pop() {
            if !seen.insert(stage.clone()) {
                continue;
            }
            open.extend(self.moves(&stage).iter().filter_map(|offer| match &offer.to {
                MoveTarget::Stage(id) => Some(id.clone()),
                MoveTarget::Completion | MoveTarget::End => None,
            }));
        }
        seen
    }
}
