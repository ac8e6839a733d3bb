//! Files of a worktree that git neither stores nor ignores.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use super::checkout::Copied;
use super::private::Private;
use super::snapshot::Files;
use super::{Error, Repository, Worktree, lists};

const SHOWN: usize = 3;
const LENGTH: usize = 120;

/// The files that git accounts for, once its index has everything it knows.
struct Settled {
    /// Paths as git spells them, in lower case on a case-insensitive disk.
    paths: BTreeSet<Vec<u8>>,
    folds_case: bool,
    /// True if git spells non-ASCII names in other bytes than the disk.
    composes: bool,
}

impl Repository {
    /// Returns the files that git skipped without a rule. Git skips a directory that is unreadable or whose
    /// path is too long, and files named like its own. It warns at most, so this searches without git.
    pub(super) fn untaken(
        &self,
        private: &Private<'_>,
        worktree: &Worktree,
        copied: &Copied,
        files: Files<'_>,
        embedded: &[&[u8]],
    ) -> Result<Vec<PathBuf>, Error> {
        let tracked = private.run("ls-files", ["-z"])?;
        let flags = ["-z", "--others", "--ignored", "--exclude-standard", "--directory"];
        let ignored = private.run("ls-files", flags)?;
        let ignored: Vec<&[u8]> = lists::split(&ignored).collect();
        let ignored = self.may_stay(private, files, &ignored)?;
        let mut settled = Settled {
            paths: BTreeSet::new(),
            folds_case: self.frozen.is_on("core.ignorecase"),
            composes: self.frozen.is_on("core.precomposeunicode"),
        };
        let known =
            lists::split(&tracked).chain(ignored.iter().map(Vec::as_slice)).chain(embedded.iter().copied());
        for path in known {
            let path = settled.written(path.strip_suffix(b"/").unwrap_or(path));
            settled.paths.insert(path);
        }
        let found = settled.missing_below(worktree.path());
        let found: Vec<&[u8]> = found.iter().map(Vec::as_slice).filter(|path| !copied.holds(path)).collect();
        let ignored = self.may_stay(private, files, &found)?;
        let found: BTreeSet<&[u8]> =
            found.into_iter().filter(|path| !ignored.contains(*path)).map(whole).collect();
        Ok(found.into_iter().map(|path| lists::path(path).to_owned()).collect())
    }

    /// Returns the paths that applicable rules ignore.
    fn may_stay(
        &self,
        private: &Private<'_>,
        files: Files<'_>,
        paths: &[&[u8]],
    ) -> Result<BTreeSet<Vec<u8>>, Error> {
        match files {
            _ if paths.is_empty() => Ok(BTreeSet::new()),
            Files::Visible => private.ignored(paths),
            Files::Hidden(commit) => self.ignored_by(commit, paths),
        }
    }
}

impl Settled {
    /// Returns all unaccounted files below a directory, and unreadable directories.
    fn missing_below(&self, top: &Path) -> Vec<Vec<u8>> {
        let mut missing = Vec::new();
        let mut left = vec![Vec::new()];
        while let Some(directory) = left.pop() {
            let Ok(entries) = std::fs::read_dir(top.join(lists::path(&directory))) else {
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

pub(super) fn shown(path: &Path) -> String {
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
        let settled = |folds_case, composes| Settled {
            paths: BTreeSet::from([b"a.txt".to_vec()]),
            folds_case,
            composes,
        };
        assert!(settled(true, false).holds(b"A.TXT") && !settled(false, false).holds(b"A.TXT"));
        assert!(settled(false, true).holds("e\u{301}".as_bytes()) && !settled(false, true).holds(b"e"));
    }
}
