//! Saihai's own data in a project, which is not trusted if it is under version control.

use std::path::Path;

use saihai::Git;

/// Explains why these directories are not trusted: a change could add data in its own favour. The first directory
/// contains the others. Returns nothing if they are trusted.
pub(super) fn why_not(git: &Git, root: &Path, ways: &[&str]) -> Option<String> {
    // The target of a link may be under version control with another name.
    if let Some(link) = ways.iter().find(|way| root.join(way).is_symlink()) {
        return Some(format!("`{link}` is a link"));
    }
    let directory = ways.last()?;
    git.tracks(directory).unwrap_or(true).then(|| format!("`{directory}` is under version control"))
}
