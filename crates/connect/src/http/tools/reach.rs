//! The limits of a tool: its directory and its time.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::excludes::Excludes;
use super::ignored::Ignored;
use crate::forge::ForgeViewer;
use crate::tree::{self, Tree};

/// Maximum time of one tool call.
const LONGEST: Duration = Duration::from_secs(30);

/// The working directory, as the tools see it.
pub(in crate::http) struct Reach {
    pub(super) tree: Tree,
    pub(super) root: PathBuf,
    /// Id of the run, whose own files stay visible to its agents.
    run: String,
    pub(super) halt: Halt,
    /// Reads the repository on the forge, if there is one.
    pub(super) viewer: Option<ForgeViewer>,
    /// Ignore rules of git, loaded on first use.
    excludes: OnceCell<Excludes>,
}

/// A stop signal for a tool that cannot be interrupted.
#[derive(Debug, Clone)]
pub(in crate::http) struct Halt {
    wanted: Arc<AtomicBool>,
    until: Instant,
}

impl Halt {
    /// Returns a signal that stops the tool at its time limit, or when the guard is dropped.
    pub(in crate::http) fn after_a_while() -> (Self, HaltOnDrop) {
        let wanted = Arc::new(AtomicBool::new(false));
        (Self { wanted: Arc::clone(&wanted), until: Instant::now() + LONGEST }, HaltOnDrop(wanted))
    }

    /// Returns an error if the tool must stop now.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.wanted.load(Ordering::Relaxed) {
            return Err("stopped".to_owned());
        }
        if Instant::now() >= self.until {
            return Err(format!("took longer than {} seconds; ask for less", LONGEST.as_secs()));
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn now() -> Self {
        Self { wanted: Arc::new(AtomicBool::new(true)), until: Instant::now() + LONGEST }
    }
}

/// Stops the tool when it is dropped.
#[derive(Debug)]
pub(in crate::http) struct HaltOnDrop(Arc<AtomicBool>);

impl Drop for HaltOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Reach {
    pub(in crate::http) fn open(directory: &str, run: &str, halt: Halt) -> Result<Self, String> {
        let tree = Tree::open(Path::new(directory)).map_err(|error| error.to_string())?;
        Ok(Self {
            tree,
            root: directory.into(),
            run: run.to_owned(),
            halt,
            viewer: None,
            excludes: OnceCell::new(),
        })
    }

    pub(in crate::http) fn viewing(self, viewer: Option<ForgeViewer>) -> Self {
        Self { viewer, ..self }
    }

    /// Normalizes a path that a model may see: without `.` and double slashes. Paths below `.git` and ignored
    /// files are denied, because ignored files often contain secrets.
    pub(super) fn allowed(&self, path: &str) -> Result<String, String> {
        let names = tree::components(path.trim_end_matches('/')).map_err(|error| error.to_string())?;
        if path.starts_with('/') {
            return Err(tree::Error::Outside { path: path.to_owned() }.to_string());
        }
        if names.contains(&".git") {
            return Err(format!("`{path}` belongs to git"));
        }
        if self.is_of_this_run(&names) {
            return Ok(names.join("/"));
        }
        let whole = names.join("/");
        if self.is_ignored(&names) && !self.excludes().tracks(&whole) {
            return Err(format!("`{path}` is ignored by git and stays unread"));
        }
        Ok(whole)
    }

    /// Returns true if an ignore list names a path or a directory above it.
    pub(super) fn is_ignored(&self, names: &[&str]) -> bool {
        let mut ignored = Ignored::of(&self.tree, self.excludes());
        for depth in 1..=names.len() {
            let part = names[..depth].join("/");
            let is_directory = depth < names.len() || self.tree.directory(&part).is_ok();
            if ignored.matches(&part, is_directory) {
                return true;
            }
            ignored.enter(&self.tree, &part);
        }
        false
    }

    /// Returns the ignore rules outside of the tree's files.
    pub(super) fn excludes(&self) -> &Excludes {
        self.excludes.get_or_init(|| Excludes::of(self))
    }

    /// Returns true for files of this run, such as reports. Their directories have the run's name and are
    /// often ignored by git.
    pub(super) fn is_of_this_run(&self, names: &[&str]) -> bool {
        !self.run.is_empty() && names.contains(&self.run.as_str())
    }
}
