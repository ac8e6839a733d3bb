//! The script of the `script` provider.

use std::path::{Path, PathBuf};

use saihai_config::{Diagnostics, Settings, load_script};
use saihai_model::{Script, Workflow};

use crate::diagnostics;
use crate::error::Error;
use crate::project::Project;
use crate::terminal::Streams;

/// Returns the script file: from the flag, the settings, or TAKT's own variable (C-75, C-76).
pub(crate) fn file(project: &Project, typed: Option<&Path>, settings: &Settings) -> Option<PathBuf> {
    let typed = typed.map(|file| project.places.current.join(file));
    let scenario =
        || project.variables.get("TAKT_MOCK_SCENARIO").map(|file| project.places.current.join(file));
    typed.or_else(|| settings.script_file()).or_else(scenario)
}

/// Returns the script's setting for an interactive terminal, if it has one. Reading the script for its workflow
/// reports its errors.
pub(crate) fn is_interactive(project: &Project, file: &Path) -> Option<bool> {
    let name = project.shown(file);
    load_script(&project.source, file, &name, None, &mut Diagnostics::new())?.interactive
}

/// Checks a script without using it. Errors end the command.
pub(crate) fn check(
    project: &Project,
    file: &Path,
    strict: bool,
    streams: &mut Streams,
) -> Result<(), Error> {
    let mut found = Diagnostics::new();
    load_script(&project.source, file, &project.shown(file), None, &mut found);
    diagnostics::insist(&found, strict, streams)
}

/// Reads a script for a workflow. Errors end the command.
pub(crate) fn read(
    project: &Project,
    file: &Path,
    workflow: &Workflow,
    strict: bool,
    streams: &mut Streams,
) -> Result<Script, Error> {
    let name = project.shown(file);
    let mut found = Diagnostics::new();
    let script = load_script(&project.source, file, &name, Some(workflow), &mut found);
    diagnostics::insist(&found, strict, streams)?;
    script.ok_or_else(|| Error::usage(format!("`{name}` cannot be played")))
}
