//! Which files git ignores, by the files that tell it so.

use std::io::Read as _;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::tree::Tree;

/// The rules that hold in one directory: its own and those of the directories above it, up to the root of the tree.
#[derive(Debug, Clone)]
pub(super) struct Ignored {
    /// The innermost last: the last that says something decides.
    rules: Vec<Gitignore>,
}

/// Longer than any list a person keeps.
const LONGEST: u64 = 1024 * 1024;

impl Ignored {
    /// The rules that hold in the root.
    pub(super) fn of(tree: &Tree) -> Self {
        let mut ignored = Self { rules: Vec::new() };
        ignored.read(tree, "", ".git/info/exclude");
        ignored.enter(tree, "");
        ignored
    }

    /// Adds the rules of a directory.
    pub(super) fn enter(&mut self, tree: &Tree, directory: &str) {
        let file =
            if directory.is_empty() { ".gitignore".to_owned() } else { format!("{directory}/.gitignore") };
        self.read(tree, directory, &file);
    }

    /// Whether a path is ignored, given that nothing above it is.
    pub(super) fn matches(&self, path: &str, is_directory: bool) -> bool {
        let path = Path::new("/").join(path);
        let said = self.rules.iter().rev().map(|rules| rules.matched(&path, is_directory));
        said.into_iter().find(|said| !said.is_none()).is_some_and(|said| said.is_ignore())
    }

    /// How many directories have been entered that have rules.
    pub(super) fn depth(&self) -> usize {
        self.rules.len()
    }

    /// Leaves directories until this many with rules are left.
    pub(super) fn leave(&mut self, depth: usize) {
        self.rules.truncate(depth);
    }

    fn read(&mut self, tree: &Tree, directory: &str, file: &str) {
        let mut bytes = Vec::new();
        let Ok(opened) = tree.file(file) else { return };
        if opened.take(LONGEST).read_to_end(&mut bytes).is_err() {
            return;
        }
        let mut builder = GitignoreBuilder::new(Path::new("/").join(directory));
        for line in String::from_utf8_lossy(&bytes).lines() {
            // A line that is no pattern says nothing to git either.
            let _ = builder.add_line(None, line);
        }
        self.rules.extend(builder.build().ok().filter(|rules| !rules.is_empty()));
    }
}
