//! Words for transitions: the decision in the words of the definition and the reason in the words of the agent.
//!
//! The mechanism behind a decision (tag, line, rule, method) has its own words, which only `-v` shows.

use saihai_model::{
    By, CompletionReason, Destination, Ending, ProgramExit, StageId, TurnId, Verdict, VerdictChannel,
    VerdictToolProblem,
};
use saihai_view::DecisiveTurn;

use super::{RunNames, ending_words, program_words};
use crate::terminal::visible_line;

/// Maximum number of turns that a transition names.
const NAMED_TURNS: usize = 6;

/// A reason of a transition: the decision, and the words of the agent or the person.
pub(crate) struct TransitionReason {
    /// Empty if there was nothing to decide.
    decision: String,
    quotation: Option<String>,
}

impl TransitionReason {
    fn text(&self) -> String {
        match (self.decision.is_empty(), &self.quotation) {
            (false, Some(quotation)) => format!("{} — {quotation}", self.decision),
            (true, Some(quotation)) => quotation.clone(),
            (_, None) => self.decision.clone(),
        }
    }
}

/// Joins a heading and its reasons: one reason follows on the same line, several have a line each.
pub(crate) fn with_reasons(head: &str, reasons: &[TransitionReason]) -> Vec<String> {
    match reasons {
        [] => vec![head.to_owned()],
        [only] if only.decision.is_empty() => vec![format!("{head} — {}", only.text())],
        [only] => vec![format!("{head}: {}", only.text())],
        several => std::iter::once(format!("{head}:"))
            .chain(several.iter().map(|reason| format!("  {}", reason.text())))
            .collect(),
    }
}

/// Describes a transition: `review → fix: tests: "Something to fix" — the empty name fails`. If several
/// turns decided, each has a line of its own below the first.
pub(crate) fn transition_lines(
    stage: &StageId,
    verdict: &Verdict,
    decisive: &[DecisiveTurn],
    names: &RunNames<'_>,
) -> Vec<String> {
    with_reasons(&transition_head(stage, verdict), &transition_reasons(stage, verdict, decisive, names))
}

/// Names the two ends of a transition: `review → fix`.
pub(crate) fn transition_head(stage: &StageId, verdict: &Verdict) -> String {
    format!("{} → {}", visible_line(stage.as_str()), destination_words(&verdict.to))
}

/// Describes the reasons of a transition, one per decisive turn.
pub(crate) fn transition_reasons(
    stage: &StageId,
    verdict: &Verdict,
    decisive: &[DecisiveTurn],
    names: &RunNames<'_>,
) -> Vec<TransitionReason> {
    let reasons = decisive.iter().filter_map(|turn| turn_reason(stage, verdict, turn, names));
    let mut reasons: Vec<TransitionReason> = reasons.collect();
    if reasons.len() > NAMED_TURNS {
        let more = reasons.len() - (NAMED_TURNS - 1);
        reasons.truncate(NAMED_TURNS - 1);
        reasons.push(TransitionReason { decision: format!("and {more} more"), quotation: None });
    }
    reasons
}

/// Describes the reasons of a transition in one: the decisive turns, their label and the first quotation.
pub(crate) fn reason_summary(
    stage: &StageId,
    verdict: &Verdict,
    decisive: &[DecisiveTurn],
    names: &RunNames<'_>,
) -> Option<TransitionReason> {
    let reasons = transition_reasons(stage, verdict, decisive, names);
    let [first, _, ..] = decisive else { return reasons.into_iter().next() };
    let is_unanimous = decisive.iter().all(|turn| turn.label == first.label);
    let label = first.label.as_ref().filter(|_| is_unanimous);
    let Some(label) = label else {
        let texts: Vec<String> = reasons.iter().map(TransitionReason::text).collect();
        let decision = texts.join("; ");
        return (!decision.is_empty()).then_some(TransitionReason { decision, quotation: None });
    };
    let turns: Vec<&str> = decisive.iter().filter_map(|turn| Some(turn.turn.as_ref()?.as_str())).collect();
    let decision = format!("{}: {}", visible_line(&turns.join(", ")), quoted(label.as_str()));
    Some(TransitionReason { decision, quotation: decisive.iter().find_map(quotation) })
}

fn turn_reason(
    stage: &StageId,
    verdict: &Verdict,
    turn: &DecisiveTurn,
    names: &RunNames<'_>,
) -> Option<TransitionReason> {
    let is_undecided = names.is_uncounted(verdict);
    let decision = match &turn.turn {
        id if turn.exit.is_some() => program_decision(stage, id.as_ref(), turn.exit, names),
        Some(_) if turn.quotation.is_none() && is_undecided => String::new(),
        // In a stage of several turns, each label is a decision of its own.
        Some(id) => {
            let label = turn.label.as_ref().map(|label| format!(": {}", quoted(label.as_str())));
            let missing = if is_undecided || verdict.by == By::Only { "" } else { ": no decision" };
            format!("{}{}", visible_line(id.as_str()), label.unwrap_or_else(|| missing.to_owned()))
        }
        None => decision_words(stage, verdict, turn, names),
    };
    let quotation = quotation(turn);
    (!decision.is_empty() || quotation.is_some()).then_some(TransitionReason { decision, quotation })
}

/// Returns the first line of the words of a turn.
fn quotation(turn: &DecisiveTurn) -> Option<String> {
    turn.quotation.as_deref().map(|text| visible_line(first_line(text)).into_owned())
}

/// Describes the end of a program: `sh test.sh failed with exit code 1`.
fn program_decision(
    stage: &StageId,
    turn: Option<&TurnId>,
    exit: Option<ProgramExit>,
    names: &RunNames<'_>,
) -> String {
    let command = names.command(stage, turn).unwrap_or_default();
    let ended = exit.map(|exit| program_words(&command, exit, None, None)).unwrap_or_default();
    turn.map_or_else(|| ended.clone(), |turn| format!("{}: {ended}", visible_line(turn.as_str())))
}

/// Describes the decision of a stage with one turn, gate or action. Empty if there was nothing to decide.
fn decision_words(stage: &StageId, verdict: &Verdict, turn: &DecisiveTurn, names: &RunNames<'_>) -> String {
    if let Some(topic) = &verdict.topic {
        return visible_line(topic.as_str()).into_owned();
    }
    // H-48: a reply without a directive is not a decision.
    if (verdict.by, &verdict.to) == (By::Directive, &Destination::Again) {
        return "nothing was published".to_owned();
    }
    // "answered" only repeats that a person wrote a text.
    let label = turn.label.as_ref().map(|label| label.as_str()).filter(|label| *label != "answered");
    let rule = || verdict.rule.and_then(|rule| names.rule(stage, rule));
    match verdict.by {
        By::Only => String::new(),
        By::Monitor => "the loop monitor stopped the repetition".to_owned(),
        By::NoMatch => "no rule matched".to_owned(),
        By::Limit => "the limit of rounds is reached".to_owned(),
        By::Stalled => "the cycle made no progress".to_owned(),
        By::Output => "the output is invalid".to_owned(),
        By::Condition if label.is_none() => "the condition is met".to_owned(),
        By::Answer => label.map(quoted).unwrap_or_default(),
        _ => match label {
            Some(label) => quoted(label),
            None => rule().map(|rule| quoted(&rule)).unwrap_or_default(),
        },
    }
}

pub(crate) fn destination_words(to: &Destination) -> String {
    match to {
        Destination::Stage(next) => visible_line(next.as_str()).into_owned(),
        Destination::Again => "again".to_owned(),
        Destination::Complete => Ending::Completed(CompletionReason::Complete).outcome().to_owned(),
        Destination::End(ending) => ending_words(ending),
    }
}

/// Describes the mechanism of a decision: its rule, the method and the label of each turn. Only `-v` shows it.
pub(crate) fn mechanism_words(stage: &StageId, verdict: &Verdict, names: &RunNames<'_>) -> String {
    let mut text = String::new();
    if let Some(rule) = verdict.rule {
        let condition =
            names.rule(stage, rule).map(|condition| format!(" “{condition}”")).unwrap_or_default();
        text.push_str(&format!("rule {rule}{condition}, "));
    } else if let Some(topic) = &verdict.topic {
        text.push_str(&format!("topic `{}`, ", visible_line(topic.as_str())));
    }
    text.push_str(method(verdict.by));
    let labels = labels(stage, verdict, names);
    if !labels.is_empty() {
        text.push_str(&format!(" ({labels})"));
    }
    text
}

/// Names the method of a verdict.
fn method(by: By) -> &'static str {
    match by {
        By::Only => "the only way",
        By::Tool => "by the verdict tool",
        By::Tag => "by tag",
        By::Field => "by field",
        By::Findings => "by findings",
        By::ExitCode => "by exit code",
        By::Judge => "by judge",
        By::Aggregate => "by aggregate",
        By::Directive => "by directive",
        By::Answer => "by answer",
        By::Result => "by result",
        By::Monitor => "by monitor",
        By::Condition => "by condition",
        By::NoMatch => "no match",
        By::Limit => "by limit",
        By::Output => "by output",
        By::Stalled => "by breaker",
    }
}

/// Lists the labels of several turns. The label of a single turn equals the rule's own text.
fn labels(stage: &StageId, verdict: &Verdict, names: &RunNames<'_>) -> String {
    if verdict.labels.len() < 2 || names.is_uncounted(verdict) {
        return String::new();
    }
    let turns = names.turns(stage);
    let named = verdict.labels.iter().enumerate().map(|(index, label)| {
        let turn = turns.get(index).cloned().unwrap_or_else(|| index.to_string());
        let label = label.as_ref().map_or_else(|| "no match".into(), |label| visible_line(label.as_str()));
        format!("{turn}: {label}")
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Returns the tags of a round with their lines, for `-v`.
pub(crate) fn tag_words(number: Option<usize>, line: u32) -> String {
    let number = number.map_or_else(|| "NONE".to_owned(), |number| number.to_string());
    format!("tag {number} on line {line}")
}

/// Says why the verdict tool gave no verdict.
pub(crate) fn verdict_problem_words(problem: &VerdictToolProblem) -> String {
    match problem {
        VerdictToolProblem::NotOffered => "the agent did not have the verdict tool".to_owned(),
        VerdictToolProblem::NotStarted(why) if why.is_empty() => {
            "the agent did not start the server of the verdict tool".to_owned()
        }
        VerdictToolProblem::NotStarted(why) => {
            format!("the server of the verdict tool did not start: {}", visible_line(why))
        }
        VerdictToolProblem::NotCalled => "the agent did not call the verdict tool".to_owned(),
        VerdictToolProblem::Refused(why) => {
            format!("no call of the verdict tool was valid: {}", visible_line(why))
        }
    }
}

/// Names the way in which a label arrived.
pub(crate) fn channel_words(channel: VerdictChannel) -> &'static str {
    match channel {
        VerdictChannel::Tool => "verdict tool",
        VerdictChannel::Schema => "structured answer",
        VerdictChannel::Nonce => "tag with the word of this call",
    }
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", visible_line(text))
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
