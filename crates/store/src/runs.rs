//! The runs of a project.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use saihai_model::Moment;

use crate::{Disk, RunDirectory, StoreError};

/// The runs of a project: `.saihai/runs/`.
#[derive(Debug, Clone)]
pub struct Runs {
    directory: PathBuf,
    disk: Disk,
}

/// A run as described by its directory name and file dates.
struct RunEntry {
    id: String,
    /// Write time of the frozen workflow; orders runs of the same second.
    frozen: Option<SystemTime>,
}

impl Runs {
    pub fn of_project(root: &Path) -> Self {
        Self::on(root, Disk::new())
    }

    pub fn on(root: &Path, disk: Disk) -> Self {
        Self { directory: root.join(".saihai").join("runs"), disk }
    }

    pub(crate) fn in_directory(directory: &Path, disk: Disk) -> Self {
        Self { directory: directory.to_owned(), disk }
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Lists all runs, newest first. Opens no journal.
    pub fn list(&self) -> Result<Vec<RunDirectory>, StoreError> {
        Ok(self.entries(|_| true)?.into_iter().map(|entry| self.directory_of(entry)).collect())
    }

    /// Finds a run by its id, a unique beginning of the id, a unique beginning of the name after the time, or `last`.
    /// Opens no journal, except that of the newest run for `last`.
    pub fn find(&self, name: &str) -> Result<RunDirectory, StoreError> {
        let mut entries = self.entries(|_| true)?;
        let none = || StoreError::NoRuns { directory: self.directory.clone() };
        if entries.is_empty() {
            return Err(none());
        }
        if name == "last" {
            let mut newest_first = entries.into_iter().map(|entry| self.directory_of(entry));
            return newest_first.find(|run| !run.never_started()).ok_or_else(none);
        }
        if let Some(exact) = entries.iter().position(|entry| entry.id == name) {
            return Ok(self.directory_of(entries.swap_remove(exact)));
        }
        let begins = |text: &str| !name.is_empty() && text.starts_with(name);
        let is_by_id = entries.iter().any(|entry| begins(&entry.id));
        entries.retain(|entry| begins(if is_by_id { &entry.id } else { slug_of(&entry.id) }));
        match entries.len() {
            0 => Err(StoreError::NoSuchRun { name: name.to_owned() }),
            1 => Ok(self.directory_of(entries.swap_remove(0))),
            _ => {
                let runs = entries.into_iter().map(|entry| entry.id).collect();
                Err(StoreError::AmbiguousRun { name: name.to_owned(), runs })
            }
        }
    }

    /// Returns the shortest name to type for a run: `last`, or a beginning of its id that no other run shares. The
    /// beginning contains at least the time, so that a run started meanwhile does not make it ambiguous.
    pub fn short_name(&self, id: &str) -> String {
        let Ok(entries) = self.entries(|_| true) else { return id.to_owned() };
        let never_started =
            |id: &String| RunDirectory::new(&self.directory, id.clone(), &self.disk).never_started();
        let newest = entries.iter().find(|entry| entry.id == id || !never_started(&entry.id));
        if newest.is_some_and(|entry| entry.id == id) {
            return "last".to_owned();
        }
        let others: Vec<&str> =
            entries.iter().map(|entry| entry.id.as_str()).filter(|other| *other != id).collect();
        let mut ends = id.char_indices().map(|(end, _)| end).skip(STAMP_LENGTH);
        let unique = ends.find(|end| !others.iter().any(|other| other.starts_with(&id[..*end])));
        unique.map_or(id, |end| &id[..end]).to_owned()
    }

    /// Deletes a run with its reports. The caller makes sure that no process drives it.
    pub fn remove(&self, directory: &RunDirectory, report_directory: &Path) -> Result<(), StoreError> {
        // Delete the journal first: a directory without one is not a run, even if the rest cannot be deleted.
        let journal = directory.journal();
        self.disk.remove(&journal).map_err(StoreError::io("delete", &journal))?;
        let path = directory.path();
        self.disk.remove_tree(path).map_err(StoreError::io("delete", path))?;
        match self.disk.remove_tree(report_directory) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StoreError::io("delete", report_directory)(error))
            }
            _ => Ok(()),
        }
    }

    /// Returns runs whose id ends with `name`, or with `name` and a number, newest first. Leaves out runs whose process
    /// died during creation: no agent was asked for them.
    pub fn named(&self, name: &str) -> Result<Vec<RunDirectory>, StoreError> {
        let matches = |id: &str| {
            let plain = id.rsplit_once('-').filter(|(_, end)| end.bytes().all(|byte| byte.is_ascii_digit()));
            id.ends_with(name) || plain.is_some_and(|(plain, _)| plain.ends_with(name))
        };
        let runs = self.entries(matches)?.into_iter().map(|entry| self.directory_of(entry));
        Ok(runs.filter(|run| !run.never_started()).collect())
    }

    /// Creates the directory of a new run and its report directory under one unused name.
    pub fn create(
        &self,
        slug: &str,
        at: Moment,
        reports: &Path,
    ) -> Result<(RunDirectory, PathBuf), StoreError> {
        self.prepare()?;
        self.disk.create_directories(reports).map_err(StoreError::io("create", reports))?;
        // Resolve links now and never follow them again.
        let reports = reports.canonicalize().map_err(StoreError::io("resolve", reports))?;
        let own = self.directory.canonicalize().map_err(StoreError::io("resolve", &self.directory))?;
        let base = format!("{}-{slug}", stamp(at));
        for number in 1_u32.. {
            let id = if number == 1 { base.clone() } else { format!("{base}-{number}") };
            let run = RunDirectory::new(&self.directory, id, &self.disk);
            if !self.make(run.path())? {
                continue;
            }
            let report_directory = reports.join(run.id());
            // If reports are kept with the runs, they share the run's own directory.
            let made = if reports == own { Ok(true) } else { self.make(&report_directory) };
            if let Ok(true) = made {
                return Ok((run, report_directory));
            }
            drop(self.disk.remove_directory(run.path()));
            made?;
        }
        unreachable!("some number is free")
    }

    /// Deletes a run that never started. A directory that cannot be removed is not a run and can stay.
    pub fn discard(&self, directory: &RunDirectory, report_directory: &Path) {
        drop(self.disk.remove_tree(directory.path()));
        drop(self.disk.remove_directory(report_directory));
    }

    /// Creates a directory; returns false if it existed.
    fn make(&self, path: &Path) -> Result<bool, StoreError> {
        match self.disk.create_directory(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => {
                // The directory may exist without being durable. Do not leave an empty directory behind.
                drop(self.disk.remove_directory(path));
                Err(StoreError::io("create", path)(error))
            }
        }
    }

    fn prepare(&self) -> Result<(), StoreError> {
        self.disk.create_directories(&self.directory).map_err(StoreError::io("create", &self.directory))?;
        let ignore = self.directory.join(".gitignore");
        if ignore.exists() {
            return Ok(());
        }
        match self.disk.replace(&ignore, b"*\n") {
            // Another run that starts now has created it.
            Err(error) if error.kind() == io::ErrorKind::NotFound && ignore.exists() => Ok(()),
            written => written.map_err(StoreError::io("write", &ignore)),
        }
    }

    fn is_owned(&self, id: &str) -> bool {
        RunDirectory::new(&self.directory, id.to_owned(), &self.disk).owner().is_some()
    }

    fn directory_of(&self, entry: RunEntry) -> RunDirectory {
        RunDirectory::new(&self.directory, entry.id, &self.disk)
    }

    /// Returns the wanted runs, newest first, and looks at no other directory. A directory without a journal is not a run: its process died during creation.
    /// Nor is one whose empty journal a living process is about to write.
    fn entries(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<RunEntry>, StoreError> {
        let directory = match std::fs::read_dir(&self.directory) {
            Ok(directory) => directory,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("read", &self.directory)(error)),
        };
        let mut entries = Vec::new();
        for entry in directory {
            let entry = entry.map_err(StoreError::io("read", &self.directory))?;
            let Ok(id) = entry.file_name().into_string() else { continue };
            if !is_wanted(&id) {
                continue;
            }
            match entry.path().join("journal.ndjson").metadata() {
                Err(_) => continue,
                Ok(metadata) if metadata.len() == 0 && self.is_owned(&id) => continue,
                Ok(_) => {}
            }
            let frozen = entry.path().join("workflow.json").metadata().and_then(|file| file.modified()).ok();
            entries.push(RunEntry { id, frozen });
        }
        entries.sort_by(|one, other| other.age().cmp(&one.age()));
        Ok(entries)
    }
}

impl RunEntry {
    /// Sorts by the time of the start. Ids carry local time, which is ambiguous when clocks go back or the time zone
    /// changes. The time of the frozen workflow is exact, but a copied project has new ones, so it counts only if it
    /// is close to the id.
    fn age(&self) -> (SystemTime, usize, &str) {
        let stamped = self.id.get(..15).and_then(|stamp| DateTime::strptime("%Y%m%d-%H%M%S", stamp).ok());
        let stamped = stamped.and_then(|stamp| stamp.to_zoned(TimeZone::UTC).ok());
        let stamped = stamped.map_or(SystemTime::UNIX_EPOCH, |stamp| SystemTime::from(stamp.timestamp()));
        let is_close = |frozen: &SystemTime| {
            let apart = frozen.duration_since(stamped).or_else(|_| stamped.duration_since(*frozen));
            apart.is_ok_and(|apart| apart < LARGEST_OFFSET)
        };
        (self.frozen.filter(is_close).unwrap_or(stamped), self.id.len(), &self.id)
    }
}

/// No local time is further away from UTC.
const LARGEST_OFFSET: Duration = Duration::from_secs(26 * 60 * 60);
/// Length of the time at the beginning of an id: `20260206-085600`.
const STAMP_LENGTH: usize = 15;

/// Returns the part of an id after its time.
fn slug_of(id: &str) -> &str {
    id.get(STAMP_LENGTH + 1..).unwrap_or_default()
}

/// Returns true if a text can only mean a run: `last`, or a text that starts with the date of an id. Definitions,
/// stages and answers never do.
pub fn names_run(text: &str) -> bool {
    let date = text.get(..8).is_some_and(|date| date.bytes().all(|byte| byte.is_ascii_digit()));
    text == "last" || date && text.as_bytes().get(8).is_none_or(|byte| *byte == b'-')
}

fn stamp(at: Moment) -> String {
    let millis = i64::try_from(at.0).unwrap_or(i64::MAX);
    let time = Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX);
    time.to_zoned(TimeZone::system()).strftime("%Y%m%d-%H%M%S").to_string()
}
