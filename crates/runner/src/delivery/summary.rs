//! The summary of a run's work, for people who did not watch it.

use std::path::Path;

use saihai_model::{Cost, Millis, Usd};

use crate::disk::{Beneath, Content};
use crate::{Error, LoadedRun, RunDirectory};

#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    pub run: String,
    /// The last report, else the last reply.
    pub text: String,
    /// The stages of the definition, each with its visits, turns, cost and time.
    pub stages: Vec<(String, StageSum)>,
    /// The number of answered prompts.
    pub turns: u64,
    /// The total cost, if known.
    pub cost: Option<Usd>,
    pub time: Millis,
}

/// The totals over all visits of a stage.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StageSum {
    pub visits: u32,
    pub cost: Cost,
    pub time: Millis,
}

impl Summary {
    /// Summarizes the run so far.
    pub fn of(directory: &RunDirectory) -> Result<Self, Error> {
        let loaded = LoadedRun::read(directory)?;
        let outcome = loaded.outcome()?;
        let mut sums: Vec<(String, StageSum)> = Vec::new();
        let mut time = Millis(0);
        // Delivery stages are not part of the definition and do not interest the reader.
        let visits = loaded.view.visits.iter().filter(|visit| !visit.stage.as_str().starts_with("deliver/"));
        for visit in visits {
            let name = visit.stage.to_string();
            let length = visit.left.unwrap_or(loaded.view.last_at).since(visit.entered);
            time = Millis(time.0.saturating_add(length.0));
            let index = sums.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
                sums.push((name, StageSum::default()));
                sums.len() - 1
            });
            let sum = &mut sums[index].1;
            sum.visits += 1;
            sum.cost = sum.cost.plus(visit.cost);
            sum.time = Millis(sum.time.0.saturating_add(length.0));
        }
        let report = outcome.reports.last().and_then(|file| read(Path::new(&outcome.report_directory), file));
        let text = report.or(outcome.output).unwrap_or_default();
        Ok(Self { run: outcome.run, text, stages: sums, turns: outcome.turns, cost: outcome.cost, time })
    }
}

/// Reads a report. An agent can write to the same directory, so this follows no link.
fn read(directory: &Path, file: &str) -> Option<String> {
    match Beneath::open(directory).and_then(|directory| directory.read(file)) {
        Ok(Content::File(bytes)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(Content::Absent | Content::Unsafe(_)) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // I-52: publish the content of the file, never the target of a link.
    #[test]
    fn a_report_that_an_agent_made_a_link_is_not_published() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::write(root.join("key"), "secret").unwrap();
        let reports = root.join("reports");
        std::fs::create_dir(&reports).unwrap();
        std::fs::write(reports.join("a.md"), "done").unwrap();
        std::os::unix::fs::symlink(root.join("key"), reports.join("b.md")).unwrap();
        assert_eq!(read(&reports, "a.md").as_deref(), Some("done"));
        assert_eq!(read(&reports, "b.md"), None);
        assert_eq!(read(&reports, "../key"), None);
    }
}
