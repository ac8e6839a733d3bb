//! The git program, restricted so that no repository can make it run code.
//!
//! A person or agent with write access to a project can also change `.git/config` and `.gitattributes`. Every
//! call therefore disables pager, hooks, file system monitor, external diff, text conversion, lazy fetching
//! and prompts. It also clears the variables of the caller's git. Filters run only if the user's own
//! configuration defines them. Git writes nothing here, not even a refreshed index.

use crate::diff::content_hash;
use crate::git_program::GitRefusalKind;
use crate::git_program::split_paths;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use sha2::{Digest as _, Sha256};

use crate::diff::{self, ChangedFile, ChangedLineCounts};

use crate::git_program::{self, GitEnvironment, GitError};
use crate::server::GitAccessToken;

/// A repository, accessed through the git program.
#[derive(Debug, Clone)]
pub struct Git {
    pub(crate) root: PathBuf,
    environment: GitEnvironment,
    /// Settings above those of the repository.
    filters: Vec<FilterSetting>,
}

/// Settings for comparing files, in addition to the filters.
const DIFF_SETTINGS: [&str; 4] = [
    "core.bigFileThreshold=20m",
    "diff.autoRefreshIndex=true",
    "diff.suppressBlankEmpty=false",
    "diff.trustExitCode=false",
];

/// Maximum number of files in one call. A path has at most 4 KiB, and a renamed file has two.
const AT_ONCE: usize = 100;

/// Directories of Saihai. Their files never count as changes.
const OWN: [&str; 5] =
    [".saihai/runs/", ".saihai/reports/", ".saihai/cache/", ".saihai/batches/", ".worktrees/"];

/// A larger new file counts as one without lines, like a binary one.
const LARGEST_COUNTED: u64 = 20 * 1024 * 1024;

/// Counts the lines of a new file.
fn lines_of(file: &Path) -> u64 {
    let is_text = |about: &fs::Metadata| about.is_file() && about.len() <= LARGEST_COUNTED;
    let text = fs::symlink_metadata(file).ok().filter(is_text).and_then(|_| fs::read(file).ok());
    let text = text.filter(|text| !text.contains(&0)).unwrap_or_default();
    let has_unended_line = text.last().is_some_and(|last| *last != b'\n');
    memchr::memchr_iter(b'\n', &text).count() as u64 + u64::from(has_unended_line)
}

/// Returns true if a path from the root belongs to Saihai.
pub fn is_own(path: &str) -> bool {
    OWN.iter().any(|own| path.starts_with(own))
}

/// Returns true if a directory is inside another, with links resolved.
fn is_inside(directory: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(directory).starts_with(real(other))
}

/// Returns false if git cannot find a repository from a directory upwards, without starting git.
pub(crate) fn may_have_repository(directory: &Path) -> bool {
    let real = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let is_bare = |place: &Path| place.join("HEAD").exists() && place.join("objects").exists();
    real.ancestors().any(|place| place.join(".git").symlink_metadata().is_ok() || is_bare(place))
}

impl Git {
    /// Opens the repository whose files are at `root`. Returns `None` if there is none.
    pub fn open(root: &Path) -> Result<Option<Self>, GitError> {
        if !may_have_repository(root) {
            return Ok(None);
        }
        let (environment, filters) = (GitEnvironment::of_process(), Vec::new());
        let mut git = Self { root: root.to_owned(), environment, filters };
        match git.say("rev-parse", &["--is-inside-work-tree", "--absolute-git-dir"]) {
            Ok(said) => match said.trim_end().split_once('\n') {
                Some(("true", own)) if is_inside(root, Path::new(own)) => {
                    return Err(GitError::Bare(root.to_owned()));
                }
                Some(("true", _)) => {}
                Some(_) | None => return Ok(None),
            },
            // Report any other refusal, for example a repository of another user.
            Err(GitError::Refused { kind: GitRefusalKind::NotARepository, .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
        git.filters = user_filters(&git)?;
        Ok(Some(git))
    }

    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, GitError> {
        self.ask("merge-base", &["--end-of-options", one, other])
    }

    /// Returns the hash of the empty tree.
    pub fn empty_tree(&self) -> Result<String, GitError> {
        self.say("hash-object", &["-t", "tree", "--stdin"]).map(|hash| hash.trim().to_owned())
    }

    /// Returns the differences of two trees, or of a tree and the files at the root, except untracked ones.
    pub fn changed(&self, trees: &[&str]) -> Result<Vec<ChangedFile>, GitError> {
        self.compared(trees, &[], &[])
    }

    /// Counts the lines that were added and removed in each file that differs between two trees, or between a tree and
    /// the files at the root. Then new files count too, and Saihai's own do not.
    pub fn changed_lines(&self, trees: &[&str]) -> Result<BTreeMap<String, ChangedLineCounts>, GitError> {
        let mut lines: BTreeMap<String, ChangedLineCounts> =
            self.changed(trees)?.into_iter().map(|file| (file.path, file.section.line_counts())).collect();
        if trees.len() == 1 {
            for path in self.untracked()? {
                let added = lines_of(&self.root.join(&path));
                let counts = ChangedLineCounts { added, removed: 0 };
                lines.insert(path.to_string_lossy().into_owned(), counts);
            }
        }
        lines.retain(|path, _| !is_own(path));
        Ok(lines)
    }

    /// Compares binary files line by line. A file without a difference keeps its earlier result.
    pub fn changed_as_text(
        &self,
        trees: &[&str],
        mut files: Vec<ChangedFile>,
    ) -> Result<Vec<ChangedFile>, GitError> {
        // The length of a command line is limited.
        for some in files.chunks_mut(AT_ONCE) {
            let names: Vec<&OsStr> =
                some.iter().flat_map(|one| &one.names).map(OsString::as_os_str).collect();
            for compared in self.compared(trees, &["--text"], &names)? {
                let told = some.iter_mut().find(|one| one.names.last() == compared.names.last());
                if let Some(told) = told {
                    *told = compared;
                }
            }
        }
        Ok(files)
    }

    fn compared(&self, trees: &[&str], how: &[&str], below: &[&OsStr]) -> Result<Vec<ChangedFile>, GitError> {
        let flags = [
            "--raw",
            "--patch",
            "-z",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--color-moved=no",
            "--find-renames",
            "-l1000",
            "-O/dev/null",
            "--unified=3",
            "--inter-hunk-context=0",
            "--src-prefix=a/",
            "--dst-prefix=b/",
            "--diff-algorithm=myers",
            "--indent-heuristic",
            "--no-relative",
            // Full hashes in the list of files. The patch has short ones.
            "--no-abbrev",
            "--submodule=short",
            // A check for a dirty submodule would run git with that repository's configuration.
            "--ignore-submodules=dirty",
        ];
        let mut git = self.command("diff");
        git.args(flags).args(how).args(trees).arg("--").args(below);
        diff::parse_diff(&git_program::output(&mut git, "diff")?)
            .ok_or(GitError::Unreadable { command: "diff" })
    }

    /// Lists files that git neither tracks nor ignores. Embedded repositories end in `/`.
    pub fn untracked(&self) -> Result<Vec<PathBuf>, GitError> {
        self.listed(&["--others"], &[])
    }

    pub fn tracked_paths(&self) -> Result<Vec<PathBuf>, GitError> {
        self.listed(&["--cached"], &[])
    }

    /// Lists the files below a directory that git tracks or does not ignore.
    pub fn below(&self, directory: &str) -> Result<Vec<PathBuf>, GitError> {
        self.listed(&["--cached", "--others"], &[directory])
    }

    /// Returns true if git tracks a file, or at least does not ignore it.
    pub fn shows(&self, file: &Path) -> Result<bool, GitError> {
        let Some(name) = file.to_str() else { return Ok(false) };
        Ok(self.listed(&["--cached", "--others"], &[name])?.iter().any(|path| path == file))
    }

    /// Returns the paths that an attribute marks as text.
    pub fn called_text<'p>(
        &self,
        paths: impl Iterator<Item = &'p str>,
    ) -> Result<BTreeSet<String>, GitError> {
        let input: Vec<u8> = paths.flat_map(|path| path.bytes().chain([0])).collect();
        let mut git = self.command("check-attr");
        let said = git_program::feed(git.args(["-z", "--stdin", "diff"]), "check-attr", &input)?;
        let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        let set = fields.chunks_exact(3).filter(|field| field[2] == b"set");
        Ok(set.map(|field| String::from_utf8_lossy(field[0]).into_owned()).collect())
    }

    /// Lists paths. Names need not be UTF-8.
    fn listed(&self, which: &[&str], below: &[&str]) -> Result<Vec<PathBuf>, GitError> {
        let flags = [which, &["--exclude-standard", "-z", "--"], below].concat();
        let said = self.run("ls-files", &flags)?;
        let paths = split_paths(&said);
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Returns the sorted paths of files that differ from the checked-out commit, and of new files.
    pub fn uncommitted(&self) -> Result<Vec<String>, GitError> {
        let changed = self.differing_paths(&self.head_tree()?)?.into_iter();
        let new = self.untracked()?.into_iter().map(|path| path.to_string_lossy().into_owned());
        let mut paths: Vec<String> = changed.chain(new).filter(|path| !is_own(path)).collect();
        paths.sort();
        Ok(paths)
    }

    /// Returns a hash of the whole visible state: commits, changes and new files, without `left_out`. Returns
    /// `None` if there is an embedded repository, whose state is unknown.
    pub fn standing(&self, left_out: &[String]) -> Result<Option<String>, GitError> {
        let tree = self.head_tree()?;
        let mut paths = self.uncommitted()?;
        paths.retain(|path| !left_out.contains(path));
        let mut hash = Sha256::new();
        hash.update(tree.as_bytes());
        for path in paths {
            let file = self.root.join(&path);
            if fs::symlink_metadata(&file).is_ok_and(|metadata| metadata.is_dir()) {
                return Ok(None);
            }
            let content = content_hash(&file).unwrap_or_default();
            hash.update(path.as_bytes());
            hash.update([0, u8::from(content.is_empty())]);
            hash.update(content);
        }
        Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns true if git tracks a file below a path.
    pub fn tracks(&self, path: &str) -> Result<bool, GitError> {
        self.run("ls-files", &["-z", "--", path]).map(|said| !said.is_empty())
    }

    /// Returns one line of output, or `None` if git refuses.
    pub(crate) fn ask(&self, command: &str, arguments: &[&str]) -> Result<Option<String>, GitError> {
        match self.say(command, arguments) {
            Ok(said) => Ok(Some(said.trim().to_owned()).filter(|line| !line.is_empty())),
            Err(GitError::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) fn say(&self, command: &str, arguments: &[&str]) -> Result<String, GitError> {
        self.run(command, arguments).map(|said| String::from_utf8_lossy(&said).into_owned())
    }

    pub(crate) fn run(&self, command: &str, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        git_program::output(self.command(command).args(arguments), command)
    }

    pub(crate) fn command(&self, command: &str) -> Command {
        let mut git = self.environment.git();
        git.env("GIT_OPTIONAL_LOCKS", "0").current_dir(&self.root);
        // The repository cannot redirect git to other files.
        git.arg("--work-tree").arg(&self.root);
        for setting in DIFF_SETTINGS {
            git.args(["-c", setting]);
        }
        for (key, value) in &self.filters {
            git_program::configure(&mut git, key, value);
        }
        git.arg(command);
        git
    }
}

const BRANCHES: &str = "refs/heads/";
const REMOTES: &str = "refs/remotes/";

/// A branch, by its full name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchName(String);

impl BranchName {
    pub fn local(name: &str) -> Self {
        Self(format!("{BRANCHES}{name}"))
    }

    pub fn full(&self) -> &str {
        &self.0
    }

    /// Returns the short name: `main`, `origin/main`.
    pub fn short(&self) -> &str {
        let name = self.0.strip_prefix(BRANCHES).or_else(|| self.0.strip_prefix(REMOTES));
        name.unwrap_or(&self.0)
    }
}

impl Git {
    /// Returns the commit of a revision.
    pub fn commit(&self, revision: &str) -> Result<Option<String>, GitError> {
        if revision.is_empty() || revision.starts_with('-') {
            return Ok(None);
        }
        let meanings = self.meanings(revision)?;
        if meanings.len() > 1 {
            return Err(GitError::Ambiguous { name: revision.to_owned(), meanings });
        }
        let commit = format!("{revision}^{{commit}}");
        self.ask("rev-parse", &["--verify", "--quiet", "--end-of-options", &commit])
    }

    /// Returns every ref that the name in a revision could mean. Returns none for a full ref name or HEAD.
    fn meanings(&self, revision: &str) -> Result<Vec<String>, GitError> {
        let end = revision.find(['~', '^', ':']).into_iter().chain(revision.find("@{")).min();
        let name = &revision[..end.unwrap_or(revision.len())];
        if name.is_empty() || name == "HEAD" || name.starts_with("refs/") {
            return Ok(Vec::new());
        }
        let possible = [
            format!("refs/{name}"),
            format!("{BRANCHES}{name}"),
            format!("{REMOTES}{name}"),
            format!("{REMOTES}{name}/HEAD"),
            format!("refs/tags/{name}"),
        ];
        let asked: Vec<&str> = possible.iter().map(String::as_str).collect();
        let said = self.say("for-each-ref", &[&["--format=%(refname)", "--"], &asked[..]].concat())?;
        // Git also lists refs below the name.
        let there: Vec<&str> = said.lines().collect();
        Ok(possible.into_iter().filter(|reference| there.contains(&reference.as_str())).collect())
    }

    /// Returns the default branch of a remote.
    pub fn remote_default(&self, remote: &str) -> Result<Option<BranchName>, GitError> {
        let reference = format!("{REMOTES}{remote}/HEAD");
        Ok(self.ask("symbolic-ref", &["--quiet", &reference])?.map(BranchName))
    }

    /// Returns the branch that is checked out, or `None` for a detached HEAD.
    pub fn branch(&self) -> Result<Option<String>, GitError> {
        let branch = self.ask("symbolic-ref", &["--quiet", "HEAD"])?.map(BranchName);
        Ok(branch.map(|branch| branch.short().to_owned()))
    }
}

/// The kind of an entry in a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitEntryKind {
    File,
    Link,
    /// A commit of another repository.
    Submodule,
}

/// The target of a path in a commit. Links are followed inside the commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommittedFile {
    /// The content of a file.
    File(Vec<u8>),
    Missing,
    /// A link that leaves the commit, dangles or loops, or an entry other than a file.
    Elsewhere,
}

impl Git {
    /// Lists the entries of a commit except directories: at a path, or below it.
    pub fn committed(
        &self,
        commit: &str,
        paths: &[&str],
        below: TreeDepth,
    ) -> Result<Vec<(String, CommitEntryKind)>, GitError> {
        let flags: &[&str] = match below {
            TreeDepth::Too => &["-r", "-z", "--full-tree", "--end-of-options", commit, "--"],
            TreeDepth::Not => &["-z", "--full-tree", "--end-of-options", commit, "--"],
        };
        let said = self.run("ls-tree", &[flags, paths].concat())?;
        let mut found = Vec::new();
        for entry in split_paths(&said) {
            let entry = String::from_utf8_lossy(entry).into_owned();
            let (about, path) = entry.split_once('\t').ok_or(GitError::Unreadable { command: "ls-tree" })?;
            let kind = match about.split(' ').next() {
                Some("120000") => CommitEntryKind::Link,
                Some("160000") => CommitEntryKind::Submodule,
                Some("040000") => continue,
                Some(_) | None => CommitEntryKind::File,
            };
            found.push((path.to_owned(), kind));
        }
        Ok(found)
    }

    pub fn followed(&self, commit: &str, path: &str) -> Result<CommittedFile, GitError> {
        // A line is one query.
        if path.contains('\n') {
            return Ok(CommittedFile::Elsewhere);
        }
        let mut git = self.command("cat-file");
        let input = format!("{commit}:{path}\n");
        let said =
            git_program::feed(git.args(["--batch", "--follow-symlinks"]), "cat-file", input.as_bytes())?;
        let unreadable = || GitError::Unreadable { command: "cat-file" };
        let end = said.iter().position(|byte| *byte == b'\n').ok_or_else(unreadable)?;
        let head = String::from_utf8_lossy(&said[..end]).into_owned();
        if head.ends_with(" missing") {
            return Ok(CommittedFile::Missing);
        }
        let mut about = head.split(' ').skip(1);
        let (kind, size) = (about.next(), about.next().and_then(|size| size.parse::<usize>().ok()));
        match (kind, size) {
            (Some("blob"), Some(size)) => {
                let content = said.get(end + 1..end + 1 + size).ok_or_else(unreadable)?;
                Ok(CommittedFile::File(content.to_vec()))
            }
            _ => Ok(CommittedFile::Elsewhere),
        }
    }
}

/// Selects whether entries below a path count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeDepth {
    Too,
    Not,
}

/// Protocols that git may use.
const ALLOWED_PROTOCOLS: &str = "https:ssh:file";

impl Git {
    pub fn remote_url(&self, remote: &str) -> Result<Option<String>, GitError> {
        self.ask("config", &["--get", &format!("remote.{remote}.url")])
    }

    /// Fetches refs of a remote and returns their commits. Creates and moves no ref.
    pub fn fetch(
        &self,
        url: &str,
        references: &[String],
        token: &GitAccessToken,
    ) -> Result<Vec<String>, GitError> {
        let names: Vec<&str> = references.iter().map(String::as_str).collect();
        let said = self.speak("ls-remote", &[&["--quiet", "--", url], &names[..]].concat(), url, token)?;
        let said = String::from_utf8_lossy(&said).into_owned();
        let tip = |name: &&str| {
            let mut lines = said.lines().filter_map(|line| line.split_once('\t'));
            let found = lines.find(|(_, known)| known == name).map(|(commit, _)| commit.to_owned());
            let missing = format!("the remote has no `{name}`");
            found.ok_or_else(|| GitError::refused("ls-remote", Some(&missing)))
        };
        let tips = names.iter().map(tip).collect::<Result<Vec<String>, GitError>>()?;
        let flags = ["--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", url];
        self.speak("fetch", &[&flags[..], &names[..]].concat(), url, token)?;
        Ok(tips)
    }

    fn speak(
        &self,
        command: &str,
        arguments: &[&str],
        url: &str,
        token: &GitAccessToken,
    ) -> Result<Vec<u8>, GitError> {
        let mut git = self.command(command);
        // The repository's own configuration could name another command.
        git.env("GIT_ALLOW_PROTOCOL", ALLOWED_PROTOCOLS).env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        token.lend(&mut git, url);
        crate::git_program::output(git.args(arguments), command)
    }
}

/// Returns the directories `KIND-COMMIT-PROCESS` whose processes have ended.
pub fn abandoned_checkouts(below: &Path, kind: &str) -> Vec<PathBuf> {
    let is_abandoned = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let rest = name.strip_prefix(kind).and_then(|rest| rest.strip_prefix('-'));
        let process = rest.and_then(|rest| rest.rsplit_once('-')?.1.parse().ok()).and_then(Pid::from_raw);
        process.is_some_and(|process| test_kill_process(process) == Err(Errno::SRCH))
    };
    let entries = std::fs::read_dir(below).into_iter().flatten().filter_map(Result::ok);
    let mut abandoned: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_abandoned).collect();
    abandoned.sort();
    abandoned
}

impl Git {
    /// Checks out a commit into a new directory, as a worktree without a branch.
    pub fn check_out(&self, commit: &str, directory: &Path) -> Result<(), GitError> {
        let directory = directory.to_string_lossy();
        self.run("worktree", &["add", "--quiet", "--detach", "--", &directory, commit]).map(drop)
    }

    /// Removes such a directory with all its content.
    pub fn remove_checkout(&self, directory: &Path) -> Result<(), GitError> {
        let directory = directory.to_string_lossy();
        self.run("worktree", &["remove", "--force", "--", &directory]).map(drop)
    }

    pub fn tree_of(&self, commit: &str) -> Result<Option<String>, GitError> {
        self.ask("rev-parse", &["--verify", "--quiet", "--end-of-options", &format!("{commit}^{{tree}}")])
    }
}

/// The keys of a filter that name programs.
const PROGRAMS: [&str; 3] = ["clean", "smudge", "process"];

/// A key and its value. Neither need be UTF-8, and a key may contain anything.
type FilterSetting = (OsString, OsString);

/// Returns settings that reset the repository's filters to the user's own, who mostly has none.
fn user_filters(git: &Git) -> Result<Vec<FilterSetting>, GitError> {
    let pattern = r"^filter\..*\.(clean|smudge|process|required)$";
    match git.run("config", &["--null", "--show-scope", "--includes", "--get-regexp", pattern]) {
        Ok(said) => Ok(settings(&said)),
        // There are none.
        Err(GitError::Refused { .. }) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Parses the scope and `key\nvalue`, each ended by NUL.
fn settings(said: &[u8]) -> Vec<FilterSetting> {
    let mut parts = said.split(|byte| *byte == 0);
    let (mut own, mut foreign) = (BTreeMap::new(), Vec::new());
    while let (Some(scope), Some(entry)) = (parts.next(), parts.next()) {
        let (key, value) =
            parted(entry, entry.iter().position(|byte| *byte == b'\n')).unwrap_or((entry, b"true"));
        let Some(rest) = key.strip_prefix(b"filter.") else { continue };
        let Some((name, kind)) = parted(rest, rest.iter().rposition(|byte| *byte == b'.')) else { continue };
        match scope {
            b"global" | b"system" => {
                own.insert((name, kind), value);
            }
            _ => foreign.push(name),
        }
    }
    foreign.sort_unstable();
    foreign.dedup();
    let mut held = Vec::new();
    for name in foreign {
        for (kind, usual) in PROGRAMS.into_iter().map(|kind| (kind, "")).chain([("required", "false")]) {
            let value = own.get(&(name, kind.as_bytes())).copied().unwrap_or(usual.as_bytes());
            let key = [b"filter.", name, b".", kind.as_bytes()].concat();
            held.push((OsString::from_vec(key), OsString::from_vec(value.to_vec())));
        }
    }
    held
}

/// Splits bytes before and after a position.
fn parted(bytes: &[u8], at: Option<usize>) -> Option<(&[u8], &[u8])> {
    at.map(|at| (&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_of_the_repository_is_what_the_user_says_of_it() {
        let said = "global\0filter.lfs.clean\ngit-lfs clean\0global\0filter.lfs.required\ntrue\0\
                    local\0filter.evil.clean\nrm -rf\0worktree\0filter.lfs.process\nevil\0local\0filter.a=b.clean\nx\0";
        let held = settings(said.as_bytes());
        let shown = held.iter().map(|(key, value)| format!("{} is {:?}", key.display(), value));
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                r#"filter.a=b.clean is """#,
                r#"filter.a=b.smudge is """#,
                r#"filter.a=b.process is """#,
                r#"filter.a=b.required is "false""#,
                r#"filter.evil.clean is """#,
                r#"filter.evil.smudge is """#,
                r#"filter.evil.process is """#,
                r#"filter.evil.required is "false""#,
                r#"filter.lfs.clean is "git-lfs clean""#,
                r#"filter.lfs.smudge is """#,
                r#"filter.lfs.process is """#,
                r#"filter.lfs.required is "true""#,
            ]
        );
        assert!(settings(b"global\0filter.lfs.clean\ngit-lfs clean\0").is_empty());
        assert!(settings(b"").is_empty());
    }
}
