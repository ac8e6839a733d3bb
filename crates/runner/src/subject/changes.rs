//! Changes: all differences from the merge base of the current branch.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use saihai_model::{LeftOut, Subject, SubjectFile, SubjectMode};

use super::Error;
use super::text::{Content, LARGEST, LOOKED_AT, content, is_binary, of_bytes, without_content};
use crate::git::{self, Branch, Changed, Git, Section, is_own};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Base {
    /// A revision named for this review.
    Named(String),
    /// The usual base revision of the project. It may be missing before the first commit.
    Usual(String),
    /// The default branch of this remote, else `main`, else `master`.
    Found { remote: String },
}

/// Selects whether untracked files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untracked {
    Counted,
    LeftOut,
}

/// Returns all differences between the merge base of HEAD and the current files: commits, staged and unstaged
/// edits, and new files.
pub fn changes(root: &Path, base: &Base, untracked: Untracked) -> Result<Subject, Error> {
    taken(root, base, untracked, None)
}

/// Returns the changes for a run that started at commit `began`. If an agent committed onto the base itself,
/// HEAD is the merge base. The differences since the start of the run are then all there is.
pub(crate) fn changes_since(root: &Path, base: &Base, began: Option<&str>) -> Result<Subject, Error> {
    taken(root, base, Untracked::Counted, began)
}

fn taken(root: &Path, base: &Base, untracked: Untracked, began: Option<&str>) -> Result<Subject, Error> {
    let git = Git::open(root)?.ok_or_else(|| Error::NoRepository(root.to_owned()))?;
    let head = git.commit("HEAD")?;
    let empty = git.empty_tree()?;
    let (mode, tree) = match &head {
        Some(_) if began == Some(&empty) => {
            let (base, head) = ("the empty tree".to_owned(), head.clone());
            (SubjectMode::Changes { base, merge_base: None, head, pull_request: None }, empty)
        }
        Some(commit) => {
            let (base, revision) = named(&git, base)?;
            let of_base = git.commit(&revision)?.ok_or_else(|| Error::NoRevision(base.clone()))?;
            let parted = git.merge_base(&of_base, commit)?.ok_or_else(|| Error::NoMergeBase(base.clone()))?;
            let parted = match began {
                Some(began) if git.merge_base(began, &parted)?.as_deref() == Some(began) => began.to_owned(),
                Some(_) | None => parted,
            };
            let (merge_base, head) = (Some(parted.clone()), head.clone());
            (SubjectMode::Changes { base, merge_base, head, pull_request: None }, parted)
        }
        None => {
            if let Base::Named(revision) = base {
                return Err(Error::NoRevision(revision.clone()));
            }
            let base = "the empty tree".to_owned();
            let mode = SubjectMode::Changes { base, merge_base: None, head: None, pull_request: None };
            (mode, empty)
        }
    };
    let mut files = files(&git, &[&tree]).map_err(|error| explained(error, root, &git))?;
    if untracked == Untracked::Counted {
        for path in git.untracked()? {
            files.extend(new_file(root, &path)?);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Subject { mode, files })
}

/// Returns the default base branch and its merge base with HEAD. Returns `None` if either is missing.
pub fn parted_from(root: &Path, remote: &str) -> Result<Option<(String, String)>, Error> {
    let git = Git::open(root)?.ok_or_else(|| Error::NoRepository(root.to_owned()))?;
    let (base, revision) = match named(&git, &Base::Found { remote: remote.to_owned() }) {
        Ok(named) => named,
        Err(Error::NoBase) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (Some(head), Some(of_base)) = (git.commit("HEAD")?, git.commit(&revision)?) else { return Ok(None) };
    Ok(git.merge_base(&of_base, &head)?.map(|commit| (base, commit)))
}

/// Returns all changes of a pull request: the differences between its merge base and its head. Both must be
/// fetched.
pub fn proposed(root: &Path, number: u64, base: (&str, &str), head: &str) -> Result<Subject, Error> {
    let git = Git::open(root)?.ok_or_else(|| Error::NoRepository(root.to_owned()))?;
    let (name, commit) = base;
    let parted = git.merge_base(commit, head)?.ok_or_else(|| Error::NoMergeBase(name.to_owned()))?;
    let mut files = files(&git, &[&parted, head])?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mode = SubjectMode::Changes {
        base: name.to_owned(),
        merge_base: Some(parted),
        head: Some(head.to_owned()),
        pull_request: Some(number),
    };
    Ok(Subject { mode, files })
}

/// Improves an error of git that a special file in place of a regular one causes.
fn explained(error: Error, root: &Path, git: &Git) -> Error {
    let is_special = |path: &PathBuf| {
        let kind = fs::symlink_metadata(root.join(path)).map(|metadata| metadata.file_type());
        kind.is_ok_and(|kind| !(kind.is_file() || kind.is_dir() || kind.is_symlink()))
    };
    let tracked = git.tracked_paths().unwrap_or_default();
    let special = tracked.into_iter().find(is_special);
    let special = special.filter(|_| matches!(error, Error::Git(git::Error::Refused { .. })));
    special.map_or(error, Error::NoFile)
}

/// Returns the differences between trees. Attributes are files of the project: a change could mark its own
/// files as binary, or binary files as text. So the content decides.
fn files(git: &Git, trees: &[&str]) -> Result<Vec<SubjectFile>, Error> {
    let changed = git.changed(trees)?;
    let called_text = git.called_text(changed.iter().map(|changed| changed.path.as_str()))?;
    let (mut files, mut called_binary) = (Vec::new(), Vec::new());
    for changed in changed {
        match seen(git, &changed, called_text.contains(&changed.path))? {
            Seen::Section => files.push(with_section(changed)),
            Seen::LeftOut(why) => files.push(without_content(changed.path, changed.previous, why)),
            Seen::CalledBinary => called_binary.push(changed),
        }
    }
    files.extend(git.changed_as_text(trees, called_binary)?.into_iter().map(with_section));
    Ok(files)
}

fn with_section(changed: Changed) -> SubjectFile {
    let (path, previous) = (changed.path, changed.previous);
    match changed.section {
        Section::Text(bytes) => of_bytes(path, previous, bytes),
        Section::Binary => without_content(path, previous, LeftOut::Binary),
        Section::Submodule => without_content(path, previous, LeftOut::Submodule),
    }
}

/// The visible part of a changed file.
enum Seen {
    Section,
    LeftOut(LeftOut),
    /// The diff that git would print if no attribute marked the file as binary.
    CalledBinary,
}

fn seen(git: &Git, changed: &Changed, is_called_text: bool) -> Result<Seen, Error> {
    let is_doubtful = match &changed.section {
        Section::Text(bytes) => is_called_text || bytes.contains(&0),
        Section::Binary => true,
        Section::Submodule => false,
    };
    if !is_doubtful {
        return Ok(Seen::Section);
    }
    // Before or after the change.
    let begun = git.begun(changed, LOOKED_AT)?;
    Ok(if begun.iter().any(|begun| is_binary(&begun.bytes)) {
        Seen::LeftOut(LeftOut::Binary)
    } else if changed.section != Section::Binary {
        Seen::Section
    } else if begun.iter().any(|begun| begun.size > LARGEST) {
        // Git treats files as binary that are too large to compare.
        Seen::LeftOut(LeftOut::TooLarge)
    } else {
        Seen::CalledBinary
    })
}

/// Returns the short and the full name of the base.
fn named(git: &Git, base: &Base) -> Result<(String, String), Error> {
    let remote = match base {
        Base::Named(revision) | Base::Usual(revision) => return Ok((revision.clone(), revision.clone())),
        Base::Found { remote } => remote,
    };
    let said = |branch: &Branch| (branch.short().to_owned(), branch.full().to_owned());
    if let Some(branch) = git.remote_default(remote)? {
        return Ok(said(&branch));
    }
    for branch in ["main", "master"].map(Branch::local) {
        if git.commit(branch.full())?.is_some() {
            return Ok(said(&branch));
        }
    }
    Err(Error::NoBase)
}

/// Returns an untracked file as the section of a diff that adds it.
fn new_file(root: &Path, real: &Path) -> Result<Option<SubjectFile>, Error> {
    let path = real.to_string_lossy().into_owned();
    if is_own(&path) {
        return Ok(None);
    }
    if let Some(repository) = path.strip_suffix('/') {
        return Ok(Some(without_content(repository.to_owned(), None, LeftOut::Submodule)));
    }
    let file = root.join(real);
    let wrong = |source| Error::Io { path: file.clone(), source };
    // The file may have been removed since git listed it.
    let Ok(metadata) = fs::symlink_metadata(&file) else { return Ok(None) };
    if metadata.is_symlink() {
        let target = fs::read_link(&file).map_err(wrong)?;
        let bytes = target.to_string_lossy().into_owned().into_bytes();
        return Ok(Some(of_bytes(path.clone(), None, addition(&path, "120000", &bytes))));
    }
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some(match content(&file).map_err(wrong)? {
        Content::Bytes(bytes) => {
            let section = addition(&path, "100644", &bytes);
            of_bytes(path, None, section)
        }
        Content::LeftOut(why) => without_content(path, None, why),
    }))
}

fn addition(path: &str, mode: &str, content: &[u8]) -> Vec<u8> {
    let lines: Vec<&[u8]> = content.split_inclusive(|byte| *byte == b'\n').collect();
    let (old, new) = (quoted(&format!("a/{path}")), quoted(&format!("b/{path}")));
    let mut head = format!("diff --git {old} {new}\nnew file mode {mode}\n");
    if !lines.is_empty() {
        write!(head, "--- /dev/null\n+++ {new}\n@@ -0,0 +1,{} @@\n", lines.len())
            .expect("a string takes everything");
    }
    let mut section = head.into_bytes();
    for line in lines {
        section.push(b'+');
        section.extend_from_slice(line);
    }
    if content.last().is_some_and(|last| *last != b'\n') {
        section.extend_from_slice(b"\n\\ No newline at end of file\n");
    }
    section
}

/// Quotes a path as git does in headers. A line break in it would start a new line otherwise.
fn quoted(path: &str) -> String {
    if path.contains(|c: char| c.is_control() || matches!(c, '"' | '\\')) {
        format!("{path:?}")
    } else {
        path.to_owned()
    }
}
