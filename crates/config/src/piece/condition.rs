//! Conditions of rules: plain text, an aggregate over sub-movements, or a test of review findings.

use std::fmt;

use saihai_model::Severity;

/// Condition of a rule. `ai("text")` means the same as the plain text `text`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Condition {
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
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    /// A feature of newer versions of the format.
    #[error("`{0}` in a condition is not supported")]
    NotSupported(&'static str),
    #[error("the condition `{call}(…)` cannot be read: {reason}")]
    Malformed { call: &'static str, reason: Reason },
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Reason {
    #[error("its argument must stand in double quotes")]
    NotQuoted,
    #[error("a double quote is not closed")]
    Unclosed,
    /// A backslash before a character that needs no escape.
    #[error("`\\{0}` is no escape; only `\\\"` and `\\\\` are")]
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
    #[error("`{0}` is no severity")]
    Severity(String),
}

/// Prefixes that make a condition a call instead of plain text.
const CALLS: [&str; 5] = ["ai", "all", "any", "findings", "no_findings"];

impl Condition {
    /// Parses a condition. Only text that starts like a call is one: `all tests pass` is plain text.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        for call in CALLS {
            let Some(rest) = text.strip_prefix(call).and_then(|rest| rest.strip_prefix('(')) else {
                continue;
            };
            let (arguments, behind) = arguments(rest).map_err(|reason| Error::Malformed { call, reason })?;
            if behind.trim_start().starts_with("&&") {
                return Err(Error::NotSupported("&&"));
            }
            if !behind.trim().is_empty() {
                return Err(Error::Malformed { call, reason: Reason::TextBehind });
            }
            return Self::call(call, arguments);
        }
        if text.starts_with("when(") {
            return Err(Error::NotSupported("when(…)"));
        }
        if text.contains("&&") {
            return Err(Error::NotSupported("&&"));
        }
        Ok(Self::Plain(text.to_owned()))
    }

    fn call(call: &'static str, mut arguments: Vec<String>) -> Result<Self, Error> {
        match call {
            "all" => Ok(Self::All(arguments)),
            "any" => Ok(Self::Any(arguments)),
            _ if arguments.len() != 1 => Err(Error::Malformed { call, reason: Reason::OneArgument }),
            "findings" => severity(call, arguments.remove(0)).map(Self::Findings),
            "no_findings" => severity(call, arguments.remove(0)).map(Self::NoFindings),
            _ => Ok(Self::Plain(arguments.remove(0))),
        }
    }

    /// Returns true if the condition is about the results of sub-movements.
    pub(crate) fn is_aggregate(&self) -> bool {
        match self {
            Self::Plain(_) | Self::Findings(_) | Self::NoFindings(_) => false,
            Self::All(_) | Self::Any(_) => true,
        }
    }

    /// Returns true if the condition is about review findings.
    pub(crate) fn is_of_findings(&self) -> bool {
        match self {
            Self::Findings(_) | Self::NoFindings(_) => true,
            Self::Plain(_) | Self::All(_) | Self::Any(_) => false,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (call, arguments) = match self {
            Self::Plain(text) => return f.write_str(text),
            Self::All(arguments) => ("all", arguments),
            Self::Any(arguments) => ("any", arguments),
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

fn severity(call: &'static str, name: String) -> Result<Severity, Error> {
    Severity::named(&name).ok_or(Error::Malformed { call, reason: Reason::Severity(name) })
}

/// Parses the arguments up to the closing bracket, and returns them with the remaining text.
fn arguments(mut rest: &str) -> Result<(Vec<String>, &str), Reason> {
    let mut arguments = Vec::new();
    loop {
        let (argument, behind) = quoted(rest.trim_start())?;
        arguments.push(argument);
        let behind = behind.trim_start();
        if let Some(behind) = behind.strip_prefix(')') {
            return Ok((arguments, behind));
        }
        rest = behind.strip_prefix(',').ok_or(Reason::NoBracket)?;
    }
}

/// Parses one argument in double quotes, trims it, and returns it with the remaining text.
fn quoted(text: &str) -> Result<(String, &str), Reason> {
    let inside = text.strip_prefix('"').ok_or(Reason::NotQuoted)?;
    let mut argument = String::new();
    let mut characters = inside.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                let argument = argument.trim();
                if argument.is_empty() {
                    return Err(Reason::Empty);
                }
                return Ok((argument.to_owned(), &inside[at + 1..]));
            }
            '\\' => match characters.next() {
                Some((_, escaped @ ('"' | '\\'))) => argument.push(escaped),
                Some((_, other)) => return Err(Reason::Escape(other)),
                None => return Err(Reason::Unclosed),
            },
            other => argument.push(other),
        }
    }
    Err(Reason::Unclosed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Condition;

    fn check(text: &str, expected: &str) {
        let read = match Condition::parse(text) {
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
        check(r#"any("say \"no\"", "back\\slash")"#, r#"Any(["say \"no\"", "back\\slash"])"#);
        check(r#"ai("a && b")"#, r#"Plain("a && b")"#);
    }

    // P-19, case 14
    #[test]
    fn a_call_that_does_not_parse_fully_is_refused_with_the_reason() {
        check("all(ok)", "the condition `all(…)` cannot be read: its argument must stand in double quotes");
        check("all()", "the condition `all(…)` cannot be read: its argument must stand in double quotes");
        check(r#"any("a"#, "the condition `any(…)` cannot be read: a double quote is not closed");
        check(r#"any("a\"#, "the condition `any(…)` cannot be read: a double quote is not closed");
        check(
            r#"any("a" "b")"#,
            "the condition `any(…)` cannot be read: `)` or `,` is missing after an argument",
        );
        check(
            r#"any("a",)"#,
            "the condition `any(…)` cannot be read: its argument must stand in double quotes",
        );
        check(r#"any(" ")"#, "the condition `any(…)` cannot be read: an argument is empty");
        check(
            r#"any("a\n")"#,
            r#"the condition `any(…)` cannot be read: `\n` is no escape; only `\"` and `\\` are"#,
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
        check(r#"findings("grave")"#, "the condition `findings(…)` cannot be read: `grave` is no severity");
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
        check("built && tested", "`&&` in a condition is not supported");
    }

    proptest! {
        // P-19
        #[test]
        fn what_a_condition_is_written_as_reads_back_the_same(
            arguments in prop::collection::vec(r#"[^\pC\s]([^\pC]{0,8}[^\pC\s])?"#, 1..4),
            all in any::<bool>(),
        ) {
            let condition = if all { Condition::All(arguments) } else { Condition::Any(arguments) };
            prop_assert_eq!(Condition::parse(&condition.to_string()), Ok(condition));
        }

        #[test]
        fn no_text_makes_reading_a_condition_panic(text in r#"(ai|all|any|when|findings|no_findings)?\(?["\\,)( &a-zあ]{0,12}"#) {
            let _ = Condition::parse(&text);
        }
    }
}
