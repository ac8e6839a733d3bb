//! Prompts as data: lowered templates, and the drafts that the engine makes from them.
//!
//! Templates are parsed when a definition is lowered. An inserted value can therefore never be expanded again. The
//! engine knows no language: every word comes from the workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{StageId, Topic};

use crate::Text;

/// A prompt before its values are known.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Sections from top to bottom.
    pub sections: Vec<PromptSection>,
    #[serde(default)]
    pub join: Join,
}

/// Method that joins sections into one text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Each section trimmed, empty ones dropped, one blank line between neighbours, one newline at the end.
    #[default]
    Paragraphs,
    AsIs,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptSection {
    pub body: Vec<PromptPart>,
    #[serde(default)]
    pub when: SectionCondition,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SectionCondition {
    #[default]
    Always,
    /// Only if some variable in it has a value.
    Filled,
    /// Only if there is a reason why the last reply decided nothing (only inside a note).
    Reasoned,
    /// Only if the call starts a new session although it should continue an earlier one.
    NewSession,
    /// Only if the previous round refuted nothing.
    Unrefuted,
    /// Only if the previous round refuted this proof, by its index in the turn.
    Refuted(usize),
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PromptPart {
    /// Fixed text, from the definition or built in.
    Fixed(Text),
    /// A value of the run.
    Value(Variable, ValueForm),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueForm {
    #[default]
    Plain,
    /// Every line after `> `.
    Quote,
    /// One `- ` item each, further lines indented by two spaces.
    Bullets,
    Json,
    /// The last characters, with `…` where cut.
    Tail(u32),
}

/// A value of the run that a prompt can show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    Task,
    /// The output carried from the previous stage.
    Previous,
    /// The output of this round: of one turn if a turn is judged, of all turns if an exit is.
    Combined,
    /// Texts that people have added so far.
    Inputs,
    /// Rounds of the run so far, including this one.
    Iteration,
    MaxIterations,
    /// Rounds finished before this one.
    CompletedIterations,
    /// Rounds left after this one.
    RemainingIterations,
    /// Visits of this stage, including this one.
    Visits,
    /// The round of this visit.
    Round,
    /// Number of repeats of the watched cycle.
    Cycles,
    /// Check questions answered so far.
    Checks,
    /// The topic that led here.
    EventTopic,
    EventSource,
    /// The message of that event.
    EventMessage,
    /// Descriptions by topic, to show the one of that event.
    EventText(BTreeMap<Topic, Text>),
    /// The note left by the previous round.
    Note,
    /// Reasons why the last reply decided nothing (only inside a note).
    Reasons,
    /// The end of the last reply (only inside a note).
    ReplyTail,
    /// Message of the last check.
    CheckMessage,
    /// Violations of the last output.
    Violations,
    /// An output of a stage by key.
    Output {
        stage: StageId,
        key: String,
        /// Replacement for a missing output; absent: nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        otherwise: Option<Text>,
    },
    /// Entry number *n* of `names`, where *n* counts the signals of this kind so far.
    Phase {
        signal: String,
        /// The names; the last one repeats.
        names: Vec<String>,
    },
    /// The current phase of the completion.
    CurrentPhase,
    /// Actual result of the proof that the previous round failed.
    Refutation,
    /// Facts about earlier rounds other than their replies, as an object.
    Context,
    /// The word that only this call knows.
    Nonce,
    /// One of the workflow's own words.
    Word(String),
    /// The content of a report file at render time; else the word `report-missing`.
    ReportFile(String),
    ReportDirectory,
    WorkingDirectory,
    /// A text named at the start of the run.
    Subject(String),
    /// Changes in the project at render time.
    Changes(Changes),
}

/// Changes in the project, and their format.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Base revision; absent: the point where the work left the remote's default branch, `main` or `master`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    pub remote: String,
    /// Patterns of paths to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// Maximum bytes of changes to show.
    pub most: u64,
    pub language: String,
}

/// A prompt with the run's values filled in. The driver inserts only the texts and files.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub sections: Vec<Vec<Splice>>,
    #[serde(default)]
    pub join: Join,
}

/// A piece of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Splice {
    /// A text in a format.
    Text(Text, ValueForm),
    /// The content of a report file, or `missing` if it does not exist yet.
    ReportFile {
        file: String,
        missing: String,
    },
    ReportDirectory,
    WorkingDirectory,
    /// Changes in the project so far.
    Changes(Changes),
}
