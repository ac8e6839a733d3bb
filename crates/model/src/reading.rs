//! Reading of a reply. A fact stores it instead of the text. A run thus never needs the text again, and a better
//! extractor never changes an old run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{FindingMark, Json, ProgramExit, ReportedVerdict, Topic, VerdictChannel, VerdictToolProblem};

/// A line of a reply that resembles a directive. A journal keeps it as one text, `code: the line`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum NearMiss {
    Line {
        reason: NearMissReason,
        line: String,
    },
    /// A text of another version. It is shown and never interpreted.
    Unknown(String),
}

/// Reason why a near miss is not a directive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NearMissReason {
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

impl NearMissReason {
    const ALL: [Self; 6] = [
        Self::InCodeBlock,
        Self::Quoted,
        Self::Echoed,
        Self::MalformedTopic,
        Self::InsideSentence,
        Self::WrongCase,
    ];

    /// Returns the code in a journal, which is also a key of the workflow's words.
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

impl From<String> for NearMiss {
    fn from(text: String) -> Self {
        let known = text.split_once(": ").and_then(|(code, line)| {
            let reason = NearMissReason::ALL.into_iter().find(|reason| reason.code() == code)?;
            Some(Self::Line { reason, line: line.to_owned() })
        });
        known.unwrap_or(Self::Unknown(text))
    }
}

impl From<&str> for NearMiss {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<NearMiss> for String {
    fn from(miss: NearMiss) -> Self {
        miss.to_string()
    }
}

impl fmt::Display for NearMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line { reason, line } => write!(f, "{}: {line}", reason.code()),
            Self::Unknown(text) => f.write_str(text),
        }
    }
}

/// Everything that the engine needs from a reply.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// SHA-256 of the text, to detect an identical reply.
    pub digest: String,
    /// End of the text, at most [`Reading::TAIL`] characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// Words of the reply that say why it was decided so, at most [`Reading::QUOTATION`] characters on one line.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quotation: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// Tags in a fence, a quotation or a code span that name another rule than `tag`: the last one for each rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quoted_tags: Vec<Tag>,
    /// Verdict that the agent reported with the verdict tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<ReportedVerdict>,
    /// Way in which the label arrived; absent without a label, and in older journals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<VerdictChannel>,
    /// Reason why the verdict tool, which the turn should have, gave no verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<VerdictToolProblem>,
    /// Published events, in order; the last one routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<PublishedEvent>,
    /// Closing word that was a directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_word: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_misses: Vec<NearMiss>,
    /// Structured value, valid or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Violations of the structured value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Positions of the reports in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<ReportLocation>,
    /// Findings in the tables of its reports; absent if there is no such table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listed_findings: Option<Vec<FindingMark>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<ReplyBlock>,
    /// Keywords that occur in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// End of the program, if a program did the turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<ProgramExit>,
    /// Warnings for a person about the reading.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Reading {
    /// Maximum length of the tail, in characters.
    pub const TAIL: usize = 2_000;
    /// Maximum length of the quotation, in characters.
    pub const QUOTATION: usize = 200;

    /// Returns the last line of the text that is not blank.
    pub fn last_line(&self) -> Option<&str> {
        self.tail.lines().map(str::trim).rfind(|line| !line.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Tag number; `None` is the tag for "none of these".
    pub number: Option<usize>,
    /// Line of the tag, from 1.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedEvent {
    pub topic: Topic,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Line of the event, from 1; 0 for an event of the engine.
    #[serde(default)]
    pub line: u32,
}

/// A report and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportLocation {
    pub file: String,
    pub how: ReportClue,
    /// First byte of its content in the reply.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// True if the block was never closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclosed: bool,
}

/// Clue that identified a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReportClue {
    /// Its file name, label or heading.
    Clue,
    Only,
    /// Its position: as many blocks as reports, and no block has a clue.
    Position,
    /// The whole reply, because it has no block.
    Whole,
    /// A file that the agent wrote itself.
    Agent,
}

/// A block that requests something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReplyBlock {
    pub kind: String,
    pub value: Json,
}

/// Severity of a finding, worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Critical,
    Important,
    Suggestion,
    Nitpick,
}

impl Severity {
    pub const ALL: [Self; 4] = [Self::Critical, Self::Important, Self::Suggestion, Self::Nitpick];

    pub fn name(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Important => "important",
            Self::Suggestion => "suggestion",
            Self::Nitpick => "nitpick",
        }
    }

    /// Returns the severity of a name, in any letter case.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name().eq_ignore_ascii_case(name.trim()))
    }
}
