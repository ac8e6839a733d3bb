//! Patterns for whole paths, with `**` and `{a,b}`.

use globset::{GlobBuilder, GlobMatcher};

/// A pattern for paths relative to the project root. A pattern that ends in `/` matches everything
/// below it.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    source: String,
    matcher: GlobMatcher,
}

impl PathPattern {
    /// Parses a pattern. The error is a short reason.
    pub(super) fn new(pattern: &str) -> Result<Self, String> {
        let below = if pattern.ends_with('/') { "**" } else { "" };
        let whole = format!("{pattern}{below}");
        let glob = GlobBuilder::new(&whole).literal_separator(true).backslash_escape(true).build();
        let glob = glob.map_err(|error| error.kind().to_string())?;
        Ok(Self { source: pattern.to_owned(), matcher: glob.compile_matcher() })
    }

    pub(super) fn source(&self) -> &str {
        &self.source
    }

    pub(super) fn takes(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, taken: &[&str], refused: &[&str]) {
        let pattern = PathPattern::new(pattern).unwrap();
        for path in taken {
            assert!(pattern.takes(path), "`{}` does not take {path:?}", pattern.source());
        }
        for path in refused {
            assert!(!pattern.takes(path), "`{}` takes {path:?}", pattern.source());
        }
    }

    //
    #[test]
    fn paths_are_taken_whole_with_directories_and_alternatives() {
        check("src/*.py", &["src/x.py"], &["src/deep/x.py", "x.py", "lib/src/x.py"]);
        check("src/**/*.py", &["src/x.py", "src/a/b/x.py"], &["test/x.py"]);
        check("**/migrations/**", &["migrations/1.sql", "db/migrations/a/2.sql"], &["migrations"]);
        check("*.{rs,toml}", &["a.rs", "a.toml"], &["a.py", "src/a.rs"]);
        check("vendor/**", &["vendor/a", "vendor/a/b"], &["vendors/a"]);
        check("vendor/", &["vendor/a", "vendor/a/b"], &["vendors/a", "vendor"]);
        assert!(PathPattern::new("a{b").is_err());
        assert!(PathPattern::new("[").is_err());
    }
}
