//! Reads a journal in one pass, batch by batch, and verifies every line.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use saihai_model::{Moment, Record, RecordEntry};

use super::line::{self, BadLine, FramedLine, RecordKind};
use crate::StoreError;

/// Reader of a journal. It returns a batch only once the batch is complete, and keeps one batch in memory.
#[derive(Debug)]
pub struct JournalReader<R = File> {
    source: R,
    path: PathBuf,
    /// The current batch, and bytes after it.
    buffer: Vec<u8>,
    /// Offset of the current batch in the buffer.
    start: usize,
    /// Offset of its next line.
    next: usize,
    /// Lines of the batch so far, each with its offset from the start of the batch.
    lines: Vec<(usize, FramedLine)>,
    end: JournalEnd,
    torn: Option<TornBatch>,
    over: bool,
}

/// End of the intact part of a journal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JournalEnd {
    /// Bytes of all complete batches.
    pub length: u64,
    /// Number of their last record.
    pub seq: u64,
    /// Number of the last batch.
    pub batch: u64,
    /// Time of the last record.
    pub at: Moment,
}

/// An incomplete last batch, which was never acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TornBatch {
    /// Its first line, from 1.
    pub line: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    lines: &'a [(usize, FramedLine)],
    path: &'a Path,
}

/// A line of a complete batch.
#[derive(Debug, Clone, Copy)]
pub struct RawRecord<'a> {
    pub seq: u64,
    pub at: Moment,
    pub kind: RecordKind,
    pub body: &'a [u8],
    path: &'a Path,
}

/// Result of reading the next line.
enum NextLine {
    Line(FramedLine),
    Bad(BadLine),
    Nothing,
}

/// Bytes to read at once.
const CHUNK: usize = 256 * 1024;

impl JournalReader {
    /// Opens a journal. The journal of a run is opened with `RunDirectory::open_journal`, which counts.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::io("read", path))?;
        Ok(Self::new(file, path))
    }

    /// Opens a journal behind the part that an earlier reader has read.
    pub fn open_after(path: &Path, end: JournalEnd) -> Result<Self, StoreError> {
        let mut reader = Self { end, ..Self::open(path)? };
        reader.catch_up()?;
        Ok(reader)
    }

    /// Continues after the last complete batch, so that the next batch is one that was appended since.
    pub fn catch_up(&mut self) -> Result<(), StoreError> {
        // An incomplete batch is read again: its owner may have completed or truncated it.
        let end = SeekFrom::Start(self.end.length);
        self.source.seek(end).map_err(StoreError::io("read", &self.path))?;
        self.buffer.clear();
        self.lines.clear();
        (self.start, self.next, self.torn, self.over) = (0, 0, None, false);
        Ok(())
    }
}

impl<R: Read> JournalReader<R> {
    pub fn new(source: R, path: &Path) -> Self {
        Self {
            source,
            path: path.to_path_buf(),
            buffer: Vec::new(),
            start: 0,
            next: 0,
            lines: Vec::new(),
            end: JournalEnd::default(),
            torn: None,
            over: false,
        }
    }

    /// Returns the next complete batch; none at the end.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, StoreError> {
        if self.over || !self.load_batch()? {
            self.over = true;
            return Ok(None);
        }
        let bytes = &self.buffer[self.start..self.next];
        Ok(Some(Batch { bytes, lines: &self.lines, path: &self.path }))
    }

    /// Returns the records of the next complete batch.
    pub fn next_records(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        self.next_batch()?.map(|batch| batch.lines().map(|line| line.record()).collect()).transpose()
    }

    /// Returns the end of the intact part; final once no batch is left.
    pub fn end(&self) -> JournalEnd {
        self.end
    }

    /// Returns the dropped part after it.
    pub fn torn(&self) -> Option<TornBatch> {
        self.torn
    }

    /// Reads lines until a batch is complete; returns false if there is none.
    fn load_batch(&mut self) -> Result<bool, StoreError> {
        self.start = self.next;
        self.lines.clear();
        loop {
            let seq = self.end.seq + 1 + self.lines.len() as u64;
            let begins = self.next - self.start;
            match self.next_line()? {
                NextLine::Nothing if self.lines.is_empty() => return Ok(false),
                NextLine::Nothing => return self.torn_or_damaged(seq, "its batch is not complete"),
                NextLine::Bad(BadLine::Version(version)) => {
                    return Err(StoreError::Newer { path: self.path.clone(), line: seq, version });
                }
                NextLine::Bad(BadLine::Unknown) => {
                    return Err(self.damaged(seq, "its framing is invalid"));
                }
                NextLine::Bad(BadLine::Damaged(why)) => return self.torn_or_damaged(seq, why),
                NextLine::Line(line) => {
                    if let Some(why) = self.misplaced(&line) {
                        let ours = line.batch == self.end.batch + 1;
                        return if ours {
                            self.torn_or_damaged(seq, why)
                        } else {
                            Err(self.damaged(seq, why))
                        };
                    }
                    let whole = line.left == 0;
                    self.lines.push((begins, line));
                    if whole {
                        self.complete();
                        return Ok(true);
                    }
                }
            }
        }
    }

    fn complete(&mut self) {
        self.end.length += (self.next - self.start) as u64;
        self.end.seq += self.lines.len() as u64;
        if let Some((_, last)) = self.lines.last() {
            self.end.batch = last.batch;
            self.end.at = last.at;
        }
    }

    /// Returns the reason why an intact line is out of place.
    fn misplaced(&self, line: &FramedLine) -> Option<&'static str> {
        if line.batch != self.end.batch + 1 {
            return Some("lines before it are missing, repeated or out of order");
        }
        if line.seq != self.end.seq + 1 + self.lines.len() as u64 {
            return Some("its number does not follow the one before");
        }
        match self.lines.last() {
            Some((_, last)) if last.left != line.left + 1 => Some("lines of its batch are missing"),
            Some(_) | None => None,
        }
    }

    fn next_line(&mut self) -> Result<NextLine, StoreError> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.next..];
            if let Some(newline) = memchr::memchr(b'\n', &rest[searched..]) {
                let end = searched + newline;
                let framed = line::frame(&rest[..end]);
                self.next += end + 1;
                return Ok(framed.map_or_else(NextLine::Bad, NextLine::Line));
            }
            searched = rest.len();
            if !self.read_more()? {
                self.next += searched;
                let nothing = searched == 0;
                let torn = NextLine::Bad(BadLine::Damaged("it does not end with a newline"));
                return Ok(if nothing { NextLine::Nothing } else { torn });
            }
        }
    }

    /// Reads more into the buffer and drops the bytes before the batch. Returns false at the end of the file.
    fn read_more(&mut self) -> Result<bool, StoreError> {
        self.buffer.drain(..self.start);
        self.next -= self.start;
        self.start = 0;
        // Read a long batch in ever larger pieces, so that it is not moved too often.
        let most = CHUNK.max(self.buffer.len());
        let read = (&mut self.source).take(most as u64).read_to_end(&mut self.buffer);
        Ok(read.map_err(StoreError::io("read", &self.path))? > 0)
    }

    /// Handles damage after the last complete batch. The last batch was never acknowledged and is dropped. An intact
    /// line of another batch after it proves that it is not the last.
    fn torn_or_damaged(&mut self, seq: u64, why: &str) -> Result<bool, StoreError> {
        let mut dropped = (self.next - self.start) as u64;
        if self.hides_another_batch(&self.buffer[self.start..self.next]) {
            return Err(self.damaged(seq, why));
        }
        loop {
            // The bytes read so far are no longer needed.
            self.start = self.next;
            let next = self.next_line()?;
            let line = &self.buffer[self.start..self.next];
            dropped += line.len() as u64;
            match next {
                NextLine::Nothing => break,
                NextLine::Line(line) if line.batch == self.end.batch + 1 => {}
                NextLine::Bad(BadLine::Damaged(_)) if !self.hides_another_batch(line) => {}
                NextLine::Line(_)
                | NextLine::Bad(BadLine::Damaged(_) | BadLine::Unknown | BadLine::Version(_)) => {
                    return Err(self.damaged(seq, why));
                }
            }
        }
        self.torn = Some(TornBatch { line: self.end.seq + 1, bytes: dropped });
        Ok(false)
    }

    /// Returns true if an intact line of another batch follows in the damaged part: the newline between them was hit.
    /// Quotes inside texts are escaped, so this prefix occurs only at the start of a line.
    fn hides_another_batch(&self, lines: &[u8]) -> bool {
        let mut hidden = lines.split(|byte| *byte == b'\n').flat_map(|text| {
            let starts = (1..text.len()).filter(|at| text[*at..].starts_with(b"{\"v\":"));
            starts.map(|at| line::frame(&text[at..]))
        });
        hidden.any(|line| match line {
            Ok(line) => line.batch != self.end.batch + 1,
            Err(BadLine::Damaged(_)) => false,
            Err(BadLine::Unknown | BadLine::Version(_)) => true,
        })
    }

    fn damaged(&self, line: u64, why: &str) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), line, why: why.to_owned() }
    }
}

impl<'a> Batch<'a> {
    pub fn lines(self) -> impl Iterator<Item = RawRecord<'a>> {
        self.lines.iter().map(move |(begins, line)| RawRecord {
            seq: line.seq,
            at: line.at,
            kind: line.kind,
            body: &self.bytes[begins + line.body.start..begins + line.body.end],
            path: self.path,
        })
    }
}

impl RawRecord<'_> {
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record { seq: self.seq, at: self.at, entry: self.entry()? })
    }

    fn entry(&self) -> Result<RecordEntry, StoreError> {
        line::entry(self.kind, self.body).map_err(|error| StoreError::Damaged {
            path: self.path.to_path_buf(),
            line: self.seq,
            why: format!("this version does not know its content: {error}"),
        })
    }
}
