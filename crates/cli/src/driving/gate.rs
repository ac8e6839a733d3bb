//! A gate, shown to a person at the terminal.

use saihai_model::{CallId, Label, Wants};

use crate::terminal::{visible_line, visible_text};

pub(super) struct Gate {
    pub(super) call: CallId,
    pub(super) title: String,
    pub(super) question: String,
    pub(super) wants: Wants,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) label: Label,
    pub(super) text: Option<String>,
}

impl Gate {
    /// Formats the question, which ends with the input prompt.
    pub(super) fn ask(&self) -> String {
        let mut text = format!("? {}\n", visible_line(&self.title));
        for line in visible_text(self.question.trim()).lines() {
            text.push_str(&format!("  {line}\n"));
        }
        text.push_str(self.ask_again());
        text
    }

    /// Returns the input prompt for a repeated question.
    pub(super) fn ask_again(&self) -> &'static str {
        match self.wants {
            Wants::YesNo => "  yes or no, and a text if you like (Ctrl-D leaves it open): ",
            Wants::Text { .. } => "  your answer in one line (Ctrl-D leaves it open): ",
        }
    }

    /// Parses the typed line, or explains why it is not an answer.
    pub(super) fn understand(&self, line: &str) -> Result<Answer, String> {
        let line = line.trim();
        match self.wants {
            Wants::Text { max_chars } => {
                let length = line.chars().count();
                match u32::try_from(length) {
                    Ok(0) => Err("an answer has at least one character".to_owned()),
                    Ok(count) if count <= max_chars => {
                        Ok(Answer { label: "answered".into(), text: Some(line.to_owned()) })
                    }
                    Ok(_) | Err(_) => {
                        Err(format!("an answer has at most {max_chars} characters, this one {length}"))
                    }
                }
            }
            Wants::YesNo => {
                let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
                let label = match word.to_lowercase().as_str() {
                    "y" | "yes" => "yes",
                    "n" | "no" => "no",
                    _ => return Err("the answer is `yes` or `no`".to_owned()),
                };
                let text = Some(rest.trim().to_owned()).filter(|text| !text.is_empty());
                Ok(Answer { label: label.into(), text })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(wants: Wants) -> Gate {
        let call = CallId { stage: "repair/input[1]".into(), visit: 1, round: 1, n: 1 };
        Gate {
            call, title: "repair".into(), question: "仕様の確認が必要\n\x1b[31mwhich?".into(), wants
        }
    }

    #[track_caller]
    fn check(wants: Wants, typed: &str, expected: Result<(&str, Option<&str>), &str>) {
        let understood = gate(wants).understand(typed);
        let understood = understood.as_ref().map(|answer| (answer.label.as_str(), answer.text.as_deref()));
        assert_eq!(understood.map_err(String::as_str), expected);
    }

    // P-46
    #[test]
    fn a_text_is_taken_within_its_length_and_refused_beyond() {
        let wants = Wants::Text { max_chars: 5 };
        check(wants, "はい、左\n", Ok(("answered", Some("はい、左"))));
        check(wants, "  \n", Err("an answer has at least one character"));
        check(wants, "長すぎる答え", Err("an answer has at most 5 characters, this one 6"));
    }

    #[test]
    fn yes_and_no_can_be_short_and_carry_a_text() {
        check(Wants::YesNo, "y", Ok(("yes", None)));
        check(Wants::YesNo, "NO  not on friday\n", Ok(("no", Some("not on friday"))));
        check(Wants::YesNo, "maybe", Err("the answer is `yes` or `no`"));
        check(Wants::YesNo, "", Err("the answer is `yes` or `no`"));
    }

    // T-85
    #[test]
    fn the_question_of_an_agent_cannot_steer_the_terminal() {
        insta::assert_snapshot!(gate(Wants::YesNo).ask(), @r"
        ? repair
          仕様の確認が必要
          \x1b[31mwhich?
          yes or no, and a text if you like (Ctrl-D leaves it open):
        ");
    }
}
