//! The log that a definition wants beside the journal (S-7).

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use saihai_model::{Decision, Ending, Entry, Hold, LogFiles, LogFormat, Moment, Record};
use serde::Serialize;

use super::EventObject;
use crate::report::{Line, Weight};
use crate::time;

/// The log of one run. A run that goes on later goes on in the same file.
#[derive(Debug)]
pub(super) struct RunLog {
    files: LogFiles,
    started: Option<Moment>,
    file: Option<File>,
}

/// One line of a log.
#[derive(Serialize)]
struct Logged<'a> {
    timestamp: String,
    level: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<EventObject<'a>>,
}

impl RunLog {
    /// A log to which nothing was written yet.
    pub(super) fn new(files: &LogFiles) -> Self {
        Self { files: files.clone(), started: None, file: None }
    }

    /// Learns when the run began, by which its file is named.
    pub(super) fn remember(&mut self, record: &Record) {
        self.started = self.started.or(Some(record.at));
    }

    /// Writes what a record says; its data stands behind the first line.
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

    /// Only so many are kept. They are named by their time, so their order is that of their names.
    fn remove_oldest(&self) -> io::Result<()> {
        let (head, tail) = (format!("{}-", self.files.name), format!(".{}", self.extension()));
        let is_log = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let middle = name.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&tail));
            // Another agent's name may begin with this one's.
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
        // S-68: one record says what went wrong; what else is said about it belongs to that.
        _ if index == 0 && is_failure(record) => "error",
        Weight::Detail => "debug",
        Weight::Step | Weight::Head => "info",
        Weight::Warning => "warn",
    }
}

/// Whether a run ends here without success, or cannot go on by itself.
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
