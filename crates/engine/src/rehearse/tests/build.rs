//! Builds workflows from short texts, for tests.

use indexmap::IndexMap;
pub(super) use saihai_model::testing::target;
use saihai_model::{
    Activity, AnswerForm, Choice, Exit, ExitRule, Label, Limits, Method, Offer, Prompt, Question,
    QuestionSession, Reads, RuleCondition, Stage, Target, Turn, Workflow, testing,
};

/// One stage a line: `name [turn turn] = condition -> target | condition -> target`.
/// Conditions: `label`, `all a b`, `any a b`, `?answer`, `always`. Targets: a stage, `COMPLETE`, `ABORT`.
pub(super) fn flow(limit: u32, lines: &str) -> Workflow {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let limits = Limits { rounds: Some(limit), ..Limits::default() };
    let workflow = testing::workflow(lines.map(stage).collect());
    Workflow { name: "rehearsed".into(), limits, words: IndexMap::new(), ..workflow }
}

fn stage(line: &str) -> (&str, Stage) {
    let (head, rules) = line.split_once(" = ").unwrap();
    let mut names = head.split([' ', '[', ']']).filter(|name| !name.is_empty());
    let id = names.next().unwrap();
    let turns: Vec<_> = names.collect();
    let turns = if turns.is_empty() { vec![id] } else { turns };
    let rules: Vec<_> = rules.split('|').map(rule).collect();
    let (labels, asked) = offered(&rules);
    let turns = turns.iter().map(|name| turn(name, choice(&labels))).collect();
    let question = choice(&asked);
    let exit = Exit::Rules { rules, question, otherwise: Target::failed("no_match") };
    (id, asking(turns, exit))
}

pub(super) fn asking(turns: Vec<Turn>, exit: Exit) -> Stage {
    standing(testing::asks(turns, "\n"), exit)
}

pub(super) fn standing(does: Activity, exit: Exit) -> Stage {
    testing::stage_of("", does, exit)
}

fn rule(text: &str) -> ExitRule {
    let (when, then) = text.split_once("->").unwrap();
    let words: Vec<_> = when.split_whitespace().collect();
    let labels = |words: &[&str]| words.iter().map(|word| Label::from(*word)).collect();
    let when = match words.as_slice() {
        ["always"] => RuleCondition::Always,
        ["all", rest @ ..] => RuleCondition::All(labels(rest)),
        ["any", rest @ ..] => RuleCondition::Any(labels(rest)),
        [one] => one
            .strip_prefix('?')
            .map_or_else(|| RuleCondition::Is((*one).into()), |label| RuleCondition::Answered(label.into())),
        other => panic!("not a condition: {other:?}"),
    };
    ExitRule { when, then: target(then.trim()) }
}

/// Returns the labels for the turns, and those for the exit's own question.
fn offered(rules: &[ExitRule]) -> (Vec<Label>, Vec<Label>) {
    let (mut labels, mut asked) = (Vec::new(), Vec::new());
    for rule in rules {
        match &rule.when {
            RuleCondition::Always | RuleCondition::Stalled(_) => {}
            RuleCondition::Is(label) => labels.push(label.clone()),
            RuleCondition::Answered(label) => asked.push(label.clone()),
            RuleCondition::All(some) | RuleCondition::Any(some) => labels.extend(some.iter().cloned()),
        }
    }
    labels.sort();
    labels.dedup();
    (labels, asked)
}

pub(super) fn choice(labels: &[Label]) -> Option<Choice> {
    let options = labels.iter().enumerate().map(|(number, label)| Offer { number, label: label.clone() });
    let found_by = vec![Method::Tag, Method::Ask(Box::new(question(AnswerForm::Tag)))];
    (!labels.is_empty()).then(|| Choice { options: options.collect(), found_by })
}

pub(super) fn question(answer: AnswerForm) -> Question {
    Question {
        prompt: Prompt::default(),
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    }
}

pub(super) fn turn(name: &str, choice: Option<Choice>) -> Turn {
    let reads = Reads { choice, ..Reads::default() };
    Turn { title: name.into(), reads, ..testing::turn(name, Vec::new()) }
}
