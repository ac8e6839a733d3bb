//! The files of a worktree as a git tree, and the files that git neither stores nor ignores.

use crate::git_program::join_paths;
use crate::git_program::path_of;
use crate::git_program::split_paths;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::Repository;
use crate::error::RepositoryError;
use crate::git_program::{GitError, GitTerminalAccess, judge, run};
use crate::private_git::{PrivateGit, TemporaryDirectory, TemporaryDirectoryKind};
use crate::repository::OWN_RULES;
use crate::worktree::{CopiedFiles, Worktree};

/// The files of a worktree as a git tree. It ignores the index of the worktree, because an agent may have
/// marked files there as unchanged or skipped.
#[derive(Debug)]
pub(crate) struct Snapshot<'a> {
    pub(crate) private: PrivateGit<'a>,
    pub(crate) tree: String,
    /// Other repositories among the files. The tree does not contain them.
    pub(crate) embedded: Vec<PathBuf>,
    /// Filled submodules. The tree does not contain their files.
    pub(crate) filled: Vec<PathBuf>,
    /// Pipes, sockets and devices in place of files. Git cannot store them, so the tree still has the files.
    pub(crate) special: Vec<PathBuf>,
    /// Files that git skipped silently. The tree does not contain them.
    pub(crate) untaken: Vec<PathBuf>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum SnapshotScope<'a> {
    /// All files that git does not ignore.
    Visible,
    /// Also ignored files, unless the `.gitignore` files of this commit or the user's own rules ignore them.
    Hidden(&'a str),
}

impl Repository {
    /// Stores the files of a worktree as objects, on top of a commit.
    pub(crate) fn snapshot(
        &self,
        worktree: &Worktree,
        over: &str,
        copied: &[String],
        files: SnapshotScope<'_>,
    ) -> Result<Snapshot<'_>, RepositoryError> {
        let private = PrivateGit::make(self, Some(worktree.path()))?;
        let copied = CopiedFiles::new(copied, &self.frozen);
        private.run("read-tree", [over])?;
        // A non-zero exit status only means that files differ.
        private.holds("update-index", ["-q", "--refresh"])?;
        let gitlinks = gitlinks(&private)?;
        let changed = private.run("ls-files", ["-z", "--modified", "--deleted"])?;
        let left_out = self.left_out(&private, worktree)?;
        let others = private.run("ls-files", ["-z", "--others", "--exclude-standard"])?;
        let hidden = match files {
            SnapshotScope::Visible => Vec::new(),
            SnapshotScope::Hidden(commit) => self.hidden(&private, commit, &copied)?,
        };
        let is_gitlink = |path: &[u8]| gitlinks.contains(path);
        // A tracked file was not copied, or an agent committed it. The check before delivery finds it.
        let others = split_paths(&others).filter(|path| !copied.holds(path));
        let paths: BTreeSet<&[u8]> = split_paths(&changed)
            .filter(|path| !left_out.contains(*path))
            .chain(others)
            .chain(split_paths(&hidden))
            .collect();
        let (embedded, paths): (Vec<&[u8]>, Vec<&[u8]>) =
            paths.into_iter().filter(|path| !is_gitlink(path)).partition(|path| path.ends_with(b"/"));
        let (special, paths): (Vec<&[u8]>, Vec<&[u8]>) =
            paths.into_iter().partition(|path| is_special(&worktree.path().join(path_of(path))));
        let flags = ["--add", "--remove", "--replace", "-z", "--stdin"];
        private.feed("update-index", flags, &join_paths(paths)).map_err(RepositoryError::taking)?;
        // The worktree receives this index, so keep the marks for the next time.
        let marked = join_paths(left_out.iter().map(Vec::as_slice));
        private.feed("update-index", ["--skip-worktree", "-z", "--stdin"], &marked)?;
        let untaken = self.untaken(&private, worktree, &copied, files, &embedded)?;
        let tree = private.line("write-tree", [""; 0])?;
        let embedded = embedded.into_iter().map(|path| path_of(path).to_owned()).collect();
        let special = special.into_iter().map(|path| path_of(path).to_owned()).collect();
        let filled = gitlinks.iter().map(|path| path_of(path).to_owned()).filter(|path| {
            std::fs::read_dir(worktree.path().join(path)).is_ok_and(|mut inner| inner.next().is_some())
        });
        Ok(Snapshot { embedded, filled: filled.collect(), special, untaken, private, tree })
    }

    /// Returns files that a sparse checkout leaves out, by the worktree's index. They are not deleted.
    fn left_out(
        &self,
        private: &PrivateGit<'_>,
        worktree: &Worktree,
    ) -> Result<BTreeSet<Vec<u8>>, RepositoryError> {
        let missing = private.run("ls-files", ["-z", "--deleted"])?;
        if missing.is_empty() {
            return Ok(BTreeSet::new());
        }
        let marked = match self.own_index(worktree)?.run("ls-files", ["-z", "-t"]) {
            Ok(marked) => marked,
            // An unreadable index marks nothing.
            Err(RepositoryError::Git(GitError::Refused { .. })) => return Ok(BTreeSet::new()),
            Err(error) => return Err(error),
        };
        let marked: BTreeSet<&[u8]> =
            split_paths(&marked).filter_map(|entry| entry.strip_prefix(b"S ")).collect();
        Ok(split_paths(&missing).filter(|path| marked.contains(path)).map(<[u8]>::to_vec).collect())
    }

    /// Returns ignored files that the rules of a commit would not ignore, and all ignored repositories.
    fn hidden(
        &self,
        private: &PrivateGit<'_>,
        commit: &str,
        copied: &CopiedFiles,
    ) -> Result<Vec<u8>, RepositoryError> {
        let ignored = private.run("ls-files", ["-z", "--others", "--ignored", "--exclude-standard"])?;
        let ignored: Vec<&[u8]> = split_paths(&ignored).filter(|path| !copied.holds(path)).collect();
        if ignored.is_empty() {
            return Ok(Vec::new());
        }
        let may_go = self.ignored_by(commit, &ignored)?;
        // The commits of an embedded repository may exist nowhere else, so ignore rules do not matter.
        let stays = |path: &&[u8]| path.ends_with(b"/") || !may_go.contains(*path);
        Ok(join_paths(ignored.into_iter().filter(stays)))
    }

    /// Returns the paths that the rules of a commit, the user's rules or our own rules ignore.
    fn ignored_by(&self, commit: &str, paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, RepositoryError> {
        let scratch = TemporaryDirectory::make(self, TemporaryDirectoryKind::Git)?;
        let files = scratch.path().join("files");
        std::fs::create_dir(&files).map_err(RepositoryError::file("make", &files))?;
        let private = PrivateGit::make(self, Some(&files))?;
        // An agent may have added rules to `info/exclude`. Files that only they hide are rescued.
        private.write("info/exclude", OWN_RULES.as_bytes())?;
        private.run("read-tree", [commit])?;
        let tracked = private.run("ls-files", ["-z"])?;
        let is_rules = |path: &&[u8]| path.rsplit(|byte| *byte == b'/').next() == Some(b".gitignore");
        let files = join_paths(split_paths(&tracked).filter(is_rules));
        private.feed("checkout-index", ["-z", "--stdin"], &files)?;
        private.ignored(paths)
    }
}

impl PrivateGit<'_> {
    /// Returns the paths that the rules among the files and the global rules ignore.
    pub(crate) fn ignored(&self, paths: &[&[u8]]) -> Result<BTreeSet<Vec<u8>>, RepositoryError> {
        // Ask about a path inside an embedded repository, because git does not accept its trailing slash. The
        // leading `./` makes git read every argument as a path.
        let inside = |path: &[u8]| if path.ends_with(b"/") { &b"x"[..] } else { b"" };
        let asked: Vec<Vec<u8>> = paths.iter().map(|path| [b"./", *path, inside(path)].concat()).collect();
        let input = join_paths(asked.iter().map(Vec::as_slice));
        let mut git = self.command("check-ignore");
        // `check-ignore` refuses literal pathspecs, unlike other commands.
        git.env_remove("GIT_LITERAL_PATHSPECS").args(["-z", "--no-index", "--stdin"]);
        let output = run(&mut git, "check-ignore", Some(&input), GitTerminalAccess::Apart)?;
        // No path is ignored.
        if output.status.code() == Some(1) {
            return Ok(BTreeSet::new());
        }
        let said = judge(output, "check-ignore")?;
        let said: BTreeSet<&[u8]> = split_paths(&said).collect();
        let pairs = paths.iter().zip(&asked);
        Ok(pairs
            .filter(|(_, asked)| said.contains(asked.as_slice()))
            .map(|(path, _)| path.to_vec())
            .collect())
    }
}

fn is_special(path: &Path) -> bool {
    let is_known = |kind: std::fs::FileType| kind.is_file() || kind.is_dir() || kind.is_symlink();
    path.symlink_metadata().is_ok_and(|found| !is_known(found.file_type()))
}

fn gitlinks(private: &PrivateGit<'_>) -> Result<BTreeSet<Vec<u8>>, RepositoryError> {
    let staged = private.run("ls-files", ["-z", "--stage"])?;
    let gitlinks = split_paths(&staged).filter(|entry| entry.starts_with(b"160000 "));
    Ok(gitlinks
        .filter_map(|entry| entry.iter().position(|byte| *byte == b'\t').map(|tab| entry[tab + 1..].to_vec()))
        .collect())
}

const SHOWN: usize = 3;
const LENGTH: usize = 120;

/// The files that git accounts for, once its index has everything it knows.
struct AccountedFiles {
    /// Paths as git spells them, in lower case on a case-insensitive disk.
    paths: BTreeSet<Vec<u8>>,
    folds_case: bool,
    /// True if git spells non-ASCII names in other bytes than the disk.
    composes: bool,
}

impl Repository {
    /// Returns the files that git skipped without a rule. Git skips a directory that is unreadable or whose
    /// path is too long, and files named like its own. It warns at most, so this searches without git.
    pub(crate) fn untaken(
        &self,
        private: &PrivateGit<'_>,
        worktree: &Worktree,
        copied: &CopiedFiles,
        files: SnapshotScope<'_>,
        embedded: &[&[u8]],
    ) -> Result<Vec<PathBuf>, RepositoryError> {
        let tracked = private.run("ls-files", ["-z"])?;
        let flags = ["-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = private.run("ls-files", flags)?;
        let ignored: Vec<&[u8]> = split_paths(&ignored).collect();
        let ignored = self.may_stay(private, files, &ignored)?;
        let mut settled = AccountedFiles {
            paths: BTreeSet::new(),
            folds_case: self.frozen.is_on("core.ignorecase"),
            composes: self.frozen.is_on("core.precomposeunicode"),
        };
        let known =
            split_paths(&tracked).chain(ignored.iter().map(Vec::as_slice)).chain(embedded.iter().copied());
        for path in known {
            let path = settled.written(path.strip_suffix(b"/").unwrap_or(path));
            settled.paths.insert(path);
        }
        let found = settled.missing_below(worktree.path());
        let found: Vec<&[u8]> = found.iter().map(Vec::as_slice).filter(|path| !copied.holds(path)).collect();
        let ignored = self.may_stay(private, files, &found)?;
        let found: BTreeSet<&[u8]> =
            found.into_iter().filter(|path| !ignored.contains(*path)).map(whole).collect();
        Ok(found.into_iter().map(|path| path_of(path).to_owned()).collect())
    }

    /// Returns the paths that applicable rules ignore.
    fn may_stay(
        &self,
        private: &PrivateGit<'_>,
        files: SnapshotScope<'_>,
        paths: &[&[u8]],
    ) -> Result<BTreeSet<Vec<u8>>, RepositoryError> {
        match files {
            _ if paths.is_empty() => Ok(BTreeSet::new()),
            SnapshotScope::Visible => private.ignored(paths),
            SnapshotScope::Hidden(commit) => self.ignored_by(commit, paths),
        }
    }
}

impl AccountedFiles {
    /// Returns all unaccounted files below a directory, and unreadable directories.
    fn missing_below(&self, top: &Path) -> Vec<Vec<u8>> {
        let mut missing = Vec::new();
        let mut left = vec![Vec::new()];
        while let Some(directory) = left.pop() {
            let Ok(entries) = std::fs::read_dir(top.join(path_of(&directory))) else {
                missing.push(directory);
                continue;
            };
            for entry in entries {
                let Ok((name, kind)) = entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?)))
                else {
                    missing.push(directory.clone());
                    continue;
                };
                let is_own = directory.is_empty() && name == ".git";
                let above: &[u8] = if directory.is_empty() { b"" } else { b"/" };
                let path = [&directory, above, &name.into_vec()].concat();
                if is_own || self.holds(&path) {
                    continue;
                }
                if kind.is_dir() {
                    left.push(path);
                } else if kind.is_file() || kind.is_symlink() {
                    missing.push(path);
                }
            }
        }
        missing
    }

    fn holds(&self, path: &[u8]) -> bool {
        (self.composes && !path.is_ascii()) || self.paths.contains(&self.written(path))
    }

    fn written(&self, path: &[u8]) -> Vec<u8> {
        if self.folds_case { path.to_ascii_lowercase() } else { path.to_vec() }
    }
}

/// Returns the part of a path to report: for a directory named like a git directory, only that directory.
fn whole(path: &[u8]) -> &[u8] {
    let mut end = 0;
    for part in path.split(|byte| *byte == b'/') {
        end += part.len();
        if part.eq_ignore_ascii_case(b".git") {
            return &path[..end];
        }
        end += 1;
    }
    path
}

/// Formats some paths. An agent can create any number of them, of any length.
pub fn named(paths: &[PathBuf]) -> String {
    let mut words: Vec<String> = paths.iter().take(SHOWN).map(|path| shown(path)).collect();
    if let Some(more) = paths.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

pub(crate) fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_paths_are_named_and_nothing_of_endless_ones() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<PathBuf>>();
        assert_eq!(named(&paths(&["a", "b/c"])), "`a`, `b/c`");
        assert_eq!(named(&paths(&["a", "b", "c", "d", "e"])), "`a`, `b`, `c`, 2 more");
        let long = "é".repeat(200);
        assert_eq!(named(&paths(&[&long])), format!("`{}…`", "é".repeat(120)));
    }

    #[test]
    fn of_what_is_called_like_a_git_directory_that_is_named() {
        let check = |path: &str, expected: &str| assert_eq!(whole(path.as_bytes()), expected.as_bytes());
        check("s/.git/refs/x", "s/.git");
        check(".GIT/w", ".GIT");
        check("s/.gitignore", "s/.gitignore");
        check("s/x", "s/x");
    }

    // On such disks, git spells names in other bytes than the directory.
    #[test]
    fn a_name_counts_however_the_disk_writes_it() {
        let settled = |folds_case, composes| AccountedFiles {
            paths: BTreeSet::from([b"a.txt".to_vec()]),
            folds_case,
            composes,
        };
        assert!(settled(true, false).holds(b"A.TXT") && !settled(false, false).holds(b"A.TXT"));
        assert!(settled(false, true).holds("e\u{301}".as_bytes()) && !settled(false, true).holds(b"e"));
    }
}
