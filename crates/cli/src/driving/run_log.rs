//! The log that a definition requests in addition to the journal (S-7).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use saihai_model::{Decision, Ending, Entry, Hold, LogFiles, LogFormat, Moment, Record};
use serde::Serialize;

use super::EventObject;
use crate::report::{Line, Weight};
use crate::time;

/// The log of one run. A resumed run appends to the same file.
#[derive(Debug)]
pub(super) struct RunLog {
    files: LogFiles,
    started: Option<Moment>,
    file: Option<File>,
}

#[derive(Serialize)]
struct Logged<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<EventObject<'a>>,
}

impl RunLog {
    /// Creates a log without a file. The first write creates the file.
    pub(super) fn new(files: &LogFiles) -> Self {
        Self { files: files.clone(), started: None, file: None }
    }

    /// Reads the start time of the run, which is part of the file name.
    pub(super) fn remember(&mut self, record: &Record) {
        self.started = self.started.or(Some(record.at));
    }

    /// Writes the lines of a record. The first line includes its data.
    pub(super) fn write(&mut self, run: &str, record: &Record, lines: &[Line]) -> io::Result<()> {
        let (format, brief) = (self.files.format, self.files.brief);
        let file = self.open(record.at)?;
        let leveled = lines.iter().enumerate().map(|(index, line)| (line, level(line, index, record)));
        let wanted = leveled.filter(|(_, level)| !brief || *level != "debug");
        for (index, (line, level)) in wanted.enumerate() {
            let timestamp = time::rfc3339(record.at);
            let written = match format {
                LogFormat::Text => format!("{timestamp} {} {}", level.to_uppercase(), line.text),
                LogFormat::Jsonl => {
                    let data = (index == 0).then(|| EventObject::new(run, record));
                    let logged = Logged { timestamp, level, message: &line.text, data };
                    serde_json::to_string(&logged).map_err(io::Error::other)?
                }
            };
            writeln!(file, "{written}")?;
        }
        Ok(())
    }

    fn open(&mut self, now: Moment) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => {
                let directory = Path::new(&self.files.directory);
                fs::create_dir_all(directory)?;
                let time = time::rfc3339(self.started.unwrap_or(now)).replace([':', '-'], "");
                let path = directory.join(format!("{}-{time}.{}", self.files.name, self.extension()));
                let file = OpenOptions::new().create(true).append(true).open(path)?;
                self.remove_oldest()?;
                file
            }
        };
        Ok(self.file.insert(file))
    }

    fn extension(&self) -> &'static str {
        match self.files.format {
            LogFormat::Jsonl => "jsonl",
            LogFormat::Text => "log",
        }
    }

    /// Deletes the oldest files above the limit. File names contain the time, so they sort by age.
    fn remove_oldest(&self) -> io::Result<()> {
        let (head, tail) = (format!("{}-", self.files.name), format!(".{}", self.extension()));
        let is_log = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let middle = name.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&tail));
            // Another agent's name may start with this one.
            middle.is_some_and(|time| time.starts_with(|c: char| c.is_ascii_digit()) && time.ends_with('Z'))
        };
        let entries = fs::read_dir(&self.files.directory)?.filter_map(Result::ok).map(|entry| entry.path());
        let mut logs: Vec<PathBuf> = entries.filter(is_log).collect();
        logs.sort();
        let surplus = logs.len().saturating_sub(self.files.keep as usize);
        logs.iter().take(surplus).try_for_each(fs::remove_file)
    }
}

fn level(line: &Line, index: usize, record: &Record) -> &'static str {
    match line.weight {
        // S-68: only the first line of a failure has the level `error`. The other lines belong to it.
        _ if index == 0 && is_failure(record) => "error",
        Weight::Detail => "debug",
        Weight::Step | Weight::Head => "info",
        Weight::Warning => "warn",
    }
}

/// Returns true if the run ends here without success, or cannot continue by itself.
fn is_failure(record: &Record) -> bool {
    match &record.entry {
        Entry::Decision(Decision::Finished { ending }) => match ending {
            Ending::Failed(_) | Ending::Incomplete(_) | Ending::Undelivered => true,
            Ending::Completed(_) | Ending::Declined | Ending::Cancelled => false,
        },
        Entry::Decision(Decision::Parked { hold }) => match hold {
            Hold::Provider(..) | Hold::Until(..) | Hold::Storage(_) | Hold::Limit(_) | Hold::Budget => true,
            Hold::Person(_) | Hold::Outside(..) | Hold::Interrupted | Hold::Cancelling => false,
        },
        Entry::Decision(_) | Entry::Fact(_) => false,
    }
}
