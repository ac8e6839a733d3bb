//! The git program, restricted so that no repository can make it run code.
//!
//! A person or agent with write access to a project can also change `.git/config` and `.gitattributes`. Every
//! call therefore disables pager, hooks, file system monitor, external diff, text conversion, lazy fetching
//! and prompts. It also clears the variables of the caller's git. Filters run only if the user's own
//! configuration defines them. Git writes nothing here, not even a refreshed index.

mod begun;
mod changed;
mod checkout;
pub mod command;
mod committed;
mod fetch;
mod filters;
mod naming;
pub mod running;
mod tracked;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use self::filters::Setting;

pub use changed::{Changed, Section};
pub use checkout::abandoned_checkouts;
pub use command::{Environment, end_all};
pub use committed::{Below, Committed, Followed};
pub use naming::Branch;
pub use tracked::Tracked;

/// A repository, accessed through the git program.
#[derive(Debug, Clone)]
pub struct Git {
    root: PathBuf,
    environment: Environment,
    /// Settings above those of the repository.
    filters: Vec<Setting>,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The program cannot be started.
    #[error("git cannot be started: {0}")]
    Missing(#[source] io::Error),
    #[error("`git {command}` failed: {said}")]
    Refused {
        /// The command, without its flags.
        command: String,
        said: String,
    },
    #[error("`{name}` could mean {}", either(.meanings))]
    Ambiguous {
        name: String,
        /// The full names of all matches.
        meanings: Vec<String>,
    },
    /// The inside of a git directory, without project files.
    #[error("`{}` is a bare repository, or the inside of one: no files are checked out there", .0.display())]
    Bare(PathBuf),
    /// Git was ended before it finished.
    #[error("`git {command}` was ended: {why}")]
    Ended {
        /// The command, without its flags.
        command: String,
        why: &'static str,
    },
    /// The output could not be parsed.
    #[error("what `git {command}` said cannot be understood")]
    Unreadable { command: &'static str },
}

/// Settings for comparing files, in addition to the filters.
const HELD: [&str; 4] = [
    "core.bigFileThreshold=20m",
    "diff.autoRefreshIndex=true",
    "diff.suppressBlankEmpty=false",
    "diff.trustExitCode=false",
];

/// Maximum number of files in one call. A path has at most 4 KiB, and a renamed file has two.
const AT_ONCE: usize = 100;

/// Directories of Saihai. Their files never count as changes.
const OWN: [&str; 4] = [".saihai/runs/", ".saihai/cache/", ".saihai/batches/", ".worktrees/"];

/// Returns true if a path from the root belongs to Saihai.
pub fn is_own(path: &str) -> bool {
    OWN.iter().any(|own| path.starts_with(own))
}

/// Returns true if a directory is inside another, with links resolved.
fn is_inside(directory: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(directory).starts_with(real(other))
}

fn either(meanings: &[String]) -> String {
    let quoted: Vec<String> = meanings.iter().map(|meaning| format!("`{meaning}`")).collect();
    quoted.join(" or ")
}

impl Git {
    /// Opens the repository whose files are at `root`. Returns `None` if there is none.
    pub fn open(root: &Path) -> Result<Option<Self>, Error> {
        let (environment, filters) = (Environment::of_process(), Vec::new());
        let mut git = Self { root: root.to_owned(), environment, filters };
        match git.say("rev-parse", &["--is-inside-work-tree", "--absolute-git-dir"]) {
            Ok(said) => match said.trim_end().split_once('\n') {
                Some(("true", own)) if is_inside(root, Path::new(own)) => {
                    return Err(Error::Bare(root.to_owned()));
                }
                Some(("true", _)) => {}
                Some(_) | None => return Ok(None),
            },
            // Report any other refusal, for example a repository of another user.
            Err(Error::Refused { said, .. }) if said.contains("not a git repository") => return Ok(None),
            Err(error) => return Err(error),
        }
        git.filters = filters::held(&git)?;
        Ok(Some(git))
    }

    pub fn merge_base(&self, one: &str, other: &str) -> Result<Option<String>, Error> {
        self.ask("merge-base", &["--end-of-options", one, other])
    }

    /// Returns the hash of the empty tree.
    pub fn empty_tree(&self) -> Result<String, Error> {
        self.say("hash-object", &["-t", "tree", "--stdin"]).map(|hash| hash.trim().to_owned())
    }

    /// Returns all differences between two trees, or between a tree and the files at the root. Untracked
    /// files are not included.
    pub fn changed(&self, trees: &[&str]) -> Result<Vec<Changed>, Error> {
        self.compared(trees, &[], &[])
    }

    /// Compares binary files line by line. A file without a difference keeps its earlier result.
    pub fn changed_as_text(&self, trees: &[&str], mut files: Vec<Changed>) -> Result<Vec<Changed>, Error> {
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

    fn compared(&self, trees: &[&str], how: &[&str], below: &[&OsStr]) -> Result<Vec<Changed>, Error> {
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
            "--no-abbrev",
            "--full-index",
            "--submodule=short",
            // A check for a dirty submodule would run git with that repository's configuration.
            "--ignore-submodules=dirty",
        ];
        let mut git = self.command("diff");
        git.args(flags).args(how).args(trees).arg("--").args(below);
        changed::read(&command::output(&mut git, "diff")?).ok_or(Error::Unreadable { command: "diff" })
    }

    /// Lists files that git neither tracks nor ignores. Embedded repositories end in `/`.
    pub fn untracked(&self) -> Result<Vec<PathBuf>, Error> {
        self.listed(&["--others"], &[])
    }

    pub fn tracked_paths(&self) -> Result<Vec<PathBuf>, Error> {
        self.listed(&["--cached"], &[])
    }

    /// Lists all files below a directory that git does not ignore, and tracked files that match an ignore
    /// rule.
    pub fn below(&self, directory: &str) -> Result<Vec<PathBuf>, Error> {
        self.listed(&["--cached", "--others"], &[directory])
    }

    /// Returns true if git tracks a file, or at least does not ignore it.
    pub fn shows(&self, file: &Path) -> Result<bool, Error> {
        let Some(name) = file.to_str() else { return Ok(false) };
        Ok(self.listed(&["--cached", "--others"], &[name])?.iter().any(|path| path == file))
    }

    /// Returns the paths that an attribute marks as text.
    pub fn called_text<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Result<BTreeSet<String>, Error> {
        let input: Vec<u8> = paths.flat_map(|path| path.bytes().chain([0])).collect();
        let mut git = self.command("check-attr");
        let said = command::feed(git.args(["-z", "--stdin", "diff"]), "check-attr", &input)?;
        let fields: Vec<&[u8]> = said.split(|byte| *byte == 0).collect();
        let set = fields.chunks_exact(3).filter(|field| field[2] == b"set");
        Ok(set.map(|field| String::from_utf8_lossy(field[0]).into_owned()).collect())
    }

    /// Lists paths. Names need not be UTF-8.
    fn listed(&self, which: &[&str], below: &[&str]) -> Result<Vec<PathBuf>, Error> {
        let flags = [which, &["--exclude-standard", "-z", "--"], below].concat();
        let said = self.run("ls-files", &flags)?;
        let paths = said.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(paths.map(|path| PathBuf::from(OsStr::from_bytes(path))).collect())
    }

    /// Returns a hash of the whole visible state: commits, changes and new files, without `left_out`. Returns
    /// `None` if there is an embedded repository, whose state is unknown.
    pub fn standing(&self, left_out: &[String]) -> Result<Option<String>, Error> {
        let tree = self.head_tree()?;
        let changed = self.differing_paths(&tree)?.into_iter();
        let new = self.untracked()?.into_iter().map(|path| path.to_string_lossy().into_owned());
        let mut paths: Vec<String> = changed.chain(new).collect();
        paths.retain(|path| !is_own(path) && !left_out.contains(path));
        paths.sort();
        let mut hash = Sha256::new();
        hash.update(tree.as_bytes());
        for path in paths {
            let file = self.root.join(&path);
            let content = match fs::symlink_metadata(&file) {
                Ok(metadata) if metadata.is_dir() => return Ok(None),
                Ok(metadata) if metadata.is_symlink() => {
                    fs::read_link(&file).map(|target| target.as_os_str().as_encoded_bytes().to_vec()).ok()
                }
                Ok(metadata) if metadata.is_file() => fs::read(&file).ok(),
                // A pipe has no content, and reading it may block forever.
                Ok(_) | Err(_) => None,
            };
            let content = content.map(|bytes| Sha256::digest(&bytes).to_vec()).unwrap_or_default();
            hash.update(path.as_bytes());
            hash.update([0, u8::from(content.is_empty())]);
            hash.update(content);
        }
        Ok(Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Returns true if git tracks a file below a path.
    pub fn tracks(&self, path: &str) -> Result<bool, Error> {
        self.run("ls-files", &["-z", "--", path]).map(|said| !said.is_empty())
    }

    /// Returns one line of output, or `None` if git refuses.
    fn ask(&self, command: &str, arguments: &[&str]) -> Result<Option<String>, Error> {
        match self.say(command, arguments) {
            Ok(said) => Ok(Some(said.trim().to_owned()).filter(|line| !line.is_empty())),
            Err(Error::Refused { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn say(&self, command: &str, arguments: &[&str]) -> Result<String, Error> {
        self.run(command, arguments).map(|said| String::from_utf8_lossy(&said).into_owned())
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Result<Vec<u8>, Error> {
        command::output(self.command(command).args(arguments), command)
    }

    fn command(&self, command: &str) -> Command {
        let mut git = self.environment.git();
        git.env("GIT_OPTIONAL_LOCKS", "0").current_dir(&self.root);
        // The repository cannot redirect git to other files.
        git.arg("--work-tree").arg(&self.root);
        for setting in HELD {
            git.args(["-c", setting]);
        }
        for (key, value) in &self.filters {
            command::configure(&mut git, key, value);
        }
        git.arg(command);
        git
    }
}

#[cfg(test)]
mod tests;
