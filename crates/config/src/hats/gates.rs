//! Gates of hats (H-57, H-58).

use indexmap::IndexMap;
use saihai_model::GateMode;

use super::hat::Hat;
use super::read::one_of;
use super::written::Written;
use crate::{Diagnostic, Diagnostics, Located, WorkGate, list_of, quoted};

/// Topic that `after_plan` guards if some hat publishes it.
const PLANNED: &str = "plan.ready";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Point {
    PreLoop,
    /// After the work is done.
    PostCompletion,
    BeforePr,
    /// Before this topic is routed.
    Topic(String),
}

impl Point {
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
pub(super) fn settle(written: &Written, diagnostics: &mut Diagnostics) -> Vec<(Point, GateMode)> {
    let gates = &written.gates;
    let mut said = points(&gates.named, written, diagnostics);
    // H-20: the file wins over its preset, even if they use different names for one gate.
    for (point, asks) in points(&gates.below, written, diagnostics) {
        if !said.iter().any(|(known, _)| *known == point) {
            said.push((point, asks));
        }
    }
    let usual = Point::OWN.into_iter().filter(|_| gates.auto.is_some());
    let usual: Vec<Point> = usual.filter(|point| !said.iter().any(|(known, _)| known == point)).collect();
    let listed = said.into_iter().filter(|(_, asks)| asks.value).map(|(point, _)| point);
    let mode = if gates.auto == Some(true) { GateMode::Auto } else { GateMode::Person };
    usual.into_iter().chain(listed).map(|point| (point, mode)).collect()
}

/// Resolves the gate names of one file. Two names of the same gate must agree.
fn points(
    named: &IndexMap<String, Located<bool>>,
    written: &Written,
    diagnostics: &mut Diagnostics,
) -> Vec<(Point, Located<bool>)> {
    let mut said: Vec<(Point, Located<bool>)> = Vec::new();
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
    written: &Written,
    diagnostics: &mut Diagnostics,
) -> Option<Point> {
    let publishes = |topic: &str| {
        let topics =
            |hat: &'_ Hat| hat.publishes.iter().chain(&hat.default_publishes).any(|t| t.value == topic);
        written.hats.values().any(topics)
    };
    match name.replace('_', "-").as_str() {
        "pre-loop" => return Some(Point::PreLoop),
        "post-completion" | "after-implementation" => return Some(Point::PostCompletion),
        "before-pr" => return Some(Point::BeforePr),
        "after-plan" => {
            let planned = publishes(PLANNED);
            let (point, why) = if planned {
                (Point::Topic(PLANNED.to_owned()), format!("some hat publishes `{PLANNED}`"))
            } else {
                (Point::PreLoop, format!("no hat publishes `{PLANNED}`"))
            };
            let message = format!("{} means the gate `{}`: {why}", quoted(name), point.name());
            diagnostics.push(asks.at.note("gate-alias", message));
            return Some(point);
        }
        _ => {}
    }
    if written.flow.closes(name) || !publishes(name) {
        diagnostics.push(unreachable(name, asks, written, diagnostics));
        return None;
    }
    Some(Point::Topic(name.to_owned()))
}

fn unreachable(name: &str, asks: &Located<bool>, written: &Written, diagnostics: &Diagnostics) -> Diagnostic {
    let keyword = written.flow.keyword();
    if name == keyword {
        let message = format!("{} ends the run and is never routed", quoted(name));
        return asks.error("unreachable-gate", message).hint("the gate before the end is `post-completion`");
    }
    let topics = written.hats.values().flat_map(|hat| hat.topics(&written.flow));
    let known: Vec<&str> =
        Point::OWN.iter().map(Point::name).chain(topics.map(|topic| topic.value.as_str())).collect();
    let hint = diagnostics.suggest(name, known.iter().copied()).unwrap_or_else(|| {
        format!("gates are {} and topics", list_of(Point::OWN.iter().map(Point::name), "and"))
    });
    let message = format!("no hat publishes {}, so nobody would ever be asked", quoted(name));
    asks.error("unreachable-gate", message).label("no gate and no published topic").hint(hint)
}
