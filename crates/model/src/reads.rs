//! What is looked for in a reply.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{ActionSpec, Json, Label, Prompt, ProviderName, Severity, Target, Topic};

/// What is looked for in a reply; all empty means that it is only carried on.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reads {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub choice: Option<Choice>,
    /// Published events and closing words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directives: Option<Directives>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// What must be shown before the label is gone by, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proofs: Vec<Proof>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reports: Vec<Report>,
    /// Fenced blocks that ask for something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocks: Option<Blocks>,
    /// Words that count for the completion.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<Keyword>,
    /// Which of the agent's words are carried on.
    pub carry: Spoken,
}

/// One label out of several, found by the first method that finds one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    pub options: Vec<Offer>,
    pub found_by: Vec<Method>,
}

/// An option with its number; numbers never shift when others are not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offer {
    /// The number in its tag.
    pub number: usize,
    pub label: Label,
}

/// A way to find a label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The last valid status tag of the reply.
    Tag,
    /// What stands at a JSON pointer of the structured output.
    Field(Pointed),
    /// How bad what was found is: the first of these that is so.
    Findings(Vec<Threshold>),
    /// A question to an agent.
    Ask(Box<Question>),
}

/// A label that a field of the structured output says.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointed {
    /// Where it stands: a JSON pointer.
    pub pointer: String,
    /// Words and what each means, in lower case; absent: the labels themselves, in any case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub means: BTreeMap<String, Label>,
    /// Labels that only together with another field say which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrowed: Vec<Narrowed>,
    /// What holds where it says none of the labels; absent: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaid: Option<Unsaid>,
}

/// A label that findings say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threshold {
    pub label: Label,
    /// The least severity that counts.
    pub severity: Severity,
    /// Whether something so bad must have been found; else nothing must.
    pub reached: bool,
}

/// A label that is only the first half of what is said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowed {
    /// Where this label was said,
    pub label: Label,
    /// what stands here, as it is written,
    pub pointer: String,
    /// says which label it comes to.
    pub means: BTreeMap<String, Label>,
}

/// What holds where a field says none of the labels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unsaid {
    Wrong,
    /// This label, and that is remarked.
    Label(Label),
}

/// What must be shown before a label is gone by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    pub of: Label,
    pub name: String,
    /// What shows it: the label `ok`.
    pub by: ActionSpec,
    /// What follows where it does not.
    pub refuted: Refuted,
}

/// What follows where something could not be shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refuted {
    /// The same stage once more, told what was found.
    Again {
        /// So often in one visit, whichever proof it was.
        at_most: u32,
        exhausted: Target,
    },
    /// The stage is left this way.
    Go(Target),
    /// It is remarked, and the label is gone by all the same.
    Remarked,
}

/// A question to an agent about what was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub prompt: Prompt,
    /// Who answers; absent is whoever answers the turn it is about, or the first turn of the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderName>,
    /// With which model. Where `provider` is absent this is absent too, and the turn's own model answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    pub session: QuestionSession,
    /// In which form the answer comes.
    pub answer: AnswerForm,
    /// What is said when the answer could not be read, and asked again.
    #[serde(default)]
    pub correction: Prompt,
    #[serde(default)]
    pub corrections: u32,
    /// The label where the answer stays unreadable; without it there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreadable: Option<Label>,
}

/// The session of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionSession {
    /// That of the turn it is about.
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
        /// What it must look like.
        schema: OutputSchema,
        field: String,
        /// Its values (lower case, trimmed; `true` and `false` for booleans) and what they mean.
        means: BTreeMap<String, Label>,
        /// The field that is carried as the check's message.
        message: String,
    },
}

/// Published events and closing words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Directives {
    /// Closing words, read before events.
    pub words: Vec<EndWord>,
    /// Topics that somebody takes or publishes.
    pub known: Vec<Topic>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared: Option<Vec<Topic>>,
    /// Whether a topic that is not declared is refused.
    #[serde(default)]
    pub enforce: bool,
}

/// A word that ends the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndWord {
    pub word: String,
    /// Topics that must have been published before it counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requires: Vec<Topic>,
    pub then: Target,
    /// The agent is not told of it; it counts all the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quiet: bool,
}

/// A structured value that must be there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// What it must look like.
    pub schema: OutputSchema,
    /// How often the agent is asked to correct it.
    pub corrections: u32,
    pub correction: Prompt,
    /// What follows if it stays wrong.
    pub still_wrong: StillWrong,
    /// How it is found out what is wrong.
    #[serde(default, skip_serializing_if = "Checked::is_by_schema")]
    pub checked: Checked,
    /// What is changed in it before anybody sees it.
    #[serde(default, skip_serializing_if = "Shaping::is_none")]
    pub shaping: Shaping,
    /// The name under which a right one is kept for whoever asks the same again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_as: Option<String>,
    /// What its values are called elsewhere, where two of one name would be wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Box<OutputNames>>,
}

/// What the values of an output are called where all outputs are named alike.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputNames {
    /// What stands before a key to make its name.
    pub prefix: String,
    /// Keys whose names something else has, and what that is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub taken: BTreeMap<String, String>,
    /// What follows where an output has such a key and nothing else is said about wrong outputs.
    pub collided: Target,
}

impl OutputNames {
    /// The name of a key's value.
    pub fn of(&self, key: &str) -> String {
        format!("{}{key}", self.prefix)
    }
}

/// How it is found out what is wrong with an output.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Checked {
    /// The whole must satisfy its schema.
    #[default]
    BySchema,
    /// It holds findings, each of which is right or wrong by itself; how they are wrapped and spelt is forgiven.
    ByItem,
}

impl Checked {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    fn is_by_schema(&self) -> bool {
        *self == Self::BySchema
    }
}

/// What is changed in a structured value before anybody sees it.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shaping {
    /// Fields that, where they are given, can only have this value: another one is replaced, and that is remarked.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fixed: BTreeMap<String, Json>,
    /// Further keys, and where what they hold stands in the value as a JSON pointer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub lifted: BTreeMap<String, String>,
}

impl Shaping {
    pub fn is_none(&self) -> bool {
        self.fixed.is_empty() && self.lifted.is_empty()
    }
}

/// What follows if an output stays wrong.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StillWrong {
    /// The stage is left this way.
    Go(Target),
    /// What is valid in it is kept.
    KeepValidItems,
}

/// A JSON Schema and how strictly it is meant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputSchema {
    pub schema: Json,
    /// Whether a missing value is a violation.
    #[serde(default)]
    pub required: bool,
}

/// A report that a turn must output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Its file, relative to the report directory.
    pub file: String,
    /// Its label; the file's name where none was given.
    pub label: String,
    /// The first heading of its format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
}

/// Fenced blocks that ask for something.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Blocks {
    /// The info string of the fence.
    pub fence: String,
    pub uses: IndexMap<String, BlockUse>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BlockUse {
    Do(ActionSpec),
    Signal,
    /// It steers nothing here, and that is remarked.
    Idle,
}

/// A word looked for in a reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keyword {
    pub word: String,
    /// Only where it stands alone on a line.
    #[serde(default)]
    pub whole_line: bool,
}

/// Which of the agent's words are carried on.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Spoken {
    #[default]
    LastMessage,
    /// All of them, joined by newlines.
    AllMessages,
    /// Not its words, but what it found, as Markdown for the agents after it.
    Findings {
        /// In which language: `en` or `ja`.
        language: String,
    },
}
