//! Checks that need all hats (H-16, H-64).

use std::collections::BTreeSet;

use super::hat::{DEFAULT, Hat, place};
use super::routes::Routes;
use super::topic::{Precision, overlap};
use super::written::Written;
use crate::{Diagnostics, Located, Location, quoted};

/// Reports errors: the closing words cannot be triggers, because they are never routed.
pub(super) fn errors(written: &Written, diagnostics: &mut Diagnostics) {
    let flow = &written.flow;
    let triggers = written.hats.values().flat_map(|hat| &hat.triggers);
    let defaults = written.hats.values().filter_map(|hat| hat.default_publishes.as_ref());
    let required = flow.required_events.iter().flatten();
    for topic in triggers.chain(&flow.starting_event).chain(required).chain(defaults) {
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

pub(super) fn warnings(written: &Written, routes: &Routes, diagnostics: &mut Diagnostics) {
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

fn unhandled(hat: &Hat, written: &Written, routes: &Routes, diagnostics: &mut Diagnostics) {
    let default = hat.default_publishes.iter();
    let unlisted = default.filter(|topic| hat.publishes.iter().all(|known| known.value != topic.value));
    for topic in hat.topics(&written.flow).chain(unlisted) {
        if routes.taker(&topic.value).is_none() && !written.hats.contains_key(DEFAULT) {
            let message = format!("no hat takes {}: a turn without a hat would follow", quoted(&topic.value));
            let hint = diagnostics
                .suggest(&topic.value, routes.patterns())
                .unwrap_or_else(|| "add it to the `triggers` of a hat, or add a hat `default`".to_owned());
            diagnostics.push(topic.warning("unhandled-topic", message).label("nobody takes it").hint(hint));
        }
    }
}

fn self_loop(hat: &Hat, written: &Written, routes: &Routes, diagnostics: &mut Diagnostics) {
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
        let hint = "list what it reports, or the completion keyword if it is to end the run";
        diagnostics.push(hat.at().warning("dead-end", message).label("`publishes` is empty").hint(hint));
    }
}

/// Warns if several hats have the same trigger, or overlapping ones of equal precision. The first hat wins.
fn shadowed(written: &Written, routes: &Routes, diagnostics: &mut Diagnostics) {
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
            format!("what both {topic} and {} take activates {winner}", quoted(&earlier.value))
        };
        let diagnostic = trigger.warning("shadowed-trigger", message).label("the hat above comes first");
        let diagnostic = diagnostic.also(&earlier.at, "wins");
        diagnostics.push(diagnostic.hint("the order in the file decides"));
    }
    debug_assert!(routes.patterns().count() == all.len(), "every trigger is a route once it is right");
}

fn shares(one: &str, other: &str) -> bool {
    match (Precision::of(one), Precision::of(other)) {
        (Some(Precision::Segments), Some(Precision::Segments)) => overlap(one, other),
        (_, _) => one == other,
    }
}

fn no_start(written: &Written, diagnostics: &mut Diagnostics) {
    let start = written.flow.start();
    let message = format!("no hat takes {}, the topic a run begins with", quoted(start));
    let at: Option<&Location> = written
        .flow
        .starting_event
        .as_ref()
        .map(|topic| &topic.at)
        .or_else(|| written.hats.values().next().map(Hat::at));
    if let Some(at) = at {
        let hint = "the first turn would have no hat; add the topic to the `triggers` of the first hat, or set `starting_event`";
        diagnostics.push(at.warning("no-start", message).label("no hat begins").hint(hint));
    }
}

/// H-64: warns about hats that no published topic reaches. `default` is always reachable.
fn unreachable(first: &str, written: &Written, routes: &Routes, diagnostics: &mut Diagnostics) {
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
