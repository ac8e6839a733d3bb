//! Findings that the project suppresses.

use saihai_config::review::{IGNORE_FILE, PlannedIgnore, load_ignores};
use saihai_config::{Area, Diagnostic, Diagnostics, FileKind, Source};

use crate::diagnostics;
use crate::error::Error;
use crate::project::Project;
use crate::terminal::Streams;

/// Reads the project's suppressed findings.
pub(super) fn read(
    source: &dyn Source,
    project: &Project,
    strict: bool,
    streams: &mut Streams,
) -> Result<Vec<PlannedIgnore>, Error> {
    let mut found = Diagnostics::new();
    found.extend(not_a_file(source, project));
    let ignores = load_ignores(source, &project.places, &mut found);
    diagnostics::insist(&found.sorted(), strict, streams)?;
    Ok(ignores)
}

/// Reports a path that is not a regular file: running without suppressions must be intended.
fn not_a_file(source: &dyn Source, project: &Project) -> Option<Diagnostic> {
    let path = project.places.root.join(IGNORE_FILE);
    let is_named = || {
        let names = source.list(path.parent()?).ok()?;
        Some(names.iter().any(|name| path.file_name() == Some(name)))
    };
    let why = match source.kind(&path) {
        Some(FileKind::File) => return None,
        Some(FileKind::Directory) => "it is a directory, not a file",
        Some(FileKind::Other) => "it is a pipe, a socket or a device, not a file",
        None if is_named() == Some(true) => "it is a link that leads to no file",
        None => return None,
    };
    let message = format!("cannot read `{IGNORE_FILE}`: {why}");
    Some(Diagnostic::error(Area::Review.code("file"), message).hint("it is a text file of at most 1 MiB"))
}
