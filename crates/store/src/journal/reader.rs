//! Reads a journal in one pass, batch by batch, and verifies every line.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use saihai_model::{Entry, Moment, Record};

use super::line::{self, Bad, Framed, Kind};
use crate::StoreError;

/// A journal being read. What a batch says is handed out once the batch is known to be whole; only one is in memory.
#[derive(Debug)]
pub struct Reader<R = File> {
    source: R,
    path: PathBuf,
    /// The batch being read, and what was read beyond it.
    buffer: Vec<u8>,
    /// Where in the buffer that batch begins.
    start: usize,
    /// Where its next line begins.
    next: usize,
    /// The lines of it so far, each with its beginning in the buffer relative to that of the batch.
    lines: Vec<(usize, Framed)>,
    end: End,
    torn: Option<Torn>,
    over: bool,
}

/// How far a journal is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct End {
    /// The bytes of all whole batches.
    pub length: u64,
    /// The number of the last record in them.
    pub seq: u64,
    /// The number of the last batch.
    pub batch: u64,
    /// The time of the last record.
    pub at: Moment,
}

/// A last batch that was never acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Torn {
    /// Its first line, from 1.
    pub line: u64,
    pub bytes: u64,
}

#[derive(Debug, Clone, Copy)]
pub struct Batch<'a> {
    bytes: &'a [u8],
    lines: &'a [(usize, Framed)],
    path: &'a Path,
}

/// A line of a whole batch.
#[derive(Debug, Clone, Copy)]
pub struct Raw<'a> {
    pub seq: u64,
    pub at: Moment,
    pub kind: Kind,
    /// What it says, as JSON.
    pub body: &'a [u8],
    path: &'a Path,
}

/// What stands where a line should be.
enum Next {
    Line(Framed),
    Bad(Bad),
    Nothing,
}

/// So much is read at once.
const CHUNK: usize = 256 * 1024;

impl Reader {
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(StoreError::io("read", path))?;
        Ok(Self::new(file, path))
    }
}

impl<R: Read> Reader<R> {
    pub fn new(source: R, path: &Path) -> Self {
        Self {
            source,
            path: path.to_path_buf(),
            buffer: Vec::new(),
            start: 0,
            next: 0,
            lines: Vec::new(),
            end: End::default(),
            torn: None,
            over: false,
        }
    }

    /// The next whole batch; nothing at the end.
    pub fn next_batch(&mut self) -> Result<Option<Batch<'_>>, StoreError> {
        if self.over || !self.load_batch()? {
            self.over = true;
            return Ok(None);
        }
        let bytes = &self.buffer[self.start..self.next];
        Ok(Some(Batch { bytes, lines: &self.lines, path: &self.path }))
    }

    /// The records of the next whole batch.
    pub fn next_records(&mut self) -> Result<Option<Vec<Record>>, StoreError> {
        self.next_batch()?.map(|batch| batch.lines().map(|line| line.record()).collect()).transpose()
    }

    /// How far the journal is whole; final once there is no more.
    pub fn end(&self) -> End {
        self.end
    }

    /// What was dropped behind it.
    pub fn torn(&self) -> Option<Torn> {
        self.torn
    }

    /// Reads lines until a batch is whole; says whether there was one.
    fn load_batch(&mut self) -> Result<bool, StoreError> {
        self.start = self.next;
        self.lines.clear();
        loop {
            let seq = self.end.seq + 1 + self.lines.len() as u64;
            let begins = self.next - self.start;
            match self.next_line()? {
                Next::Nothing if self.lines.is_empty() => return Ok(false),
                Next::Nothing => return self.torn_or_damaged(seq, "its batch is not complete"),
                Next::Bad(Bad::Version(version)) => {
                    return Err(StoreError::Newer { path: self.path.clone(), line: seq, version });
                }
                Next::Bad(Bad::Unknown) => return Err(self.damaged(seq, "its framing is not understood")),
                Next::Bad(Bad::Damaged(why)) => return self.torn_or_damaged(seq, why),
                Next::Line(line) => {
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

    /// Why a sound line does not belong where it stands.
    fn misplaced(&self, line: &Framed) -> Option<&'static str> {
        if line.batch != self.end.batch + 1 {
            return Some("lines before it are missing, doubled or out of order");
        }
        if line.seq != self.end.seq + 1 + self.lines.len() as u64 {
            return Some("its number does not follow the one before");
        }
        match self.lines.last() {
            Some((_, last)) if last.left != line.left + 1 => Some("lines of its batch are missing"),
            Some(_) | None => None,
        }
    }

    fn next_line(&mut self) -> Result<Next, StoreError> {
        let mut searched = 0;
        loop {
            let rest = &self.buffer[self.next..];
            if let Some(newline) = memchr::memchr(b'\n', &rest[searched..]) {
                let end = searched + newline;
                let framed = line::frame(&rest[..end]);
                self.next += end + 1;
                return Ok(framed.map_or_else(Next::Bad, Next::Line));
            }
            searched = rest.len();
            if !self.read_more()? {
                self.next += searched;
                let nothing = searched == 0;
                let torn = Next::Bad(Bad::Damaged("it does not end with a newline"));
                return Ok(if nothing { Next::Nothing } else { torn });
            }
        }
    }

    /// Reads on into the buffer, which keeps nothing from before the batch; says whether there was more.
    fn read_more(&mut self) -> Result<bool, StoreError> {
        self.buffer.drain(..self.start);
        self.next -= self.start;
        self.start = 0;
        // A batch longer than this is read in ever larger pieces, so that it is not moved too often.
        let most = CHUNK.max(self.buffer.len());
        let read = (&mut self.source).take(most as u64).read_to_end(&mut self.buffer);
        Ok(read.map_err(StoreError::io("read", &self.path))? > 0)
    }

    /// Damage in the batch after the last whole one. If it is the last batch, it was never acknowledged; but a sound
    /// line of any other batch behind it says that it is not.
    fn torn_or_damaged(&mut self, seq: u64, why: &str) -> Result<bool, StoreError> {
        let mut dropped = (self.next - self.start) as u64;
        if self.hides_another_batch(&self.buffer[self.start..self.next]) {
            return Err(self.damaged(seq, why));
        }
        loop {
            // Nothing read so far is needed any more.
            self.start = self.next;
            let next = self.next_line()?;
            let line = &self.buffer[self.start..self.next];
            dropped += line.len() as u64;
            match next {
                Next::Nothing => break,
                Next::Line(line) if line.batch == self.end.batch + 1 => {}
                Next::Bad(Bad::Damaged(_)) if !self.hides_another_batch(line) => {}
                Next::Line(_) | Next::Bad(Bad::Damaged(_) | Bad::Unknown | Bad::Version(_)) => {
                    return Err(self.damaged(seq, why));
                }
            }
        }
        self.torn = Some(Torn { line: self.end.seq + 1, bytes: dropped });
        Ok(false)
    }

    /// Whether a sound line of another batch stands at the end of a damaged one: the newline between them was hit.
    /// Inside texts every quote is escaped, so this beginning is that of a line and of nothing else.
    fn hides_another_batch(&self, lines: &[u8]) -> bool {
        let mut hidden = lines.split(|byte| *byte == b'\n').flat_map(|text| {
            let starts = (1..text.len()).filter(|at| text[*at..].starts_with(b"{\"v\":"));
            starts.map(|at| line::frame(&text[at..]))
        });
        hidden.any(|line| match line {
            Ok(line) => line.batch != self.end.batch + 1,
            Err(Bad::Damaged(_)) => false,
            Err(Bad::Unknown | Bad::Version(_)) => true,
        })
    }

    fn damaged(&self, line: u64, why: &str) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), line, why: why.to_owned() }
    }
}

impl<'a> Batch<'a> {
    pub fn lines(self) -> impl Iterator<Item = Raw<'a>> {
        self.lines.iter().map(move |(begins, line)| Raw {
            seq: line.seq,
            at: line.at,
            kind: line.kind,
            body: &self.bytes[begins + line.body.start..begins + line.body.end],
            path: self.path,
        })
    }
}

impl Raw<'_> {
    pub fn record(&self) -> Result<Record, StoreError> {
        Ok(Record { seq: self.seq, at: self.at, entry: self.entry()? })
    }

    fn entry(&self) -> Result<Entry, StoreError> {
        line::entry(self.kind, self.body).map_err(|error| StoreError::Damaged {
            path: self.path.to_path_buf(),
            line: self.seq,
            why: format!("it says something this version does not know: {error}"),
        })
    }
}
