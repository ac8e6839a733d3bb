//! Edges between stages, from their exits.

use saihai_model::{Alarm, Ending, Exit, Holds, Label, Stage, Target, Topic, Watch, Workflow};

use super::{ABORT, COMPLETE, Edge, Graph, Way};

/// Adds every edge of a workflow.
pub(super) fn draw(graph: &mut Graph, workflow: &Workflow) {
    for (from, stage) in workflow.stages.values().enumerate() {
        match &stage.exit {
            Exit::Rules { rules, .. } => {
                for rule in rules {
                    lead(graph, from, &rule.then, condition(&rule.when), Way::Forward);
                }
            }
            Exit::Topics { default, .. } => topics(graph, from, (stage, default.as_ref()), workflow),
        }
        substitute(graph, from, stage);
    }
    monitors(graph, workflow);
    if let Some(next) = workflow.afterwards.as_ref().and_then(|id| graph.index(id.as_str())) {
        lead_on(graph, next);
    }
}

/// Redirects completion to the next stage of the definition, such as a report or delivery. Stages after that one keep
/// their edges.
fn lead_on(graph: &mut Graph, next: usize) {
    let Some(complete) = graph.index(COMPLETE) else { return };
    let mut there = vec![next];
    while let Some(more) =
        graph.edges.iter().find(|edge| there.contains(&edge.from) && !there.contains(&edge.to))
    {
        there.push(more.to);
    }
    let is_done = |edge: &&mut Edge| edge.to == complete && !there.contains(&edge.from);
    graph.edges.iter_mut().filter(is_done).for_each(|edge| edge.to = next);
}

fn lead(graph: &mut Graph, from: usize, target: &Target, label: String, kind: Way) {
    let to = match target {
        Target::Stage(id) => graph.index(id.as_str()),
        Target::Complete => graph.index(COMPLETE),
        Target::End(Ending::Completed(_)) => graph.index(COMPLETE),
        Target::End(_) => graph.index(ABORT),
        Target::Again(again) => {
            // A loop without a limit is never exhausted.
            if again.at_most.is_some() && !matches!(again.exhausted, Target::Again(_)) {
                lead(graph, from, &again.exhausted, "exhausted".to_owned(), kind);
            }
            Some(from)
        }
        Target::NamedBy { .. } => None,
        Target::ByPhase { stages } => {
            for (phase, id) in stages {
                if let Some(to) = graph.index(id.as_str()) {
                    graph.connect(from, to, format!("phase {phase}"), kind);
                }
            }
            None
        }
    };
    if let Some(to) = to {
        graph.connect(from, to, label, kind);
    }
}

fn condition(when: &Holds) -> String {
    let quoted =
        |labels: &[Label]| labels.iter().map(|label| format!("\"{label}\"")).collect::<Vec<_>>().join(", ");
    match when {
        Holds::Always => String::new(),
        Holds::Is(label) | Holds::Answered(label) => label.to_string(),
        Holds::All(labels) => format!("all({})", quoted(labels)),
        Holds::Any(labels) => format!("any({})", quoted(labels)),
    }
}

/// Adds the edge to the substitute for a stage that accepts no more visits.
fn substitute(graph: &mut Graph, from: usize, stage: &Stage) {
    let Some(limit) = &stage.visits else { return };
    let to = limit.once_instead.as_ref().and_then(|id| graph.index(id.as_str()));
    if let Some(to) = to {
        let label = limit.publishes.as_ref().map(ToString::to_string);
        graph.connect(from, to, label.unwrap_or_else(|| "exhausted".to_owned()), Way::Forward);
    }
}

fn topics(graph: &mut Graph, from: usize, (stage, default): (&Stage, Option<&Topic>), workflow: &Workflow) {
    let directives = stage.turns().first().and_then(|turn| turn.reads.directives.as_ref());
    let (Some(directives), Some(table)) = (directives, workflow.topics.as_ref()) else { return };
    for topic in directives.declared.iter().flatten().chain(default) {
        let (to, _) = saihai_judge::route(table, topic);
        if let Some(to) = graph.index(to.as_str()) {
            graph.connect(from, to, topic.to_string(), Way::Forward);
        }
    }
    for word in directives.words.iter().filter(|word| !word.quiet) {
        // After completion the definition may continue with a gate or delivery.
        let afterwards = workflow.afterwards.clone().filter(|_| word.then == Target::Complete);
        let then = afterwards.map_or_else(|| word.then.clone(), Target::Stage);
        lead(graph, from, &then, word.word.clone(), Way::Forward);
    }
}

/// Adds each monitor's alarm as an edge from the last stage of its cycle.
fn monitors(graph: &mut Graph, workflow: &Workflow) {
    for monitor in &workflow.monitors {
        let (Watch::Cycle { stages, times }, Alarm::Go(target)) = (&monitor.watches, &monitor.then) else {
            continue;
        };
        let Some(from) = stages.last().and_then(|stage| graph.index(stage.as_str())) else { continue };
        let rounds = if *times == 1 { "round" } else { "rounds" };
        lead(graph, from, target, format!("after {times} {rounds}"), Way::Monitor);
    }
}
