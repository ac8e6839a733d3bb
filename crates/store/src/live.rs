//! Live output of running turns, for viewers in other processes.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use saihai_model::{CallId, Progress};
use serde::{Deserialize, Serialize};

/// Live output of running turns: one file per turn in `live/`, deleted when the turn ends. It only serves viewers. It
/// is therefore never synced, and output that cannot be written is dropped.
#[derive(Debug)]
pub struct Live {
    directory: PathBuf,
    shown: HashMap<CallId, ProgressFile>,
    /// Number of files created so far; makes each name unique.
    made: u64,
}

#[derive(Debug)]
struct ProgressFile {
    path: PathBuf,
    file: File,
    bytes: usize,
}

/// Maximum bytes shown of one turn; further output is dropped.
const MOST: usize = 1024 * 1024;

/// One line of such a file.
#[derive(Debug, Serialize, Deserialize)]
struct ProgressLine {
    call: CallId,
    shows: Glimpse,
}

/// A piece of live output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Glimpse {
    /// More text: a word, a line, or many.
    Text(String),
    Does(String),
}

impl From<&Progress> for Glimpse {
    fn from(progress: &Progress) -> Self {
        match progress {
            Progress::Text(text) => Self::Text(text.clone()),
            Progress::ToolStarted(tool) => Self::Does(tool.clone()),
            Progress::ToolFinished(tool) => Self::Does(format!("{tool}: done")),
            Progress::Retrying(why) => Self::Does(format!("tries again: {why}")),
            Progress::Denied(what) => Self::Does(format!("was denied {what}")),
        }
    }
}

impl Live {
    /// Starts without running turns, and deletes the files of a dead owner.
    pub fn new(directory: PathBuf) -> Self {
        drop(fs::remove_dir_all(&directory));
        Self { directory, shown: HashMap::new(), made: 0 }
    }

    /// Appends output of a turn.
    pub fn show(&mut self, call: &CallId, progress: &Progress) {
        let Ok(mut line) = serde_json::to_vec(&ProgressLine { call: call.clone(), shows: progress.into() })
        else {
            return;
        };
        line.push(b'\n');
        let Some(shown) = self.open(call) else { return };
        if shown.bytes.saturating_add(line.len()) <= MOST && shown.file.write_all(&line).is_ok() {
            shown.bytes += line.len();
        } else {
            // After a partial or surplus line, show nothing more of this turn.
            shown.bytes = usize::MAX;
        }
    }

    /// Deletes the live file of a finished turn: the reply contains its text.
    pub fn end(&mut self, call: &CallId) {
        let Some(shown) = self.shown.remove(call) else { return };
        drop(fs::remove_file(shown.path));
        if self.shown.is_empty() {
            drop(fs::remove_dir(&self.directory));
        }
    }

    fn open(&mut self, call: &CallId) -> Option<&mut ProgressFile> {
        if !self.shown.contains_key(call) {
            fs::create_dir_all(&self.directory).ok()?;
            self.made += 1;
            let path = self.directory.join(format!("{}-{}", std::process::id(), self.made));
            let file = OpenOptions::new().create_new(true).append(true).open(&path).ok()?;
            self.shown.insert(call.clone(), ProgressFile { path, file, bytes: 0 });
        }
        self.shown.get_mut(call)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.directory));
    }
}

/// Viewer of a run that another process drives.
#[derive(Debug)]
pub struct Glimpses {
    directory: PathBuf,
    /// Read position in each file. File names are never reused.
    read: BTreeMap<PathBuf, u64>,
}

impl Glimpses {
    pub fn new(directory: PathBuf) -> Self {
        Self { directory, read: BTreeMap::new() }
    }

    /// Returns the output since the last call. A turn that has ended since then adds nothing.
    pub fn look(&mut self) -> Vec<(CallId, Glimpse)> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            self.read.clear();
            return Vec::new();
        };
        let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        // A longer number is a later one.
        paths.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
        let mut seen = Vec::new();
        let mut read = BTreeMap::new();
        for path in paths {
            if let Some(end) = self.look_into(&path, &mut seen) {
                read.insert(path, end);
            }
        }
        self.read = read;
        seen
    }

    /// Reads only whole lines, because the last one may be incomplete.
    fn look_into(&self, path: &Path, seen: &mut Vec<(CallId, Glimpse)>) -> Option<u64> {
        let mut file = File::open(path).ok()?;
        let mut end = self.read.get(path).copied().unwrap_or(0);
        file.seek(SeekFrom::Start(end)).ok()?;
        let mut reader = BufReader::new(file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).is_ok_and(|_| line.ends_with(b"\n")) {
            end += line.len() as u64;
            if let Ok(ProgressLine { call, shows }) = serde_json::from_slice(&line) {
                seen.push((call, shows));
            }
            line.clear();
        }
        Some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(n: u32) -> CallId {
        CallId { stage: "a/b".into(), visit: 1, round: 1, n }
    }

    fn text(words: &str) -> Progress {
        Progress::Text(words.to_owned())
    }

    #[test]
    fn a_watcher_sees_each_event_once_and_nothing_of_a_finished_turn() {
        // C-28
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("live");
        let mut live = Live::new(directory.clone());
        let mut glimpses = Glimpses::new(directory.clone());
        assert_eq!(glimpses.look(), []);
        live.show(&call(1), &text("one"));
        live.show(&call(2), &Progress::ToolStarted("write a.txt".to_owned()));
        let does = Glimpse::Does("write a.txt".to_owned());
        assert_eq!(glimpses.look(), [(call(1), Glimpse::Text("one".to_owned())), (call(2), does)]);
        live.show(&call(1), &text("two\n"));
        assert_eq!(glimpses.look(), [(call(1), Glimpse::Text("two\n".to_owned()))]);
        assert_eq!(glimpses.look(), []);
        live.end(&call(1));
        // A repeated call starts with an empty file.
        live.show(&call(1), &text("three"));
        assert_eq!(glimpses.look(), [(call(1), Glimpse::Text("three".to_owned()))]);
        live.end(&call(1));
        live.end(&call(2));
        assert!(!directory.exists());
    }

    #[test]
    fn what_is_shown_of_one_turn_is_bounded() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("live");
        let mut live = Live::new(directory.clone());
        for _ in 0..300 {
            live.show(&call(1), &text(&"x".repeat(10_000)));
        }
        let file = fs::read_dir(&directory).unwrap().next().unwrap().unwrap();
        let length = file.metadata().unwrap().len();
        assert!((900_000..=1024 * 1024).contains(&length), "{length}");
    }

    #[test]
    fn a_new_owner_takes_away_what_a_dead_one_has_left() {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("live");
        let mut live = Live::new(directory.clone());
        live.show(&call(1), &text("old"));
        std::mem::forget(live);
        assert!(directory.exists());
        let _live = Live::new(directory.clone());
        assert!(!directory.exists());
    }
}
