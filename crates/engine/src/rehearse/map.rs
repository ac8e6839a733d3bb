//! The map: every move of every stage, and the shortest paths between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use saihai_model::{Alarm, StageId, Target, Watch, Workflow};

use super::moves::Moves;
use super::way::{Move, To, Way};

/// Every move of every stage.
#[derive(Debug)]
pub(super) struct Map {
    moves: BTreeMap<StageId, Vec<Move>>,
    /// Exits for which no reply was found, in the workflow's order.
    pub(super) dead: Vec<(StageId, Way)>,
    /// Exits to take, in the workflow's order.
    pub(super) ways: Vec<(StageId, Way)>,
    alarms: Vec<Path>,
}

/// A move of a stage, by its index.
pub(super) type Step = (StageId, usize);

/// A sequence of moves, and its expected destination.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    pub(super) steps: Vec<Step>,
    pub(super) to: To,
    pub(super) rounds: u32,
}

impl Map {
    pub(super) fn of(workflow: &Workflow) -> Self {
        let mut map = Self { moves: BTreeMap::new(), dead: Vec::new(), ways: Vec::new(), alarms: Vec::new() };
        for (id, stage) in &workflow.stages {
            let offered = Moves::of(workflow, id, stage);
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
        let leads = |(from, moves): (&StageId, &Vec<Move>)| {
            from != fallback && moves.iter().any(|offer| offer.to == To::Stage(fallback.clone()))
        };
        let instead = |limit: &saihai_model::VisitLimit| limit.once_instead.as_ref() == Some(fallback);
        let limits = || workflow.stages.values().filter_map(|stage| stage.visits.as_ref());
        if workflow.entry != *fallback && !self.moves.iter().any(leads) && !limits().any(instead) {
            self.ways.retain(|(stage, _)| stage != fallback);
            self.dead.retain(|(stage, _)| stage != fallback);
        }
    }

    pub(super) fn moves(&self, stage: &StageId) -> &[Move] {
        self.moves.get(stage).map_or(&[], Vec::as_slice)
    }

    pub(super) fn step(&self, (stage, index): &Step) -> Option<&Move> {
        self.moves.get(stage)?.get(*index)
    }

    /// Returns the shortest path from a stage whose last step matches `wanted`.
    pub(super) fn nearest(&self, from: &StageId, wanted: impl Fn(&Path) -> bool) -> Option<Path> {
        let mut best: BTreeMap<StageId, (u32, usize)> = BTreeMap::new();
        let mut queue = BinaryHeap::new();
        queue.push(Reverse((0, 0, 0, from.clone())));
        let mut paths: Vec<Vec<Step>> = vec![Vec::new()];
        let mut found: Option<Path> = None;
        while let Some(Reverse((rounds, hops, path, stage))) = queue.pop() {
            if best.get(&stage).is_some_and(|before| *before <= (rounds, hops)) {
                continue;
            }
            if found.as_ref().is_some_and(|found| found.rounds <= rounds) {
                break;
            }
            best.insert(stage.clone(), (rounds, hops));
            for edge in self.edges(&stage) {
                let steps: Vec<_> = paths[path].iter().chain(&edge.steps).cloned().collect();
                let sum = rounds.saturating_add(edge.rounds);
                if wanted(&edge) && found.as_ref().is_none_or(|found| sum < found.rounds) {
                    found = Some(Path { steps: steps.clone(), to: edge.to.clone(), rounds: sum });
                }
                if let To::Stage(next) = edge.to {
                    paths.push(steps);
                    queue.push(Reverse((sum, hops + edge.steps.len(), paths.len() - 1, next)));
                }
            }
        }
        found
    }

    fn edges(&self, stage: &StageId) -> Vec<Path> {
        let moves = self.moves(stage).iter().enumerate().map(|(index, offer)| Path {
            steps: vec![(stage.clone(), index)],
            to: offer.to.clone(),
            rounds: offer.rounds,
        });
        let alarms =
            self.alarms.iter().filter(|alarm| alarm.steps.first().is_some_and(|(at, _)| at == stage));
        moves.chain(alarms.cloned()).collect()
    }

    /// Returns the path that repeats a watched cycle until its monitor fires.
    fn alarm(&self, monitor: &saihai_model::Monitor) -> Option<Path> {
        let Watch::Cycle { stages, times } = &monitor.watches else { return None };
        let to = match &monitor.then {
            Alarm::Go(Target::Stage(id)) => To::Stage(id.clone()),
            Alarm::Go(Target::Complete) => To::Completion,
            Alarm::Go(Target::End(_)) => To::End,
            Alarm::Go(Target::Again(_) | Target::NamedBy { .. } | Target::ByPhase { .. })
            | Alarm::Hold(_) => {
                return None;
            }
        };
        let around = stages.iter().zip(stages.iter().cycle().skip(1));
        let step = |(from, next): (&StageId, &StageId)| -> Option<Step> {
            let leads = |offer: &Move| matches!(&offer.to, To::Stage(id) if id == next) && !offer.persists;
            self.moves(from).iter().position(leads).map(|index| (from.clone(), index))
        };
        let once: Vec<Step> = around.map(step).collect::<Option<_>>()?;
        let rounds: u32 = once.iter().filter_map(|step| self.step(step)).map(|offer| offer.rounds).sum();
        let times = (*times).max(1);
        let length = once.len().saturating_mul(times as usize).min(10_000);
        let steps = once.into_iter().cycle().take(length).collect();
        Some(Path { steps, to, rounds: rounds.saturating_mul(times) })
    }

    /// Extends completion with the `afterwards` stages, which then end the run.
    fn go_on_afterwards(&mut self, workflow: &Workflow) {
        let Some(next) = &workflow.afterwards else { return };
        let behind = self.reachable(next);
        for (_, moves) in self.moves.iter_mut().filter(|(id, _)| !behind.contains(*id)) {
            for offer in moves.iter_mut().filter(|offer| offer.to == To::Completion) {
                offer.to = To::Stage(next.clone());
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
                To::Stage(id) => Some(id.clone()),
                To::Completion | To::End => None,
            }));
        }
        seen
    }
}
