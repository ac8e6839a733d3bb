//! Rules of a movement and their conditions: plain text, an aggregate over sub-movements, or a test of review findings.

use std::collections::HashMap;
use std::fmt;

use saihai_model::{ProgramExitRange, Severity, StallKind};

use super::tables;
use crate::diagnostic::{did_you_mean, list_of};
use crate::{Cursor, Diagnostic, Diagnostics, Fields, Located, Location, quoted};

#[derive(Debug, Clone, PartialEq)]
pub(super) struct MovementRule {
    pub(super) condition: MovementCondition,
    /// True if the author wrote `ai("…")`, which asks a judging agent even if no other rule exists (X-6).
    pub(super) asks: bool,
    /// Target; `None` for a sub-movement.
    pub(super) next: Option<Located<String>>,
    /// Result for the workflow that calls this one (X-27).
    pub(super) returns: Option<Located<String>>,
    /// True if a person must answer before the run follows the rule.
    pub(super) requires_user_input: bool,
    /// True if the rule is offered only in interactive runs.
    pub(super) interactive_only: bool,
    /// Text that the agent must output in addition to the tag.
    pub(super) appendix: Option<String>,
    pub(super) at: Location,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RuleOwner {
    /// A movement with one agent.
    Movement,
    /// A movement with several agents.
    Parallel,
    SubMovement,
    /// A movement with a review agent.
    Reviewer,
    /// A sub-movement with a review agent.
    SubReviewer,
    /// A movement with a program.
    Program,
    /// A sub-movement with a program.
    SubProgram,
    /// A movement that calls another workflow.
    Call,
    Judge,
}

impl RuleOwner {
    fn has_findings(self) -> bool {
        match self {
            Self::Reviewer | Self::SubReviewer => true,
            Self::Movement
            | Self::Parallel
            | Self::SubMovement
            | Self::Program
            | Self::SubProgram
            | Self::Call
            | Self::Judge => false,
        }
    }

    fn is_sub_movement(self) -> bool {
        match self {
            Self::SubMovement | Self::SubReviewer | Self::SubProgram => true,
            Self::Movement | Self::Parallel | Self::Reviewer | Self::Program | Self::Call | Self::Judge => {
                false
            }
        }
    }

    fn has_program(self) -> bool {
        match self {
            Self::Program | Self::SubProgram => true,
            Self::Movement
            | Self::Parallel
            | Self::SubMovement
            | Self::Reviewer
            | Self::SubReviewer
            | Self::Call
            | Self::Judge => false,
        }
    }
}

const OVER_FINDINGS: &str = "write `findings(\"important\")` or `no_findings(\"important\")`";
const FOR_REVIEWERS: &str = "such conditions are for movements with `reviewer`";

impl MovementRule {
    /// Reads a list of rules. It reports and skips invalid ones.
    pub(super) fn read_all(
        items: &[Cursor<'_>],
        owner: RuleOwner,
        diagnostics: &mut Diagnostics,
    ) -> Vec<Self> {
        let rules: Vec<Self> = items.iter().filter_map(|item| Self::read(item, owner, diagnostics)).collect();
        let mut seen: HashMap<&MovementCondition, &Location> = HashMap::new();
        for rule in &rules {
            if let Some(first) = seen.insert(&rule.condition, &rule.at) {
                let message = format!("the condition {} is given twice", quoted(&rule.condition.to_string()));
                let diagnostic = rule.at.error("duplicate-condition", message).label("given again");
                diagnostics.push(diagnostic.also(first, "first given here"));
            }
        }
        rules
    }

    fn read(item: &Cursor<'_>, owner: RuleOwner, diagnostics: &mut Diagnostics) -> Option<Self> {
        let table = if owner == RuleOwner::Judge { &tables::JUDGE_RULE } else { &tables::RULE };
        let fields = Fields::read(item, table, diagnostics)?;
        let next = fields.text("next");
        let returns = (owner != RuleOwner::Judge).then(|| fields.text("return")).flatten();
        let flag = |name| owner != RuleOwner::Judge && fields.bool(name).is_some_and(|flag| flag.value);
        let appendix = (owner != RuleOwner::Judge).then(|| fields.text("appendix")).flatten();
        match owner {
            RuleOwner::Judge => {}
            RuleOwner::SubMovement | RuleOwner::SubReviewer | RuleOwner::SubProgram => {
                no_effect_in_sub_movement(&fields, diagnostics)
            }
            RuleOwner::Movement
            | RuleOwner::Parallel
            | RuleOwner::Reviewer
            | RuleOwner::Program
            | RuleOwner::Call => {
                if let Some(both) = fields.key("return").filter(|_| fields.has("next")) {
                    let message = "`next` and `return` both say what follows";
                    diagnostics.push(both.error("bad-value", message).hint("keep one of them"));
                }
                if fields.is_missing("next") && fields.is_missing("return") {
                    let missing = fields.location().error("missing-key", "a rule needs `next`");
                    diagnostics.push(missing.label("`next` is missing here"));
                }
            }
        }
        no_effect_of_appendix(&fields, owner, diagnostics);
        let written = fields.text("condition")?;
        let condition = read_condition(&written, owner, diagnostics)?;
        Some(Self {
            condition: condition.value,
            asks: written.value.trim_start().starts_with("ai("),
            returns: returns.filter(|_| next.is_none()),
            next,
            requires_user_input: flag("requires_user_input"),
            interactive_only: flag("interactive_only"),
            appendix: appendix.map(|text| text.value).filter(|text| !text.trim().is_empty()),
            at: condition.at,
        })
    }
}

fn no_effect_of_appendix(fields: &Fields<'_>, owner: RuleOwner, diagnostics: &mut Diagnostics) {
    let hint = match owner {
        RuleOwner::Movement | RuleOwner::SubMovement | RuleOwner::Judge => return,
        RuleOwner::Parallel => Some("put it into a sub-movement's rule"),
        RuleOwner::Reviewer
        | RuleOwner::SubReviewer
        | RuleOwner::Program
        | RuleOwner::SubProgram
        | RuleOwner::Call => None,
    };
    if let Some(key) = fields.key("appendix") {
        let message = "`appendix` has no effect here: no agent chooses among these rules";
        diagnostics.push(key.warning("no-effect", message).maybe_hint(hint.map(str::to_owned)));
    }
}

fn no_effect_in_sub_movement(fields: &Fields<'_>, diagnostics: &mut Diagnostics) {
    if let Some(key) = fields.key("next") {
        let message = "`next` has no effect in a sub-movement: the rules of its parent decide what follows";
        diagnostics.push(key.warning("no-effect", message).label("remove it"));
    }
    for name in ["requires_user_input", "interactive_only", "return"] {
        if let Some(key) = fields.key(name) {
            let message = format!("`{name}` has no effect in a sub-movement");
            diagnostics.push(key.error("no-effect", message).hint("put it into a rule of the parent"));
        }
    }
}

fn read_condition(
    text: &Located<String>,
    owner: RuleOwner,
    diagnostics: &mut Diagnostics,
) -> Option<Located<MovementCondition>> {
    let written = text.value.trim();
    if written.is_empty() || written.contains('\n') {
        let message =
            if written.is_empty() { "a condition is blank" } else { "a condition must be one line" };
        diagnostics.push(text.error("bad-value", message));
        return None;
    }
    match MovementCondition::parse(written) {
        Ok(condition) if condition.is_aggregate() && owner != RuleOwner::Parallel => {
            let message = format!("{} is about sub-movements, but this movement has none", quoted(written));
            let hint = "`all(…)` and `any(…)` are for the rules of a movement with `parallel`";
            diagnostics.push(text.error("bad-condition", message).hint(hint));
            None
        }
        Ok(MovementCondition::Always) if owner.is_sub_movement() => {
            let message = "`when(true)` gives a sub-movement no result that its parent could name";
            let hint = "write `condition: done`, and `all(\"done\")` in the parent";
            diagnostics.push(text.error("bad-condition", message).hint(hint));
            None
        }
        Ok(MovementCondition::Stalled(kinds)) if !owner.is_sub_movement() && owner != RuleOwner::Judge => {
            Some(Located::new(MovementCondition::Stalled(kinds), text.at.clone()))
        }
        Ok(MovementCondition::Stalled(_)) => {
            let message = format!("{} is about a cycle of movements", quoted(written));
            let hint = "put it into a rule of a movement in the cycle";
            diagnostics.push(text.error("bad-condition", message).hint(hint));
            None
        }
        Ok(condition)
            if condition.is_of_findings() != owner.has_findings()
                && condition != MovementCondition::Always =>
        {
            let (what, hint) = match owner.has_findings() {
                true => ("is not about findings, which are the only result of a review agent", OVER_FINDINGS),
                false => ("is about findings, but this movement has no review agent", FOR_REVIEWERS),
            };
            diagnostics.push(text.error("bad-condition", format!("{} {what}", quoted(written))).hint(hint));
            None
        }
        Ok(MovementCondition::Plain(plain)) if owner.has_program() && plain == "timeout" => {
            let condition = MovementCondition::Exit(ProgramExitRange::Timeout);
            Some(Located::new(condition, text.at.clone()))
        }
        Ok(condition) if condition.is_of_program() && !owner.has_program() => {
            let message = format!("{} is about a program, but this movement runs none", quoted(written));
            let hint = "such conditions are for movements with `run` or `shell`";
            diagnostics.push(text.error("bad-condition", message).hint(hint));
            None
        }
        Ok(condition) => Some(Located::new(condition, text.at.clone())),
        Err(error) => {
            diagnostics.push(refused(text, &error));
            None
        }
    }
}

/// Reads the condition of a loop monitor.
pub(super) fn read_stalled(text: &Located<String>, diagnostics: &mut Diagnostics) -> Option<Vec<StallKind>> {
    match MovementCondition::parse(&text.value) {
        Ok(MovementCondition::Stalled(kinds)) => return Some(kinds),
        Ok(_) => {
            let message = format!("{} is not a condition of a loop monitor", quoted(&text.value));
            diagnostics.push(text.error("bad-condition", message).hint("write `stalled(\"back\")`"));
        }
        Err(error) => diagnostics.push(refused(text, &error)),
    }
    None
}

fn refused(text: &Located<String>, error: &ConditionError) -> Diagnostic {
    match error {
        ConditionError::NotSupported(_) => text
            .error("not-supported", error.to_string())
            .hint("write `ai(\"…\")` for a plain text that contains it"),
        ConditionError::Malformed { reason: ConditionFault::Severity(name), .. } => {
            let known = Severity::ALL.map(Severity::name);
            let hint = did_you_mean(name, known);
            let hint = hint.unwrap_or_else(|| format!("it is {}", list_of(known, "or")));
            text.error("bad-condition", error.to_string()).hint(hint)
        }
        ConditionError::Malformed { reason: ConditionFault::Detector(name), .. } => {
            let known = StallKind::ALL.map(StallKind::name);
            let hint = did_you_mean(name, known);
            let hint = hint.unwrap_or_else(|| format!("it is {}", list_of(known, "or")));
            text.error("bad-condition", error.to_string()).hint(hint)
        }
        ConditionError::Malformed { reason: ConditionFault::ExitCode(_), .. } => text
            .error("bad-condition", error.to_string())
            .hint("write `exit(0)`, `exit(1..)` or `exit(2..4)`; exit codes are 0 to 255"),
        ConditionError::Malformed { call, reason: ConditionFault::Pointer } => text
            .error("bad-condition", error.to_string())
            .hint(format!("write `{call}(\"/status\", \"failed\")`")),
        ConditionError::Malformed { call, .. } => text
            .error("bad-condition", error.to_string())
            .hint(format!("write `{call}(\"text\")`, with `\\\"` for a quote inside")),
    }
}

/// Condition of a rule. `ai("text")` means the same as the plain text `text`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum MovementCondition {
    /// Text that the agent selects by its tag, or a judging agent by comparison.
    Plain(String),
    /// With one text, every sub-movement matched it. With several, sub-movement *i* matched text *i*.
    All(Vec<String>),
    /// At least one sub-movement matched one of these.
    Any(Vec<String>),
    /// The review agent has findings of at least this severity.
    Findings(Severity),
    /// The review agent has no findings of this severity or higher.
    NoFindings(Severity),
    /// The program ended within this range.
    Exit(ProgramExitRange),
    /// It always holds: `when(true)`.
    Always,
    /// The JSON that the program printed has this word at this pointer.
    Json { pointer: String, word: String },
    /// The run would stay in a cycle that one of these detectors calls stalled.
    Stalled(Vec<StallKind>),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConditionError {
    /// A feature of newer versions of the format.
    #[error("`{0}` in a condition is not supported")]
    NotSupported(&'static str),
    #[error("the condition `{call}(…)` cannot be read: {reason}")]
    Malformed { call: &'static str, reason: ConditionFault },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConditionFault {
    #[error("its argument must be in double quotes")]
    NotQuoted,
    #[error("a double quote is not closed")]
    Unclosed,
    /// A backslash before a character that needs no escape.
    #[error("`\\{0}` is not an escape; only `\\\"` and `\\\\` are")]
    Escape(char),
    #[error("an argument is empty")]
    Empty,
    /// The closing bracket is missing.
    #[error("`)` or `,` is missing after an argument")]
    NoBracket,
    #[error("there is text after the closing bracket")]
    TextBehind,
    /// More than one argument where only one is allowed.
    #[error("it takes exactly one argument")]
    OneArgument,
    #[error("`{0}` is not a severity")]
    Severity(String),
    #[error("`{0}` is neither an exit code nor a range of them")]
    ExitCode(String),
    /// The arguments are not a JSON pointer and a word.
    #[error("it takes a JSON pointer and a word")]
    Pointer,
    #[error("`{0}` is not a detector")]
    Detector(String),
}

/// Prefixes that make a condition a call instead of plain text.
const CALLS: [&str; 7] = ["ai", "all", "any", "findings", "no_findings", "json", "stalled"];

impl MovementCondition {
    /// Parses a condition. Only text that starts like a call is one: `all tests pass` is plain text.
    pub(crate) fn parse(text: &str) -> Result<Self, ConditionError> {
        let text = text.trim();
        // X-25: newer files write `label && when(true)`. Other predicates need outputs that Saihai refuses.
        let joined =
            text.rsplit_once("&&").filter(|(_, predicate)| predicate.trim_start().starts_with("when("));
        if let Some((label, predicate)) = joined {
            refuse_other_than_true(predicate.trim())?;
            return Self::parse(unquoted(label.trim()));
        }
        if text.starts_with("when(") {
            return refuse_other_than_true(text).map(|()| Self::Always);
        }
        if let Some(rest) = text.strip_prefix("exit(") {
            let code = |reason| ConditionError::Malformed { call: "exit", reason };
            let inside = rest.strip_suffix(')').ok_or_else(|| code(ConditionFault::NoBracket))?;
            return exit_codes(inside.trim()).map(Self::Exit).map_err(code);
        }
        for call in CALLS {
            let Some(rest) = text.strip_prefix(call).and_then(|rest| rest.strip_prefix('(')) else {
                continue;
            };
            let (arguments, behind) =
                arguments(rest).map_err(|reason| ConditionError::Malformed { call, reason })?;
            if behind.trim_start().starts_with("&&") {
                return Err(ConditionError::NotSupported("&&"));
            }
            if !behind.trim().is_empty() {
                return Err(ConditionError::Malformed { call, reason: ConditionFault::TextBehind });
            }
            return Self::call(call, arguments);
        }
        if text.contains("&&") {
            return Err(ConditionError::NotSupported("&&"));
        }
        Ok(Self::Plain(text.to_owned()))
    }

    fn call(call: &'static str, mut arguments: Vec<String>) -> Result<Self, ConditionError> {
        match call {
            "all" => Ok(Self::All(arguments)),
            "any" => Ok(Self::Any(arguments)),
            "stalled" => {
                let kinds = arguments.into_iter().map(|name| {
                    let reason = ConditionFault::Detector(name.clone());
                    StallKind::named(&name).ok_or(ConditionError::Malformed { call, reason })
                });
                kinds.collect::<Result<_, _>>().map(Self::Stalled)
            }
            "json" => match <[String; 2]>::try_from(arguments) {
                Ok([pointer, word]) if pointer.starts_with('/') => Ok(Self::Json { pointer, word }),
                _ => Err(ConditionError::Malformed { call, reason: ConditionFault::Pointer }),
            },
            _ if arguments.len() != 1 => {
                Err(ConditionError::Malformed { call, reason: ConditionFault::OneArgument })
            }
            "findings" => severity(call, arguments.remove(0)).map(Self::Findings),
            "no_findings" => severity(call, arguments.remove(0)).map(Self::NoFindings),
            _ => Ok(Self::Plain(arguments.remove(0))),
        }
    }

    /// Returns true if the condition is about the results of sub-movements.
    pub(crate) fn is_aggregate(&self) -> bool {
        match self {
            Self::Plain(_)
            | Self::Always
            | Self::Findings(_)
            | Self::NoFindings(_)
            | Self::Exit(_)
            | Self::Stalled(_)
            | Self::Json { .. } => false,
            Self::All(_) | Self::Any(_) => true,
        }
    }

    /// Returns true if the condition is about review findings.
    pub(crate) fn is_of_findings(&self) -> bool {
        match self {
            Self::Findings(_) | Self::NoFindings(_) => true,
            Self::Plain(_)
            | Self::Always
            | Self::All(_)
            | Self::Any(_)
            | Self::Exit(_)
            | Self::Stalled(_)
            | Self::Json { .. } => false,
        }
    }

    /// Returns true if only the end or the output of a program can decide the condition.
    fn is_of_program(&self) -> bool {
        match self {
            Self::Exit(_) | Self::Json { .. } => true,
            Self::Plain(_)
            | Self::Always
            | Self::All(_)
            | Self::Any(_)
            | Self::Findings(_)
            | Self::Stalled(_)
            | Self::NoFindings(_) => false,
        }
    }
}

impl fmt::Display for MovementCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, arguments) = match self {
            Self::Plain(text) => return f.write_str(text),
            Self::Always => return f.write_str("when(true)"),
            Self::Exit(exits) => return write!(f, "{exits}"),
            Self::All(arguments) => ("all", arguments.clone()),
            Self::Any(arguments) => ("any", arguments.clone()),
            Self::Stalled(kinds) => ("stalled", kinds.iter().map(|kind| kind.name().to_owned()).collect()),
            Self::Json { pointer, word } => ("json", vec![pointer.clone(), word.clone()]),
            Self::Findings(severity) => return write!(f, "findings(\"{}\")", severity.name()),
            Self::NoFindings(severity) => return write!(f, "no_findings(\"{}\")", severity.name()),
        };
        let quoted: Vec<String> = arguments
            .iter()
            .map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
            .collect();
        write!(f, "{call}({})", quoted.join(", "))
    }
}

/// Accepts `when(true)` alone. Other predicates compare values of structured outputs, which are refused too.
fn refuse_other_than_true(text: &str) -> Result<(), ConditionError> {
    let inside = text.strip_prefix("when(").and_then(|rest| rest.strip_suffix(')'));
    match inside.map(str::trim) {
        Some("true") => Ok(()),
        _ => Err(ConditionError::NotSupported("when(…)")),
    }
}

/// Removes the quotes around a label.
fn unquoted(label: &str) -> &str {
    let inside = label.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or(label).trim()
}

/// Parses `0`, `1..` or `2..4`.
fn exit_codes(text: &str) -> Result<ProgramExitRange, ConditionFault> {
    let wrong = || ConditionFault::ExitCode(text.to_owned());
    let code = |digits: &str| digits.trim().parse::<u8>().map(i32::from).map_err(|_| wrong());
    let (first, last) = match text.split_once("..") {
        None => (code(text)?, Some(code(text)?)),
        Some((first, "")) => (code(first)?, None),
        Some((first, last)) => (code(first)?, Some(code(last)?)),
    };
    if last.is_some_and(|last| last < first) {
        return Err(wrong());
    }
    Ok(ProgramExitRange::Codes { first, last })
}

fn severity(call: &'static str, name: String) -> Result<Severity, ConditionError> {
    Severity::named(&name).ok_or(ConditionError::Malformed { call, reason: ConditionFault::Severity(name) })
}

/// Parses the arguments up to the closing bracket, and returns them with the remaining text.
fn arguments(mut rest: &str) -> Result<(Vec<String>, &str), ConditionFault> {
    let mut arguments = Vec::new();
    loop {
        let (argument, behind) = quoted_argument(rest.trim_start())?;
        arguments.push(argument);
        let behind = behind.trim_start();
        if let Some(behind) = behind.strip_prefix(')') {
            return Ok((arguments, behind));
        }
        rest = behind.strip_prefix(',').ok_or(ConditionFault::NoBracket)?;
    }
}

/// Parses one argument in double quotes, trims it, and returns it with the remaining text.
fn quoted_argument(text: &str) -> Result<(String, &str), ConditionFault> {
    // X-7: `all(ok)` means `all("ok")`.
    let Some(inside) = text.strip_prefix('"') else {
        let end = text.find([',', ')']).ok_or(ConditionFault::NoBracket)?;
        let argument = text[..end].trim();
        return match argument {
            "" => Err(ConditionFault::Empty),
            _ if argument.contains('"') => Err(ConditionFault::NotQuoted),
            _ => Ok((argument.to_owned(), &text[end..])),
        };
    };
    let mut argument = String::new();
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let argument = argument.trim();
                if argument.is_empty() {
                    return Err(ConditionFault::Empty);
                }
                return Ok((argument.to_owned(), &inside[at + 1..]));
            }
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => argument.push(escaped),
                Some((_, other)) => return Err(ConditionFault::Escape(other)),
                None => return Err(ConditionFault::Unclosed),
            },
            other => argument.push(other),
        }
    }
    Err(ConditionFault::Unclosed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &str) {
        let read = match MovementCondition::parse(text) {
            Ok(condition) => format!("{condition:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(read, expected, "{text}");
    }

    // P-19
    #[test]
    fn a_condition_is_plain_text_unless_it_begins_like_a_call() {
        check("  タスク完了 ", r#"Plain("タスク完了")"#);
        check("all tests pass", r#"Plain("all tests pass")"#);
        check("any (of them)", r#"Plain("any (of them)")"#);
        check("call(\"x\")", r#"Plain("call(\"x\")")"#);
    }

    // P-19
    #[test]
    fn calls_are_read_with_their_quotes_and_escapes() {
        check(r#"ai("コードに問題がある")"#, r#"Plain("コードに問題がある")"#);
        check(r#"all("approved")"#, r#"All(["approved"])"#);
        check(r#"all( "A" , "B" )"#, r#"All(["A", "B"])"#);
        // X-7
        check("all(ok)", r#"All(["ok"])"#);
        check("any( needs fix , \"b\")", r#"Any(["needs fix", "b"])"#);
        // X-25
        check("when(true)", "Always");
        check("when( true )", "Always");
        check("done && when(true)", r#"Plain("done")"#);
        check(r#""done" && when(true)"#, r#"Plain("done")"#);
        check("all(ok) && when(true)", r#"All(["ok"])"#);
        check(r#"any("say \"no\"", "back\\slash")"#, r#"Any(["say \"no\"", "back\\slash"])"#);
        check(r#"ai("a && b")"#, r#"Plain("a && b")"#);
    }

    // P-19, case 14
    #[test]
    fn a_call_that_does_not_parse_fully_is_refused_with_the_reason() {
        check("all(ok\")", "the condition `all(…)` cannot be read: its argument must be in double quotes");
        check("all()", "the condition `all(…)` cannot be read: an argument is empty");
        check(r#"any("a"#, "the condition `any(…)` cannot be read: a double quote is not closed");
        check(r#"any("a\"#, "the condition `any(…)` cannot be read: a double quote is not closed");
        check(
            r#"any("a" "b")"#,
            "the condition `any(…)` cannot be read: `)` or `,` is missing after an argument",
        );
        check(r#"any("a",)"#, "the condition `any(…)` cannot be read: an argument is empty");
        check(r#"any(" ")"#, "the condition `any(…)` cannot be read: an argument is empty");
        check(
            r#"any("a\n")"#,
            r#"the condition `any(…)` cannot be read: `\n` is not an escape; only `\"` and `\\` are"#,
        );
        check(r#"ai("a", "b")"#, "the condition `ai(…)` cannot be read: it takes exactly one argument");
        check(
            r#"all("a") or so"#,
            "the condition `all(…)` cannot be read: there is text after the closing bracket",
        );
    }

    #[test]
    fn conditions_over_findings_name_a_severity_that_there_is() {
        check(r#"findings("important")"#, "Findings(Important)");
        check(r#"no_findings( "Nitpick" )"#, "NoFindings(Nitpick)");
        check("no_findings at all", r#"Plain("no_findings at all")"#);
        check(
            r#"findings("grave")"#,
            "the condition `findings(…)` cannot be read: `grave` is not a severity",
        );
        check(
            r#"no_findings("critical", "important")"#,
            "the condition `no_findings(…)` cannot be read: it takes exactly one argument",
        );
    }

    // P-12
    #[test]
    fn newer_condition_syntax_is_refused_by_name() {
        check("when(x)", "`when(…)` in a condition is not supported");
        check(r#"all("a") && any("b")"#, "`&&` in a condition is not supported");
        check("done && when(context.x == 1)", "`when(…)` in a condition is not supported");
        check("built && tested", "`&&` in a condition is not supported");
    }

    proptest! {
        // P-19
        #[test]
        fn what_a_condition_is_written_as_reads_back_the_same(
            arguments in prop::collection::vec(r#"[^\pC\s]([^\pC]{0,8}[^\pC\s])?"#, 1..4),
            all in any::<bool>(),
        ) {
            let condition = if all { MovementCondition::All(arguments) } else { MovementCondition::Any(arguments) };
            prop_assert_eq!(MovementCondition::parse(&condition.to_string()), Ok(condition));
        }

        #[test]
        fn no_text_makes_reading_a_condition_panic(text in r#"(ai|all|any|when|findings|no_findings)?\(?["\\,)( &a-zあ]{0,12}"#) {
            let _ = MovementCondition::parse(&text);
        }
    }
}
