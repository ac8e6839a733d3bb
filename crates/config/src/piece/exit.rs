//! Lowering of rules to the choices of turns and the exits of stages.

use saihai_model::{
    Activity, AnswerForm, Choice, Exit, ExitRule, FailureReason, Gate, GateMode, Label, Method, Offer,
    Prompt, Question, QuestionSession, Reads, RuleCondition, Stage, StageId, Target, Threshold, Wants,
};

use super::lower::{PieceLowering, stage};
use super::prompt;
use super::prompt::{OfferedRule, PieceWords};
use super::read::{Movement, MovementWork};
use super::rule::{MovementCondition, MovementRule};
use super::verdict::{VerdictChannels, VerdictTag};
use crate::check::Spot;
use crate::{Diagnostics, Options, Settings, quoted};

/// Maximum length of a person's answer, in characters (P-46).
const LONGEST_ANSWER: u32 = 10_000;

/// Returns the target if no rule matches (P-44).
pub(super) fn no_match() -> Target {
    Target::failed(FailureReason::NoMatch)
}

/// Returns the plain rules this run offers. Rules keep their numbers even if others are left out (P-47).
pub(super) fn offered<'r>(rules: &'r [MovementRule], options: &Options) -> Vec<OfferedRule<'r>> {
    let plain = rules.iter().enumerate().filter(|(_, rule)| is_offered(rule, options));
    let stalled = |rule: &&MovementRule| matches!(rule.condition, MovementCondition::Stalled(_));
    let count = rules.len() - rules.iter().filter(stalled).count();
    plain
        .filter_map(|(number, rule)| match &rule.condition {
            MovementCondition::Plain(condition) => {
                let asks = rule.asks || count > 1;
                let appendix = rule.appendix.as_deref();
                Some(OfferedRule { number, condition, asks, appendix })
            }
            MovementCondition::All(_)
            | MovementCondition::Any(_)
            | MovementCondition::Findings(_)
            | MovementCondition::NoFindings(_)
            | MovementCondition::Exit(_)
            | MovementCondition::Always
            | MovementCondition::Stalled(_)
            | MovementCondition::Json { .. } => None,
        })
        .collect()
}

/// Builds the choice between the offered rules: by tool or tag, else by a question to the same agent (P-40, P-41).
pub(super) fn choice(
    words: &PieceWords,
    offered: &[OfferedRule<'_>],
    verdict: VerdictChannels,
    settings: &Settings,
) -> Option<Choice> {
    let mut found_by = verdict.methods();
    if let [OfferedRule { asks: false, .. }] = offered {
        found_by.push(Method::Only);
    } else if settings.judge_fallback && verdict.tag != VerdictTag::Ignored {
        found_by.push(Method::Ask(Box::new(question(prompt::question(words, offered)))));
    }
    (!offered.is_empty()).then(|| Choice { options: offers(offered), found_by })
}

/// Builds the choice of the first offered rule that holds for the review findings (P-61).
pub(super) fn choice_by_findings(rules: &[MovementRule], options: &Options) -> Option<Choice> {
    let offered = rules.iter().enumerate().filter(|(_, rule)| is_offered(rule, options));
    let (options, thresholds): (Vec<Offer>, Vec<Threshold>) = offered
        .filter_map(|(number, rule)| {
            let (severity, reached) = match rule.condition {
                MovementCondition::Findings(severity) => (severity, true),
                MovementCondition::NoFindings(severity) => (severity, false),
                MovementCondition::Plain(_)
                | MovementCondition::All(_)
                | MovementCondition::Any(_)
                | MovementCondition::Exit(_)
                | MovementCondition::Always
                | MovementCondition::Stalled(_)
                | MovementCondition::Json { .. } => return None,
            };
            let label = Label::from(rule.condition.to_string().as_str());
            Some((Offer { number, label: label.clone() }, Threshold { label, severity, reached }))
        })
        .unzip();
    let found_by = vec![Method::Findings(thresholds)];
    (!options.is_empty()).then_some(Choice { options, found_by })
}

/// Builds the exit of a movement and inserts the gates it needs.
pub(super) fn of_movement(
    lowering: &mut PieceLowering<'_>,
    movement: &Movement,
    diagnostics: &mut Diagnostics,
) -> Exit {
    let options = lowering.options;
    if !movement.rules.is_empty() && !movement.rules.iter().any(|rule| is_offered(rule, options)) {
        let message = format!("movement {} has no rule left in this run", quoted(&movement.name.value));
        lowering.spots.put_sound(&movement.name.value.as_str().into(), false);
        let diagnostic = movement.name.error("no-rules-left", message);
        diagnostics.push(diagnostic.hint("its rules are all `interactive_only`, and no person can be asked"));
    }
    let parallel = matches!(movement.work, MovementWork::Parallel(_));
    let id = StageId::from(movement.name.value.as_str());
    let mut rules = Vec::new();
    for (number, rule) in movement.rules.iter().enumerate() {
        lowering.spots.put(Spot::Rule(id.clone(), number), &rule.at);
        let when = if is_offered(rule, options) {
            holds(&rule.condition, parallel)
        } else {
            RuleCondition::Any(Vec::new())
        };
        let then =
            if rule.requires_user_input { gate(lowering, movement, number, rule) } else { target(rule) };
        rules.push(ExitRule { when, then });
    }
    let question = parallel.then(|| parents_question(lowering, movement)).flatten();
    Exit::Rules { rules, question, otherwise: no_match() }
}

pub(super) fn of_judge(rules: &[MovementRule]) -> Exit {
    let rule = |rule: &MovementRule| ExitRule { when: holds(&rule.condition, false), then: target(rule) };
    Exit::Rules { rules: rules.iter().map(rule).collect(), question: None, otherwise: no_match() }
}

/// returns the label of a failed sub-movement, if a rule of its parent names it. Without such a rule the run waits.
pub(super) fn failure_label(movement: &Movement, reads: &Reads) -> Option<Label> {
    const FAILED: &str = "error";
    let names = |rule: &MovementRule| match &rule.condition {
        MovementCondition::All(labels) | MovementCondition::Any(labels) => {
            labels.iter().any(|label| label == FAILED)
        }
        _ => false,
    };
    let is_own =
        reads.choice.iter().flat_map(|choice| &choice.options).any(|own| own.label.as_str() == FAILED);
    (movement.rules.iter().any(names) && !is_own).then(|| Label::from(FAILED))
}

/// P-43: one question over the combined output decides the plain conditions of a parent. The run's default
/// provider answers it.
fn parents_question(lowering: &mut PieceLowering<'_>, movement: &Movement) -> Option<Choice> {
    let offered = offered(&movement.rules, lowering.options);
    if offered.is_empty() || !lowering.settings.judge_fallback {
        return None;
    }
    let answerer = lowering.providers.default(&movement.name.at);
    let question = Question {
        provider: Some(answerer.provider),
        model: answerer.model,
        ..question(prompt::question(lowering.words, &offered))
    };
    Some(Choice { options: offers(&offered), found_by: vec![Method::Ask(Box::new(question))] })
}

pub(super) fn is_offered(rule: &MovementRule, options: &Options) -> bool {
    options.interactive || !rule.interactive_only
}

fn offers(offered: &[OfferedRule<'_>]) -> Vec<Offer> {
    offered.iter().map(|rule| Offer { number: rule.number, label: rule.condition.into() }).collect()
}

fn question(prompt: Prompt) -> Question {
    Question {
        prompt,
        provider: None,
        model: None,
        session: QuestionSession::Fresh,
        answer: AnswerForm::Tag,
        correction: Prompt::default(),
        corrections: 0,
        unreadable: None,
    }
}

fn holds(condition: &MovementCondition, parallel: bool) -> RuleCondition {
    let labels = |texts: &[String]| texts.iter().map(|text| Label::from(text.as_str())).collect();
    match condition {
        MovementCondition::Plain(text) if parallel => RuleCondition::Answered(text.as_str().into()),
        MovementCondition::Plain(text) => RuleCondition::Is(text.as_str().into()),
        MovementCondition::Always => RuleCondition::Always,
        MovementCondition::All(texts) => RuleCondition::All(labels(texts)),
        MovementCondition::Any(texts) => RuleCondition::Any(labels(texts)),
        MovementCondition::Stalled(kinds) => RuleCondition::Stalled(kinds.clone()),
        MovementCondition::Findings(_)
        | MovementCondition::NoFindings(_)
        | MovementCondition::Exit(_)
        | MovementCondition::Json { .. } => RuleCondition::Is(condition.to_string().as_str().into()),
    }
}

fn target(rule: &MovementRule) -> Target {
    match rule.next.as_ref().map(|next| next.value.as_str()) {
        Some("COMPLETE") => Target::Complete,
        Some("ABORT") | None => Target::failed(FailureReason::Abort),
        Some(movement) => Target::Stage(movement.into()),
    }
}

/// P-46: inserts a gate between the rule and its target, and returns it.
fn gate(lowering: &mut PieceLowering<'_>, movement: &Movement, number: usize, rule: &MovementRule) -> Target {
    let name = &movement.name.value;
    let id = StageId::from(format!("{name}/input[{number}]"));
    let gate = Gate {
        question: prompt::gate_question(name, &rule.condition.to_string()),
        wants: Wants::Text { max_chars: LONGEST_ANSWER },
        mode: GateMode::Person,
        timeout: None,
    };
    let answered = ExitRule { when: RuleCondition::Is("answered".into()), then: target(rule) };
    let exit = Exit::Rules { rules: vec![answered], question: None, otherwise: no_match() };
    let title = format!("{name} - {}", lowering.piece.name);
    lowering.stages.insert(id.clone(), Stage { exit, ..stage(&title, Activity::Gate(gate)) });
    Target::Stage(id)
}
