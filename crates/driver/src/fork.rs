//! Creates a new run from the start of another.

use std::collections::BTreeMap;
use std::path::Path;

use saihai_engine::Replay;
use saihai_model::{Decision, Fact, Record, RecordEntry, RunOrigin, Workflow};

use crate::blobs::Blobs;
use crate::disk::Beneath;
use crate::error::ForkProblem;
use crate::journal::copy;
use crate::lock::Lock;
use crate::replay::{ReplayedParts, for_each_blob};
use crate::reports::content;
use crate::run_session::RunSession;
use crate::{Clock, DriverError, RunDirectory, Runs};
use saihai_store::damaged;
use saihai_view::{ReportVersion, RunView};

#[derive(Debug, Clone)]
pub struct ForkedRun {
    /// The new run, parked until it is resumed.
    pub directory: RunDirectory,
    pub from: String,
    /// The number of the event it was forked at.
    pub at: u64,
}

/// Creates a new run with the history of `from` up to event `at`. The default is the entry of its last stage.
/// The reports are restored to that time, in a new directory below `reports`.
pub fn fork(
    runs: &Runs,
    from: &RunDirectory,
    at: Option<u64>,
    reports: &Path,
    clock: Clock,
) -> Result<ForkedRun, DriverError> {
    let mut batches = read_batches(from)?;
    let cut = ForkPoint::find(from, batches.iter().flatten(), at)?;
    keep_until(&mut batches, cut.until);
    let workflow = from.workflow()?;
    let prefix = KeptFiles::fold(from, &workflow, batches.iter().flatten(), cut.at)?;
    let (directory, report_directory) = runs.create(slug(from.id()), clock.now(), reports)?;
    let lock = directory.lock()?;
    directory.freeze(&from.workflow_bytes()?, from.script()?.as_ref())?;
    prefix.copy_blobs(from, &directory)?;
    prefix.copy_reports(from, &directory, &report_directory)?;
    for record in batches.iter_mut().flatten() {
        if let RecordEntry::Fact(Fact::Started(start)) = &mut record.entry {
            start.forked_from = Some(from.id().to_owned());
            // The person who forks it is behind the new run.
            start.origin = RunOrigin::default();
            start.report_directory = report_directory.display().to_string();
        }
    }
    let end = copy(&directory.journal(), directory.disk(), &batches)?;
    park(ReplayedParts::of_records(&directory, workflow, batches, end)?, lock, clock)?;
    Ok(ForkedRun { directory, from: from.id().to_owned(), at: cut.at })
}

/// Reads a journal's batches into memory, because a fork needs them twice. Long texts are blobs.
fn read_batches(from: &RunDirectory) -> Result<Vec<Vec<Record>>, DriverError> {
    let mut reader = from.open_journal()?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next_records()? {
        batch.iter().for_each(|record| from.remember_start(record));
        batches.push(batch);
    }
    Ok(batches)
}

/// Drops all records after `until`.
fn keep_until(batches: &mut Vec<Vec<Record>>, until: u64) {
    for batch in batches.iter_mut() {
        batch.retain(|record| record.seq <= until);
    }
    batches.retain(|batch| !batch.is_empty());
}

/// The end of the kept part: after a fact and all its decisions.
#[derive(Debug, PartialEq, Eq)]
struct ForkPoint {
    at: u64,
    until: u64,
}

impl ForkPoint {
    fn find<'a>(
        from: &RunDirectory,
        records: impl Iterator<Item = &'a Record>,
        at: Option<u64>,
    ) -> Result<Self, DriverError> {
        let (mut entered, mut last, mut facts) = (None, 0, Vec::new());
        for record in records {
            last = record.seq;
            match &record.entry {
                RecordEntry::Decision(Decision::Entered { .. }) => entered = Some(record.seq),
                RecordEntry::Fact(_) => facts.push(record.seq),
                RecordEntry::Decision(_) => {}
            }
        }
        let at = at.or(entered).unwrap_or(1);
        if at == 0 || at > last {
            let (run, problem) = (from.id().to_owned(), ForkProblem::NoSuchEvent);
            return Err(DriverError::NoFork { run, at, problem });
        }
        let until = facts.into_iter().find(|fact| *fact > at).map_or(last, |next| next - 1);
        Ok(Self { at, until })
    }
}

/// Files that the kept records need.
struct KeptFiles {
    blobs: BTreeMap<String, u64>,
    /// The last version of each report.
    reports: BTreeMap<String, ReportVersion>,
}

impl KeptFiles {
    /// Folds the kept records. They must replay, and the run must not be over.
    fn fold<'a>(
        from: &RunDirectory,
        workflow: &Workflow,
        records: impl Iterator<Item = &'a Record>,
        at: u64,
    ) -> Result<Self, DriverError> {
        let (mut replay, mut view, mut blobs) = (Replay::new(), None::<RunView>, BTreeMap::new());
        for record in records {
            if let RecordEntry::Fact(fact) = &record.entry {
                for_each_blob(fact, &mut |hash, bytes| {
                    blobs.insert(hash.to_owned(), bytes);
                    Ok(())
                })?;
            }
            match &mut view {
                Some(view) => view.apply(record.clone()),
                None => view = RunView::begin(record),
            }
            let taken = replay.take(workflow, record);
            taken.map_err(|diverged| DriverError::diverged(from, &diverged))?;
        }
        let run = replay.finish().map_err(|diverged| DriverError::diverged(from, &diverged))?;
        if let Some(ending) = run.ending() {
            let problem = ForkProblem::Ended(ending.clone());
            return Err(DriverError::NoFork { run: from.id().to_owned(), at, problem });
        }
        let versions = view.map(|view| view.reports()).unwrap_or_default();
        let reports = versions.into_iter().map(|version| (version.file.clone(), version)).collect();
        Ok(Self { blobs, reports })
    }

    fn copy_blobs(&self, from: &RunDirectory, to: &RunDirectory) -> Result<(), DriverError> {
        let (theirs, ours) = (from.blobs(), to.blobs());
        for (hash, bytes) in &self.blobs {
            let content = theirs.read_bytes(hash, *bytes);
            let content = content.map_err(|bad| damaged(&theirs.path(hash), 1, &bad.to_string()))?;
            let kept = ours.keep_bytes(&content);
            kept.map_err(|(path, source)| DriverError::io("write", &path)(source))?;
        }
        Ok(())
    }

    fn copy_reports(
        &self,
        from: &RunDirectory,
        to: &RunDirectory,
        report_directory: &Path,
    ) -> Result<(), DriverError> {
        let blobs: Blobs = from.blobs();
        let shelf = Beneath::open(report_directory).map_err(DriverError::io("open", report_directory))?;
        for (file, version) in &self.reports {
            let content = content(&blobs, &version.text, version.start, version.end);
            let content = content.map_err(|bad| from.bad_text(&version.text, &bad.to_string()))?;
            let written = shelf.replace(to.disk(), file, &content);
            written.map_err(DriverError::io("write", &report_directory.join(file)))?;
        }
        Ok(())
    }
}

/// Parks the new run. None of the original's calls run here, and a person must resume it.
fn park(run: ReplayedParts, lock: Lock, clock: Clock) -> Result<(), DriverError> {
    let dead = run.run.busy().next().is_some().then_some(Fact::Reopened);
    let facts = [Fact::Interrupted { by: saihai_model::FORKED.to_owned() }].into_iter().chain(dead).collect();
    let mut session = RunSession::of_replay(run, lock, clock)?;
    session.record_only(facts)
}

/// Returns the readable end of a run id.
fn slug(id: &str) -> &str {
    id.get(16..).filter(|slug| !slug.is_empty()).unwrap_or("fork")
}

#[cfg(test)]
mod tests;
