//! The spool of a worker: results on its own disk until the server has them (D-11a).

use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::messages::CallReport;

/// A result, and the activity that it belongs to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SpooledReport {
    pub(crate) workflow: String,
    /// Temporal's id of the execution.
    pub(crate) execution: String,
    pub(crate) activity: String,
    pub(crate) report: CallReport,
}

#[derive(Debug, Clone)]
pub(crate) struct Spool {
    directory: PathBuf,
}

impl Spool {
    pub(crate) fn open(directory: &Path) -> std::io::Result<Self> {
        std::fs::create_dir_all(directory)?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// Keeps a result. It is durable when this returns.
    pub(crate) fn keep(&self, report: &SpooledReport) -> std::io::Result<PathBuf> {
        let named = format!("{}\n{}\n{}", report.workflow, report.execution, report.activity);
        let name: String = Sha256::digest(named).iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        let (path, draft) = (self.directory.join(&name), self.directory.join(format!(".{name}")));
        let mut file = std::fs::File::create(&draft)?;
        file.write_all(&serde_json::to_vec(report)?)?;
        file.sync_all()?;
        std::fs::rename(&draft, &path)?;
        std::fs::File::open(&self.directory)?.sync_all()?;
        Ok(path)
    }

    /// Returns the results that an earlier process did not report.
    pub(crate) fn left(&self) -> std::io::Result<Vec<(PathBuf, SpooledReport)>> {
        let mut left = Vec::new();
        for entry in std::fs::read_dir(&self.directory)? {
            let path = entry?.path();
            let is_draft = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
            if is_draft {
                continue;
            }
            let report = serde_json::from_slice(&std::fs::read(&path)?)?;
            left.push((path, report));
        }
        left.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(left)
    }

    pub(crate) fn remove(path: &Path) {
        // A leftover is reported again, and the server no longer knows the activity.
        drop(std::fs::remove_file(path));
    }
}
