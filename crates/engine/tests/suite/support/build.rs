//! Builds workflows from one line of text.
//!
//! `plan: done -> review, stuck -> ABORT; review[a b]: all(ok) -> COMPLETE, any(ng) -> plan; max 10`
//!
//! A stage's turns all offer the labels that its rules name. `?label` is a rule on the exit's own question.

use indexmap::IndexMap;
use saihai_model::*;

pub(crate) fn flow(text: &str) -> Workflow {
    let mut stages: IndexMap<StageId, Stage> = IndexMap::new();
    let mut limits = Limits { rounds: Some(10), ..Limits::default() };
    for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
        if let Some(max) = part.strip_prefix("max ") {
            limits.rounds = Some(max.parse().expect("a number"));
            continue;
        }
        let (head, rules) = part.split_once(':').expect("name: rules");
        let (name, turns) = match head.split_once('[') {
            Some((name, turns)) => (name, turns.trim_end_matches(']').split(' ').collect()),
            None => (head, vec![head]),
        };
        stages.insert(name.trim().into(), stage(name.trim(), &turns, rules));
    }
    let entry = stages.keys().next().expect("a stage").clone();
    Workflow {
        name: "test".to_owned(),
        entry,
        stages,
        topics: None,
        monitors: Vec::new(),
        completion: Completion::Flow,
        limits,
        retry: Retry::default(),
        afterwards: None,
        provider: None,
        log: None,
        issue: None,
        words: IndexMap::new(),
    }
}

fn stage(name: &str, turns: &[&str], rules: &str) -> Stage {
    let mut labels: Vec<String> = Vec::new();
    let mut asked: Vec<String> = Vec::new();
    let mut list = Vec::new();
    for rule in rules.split(',').map(str::trim).filter(|rule| !rule.is_empty()) {
        let (when, to) = rule.split_once("->").expect("label -> target");
        let (when, to) = (when.trim(), to.trim());
        let inner = |prefix: &str| -> Option<Vec<Label>> {
            let inner = when.strip_prefix(prefix)?.strip_suffix(')')?;
            Some(inner.split(' ').map(Label::from).collect())
        };
        let when = if when == "always" {
            Holds::Always
        } else if let Some(all) = inner("all(") {
            Holds::All(all)
        } else if let Some(any) = inner("any(") {
            Holds::Any(any)
        } else if let Some(label) = when.strip_prefix('?') {
            asked.push(label.to_owned());
            Holds::Answered(label.into())
        } else {
            Holds::Is(when.into())
        };
        match &when {
            Holds::All(some) | Holds::Any(some) => labels.extend(some.iter().map(|label| label.0.clone())),
            Holds::Is(label) => labels.push(label.0.clone()),
            Holds::Always | Holds::Answered(_) => {}
        }
        list.push(Rule { when, then: target(to) });
    }
    labels.dedup();
    let turns = turns.iter().map(|id| turn(id, &labels)).collect();
    let question = (!asked.is_empty()).then(|| choice(&asked));
    Stage {
        title: name.to_owned(),
        does: Activity::Turns {
            turns,
            at_once: None,
            on_failure: OnFailure::Park,
            between: "\n\n".to_owned(),
        },
        exit: Exit::Rules { rules: list, question, otherwise: Target::failed("no_match") },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

pub(crate) fn target(text: &str) -> Target {
    match text {
        "COMPLETE" => Target::Complete,
        "ABORT" => Target::failed("abort"),
        stage => Target::Stage(stage.into()),
    }
}

pub(crate) fn choice(labels: &[String]) -> Choice {
    let options =
        labels.iter().enumerate().map(|(number, label)| Offer { number, label: label.as_str().into() });
    Choice { options: options.collect(), found_by: vec![Method::Tag, Method::Ask(Box::new(judge()))] }
}

fn judge() -> Question {
    Question {
        prompt: says(&[Part::Fixed("judge: ".into()), Part::Value(Variable::Combined, Form::Plain)]),
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer: AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    }
}

pub(crate) fn says(parts: &[Part]) -> Prompt {
    let sections = parts.iter().map(|part| Section { body: vec![part.clone()], when: When::Filled });
    let mut sections: Vec<Section> = sections.collect();
    if let Some(first) = sections.first_mut() {
        first.when = When::Always;
    }
    Prompt { sections, join: Join::Paragraphs }
}

pub(crate) fn turn(id: &str, labels: &[String]) -> Turn {
    let reads = Reads { choice: (!labels.is_empty()).then(|| choice(labels)), ..Reads::default() };
    Turn {
        id: id.into(),
        title: id.to_owned(),
        description: None,
        persona: None,
        role: None,
        prompt: says(&[
            Part::Fixed(id.into()),
            Part::Value(Variable::Task, Form::Plain),
            Part::Value(Variable::Previous, Form::Plain),
            Part::Value(Variable::Inputs, Form::Bullets),
            Part::Value(Variable::Note, Form::Plain),
        ]),
        provider: "script".into(),
        model: None,
        permission: Permission::ReadOnly,
        asked_permission: None,
        tools: None,
        session: SessionPolicy::Fresh,
        timeout: None,
        within: None,
        max_calls: None,
        price: None,
        needs: Vec::new(),
        heading: String::new(),
        reads,
    }
}

pub(crate) fn gate(to: &str, wants: Wants) -> Stage {
    let rule = |label: &str, then: Target| Rule { when: Holds::Is(label.into()), then };
    let rules = match wants {
        Wants::YesNo => vec![rule("yes", target(to)), rule("no", Target::End(Ending::Declined))],
        Wants::Text { .. } => vec![rule("answered", target(to))],
    };
    Stage {
        title: "gate".to_owned(),
        does: Activity::Gate(Gate {
            question: says(&[Part::Fixed("go on?".into())]),
            wants,
            mode: GateMode::Person,
            timeout: None,
        }),
        exit: Exit::Rules { rules, question: None, otherwise: Target::failed("no_match") },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

pub(crate) fn action(does: Action, once: Once, rules: &[(&str, &str)]) -> Stage {
    let rules = rules.iter().map(|(label, to)| Rule { when: Holds::Is((*label).into()), then: target(to) });
    Stage {
        title: "action".to_owned(),
        does: Activity::Action(ActionSpec { does, inputs: Vec::new(), once, poll: None }),
        exit: Exit::Rules { rules: rules.collect(), question: None, otherwise: Target::failed("no_match") },
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}
