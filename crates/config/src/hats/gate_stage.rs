//! Lowering of gates to stages.

use saihai_model::{
    Activity, Ending, Exit, Form, Gate, GateMode, Holds, Join, Part, Prompt, Rounds, Route, Rule, Section,
    Stage, StageId, Target, Variable, Wants, When, Workflow,
};

use super::gates::Point;
use super::topic::takes;

/// Inserts the gate at a point of a workflow. Answering no ends the run (H-59).
pub(super) fn put(workflow: &mut Workflow, point: &Point, mode: GateMode) {
    let id = StageId::from(format!("gate/{}", point.name()).as_str());
    let next = match point {
        Point::PreLoop => Target::Stage(std::mem::replace(&mut workflow.entry, id.clone())),
        Point::PostCompletion => {
            workflow.afterwards = Some(id.clone());
            Target::Complete
        }
        // `run` makes no pull request.
        Point::BeforePr => return,
        Point::Topic(topic) => Target::Stage(divert(workflow, topic, &id)),
    };
    workflow.stages.insert(id, stage(point, mode, next));
}

/// Routes a topic to its gate, and returns the hat that handled it before.
fn divert(workflow: &mut Workflow, topic: &str, gate: &StageId) -> StageId {
    let Some(topics) = &mut workflow.topics else { return workflow.entry.clone() };
    // Insert right before the previous route, so the order of the others does not change.
    let place = topics.routes.iter().position(|route| takes(&route.pattern, topic));
    let orphans = place.is_none();
    let place = place.unwrap_or(topics.routes.len());
    let taker = topics.routes.get(place).map_or(&topics.otherwise, |route| &route.to).clone();
    if topics.start.as_str() == topic && workflow.entry == taker {
        workflow.entry = gate.clone();
    }
    topics.routes.insert(place, Route { pattern: topic.to_owned(), to: gate.clone(), orphans });
    // The engine can also publish the topic for a hat that reached its visit limit (H-52).
    for limit in workflow.stages.values_mut().filter_map(|stage| stage.visits.as_mut()) {
        if limit.publishes.as_ref().is_some_and(|published| published.as_str() == topic) {
            limit.once_instead = limit.once_instead.take().map(|_| gate.clone());
        }
    }
    taker
}

fn stage(point: &Point, mode: GateMode, next: Target) -> Stage {
    let gate = Gate { question: question(point), wants: Wants::YesNo, mode, timeout: None };
    let rules = vec![
        Rule { when: Holds::Is("yes".into()), then: next },
        Rule { when: Holds::Is("no".into()), then: Target::End(Ending::Declined) },
    ];
    Stage {
        title: point.name().to_owned(),
        does: Activity::Gate(gate),
        exit: Exit::Rules { rules, question: None, otherwise: Target::End(Ending::Declined) },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

/// Builds the question for the person. Messages to people are in English.
fn question(point: &Point) -> Prompt {
    let (asked, variable, form) = match point {
        Point::PreLoop => ("Begin with this task?".to_owned(), Variable::Task, Form::Quote),
        Point::PostCompletion => {
            ("The work is reported as done. Accept it?".to_owned(), Variable::Previous, Form::Tail(1000))
        }
        Point::BeforePr => {
            ("Make a pull request of the work?".to_owned(), Variable::Previous, Form::Tail(1000))
        }
        Point::Topic(topic) => (format!("Go on with `{topic}`?"), Variable::EventMessage, Form::Quote),
    };
    let asked = Section { body: vec![Part::Fixed(asked.into())], when: When::Always };
    let about = Section { body: vec![Part::Value(variable, form)], when: When::Filled };
    Prompt { sections: vec![asked, about], join: Join::Paragraphs }
}
