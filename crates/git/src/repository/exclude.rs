//! `info/exclude`: hides our directories from git in the user's checkout.

use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

use super::turnstile::Turnstile;
use super::{Error, Repository, discover};
use crate::git::command::output;
use crate::{Environment, git};

const MARK: &str = "# Made by Saihai, which never looks at these itself:";

/// Rules for the directories that Saihai creates when an agent runs it in a worktree.
pub(super) const OWN_RULES: &str = "/.saihai/runs/\n/.saihai/batches/\n/.saihai/cache/\n";

impl Repository {
    /// Makes git ignore our directories: the user's git from now on, and ours immediately.
    pub fn hide(&mut self, directories: &[PathBuf]) -> Result<(), Error> {
        let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        self.exclude(&directories)?;
        let path = self.common.join("info/exclude");
        self.frozen.excludes[0] = std::fs::read(&path).map_err(Error::file("read", &path))?;
        Ok(())
    }

    /// Makes git ignore our directories inside the repository. Adds each rule once.
    pub fn exclude(&self, directories: &[&Path]) -> Result<(), Error> {
        add(&self.root, &self.common, &self.environment, directories)
    }

    /// Returns true if git tracks files in a directory. It is then not ours alone.
    pub fn tracks(&self, directory: &Path) -> Result<bool, Error> {
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

fn tracks(root: &Path, environment: &Environment, inside: &Path) -> Result<bool, git::Error> {
    let mut git = environment.git();
    super::frozen::with_own_configuration(&mut git, environment);
    let said = output(git.current_dir(root).args(["ls-files", "-z", "--"]).arg(inside), "ls-files")?;
    Ok(!said.is_empty())
}

/// Makes git ignore our directories without opening the repository.
pub fn hide(root: &Path, environment: &Environment, directories: &[PathBuf]) -> Result<(), Error> {
    let said = |arguments: &[&str]| discover(root, environment, arguments).map(PathBuf::from);
    let top = said(&["--show-toplevel"])?;
    let common = said(&["--path-format=absolute", "--git-common-dir"])?;
    let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    add(&top, &common, environment, &directories)
}

fn add(root: &Path, common: &Path, environment: &Environment, directories: &[&Path]) -> Result<(), Error> {
    let mut rules = Vec::new();
    for inside in directories.iter().filter_map(|directory| inside(root, directory)) {
        // A directory with tracked files stays visible. Git would not show new files there otherwise.
        if let Some(path) = inside.to_str()
            && !tracks(root, environment, &inside)?
        {
            rules.push(format!("/{}/", rule(path)));
        }
    }
    let _one_at_a_time = Turnstile::at(common)?;
    let directory = common.join("info");
    let path = directory.join("exclude");
    std::fs::create_dir_all(&directory).map_err(Error::file("make", &directory))?;
    let present = match std::fs::read(&path) {
        Ok(present) => present,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::file("read", &path)(error)),
    };
    let known: Vec<&[u8]> = present.split(|byte| *byte == b'\n').collect();
    let missing: Vec<String> = rules.into_iter().filter(|rule| !known.contains(&rule.as_bytes())).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut addition = String::new();
    if !present.is_empty() && !present.ends_with(b"\n") {
        addition.push('\n');
    }
    if !known.contains(&MARK.as_bytes()) {
        addition.push_str(MARK);
        addition.push('\n');
    }
    for rule in missing {
        addition.push_str(&rule);
        addition.push('\n');
    }
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| file.write_all(addition.as_bytes()));
    written.map_err(Error::file("write", &path))
}

/// Returns an ignore rule that matches only this path.
fn rule(path: &str) -> String {
    let mut rule = String::new();
    for letter in path.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\' | '!' | '#' | ' ') {
            rule.push('\\');
        }
        rule.push(letter);
    }
    rule
}
