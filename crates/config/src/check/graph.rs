use std::collections::{HashMap, VecDeque};

use saihai_model::{Alarm, Completion, Ending, Exit, Stage, StageId, StillWrong, Target, Watch, Workflow};

/// Graph of the stages, numbered in the workflow's order.
#[derive(Debug, Default)]
pub(super) struct Graph {
    pub(super) next: Vec<Vec<usize>>,
    /// Stages where a run starts, or continues after the work is done.
    pub(super) roots: Vec<usize>,
    /// Stages from which a run can end.
    pub(super) ends: Vec<usize>,
}

pub(super) enum Leads<'a> {
    To(&'a StageId),
    ToAny,
    ToTheEnd,
}

impl Graph {
    /// Builds the graph from all transitions, including those of monitors.
    pub(super) fn of(workflow: &Workflow) -> Self {
        let mut graph = Self { next: vec![Vec::new(); workflow.stages.len()], ..Self::default() };
        for (index, stage) in workflow.stages.values().enumerate() {
            for leads in ways_out(workflow, stage) {
                graph.add(workflow, index, &leads);
            }
        }
        for monitor in &workflow.monitors {
            let Alarm::Go(target) = &monitor.then else { continue };
            for from in alarm_sources(workflow, &monitor.watches) {
                leads(target, &mut |leads| graph.add(workflow, from, &leads));
            }
        }
        let roots = [Some(&workflow.entry), workflow.afterwards.as_ref()];
        graph.roots.extend(roots.into_iter().flatten().filter_map(|id| workflow.stages.get_index_of(id)));
        graph
    }

    pub(super) fn add(&mut self, workflow: &Workflow, from: usize, leads: &Leads<'_>) {
        match leads {
            Leads::To(id) => self.next[from].extend(workflow.stages.get_index_of(*id)),
            Leads::ToAny => self.next[from].extend(0..workflow.stages.len()),
            Leads::ToTheEnd => self.ends.push(from),
        }
    }

    pub(super) fn reversed(&self) -> Self {
        let mut reversed = Self { next: vec![Vec::new(); self.next.len()], ..Self::default() };
        for (from, next) in self.next.iter().enumerate() {
            for to in next {
                reversed.next[*to].push(from);
            }
        }
        reversed
    }

    /// Returns, for each stage, true if a path from `from` reaches it.
    pub(super) fn reached_from(&self, from: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut reached = vec![false; self.next.len()];
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(stage) = open.pop() {
            if !std::mem::replace(&mut reached[stage], true) {
                open.extend(&self.next[stage]);
            }
        }
        reached
    }

    /// Returns the number of the strongly connected component of each stage.
    pub(super) fn knots(&self) -> Vec<usize> {
        let reversed = self.reversed();
        let mut knot = vec![usize::MAX; self.next.len()];
        for start in self.finished(0..self.next.len()).into_iter().rev() {
            let mut open = vec![start];
            while let Some(stage) = open.pop() {
                if knot[stage] == usize::MAX {
                    knot[stage] = start;
                    open.extend(&reversed.next[stage]);
                }
            }
        }
        knot
    }

    /// Returns the stages in the postorder of a depth-first search.
    pub(super) fn finished(&self, starts: impl IntoIterator<Item = usize>) -> Vec<usize> {
        let mut seen = vec![false; self.next.len()];
        let mut finished = Vec::with_capacity(self.next.len());
        for start in starts {
            let mut walk = Vec::new();
            if !std::mem::replace(&mut seen[start], true) {
                walk.push((start, 0));
            }
            while let Some((stage, step)) = walk.pop() {
                let Some(&to) = self.next[stage].get(step) else {
                    finished.push(stage);
                    continue;
                };
                walk.push((stage, step + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    walk.push((to, 0));
                }
            }
        }
        finished
    }

    /// Returns the shortest path from a stage back to itself within its component.
    pub(super) fn round_trip(&self, start: usize, knots: &[usize]) -> Option<Vec<usize>> {
        let mut before: HashMap<usize, usize> = HashMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(stage) = open.pop_front() {
            if self.next[stage].contains(&start) {
                let mut way = vec![stage];
                while let Some(earlier) = before.get(&way[way.len() - 1]) {
                    way.push(*earlier);
                }
                way.reverse();
                return Some(way);
            }
            for &to in &self.next[stage] {
                if knots[to] == knots[start] && !before.contains_key(&to) {
                    before.insert(to, stage);
                    open.push_back(to);
                }
            }
        }
        None
    }
}

/// Returns every target of a stage's exit, limits and replies.
pub(super) fn ways_out<'a>(workflow: &'a Workflow, stage: &'a Stage) -> Vec<Leads<'a>> {
    let mut ways = Vec::new();
    let mut push = |way| ways.push(way);
    match &stage.exit {
        Exit::Rules { rules, otherwise, .. } => {
            rules.iter().for_each(|rule| leads(&rule.then, &mut push));
            // A failure because no rule matched is an accident, not an ending that the author wrote.
            if !matches!(otherwise, Target::End(Ending::Failed(_))) {
                leads(otherwise, &mut push);
            }
        }
        Exit::Topics { silent, .. } => {
            leads(&silent.exhausted, &mut push);
            if let Some(topics) = &workflow.topics {
                topics.routes.iter().for_each(|route| push(Leads::To(&route.to)));
                push(Leads::To(&topics.otherwise));
            }
        }
    }
    if let Some(instead) = stage.visits.as_ref().and_then(|limit| limit.once_instead.as_ref()) {
        push(Leads::To(instead));
    }
    if stage.rounds.max.is_some() {
        leads(&stage.rounds.too_many, &mut push);
    }
    for turn in stage.turns() {
        if let Some(StillWrong::Go(target)) = turn.reads.output.as_ref().map(|output| &output.still_wrong) {
            leads(target, &mut push);
        }
        let words = turn.reads.directives.iter().flat_map(|directives| &directives.words);
        words.for_each(|word| leads(&word.then, &mut push));
    }
    if !matches!(workflow.completion, Completion::Flow) {
        push(Leads::ToTheEnd);
    }
    ways
}

/// Returns every stage that the workflow names but does not define, once each, in order of use.
pub fn unknown_stages(workflow: &Workflow) -> Vec<StageId> {
    let mut named: Vec<&StageId> =
        Vec::from_iter([Some(&workflow.entry), workflow.afterwards.as_ref()].into_iter().flatten());
    for stage in workflow.stages.values() {
        let ways = ways_out(workflow, stage).into_iter();
        named.extend(ways.filter_map(|way| if let Leads::To(id) = way { Some(id) } else { None }));
    }
    for monitor in &workflow.monitors {
        if let Alarm::Go(target) = &monitor.then {
            leads(target, &mut |way| {
                if let Leads::To(id) = way {
                    named.push(id);
                }
            });
        }
    }
    let mut unknown: Vec<StageId> = Vec::new();
    for id in named {
        if !workflow.stages.contains_key(id) && !unknown.contains(id) {
            unknown.push(id.clone());
        }
    }
    unknown
}

fn leads<'a>(target: &'a Target, push: &mut impl FnMut(Leads<'a>)) {
    match target {
        Target::Stage(id) => push(Leads::To(id)),
        Target::NamedBy { .. } => push(Leads::ToAny),
        Target::ByPhase { stages } => stages.values().for_each(|id| push(Leads::To(id))),
        Target::Again(again) => leads(&again.exhausted, push),
        Target::Complete | Target::End(_) => push(Leads::ToTheEnd),
    }
}

/// Returns the stages after which a monitor can fire.
fn alarm_sources(workflow: &Workflow, watch: &Watch) -> Vec<usize> {
    match watch {
        Watch::Cycle { stages, .. } => {
            stages.last().and_then(|last| workflow.stages.get_index_of(last)).into_iter().collect()
        }
        Watch::Silent { .. } | Watch::Same { .. } | Watch::SelfEntries { .. } => {
            (0..workflow.stages.len()).collect()
        }
    }
}
