//! With what a run begins.

use std::collections::BTreeMap;
use std::path::PathBuf;

use saihai_config::ValidatedDefinition;
use saihai_model::{Json, Millis, Script, TextFile};

use crate::delivery::Placement;

/// With what a run begins: everything the command line and the configuration know before the first turn.
///
/// A workflow that nothing has validated is no beginning (S-20):
///
/// ```compile_fail,E0308
/// fn with(beginning: saihai::Beginning, workflow: saihai_model::Workflow) -> saihai::Beginning {
///     saihai::Beginning { workflow, ..beginning }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Beginning {
    /// The lowered definition; frozen into the run directory.
    pub workflow: ValidatedDefinition,
    /// What the `script` provider answers from; frozen likewise.
    pub script: Option<Script>,
    /// The definition's name as it was asked for.
    pub definition: String,
    /// The dialect it was written in, for people only.
    pub dialect: String,
    pub task: String,
    /// The readable end of the run's id (`saihai_model::slug`).
    pub slug: String,
    /// Where all chance of this run comes from.
    pub seed: u64,
    /// Whether a person sits at the terminal.
    pub interactive: bool,
    /// Whether no agent is really asked.
    pub rehearsal: bool,
    /// The longest wait that is sat out instead of parking.
    pub patience: Millis,
    /// The user's checkout, where agents work unless they are placed elsewhere.
    pub directory: PathBuf,
    /// The directory in which the run's report directory is made.
    pub reports: PathBuf,
    /// Texts that prompts show by name: a text as it is, anything else as JSON.
    pub subject: BTreeMap<String, Json>,
    /// Where else they work, and what comes of that.
    pub placement: Option<Placement>,
    /// The files its texts came from (S-49).
    pub texts: Vec<TextFile>,
}
