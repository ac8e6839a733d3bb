//! What Saihai keeps in a project and is not to be believed where it came with the project's files.

use std::path::Path;

use saihai::Git;

/// Why nothing in one of these directories counts, the first of which holds the others: a change could bring what speaks for
/// itself. Nothing where it does.
pub(super) fn why_not(git: &Git, root: &Path, ways: &[&str]) -> Option<String> {
    // What a link leads to may well be under version control under another name.
    if let Some(link) = ways.iter().find(|way| root.join(way).is_symlink()) {
        return Some(format!("`{link}` is a link"));
    }
    let directory = ways.last()?;
    git.tracks(directory).unwrap_or(true).then(|| format!("`{directory}` is under version control"))
}
