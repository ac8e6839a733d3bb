//! Patterns of the paths in which something is not to be heard of.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern that a path from the project's root is held against, in the syntax that agents have for theirs: `?`, `*` and
/// `[a-z]` take no `/`, `**` takes any directories, `{a,b}` is either, and a pattern that ends in `/` takes all below it.
#[derive(Debug, Clone)]
pub struct PathPattern {
    matcher: GlobMatcher,
}

impl PathPattern {
    /// Reads a pattern; nothing where it is none.
    pub fn new(pattern: &str) -> Option<Self> {
        let below = if pattern.ends_with('/') { "**" } else { "" };
        let whole = format!("{pattern}{below}");
        let glob = GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).build().ok()?;
        Some(Self { matcher: glob.compile_matcher() })
    }

    /// Whether it takes a path.
    pub(super) fn takes(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}
