//! Answers typed at a gate of `saihai work` (I-41).

use saihai::{Given, RunDirectory};
use saihai_model::{IssueNumber, Moment, StageId, Wants};

use crate::terminal::{visible_line, visible_text};

/// An open gate of an issue's run.
pub(super) struct Question {
    pub(super) number: IssueNumber,
    pub(super) directory: RunDirectory,
    pub(super) gate: StageId,
    pub(super) text: String,
    pub(super) wants: Wants,
    /// The timeout of the gate.
    pub(super) expires: Option<Moment>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Given(Given),
    /// Yes, and yes to the same gate of all other issues.
    YesToAll,
    /// Not understood, so the question is repeated.
    Unclear,
}

impl Question {
    /// Formats the question, which ends with the input prompt.
    pub(super) fn ask(&self) -> String {
        let gate = visible_line(self.gate.as_str().rsplit('/').next().unwrap_or_default()).into_owned();
        let mut text = format!("? {} {gate}\n", self.number);
        for line in visible_text(self.text.trim()).lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str(self.ask_again());
        text
    }

    /// Returns the input prompt for a repeated question.
    pub(super) fn ask_again(&self) -> &'static str {
        match self.wants {
            Wants::YesNo => "Continue? [Y/n] > ",
            Wants::Text { .. } => "Your answer in one line > ",
        }
    }
}

/// Parses a typed line as an answer of the wanted kind.
pub(super) fn understood(wants: Wants, line: &str) -> Typed {
    let line = line.trim();
    match (wants, line.to_lowercase().as_str()) {
        (Wants::Text { .. }, "") => Typed::Unclear,
        (Wants::Text { max_chars }, _) if line.chars().count() > max_chars as usize => Typed::Unclear,
        (Wants::Text { .. }, _) => Typed::Given(Given::Text(line.to_owned())),
        (Wants::YesNo, "" | "y" | "yes") => Typed::Given(Given::Yes(None)),
        (Wants::YesNo, "n" | "no" | "q") => Typed::Given(Given::No(None)),
        (Wants::YesNo, "a") => Typed::YesToAll,
        (Wants::YesNo, _) => Typed::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I-41, case 18
    #[test]
    fn an_answer_is_understood_however_it_is_written_and_asked_for_again_where_it_is_none() {
        for yes in ["", "  \n", "y", " YES \n", "Yes"] {
            assert_eq!(understood(Wants::YesNo, yes), Typed::Given(Given::Yes(None)), "{yes:?}");
        }
        for no in ["n", "No", " q "] {
            assert_eq!(understood(Wants::YesNo, no), Typed::Given(Given::No(None)), "{no:?}");
        }
        assert_eq!(understood(Wants::YesNo, "A"), Typed::YesToAll);
        for unclear in ["maybe", "yess", "0", "はい"] {
            assert_eq!(understood(Wants::YesNo, unclear), Typed::Unclear, "{unclear:?}");
        }
        let text = Wants::Text { max_chars: 3 };
        assert_eq!(understood(text, " abc "), Typed::Given(Given::Text("abc".to_owned())));
        assert_eq!(understood(text, "abcd"), Typed::Unclear);
    }
}
