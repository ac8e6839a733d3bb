//! Programs that do a turn instead of an agent, and their exit codes.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// A program that does a turn: no prompt, no session, no cost.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCommand {
    /// Program and arguments. A shell line is `sh -c LINE`.
    pub argv: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Directory, relative to the working directory of the run; absent: that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// File that names the program; absent if the settings of the user name it, or Saihai itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

impl ProgramCommand {
    /// Provider of a turn that a program does, in journals and tables.
    pub const PROVIDER: &'static str = "program";

    /// Maximum length of the output that later prompts show, in characters. The end is kept.
    pub const CARRIED: usize = 10_000;

    /// Returns the command as typed in a shell.
    pub fn typed(&self) -> String {
        typed_command(&self.argv)
    }

    /// Returns the text for later prompts, as in a terminal: command line, end of the output, exit code.
    pub fn result_text(&self, output: &str, exit: ProgramExit) -> String {
        let skipped = output.chars().count().saturating_sub(Self::CARRIED);
        let start = output.char_indices().nth(skipped).map_or(output.len(), |(start, _)| start);
        let (left_out, kept) = output.split_at(start);
        // A cut line would read like a whole one.
        let is_cut = !left_out.is_empty() && !left_out.ends_with('\n');
        let whole_lines =
            kept.split_once('\n').map(|(_, rest)| rest).filter(|rest| is_cut && !rest.is_empty());
        let mut text = format!("$ {}\n", self.typed());
        if !left_out.is_empty() {
            text.push_str("[…]\n");
        }
        text.push_str(whole_lines.unwrap_or(kept));
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{exit}]"));
        text
    }
}

/// Returns a command as typed in a shell.
pub fn typed_command(argv: &[String]) -> String {
    match argv {
        [_, flag, command] if flag == "-c" => command.clone(),
        words => words.iter().map(|word| quoted_word(word)).collect::<Vec<_>>().join(" "),
    }
}

/// Quotes a word that a shell would split.
fn quoted_word(word: &str) -> String {
    let is_plain =
        |character: char| !character.is_whitespace() && !"'\"\\$`;&|<>()*?[]{}~#!".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramExit {
    Code(i32),
    /// A signal that was not ours ended it.
    Signal(i32),
    /// Saihai ended it at its time limit.
    Timeout,
}

impl ProgramExit {
    /// Returns the exit code as a shell reports it: 128 plus a signal, and 124 after a timeout as of `timeout(1)`.
    pub fn code(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
            Self::Timeout => 124,
        }
    }

    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

impl fmt::Display for ProgramExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "ended by signal {signal}"),
            Self::Timeout => f.write_str("timed out"),
        }
    }
}

/// Ends of a program that a rule covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramExitRange {
    /// Exit codes from `first` to `last`, both included; without `last`, all from `first` on.
    Codes {
        first: i32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last: Option<i32>,
    },
    Timeout,
}

impl ProgramExitRange {
    pub fn contains(self, exit: ProgramExit) -> bool {
        match self {
            Self::Codes { first, last } => {
                first <= exit.code() && last.is_none_or(|last| exit.code() <= last)
            }
            Self::Timeout => exit == ProgramExit::Timeout,
        }
    }

    /// Returns an end that the range contains, for rehearsals.
    pub fn example(self) -> ProgramExit {
        match self {
            Self::Codes { first, .. } => ProgramExit::Code(first),
            Self::Timeout => ProgramExit::Timeout,
        }
    }
}

impl fmt::Display for ProgramExitRange {
    /// Writes the range as a condition of a piece.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Codes { first, last: Some(last) } if first == last => write!(f, "exit({first})"),
            Self::Codes { first, last: Some(last) } => write!(f, "exit({first}..{last})"),
            Self::Codes { first, last: None } => write!(f, "exit({first}..)"),
            Self::Timeout => f.write_str("timeout"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-9
    #[test]
    fn signals_and_timeouts_count_as_the_exit_codes_of_a_shell() {
        let failed = ProgramExitRange::Codes { first: 1, last: None };
        let check = |range: ProgramExitRange, exit, expected| {
            assert_eq!(range.contains(exit), expected, "{range} {exit}");
        };
        check(failed, ProgramExit::Code(0), false);
        check(failed, ProgramExit::Code(101), true);
        check(failed, ProgramExit::Signal(9), true);
        check(failed, ProgramExit::Timeout, true);
        check(ProgramExitRange::Codes { first: 2, last: Some(4) }, ProgramExit::Code(4), true);
        check(ProgramExitRange::Codes { first: 2, last: Some(4) }, ProgramExit::Code(5), false);
        check(ProgramExitRange::Timeout, ProgramExit::Code(124), false);
        check(ProgramExitRange::Timeout, ProgramExit::Timeout, true);
    }

    // U-9
    #[test]
    fn later_prompts_show_the_command_the_end_of_the_output_and_the_exit_code() {
        let argv = ["cargo", "test", "a b"].map(str::to_owned).to_vec();
        let program = ProgramCommand { argv, ..ProgramCommand::default() };
        let shown = program.result_text("2 of 14 tests failed\n", ProgramExit::Code(101));
        assert_eq!(shown, "$ cargo test 'a b'\n2 of 14 tests failed\n[exit code 101]");
        assert_eq!(program.result_text("", ProgramExit::Timeout), "$ cargo test 'a b'\n[timed out]");
        let long = format!("first\n{}\n", "x".repeat(ProgramCommand::CARRIED - 2));
        let shown = program.result_text(&format!("{long}z"), ProgramExit::Signal(9));
        assert!(shown.starts_with("$ cargo test 'a b'\n[…]\nx"), "{}", &shown[..40]);
        assert!(shown.ends_with("\nz\n[ended by signal 9]"));
    }
}
