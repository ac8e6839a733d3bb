//! The projects of this machine in which the user has started runs, for `top --all` and `serve --all`.
//!
//! Nothing else reads the list, so a missing or old one never affects a run. Entries are only ever appended: two
//! processes that start at the same time lose none. A project that is gone, or on a disk that is not mounted, is skipped
//! while it is.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use saihai_config::Variables;

use crate::error::CommandError;

/// Returns the directory for the state of this user's commands.
pub(crate) fn state_directory() -> Option<PathBuf> {
    let read = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
    let names = ["XDG_STATE_HOME", "HOME", "USERPROFILE", "LOCALAPPDATA"];
    Variables::new(names.into_iter().filter_map(read)).state_directory()
}

/// The file with one project directory per line.
pub(crate) struct KnownProjects {
    file: PathBuf,
}

impl KnownProjects {
    /// Returns the list of this user. Without a home directory there is none.
    pub(crate) fn of_user() -> Option<Self> {
        Some(Self { file: state_directory()?.join("projects") })
    }

    /// Returns the list of this user for a command that needs it.
    pub(crate) fn of_user_or_error() -> Result<Self, CommandError> {
        Self::of_user().ok_or_else(|| {
            CommandError::usage("there is no directory for the list of projects")
                .hint("set `HOME` or `XDG_STATE_HOME`")
        })
    }

    /// Adds a project if it is missing. A list that cannot be written is no reason to stop a run.
    pub(crate) fn remember(&self, root: &Path) {
        self.add(root).unwrap_or(());
    }

    fn add(&self, root: &Path) -> io::Result<()> {
        let root = root.canonicalize()?;
        // A name that cannot be a line of a text file is not listed.
        let Some(line) = root.to_str().filter(|line| !line.contains('\n')) else { return Ok(()) };
        let known = match fs::metadata(&self.file) {
            // Reading a pipe would wait for ever.
            Ok(file) if !file.is_file() => return Ok(()),
            Ok(_) => fs::read_to_string(&self.file)?,
            Err(_) => String::new(),
        };
        if known.lines().any(|one| one == line) {
            return Ok(());
        }
        if let Some(directory) = self.file.parent() {
            fs::create_dir_all(directory)?;
        }
        // The line of a process that died while it wrote stays on a line of its own.
        let start = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
        let mut file = OpenOptions::new().create(true).append(true).open(&self.file)?;
        file.write_all(format!("{start}{line}\n").as_bytes())
    }

    /// Lists the projects that exist and have runs, without duplicates, in the order in which they were added.
    pub(crate) fn roots(&self) -> Vec<PathBuf> {
        let is_file = fs::metadata(&self.file).is_ok_and(|file| file.is_file());
        let text = is_file.then(|| fs::read_to_string(&self.file).ok()).flatten().unwrap_or_default();
        let mut seen = BTreeSet::new();
        let roots = text.lines().map(PathBuf::from).filter(|root| root.is_absolute());
        roots.filter(|root| seen.insert(root.clone()) && root.join(".saihai/runs").is_dir()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list() -> (tempfile::TempDir, KnownProjects) {
        let place = tempfile::tempdir().unwrap();
        let known = KnownProjects { file: place.path().join("state/saihai/projects") };
        (place, known)
    }

    fn project(place: &Path, name: &str) -> PathBuf {
        let root = place.canonicalize().unwrap().join(name);
        fs::create_dir_all(root.join(".saihai/runs")).unwrap();
        root
    }

    // V-15
    #[test]
    fn a_project_is_listed_once_and_only_while_it_exists() {
        let (place, known) = list();
        assert_eq!(known.roots(), Vec::<PathBuf>::new());
        let (one, two) = (project(place.path(), "one"), project(place.path(), "two"));
        for root in [&one, &two, &one] {
            known.remember(root);
        }
        assert_eq!(known.roots(), [one.clone(), two.clone()]);
        let written = fs::read_to_string(&known.file).unwrap();
        assert_eq!(written, format!("{}\n{}\n", one.display(), two.display()));
        fs::rename(&one, place.path().join("moved")).unwrap();
        assert_eq!(known.roots(), std::slice::from_ref(&two));
        fs::rename(place.path().join("moved"), &one).unwrap();
        assert_eq!(known.roots(), [one, two]);
    }

    // V-15
    #[test]
    fn a_damaged_list_loses_only_its_damaged_lines() {
        let (place, known) = list();
        let root = project(place.path(), "one");
        fs::create_dir_all(known.file.parent().unwrap()).unwrap();
        fs::write(&known.file, "relative\n\n/nowhere/at/all\n/torn").unwrap();
        known.remember(&root);
        known.remember(Path::new("/nowhere/else"));
        assert_eq!(known.roots(), std::slice::from_ref(&root));
        fs::write(&known.file, b"\xff\xfe").unwrap();
        known.remember(&root);
        assert_eq!(known.roots(), Vec::<PathBuf>::new());
        // A directory in its place is neither read nor written.
        fs::remove_file(&known.file).unwrap();
        fs::create_dir(&known.file).unwrap();
        known.remember(&root);
        assert_eq!(known.roots(), Vec::<PathBuf>::new());
    }
}
