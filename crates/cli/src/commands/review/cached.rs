//! The decision to reuse cached replies.

use std::path::Path;
use std::time::SystemTime;

use saihai::Git;
use saihai::review::Cache;
use saihai_config::review::Cached;

use super::committed;
use crate::terminal::Streams;

/// Cache directory, relative to the project root.
const DIRECTORY: &str = ".saihai/cache";

/// Returns the cache state, which depends on the files that agents see. For a review of a commit, these are the
/// commit's files. Files written by the review itself do not count. Replies under version control are not trusted: a
/// change could include replies about itself.
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
