//! Prompts as data: what a lowered template says, and what the engine drafts from it.
//!
//! Templates are parsed when a definition is lowered. An inserted value can therefore never be expanded again,
//! and the engine knows no language: every word comes from the workflow.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{StageId, Text, Topic};

/// A prompt before its values are known.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Its sections, top to bottom.
    pub sections: Vec<Section>,
    /// How they become one text.
    #[serde(default)]
    pub join: Join,
}

/// How sections become one text.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// Each trimmed, empty ones dropped, one blank line between neighbours, one newline at the end.
    #[default]
    Paragraphs,
    /// One after the other, byte for byte.
    AsIs,
}

/// A section of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Section {
    pub body: Vec<Part>,
    #[serde(default)]
    pub when: When,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    #[default]
    Always,
    /// Only if some variable in it has a value.
    Filled,
    /// Only if there is a reason why the last reply decided nothing (only inside a note).
    Reasoned,
    /// Only if the call starts a new session although an earlier one was to be continued.
    NewSession,
    /// Only if the round before refuted nothing.
    Unrefuted,
    /// Only if the round before refuted this proof, by its place among those of the turn.
    Refuted(usize),
}

/// A part of a section.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Text of the definition, or ours.
    Fixed(Text),
    /// A value of the run.
    Value(Variable, Form),
}

/// How a value is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    #[default]
    Plain,
    /// Every line behind `> `.
    Quote,
    /// One `- ` item each, further lines indented by two spaces.
    Bullets,
    Json,
    /// Its last so many characters, marked with `…` where cut.
    Tail(u32),
}

/// A value of the run that a prompt can show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Variable {
    Task,
    /// The output carried from the stage before.
    Previous,
    /// The output of this very round: of one turn where a turn is judged, of all where an exit is.
    Combined,
    /// What people have added so far.
    Inputs,
    /// Rounds of the run so far, this one included.
    Iteration,
    MaxIterations,
    /// Rounds finished before this one.
    CompletedIterations,
    /// Rounds left after this one.
    RemainingIterations,
    /// Visits of this stage, this one included.
    Visits,
    /// The round of this visit.
    Round,
    /// How often the watched cycle has repeated.
    Cycles,
    /// Check questions answered so far.
    Checks,
    /// The topic that led here.
    EventTopic,
    EventSource,
    /// What was said with it.
    EventMessage,
    /// What is known about that topic, by topic.
    EventText(BTreeMap<Topic, Text>),
    /// The reminder left by the round before.
    Note,
    /// Why the last reply decided nothing (only inside a note).
    Reasons,
    /// The end of the last reply (only inside a note).
    ReplyTail,
    /// What the last check said.
    CheckMessage,
    /// What was wrong with the last output.
    Violations,
    /// An output of a stage by key.
    Output {
        stage: StageId,
        key: String,
        /// What stands there where it is missing; absent: nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        otherwise: Option<Text>,
    },
    /// Entry number *n* of `names`, where *n* is how many signals of this kind were seen.
    Phase {
        signal: String,
        /// The names; the last one stays.
        names: Vec<String>,
    },
    /// The phase the completion has come to.
    CurrentPhase,
    /// What was found where the round before was refuted.
    Refutation,
    /// What is known of the rounds before beside what was said: an object.
    Context,
    /// One of the workflow's own words.
    Word(String),
    /// The content of a report file when the prompt is rendered; else the word `report-missing`.
    ReportFile(String),
    ReportDirectory,
    WorkingDirectory,
    /// A text named when the run started.
    Subject(String),
    /// What has changed in the project when the prompt is rendered.
    Changes(Changes),
}

/// What has changed in the project, and how it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The revision since which; absent: since the work left the default branch of the remote, `main` or `master`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    pub remote: String,
    /// Patterns for paths of files that are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<String>,
    /// The most bytes of changes that are shown.
    pub most: u64,
    /// In which language: `en` or `ja`.
    pub language: String,
}

/// A prompt with the run's values in it; only texts and files remain to be spliced in by the runner.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Draft {
    pub sections: Vec<Vec<Splice>>,
    /// How they become one text.
    #[serde(default)]
    pub join: Join,
}

/// A piece of a draft.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Splice {
    /// A text in a form.
    Text(Text, Form),
    /// The content of a report file, or `missing` where there is none yet.
    ReportFile {
        file: String,
        missing: String,
    },
    ReportDirectory,
    WorkingDirectory,
    /// What has changed in the project by now.
    Changes(Changes),
}
