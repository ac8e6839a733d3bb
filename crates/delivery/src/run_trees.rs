//! The files of a run before and after: in the user's checkout, in a worktree of its own, or in that of
//! an issue.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use saihai::Driver;
use saihai_git::{ChangedLineCounts, Git};
use saihai_model::{FileChangeCounts, Start};
use saihai_view::RunView;

use crate::stages::stage;
use crate::{Placement, StageOutputs};

/// The two states of the files to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunTrees {
    pub root: PathBuf,
    /// Commit at the start.
    pub from: String,
    /// Commit to compare with instead of the files, if the worktree is gone.
    pub to: Option<String>,
}

/// The reason why the files of a run cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingTrees {
    /// The run did not record the commit it started from.
    NoCommit,
    /// Its directory is gone, and it delivered no commit.
    DirectoryGone(PathBuf),
}

impl RunTrees {
    /// Finds the states of a run. `project` is the directory of its project, which has the commits of its worktree.
    pub fn of(view: &RunView, project: &Path) -> Result<Self, MissingTrees> {
        let start = &view.start;
        let root = PathBuf::from(&start.directory);
        let from = match Placement::of(start) {
            Some(Placement::Issue(assignment)) => Some(assignment.base.commit.clone()),
            Some(Placement::Own { own_tree }) => Some(own_tree.commit),
            None => start.head.clone(),
        };
        let from = from.ok_or(MissingTrees::NoCommit)?;
        if root.is_dir() {
            return Ok(Self { root, from, to: None });
        }
        match StageOutputs::of(view).text(stage::FINALIZE, "commit") {
            Some(commit) => Ok(Self { root: project.to_owned(), from, to: Some(commit.to_owned()) }),
            None => Err(MissingTrees::DirectoryGone(root)),
        }
    }

    fn lines(&self) -> Option<BTreeMap<String, ChangedLineCounts>> {
        let git = Git::open(&self.root).ok()??;
        let trees: Vec<&str> = std::iter::once(self.from.as_str()).chain(self.to.as_deref()).collect();
        git.changed_lines(&trees).ok()
    }
}

/// Returns true if the run changed a file: the file was as in the commit at the start, or was written since. A missing
/// file does not tell.
pub fn is_changed_by_run(view: &RunView, root: &Path, path: &str) -> bool {
    if !view.start.uncommitted.iter().any(|one| one == path) {
        return true;
    }
    let written = std::fs::symlink_metadata(root.join(path)).and_then(|about| about.modified()).ok();
    let written = written.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    written.is_none_or(|written| written.as_millis() >= u128::from(view.started.0))
}

/// Counts the changes of a run. Of a file that was changed before the run, only new lines count.
pub struct RunChangeCounter {
    project: PathBuf,
    /// Changed lines at the start, of a checkout with uncommitted changes.
    before: BTreeMap<String, ChangedLineCounts>,
}

impl RunChangeCounter {
    /// Lets a driver count the changes of its run, which is about to start or to continue.
    pub fn attach(driver: Driver) -> Driver {
        let project = driver.directory().project_root().to_owned();
        // A resumed run has changed the files already. Then a file that was changed before counts whole.
        let counter = match driver.earlier_view() {
            None => Self::before(driver.start_of_run(), project),
            Some(_) => Self { project, before: BTreeMap::new() },
        };
        driver.counting_files(Box::new(move |view| counter.count(view)))
    }

    fn before(start: &Start, project: PathBuf) -> Self {
        let head = start.head.clone().filter(|_| !start.uncommitted.is_empty());
        let trees = head.map(|from| RunTrees { root: PathBuf::from(&start.directory), from, to: None });
        let before = trees.and_then(|trees| trees.lines()).unwrap_or_default();
        Self { project, before }
    }

    /// Compares the files with the start. Returns `None` for rehearsals and reviews, which change nothing, and without
    /// git.
    fn count(&self, view: &RunView) -> Option<FileChangeCounts> {
        if view.start.rehearsal {
            return None;
        }
        let trees = RunTrees::of(view, &self.project).ok()?;
        let reports = Path::new(&view.start.report_directory).parent()?;
        let reports = reports.strip_prefix(&trees.root).ok().map(Path::to_owned);
        let mut counts = FileChangeCounts::default();
        for (path, lines) in trees.lines()? {
            let is_report = reports.as_ref().is_some_and(|reports| Path::new(&path).starts_with(reports));
            let before = self.before.get(&path).copied();
            if is_report || before == Some(lines) || !is_changed_by_run(view, &trees.root, &path) {
                continue;
            }
            let before = before.unwrap_or_default();
            counts.files += 1;
            counts.added += lines.added.saturating_sub(before.added);
            counts.removed += lines.removed.saturating_sub(before.removed);
        }
        Some(counts)
    }
}
