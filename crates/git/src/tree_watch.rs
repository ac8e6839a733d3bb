//! The files of a directory after each turn, as one hash.
//!
//! The hash covers the files that differ from a fixed base. So it does not depend on commits, on the index or on
//! branches: it is equal if and only if the files are equal. One git lists the paths, against an index of our own, and
//! their content is read here. Nothing is written into the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use saihai_model::{TreeGap, TreeState};
use sha2::{Digest as _, Sha256};

use crate::diff::content_hash;
use crate::git_program::{GitError, GitTerminalAccess, judge, run_within, split_paths};
use crate::git_reader::Git;

/// Time limit of a git. A turn takes minutes, so a few seconds after it are bearable.
const LONGEST: Duration = Duration::from_secs(20);
/// Maximum number and bytes of files to read after a turn.
const MOST_FILES: usize = 3_000;
const MOST_BYTES: u64 = 64 * 1024 * 1024;
/// Length of the hash, in hexadecimal digits.
const ID: usize = 12;

/// Compares the files of a directory with those at a fixed commit.
#[derive(Debug)]
pub struct TreeWatch {
    git: Git,
    base: String,
    /// Our own index with the files of the base.
    index: PathBuf,
    /// Directories that do not count, relative to the root.
    left_out: Vec<PathBuf>,
    previous: Option<DifferingFiles>,
}

/// Files that differ from the base, and a hash of each.
type DifferingFiles = BTreeMap<PathBuf, String>;

impl TreeWatch {
    /// Prepares the comparison of the repository around a directory. `base` defaults to the checked-out commit. `index`
    /// is a file that this watch may write.
    pub fn open(
        directory: &Path,
        base: Option<&str>,
        index: PathBuf,
        left_out: &[PathBuf],
    ) -> Result<Self, TreeGap> {
        let directory = directory.canonicalize().map_err(|_| TreeGap::NoRepository)?;
        let top = directory.ancestors().find(|place| place.join(".git").symlink_metadata().is_ok());
        let top = top.ok_or(TreeGap::NoRepository)?;
        let git = Git::open(top).map_err(gap)?.ok_or(TreeGap::NoRepository)?;
        let left_out = left_out.iter().filter_map(|path| path.canonicalize().ok());
        let left_out = left_out.filter_map(|path| path.strip_prefix(top).map(Path::to_owned).ok()).collect();
        let base = match base {
            Some(base) => base.to_owned(),
            None => match git.ask("rev-parse", &["--verify", "--quiet", "HEAD^{commit}"]).map_err(gap)? {
                Some(head) => head,
                None => git.empty_tree().map_err(gap)?,
            },
        };
        let watch = Self { git, base, index, left_out, previous: None };
        watch.fill_index()?;
        Ok(watch)
    }

    /// Starts from a copy of the index in use, because it knows which files are unchanged.
    fn fill_index(&self) -> Result<(), TreeGap> {
        let used = self.git.say("rev-parse", &["--git-path", "index"]).map_err(gap)?;
        let used = self.git.root.join(used.trim_end_matches('\n'));
        // Without a copy, git reads every file once.
        drop(fs::remove_file(&self.index));
        drop(fs::copy(used, &self.index));
        self.run("read-tree", &["--reset", &self.base])?;
        // A non-zero exit status only means that files differ.
        let mut refresh = self.command("update-index");
        refresh.args(["-q", "--really-refresh"]);
        run_within(&mut refresh, "update-index", None, GitTerminalAccess::Apart, LONGEST).map_err(gap)?;
        let staged = self.run("ls-files", &["-z", "--stage"])?;
        let links = split_paths(&staged).filter(|entry| entry.starts_with(b"160000 "));
        let filled = links.filter_map(|entry| entry.split(|byte| *byte == b'\t').nth(1)).any(|path| {
            let directory = self.git.root.join(crate::git_program::path_of(path));
            fs::read_dir(directory).is_ok_and(|mut inner| inner.next().is_some())
        });
        // Git does not list the files of a submodule.
        if filled { Err(TreeGap::EmbeddedRepository) } else { Ok(()) }
    }

    /// Looks at the files. Costs one git.
    pub fn look(&mut self) -> Result<TreeState, TreeGap> {
        let listed =
            self.run("ls-files", &["-z", "--modified", "--deleted", "--others", "--exclude-standard"])?;
        let paths: BTreeSet<&Path> = split_paths(&listed).map(crate::git_program::path_of).collect();
        let mut files = DifferingFiles::new();
        let mut bytes = 0;
        for path in paths.into_iter().filter(|path| !self.is_left_out(path)) {
            let file = self.git.root.join(path);
            let metadata = fs::symlink_metadata(&file).ok();
            if metadata.as_ref().is_some_and(fs::Metadata::is_dir) {
                return Err(TreeGap::EmbeddedRepository);
            }
            bytes += metadata.as_ref().map_or(0, fs::Metadata::len);
            if files.len() >= MOST_FILES || bytes > MOST_BYTES {
                return Err(TreeGap::TooManyFiles);
            }
            files.insert(path.to_owned(), state_of(&file, metadata.as_ref()));
        }
        let changed = self.previous.as_ref().and_then(|previous| changed_paths(previous, &files));
        let id = self.id(&files);
        self.previous = Some(files);
        Ok(TreeState { id, base: self.base.clone(), changed })
    }

    fn is_left_out(&self, path: &Path) -> bool {
        let is_own = |part: std::path::Component<'_>| {
            [".saihai", ".worktrees"].iter().any(|own| part.as_os_str() == *own)
        };
        path.components().any(is_own) || self.left_out.iter().any(|left| path.starts_with(left))
    }

    fn id(&self, files: &DifferingFiles) -> String {
        let mut hash = Sha256::new();
        hash.update(self.base.as_bytes());
        for (path, state) in files {
            let path = path.as_os_str().as_encoded_bytes();
            hash.update([0]);
            hash.update(path);
            hash.update([0]);
            hash.update(state);
        }
        hash.finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
            .chars()
            .take(ID)
            .collect()
    }

    fn run(&self, command: &'static str, arguments: &[&str]) -> Result<Vec<u8>, TreeGap> {
        let mut git = self.command(command);
        let output = run_within(git.args(arguments), command, None, GitTerminalAccess::Apart, LONGEST);
        output.and_then(|output| judge(output, command)).map_err(gap)
    }

    fn command(&self, command: &str) -> Command {
        let mut git = self.git.command(command);
        git.env("GIT_INDEX_FILE", &self.index);
        git
    }
}

impl Drop for TreeWatch {
    fn drop(&mut self) {
        // It is also removed with its directory.
        drop(fs::remove_file(&self.index));
    }
}

fn gap(error: GitError) -> TreeGap {
    match error {
        GitError::Ended { .. } => TreeGap::TooSlow,
        GitError::Missing(_) => TreeGap::NoRepository,
        _ => TreeGap::Git,
    }
}

/// Returns the kind and the content of a file, as far as git stores them.
fn state_of(file: &Path, metadata: Option<&fs::Metadata>) -> String {
    let Some(metadata) = metadata else { return "deleted".to_owned() };
    let kind = match metadata {
        link if link.is_symlink() => "link",
        file if file.permissions().mode() & 0o100 != 0 => "program",
        _ => "file",
    };
    let hash: String =
        content_hash(file).unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{kind} {hash}")
}

/// Returns the paths that differ between two states; `None` if they are too many.
fn changed_paths(before: &DifferingFiles, after: &DifferingFiles) -> Option<Vec<String>> {
    let all: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
    let changed = all.into_iter().filter(|path| before.get(*path) != after.get(*path));
    let changed: Vec<String> = changed.map(|path| path.to_string_lossy().into_owned()).collect();
    (changed.len() <= TreeState::MOST_PATHS).then_some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Repository;

    fn project() -> Repository {
        let repository = Repository::new();
        repository.write("src/a.rs", "one\n").write("src/b.rs", "two\n").commit("first");
        repository
    }

    fn watch(repository: &Repository, base: Option<&str>) -> Result<TreeWatch, TreeGap> {
        let index = repository.root().parent().unwrap().join("index");
        TreeWatch::open(repository.root(), base, index, &[repository.root().join("reports")])
    }

    // N-10
    #[test]
    fn the_id_depends_on_the_files_alone() {
        let repository = project();
        repository.write("reports/r.md", "first");
        let mut watch = watch(&repository, None).unwrap();
        let start = watch.look().unwrap();
        repository.write("src/a.rs", "changed\n");
        let changed = watch.look().unwrap();
        repository.commit("by an agent");
        assert_eq!(watch.look().unwrap().id, changed.id, "a commit changes no file");
        repository.git(&["rm", "--quiet", "--cached", "src/b.rs"]);
        repository.write("reports/r.md", "x").write(".saihai/runs/1/journal.ndjson", "x");
        assert_eq!(watch.look().unwrap().id, changed.id, "the index, reports and our own files do not count");
        repository.write("new.txt", "x");
        let new = watch.look().unwrap();
        fs::remove_file(repository.root().join("new.txt")).unwrap();
        repository.write("src/a.rs", "one\n");
        let back = watch.look().unwrap();
        assert_eq!((back.id == start.id, new.id != changed.id, changed.id != start.id), (true, true, true));
        assert_eq!((start.changed, changed.changed), (None, Some(vec!["src/a.rs".to_owned()])));
        assert_eq!(
            (new.changed, back.changed),
            (Some(vec!["new.txt".to_owned()]), Some(vec!["new.txt".to_owned(), "src/a.rs".to_owned()]),)
        );
        // Another process continues from the same base.
        let base = start.base.clone();
        drop(watch);
        assert_eq!(super::tests::watch(&repository, Some(&base)).unwrap().look().unwrap().id, start.id);
        assert!(!repository.root().parent().unwrap().join("index").exists());
    }

    // N-10
    #[test]
    fn files_that_cannot_be_compared_are_a_gap() {
        let empty = Repository::new();
        empty.write("a", "x");
        let mut without_commits = watch(&empty, None).unwrap();
        let one = without_commits.look().unwrap();
        empty.write("a", "y");
        assert_ne!(without_commits.look().unwrap().id, one.id);

        let directory = tempfile::tempdir().unwrap();
        let plain = TreeWatch::open(directory.path(), None, directory.path().join("index"), &[]);
        assert_eq!(plain.err(), Some(TreeGap::NoRepository));

        let outer = project();
        let mut watched = watch(&outer, None).unwrap();
        let inner = outer.root().join("inner");
        fs::create_dir(&inner).unwrap();
        let git = |arguments: &[&str]| {
            let path = inner.to_str().unwrap();
            outer.git(&[&["-C", path][..], arguments].concat());
        };
        git(&["init", "--quiet"]);
        fs::write(inner.join("f"), "x").unwrap();
        git(&["add", "f"]);
        git(&["commit", "--quiet", "--message", "inner"]);
        assert_eq!(watched.look().err(), Some(TreeGap::EmbeddedRepository));
        // A submodule.
        outer.git(&["add", "inner"]).git(&["commit", "--quiet", "--message", "submodule"]);
        assert_eq!(watch(&outer, None).err(), Some(TreeGap::EmbeddedRepository));

        let many = project();
        let mut watched = watch(&many, None).unwrap();
        for number in 0..=MOST_FILES {
            many.write(&format!("many/{number}"), "x");
        }
        assert_eq!(watched.look().err(), Some(TreeGap::TooManyFiles));
    }
}
