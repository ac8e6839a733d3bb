//! Detects changes to files while agents should only read.

use std::collections::BTreeMap;
use std::fs;

use sha2::{Digest as _, Sha256};

use super::{Error, Git, is_own};

/// The differences between the files and a commit at one time.
#[derive(Debug)]
pub struct Tracked {
    git: Git,
    tree: String,
    before: BTreeMap<String, Vec<u8>>,
}

impl Tracked {
    pub fn now(git: Git) -> Result<Self, Error> {
        let tree = git.head_tree()?;
        let before = git.differing(&tree)?;
        Ok(Self { git, tree, before })
    }

    /// Returns the files that have changed since the last call, by any process. Their new content becomes the
    /// reference.
    pub fn take_changed(&mut self) -> Result<Vec<String>, Error> {
        let after = self.git.differing(&self.tree)?;
        let before = std::mem::replace(&mut self.before, after);
        let after = &self.before;
        let paths = after.keys().chain(before.keys().filter(|path| !after.contains_key(*path)));
        let mut changed: Vec<String> =
            paths.filter(|path| after.get(*path) != before.get(*path)).cloned().collect();
        changed.sort();
        Ok(changed)
    }
}

impl Git {
    /// Returns the tree of HEAD, or the empty tree before the first commit.
    pub(super) fn head_tree(&self) -> Result<String, Error> {
        match self.ask("rev-parse", &["--verify", "--quiet", "HEAD^{tree}"])? {
            Some(tree) => Ok(tree),
            None => self.empty_tree(),
        }
    }

    /// Returns the paths of tracked files that differ from a tree.
    pub(super) fn differing_paths(&self, tree: &str) -> Result<Vec<String>, Error> {
        let flags = ["--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames"];
        let flags = [&flags[..], &["--ignore-submodules=dirty", tree, "--"]].concat();
        let said = self.run("diff", &flags)?;
        let paths = said.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .filter(|path| !is_own(path))
            .collect())
    }

    /// Returns these files with hashes of their content. A deleted file counts as empty.
    fn differing(&self, tree: &str) -> Result<BTreeMap<String, Vec<u8>>, Error> {
        let hash = |path: String| {
            let file = self.root.join(&path);
            let content = match fs::symlink_metadata(&file) {
                Ok(metadata) if metadata.is_file() => fs::read(&file).ok(),
                Ok(_) => {
                    fs::read_link(&file).map(|target| target.as_os_str().as_encoded_bytes().to_vec()).ok()
                }
                Err(_) => None,
            };
            (path, content.map(|bytes| Sha256::digest(&bytes).to_vec()).unwrap_or_default())
        };
        Ok(self.differing_paths(tree)?.into_iter().map(hash).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Repository;

    #[test]
    fn only_tracked_files_that_changed_since_are_named() {
        let repository = Repository::new();
        repository.write("kept", "1\n").write("edited", "1\n").write("gone", "1\n").write("back", "1\n");
        repository.commit("first").write("edited", "2\n").write("back", "2\n").write("new", "1\n");
        let mut tracked = Tracked::now(Git::open(repository.root()).unwrap().unwrap()).unwrap();
        assert_eq!(tracked.take_changed().unwrap(), [""; 0]);
        repository.write("edited", "3\n").write("back", "1\n").write("new", "2\n").write("newer", "1\n");
        repository.write(".saihai/runs/x/journal.ndjson", "{}\n");
        fs::remove_file(repository.root().join("gone")).unwrap();
        assert_eq!(tracked.take_changed().unwrap(), ["back", "edited", "gone"]);
        assert_eq!(tracked.take_changed().unwrap(), [""; 0], "it is told once");
        repository.write("gone", "1\n").write("edited", "1\n");
        assert_eq!(tracked.take_changed().unwrap(), ["edited", "gone"]);
    }
}
