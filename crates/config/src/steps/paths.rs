//! Allowed locations of an agent's files (S-3).

use std::path::{Path, PathBuf};

use crate::{Diagnostic, Located, Places, Source, quoted};

pub(super) struct Paths<'a> {
    pub(super) source: &'a dyn Source,
    pub(super) places: &'a Places,
    pub(super) directory: PathBuf,
}

impl Paths<'_> {
    /// Resolves a path in the agent's directory, and refuses one that leaves it.
    pub(super) fn below(&self, written: &Located<String>) -> Result<PathBuf, Box<Diagnostic>> {
        self.inside(&self.directory, written)
    }

    /// Resolves a path in a directory, and refuses one that leaves the project.
    pub(super) fn inside(
        &self,
        directory: &Path,
        written: &Located<String>,
    ) -> Result<PathBuf, Box<Diagnostic>> {
        if let Some(why) = leaves(&written.value) {
            let message = format!("{} {why}", quoted(&written.value));
            let diagnostic = written.error("path-escape", message).label("not allowed in a path here");
            return Err(Box::new(diagnostic.hint("write a path below the agent's own directory, with `/`")));
        }
        let path = directory.join(&written.value);
        if self.is_outside(&path) {
            let message = format!("{} leads out of the project by a link", quoted(&self.places.shown(&path)));
            return Err(Box::new(written.error("path-escape", message).label("leads out of the project")));
        }
        Ok(path)
    }

    /// Returns true if links lead from a path out of the project. For a missing file, the last existing
    /// directory decides.
    pub(super) fn is_outside(&self, path: &Path) -> bool {
        let real = path.ancestors().find_map(|existing| self.source.canonical(existing).ok());
        let Some(real) = real else { return false };
        let within = |root: &Path| self.source.canonical(root).is_ok_and(|root| real.starts_with(root));
        // An agent named by its path may be outside the project as a whole.
        let elsewhere = !self.directory.starts_with(&self.places.root);
        !(within(&self.places.root) || elsewhere && within(&self.directory))
    }
}

/// Returns the reason why a path is not allowed.
fn leaves(written: &str) -> Option<&'static str> {
    if written.contains('\0') {
        return Some("holds a NUL character");
    }
    if written.contains('\\') {
        return Some("holds a `\\`");
    }
    let drive =
        written.as_bytes().get(1) == Some(&b':') && written.starts_with(|c: char| c.is_ascii_alphabetic());
    if written.starts_with(['/', '~']) || drive {
        return Some("is no relative path");
    }
    written.split('/').any(|part| part == "..").then_some("leads upwards with `..`")
}
