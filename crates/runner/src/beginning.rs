//! The input of a new run.

use std::collections::BTreeMap;
use std::path::PathBuf;

use saihai_config::ValidatedDefinition;
use saihai_model::{Json, Millis, Script, TextFile};

use crate::delivery::Placement;

/// Input of a new run: everything the command line and the configuration know before the first turn.
///
/// The type system refuses a workflow that was not validated (S-20):
///
/// ```compile_fail,E0308
/// fn with(beginning: saihai::Beginning, workflow: saihai_model::Workflow) -> saihai::Beginning {
///     saihai::Beginning { workflow, ..beginning }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Beginning {
    /// The lowered definition. The run directory keeps a frozen copy.
    pub workflow: ValidatedDefinition,
    /// Replies for the `script` provider. The run directory keeps a frozen copy.
    pub script: Option<Script>,
    /// The name of the definition as the user typed it.
    pub definition: String,
    /// The dialect of the definition, for display only.
    pub dialect: String,
    pub task: String,
    /// The readable end of the run id (`saihai_model::slug`).
    pub slug: String,
    /// Seed for the random number generator.
    pub seed: u64,
    /// True if a person sits at the terminal.
    pub interactive: bool,
    /// True if no agent is really asked.
    pub rehearsal: bool,
    /// Longest wait that the driver sits out. It parks the run for longer waits.
    pub patience: Millis,
    /// The user's checkout. Agents work here unless `placement` says otherwise.
    pub directory: PathBuf,
    /// Parent of the run's report directory.
    pub reports: PathBuf,
    /// Values that prompts show by name. Strings appear verbatim, other values as JSON.
    pub subject: BTreeMap<String, Json>,
    /// The worktree to work in and its delivery, if any.
    pub placement: Option<Placement>,
    /// The files that the texts of the workflow came from (S-49).
    pub texts: Vec<TextFile>,
}
