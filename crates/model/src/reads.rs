//! Specification of the parts to extract from a reply.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::ids::{Label, ProviderName, Topic};

use crate::{ActionSpec, Json, ProgramExitRange, Prompt, Severity, Target};

/// Parts to extract from a reply. If all are empty, the reply is only carried.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reads {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Label of the turn if it finally fails. Absent: as the stage says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Label>,
    /// Published events and closing words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directives: Option<Directives>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Proofs that must hold before the engine follows the label, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Report>,
    /// Fenced blocks that request something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// Words that count for the completion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<Keyword>,
    /// Part of the agent's words to carry.
    pub carry: CarriedWords,
}

/// One label out of several, from the first method that finds one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    pub options: Vec<Offer>,
    pub found_by: Vec<Method>,
}

/// An option with its number. Numbers never shift when other options are not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    pub number: usize,
    pub label: Label,
}

/// A method that finds a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// A call of the verdict tool.
    Tool,
    /// The last valid status tag of the reply.
    Tag,
    /// The status tag with the word of this call, on the last own line of the reply.
    NonceTag,
    /// The value at a JSON pointer of the structured output.
    Field(LabelField),
    /// The severity of the findings: the first threshold that holds.
    Findings(Vec<Threshold>),
    /// The exit code of the program: the first range that contains it.
    ExitCode(Vec<ExitCodeLabel>),
    /// The only option, if no method before this one finds it.
    Only,
    /// A question to an agent.
    Ask(Box<Question>),
}

/// A label from a field of the structured output.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelField {
    /// JSON pointer of the field.
    pub pointer: String,
    /// Lower-case words and their labels; absent: the labels themselves, in any case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub means: BTreeMap<String, Label>,
    /// Labels that need a second field to be complete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrowed: Vec<LabelRefinement>,
    /// Handling of a field without a known label; absent: no label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaid: Option<MissingFieldPolicy>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    pub label: Label,
    pub severity: Severity,
    /// True if such a finding must exist; false if none may.
    pub reached: bool,
}

/// A label for some exit codes of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExitCodeLabel {
    pub label: Label,
    pub exits: ProgramExitRange,
}

/// A label that needs a second field to be complete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelRefinement {
    /// Label in the first field.
    pub label: Label,
    /// JSON pointer of the second field; its value is used unchanged.
    pub pointer: String,
    /// Final label for each value of the second field.
    pub means: BTreeMap<String, Label>,
}

/// Handling of a field without a known label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MissingFieldPolicy {
    Wrong,
    /// Use this label and add a remark.
    Label(Label),
}

/// A proof that must hold before the engine follows a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    pub of: Label,
    /// Exit rules that need it, whatever the label. Empty: those with the label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<usize>,
    pub name: String,
    /// Action that proves it with the label `ok`.
    pub by: ActionSpec,
    /// Consequence of a failed proof.
    pub refuted: RefutedProofPolicy,
}

/// Consequence of a failed proof.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefutedProofPolicy {
    /// Repeat the same stage with a note about the actual result.
    Again {
        /// Maximum repeats in one visit, counted over all proofs.
        at_most: u32,
        exhausted: Target,
    },
    /// Leave the stage this way.
    Go(Target),
    /// Add a remark and follow the label anyway.
    Remarked,
}

/// A question to an agent about a reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub prompt: Prompt,
    /// Provider; absent: the provider of the turn in question, or of the first turn of the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// Model. Absent if `provider` is absent; the turn's own model then answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub session: QuestionSession,
    pub answer: AnswerForm,
    /// Prompt that repeats the question after an unreadable answer.
    #[serde(default)]
    pub correction: Prompt,
    #[serde(default)]
    pub corrections: u32,
    /// Label for an answer that stays unreadable; absent: no label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Label>,
}

/// The session of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionSession {
    /// The session of the turn in question.
    Same,
    Fresh,
}

/// The form of an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerForm {
    /// A status tag, or the tag for none.
    Tag,
    /// A JSON object whose `field` maps to a label.
    Form {
        schema: OutputSchema,
        field: String,
        /// Values (lower case, trimmed; `true` and `false` for booleans) and their labels.
        means: BTreeMap<String, Label>,
        /// Field that is carried as the check's message.
        message: String,
    },
}

/// Published events and closing words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directives {
    /// Closing words, read before events.
    pub words: Vec<EndWord>,
    /// Topics that some stage takes or publishes.
    pub known: Vec<Topic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Vec<Topic>>,
    /// True to refuse topics that are not declared.
    #[serde(default)]
    pub enforce: bool,
    #[serde(default, skip_serializing_if = "DirectiveExtraction::is_own_lines")]
    pub extraction: DirectiveExtraction,
}

/// The part of a reply in which directives count.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DirectiveExtraction {
    /// Lines of their own and the end of the reply. Fences, quotations and an echoed prompt do not count.
    #[default]
    OwnLines,
    /// The whole text, also inside sentences, fences and quotations.
    Anywhere,
}

impl DirectiveExtraction {
    fn is_own_lines(&self) -> bool {
        *self == Self::OwnLines
    }
}

/// Returns true for a character that may be part of a topic, except for the connectors `.`, `_`, `-`, `:` and `/`.
pub fn is_topic_letter(character: char) -> bool {
    match character {
        c if c.is_ascii() => c.is_ascii_alphanumeric(),
        // General, CJK and full-width punctuation ends a topic.
        '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' => false,
        '\u{ff01}'..='\u{ff0f}'
        | '\u{ff1a}'..='\u{ff20}'
        | '\u{ff3b}'..='\u{ff40}'
        | '\u{ff5b}'..='\u{ff65}' => false,
        c => !c.is_whitespace() && !c.is_control(),
    }
}

/// Returns true for a character that joins the letters of a topic.
pub fn is_topic_connector(character: char) -> bool {
    matches!(character, '.' | '_' | '-' | ':' | '/')
}

/// A word that ends the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndWord {
    pub word: String,
    /// Topics that must be published before it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Topic>,
    pub then: Target,
    /// True to hide it from the agent's prompt; it still counts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub schema: OutputSchema,
    pub corrections: u32,
    pub correction: Prompt,
    /// Consequence of an output that stays invalid.
    pub still_wrong: InvalidOutputPolicy,
    #[serde(default, skip_serializing_if = "OutputCheck::is_by_schema")]
    pub checked: OutputCheck,
    /// Changes to make before any use.
    #[serde(default, skip_serializing_if = "Shaping::is_none")]
    pub shaping: Shaping,
    /// Cache name of a valid output, for the same request later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_as: Option<String>,
    /// Names of its values elsewhere, if a duplicate name is an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Box<OutputNames>>,
}

/// Names of output values in a namespace shared by all outputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputNames {
    pub prefix: String,
    /// Keys whose names are already taken, each with its owner.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken: BTreeMap<String, String>,
    /// Consequence of such a key, if the definition sets no other for invalid outputs.
    pub collided: Target,
}

impl OutputNames {
    /// Returns the name of a key's value.
    pub fn of(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

/// Method of validation of an output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputCheck {
    /// The whole value must satisfy its schema.
    #[default]
    BySchema,
    /// The value holds findings, each valid or invalid by itself. Differences in wrapping and spelling are accepted.
    ByItem,
}

impl OutputCheck {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    fn is_by_schema(&self) -> bool {
        *self == Self::BySchema
    }
}

/// Changes to a structured value before any use.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shaping {
    /// Fields that can only have this value, if present. Another value is replaced, with a remark.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<String, Json>,
    /// Additional keys, each with the JSON pointer of its value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lifted: BTreeMap<String, String>,
}

impl Shaping {
    pub fn is_none(&self) -> bool {
        self.fixed.is_empty() && self.lifted.is_empty()
    }
}

/// Consequence of an output that stays invalid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InvalidOutputPolicy {
    /// Leave the stage this way.
    Go(Target),
    KeepValidItems,
}

/// A JSON Schema and its strictness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    pub schema: Json,
    /// True if a missing value is a violation.
    #[serde(default)]
    pub required: bool,
}

/// A report that a turn must output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// File, relative to the report directory.
    pub file: String,
    /// Label; defaults to the file's name.
    pub label: String,
    /// First heading of its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
}

/// Fenced blocks that request something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// Info string of the fence.
    pub fence: String,
    pub uses: IndexMap<String, BlockUse>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    Do(ActionSpec),
    Signal,
    /// It has no effect here, and adds a remark.
    Idle,
}

/// A word to find in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyword {
    pub word: String,
    /// True to match only a whole line.
    #[serde(default)]
    pub whole_line: bool,
}

/// Part of the agent's words to carry.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CarriedWords {
    #[default]
    LastMessage,
    /// All messages, joined by newlines.
    AllMessages,
    /// The findings instead of the words, as Markdown for later agents.
    Findings { language: String },
    /// The command line of a program, the end of its output and its exit code.
    ProgramResult,
}
