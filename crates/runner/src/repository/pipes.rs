//! Pipes that an agent put where git reads: git would wait for ever for somebody to write into them.

use std::collections::BTreeSet;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use super::{Error, Repository, regular};

/// Directories of a repository of which git opens the files.
const FLAT: [&str; 3] = ["", "objects/info", "objects/pack"];
/// Those of which it also opens what lies further down.
const DEEP: [&str; 3] = ["refs", "logs", "worktrees"];
/// Files that git opens in every directory of a worktree.
const RULES: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

impl Repository {
    /// Makes sure that git waits for no pipe in the repository, nor among the files of a worktree.
    pub(super) fn refuse_pipes(&self, files: Option<&Path>) -> Result<(), Error> {
        let mut pipes = in_repository(&self.common);
        if let Some(files) = files {
            walk(files, |_| true, is_rules, &mut pipes);
        }
        refuse(pipes)
    }

    /// Makes sure that git waits for no pipe among the files of the user's checkout. What lies in other repositories there, worktrees
    /// among them, git does not read for it.
    pub(super) fn refuse_pipes_in_checkout(&self) -> Result<(), Error> {
        let mut pipes = Vec::new();
        let is_ours =
            |inner: &Path| !inner.ends_with(".git") && inner.join(".git").symlink_metadata().is_err();
        walk(&self.root, is_ours, is_rules, &mut pipes);
        refuse(pipes)
    }
}

/// Makes sure that git waits for no pipe in the repository that `root` is in. Git itself is not asked where that is.
pub(super) fn refuse_at(root: &Path) -> Result<(), Error> {
    let found = root.ancestors().map(|above| above.join(".git")).find(|git| git.symlink_metadata().is_ok());
    let Some(git) = found else { return Ok(()) };
    if git.is_dir() {
        return refuse(in_repository(&git));
    }
    if is_pipe(&git) {
        return refuse(vec![git]);
    }
    // A linked worktree names its own directory in the repository: `REPOSITORY/worktrees/NAME`.
    let said = regular::read(&git).unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let directory = said.strip_prefix("gitdir: ").map(|path| PathBuf::from(path.trim_end()));
    let common = directory.as_deref().and_then(Path::parent).filter(|above| above.ends_with("worktrees"));
    refuse(common.and_then(Path::parent).map(in_repository).unwrap_or_default())
}

fn refuse(mut paths: Vec<PathBuf>) -> Result<(), Error> {
    paths.sort();
    if paths.is_empty() { Ok(()) } else { Err(Error::Pipes { paths }) }
}

fn in_repository(common: &Path) -> Vec<PathBuf> {
    let mut pipes = Vec::new();
    for directory in FLAT {
        let entries = std::fs::read_dir(common.join(directory)).into_iter().flatten().flatten();
        pipes.extend(entries.map(|entry| entry.path()).filter(|path| is_pipe(path)));
    }
    for directory in DEEP {
        walk(&common.join(directory), |_| true, |_| true, &mut pipes);
    }
    pipes.extend(included(&common.join("config")).into_iter().filter(|path| is_pipe(path)));
    pipes
}

/// What a file of configuration includes, and what that includes. Git is not asked: it would open all of it.
fn included(configuration: &Path) -> BTreeSet<PathBuf> {
    let (mut found, mut left) = (BTreeSet::new(), vec![configuration.to_owned()]);
    while let Some(file) = left.pop() {
        let text = regular::read(&file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let beside = file.parent().unwrap_or(&file);
        for line in text.lines() {
            // It may stand behind the name of its section. Whatever else is called so does no harm.
            let said = line.rsplit(']').next().unwrap_or(line).trim();
            let Some((key, value)) = said.split_once('=') else { continue };
            if !key.trim().eq_ignore_ascii_case("path") {
                continue;
            }
            let value = value.trim().trim_matches('"');
            let path = match (value.strip_prefix("~/"), std::env::var_os("HOME")) {
                (Some(inner), Some(home)) => PathBuf::from(home).join(inner),
                _ => beside.join(value),
            };
            if found.insert(path.clone()) {
                left.push(path);
            }
        }
    }
    found
}

/// Looks through a directory and all below it. Links are not gone through: git does not either.
fn walk(
    top: &Path,
    enters: impl Fn(&Path) -> bool,
    counts: impl Fn(&Path) -> bool,
    pipes: &mut Vec<PathBuf>,
) {
    let mut directories = vec![top.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type());
            if kind.is_ok_and(|kind| kind.is_dir()) {
                if enters(&path) {
                    directories.push(path);
                }
            } else if counts(&path) && is_pipe(&path) {
                pipes.push(path);
            }
        }
    }
}

fn is_rules(path: &Path) -> bool {
    path.file_name().is_some_and(|name| RULES.iter().any(|rules| name == *rules))
}

/// Whether it is a pipe, or leads to one.
fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}
