//! Lowering of checks, transitions and gates to exits of stages (S-36 to S-40, S-73).

use std::collections::BTreeMap;

use saihai_model::{
    Activity, Again, AnswerForm, Choice, Ending, Exit, Gate, GateMode, Holds, Join, Method, Offer,
    OutputSchema, Part, Prompt, Question, QuestionSession, Rounds, Rule, Section, Stage, StageId, Target,
    Wants, When,
};
use serde_json::json;

use super::gated;
use super::registry::Registry;
use super::step::{Leave, Step};
use super::transition::Transition;
use crate::Located;

const PASSED: &str = "ok";
const FAILED: &str = "ng";

pub(super) fn of_step(step: &Step, registry: &Registry) -> Exit {
    let id = &step.id.value;
    let always = |then| vec![Rule { when: Holds::Always, then }];
    let rules = match &step.leave {
        Some(Leave::Next(next)) => always(enter(&next.value, registry)),
        Some(Leave::Terminal) => always(Target::Complete),
        Some(Leave::Repeat) => {
            let again = Again { note: None, at_most: None, exhausted: failed(id) };
            always(Target::Again(Box::new(again)))
        }
        Some(Leave::Gate(gate)) => gated::rules(id, gate, registry),
        Some(Leave::Phase(steps)) => {
            let stage = |(phase, step): &(&str, Located<String>)| {
                ((*phase).to_owned(), entrance(&step.value, registry))
            };
            always(Target::ByPhase { stages: steps.iter().map(stage).collect() })
        }
        Some(Leave::Check(check)) => {
            let rule = |label: &str, way: &Option<Transition>| {
                let then = way.as_ref().map(|way| target(id, way, registry));
                then.map(|then| Rule { when: Holds::Is(label.into()), then })
            };
            [rule(PASSED, &check.pass), rule(FAILED, &check.fail)].into_iter().flatten().collect()
        }
        None => Vec::new(),
    };
    Exit::Rules { rules, question: None, otherwise: failed(id) }
}

/// Returns the target for unusable output: the failure target of the check, else the run fails (S-40).
pub(super) fn on_failure(step: &Step, registry: &Registry) -> Target {
    let way = step.check().and_then(|check| check.fail.as_ref());
    way.map_or_else(|| failed(&step.id.value), |way| target(&step.id.value, way, registry))
}

/// Returns the round limits of one visit to a step.
pub(super) fn rounds(step: &Step) -> Rounds {
    Rounds { min: step.iterations.min, max: step.iterations.max, too_many: failed(&step.id.value) }
}

/// Builds the choice between pass and fail.
pub(super) fn choice(prompt: Prompt, correction: Prompt) -> Choice {
    let means = [
        ("ok", PASSED),
        ("pass", PASSED),
        ("true", PASSED),
        ("ng", FAILED),
        ("fail", FAILED),
        ("false", FAILED),
    ];
    let means: BTreeMap<_, _> =
        means.into_iter().map(|(word, label)| (word.to_owned(), label.into())).collect();
    let question = Question {
        prompt,
        provider: None,
        model: None,
        session: QuestionSession::Same,
        answer: AnswerForm::Form {
            schema: OutputSchema {
                schema: json!({"type": "object", "required": ["result"]}),
                required: true,
            },
            field: "result".to_owned(),
            means,
            message: "message".to_owned(),
        },
        correction,
        corrections: 1,
        unreadable: Some(FAILED.into()),
    };
    let options = [PASSED, FAILED].into_iter().enumerate();
    let options = options.map(|(number, label)| Offer { number, label: label.into() }).collect();
    Choice { options, found_by: vec![Method::Ask(Box::new(question))] }
}

/// Returns the stage id of the gate before a step.
pub(super) fn gate_of(step: &str) -> StageId {
    StageId(format!("{step}/gate"))
}

/// Returns the stage where a run enters a step: its gate, or the step itself.
pub(super) fn entrance(step: &str, registry: &Registry) -> StageId {
    match registry.step(step).and_then(|step| step.gate.as_ref()) {
        Some(_) => gate_of(step),
        None => step.into(),
    }
}

pub(super) fn gate(step: &Step, question: &str) -> Stage {
    let section = Section { body: vec![Part::Fixed(question.into())], when: When::Always };
    let gate = Gate {
        question: Prompt { sections: vec![section], join: Join::AsIs },
        wants: Wants::YesNo,
        mode: GateMode::Person,
        timeout: None,
    };
    let yes = Rule { when: Holds::Is("yes".into()), then: Target::Stage(step.id.value.as_str().into()) };
    Stage {
        title: step.name.clone().unwrap_or_else(|| step.id.value.clone()),
        does: Activity::Gate(gate),
        exit: Exit::Rules { rules: vec![yes], question: None, otherwise: Target::End(Ending::Declined) },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

fn target(step: &str, way: &Transition, registry: &Registry) -> Target {
    match way {
        Transition::Complete => Target::Complete,
        Transition::Step(next) => enter(&next.value, registry),
        Transition::Retry { at_most, exhausted } => {
            let exhausted = exhausted.as_ref().map(|step| enter(&step.value, registry));
            let exhausted =
                exhausted.unwrap_or_else(|| Target::failed(&format!("retries_exhausted {step} {at_most}")));
            Target::Again(Box::new(Again { note: None, at_most: Some(*at_most), exhausted }))
        }
    }
}

pub(super) fn enter(step: &str, registry: &Registry) -> Target {
    Target::Stage(entrance(step, registry))
}

pub(super) fn failed(step: &str) -> Target {
    Target::failed(&format!("step_failed {step}"))
}
