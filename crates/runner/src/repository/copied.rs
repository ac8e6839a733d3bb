//! Which paths of a worktree are files that were copied into it, for the agent's eyes only.

use super::Frozen;

/// The files that were copied into a worktree. No rule of git's holds them back: a `.gitignore` of the agent's would take it away.
#[derive(Debug)]
pub(super) struct Copied {
    paths: Vec<String>,
    folds_case: bool,
}

impl Copied {
    /// By the paths that were asked for, however they are spelled.
    pub(super) fn new(paths: &[String], frozen: &Frozen) -> Self {
        let paths = paths.iter().map(|path| normal(path)).collect();
        Self { paths, folds_case: frozen.is_on("core.ignorecase") }
    }

    /// Whether a path as git says it is one of them, or lies in what has been put in the place of one.
    pub(super) fn holds(&self, path: &[u8]) -> bool {
        let is_below = |copied: &String| {
            let Some((start, rest)) = path.split_at_checked(copied.len()) else { return false };
            let same = if self.folds_case {
                start.eq_ignore_ascii_case(copied.as_bytes())
            } else {
                start == copied.as_bytes()
            };
            same && (rest.is_empty() || rest.starts_with(b"/"))
        };
        self.paths.iter().any(is_below)
    }

    /// Each of them, and how git is asked for it where it is not told to take everything literally.
    pub(super) fn specified(&self) -> impl Iterator<Item = (&str, String)> {
        let magic = if self.folds_case { "literal,icase" } else { "literal" };
        self.paths.iter().map(move |path| (path.as_str(), format!(":({magic}){path}")))
    }
}

/// A path without what means nothing in it.
fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<&str>>().join("/")
}
