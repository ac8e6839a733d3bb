use std::path::PathBuf;

use saihai_model::{StageId, TextFile, TurnId, Workflow};

use crate::delivery::Wishes;
use crate::{Diagnostics, Language};

/// Result of loading a definition.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Loaded {
    /// The workflow, or `None` if there are errors.
    pub workflow: Option<Workflow>,
    pub diagnostics: Diagnostics,
    /// Remarks for the user about this run.
    pub notes: Vec<String>,
    /// All files read, the definition first.
    pub uses: Vec<PathBuf>,
    pub language: Language,
    /// For each turn, the tokens of its first prompt that come from neither definition, task nor values.
    pub added_tokens: Vec<(StageId, TurnId, u64)>,
    /// Prompt texts from separate files, with the source of each variable.
    pub texts: Vec<TextUse>,
    /// Description from the definition itself.
    pub description: Option<String>,
    /// True if no turn names a provider, so replies are made up.
    pub rehearsal: bool,
    /// True if a run needs a task.
    pub needs_task: bool,
    /// Default task if the command line gives none.
    pub task: Option<String>,
    /// Options for work on an issue.
    pub wishes: Wishes,
}

impl Loaded {
    /// Returns a result with diagnostics only.
    pub(crate) fn refused(diagnostics: Diagnostics) -> Self {
        Self { diagnostics, ..Self::default() }
    }
}

/// A text file that a stage uses in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextUse {
    /// Owner and path of the file.
    pub text: TextFile,
    /// Variables of the text in order of first use, each with its source.
    pub variables: Vec<(String, String)>,
}
