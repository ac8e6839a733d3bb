//! Files that git ignores, according to its ignore files.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::excludes::{Excludes, LONGEST_LIST};
use crate::tree::Tree;

/// The rules of one directory and all directories above it, up to the top of the repository.
#[derive(Debug, Clone)]
pub(super) struct Ignored<'a> {
    /// From the outermost to the innermost; the last match decides.
    rules: Vec<Gitignore>,
    excludes: &'a Excludes,
}

impl<'a> Ignored<'a> {
    /// Returns the rules of the working directory.
    pub(super) fn of(tree: &Tree, excludes: &'a Excludes) -> Self {
        let mut ignored = Self { rules: Vec::new(), excludes };
        for (directory, list) in &excludes.lists {
            ignored.add(Path::new("/").join(directory), list);
        }
        ignored.enter(tree, "");
        ignored
    }

    pub(super) fn enter(&mut self, tree: &Tree, directory: &str) {
        let file =
            if directory.is_empty() { ".gitignore".to_owned() } else { format!("{directory}/.gitignore") };
        let mut bytes = Vec::new();
        let Ok(opened) = tree.file(&file) else { return };
        if opened.take(LONGEST_LIST).read_to_end(&mut bytes).is_ok() {
            self.add(self.place(directory), &String::from_utf8_lossy(&bytes));
        }
    }

    /// Returns true if a path is ignored, provided that nothing above it is.
    pub(super) fn matches(&self, path: &str, is_directory: bool) -> bool {
        let path = self.place(path);
        let said = self.rules.iter().rev().map(|rules| rules.matched(&path, is_directory));
        said.into_iter().find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
    }

    /// Returns the number of entered directories that have rules.
    pub(super) fn depth(&self) -> usize {
        self.rules.len()
    }

    /// Leaves directories until this number with rules remains.
    pub(super) fn leave(&mut self, depth: usize) {
        self.rules.truncate(depth);
    }

    /// Returns a path from the top of the repository.
    fn place(&self, path: &str) -> PathBuf {
        Path::new("/").join(&self.excludes.prefix).join(path)
    }

    fn add(&mut self, directory: PathBuf, list: &str) {
        let mut builder = GitignoreBuilder::new(directory);
        // This applies to all patterns added later, and cannot fail.
        let _ = builder.case_insensitive(self.excludes.ignores_case);
        for line in list.lines() {
            // git ignores malformed patterns too.
            let _ = builder.add_line(None, line);
        }
        self.rules.extend(builder.build().ok().filter(|rules| !rules.is_empty()));
    }
}
