//! Path patterns of the ignore list.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern for paths from the project's root, in the same syntax as those of agents:
/// - `?`, `*` and `[a-z]` do not match `/`.
/// - `**` matches any directories.
/// - `{a,b}` matches either.
/// - A pattern that ends in `/` matches everything below it.
#[derive(Debug, Clone)]
pub struct PathPattern {
    matcher: GlobMatcher,
}

impl PathPattern {
    /// Parses a pattern; `None` if it is invalid.
    pub fn new(pattern: &str) -> Option<Self> {
        let below = if pattern.ends_with('/') { "**" } else { "" };
        let whole = format!("{pattern}{below}");
        let glob = GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).build().ok()?;
        Some(Self { matcher: glob.compile_matcher() })
    }

    pub(super) fn takes(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}
