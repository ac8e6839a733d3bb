//! Differences between trees and files, and a watch for files that change while agents should only read.

use crate::git_program::split_paths;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::ChildStdout;

use sha2::{Digest as _, Sha256};

use crate::git_program::{GitError, stream};
use crate::git_reader::{Git, is_own};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    /// The path. For a deleted file, the former path.
    pub path: String,
    /// The path before a rename.
    pub previous: Option<String>,
    pub section: FileDiff,
    /// The raw names, which need not be UTF-8. After a rename, the new name comes last.
    pub(crate) names: Vec<OsString>,
    /// The object names before and after. Zeros mean no file, or a file that exists only in the directory.
    pub(crate) objects: [String; 2],
}

/// The difference in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileDiff {
    /// The bytes of its section of the patch.
    Text(Vec<u8>),
    Binary,
    /// A submodule at another commit.
    Submodule,
}

/// Lines added to a file and removed from it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChangedLineCounts {
    pub added: u64,
    pub removed: u64,
}

impl FileDiff {
    /// Counts the changed lines. Binary files and submodules have none.
    pub(crate) fn line_counts(&self) -> ChangedLineCounts {
        let mut counts = ChangedLineCounts::default();
        let Self::Text(patch) = self else { return counts };
        let mut is_body = false;
        for line in patch.split(|byte| *byte == b'\n') {
            is_body |= line.starts_with(b"@@");
            match line.first() {
                Some(b'+') if is_body => counts.added += 1,
                Some(b'-') if is_body => counts.removed += 1,
                _ => {}
            }
        }
        counts
    }
}

struct RawDiffEntry {
    modes: [String; 2],
    objects: [String; 2],
    status: char,
    names: Vec<OsString>,
}

/// Parses the output. Returns `None` if it is malformed.
pub(crate) fn parse_diff(said: &[u8]) -> Option<Vec<ChangedFile>> {
    if said.is_empty() {
        return Some(Vec::new());
    }
    let (raws, patch) = raws(said)?;
    let mut sections = sections(patch).into_iter();
    let mut changed = Vec::new();
    for raw in raws {
        // A change of type has two sections, a deletion and a creation. An unmerged file has none.
        let count = match raw.status {
            'U' => 0,
            'T' => 2,
            _ => 1,
        };
        let own: Vec<Vec<u8>> = sections.by_ref().take(count).collect();
        if own.len() < count {
            return None;
        }
        if count == 0 {
            continue;
        }
        let text = own.concat();
        let mut paths = raw.names.iter().rev().map(|name| name.to_string_lossy().into_owned());
        let (path, previous) = (paths.next()?, paths.next());
        let section = if raw.modes.iter().any(|mode| mode == "160000") {
            FileDiff::Submodule
        } else if text.split(|byte| *byte == b'\n').any(is_binary_mark) {
            FileDiff::Binary
        } else {
            FileDiff::Text(text)
        };
        changed.push(ChangedFile { path, previous, section, names: raw.names, objects: raw.objects });
    }
    sections.next().is_none().then_some(changed)
}

/// Returns true for git's note about a binary file. A line of content starts with a space, `+`, `-` or `\`.
fn is_binary_mark(line: &[u8]) -> bool {
    line.starts_with(b"Binary files ") && line.ends_with(b" differ")
}

/// Parses the `--raw` records up to the empty one, and returns the rest.
fn raws(said: &[u8]) -> Option<(Vec<RawDiffEntry>, &[u8])> {
    let (mut raws, mut rest) = (Vec::new(), said);
    while rest.first() == Some(&b':') {
        let head = take(&mut rest)?.to_str()?;
        let fields: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old, new, before, after, status] = fields.as_slice() else { return None };
        let status = status.chars().next()?;
        let count = if matches!(status, 'R' | 'C') { 2 } else { 1 };
        let names = (0..count).map(|_| take(&mut rest).map(OsStr::to_owned)).collect::<Option<Vec<_>>>()?;
        let (modes, objects) = ([old, new], [before, after]);
        let [modes, objects] = [modes, objects].map(|both| both.map(|one| (*one).to_owned()));
        raws.push(RawDiffEntry { modes, objects, status, names });
    }
    Some((raws, rest.strip_prefix(b"\0").unwrap_or(rest)))
}

/// Takes the bytes before the next NUL.
fn take<'s>(rest: &mut &'s [u8]) -> Option<&'s OsStr> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let taken = OsStr::from_bytes(&rest[..end]);
    *rest = &rest[end + 1..];
    Some(taken)
}

/// Splits a patch before each line that starts a file.
fn sections(patch: &[u8]) -> Vec<Vec<u8>> {
    let mut sections: Vec<Vec<u8>> = Vec::new();
    for line in patch.split_inclusive(|byte| *byte == b'\n') {
        if line.starts_with(b"diff --git ") {
            sections.push(Vec::new());
        }
        if !line.starts_with(b"* Unmerged path ")
            && let Some(section) = sections.last_mut()
        {
            section.extend_from_slice(line);
        }
    }
    sections
}

/// The first bytes of a file, and its size.
#[derive(Debug)]
pub struct FileStart {
    pub bytes: Vec<u8>,
    pub size: u64,
}

impl Git {
    /// Returns the first bytes of a changed file before and after the change, if they exist.
    pub fn begun(&self, changed: &ChangedFile, most: usize) -> Result<Vec<FileStart>, GitError> {
        let is_named = |object: &&String| object.bytes().any(|digit| digit != b'0');
        let [before, after] = &changed.objects;
        let object = |object: &String| match self.begun_object(object, most) {
            // Git also prints object names for compared files of the directory that it does not store.
            Err(GitError::Refused { .. }) => Ok(None),
            read => read.map(Some),
        };
        let mut all = Vec::new();
        if is_named(&before) {
            all.extend(object(before)?);
        }
        let after = if is_named(&after) { object(after)? } else { None };
        // A version without an object is in the directory, unless it was deleted.
        all.extend(after.or_else(|| self.begun_file(changed.names.last()?, most)));
        Ok(all)
    }

    fn begun_object(&self, object: &str, most: usize) -> Result<FileStart, GitError> {
        let unreadable = || GitError::Unreadable { command: "cat-file" };
        let size = self.say("cat-file", &["-s", object])?.trim().parse().map_err(|_| unreadable())?;
        let mut git = self.command("cat-file");
        let read = |said: ChildStdout| {
            let mut bytes = Vec::new();
            said.take(most as u64).read_to_end(&mut bytes).map(|_| bytes)
        };
        let bytes = stream(git.args(["blob", object]), "cat-file", b"", read)?;
        Ok(FileStart { bytes, size })
    }

    fn begun_file(&self, path: &OsStr, most: usize) -> Option<FileStart> {
        let file = self.root.join(path);
        let metadata = fs::symlink_metadata(&file).ok().filter(fs::Metadata::is_file)?;
        let mut bytes = Vec::new();
        File::open(file).ok()?.take(most as u64).read_to_end(&mut bytes).ok()?;
        Some(FileStart { bytes, size: metadata.len() })
    }
}

/// The differences between the files and a commit at one time.
#[derive(Debug)]
pub struct TrackedFileWatch {
    git: Git,
    tree: String,
    before: BTreeMap<String, Vec<u8>>,
}

impl TrackedFileWatch {
    pub fn now(git: Git) -> Result<Self, GitError> {
        let tree = git.head_tree()?;
        let before = git.differing(&tree)?;
        Ok(Self { git, tree, before })
    }

    /// Returns the files that any process changed since the last call. Their new content is the reference.
    pub fn take_changed(&mut self) -> Result<Vec<String>, GitError> {
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
    pub(crate) fn head_tree(&self) -> Result<String, GitError> {
        match self.ask("rev-parse", &["--verify", "--quiet", "HEAD^{tree}"])? {
            Some(tree) => Ok(tree),
            None => self.empty_tree(),
        }
    }

    /// Returns the paths of tracked files that differ from a tree.
    pub(crate) fn differing_paths(&self, tree: &str) -> Result<Vec<String>, GitError> {
        let flags = ["--name-only", "-z", "--no-ext-diff", "--no-textconv", "--no-renames"];
        let flags = [&flags[..], &["--ignore-submodules=dirty", tree, "--"]].concat();
        let said = self.run("diff", &flags)?;
        let paths = split_paths(&said);
        Ok(paths
            .map(|path| String::from_utf8_lossy(path).into_owned())
            .filter(|path| !is_own(path))
            .collect())
    }

    /// Returns these files with hashes of their content. A deleted file counts as empty.
    fn differing(&self, tree: &str) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
        let hash = |path: String| {
            let hash = content_hash(&self.root.join(&path)).unwrap_or_default();
            (path, hash)
        };
        Ok(self.differing_paths(tree)?.into_iter().map(hash).collect())
    }
}

/// Returns a hash of a file's content or link target. Reading a pipe could block forever, so it has none.
pub(crate) fn content_hash(file: &Path) -> Option<Vec<u8>> {
    let metadata = fs::symlink_metadata(file).ok()?;
    let bytes = if metadata.is_symlink() {
        fs::read_link(file).ok()?.as_os_str().as_encoded_bytes().to_vec()
    } else if metadata.is_file() {
        fs::read(file).ok()?
    } else {
        return None;
    };
    Some(Sha256::digest(&bytes).to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Repository;

    fn check(said: &str, expected: &[(&str, Option<&str>, &str)]) {
        let changed = parse_diff(said.as_bytes()).unwrap();
        let shown: Vec<(&str, Option<&str>, String)> = changed
            .iter()
            .map(|one| {
                let section = match &one.section {
                    FileDiff::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    other @ (FileDiff::Binary | FileDiff::Submodule) => format!("{other:?}"),
                };
                (one.path.as_str(), one.previous.as_deref(), section)
            })
            .collect();
        let shown: Vec<_> = shown.iter().map(|(path, old, text)| (*path, *old, text.as_str())).collect();
        assert_eq!(shown, expected);
    }

    // U-5, V-3
    #[test]
    fn changed_lines_are_those_of_the_patch_and_not_of_its_head() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n+--- d\n";
        let counts = FileDiff::Text(patch.to_vec()).line_counts();
        assert_eq!(counts, ChangedLineCounts { added: 2, removed: 1 });
        assert_eq!(FileDiff::Binary.line_counts(), ChangedLineCounts::default());
    }

    // U-5, V-3
    #[test]
    fn new_files_count_and_saihais_own_do_not() {
        let repository = Repository::new();
        repository.write("kept", "a\n").write("gone", "a\nb\n").commit("one");
        repository.write("kept", "b\nc\n").write("new", "1\n2\n3").write("binary", "1\0\n");
        repository.write(".saihai/runs/x/journal.ndjson", "{}\n");
        std::fs::remove_file(repository.root().join("gone")).unwrap();
        let git = crate::Git::open(repository.root()).unwrap().unwrap();
        let lines = git.changed_lines(&["HEAD"]).unwrap();
        let lines: Vec<(&str, u64, u64)> =
            lines.iter().map(|(path, lines)| (path.as_str(), lines.added, lines.removed)).collect();
        assert_eq!(lines, [("binary", 0, 0), ("gone", 0, 2), ("kept", 2, 1), ("new", 3, 0)]);
    }

    //
    #[test]
    fn paths_come_from_the_raw_lines_and_texts_from_the_patch() {
        check("", &[]);
        check(
            ":100644 100644 a b M\0x\n.py\0:100644 100644 a b R090\0old\0new\0:100644 120000 a b T\0t\0\
             :000000 000000 a b U\0u\0:160000 160000 a b M\0sub\0:100644 100644 a b M\0logo\0\0\
             diff --git \"a/x\\n.py\" \"b/x\\n.py\"\n+diff --git in text\n\
             diff --git a/old b/new\n-1\ndiff --git a/t b/t\n-2\ndiff --git a/t b/t\n+2\n* Unmerged path u\n\
             diff --git a/sub b/sub\n-Subproject commit a\ndiff --git a/logo b/logo\nBinary files a/logo and b/logo differ\n",
            &[
                ("x\n.py", None, "diff --git \"a/x\\n.py\" \"b/x\\n.py\"\n+diff --git in text\n"),
                ("new", Some("old"), "diff --git a/old b/new\n-1\n"),
                ("t", None, "diff --git a/t b/t\n-2\ndiff --git a/t b/t\n+2\n"),
                ("sub", None, "Submodule"),
                ("logo", None, "Binary"),
            ],
        );
    }

    #[test]
    fn what_does_not_fit_together_is_not_guessed_at() {
        assert_eq!(parse_diff(b":100644 100644 a b M\0x\0\0diff --git a b\ndiff --git c d\n"), None);
        assert_eq!(parse_diff(b":100644 100644 a b M\0x\0\0"), None);
        assert_eq!(parse_diff(b":100644 100644 a M\0x\0\0"), None);
        assert_eq!(parse_diff(b":100644 100644 a b M"), None);
    }

    #[test]
    fn only_tracked_files_that_changed_since_are_named() {
        let repository = Repository::new();
        repository.write("kept", "1\n").write("edited", "1\n").write("gone", "1\n").write("back", "1\n");
        repository.commit("first").write("edited", "2\n").write("back", "2\n").write("new", "1\n");
        let mut tracked = TrackedFileWatch::now(Git::open(repository.root()).unwrap().unwrap()).unwrap();
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
