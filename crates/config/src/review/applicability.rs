use super::glob::NamePattern;
use super::path_pattern::PathPattern;
use super::python::PythonRegex;

/// Changes that an agent applies to. Any one of these conditions is enough.
#[derive(Debug, Clone, Default)]
pub struct Applicability {
    pub always: bool,
    pub(super) file_patterns: Vec<NamePattern>,
    pub(super) path_patterns: Vec<PathPattern>,
    pub(super) content_patterns: Vec<PythonRegex>,
    /// Files that no condition considers and the agent never sees.
    pub(super) exclude_patterns: Vec<PathPattern>,
}

impl Applicability {
    /// Applies to every change. This is the default if a file has no `[applicability]`.
    pub fn always() -> Self {
        Self { always: true, ..Self::default() }
    }

    /// Returns true if only an explicit name can select the agent.
    pub fn is_never(&self) -> bool {
        !self.always
            && self.file_patterns.is_empty()
            && self.path_patterns.is_empty()
            && self.content_patterns.is_empty()
    }

    pub fn file_patterns(&self) -> impl Iterator<Item = &str> {
        self.file_patterns.iter().map(NamePattern::source)
    }

    pub fn path_patterns(&self) -> impl Iterator<Item = &str> {
        self.path_patterns.iter().map(PathPattern::source)
    }

    pub fn content_patterns(&self) -> impl Iterator<Item = &str> {
        self.content_patterns.iter().map(PythonRegex::source)
    }

    pub fn exclude_patterns(&self) -> impl Iterator<Item = &str> {
        self.exclude_patterns.iter().map(PathPattern::source)
    }

    pub fn excludes(&self, path: &str) -> bool {
        self.exclude_patterns.iter().any(|pattern| pattern.takes(path))
    }

    /// Returns true if the name or path of the file alone selects the agent.
    pub fn takes_file(&self, path: &str) -> bool {
        let by_name = self.file_patterns.iter().any(|pattern| pattern.takes(path));
        by_name || self.path_patterns.iter().any(|pattern| pattern.takes(path))
    }
}
