//! What looked like a directive and was none.

use std::collections::VecDeque;

use super::super::excerpt;

/// Why something that looks like a directive is none. `Reading::near_misses` holds each as `code: the line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    /// It stands in a fenced block.
    InCodeBlock,
    /// It stands in a quotation.
    Quoted,
    /// It only repeats the prompt.
    Echoed,
    /// What follows `EVENT:` is no topic.
    MalformedTopic,
    /// The closing word stands inside a sentence.
    InsideSentence,
    /// It is written in another case.
    WrongCase,
}

impl Miss {
    /// The code before the first colon of a near miss; a key of the workflow's words.
    pub const fn code(self) -> &'static str {
        match self {
            Self::InCodeBlock => "in_code_block",
            Self::Quoted => "quoted",
            Self::Echoed => "echoed",
            Self::MalformedTopic => "malformed_topic",
            Self::InsideSentence => "inside_sentence",
            Self::WrongCase => "wrong_case",
        }
    }
}

/// The last few misses of a reply: its end is what the agent meant last, and a run keeps none of its length.
#[derive(Debug, Default)]
pub(super) struct Misses(VecDeque<(Miss, String)>);

impl Misses {
    const KEPT: usize = 8;
    const CHARACTERS: usize = 120;

    /// Remembers a line and what kept it from being a directive.
    pub(super) fn add(&mut self, miss: Miss, line: &str) {
        let one = (miss, excerpt::head(line.trim(), Self::CHARACTERS));
        if !self.0.contains(&one) {
            self.0.push_back(one);
        }
        if self.0.len() > Self::KEPT {
            self.0.pop_front();
        }
    }

    pub(super) fn into_lines(self) -> Vec<String> {
        self.0.into_iter().map(|(miss, line)| format!("{}: {line}", miss.code())).collect()
    }
}
