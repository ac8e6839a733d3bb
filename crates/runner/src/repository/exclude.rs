//! `info/exclude`: what of ours git is not to see in the user's checkout.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::turnstile::Turnstile;
use super::{Error, Repository, discover, regular};
use crate::Environment;

/// The line before ours.
const MARK: &str = "# Made by Saihai, which never looks at these itself:";

/// What we put beside the files of an agent that runs us.
pub(super) const OWN_RULES: &str = "/.saihai/runs/\n/.saihai/batches/\n/.saihai/cache/\n";

impl Repository {
    /// Has git ignore directories of ours, the user's git from now on and ours at once.
    pub fn hide(&mut self, directories: &[PathBuf]) -> Result<(), Error> {
        let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
        self.exclude(&directories)?;
        let path = self.common.join("info/exclude");
        self.frozen.excludes[0] = regular::read(&path).map_err(Error::file("read", &path))?;
        Ok(())
    }

    /// Has git ignore directories of ours that are inside the repository, once.
    pub fn exclude(&self, directories: &[&Path]) -> Result<(), Error> {
        add(&self.root, &self.common, directories)
    }
}

/// The same in the repository that `root` is in, of which nothing else is wanted.
///
/// # Errors
/// There is none, or its rules cannot be written.
pub fn hide(root: &Path, environment: &Environment, directories: &[PathBuf]) -> Result<(), Error> {
    let said = |arguments: &[&str]| discover(root, environment, arguments).map(PathBuf::from);
    let top = said(&["--show-toplevel"])?;
    let common = said(&["--path-format=absolute", "--git-common-dir"])?;
    let directories: Vec<&Path> = directories.iter().map(PathBuf::as_path).collect();
    add(&top, &common, &directories)
}

fn add(root: &Path, common: &Path, directories: &[&Path]) -> Result<(), Error> {
    let rules = directories.iter().filter_map(|directory| {
        let inside = root.join(directory);
        let inside = inside.strip_prefix(root).ok()?.to_str()?.trim_end_matches('/');
        (!inside.is_empty()).then(|| format!("/{}/", rule(inside)))
    });
    let _one_at_a_time = Turnstile::at(common)?;
    let directory = common.join("info");
    let path = directory.join("exclude");
    if path.is_symlink() || directory.is_symlink() {
        return Err(Error::Link { path });
    }
    std::fs::create_dir_all(&directory).map_err(Error::file("make", &directory))?;
    let present = match regular::read(&path) {
        Ok(present) => present,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(Error::file("read", &path)(error)),
    };
    let known: Vec<&[u8]> = present.split(|byte| *byte == b'\n').collect();
    let missing: Vec<String> = rules.filter(|rule| !known.contains(&rule.as_bytes())).collect();
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
    let file = regular::open_at(std::fs::OpenOptions::new().append(true).create(true), &path);
    let written = file.and_then(|mut file| file.write_all(addition.as_bytes()));
    written.map_err(Error::file("write", &path))
}

/// A path as a rule that means it and nothing else.
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
