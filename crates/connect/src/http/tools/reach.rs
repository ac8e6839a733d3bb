//! How far a tool may reach: which directory, and for how long.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::excludes::Excludes;
use super::ignored::Ignored;
use crate::forge::ForgeViewer;
use crate::tree::{self, Tree};

/// The longest that one tool may take.
const LONGEST: Duration = Duration::from_secs(30);

/// The working directory as the tools see it.
pub(in crate::http) struct Reach {
    pub(super) tree: Tree,
    pub(super) root: PathBuf,
    /// The run, whose own files are never kept from its agents.
    run: String,
    pub(super) halt: Halt,
    /// Who looks at its repository on the forge, where that is known.
    pub(super) viewer: Option<ForgeViewer>,
    /// What git goes by, asked when it is first needed.
    excludes: OnceCell<Excludes>,
}

/// Says when a tool must stop, to a tool that cannot be interrupted.
#[derive(Debug, Clone)]
pub(in crate::http) struct Halt {
    wanted: Arc<AtomicBool>,
    until: Instant,
}

impl Halt {
    /// It must stop when its time is over, or when what comes back beside it is dropped.
    pub(in crate::http) fn after_a_while() -> (Self, HaltOnDrop) {
        let wanted = Arc::new(AtomicBool::new(false));
        (Self { wanted: Arc::clone(&wanted), until: Instant::now() + LONGEST }, HaltOnDrop(wanted))
    }

    /// Whether it must stop now, and what is said of it.
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

/// Nobody waits for the tool any more when this is gone.
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

    /// The same, where it is known who looks at the repository on its forge.
    pub(in crate::http) fn viewing(self, viewer: Option<ForgeViewer>) -> Self {
        Self { viewer, ..self }
    }

    /// The path as it is meant, without `.` and doubled slashes, if a model may see it: not below `.git`, and not
    /// ignored by git, since keys and other secrets are kept in such files.
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

    /// Whether a list that git goes by names a path or a directory above it.
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

    /// What git goes by beside the files of the tree.
    pub(super) fn excludes(&self) -> &Excludes {
        self.excludes.get_or_init(|| Excludes::of(self))
    }

    /// Reports and other files of the run lie in directories of its name, which are often ignored by git.
    pub(super) fn is_of_this_run(&self, names: &[&str]) -> bool {
        !self.run.is_empty() && names.contains(&self.run.as_str())
    }
}
