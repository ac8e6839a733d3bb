//! Builds workflows from one line of text.
//!
//! `plan: done -> review, stuck -> ABORT; review[a b]: all(ok) -> COMPLETE, any(ng) -> plan; max 10`
//!
//! A stage's turns all offer the labels that its rules name. `?label` is a rule on the exit's own question.

use indexmap::IndexMap;
pub(crate) use saihai_model::testing::target;
use saihai_model::*;

pub(crate) fn flow(text: &str) -> Workflow {
    let mut stages: Vec<(&str, Stage)> = Vec::new();
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
        stages.push((name.trim(), stage(name.trim(), &turns, rules)));
    }
    Workflow { name: "test".to_owned(), limits, words: IndexMap::new(), ..testing::workflow(stages) }
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
            RuleCondition::Always
        } else if let Some(all) = inner("all(") {
            RuleCondition::All(all)
        } else if let Some(any) = inner("any(") {
            RuleCondition::Any(any)
        } else if let Some(label) = when.strip_prefix('?') {
            asked.push(label.to_owned());
            RuleCondition::Answered(label.into())
        } else {
            RuleCondition::Is(when.into())
        };
        match &when {
            RuleCondition::All(some) | RuleCondition::Any(some) => {
                labels.extend(some.iter().map(|label| label.to_string()))
            }
            RuleCondition::Is(label) => labels.push(label.to_string()),
            RuleCondition::Always | RuleCondition::Answered(_) | RuleCondition::Stalled(_) => {}
        }
        list.push(ExitRule { when, then: target(to) });
    }
    labels.dedup();
    let turns = turns.iter().map(|id| turn(id, &labels)).collect();
    let question = (!asked.is_empty()).then(|| choice(&asked));
    let exit = Exit::Rules { rules: list, question, otherwise: Target::failed("no_match") };
    testing::stage_of(name, testing::asks(turns, "\n\n"), exit)
}

pub(crate) fn choice(labels: &[String]) -> Choice {
    let options =
        labels.iter().enumerate().map(|(number, label)| Offer { number, label: label.as_str().into() });
    Choice { options: options.collect(), found_by: vec![Method::Tag, Method::Ask(Box::new(judge()))] }
}

fn judge() -> Question {
    Question {
        prompt: says(&[
            PromptPart::Fixed("judge: ".into()),
            PromptPart::Value(Variable::Combined, ValueForm::Plain),
        ]),
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer: AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    }
}

pub(crate) fn says(parts: &[PromptPart]) -> Prompt {
    let sections =
        parts.iter().map(|part| PromptSection { body: vec![part.clone()], when: SectionCondition::Filled });
    let mut sections: Vec<PromptSection> = sections.collect();
    if let Some(first) = sections.first_mut() {
        first.when = SectionCondition::Always;
    }
    Prompt { sections, join: Join::Paragraphs }
}

pub(crate) fn turn(id: &str, labels: &[String]) -> Turn {
    let choice = (!labels.is_empty()).then(|| choice(labels));
    let prompt = says(&[
        PromptPart::Fixed(id.into()),
        PromptPart::Value(Variable::Task, ValueForm::Plain),
        PromptPart::Value(Variable::Previous, ValueForm::Plain),
        PromptPart::Value(Variable::Inputs, ValueForm::Bullets),
        PromptPart::Value(Variable::Note, ValueForm::Plain),
    ]);
    let reads = Reads { choice, ..Reads::default() };
    Turn { title: id.to_owned(), prompt, reads, ..testing::turn(id, Vec::new()) }
}

pub(crate) fn gate(to: &str, wants: Wants) -> Stage {
    let rule = |label: &str, then: Target| ExitRule { when: RuleCondition::Is(label.into()), then };
    let rules = match wants {
        Wants::YesNo => vec![rule("yes", target(to)), rule("no", Target::End(Ending::Declined))],
        Wants::Text { .. } => vec![rule("answered", target(to))],
    };
    let question = says(&[PromptPart::Fixed("go on?".into())]);
    let gate = Gate { question, wants, mode: GateMode::Person, timeout: None };
    testing::stage_of("gate", Activity::Gate(gate), testing::leaves(rules))
}

pub(crate) fn action(does: Action, once: Once, rules: &[(&str, &str)]) -> Stage {
    let rules = rules
        .iter()
        .map(|(label, to)| ExitRule { when: RuleCondition::Is((*label).into()), then: target(to) });
    let action = ActionSpec { does, inputs: Vec::new(), once, poll: None };
    testing::stage_of("action", Activity::Action(action), testing::leaves(rules.collect()))
}
