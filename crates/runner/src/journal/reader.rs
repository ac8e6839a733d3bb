//! Reads a journal in one pass, batch by batch, and verifies every line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use saihai_model::{Moment, Record};

use super::line::{self, Bad, Line};
use crate::{Error, Warning};

/// A journal being read. Records are handed out once their batch is known to be whole.
#[derive(Debug)]
pub(crate) struct Reader<R = BufReader<File>> {
    source: R,
    path: PathBuf,
    /// The line just read, with its newline if it had one.
    line: Vec<u8>,
    /// Where the next line begins.
    offset: u64,
    end: End,
    torn: Option<Torn>,
    over: bool,
}

/// How far a journal is whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct End {
    /// The bytes of all whole batches.
    pub(crate) length: u64,
    /// The number of the last record in them.
    pub(crate) seq: u64,
    /// The number of the last batch.
    pub(crate) batch: u64,
    /// The time of the last record.
    pub(crate) at: Moment,
}

/// A last batch that was never acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Torn {
    /// Its first line, from 1.
    pub(crate) line: u64,
    /// Its length.
    pub(crate) bytes: u64,
}

impl Torn {
    /// What a person is told about it.
    pub(crate) fn warning(self, path: &Path) -> Warning {
        Warning::Torn { path: path.display().to_string(), line: self.line, bytes: self.bytes }
    }
}

/// What stands where a line should be.
enum Next {
    Line(Line),
    Bad(Bad),
    Nothing,
}

impl Reader {
    /// Opens a journal.
    pub(crate) fn open(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        Ok(Self::new(BufReader::with_capacity(64 * 1024, file), path))
    }
}

impl<R: BufRead> Reader<R> {
    pub(crate) fn new(source: R, path: &Path) -> Self {
        Self {
            source,
            path: path.to_path_buf(),
            line: Vec::new(),
            offset: 0,
            end: End::default(),
            torn: None,
            over: false,
        }
    }

    /// The records of the next whole batch; nothing at the end.
    ///
    /// # Errors
    /// Damage that is not confined to the last batch.
    pub(crate) fn next_batch(&mut self) -> Result<Option<Vec<Record>>, Error> {
        if self.over {
            return Ok(None);
        }
        let mut records = Vec::new();
        loop {
            let seq = self.end.seq + 1 + records.len() as u64;
            match self.next_line()? {
                Next::Nothing if records.is_empty() => {
                    self.over = true;
                    return Ok(None);
                }
                Next::Nothing => return self.torn_or_damaged(seq, "its batch is not complete"),
                Next::Bad(Bad::Version(version)) => {
                    return Err(Error::Newer { path: self.path.clone(), line: seq, version });
                }
                Next::Bad(Bad::Unknown(why)) => return Err(self.damaged(seq, why)),
                Next::Bad(Bad::Damaged(why)) => return self.torn_or_damaged(seq, why),
                Next::Line(line) => {
                    if let Some(why) = self.misplaced(&line, &records) {
                        return self.torn_or_damaged_at(seq, why, &line);
                    }
                    let (batch, left) = (line.batch, line.left);
                    records.push(line);
                    if left == 0 {
                        return Ok(Some(self.complete(records, batch)));
                    }
                }
            }
        }
    }

    /// How far the journal is whole; final once [`Self::next_batch`] has said that there is no more.
    pub(crate) fn end(&self) -> End {
        self.end
    }

    /// What was dropped behind it.
    pub(crate) fn torn(&self) -> Option<Torn> {
        self.torn
    }

    fn complete(&mut self, lines: Vec<Line>, batch: u64) -> Vec<Record> {
        let records: Vec<_> = lines.into_iter().map(|line| line.record).collect();
        self.end.length = self.offset;
        self.end.batch = batch;
        self.end.seq += records.len() as u64;
        self.end.at = records.last().map_or(self.end.at, |record| record.at);
        records
    }

    /// Why a sound line does not belong where it stands.
    fn misplaced(&self, line: &Line, before: &[Line]) -> Option<&'static str> {
        let expected = self.end.seq + 1 + before.len() as u64;
        if line.batch != self.end.batch + 1 {
            return Some("lines before it are missing, doubled or out of order");
        }
        if line.record.seq != expected {
            return Some("its number does not follow the one before");
        }
        match before.last() {
            Some(last) if last.left != line.left + 1 => Some("lines of its batch are missing"),
            Some(_) | None => None,
        }
    }

    fn next_line(&mut self) -> Result<Next, Error> {
        self.line.clear();
        let read = self.source.read_until(b'\n', &mut self.line);
        let length = read.map_err(Error::io("read", &self.path))?;
        if length == 0 {
            return Ok(Next::Nothing);
        }
        self.offset += length as u64;
        Ok(match self.line.strip_suffix(b"\n") {
            Some(text) => line::read(text).map_or_else(Next::Bad, Next::Line),
            None => Next::Bad(Bad::Damaged("it does not end with a newline")),
        })
    }

    fn torn_or_damaged_at(
        &mut self,
        seq: u64,
        why: &'static str,
        line: &Line,
    ) -> Result<Option<Vec<Record>>, Error> {
        if line.batch == self.end.batch + 1 {
            return self.torn_or_damaged(seq, why);
        }
        Err(self.damaged(seq, why.to_owned()))
    }

    /// Damage in the batch after the last whole one. If it is the last batch, it was never acknowledged; but a sound
    /// line of any other batch behind it says that it is not.
    fn torn_or_damaged(&mut self, seq: u64, why: &'static str) -> Result<Option<Vec<Record>>, Error> {
        if self.hides_another_batch() {
            return Err(self.damaged(seq, why.to_owned()));
        }
        loop {
            match self.next_line()? {
                Next::Nothing => break,
                Next::Line(line) if line.batch == self.end.batch + 1 => {}
                Next::Bad(Bad::Damaged(_)) if !self.hides_another_batch() => {}
                Next::Line(_) | Next::Bad(Bad::Damaged(_) | Bad::Unknown(_) | Bad::Version(_)) => {
                    return Err(self.damaged(seq, why.to_owned()));
                }
            }
        }
        self.over = true;
        self.torn = Some(Torn { line: self.end.seq + 1, bytes: self.offset - self.end.length });
        Ok(None)
    }

    /// Whether a sound line of another batch stands at the end of the damaged one: the newline between them was hit.
    /// Inside texts every quote is escaped, so this beginning is that of a line and of nothing else.
    fn hides_another_batch(&self) -> bool {
        let text = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        let starts = (1..text.len()).filter(|at| text[*at..].starts_with(b"{\"v\":"));
        starts.into_iter().any(|at| match line::read(&text[at..]) {
            Ok(line) => line.batch != self.end.batch + 1,
            Err(Bad::Damaged(_)) => false,
            Err(Bad::Unknown(_) | Bad::Version(_)) => true,
        })
    }

    fn damaged(&self, line: u64, why: String) -> Error {
        Error::Damaged { path: self.path.clone(), line, why }
    }
}
