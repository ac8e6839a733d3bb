//! What came of reading a definition.

use std::path::PathBuf;

use saihai_model::{StageId, TextFile, TurnId, Workflow};

use crate::delivery::Wishes;
use crate::{Diagnostics, Language};

/// What came of reading a definition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The workflow; none where there are errors.
    pub workflow: Option<Workflow>,
    /// Everything wrong with it, or worth knowing.
    pub diagnostics: Diagnostics,
    /// What a person should know about this run of it.
    pub notes: Vec<String>,
    /// Every file that was read, the definition first.
    pub uses: Vec<PathBuf>,
    /// The language agents are spoken to in.
    pub language: Language,
    /// For each turn, the tokens that its first prompt holds beyond what the definition, the task and values say.
    pub added_tokens: Vec<(StageId, TurnId, u64)>,
    /// The texts its stages say that stand in files of their own, and who supplies their variables.
    pub texts: Vec<TextUse>,
    /// What it is for, in its own words.
    pub description: Option<String>,
    /// Whether no agent is asked because nothing names a provider: replies are made up.
    pub rehearsal: bool,
    /// Whether a run makes no sense without a task.
    pub needs_task: bool,
    /// The task, where the command line gives none.
    pub task: Option<String>,
    /// What it says about the work on an issue.
    pub wishes: Wishes,
}

impl Loaded {
    /// Nothing but what is wrong.
    pub(crate) fn refused(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, ..Self::default() }
    }
}

/// A text that a stage says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextUse {
    /// Whose it is, and its file.
    pub text: TextFile,
    /// The variables in it, each with who supplies it, in the order they are first used.
    pub variables: Vec<(String, String)>,
}
