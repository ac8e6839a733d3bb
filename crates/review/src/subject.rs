//! Changes: all differences from the merge base of the current branch.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;
use ignore::WalkBuilder;
use saihai_git::{BranchName, ChangedFile, FileDiff, is_own};
use saihai_git::{Git, GitError};
use saihai_model::{Json, Subject, SubjectFile, SubjectMode, SubjectOmission};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReviewBase {
    /// A revision named for this review.
    Named(String),
    /// The usual base revision of the project. It may be missing before the first commit.
    Usual(String),
    /// The default branch of this remote, else `main`, else `master`.
    Found { remote: String },
}

/// Selects whether untracked files count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UntrackedFiles {
    Counted,
    LeftOut,
}

/// Returns changes since HEAD's merge base: commits, staged and unstaged edits, and new files.
pub fn changes(root: &Path, base: &ReviewBase, untracked: UntrackedFiles) -> Result<Subject, SubjectError> {
    differences(root, base, untracked, None)
}

/// Returns the changes for a run that started at commit `began`. If an agent committed onto the base itself,
/// HEAD is the merge base. The differences since the start of the run are then all there is.
pub fn changes_since(root: &Path, base: &ReviewBase, began: Option<&str>) -> Result<Subject, SubjectError> {
    differences(root, base, UntrackedFiles::Counted, began)
}

fn differences(
    root: &Path,
    base: &ReviewBase,
    untracked: UntrackedFiles,
    began: Option<&str>,
) -> Result<Subject, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let head = git.commit("HEAD")?;
    let empty = git.empty_tree()?;
    let (mode, tree) = match &head {
        Some(_) if began == Some(&empty) => {
            let (base, head) = ("the empty tree".to_owned(), head.clone());
            (SubjectMode::Changes { base, merge_base: None, head, pull_request: None }, empty)
        }
        Some(commit) => {
            let (base, revision) = named(&git, base)?;
            let of_base = git.commit(&revision)?.ok_or_else(|| SubjectError::NoRevision(base.clone()))?;
            let parted =
                git.merge_base(&of_base, commit)?.ok_or_else(|| SubjectError::NoMergeBase(base.clone()))?;
            let parted = match began {
                Some(began) if git.merge_base(began, &parted)?.as_deref() == Some(began) => began.to_owned(),
                Some(_) | None => parted,
            };
            let (merge_base, head) = (Some(parted.clone()), head.clone());
            (SubjectMode::Changes { base, merge_base, head, pull_request: None }, parted)
        }
        None => {
            if let ReviewBase::Named(revision) = base {
                return Err(SubjectError::NoRevision(revision.clone()));
            }
            let base = "the empty tree".to_owned();
            let mode = SubjectMode::Changes { base, merge_base: None, head: None, pull_request: None };
            (mode, empty)
        }
    };
    let mut files = files(&git, &[&tree]).map_err(|error| explained(error, root, &git))?;
    if untracked == UntrackedFiles::Counted {
        for path in git.untracked()? {
            files.extend(new_file(root, &path)?);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Subject { mode, files })
}

/// Returns the default base branch and its merge base with HEAD. Returns `None` if either is missing.
pub fn parted_from(root: &Path, remote: &str) -> Result<Option<(String, String)>, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let (base, revision) = match named(&git, &ReviewBase::Found { remote: remote.to_owned() }) {
        Ok(named) => named,
        Err(SubjectError::NoBase) => return Ok(None),
        Err(error) => return Err(error),
    };
    let (Some(head), Some(of_base)) = (git.commit("HEAD")?, git.commit(&revision)?) else { return Ok(None) };
    Ok(git.merge_base(&of_base, &head)?.map(|commit| (base, commit)))
}

/// Returns the differences from a commit to the files at `root`, with new files, or to another commit.
pub fn changes_between(root: &Path, from: &str, to: Option<&str>) -> Result<Vec<SubjectFile>, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let trees: Vec<&str> = std::iter::once(from).chain(to).collect();
    let mut files = files(&git, &trees).map_err(|error| explained(error, root, &git))?;
    if to.is_none() {
        for path in git.untracked()? {
            files.extend(new_file(root, &path)?);
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Returns all changes of a pull request, from its merge base to its head. Both must be fetched.
pub fn proposed(root: &Path, number: u64, base: (&str, &str), head: &str) -> Result<Subject, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let (name, commit) = base;
    let parted = git.merge_base(commit, head)?.ok_or_else(|| SubjectError::NoMergeBase(name.to_owned()))?;
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

/// Returns the changes of `head` since it left `base`. Both are revisions.
pub fn changes_of_range(root: &Path, base: &str, head: &str) -> Result<CommittedChange, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let commit =
        |revision: &str| git.commit(revision)?.ok_or_else(|| SubjectError::NoRevision(revision.to_owned()));
    let (from, to) = (commit(base)?, commit(head)?);
    let unrelated = || SubjectError::NoCommonHistory { base: base.to_owned(), head: head.to_owned() };
    let parted = git.merge_base(&from, &to)?.ok_or_else(unrelated)?;
    committed_change(&git, base, Some(parted), to)
}

/// Returns the changes of a commit relative to its first parent. The first commit adds all its files.
pub fn changes_of_commit(root: &Path, revision: &str) -> Result<CommittedChange, SubjectError> {
    let git = Git::open(root)?.ok_or_else(|| SubjectError::NoRepository(root.to_owned()))?;
    let head = git.commit(revision)?.ok_or_else(|| SubjectError::NoRevision(revision.to_owned()))?;
    let parent = git.commit(&format!("{head}^"))?;
    let base = if parent.is_some() { format!("{revision}^") } else { "the empty tree".to_owned() };
    committed_change(&git, &base, parent, head)
}

/// A change between two commits. Files in the working tree play no part in it.
#[derive(Debug, Clone, PartialEq)]
pub struct CommittedChange {
    pub subject: Subject,
    /// The commit with the new version of the files.
    pub head: String,
}

fn committed_change(
    git: &Git,
    base: &str,
    parted: Option<String>,
    head: String,
) -> Result<CommittedChange, SubjectError> {
    let from = match &parted {
        Some(commit) => commit.clone(),
        None => git.empty_tree()?,
    };
    let mut files = files(git, &[&from, &head])?;
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mode = SubjectMode::Changes {
        base: base.to_owned(),
        merge_base: parted,
        head: Some(head.clone()),
        pull_request: None,
    };
    Ok(CommittedChange { subject: Subject { mode, files }, head })
}

/// Improves an error of git that a special file in place of a regular one causes.
fn explained(error: SubjectError, root: &Path, git: &Git) -> SubjectError {
    let is_special = |path: &PathBuf| {
        let kind = fs::symlink_metadata(root.join(path)).map(|metadata| metadata.file_type());
        kind.is_ok_and(|kind| !(kind.is_file() || kind.is_dir() || kind.is_symlink()))
    };
    let tracked = git.tracked_paths().unwrap_or_default();
    let special = tracked.into_iter().find(is_special);
    let special = special.filter(|_| matches!(error, SubjectError::Git(GitError::Refused { .. })));
    special.map_or(error, SubjectError::NoFile)
}

/// Returns the differences between trees. Attributes are files of the project: a change could mark its own
/// files as binary, or binary files as text. So the content decides.
fn files(git: &Git, trees: &[&str]) -> Result<Vec<SubjectFile>, SubjectError> {
    let changed = git.changed(trees)?;
    let called_text = git.called_text(changed.iter().map(|changed| changed.path.as_str()))?;
    let (mut files, mut called_binary) = (Vec::new(), Vec::new());
    for changed in changed {
        match visible_change(git, &changed, called_text.contains(&changed.path))? {
            VisibleChange::Section => files.push(with_section(changed)),
            VisibleChange::LeftOut(why) => files.push(without_content(changed.path, changed.previous, why)),
            VisibleChange::CalledBinary => called_binary.push(changed),
        }
    }
    files.extend(git.changed_as_text(trees, called_binary)?.into_iter().map(with_section));
    Ok(files)
}

fn with_section(changed: ChangedFile) -> SubjectFile {
    let (path, previous) = (changed.path, changed.previous);
    match changed.section {
        FileDiff::Text(bytes) => of_bytes(path, previous, bytes),
        FileDiff::Binary => without_content(path, previous, SubjectOmission::Binary),
        FileDiff::Submodule => without_content(path, previous, SubjectOmission::Submodule),
    }
}

/// The visible part of a changed file.
enum VisibleChange {
    Section,
    LeftOut(SubjectOmission),
    /// The diff that git would print if no attribute marked the file as binary.
    CalledBinary,
}

fn visible_change(
    git: &Git,
    changed: &ChangedFile,
    is_called_text: bool,
) -> Result<VisibleChange, SubjectError> {
    let is_doubtful = match &changed.section {
        FileDiff::Text(bytes) => is_called_text || bytes.contains(&0),
        FileDiff::Binary => true,
        FileDiff::Submodule => false,
    };
    if !is_doubtful {
        return Ok(VisibleChange::Section);
    }
    // Before or after the change.
    let begun = git.begun(changed, LOOKED_AT)?;
    Ok(if begun.iter().any(|begun| is_binary(&begun.bytes)) {
        VisibleChange::LeftOut(SubjectOmission::Binary)
    } else if changed.section != FileDiff::Binary {
        VisibleChange::Section
    } else if begun.iter().any(|begun| begun.size > LARGEST) {
        // Git treats files as binary that are too large to compare.
        VisibleChange::LeftOut(SubjectOmission::TooLarge)
    } else {
        VisibleChange::CalledBinary
    })
}

/// Returns the short and the full name of the base.
fn named(git: &Git, base: &ReviewBase) -> Result<(String, String), SubjectError> {
    let remote = match base {
        ReviewBase::Named(revision) | ReviewBase::Usual(revision) => {
            return Ok((revision.clone(), revision.clone()));
        }
        ReviewBase::Found { remote } => remote,
    };
    let said = |branch: &BranchName| (branch.short().to_owned(), branch.full().to_owned());
    if let Some(branch) = git.remote_default(remote)? {
        return Ok(said(&branch));
    }
    for branch in ["main", "master"].map(BranchName::local) {
        if git.commit(branch.full())?.is_some() {
            return Ok(said(&branch));
        }
    }
    Err(SubjectError::NoBase)
}

/// Returns an untracked file as the section of a diff that adds it.
fn new_file(root: &Path, real: &Path) -> Result<Option<SubjectFile>, SubjectError> {
    let path = real.to_string_lossy().into_owned();
    if is_own(&path) {
        return Ok(None);
    }
    if let Some(repository) = path.strip_suffix('/') {
        return Ok(Some(without_content(repository.to_owned(), None, SubjectOmission::Submodule)));
    }
    let file = root.join(real);
    let wrong = |source| SubjectError::Io { path: file.clone(), source };
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
        FileContent::Bytes(bytes) => {
            let section = addition(&path, "100644", &bytes);
            of_bytes(path, None, section)
        }
        FileContent::LeftOut(why) => without_content(path, None, why),
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

/// Reason for a missing subject.
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("`{}` is not in a git repository", .0.display())]
    NoRepository(PathBuf),
    #[error("the revision `{0}` does not exist here")]
    NoRevision(String),
    /// A file that decides about a review is not part of the commit.
    #[error("`{path}` is {what} in `{revision}`: its target is not read from there")]
    Elsewhere {
        what: &'static str,
        revision: String,
        /// The link or the submodule.
        path: String,
    },
    /// No base was named or found.
    #[error("no base to compare with: there is no remote branch, no `main` and no `master`")]
    NoBase,
    /// Two commits have no common history.
    #[error("`{0}` and the current commit have no common history here")]
    NoMergeBase(String),
    /// The two sides of a range.
    #[error("`{base}` and `{head}` have no common history here")]
    NoCommonHistory { base: String, head: String },
    #[error("{} not exist", missing(.0))]
    Missing(Vec<String>),
    /// A special file replaces a tracked file.
    #[error("`{}` is a pipe, a socket or a device, but git tracks a file there", .0.display())]
    NoFile(PathBuf),
    /// A file outside the project.
    #[error("`{0}` is outside the project")]
    Outside(String),
    /// An embedded repository, which is not reviewed.
    #[error("`{0}` is another repository")]
    AnotherRepository(String),
    #[error("cannot read `{}`: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`{pattern}` is not a file pattern: {why}")]
    BadPattern { pattern: String, why: String },
}

fn missing(files: &[String]) -> String {
    let quoted: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    let verb = if files.len() == 1 { "does" } else { "do" };
    format!("{} {verb}", quoted.join(", "))
}

/// Maximum size of a file that is read.
const LARGEST: u64 = 20 * 1024 * 1024;
/// Number of bytes to search for a NUL, which marks a binary file. Git does the same.
const LOOKED_AT: usize = 8 * 1024;

/// Builds a file of a subject from its bytes.
fn of_bytes(path: String, previous: Option<String>, bytes: Vec<u8>) -> SubjectFile {
    let (text, lossy) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
    };
    SubjectFile { path, previous, text, left_out: None, lossy }
}

/// Builds a file of a subject that has only a name.
fn without_content(path: String, previous: Option<String>, why: SubjectOmission) -> SubjectFile {
    SubjectFile { path, previous, text: String::new(), left_out: Some(why), lossy: false }
}

enum FileContent {
    Bytes(Vec<u8>),
    /// The reason for the missing content.
    LeftOut(SubjectOmission),
}

fn content(file: &Path) -> io::Result<FileContent> {
    let mut bytes = Vec::new();
    fs::File::open(file)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    Ok(if is_binary(&bytes) {
        FileContent::LeftOut(SubjectOmission::Binary)
    } else if bytes.len() as u64 > LARGEST {
        FileContent::LeftOut(SubjectOmission::TooLarge)
    } else {
        FileContent::Bytes(bytes)
    })
}

/// Returns true if the start of a file marks it as binary.
fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(LOOKED_AT)].contains(&0)
}

/// Collects files, unignored files of directories, and matches of patterns. Names are relative to `current`,
/// and all files must lie below `root`. Embedded repositories are skipped; naming one is an error.
pub fn whole_files(root: &Path, current: &Path, names: &[String]) -> Result<Subject, SubjectError> {
    let canonical = |path: &Path| {
        fs::canonicalize(path).map_err(|source| SubjectError::Io { path: path.to_owned(), source })
    };
    let root = canonical(root)?;
    let (mut found, mut missing, mut repositories) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
    for name in names {
        let path = current.join(name);
        let files = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => below(&root, &canonical(&path)?, name)?,
            Ok(metadata) if metadata.is_file() => FilesBelow { files: vec![path], ..FilesBelow::default() },
            // Opening a pipe without a writer would block forever.
            Ok(_) => {
                return Err(SubjectError::Io {
                    path,
                    source: io::Error::other("it is not an ordinary file"),
                });
            }
            Err(_) if name.contains(['*', '?', '[', '{']) => taken(&root, &canonical(current)?, name)?,
            Err(_) => FilesBelow::default(),
        };
        let FilesBelow { files, repositories: others } = files;
        repositories.extend(others);
        if files.is_empty() && !current.join(name).is_dir() {
            missing.push(name.clone());
        }
        for file in files {
            let real = canonical(&file)?;
            let inside = real.strip_prefix(&root).map_err(|_| SubjectError::Outside(name.clone()))?;
            found.insert(slashed(inside), real.clone());
        }
    }
    if !missing.is_empty() {
        return Err(SubjectError::Missing(missing));
    }
    let files = found.into_iter().map(|(path, file)| read(path, &file));
    let mut files = files.collect::<Result<Vec<SubjectFile>, _>>()?;
    files
        .extend(repositories.into_iter().map(|path| without_content(path, None, SubjectOmission::Submodule)));
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(Subject { mode: SubjectMode::Files, files })
}

/// The files below a directory.
#[derive(Default)]
struct FilesBelow {
    files: Vec<PathBuf>,
    /// Embedded repositories, by path from the root. Their files do not belong to this project.
    repositories: Vec<String>,
}

fn read(path: String, file: &Path) -> Result<SubjectFile, SubjectError> {
    let content = content(file).map_err(|source| SubjectError::Io { path: file.to_owned(), source })?;
    Ok(match content {
        FileContent::Bytes(bytes) => of_bytes(path, None, bytes),
        FileContent::LeftOut(why) => without_content(path, None, why),
    })
}

/// Returns the regular, unignored files below a directory. Follows no links: they could lead anywhere.
fn below(root: &Path, directory: &Path, name: &str) -> Result<FilesBelow, SubjectError> {
    let inside = directory.strip_prefix(root).map_err(|_| SubjectError::Outside(name.to_owned()))?;
    // Without git, or if it refuses, walk the directory.
    let Ok(Some(git)) = Git::open(root) else {
        return Ok(FilesBelow { files: walked(directory), ..FilesBelow::default() });
    };
    let mut above = inside.ancestors().filter(|part| !part.as_os_str().is_empty());
    if let Some(repository) = above.find(|part| root.join(part).join(".git").exists()) {
        return Err(SubjectError::AnotherRepository(slashed(repository)));
    }
    let inside = if inside.as_os_str().is_empty() { ".".to_owned() } else { slashed(inside) };
    let mut below = FilesBelow::default();
    for path in git.below(&inside)?.into_iter().filter(|path| !is_own(&path.to_string_lossy())) {
        match root.join(&path).symlink_metadata() {
            Ok(metadata) if metadata.is_file() => below.files.push(root.join(path)),
            // Git lists a directory only if it does not enter it.
            Ok(metadata) if metadata.is_dir() => below.repositories.push(slashed(&path)),
            Ok(_) | Err(_) => {}
        }
    }
    if below.repositories == [inside.as_str()] {
        return Err(SubjectError::AnotherRepository(inside));
    }
    Ok(below)
}

/// Walks a directory without a repository. Ignore files still apply.
fn walked(directory: &Path) -> Vec<PathBuf> {
    let mut walk = WalkBuilder::new(directory);
    walk.hidden(false).ignore(false).require_git(false).filter_entry(|entry| entry.file_name() != ".git");
    let entries = walk.build().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
        .map(|entry| entry.into_path())
        .collect()
}

/// Returns the files below the current directory that match a pattern.
fn taken(root: &Path, current: &Path, pattern: &str) -> Result<FilesBelow, SubjectError> {
    let glob = GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
    let glob = glob.map_err(|error| SubjectError::BadPattern {
        pattern: pattern.to_owned(),
        why: error.kind().to_string(),
    })?;
    let matcher = glob.compile_matcher();
    let takes = |file: &PathBuf| file.strip_prefix(current).is_ok_and(|inside| matcher.is_match(inside));
    let mut below = below(root, current, pattern)?;
    below.files.retain(takes);
    // The content of an embedded repository is unknown. Keep it only if the pattern could match inside.
    below.repositories.retain(|path| pattern.contains("**") || takes(&root.join(path)));
    Ok(below)
}

/// Formats a path with slashes.
fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

/// The name under which a run stores its subject.
pub const SUBJECT: &str = "subject";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenSubject {
    pub subject: Subject,
    /// The full new text of files that the subject shows as changes.
    #[serde(default)]
    pub texts: BTreeMap<String, String>,
}

/// Freezes a subject. A deleted file has no full text, even if something replaced it: a link, or a newly
/// ignored file. Binary files have none either.
pub fn frozen(root: &Path, subject: &Subject) -> Json {
    let mut texts = BTreeMap::new();
    if let SubjectMode::Changes { .. } = &subject.mode {
        for file in subject.files.iter().filter(|file| file.left_out.is_none() && !is_deleted(file)) {
            texts.extend(whole(root, Path::new(&file.path)).map(|text| (file.path.clone(), text)));
        }
    }
    let kept = FrozenSubject { subject: subject.clone(), texts };
    serde_json::to_value(kept).expect("a subject has text keys only")
}

/// Returns true if the diff section of a file deletes it.
fn is_deleted(file: &SubjectFile) -> bool {
    let mut header = file.text.lines().take_while(|line| !line.starts_with("@@"));
    header.any(|line| line.starts_with("deleted file mode "))
}

/// Returns the text of a regular file below a directory. It follows no link and reads nothing of git's own.
/// Reports are published, and the target of a link is not part of the project.
pub fn whole(root: &Path, path: &Path) -> Option<String> {
    let mut place = root.to_owned();
    for part in path.components() {
        let Component::Normal(name) = part else { return None };
        let is_directory = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_dir());
        // The caller chooses the root, which may be a link.
        if name == ".git" || (place != root && !is_directory) {
            return None;
        }
        place.push(name);
    }
    let is_file = fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_file());
    match is_file.then(|| content(&place).ok())?? {
        FileContent::Bytes(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        FileContent::LeftOut(_) => None,
    }
}

#[cfg(test)]
mod tests;
