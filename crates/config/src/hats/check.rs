//! Checks that need all hats (H-16, H-64), and the gates of hats (H-57, H-58).

use std::collections::BTreeSet;

use indexmap::IndexMap;
use saihai_model::GateMode;

use super::model::{HatsFile, TopicPrecision, TopicRoutes, overlap};
use super::read::{DEFAULT, Hat, one_of, place};
use crate::{Diagnostic, Diagnostics, Located, Location, WorkGate, list_of, quoted};

/// Reports errors: the closing words cannot be triggers, because they are never routed.
pub(super) fn errors(written: &HatsFile, diagnostics: &mut Diagnostics) {
    let flow = &written.flow;
    let triggers = written.hats.values().flat_map(|hat| &hat.triggers);
    let required = flow.required_events.iter().flatten();
    for topic in triggers.chain(&flow.starting_event).chain(required) {
        if flow.closes(&topic.value) {
            let message = format!(
                "{}: {} ends the run and is never routed to a hat",
                place(&topic.at),
                quoted(&topic.value)
            );
            let completes = topic.value == flow.keyword();
            let label = if completes { "the completion keyword" } else { "the cancellation word" };
            let hint = "list it in `publishes` of the hat that may end the run";
            diagnostics.push(topic.error("keyword-trigger", message).label(label).hint(hint));
        }
    }
}

pub(super) fn warnings(written: &HatsFile, routes: &TopicRoutes, diagnostics: &mut Diagnostics) {
    if written.hats.is_empty() {
        return;
    }
    for hat in written.hats.values() {
        unhandled(hat, written, routes, diagnostics);
        self_loop(hat, written, routes, diagnostics);
        dead_end(hat, diagnostics);
    }
    shadowed(written, routes, diagnostics);
    let start = routes.taker(written.flow.start()).map(|id| id.as_str().to_owned());
    match start.or_else(|| written.hats.contains_key(DEFAULT).then(|| DEFAULT.to_owned())) {
        Some(first) => unreachable(&first, written, routes, diagnostics),
        None => no_start(written, diagnostics),
    }
}

fn unhandled(hat: &Hat, written: &HatsFile, routes: &TopicRoutes, diagnostics: &mut Diagnostics) {
    let default = hat.default_publishes.iter();
    let unlisted = default.filter(|topic| {
        hat.publishes.iter().all(|known| known.value != topic.value) && !written.flow.closes(&topic.value)
    });
    for topic in hat.topics(&written.flow).chain(unlisted) {
        if routes.taker(&topic.value).is_none() && !written.hats.contains_key(DEFAULT) {
            let message = format!("no hat takes {}: a turn without a hat would follow", quoted(&topic.value));
            let hint = diagnostics
                .suggest(&topic.value, routes.patterns())
                .unwrap_or_else(|| "add it to the `triggers` of a hat, or add a hat `default`".to_owned());
            diagnostics.push(topic.warning("unhandled-topic", message).label("no hat takes it").hint(hint));
        }
    }
}

fn self_loop(hat: &Hat, written: &HatsFile, routes: &TopicRoutes, diagnostics: &mut Diagnostics) {
    if hat.max_activations.or(written.flow.max_activations).is_some() {
        return;
    }
    let own = |topic: &&Located<String>| {
        routes.taker(&topic.value).is_some_and(|taker| taker.as_str() == hat.id.value)
    };
    if let Some(topic) = hat.topics(&written.flow).find(own) {
        let message = format!("{} activates itself with {}", quoted(&hat.id.value), quoted(&topic.value));
        let hint = "`max_activations` bounds how often";
        diagnostics.push(topic.warning("self-loop", message).label("its own trigger").hint(hint));
    }
}

fn dead_end(hat: &Hat, diagnostics: &mut Diagnostics) {
    if hat.publishes.is_empty() {
        let message = format!("{} publishes nothing: it can only end the run", quoted(&hat.id.value));
        let hint = "list its topics, or the completion keyword if it may end the run";
        diagnostics.push(hat.at().warning("dead-end", message).label("`publishes` is empty").hint(hint));
    }
}

/// Warns if several hats have the same trigger, or overlapping ones of equal precision. The first hat wins.
fn shadowed(written: &HatsFile, routes: &TopicRoutes, diagnostics: &mut Diagnostics) {
    let all: Vec<(&Hat, &Located<String>)> = written
        .hats
        .values()
        .flat_map(|hat| hat.triggers.iter().map(move |trigger| (hat, trigger)))
        .collect();
    for (index, (hat, trigger)) in all.iter().enumerate() {
        let shares = |(other, earlier): &&(&Hat, &Located<String>)| {
            other.id.value != hat.id.value && shares(&earlier.value, &trigger.value)
        };
        let Some((winner, earlier)) = all[..index].iter().find(shares) else { continue };
        let (topic, winner) = (quoted(&trigger.value), quoted(&winner.id.value));
        let message = if trigger.value == earlier.value {
            format!("{topic} activates {winner} and never {}", quoted(&hat.id.value))
        } else {
            format!("a topic that matches both {topic} and {} activates {winner}", quoted(&earlier.value))
        };
        let diagnostic = trigger.warning("shadowed-trigger", message).label("the hat above comes first");
        let diagnostic = diagnostic.also(&earlier.at, "wins");
        diagnostics.push(diagnostic.hint("the order in the file decides"));
    }
    debug_assert!(routes.patterns().count() == all.len(), "every trigger is a route once it is right");
}

fn shares(one: &str, other: &str) -> bool {
    match (TopicPrecision::of(one), TopicPrecision::of(other)) {
        (Some(TopicPrecision::Segments), Some(TopicPrecision::Segments)) => overlap(one, other),
        (_, _) => one == other,
    }
}

fn no_start(written: &HatsFile, diagnostics: &mut Diagnostics) {
    let start = written.flow.start();
    let message = format!("no hat takes {}, the first topic of a run", quoted(start));
    let at: Option<&Location> = written
        .flow
        .starting_event
        .as_ref()
        .map(|topic| &topic.at)
        .or_else(|| written.hats.values().next().map(Hat::at));
    if let Some(at) = at {
        let hint = "the first turn would have no hat; add the topic to the `triggers` of the first hat, or set `starting_event`";
        diagnostics.push(at.warning("no-start", message).label("no hat starts").hint(hint));
    }
}

/// H-64: warns about hats that no published topic reaches. `default` is always reachable.
fn unreachable(first: &str, written: &HatsFile, routes: &TopicRoutes, diagnostics: &mut Diagnostics) {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut open: Vec<&str> = vec![first];
    open.extend(written.hats.contains_key(DEFAULT).then_some(DEFAULT));
    while let Some(id) = open.pop() {
        let Some((id, hat)) = written.hats.get_key_value(id) else { continue };
        if !reached.insert(id) {
            continue;
        }
        let limited = hat.max_activations.or(written.flow.max_activations).is_some();
        let exhausted = limited.then(|| routes.explicit_taker(&format!("{id}.exhausted"))).flatten();
        let published = hat.publishes.iter().chain(&hat.default_publishes);
        let next = published.filter_map(|topic| routes.taker(&topic.value)).chain(exhausted);
        open.extend(next.map(saihai_model::StageId::as_str));
    }
    for hat in written.hats.values().filter(|hat| !reached.contains(hat.id.value.as_str())) {
        let message = format!("no published topic leads to {}", quoted(&hat.id.value));
        let hint = "no hat that can be reached publishes one of its triggers";
        diagnostics.push(hat.at().warning("unreachable", message).label("never activated").hint(hint));
    }
}

/// Topic that `after_plan` guards if some hat publishes it.
const PLANNED: &str = "plan.ready";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum GatePoint {
    PreLoop,
    /// After the work is done.
    PostCompletion,
    BeforePr,
    /// Before this topic is routed.
    Topic(String),
}

impl GatePoint {
    const OWN: [Self; 3] = [Self::PreLoop, Self::PostCompletion, Self::BeforePr];

    /// Returns the matching gate of work on an issue.
    pub(super) fn of_work(&self) -> Option<WorkGate> {
        match self {
            Self::PreLoop => Some(WorkGate::PreLoop),
            Self::PostCompletion => Some(WorkGate::PostCompletion),
            Self::BeforePr => Some(WorkGate::BeforePr),
            Self::Topic(_) => None,
        }
    }

    pub(super) fn name(&self) -> &str {
        match self {
            Self::PreLoop => "pre-loop",
            Self::PostCompletion => "post-completion",
            Self::BeforePr => "before-pr",
            Self::Topic(topic) => topic,
        }
    }
}

/// Returns all active gates, each answered by a person or automatically. It reports invalid gates.
pub(super) fn settle_gates(written: &HatsFile, diagnostics: &mut Diagnostics) -> Vec<(GatePoint, GateMode)> {
    let gates = &written.gates;
    let mut said = points(&gates.named, written, diagnostics);
    // H-20: the file wins over its preset, even if they use different names for one gate.
    for (point, asks) in points(&gates.below, written, diagnostics) {
        if !said.iter().any(|(known, _)| *known == point) {
            said.push((point, asks));
        }
    }
    let usual = GatePoint::OWN.into_iter().filter(|_| gates.auto.is_some());
    let usual: Vec<GatePoint> = usual.filter(|point| !said.iter().any(|(known, _)| known == point)).collect();
    let listed = said.into_iter().filter(|(_, asks)| asks.value).map(|(point, _)| point);
    let mode = if gates.auto == Some(true) { GateMode::Auto } else { GateMode::Person };
    usual.into_iter().chain(listed).map(|point| (point, mode)).collect()
}

/// Resolves the gate names of one file. Two names of the same gate must agree.
fn points(
    named: &IndexMap<String, Located<bool>>,
    written: &HatsFile,
    diagnostics: &mut Diagnostics,
) -> Vec<(GatePoint, Located<bool>)> {
    let mut said: Vec<(GatePoint, Located<bool>)> = Vec::new();
    for (name, asks) in named {
        let Some(point) = meant(name, asks, written, diagnostics) else { continue };
        match said.iter().find(|(known, _)| *known == point) {
            Some((_, first)) => {
                one_of(Some(first.clone()), Some(asks.clone()), diagnostics);
            }
            None => said.push((point, asks.clone())),
        }
    }
    said
}

fn meant(
    name: &str,
    asks: &Located<bool>,
    written: &HatsFile,
    diagnostics: &mut Diagnostics,
) -> Option<GatePoint> {
    let publishes = |topic: &str| {
        let topics =
            |hat: &'_ Hat| hat.publishes.iter().chain(&hat.default_publishes).any(|t| t.value == topic);
        written.hats.values().any(topics)
    };
    match name.replace('_', "-").as_str() {
        "pre-loop" => return Some(GatePoint::PreLoop),
        "post-completion" | "after-implementation" => return Some(GatePoint::PostCompletion),
        "before-pr" => return Some(GatePoint::BeforePr),
        "after-plan" => {
            let planned = publishes(PLANNED);
            let (point, why) = if planned {
                (GatePoint::Topic(PLANNED.to_owned()), format!("some hat publishes `{PLANNED}`"))
            } else {
                (GatePoint::PreLoop, format!("no hat publishes `{PLANNED}`"))
            };
            let message = format!("{} means the gate `{}`: {why}", quoted(name), point.name());
            diagnostics.push(asks.at.note("gate-alias", message));
            return Some(point);
        }
        _ => {}
    }
    if written.flow.closes(name) || !publishes(name) {
        diagnostics.push(unreachable_gate(name, asks, written, diagnostics));
        return None;
    }
    Some(GatePoint::Topic(name.to_owned()))
}

fn unreachable_gate(
    name: &str,
    asks: &Located<bool>,
    written: &HatsFile,
    diagnostics: &Diagnostics,
) -> Diagnostic {
    let keyword = written.flow.keyword();
    if name == keyword {
        let message = format!("{} ends the run and is never routed", quoted(name));
        return asks.error("unreachable-gate", message).hint("the gate before the end is `post-completion`");
    }
    let topics = written.hats.values().flat_map(|hat| hat.topics(&written.flow));
    let known: Vec<&str> =
        GatePoint::OWN.iter().map(GatePoint::name).chain(topics.map(|topic| topic.value.as_str())).collect();
    let hint = diagnostics.suggest(name, known.iter().copied()).unwrap_or_else(|| {
        format!("gates are {} and topics", list_of(GatePoint::OWN.iter().map(GatePoint::name), "and"))
    });
    let message = format!("no hat publishes {}, so this gate would never open", quoted(name));
    asks.error("unreachable-gate", message).label("no gate and no published topic").hint(hint)
}
