//! Paths of values in a document: `movements[2].rules[0].next`.

use std::fmt;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    Key(Arc<str>),
    Index(usize),
}

/// Path of a value in its document. The empty path is the document itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DocumentPath(Vec<Step>);

impl DocumentPath {
    pub fn root() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn key(&self, key: impl Into<Arc<str>>) -> Self {
        self.with(Step::Key(key.into()))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Step::Index(index))
    }

    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Parses keys joined by dots, such as `retry.max_wait`.
    pub fn of_keys(keys: &str) -> Self {
        Self(keys.split('.').map(|key| Step::Key(key.into())).collect())
    }

    /// Returns the step at this index, if it is a key.
    pub fn key_at(&self, number: usize) -> Option<&str> {
        match self.0.get(number) {
            Some(Step::Key(key)) => Some(key),
            Some(Step::Index(_)) | None => None,
        }
    }

    /// Returns the last step, if it is a key.
    pub fn last_key(&self) -> Option<&str> {
        self.key_at(self.0.len().checked_sub(1)?)
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the last key and the rest after it: `rules[0]` for `movements[2].rules[0]`.
    pub fn tail(&self) -> String {
        let keys = self.0.iter().rposition(|step| matches!(step, Step::Key(_)));
        Self(self.0[keys.unwrap_or(0)..].to_vec()).to_string()
    }

    fn with(&self, step: Step) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if is_plain(key) => {
                    f.write_str(if position == 0 { "" } else { "." })?;
                    f.write_str(key)?;
                }
                Step::Key(key) => write!(f, "[{key:?}]")?,
            }
        }
        Ok(())
    }
}

/// Returns true if a key needs no quotes in a path.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}
