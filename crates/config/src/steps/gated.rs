//! Lowering of gates and validators to choices, rules and proofs (S-15, S-16).

use std::collections::BTreeMap;

use saihai_model::{
    Action, ActionSpec, Again, Choice, Holds, Json, Label, Method, Millis, Narrowed, Offer, Once, Pointed,
    Proof, Refuted, Rule, Shaping, Target, Told, Unsaid,
};

use super::exit::{enter, failed};
use super::gate::{Gate, Way};
use super::intent::Intent;
use super::registry::Registry;
use super::setup::Closure;
use super::step::Step;
use super::validation::{OnFailure, Validation, Validator};
use crate::Located;

/// Time limit of a validator. It is long, because test suites are slow.
const VALIDATOR: Millis = Millis(30 * 60 * 1000);

/// Builds the choice from the intents of a gate.
pub(super) fn choice(gate: &Gate, registry: &Registry) -> Choice {
    let words =
        gate.ways.iter().flat_map(|(intent, _)| intent.words().iter().map(move |word| (*word, *intent)));
    let means = words.map(|(word, intent)| (word.to_owned(), intent.name().into())).collect();
    let labels = gate.ways.iter().flat_map(|(intent, way)| labels(*intent, way)).map(|(label, _)| label);
    let options = labels.enumerate().map(|(number, label)| Offer { number, label }).collect();
    let field = Pointed {
        pointer: gate.pointer.clone(),
        means,
        narrowed: gate.ways.iter().filter_map(|(intent, way)| narrowed(*intent, way, registry)).collect(),
        unsaid: Some(match gate.fallback {
            Some(intent) => Unsaid::Label(intent.name().into()),
            None => Unsaid::Wrong,
        }),
    };
    Choice { options, found_by: vec![Method::Field(field)] }
}

pub(super) fn rules(step: &str, gate: &Gate, registry: &Registry) -> Vec<Rule> {
    let ways = gate.ways.iter().flat_map(|(intent, way)| labels(*intent, way));
    let rule = |(label, leads): (Label, Leads<'_>)| {
        let then = match leads {
            Leads::Complete => Target::Complete,
            Leads::Step(next) => enter(next, registry),
            Leads::Named(pointer) => Target::NamedBy { pointer: pointer.to_owned() },
            Leads::Again => {
                Target::Again(Box::new(Again { note: None, at_most: None, exhausted: failed(step) }))
            }
        };
        Rule { when: Holds::Is(label), then }
    };
    ways.map(rule).collect()
}

/// Returns the changes to a reply before it is used.
pub(super) fn shaping(step: &Step) -> Shaping {
    let Some(gate) = step.gate() else { return Shaping::default() };
    let lifted = gate.handed.iter().map(|(key, pointer)| (key.name.value.clone(), pointer.clone()));
    let fixed = [("stepId".to_owned(), Json::from(step.id.value.as_str()))].into();
    Shaping { fixed, lifted: lifted.collect() }
}

/// Returns the conditions for closing a step, and the action on the issue. `written` is the file that
/// declares the validators.
pub(super) fn proofs(step: &Step, written: &str, closure: Option<&Closure>) -> Vec<Proof> {
    let Some(gate) = step.gate().filter(|gate| gate.completes()) else { return Vec::new() };
    let closes = closure.map(closes);
    let Some(validation) = gate.validation.as_ref() else { return closes.into_iter().collect() };
    let proof = |validator: &Validator| Proof {
        of: Intent::Closing.name().into(),
        name: validator.name.clone(),
        by: look(validator, written),
        refuted: refuted(&step.id.value, validation, validator),
    };
    validation.validators.iter().map(proof).chain(closes).collect()
}

/// Builds the action of `closing` on the issue. It comes after all validators (S-61).
fn closes(closure: &Closure) -> Proof {
    let Closure { close, add, remove } = closure.clone();
    let does = Action::CloseIssue { close, add, remove };
    Proof {
        of: Intent::Closing.name().into(),
        name: if close { "issue closed" } else { "issue labelled" }.to_owned(),
        by: ActionSpec { does, inputs: Vec::new(), once: Once::SetToValue, poll: None },
        refuted: Refuted::Remarked,
    }
}

fn look(validator: &Validator, written: &str) -> ActionSpec {
    let does = Action::Command {
        argv: ["/bin/sh", "-c", &validator.command].map(str::to_owned).to_vec(),
        timeout: VALIDATOR,
        input: Json::Null,
        told: if validator.silent { Told::BySilence } else { Told::ByExitCode },
        written: Some(written.to_owned()),
    };
    ActionSpec { does, inputs: Vec::new(), once: Once::ReadOnly, poll: None }
}

fn refuted(step: &str, validation: &Validation, validator: &Validator) -> Refuted {
    match validation.on_failure {
        OnFailure::Retry(at_most) => Refuted::Again {
            at_most,
            exhausted: Target::failed(&format!("retries_exhausted {step} {at_most}")),
        },
        OnFailure::Abort => {
            Refuted::Go(Target::failed(&format!("validation_failed {step} {}", validator.name)))
        }
        OnFailure::Skip => Refuted::Remarked,
    }
}

enum Leads<'a> {
    Complete,
    Again,
    Step(&'a str),
    Named(&'a str),
}

/// Returns the labels of an intent, with their targets.
fn labels<'w>(intent: Intent, way: &'w Way) -> Vec<(Label, Leads<'w>)> {
    let only = |leads| vec![(intent.name().into(), leads)];
    match way {
        Way::Complete => only(Leads::Complete),
        Way::Again => only(Leads::Again),
        Way::Step(step) => only(Leads::Step(&step.value)),
        Way::Named(pointer) => only(Leads::Named(pointer)),
        // `closing` keeps one label for all values, so that every proof applies to it.
        Way::By(..) if intent == Intent::Closing => only(Leads::Complete),
        Way::By(_, by) => {
            let label = |(value, step): &'w (String, Option<Located<String>>)| {
                let leads = step.as_ref().map_or(Leads::Complete, |step| Leads::Step(&step.value));
                (by_value(intent, value), leads)
            };
            by.iter().map(label).collect()
        }
    }
}

fn by_value(intent: Intent, value: &str) -> Label {
    match intent {
        Intent::Closing => intent.name().into(),
        Intent::Next | Intent::Repeat | Intent::Jump | Intent::Handoff | Intent::Escalate => {
            Label(format!("{} ({value})", intent.name()))
        }
    }
}

/// Returns the second field that an intent requires, if its target depends on one.
fn narrowed(intent: Intent, way: &Way, registry: &Registry) -> Option<Narrowed> {
    let (pointer, means): (&String, BTreeMap<String, Label>) = match way {
        Way::Named(pointer) => {
            let steps = registry.steps.iter().map(|step| (step.id.value.clone(), intent.name().into()));
            (pointer, steps.collect())
        }
        Way::By(pointer, by) => {
            (pointer, by.iter().map(|(value, _)| (value.clone(), by_value(intent, value))).collect())
        }
        Way::Complete | Way::Again | Way::Step(_) => return None,
    };
    Some(Narrowed { label: intent.name().into(), pointer: pointer.clone(), means })
}
