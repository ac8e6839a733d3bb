//! Near misses: text that looks like a directive but is none.

use std::collections::VecDeque;

use super::super::excerpt;

/// Reason why a near miss is not a directive. `Reading::near_misses` holds each as `code: the line`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Miss {
    /// It is in a fenced block.
    InCodeBlock,
    /// It is in a quotation.
    Quoted,
    /// It only repeats the prompt.
    Echoed,
    /// The text after `EVENT:` is not a topic.
    MalformedTopic,
    /// The closing word is inside a sentence.
    InsideSentence,
    WrongCase,
}

impl Miss {
    /// Returns the code before the first colon of a near miss; a key of the workflow's words.
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

/// The last few misses of a reply. The end of a reply shows the agent's intent, and a run must not store a long list.
#[derive(Debug, Default)]
pub(super) struct Misses(VecDeque<(Miss, String)>);

impl Misses {
    const KEPT: usize = 8;
    const CHARACTERS: usize = 120;

    /// Records a line and the reason why it is not a directive.
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
