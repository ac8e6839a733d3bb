//! Operations on a repository: worktrees, commits, pushes, merges, rescues.
//!
//! Our git runs no code of the repository. Commands that read files or contact a server use a private git
//! directory. It exists for one operation, contains only frozen settings and ignores the `.git` file of a
//! worktree. The repository's own directory serves only to read and move refs and to register worktrees, with
//! hooks off. A ref moves only from the value that was read.
//!
//! The user's checkout, index and HEAD are never touched. Nothing is forced, and nothing is removed before a
//! ref holds its content. All operations take plain data, return plain outcomes, and block.

use crate::frozen_settings;
use crate::frozen_settings::FrozenGitSettings;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use crate::error::RepositoryError;
use crate::git_program::{GitEnvironment, GitError, GitRefusalKind, output};
use crate::locks::OperationLock;
use crate::private_git::PrivateGit;

#[derive(Debug, Clone)]
pub struct Repository {
    pub(crate) root: PathBuf,
    pub(crate) common: PathBuf,
    /// The directory of the main worktree.
    pub(crate) main: PathBuf,
    pub(crate) environment: GitEnvironment,
    pub(crate) frozen: FrozenGitSettings,
}

impl Repository {
    /// Opens the repository around `root` and freezes the user's settings. Call it before the first agent.
    pub fn open(root: &Path, environment: &GitEnvironment) -> Result<Self, RepositoryError> {
        let said = |arguments: &[&str]| discover(root, environment, arguments);
        match said(&["--is-bare-repository"]) {
            Ok(bare) if bare == "true" => return Err(RepositoryError::Bare { path: root.to_owned() }),
            Ok(_) => {}
            Err(GitError::Refused { kind: GitRefusalKind::NotARepository, .. }) => {
                return Err(RepositoryError::NotARepository { path: root.to_owned() });
            }
            Err(error) => return Err(error.into()),
        }
        let top = PathBuf::from(said(&["--show-toplevel"])?);
        if !top.is_dir() {
            return Err(RepositoryError::NoFiles { path: top });
        }
        // File names may contain any bytes. The path of the repository is recorded as text, so it must be
        // UTF-8.
        if top.to_str().is_none() {
            return Err(RepositoryError::NotText { path: top });
        }
        let common = PathBuf::from(said(&["--path-format=absolute", "--git-common-dir"])?);
        let own = PathBuf::from(said(&["--absolute-git-dir"])?);
        match said(&["--verify", "--quiet", "HEAD^{commit}"]) {
            Ok(_) => {}
            // Git prints nothing if HEAD has no commit, but reports broken refs.
            Err(GitError::Refused { kind: GitRefusalKind::Silent, .. }) => {
                return Err(RepositoryError::NoCommit);
            }
            Err(error) => return Err(error.into()),
        }
        let lock = own.join("index.lock");
        if lock.symlink_metadata().is_ok() {
            return Err(RepositoryError::IndexLocked { path: lock });
        }
        let format = said(&["--show-object-format"])?.to_string_lossy().into_owned();
        let frozen = FrozenGitSettings::read(&top, &common, environment, format)?;
        // Only a checkout itself knows its path if the git directory lies elsewhere, as in a submodule.
        let beside = || common.parent().unwrap_or(&common).to_owned();
        let main = if own == common { top.clone() } else { beside() };
        let mut repository = Self { root: top, common, main, environment: environment.clone(), frozen };
        match repository.find_identity() {
            // A CI machine is new for each job, and no person is there to configure a name.
            Err(RepositoryError::NoIdentity) if repository.frozen.commit_as_actions(environment) => {}
            found => found?,
        }
        repository.sweep();
        Ok(repository)
    }

    /// Returns the directory of the user's files.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the settings read before the first agent.
    pub fn frozen(&self) -> &FrozenGitSettings {
        &self.frozen
    }

    pub(crate) fn own_directory(&self) -> Result<PathBuf, RepositoryError> {
        own_directory(&self.common)
    }

    fn find_identity(&self) -> Result<(), RepositoryError> {
        let private = PrivateGit::make(self, None)?;
        for who in ["GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"] {
            match private.run("var", [who]) {
                Ok(_) => {}
                Err(RepositoryError::Git(GitError::Refused { .. })) => {
                    return Err(RepositoryError::NoIdentity);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Runs git in the repository's own directory: only for refs and the list of worktrees.
    pub(crate) fn registry(&self, command: &str) -> Command {
        let mut git = self.environment.git();
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .current_dir(&self.common)
            .arg("--git-dir")
            .arg(&self.common)
            .arg(command);
        git
    }
}

/// Returns the git directory that all worktrees of the repository around `root` share.
pub fn common_directory(root: &Path, environment: &GitEnvironment) -> Result<PathBuf, RepositoryError> {
    let said = discover(root, environment, &["--path-format=absolute", "--git-common-dir"])?;
    let said = PathBuf::from(said);
    Ok(said.canonicalize().unwrap_or(said))
}

/// Returns our directory inside the git directory.
pub(crate) fn own_directory(common: &Path) -> Result<PathBuf, RepositoryError> {
    let directory = common.join("saihai");
    std::fs::create_dir_all(&directory).map_err(RepositoryError::file("make", &directory))?;
    Ok(directory)
}

/// Runs `git rev-parse` in the user's directory with the user's own configuration.
pub(crate) fn discover(
    root: &Path,
    environment: &GitEnvironment,
    arguments: &[&str],
) -> Result<OsString, GitError> {
    let mut git = environment.git();
    frozen_settings::with_own_configuration(&mut git, environment);
    let mut said = output(git.current_dir(root).arg("rev-parse").args(arguments), "rev-parse")?;
    // A path may itself end in a line break.
    said.pop_if(|byte| *byte == b'\n');
    Ok(OsString::from_vec(said))
}

const EXCLUDE_MARK: &str = "# Made by Saihai, which never looks at these itself:";

/// Rules for the directories that Saihai creates when an agent runs it in a worktree.
pub(crate) const OWN_RULES: &str = "/.saihai/runs/\n/.saihai/batches/\n/.saihai/cache/\n";

impl Repository {
    /// Makes git ignore our directories: the user's git from now on, and ours immediately. Returns the added rules.
    pub fn hide(&mut self, directories: &[PathBuf]) -> Result<Vec<String>, RepositoryError> {
        let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        let added = self.exclude(&directories)?;
        let path = self.common.join("info/exclude");
        self.frozen.excludes[0] = std::fs::read(&path).map_err(RepositoryError::file("read", &path))?;
        Ok(added)
    }

    /// Makes git ignore our directories inside the repository. Adds each rule once, and returns the added ones.
    pub fn exclude(&self, directories: &[&Path]) -> Result<Vec<String>, RepositoryError> {
        add_excludes(&self.root, &self.common, &self.environment, directories)
    }

    /// Returns true if git tracks files in a directory. It is then not ours alone.
    pub fn tracks(&self, directory: &Path) -> Result<bool, RepositoryError> {
        Ok(inside(&self.root, directory)
            .map_or(Ok(false), |inside| tracks(&self.root, &self.environment, &inside))?)
    }
}

/// Returns a directory relative to the repository. Returns `None` if it is outside or the root itself.
fn inside(root: &Path, directory: &Path) -> Option<PathBuf> {
    let mut inside = PathBuf::new();
    // The path has many spellings and may not exist yet.
    for part in root.join(directory).components() {
        match part {
            Component::ParentDir => {
                inside.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => inside.push(part),
        }
    }
    let inside = inside.strip_prefix(root).ok()?.to_owned();
    (!inside.as_os_str().is_empty()).then_some(inside)
}

fn tracks(root: &Path, environment: &GitEnvironment, inside: &Path) -> Result<bool, GitError> {
    let mut git = environment.git();
    crate::frozen_settings::with_own_configuration(&mut git, environment);
    let said = output(git.current_dir(root).args(["ls-files", "-z", "--"]).arg(inside), "ls-files")?;
    Ok(!said.is_empty())
}

/// Makes git ignore our directories without opening the repository. Returns the added rules.
pub fn hide(
    root: &Path,
    environment: &GitEnvironment,
    directories: &[PathBuf],
) -> Result<Vec<String>, RepositoryError> {
    let said = |arguments: &[&str]| discover(root, environment, arguments).map(PathBuf::from);
    let top = said(&["--show-toplevel"])?;
    let common = said(&["--path-format=absolute", "--git-common-dir"])?;
    let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    add_excludes(&top, &common, environment, &directories)
}

fn add_excludes(
    root: &Path,
    common: &Path,
    environment: &GitEnvironment,
    directories: &[&Path],
) -> Result<Vec<String>, RepositoryError> {
    let mut rules = Vec::new();
    for inside in directories.iter().filter_map(|directory| inside(root, directory)) {
        // A directory with tracked files stays visible. Git would not show new files there otherwise.
        if let Some(path) = inside.to_str()
            && !tracks(root, environment, &inside)?
        {
            rules.push(format!("/{}/", exclude_rule(path)));
        }
    }
    let _one_at_a_time = OperationLock::at(common)?;
    let directory = common.join("info");
    let path = directory.join("exclude");
    std::fs::create_dir_all(&directory).map_err(RepositoryError::file("make", &directory))?;
    let present = match std::fs::read(&path) {
        Ok(present) => present,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(RepositoryError::file("read", &path)(error)),
    };
    let known: Vec<&[u8]> = present.split(|byte| *byte == b'\n').collect();
    let missing: Vec<String> = rules.into_iter().filter(|rule| !known.contains(&rule.as_bytes())).collect();
    if missing.is_empty() {
        return Ok(missing);
    }
    let mut addition = String::new();
    if !present.is_empty() && !present.ends_with(b"\n") {
        addition.push('\n');
    }
    if !known.contains(&EXCLUDE_MARK.as_bytes()) {
        addition.push_str(EXCLUDE_MARK);
        addition.push('\n');
    }
    for rule in &missing {
        addition.push_str(rule);
        addition.push('\n');
    }
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(addition.as_bytes()));
    written.map_err(RepositoryError::file("write", &path))?;
    Ok(missing)
}

/// Returns an ignore rule that matches only this path.
fn exclude_rule(path: &str) -> String {
    let mut rule = String::new();
    for letter in path.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ') {
            rule.push('\\');
        }
        rule.push(letter);
    }
    rule
}
