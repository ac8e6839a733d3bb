//! What was found in a reply. A fact carries it instead of the text, so that a run never needs the text again
//! and a better extractor never changes an old run.

use serde::{Deserialize, Serialize};

use crate::{Json, Topic};

/// Everything the engine needs to know of a reply.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// SHA-256 of the text, for "said the same again".
    pub digest: String,
    /// Its end, bounded: at most [`Reading::TAIL`] characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tail: String,
    /// The last valid status tag.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// Tags in a fence, a quotation or a code span that name another rule than `tag`: the last one for each rule.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub quoted_tags: Vec<Tag>,
    /// Published events, in order; the last one routes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Published>,
    /// A closing word that stood as a directive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_word: Option<String>,
    /// What looked like a directive and was none: a code for the reason, a colon, the line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub near_misses: Vec<String>,
    /// The structured value, valid or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// What is wrong with it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<String>,
    /// Where each report stands in the text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Found>,
    /// Blocks that ask for something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// Which of the looked-for words occur.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// What a person should know about how it was read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Reading {
    /// The longest tail kept, in characters.
    pub const TAIL: usize = 2_000;
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tag {
    /// Its number; `None` is the tag that says "none of these".
    pub number: Option<usize>,
    /// The line it stands on, from 1.
    pub line: u32,
}

/// An event that was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    pub topic: Topic,
    /// What was said with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The line it stands on, from 1; 0 for one the engine published.
    #[serde(default)]
    pub line: u32,
}

/// A report and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    pub file: String,
    pub how: How,
    /// First byte of its content in the reply.
    pub start: u64,
    /// One past its last byte.
    pub end: u64,
    /// The block was never closed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unclosed: bool,
}

/// How a report was recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// By its file name, label or heading.
    Clue,
    Only,
    /// As many blocks as reports, none with a clue.
    Position,
    /// No block: the whole reply.
    Whole,
    /// The agent wrote the file itself.
    Agent,
}

/// A block that asks for something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    pub kind: String,
    pub value: Json,
}
