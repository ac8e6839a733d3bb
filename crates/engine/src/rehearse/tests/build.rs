//! Builds workflows from short texts, for tests.

use indexmap::IndexMap;
use saihai_model::{
    Activity, AnswerForm, Choice, Completion, Exit, Holds, Label, Limits, Method, Offer, OnFailure,
    Permission, Prompt, Question, QuestionSession, Reads, Retry, Rounds, Rule, SessionPolicy, Stage, StageId,
    Target, Turn, Workflow,
};

/// One stage a line: `name [turn turn] = condition -> target | condition -> target`.
/// Conditions: `label`, `all a b`, `any a b`, `?answer`, `always`. Targets: a stage, `COMPLETE`, `ABORT`.
pub(super) fn flow(limit: u32, lines: &str) -> Workflow {
    let lines = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    let stages: IndexMap<StageId, Stage> = lines.map(stage).collect();
    Workflow {
        name: "rehearsed".into(),
        entry: stages.keys().next().unwrap().clone(),
        stages,
        topics: None,
        monitors: Vec::new(),
        completion: Completion::Flow,
        limits: Limits { rounds: Some(limit), ..Limits::default() },
        retry: Retry::default(),
        afterwards: None,
        provider: None,
        log: None,
        issue: None,
        words: IndexMap::new(),
    }
}

fn stage(line: &str) -> (StageId, Stage) {
    let (head, rules) = line.split_once(" = ").unwrap();
    let mut names = head.split([' ', '[', ']']).filter(|name| !name.is_empty());
    let id: StageId = names.next().unwrap().into();
    let turns: Vec<_> = names.collect();
    let turns = if turns.is_empty() { vec![id.as_str()] } else { turns };
    let rules: Vec<_> = rules.split('|').map(rule).collect();
    let (labels, asked) = offered(&rules);
    let turns = turns.iter().map(|name| turn(name, choice(&labels))).collect();
    let question = choice(&asked);
    let exit = Exit::Rules { rules, question, otherwise: Target::failed("no_match") };
    (id, asking(turns, exit))
}

pub(super) fn asking(turns: Vec<Turn>, exit: Exit) -> Stage {
    let does = Activity::Turns { turns, at_once: None, on_failure: OnFailure::Park, between: "\n".into() };
    standing(does, exit)
}

pub(super) fn standing(does: Activity, exit: Exit) -> Stage {
    Stage {
        title: String::new(),
        does,
        exit,
        rounds: Rounds::default(),
        visits: None,
        aside: false,
        description: None,
    }
}

fn rule(text: &str) -> Rule {
    let (when, then) = text.split_once("->").unwrap();
    let words: Vec<_> = when.split_whitespace().collect();
    let labels = |words: &[&str]| words.iter().map(|word| Label::from(*word)).collect();
    let when = match words.as_slice() {
        ["always"] => Holds::Always,
        ["all", rest @ ..] => Holds::All(labels(rest)),
        ["any", rest @ ..] => Holds::Any(labels(rest)),
        [one] => one
            .strip_prefix('?')
            .map_or_else(|| Holds::Is((*one).into()), |label| Holds::Answered(label.into())),
        other => panic!("not a condition: {other:?}"),
    };
    Rule { when, then: target(then.trim()) }
}

pub(super) fn target(text: &str) -> Target {
    match text {
        "COMPLETE" => Target::Complete,
        "ABORT" => Target::failed("abort"),
        stage => Target::Stage(stage.into()),
    }
}

/// Returns the labels for the turns, and those for the exit's own question.
fn offered(rules: &[Rule]) -> (Vec<Label>, Vec<Label>) {
    let (mut labels, mut asked) = (Vec::new(), Vec::new());
    for rule in rules {
        match &rule.when {
            Holds::Always => {}
            Holds::Is(label) => labels.push(label.clone()),
            Holds::Answered(label) => asked.push(label.clone()),
            Holds::All(some) | Holds::Any(some) => labels.extend(some.iter().cloned()),
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
    Turn {
        id: name.into(),
        title: name.into(),
        description: None,
        persona: None,
        role: None,
        prompt: Prompt::default(),
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
        reads: Reads { choice, ..Reads::default() },
    }
}
