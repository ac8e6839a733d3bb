//! Creates a new run from the start of another.

use std::collections::BTreeMap;
use std::path::Path;

use saihai_engine::Replay;
use saihai_model::{Decision, Entry, Fact, Record};

use crate::blobs::Blobs;
use crate::disk::Beneath;
use crate::history::{Check, History, for_each_blob};
use crate::journal::{Reader, copy};
use crate::lock::Lock;
use crate::owned::{Owned, Way};
use crate::reports::content;
use crate::{Clock, Error, RunDirectory, Runs};
use saihai_store::{StoreError, damaged};
use saihai_view::{ReportVersion, RunView};

#[derive(Debug, Clone)]
pub struct Forked {
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
) -> Result<Forked, Error> {
    let cut = Cut::find(from, at)?;
    let prefix = Prefix::read(from, &cut)?;
    let (directory, report_directory) = runs.create(slug(from.id()), clock.now(), reports)?;
    let lock = directory.lock()?;
    directory.freeze(&from.workflow_bytes()?, from.script()?.as_ref())?;
    prefix.copy_blobs(from, &directory)?;
    prefix.copy_reports(from, &directory, &report_directory)?;
    write_journal(from, &directory, &report_directory, cut.until)?;
    park(&directory, lock, clock)?;
    Ok(Forked { directory, from: from.id().to_owned(), at: cut.at })
}

/// The end of the kept part: after a fact and all its decisions.
#[derive(Debug, PartialEq, Eq)]
struct Cut {
    at: u64,
    until: u64,
}

impl Cut {
    fn find(from: &RunDirectory, at: Option<u64>) -> Result<Self, Error> {
        let mut entered = None;
        let mut last = 0;
        from.read(&mut |record| {
            last = record.seq;
            if let Entry::Decision(Decision::Entered { .. }) = record.entry {
                entered = Some(record.seq);
            }
        })?;
        let at = at.or(entered).unwrap_or(1);
        let no_fork = |why: &str| Error::NoFork { run: from.id().to_owned(), at, why: why.to_owned() };
        if at == 0 || at > last {
            return Err(no_fork("there is no such event"));
        }
        let (mut until, mut over) = (0, false);
        from.read(&mut |record| match record.entry {
            Entry::Fact(_) if record.seq > at => over = true,
            Entry::Fact(_) | Entry::Decision(_) if over => {}
            Entry::Fact(_) | Entry::Decision(_) => until = record.seq,
        })?;
        Ok(Self { at, until })
    }
}

/// Files that the kept records need.
struct Prefix {
    blobs: BTreeMap<String, u64>,
    /// The last version of each report.
    reports: BTreeMap<String, ReportVersion>,
}

impl Prefix {
    /// Folds the kept records. They must replay, and the run must not be over.
    fn read(from: &RunDirectory, cut: &Cut) -> Result<Self, Error> {
        let workflow = from.workflow()?;
        let (mut replay, mut view, mut blobs) = (Replay::new(), None::<RunView>, BTreeMap::new());
        each_kept(from, cut.until, &mut |record| {
            if let Entry::Fact(fact) = &record.entry {
                for_each_blob(fact, &mut |hash, bytes| {
                    blobs.insert(hash.to_owned(), bytes);
                    Ok(())
                })?;
            }
            match &mut view {
                Some(view) => view.apply(record.clone()),
                None => view = RunView::begin(&record),
            }
            replay.take(&workflow, record).map(drop).map_err(|diverged| Error::diverged(from, &diverged))
        })?;
        let run = replay.finish().map_err(|diverged| Error::diverged(from, &diverged))?;
        if let Some(ending) = run.ending() {
            let why = format!("the run was {} by then", ending.outcome());
            return Err(Error::NoFork { run: from.id().to_owned(), at: cut.at, why });
        }
        let versions = view.map(|view| view.reports()).unwrap_or_default();
        let reports = versions.into_iter().map(|version| (version.file.clone(), version)).collect();
        Ok(Self { blobs, reports })
    }

    fn copy_blobs(&self, from: &RunDirectory, to: &RunDirectory) -> Result<(), Error> {
        let (theirs, ours) = (from.blobs(), to.blobs());
        for (hash, bytes) in &self.blobs {
            let content = theirs.read_bytes(hash, *bytes);
            let content = content.map_err(|bad| damaged(&theirs.path(hash), 1, &bad.to_string()))?;
            let kept = ours.keep_bytes(&content);
            kept.map_err(|(path, source)| Error::io("write", &path)(source))?;
        }
        Ok(())
    }

    fn copy_reports(
        &self,
        from: &RunDirectory,
        to: &RunDirectory,
        report_directory: &Path,
    ) -> Result<(), Error> {
        let blobs: Blobs = from.blobs();
        let shelf = Beneath::open(report_directory).map_err(Error::io("open", report_directory))?;
        for (file, version) in &self.reports {
            let content = content(&blobs, &version.text, version.start, version.end);
            let content = content.map_err(|bad| from.bad_text(&version.text, &bad.to_string()))?;
            let written = shelf.replace(to.disk(), file, &content);
            written.map_err(Error::io("write", &report_directory.join(file)))?;
        }
        Ok(())
    }
}

fn write_journal(
    from: &RunDirectory,
    to: &RunDirectory,
    report_directory: &Path,
    until: u64,
) -> Result<(), Error> {
    let mut reader = Reader::open(&from.journal())?;
    let mut next = || -> Result<Option<Vec<Record>>, StoreError> {
        let Some(mut batch) = reader.next_records()? else { return Ok(None) };
        batch.retain(|record| record.seq <= until);
        for record in &mut batch {
            if let Entry::Fact(Fact::Started(start)) = &mut record.entry {
                start.forked_from = Some(from.id().to_owned());
                start.report_directory = report_directory.display().to_string();
            }
        }
        Ok(Some(batch).filter(|batch| !batch.is_empty()))
    };
    Ok(copy(&to.journal(), to.disk(), &mut next)?)
}

/// Parks the new run. None of the original's calls run here, and nothing continues before a person resumes
/// it.
fn park(directory: &RunDirectory, lock: Lock, clock: Clock) -> Result<(), Error> {
    let history = History::read(directory, Check::Length, &mut |_| Ok(()))?;
    let dead = history.run.busy().next().is_some().then_some(Fact::Reopened);
    let facts = [Fact::Interrupted { by: "fork".to_owned() }].into_iter().chain(dead).collect();
    let mut owned = Owned::of_history(directory.clone(), lock, history, clock)?;
    owned.settle(facts, Way::Record).map(drop).map_err(|broken| broken.into_error())
}

fn each_kept(
    from: &RunDirectory,
    until: u64,
    see: &mut dyn FnMut(Record) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut reader = Reader::open(&from.journal())?;
    while let Some(batch) = reader.next_records()? {
        for record in batch {
            if record.seq > until {
                return Ok(());
            }
            see(record)?;
        }
    }
    Ok(())
}

/// Returns the readable end of a run id.
fn slug(id: &str) -> &str {
    id.get(16..).filter(|slug| !slug.is_empty()).unwrap_or("fork")
}

#[cfg(test)]
mod tests;
