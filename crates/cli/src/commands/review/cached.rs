//! Whether answers of before are used again.

use std::path::Path;
use std::time::SystemTime;

use saihai::Git;
use saihai::review::Cache;
use saihai_config::review::Cached;

use super::committed;
use crate::terminal::Streams;

/// Where answers are kept, from the project's root.
const DIRECTORY: &str = ".saihai/cache";

/// What can be used again in a project. Answers that came with its files are not to be believed: a change could bring the
/// answers about itself. Where a commit is looked at, what can be seen is its files. What the review itself writes changes
/// nothing.
pub(super) fn state(root: &Path, head: Option<&str>, written: &[String], streams: &mut Streams) -> Cached {
    let git = match Git::open(root) {
        Ok(git) => git,
        Err(_) => return Cached::Never,
    };
    let Some(git) = git else {
        Cache::of_project(root).sweep(SystemTime::now());
        return Cached::Blind;
    };
    if let Some(why) = committed::why_not(&git, root, &[".saihai", ".saihai/cache/review", DIRECTORY]) {
        streams.warning(&format!("{why}: no answer in `{DIRECTORY}` is used"));
        return Cached::Never;
    }
    Cache::of_project(root).sweep(SystemTime::now());
    let seen = match head {
        Some(commit) => git.tree_of(commit),
        None => git.standing(written),
    };
    seen.ok().flatten().map_or(Cached::Blind, Cached::Seeing)
}
