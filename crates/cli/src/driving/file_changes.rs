//! The files that a run has changed, counted by git.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use saihai_delivery::Placement;
use saihai_git::{FileDiff, Git, is_own};
use saihai_model::Start;

use crate::quantities::{count, grouped};

/// Lines added to a file and removed from it, compared with the commit at the start.
type LineCounts = (u64, u64);

/// The state of the files before a run.
pub(super) struct FilesBefore {
    directory: PathBuf,
    commit: String,
    /// Reports of runs, which are not its work.
    reports: String,
    /// Files that already differed from the commit.
    changed: BTreeMap<String, LineCounts>,
}

/// The files that a run has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileChanges {
    files: u64,
    added: u64,
    removed: u64,
}

impl FilesBefore {
    /// Reads the state of the files. Returns `None` without git, before the first commit, and for the work on issues,
    /// which reports its own changes.
    pub(super) fn of(start: &Start) -> Option<Self> {
        let directory = PathBuf::from(&start.directory);
        let reports =
            Path::new(&start.report_directory).parent().and_then(|all| all.strip_prefix(&directory).ok());
        let reports = reports.map(|all| format!("{}/", all.display())).unwrap_or_else(|| "/".to_owned());
        match Placement::of(start) {
            Some(Placement::Issue(_)) => None,
            // The worktree is created later, from this commit.
            Some(Placement::Own { own_tree }) => {
                Some(Self { directory, commit: own_tree.commit, reports, changed: BTreeMap::new() })
            }
            None => {
                let git = Git::open(&directory).ok()??;
                let commit = git.commit("HEAD").ok()??;
                let changed = changed_lines(&git, &directory, &commit)?;
                Some(Self { directory, commit, reports, changed })
            }
        }
    }

    /// Compares the files with their state before the run. Of a file changed earlier, only new lines count.
    pub(super) fn changes(&self) -> Option<FileChanges> {
        let git = Git::open(&self.directory).ok()??;
        let now = changed_lines(&git, &self.directory, &self.commit)?;
        let paths: std::collections::BTreeSet<&String> = now.keys().chain(self.changed.keys()).collect();
        let mut changes = FileChanges { files: 0, added: 0, removed: 0 };
        for path in paths.into_iter().filter(|path| !path.starts_with(&self.reports)) {
            let before = self.changed.get(path).copied().unwrap_or_default();
            let after = now.get(path).copied().unwrap_or_default();
            let is_same = self.changed.contains_key(path) == now.contains_key(path) && before == after;
            if !is_same {
                changes.files += 1;
                changes.added += after.0.saturating_sub(before.0);
                changes.removed += after.1.saturating_sub(before.1);
            }
        }
        Some(changes)
    }
}

impl FileChanges {
    /// Formats the changes: `2 files changed (+12 −3)`.
    pub(super) fn words(self) -> String {
        if self.files == 0 {
            return "no files changed".to_owned();
        }
        let (added, removed) = (grouped(self.added), grouped(self.removed));
        format!("{} changed (+{added} −{removed})", count(self.files, "file"))
    }
}

/// Counts the changed lines of every file that differs from the commit. Saihai's own files do not count.
fn changed_lines(git: &Git, directory: &Path, commit: &str) -> Option<BTreeMap<String, LineCounts>> {
    let changed = git.changed(&[commit]).ok()?;
    let mut lines: BTreeMap<String, LineCounts> = changed
        .into_iter()
        .map(|file| {
            let counts = match &file.section {
                FileDiff::Text(patch) => patch_lines(patch),
                FileDiff::Binary | FileDiff::Submodule => (0, 0),
            };
            (file.path, counts)
        })
        .collect();
    for path in git.untracked().ok()? {
        let added =
            std::fs::read(directory.join(&path)).map_or(0, |text| text.split(|byte| *byte == b'\n').count());
        let added = u64::try_from(added).unwrap_or(0).saturating_sub(1);
        lines.insert(path.to_string_lossy().into_owned(), (added, 0));
    }
    lines.retain(|path, _| !is_own(path));
    Some(lines)
}

fn patch_lines(patch: &[u8]) -> LineCounts {
    let mut counts = (0, 0);
    let mut is_body = false;
    for line in patch.split(|byte| *byte == b'\n') {
        is_body |= line.starts_with(b"@@");
        match line.first() {
            Some(b'+') if is_body => counts.0 += 1,
            Some(b'-') if is_body => counts.1 += 1,
            _ => {}
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    // U-5
    #[test]
    fn changed_lines_are_those_of_the_patch_and_not_of_its_head() {
        let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n+--- d\n";
        assert_eq!(patch_lines(patch), (2, 1));
        let changes = FileChanges { files: 1, added: 1_200, removed: 3 };
        assert_eq!(changes.words(), "1 file changed (+1,200 −3)");
    }
}
