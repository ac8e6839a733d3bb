//! Reading of a reply. A fact stores it instead of the text. A run thus never needs the text again, and a better
//! extractor never changes an old run.

use serde::{Deserialize, Serialize};

use crate::{Json, Topic};

/// Everything that the engine needs from a reply.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// SHA-256 of the text, to detect an identical reply.
    pub digest: String,
    /// End of the text, at most [`Reading::TAIL`] characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// Tags in a fence, a quotation or a code span that name another rule than `tag`: the last one for each rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quoted_tags: Vec<Tag>,
    /// Published events, in order; the last one routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Published>,
    /// Closing word that was a directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_word: Option<String>,
    /// Near misses of a directive, each as a reason code, a colon and the line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_misses: Vec<String>,
    /// Structured value, valid or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Violations of the structured value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Positions of the reports in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Found>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Keywords that occur in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// Warnings for a person about the reading.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Reading {
    /// Maximum length of the tail, in characters.
    pub const TAIL: usize = 2_000;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Tag number; `None` is the tag for "none of these".
    pub number: Option<usize>,
    /// Line of the tag, from 1.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    pub topic: Topic,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Line of the event, from 1; 0 for an event of the engine.
    #[serde(default)]
    pub line: u32,
}

/// A report and its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub file: String,
    pub how: How,
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
pub enum How {
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
pub struct Block {
    pub kind: String,
    pub value: Json,
}
