//! Which changes an agent is for.

use super::glob::NamePattern;
use super::path_pattern::PathPattern;
use super::python::PythonRegex;

/// Which changes an agent is for: any one of these conditions is enough.
#[derive(Debug, Clone, Default)]
pub struct Applicability {
    pub always: bool,
    pub(super) file_patterns: Vec<NamePattern>,
    pub(super) path_patterns: Vec<PathPattern>,
    pub(super) content_patterns: Vec<PythonRegex>,
    /// Files that count for none of the conditions and are not shown to the agent.
    pub(super) exclude_patterns: Vec<PathPattern>,
}

impl Applicability {
    /// For every change: what holds where a file says nothing.
    pub fn always() -> Self {
        Self { always: true, ..Self::default() }
    }

    /// Whether nothing can ever select it but its name.
    pub fn is_never(&self) -> bool {
        !self.always
            && self.file_patterns.is_empty()
            && self.path_patterns.is_empty()
            && self.content_patterns.is_empty()
    }

    /// Patterns for names of files, as written.
    pub fn file_patterns(&self) -> impl Iterator<Item = &str> {
        self.file_patterns.iter().map(NamePattern::source)
    }

    /// Patterns for paths, as written.
    pub fn path_patterns(&self) -> impl Iterator<Item = &str> {
        self.path_patterns.iter().map(PathPattern::source)
    }

    pub fn content_patterns(&self) -> impl Iterator<Item = &str> {
        self.content_patterns.iter().map(PythonRegex::source)
    }

    /// Patterns for paths that are left out, as written.
    pub fn exclude_patterns(&self) -> impl Iterator<Item = &str> {
        self.exclude_patterns.iter().map(PathPattern::source)
    }

    /// Whether a file is left out.
    pub fn excludes(&self, path: &str) -> bool {
        self.exclude_patterns.iter().any(|pattern| pattern.takes(path))
    }

    /// Whether the name or the path of a file, alone, selects the agent.
    pub fn takes_file(&self, path: &str) -> bool {
        let by_name = self.file_patterns.iter().any(|pattern| pattern.takes(path));
        by_name || self.path_patterns.iter().any(|pattern| pattern.takes(path))
    }
}
