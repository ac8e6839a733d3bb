//! The runs of a project.

use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use saihai_model::Moment;

use crate::journal::Reader;
use crate::{Disk, Error, RunDirectory, Summary};

/// The runs of a project: `.saihai/runs/`.
#[derive(Debug, Clone)]
pub struct Runs {
    directory: PathBuf,
    disk: Disk,
}

/// A run in a list.
#[derive(Debug)]
pub struct Listed {
    /// Its id.
    pub run: String,
    /// Where it is.
    pub directory: RunDirectory,
    /// What it is; a damaged run says why and hides no other.
    pub summary: Result<Summary, Error>,
}

/// A run's place among the others.
struct Found {
    id: String,
    /// When its first record was written; nothing where it cannot be read.
    began: Option<Moment>,
    /// Its first append was never finished: there is nothing to go on with.
    unborn: bool,
}

impl Runs {
    /// The runs below a project's root.
    pub fn of_project(root: &Path) -> Self {
        Self::on(root, Disk::new())
    }

    pub(crate) fn on(root: &Path, disk: Disk) -> Self {
        Self { directory: root.join(".saihai").join("runs"), disk }
    }

    /// Where they are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// All of them, newest first.
    ///
    /// # Errors
    /// The directory cannot be read; that it does not exist yet is no error.
    pub fn list(&self) -> Result<Vec<Listed>, Error> {
        let found = self.found()?;
        let listed = found.into_iter().map(|found| {
            let directory = RunDirectory::new(&self.directory, found.id, &self.disk);
            Listed { run: directory.id().to_owned(), summary: directory.summary(), directory }
        });
        Ok(listed.collect())
    }

    /// A run by its id, a unique beginning of it, or `last`.
    ///
    /// # Errors
    /// None or several are meant.
    pub fn find(&self, name: &str) -> Result<RunDirectory, Error> {
        let mut found = self.found()?;
        if found.is_empty() {
            return Err(Error::NoRuns { directory: self.directory.clone() });
        }
        if name == "last" {
            let last = found.into_iter().find(|found| !found.unborn);
            let none = || Error::NoRuns { directory: self.directory.clone() };
            return last.map(|found| self.directory_of(found)).ok_or_else(none);
        }
        if let Some(exact) = found.iter().position(|found| found.id == name) {
            return Ok(self.directory_of(found.swap_remove(exact)));
        }
        found.retain(|found| !name.is_empty() && found.id.starts_with(name));
        match found.len() {
            0 => Err(Error::NoSuchRun { name: name.to_owned() }),
            1 => Ok(self.directory_of(found.swap_remove(0))),
            _ => {
                let runs = found.into_iter().map(|found| found.id).collect();
                Err(Error::AmbiguousRun { name: name.to_owned(), runs })
            }
        }
    }

    /// Those whose id ends with a name, or with that and a number, the newest first. Whatever never began is none of them.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn named(&self, name: &str) -> Result<Vec<RunDirectory>, Error> {
        let is_meant = |id: &str| {
            let plain = id.rsplit_once('-').filter(|(_, end)| end.bytes().all(|byte| byte.is_ascii_digit()));
            id.ends_with(name) || plain.is_some_and(|(plain, _)| plain.ends_with(name))
        };
        let found = self.found()?.into_iter().filter(|found| is_meant(&found.id) && !found.unborn);
        Ok(found.map(|found| self.directory_of(found)).collect())
    }

    /// Makes the directory of a new run and its report directory under one name nobody has.
    pub(crate) fn create(
        &self,
        slug: &str,
        at: Moment,
        reports: &Path,
    ) -> Result<(RunDirectory, PathBuf), Error> {
        self.prepare()?;
        self.disk.create_directories(reports).map_err(Error::io("create", reports))?;
        // Links are resolved now and never followed again.
        let reports = reports.canonicalize().map_err(Error::io("resolve", reports))?;
        let own = self.directory.canonicalize().map_err(Error::io("resolve", &self.directory))?;
        let base = format!("{}-{slug}", stamp(at));
        for number in 1_u32.. {
            let id = if number == 1 { base.clone() } else { format!("{base}-{number}") };
            let run = RunDirectory::new(&self.directory, id, &self.disk);
            if !self.make(run.path())? {
                continue;
            }
            let report_directory = reports.join(run.id());
            // Where reports are kept with the runs, the run's own directory is theirs.
            let made = if reports == own { Ok(true) } else { self.make(&report_directory) };
            if let Ok(true) = made {
                return Ok((run, report_directory));
            }
            drop(self.disk.remove_directory(run.path()));
            made?;
        }
        unreachable!("some number is free")
    }

    /// Takes back a run that was never begun. What cannot be removed is left: it is no run.
    pub(crate) fn discard(&self, directory: &RunDirectory, report_directory: &Path) {
        drop(self.disk.remove_tree(directory.path()));
        drop(self.disk.remove_directory(report_directory));
    }

    /// Makes a directory; says whether it was not there.
    fn make(&self, path: &Path) -> Result<bool, Error> {
        match self.disk.create_directory(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => {
                // It may be there and only not be durable; an empty directory of ours is not left behind.
                drop(self.disk.remove_directory(path));
                Err(Error::io("create", path)(error))
            }
        }
    }

    fn prepare(&self) -> Result<(), Error> {
        self.disk.create_directories(&self.directory).map_err(Error::io("create", &self.directory))?;
        let ignore = self.directory.join(".gitignore");
        if ignore.exists() {
            return Ok(());
        }
        match self.disk.replace(&ignore, b"*\n") {
            // Another run that begins just now has put it in place.
            Err(error) if error.kind() == io::ErrorKind::NotFound && ignore.exists() => Ok(()),
            written => written.map_err(Error::io("write", &ignore)),
        }
    }

    fn is_owned(&self, id: &str) -> bool {
        RunDirectory::new(&self.directory, id.to_owned(), &self.disk).owner().is_some()
    }

    fn directory_of(&self, found: Found) -> RunDirectory {
        RunDirectory::new(&self.directory, found.id, &self.disk)
    }

    /// Every run, newest first. A directory without a journal is none: its process died while making it. Nor is one whose journal
    /// is still empty because its process is about to write it.
    fn found(&self) -> Result<Vec<Found>, Error> {
        let entries = match std::fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(Error::io("read", &self.directory)(error)),
        };
        let mut found = Vec::new();
        for entry in entries {
            let entry = entry.map_err(Error::io("read", &self.directory))?;
            let Ok(id) = entry.file_name().into_string() else { continue };
            let journal = entry.path().join("journal.ndjson");
            match journal.metadata() {
                Err(_) => continue,
                Ok(metadata) if metadata.len() == 0 && self.is_owned(&id) => continue,
                Ok(_) => {}
            }
            let first = Reader::open(&journal).and_then(|mut reader| reader.next_records());
            let unborn = matches!(first, Ok(None));
            let began = first.ok().flatten().and_then(|first| Some(first.first()?.at));
            found.push(Found { id, began, unborn });
        }
        found.sort_by(|one, other| other.age().cmp(&one.age()));
        Ok(found)
    }
}

impl Found {
    /// The second is in the id, also where the journal cannot be read or began in another run.
    fn age(&self) -> (&str, Option<Moment>, usize, &str) {
        (self.id.get(..15).unwrap_or(&self.id), self.began, self.id.len(), &self.id)
    }
}

/// `YYYYMMDD-HHmmss` in UTC.
fn stamp(at: Moment) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
    time.to_zoned(TimeZone::UTC).strftime("%Y%m%d-%H%M%S").to_string()
}

#[cfg(test)]
mod tests;
